//! Configurations of other servers told in Samovar's words: IIS (`web.config`, `applicationHost.config`), httpd, nginx.
//!
//! Text goes in, and a way to read what it includes; out come a commented `samovar.toml` and a note for every directive:
//! carried over, not carried over and why, unsafe, or to be filled in. One room per source (`iis`, `apache`, `nginx`) reads
//! its own grammar and says what is wanted; `wanted` is the one model of that, and the one place that writes TOML. Pure: no
//! file is opened here. Not here: whether the result is right for this machine, which `samovar check` says.

mod apache;
mod draft;
mod iis;
mod include;
mod nginx;
mod note;
mod spell;
mod tree;
mod wanted;
mod windows;

pub use draft::Options;
pub use include::{Ask, File};
pub use note::{Consequence, Fate, Note, Place, Refused};

use draft::Draft;
use include::Includes;

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `web.config` or `applicationHost.config`; which of them is seen in the text.
    Iis,
    /// httpd's `httpd.conf`, 2.2 or 2.4, or a fragment of one.
    Apache,
    /// nginx's `nginx.conf`, or a fragment of one.
    Nginx,
}

impl Source {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Source::Iis => "iis",
            Source::Apache => "apache",
            Source::Nginx => "nginx",
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The text of a `samovar.toml`.
    pub toml: String,
    /// What became of each directive, in the order they were met.
    pub notes: Vec<Note>,
}

/// Reads one configuration. `read` is asked for what it includes; it answers with the files of a pattern in order.
///
/// # Errors
/// The text is broken, hostile or too large: where, what, and what to do. A directive that has no counterpart is no error.
pub fn import(
    source: Source,
    file: &File,
    options: &Options,
    read: &mut dyn FnMut(&Ask<'_>) -> Result<Vec<File>, String>,
) -> Result<Imported, Refused> {
    let mut draft = Draft::new(options);
    let mut includes = Includes::new(read);
    match source {
        Source::Iis => iis::read(file, &mut draft)?,
        Source::Apache => apache::read(file, &mut draft, &mut includes)?,
        Source::Nginx => nginx::read(file, &mut draft, &mut includes)?,
    }
    draft.finish(source, &file.name)
}
