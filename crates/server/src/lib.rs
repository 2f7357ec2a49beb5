//! Samovar: an output cache for any web application.
//!
//! This crate is the shell that does as the pure rooms say: `front` accepts, `pipeline` knows the order of a
//! request's life, `state` is what all cores share, `config` turns text into settings, `admin` and `cli` are how
//! people see and steer it.

/// Says a line on standard error. Unlike `eprintln!` it does not panic when nobody reads it any more: a terminal
/// that was closed must not stop a server.
#[macro_export]
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _nobody_reads = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub mod admin;
pub mod alloc;
pub mod cli;
pub mod clock;
pub mod config;
pub mod front;
pub mod log;
pub mod metrics;
pub mod pipeline;
pub mod state;
pub mod upstream;
