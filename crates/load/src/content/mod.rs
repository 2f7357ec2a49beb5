//! Files to be served and asked for: as many as wanted, as large, as hard to compress, the same from the same seed.
//!
//! A [`Set`] is what a person asks for (`1000x1KB`, `tiles:8`, `jpegs:100x800x600`); it knows the path of each of its
//! files and makes their bytes. Pure: what is written where, and how fast, is the command line's.

pub(crate) mod dice;
mod letters;
mod picture;
mod set;

pub use set::Set;
