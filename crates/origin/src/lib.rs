//! One attempt at one origin: files, an HTTP/1.1 upstream, a FastCGI application.
//!
//! Takes a request as values, returns an answer as it arrives, or a failure with its reason and how far the
//! attempt got. Not here: caching, rules, choosing an upstream, retrying beyond a dead reused connection.

mod connect;
mod disk;
mod fastcgi;
mod fields;
mod file_body;
mod files;
mod gate;
mod http;
mod peer;
mod pool;
mod reuse;
mod spare;
mod types;
mod upload;
mod watch;

pub use fastcgi::{FastCgi, Script};
pub use file_body::file_stream;
pub use files::{AT_ONCE_MAX_BYTES, Files, Opened, Resolved, Version};
pub use gate::{Gate, GateStats, Place};
pub use http::{HttpUpstream, Switched, pseudonym};
pub use pool::PoolStats;
pub use reuse::ReuseAfterBody;
pub use types::*;
pub use watch::{Change, Sink, Watch};
