//! A directive with its arguments, its place and what is in it: what the grammars of httpd and nginx come down to.

use crate::note::Place;

/// A directive, or a section with what is in it.
#[derive(Clone, Debug)]
pub(crate) struct Directive {
    /// Its name as written.
    pub(crate) name: String,
    /// Its arguments, quotes taken off.
    pub(crate) args: Vec<String>,
    /// Where it stands.
    pub(crate) place: Place,
    /// What is in it, if it is a section.
    pub(crate) inner: Option<Vec<Directive>>,
}

impl Directive {
    /// As it was written, on one line.
    pub(crate) fn shown(&self) -> String {
        let words = std::iter::once(self.name.as_str()).chain(self.args.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whether it is called so; case does not matter.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// An argument, or nothing.
    pub(crate) fn arg(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    /// What is in it.
    pub(crate) fn inside(&self) -> &[Directive] {
        self.inner.as_deref().unwrap_or_default()
    }
}
