//! Samovar: an output cache for any web application.
//!
//! This crate is the shell that does as the pure rooms say: `front` accepts, `pipeline` knows the order of a
//! request's life, `state` is what all cores share, `config` turns text into settings, `admin` and `cli` are how
//! people see and steer it.

/// Writes a line to standard error, in a running server by way of its queue: see [`stderr`]. Unlike `eprintln!` it never
/// panics and makes no serving thread wait: a terminal that was closed or stopped must not stop a server.
#[macro_export]
macro_rules! say {
    ($($words:tt)*) => {
        $crate::stderr::line(format_args!($($words)*))
    };
}

pub mod admin;
pub mod alloc;
pub mod build_info;
pub mod cli;
pub mod clock;
pub mod compress;
pub mod config;
pub mod descriptors;
pub mod front;
pub mod log;
pub mod metrics;
pub mod operator_files;
pub mod pipeline;
pub mod state;
pub mod stderr;
pub mod upstream;
