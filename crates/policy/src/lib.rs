//! HTTP caching as pure functions: RFC 9111, 5861, 9213, 9211 and the conditional and range parts of RFC 9110.
//!
//! Each takes values and `now` and returns a verdict with its reason. Nothing here reads a clock, a socket or a
//! file, and nothing logs. Not here: which rule applies (`rules`), where entries live (`cache`), in which order
//! a request's life runs (`server::pipeline`).

mod types;

pub use types::*;
