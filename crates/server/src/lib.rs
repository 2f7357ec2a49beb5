//! Samovar: an output cache for any web application.
//!
//! This crate is the shell that does as the pure rooms say: `front` accepts, `pipeline` knows the order of a
//! request's life, `state` is what all cores share, `config` turns text into settings, `admin` and `cli` are how
//! people see and steer it.

pub mod admin;
pub mod cli;
pub mod clock;
pub mod config;
pub mod front;
pub mod log;
pub mod metrics;
pub mod pipeline;
pub mod state;
