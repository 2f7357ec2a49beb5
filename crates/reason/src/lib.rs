//! Every closed list of reasons in Samovar: code, text, mend.
//!
//! A decision anywhere in the house returns a verdict *and* one of these. The code is what machines read
//! (`Cache-Status`, logs, metrics, the admin API): stable, never renamed. The text is one sentence for people;
//! the mend says what would change the outcome, empty where nothing should. `docs/reasons.md` lists them all.
//!
//! Not here: any logic. What decides lives in `policy`, `rules`, `cache`, `hot`, `origin`.

mod balance;
mod client;
mod coding;
mod gate;
mod lookup;
mod origin;
mod store;
mod upgrade;

pub use balance::{Elect, Retry, Unusable};
pub use client::Reject;
pub use coding::Coding;
pub use gate::{Change, Gate};
pub use lookup::{Hot, Lookup, Route};
pub use origin::{Files, Reuse, Upstream};
pub use store::{Lifetime, Store};
pub use upgrade::Upgrade;

/// What every reason can say of itself.
pub trait Explain: Copy + Send + Sync + 'static {
    /// The stable code, lower case with hyphens: `set-cookie`.
    fn code(self) -> &'static str;
    /// One sentence for people, without a full stop.
    fn text(self) -> &'static str;
    /// What would change the outcome; empty where nothing should.
    fn mend(self) -> &'static str;
}

/// One row of the generated reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The enum the reason belongs to: `store`, `lookup`, …
    pub family: &'static str,
    /// See [`Explain::code`].
    pub code: &'static str,
    /// See [`Explain::text`].
    pub text: &'static str,
    /// See [`Explain::mend`].
    pub mend: &'static str,
}

/// All reasons of all families, in the order of their declaration.
pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(Route::rows());
    rows.extend(Gate::rows());
    rows.extend(Change::rows());
    rows.extend(Lookup::rows());
    rows.extend(Hot::rows());
    rows.extend(Store::rows());
    rows.extend(Lifetime::rows());
    rows.extend(Upstream::rows());
    rows.extend(Reuse::rows());
    rows.extend(Elect::rows());
    rows.extend(Unusable::rows());
    rows.extend(Retry::rows());
    rows.extend(Files::rows());
    rows.extend(Coding::rows());
    rows.extend(Reject::rows());
    rows.extend(Upgrade::rows());
    rows
}

/// Declares one closed list: `Variant = "code", "text", "mend";`.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident, $family:literal { $($variant:ident = $code:literal, $text:literal, $mend:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $(#[doc = $text] $variant,)+ }

        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The rows of this family for the reference.
            pub fn rows() -> impl Iterator<Item = crate::Row> {
                use crate::Explain;
                Self::ALL.iter().map(|r| crate::Row { family: $family, code: r.code(), text: r.text(), mend: r.mend() })
            }
        }

        impl crate::Explain for $name {
            fn code(self) -> &'static str { match self { $($name::$variant => $code,)+ } }
            fn text(self) -> &'static str { match self { $($name::$variant => $text,)+ } }
            fn mend(self) -> &'static str { match self { $($name::$variant => $mend,)+ } }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(crate::Explain::code(*self))
            }
        }
    };
}
pub(crate) use reasons;

#[cfg(test)]
mod tests {
    use super::all;
    use std::collections::HashSet;

    #[test]
    fn codes_are_well_formed_and_unique_within_a_family() {
        let mut seen = HashSet::new();
        for row in all() {
            assert!(!row.code.is_empty());
            assert!(
                row.code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{}",
                row.code
            );
            assert!(seen.insert((row.family, row.code)), "{} twice in {}", row.code, row.family);
            assert!(!row.text.is_empty() && !row.text.ends_with('.'), "text of {}", row.code);
        }
    }
}
