//! The reports of WCAT as XML, so that scripts that read them need not change: `log.xml` of 6.3, and that of 5.x.
//!
//! Only names are used that public scripts read, or that a row of the console has; what WCAT meant by a name is said where
//! it is written. Not here: WCAT's console ([`super::text`]).

mod five;
mod six;
pub(super) mod write;

pub use five::five;
pub use six::six;

/// A number with decimals, as both have them: with a point, without thousands.
fn decimal(number: f64) -> String {
    format!("{number:.3}")
}
