//! An HTTP/1.1 upstream asked over real sockets: origins that behave, and origins that do not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise, its helpers too"
)]

mod answers;
mod limits;
mod pool;
mod raw;
mod requests;
