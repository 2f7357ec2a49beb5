//! One attempt at one origin: files, an HTTP/1.1 upstream, a FastCGI application.
//!
//! Takes a request as values, returns an answer as it arrives, or a failure with its reason and how far the
//! attempt got. Not here: caching, rules, choosing an upstream, retrying beyond a dead reused connection.

mod types;

pub use types::*;
