//! A FastCGI application asked over real sockets: php-fpm, and applications scripted by hand for what php-fpm
//! will not do on demand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise, its helpers too"
)]

mod app;
mod ask;
mod fpm;
mod php;
mod scripted;
