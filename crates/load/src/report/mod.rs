//! What a person or a program reads afterwards: text in WCAT's rows, JSON, HTML with plots, a table of runs.
//!
//! Pure: a [`model::Run`] in, text out. Not here: writing files, measuring.

pub mod bundle;
mod columns;
pub mod csv;
pub mod hlog;
pub mod html;
pub mod junit;
pub mod model;
mod plot;
mod rows;
mod steps;
mod style;
pub mod table;
pub mod text;
pub mod units;
pub mod xml;
