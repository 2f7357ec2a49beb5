//! The examples behind the real Samovar, and every walk of the scripts in small: what they show, not how fast.
//!
//! Here are the gallery under a real php-fpm with GD, the slow service, the scripts that measure, and the pages of docs/
//! whose commands are to be typed. Not here: the applications by themselves (examples/*/tests).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests stop at their first surprise, like the tests"
)]

mod gallery;
mod pages;

mod scripts;
mod slow_service;
