//! Compression as the server does it: threads that make coded forms of what is stored, what is counted of it, and how busy
//! a core is, so that compressing on the fly gives way.
//!
//! Not here: what is worth compressing and in which coding (`rules`), the encoders (`coding`), the step of a request's life
//! that asks for all this (`pipeline`).

mod load;
mod tally;
mod workers;

pub use load::{Load, Stream, processor_us, scheduled_us};
pub use tally::{FormsMade, Kept, Row, Tally};
pub use workers::{Order, Workers};
