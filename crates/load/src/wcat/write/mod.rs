//! Scenarios and settings as files that other programs read, and what got lost on the way.
//!
//! What a format cannot say is left out or put as near to it as can be, and told in words: a load that is not the one its
//! author meant proves nothing. Not here: our own format (`plan_file`), which can say everything; writing to disk.

mod five;
mod lost;
mod ubr;
mod urls;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use five::{Five, five};
pub use ubr::{Ubr, ubr};
pub use urls::{Urls, urls};
