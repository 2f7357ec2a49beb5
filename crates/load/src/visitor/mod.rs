//! What a virtual client remembers from one answer to the next: cookies ([`Jar`]) and answers ([`Kept`]), as a browser does.
//!
//! Pure: heads in, fields for the next request out; time is handed in. Not here: redirects, connections.

mod jar;
mod kept;

pub use jar::Jar;
pub use kept::{Ask, Kept};

/// What clients of a run remember.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Cookies.
    pub cookies: bool,
    /// Answers.
    pub keeps: bool,
}

/// One client's memory.
#[derive(Clone, Debug, Default)]
pub struct Visitor {
    /// Its cookies.
    pub jar: Jar,
    /// Its answers, if it keeps any.
    pub kept: Option<Kept>,
}

impl Visitor {
    /// One who knows nothing yet.
    pub fn new(habits: Habits) -> Visitor {
        Visitor { jar: Jar::default(), kept: habits.keeps.then(Kept::default) }
    }
}

/// The part of a path without its query.
fn without_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or(path)
}
