//! Every directive that changes how long or for whom something is stored, and what becomes of it: a key of the new file
//! stands for it, Samovar does so by itself, or the report names what changes. None is lost in silence, and none counts as
//! carried over without an effect.
//!
//! The tables hold the directives of the manuals of httpd, nginx and IIS. A directive that the importer knows and that is in
//! no table fails, and so does a row whose note says otherwise than the new file.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

mod httpd;
mod iis;
mod nginx;

use samovar_import::{Ask, Consequence, Fate, File, Imported, Note, Options, Source, import};
use std::collections::BTreeSet;

/// What becomes of a directive.
#[derive(Clone, Copy, Debug)]
pub enum Becomes {
    /// This line stands in the new file with it, and not without it.
    Line(&'static str),
    /// The same, with a difference that the report names in these words.
    Differs(&'static str, &'static str),
    /// Samovar does so by itself: the new file is the same with it and without it.
    Same,
    /// It is not carried over, and the report names what is stored otherwise in these words.
    Named(&'static str),
    /// The report warns of it in these words, whether a key stands for it or not.
    Warned(&'static str),
}

/// A directive, alone on its line, and what becomes of it.
pub type Row = (&'static str, Becomes);

/// An import of one text.
pub fn told(source: Source, text: &str) -> Imported {
    let file = File { name: "main.conf".into(), bytes: text.into() };
    let mut read = |_: &Ask<'_>| Err("there is none".to_owned());
    import(source, &file, &Options::default(), &mut read).unwrap_or_else(|why| panic!("{text}\n{why}"))
}

/// The keys of the new file: what is no comment.
fn keys(imported: &Imported) -> Vec<String> {
    let bare = |line: &str| line.split("  # ").next().unwrap_or(line).trim().to_owned();
    imported.toml.lines().map(bare).filter(|l| !l.is_empty() && !l.starts_with('#')).collect()
}

/// Puts each directive where `@` stands and compares with what becomes of the text without it.
pub fn table(source: Source, around: &str, rows: &[Row]) {
    let (before, _) = around.split_once('@').expect("a place");
    let line = u32::try_from(before.matches('\n').count()).unwrap() + 1;
    let without = keys(&told(source, &around.replace('@', "")));
    for (directive, becomes) in rows {
        let imported = told(source, &around.replace('@', directive));
        let with = keys(&imported);
        let notes: Vec<&Note> = imported.notes.iter().filter(|note| note.place.line == line).collect();
        let shown = format!("{directive}: {becomes:?}\n{notes:#?}\n{}", imported.toml);
        assert!(!notes.is_empty(), "nothing is said of it: {shown}");
        let has = |line: &str| with.iter().any(|l| l == line) && !without.iter().any(|l| l == line);
        let noted = |consequence: Consequence, words: &str| {
            notes.iter().any(|note| note.consequence == consequence && note.text.contains(words))
        };
        let quiet = || notes.iter().all(|note| note.consequence == Consequence::Nothing);
        let right = match *becomes {
            Becomes::Line(line) => {
                has(line) && quiet() && notes.iter().all(|note| note.fate == Fate::Carried)
            }
            Becomes::Differs(line, words) => has(line) && noted(Consequence::CachedDifferently, words),
            Becomes::Same => with == without && quiet(),
            Becomes::Named(words) => {
                let left = notes.iter().all(|note| note.fate == Fate::LeftOut);
                left && noted(Consequence::CachedDifferently, words)
            }
            Becomes::Warned(words) => {
                let warned = |note: &&&Note| note.fate == Fate::Unsafe && note.text.contains(words);
                notes.iter().filter(warned).count() > 0
            }
        };
        assert!(right, "{shown}");
    }
}

/// The first words of the rows, in lower case.
pub fn names(rows: &[&[Row]]) -> BTreeSet<String> {
    let name = |row: &Row| row.0.split([' ', ';']).next().unwrap_or_default().to_ascii_lowercase();
    rows.iter().flat_map(|rows| rows.iter().map(name)).collect()
}

/// The names of directives in a file of the importer that begin so.
pub fn known(file: &str, begins: &[&str]) -> BTreeSet<String> {
    let plain = |word: &&str| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let words = file.split('"').skip(1).step_by(2).filter(plain);
    words.filter(|word| begins.iter().any(|b| word.starts_with(b))).map(str::to_owned).collect()
}
