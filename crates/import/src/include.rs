//! Files that include files: read through whoever calls, in bounds, never in circles.
//!
//! Not here: how a pattern is turned into names, or where relative ones begin (the shell knows the disk).

use crate::note::{Place, Refused};
use std::sync::Arc;

/// A file with what is in it.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name as people know it; two files are the same if their names are.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What is asked of whoever calls.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// A path, absolute or relative, perhaps with `*`, `?` and `[…]`.
    pub pattern: &'a str,
    /// The folder that relative paths begin at, if the configuration names one (httpd's `ServerRoot`).
    pub root: Option<&'a str>,
    /// Nothing found is no error.
    pub optional: bool,
}

/// No configuration is larger.
const FILE_MAX_BYTES: usize = 4 << 20;
/// All files together.
const TOTAL_MAX_BYTES: usize = 16 << 20;
/// Files that are read, counted each time: what includes itself by many ways would never end.
const FILES_MAX: usize = 500;
/// How deep files may include each other.
const DEPTH_MAX: usize = 16;

type Read<'r> = &'r mut dyn FnMut(&Ask<'_>) -> Result<Vec<File>, String>;

/// The files that are open, each inside the one before, and what was read so far.
pub(crate) struct Includes<'r> {
    read: Read<'r>,
    open: Vec<String>,
    files: usize,
    bytes: usize,
}

impl<'r> Includes<'r> {
    pub(crate) fn new(read: Read<'r>) -> Self {
        Includes { read, open: Vec::new(), files: 0, bytes: 0 }
    }

    /// Takes a file into reading; [`Includes::close`] ends it.
    pub(crate) fn open(&mut self, file: &File, from: Option<&Place>) -> Result<Arc<str>, Refused> {
        let name: Arc<str> = file.name.as_str().into();
        let start = Place { file: Arc::clone(&name), line: 1, column: 1 };
        let at = from.unwrap_or(&start);
        if self.open.contains(&file.name) {
            let chain = self.open.join(" > ");
            let what = format!("the file includes itself: {chain} > {}", file.name);
            return Err(refuse(at, what, "take one of the includes out"));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(refuse(at, format!("files include each other {DEPTH_MAX} deep"), "include fewer"));
        }
        self.files += 1;
        self.bytes += file.bytes.len();
        if self.files > FILES_MAX {
            return Err(refuse(
                at,
                format!("more than {FILES_MAX} files are included"),
                "import fewer at a time",
            ));
        }
        if self.bytes > TOTAL_MAX_BYTES {
            return Err(refuse(
                at,
                "the files are larger than 16 MiB together".into(),
                "import fewer at a time",
            ));
        }
        self.open.push(file.name.clone());
        Ok(name)
    }

    pub(crate) fn close(&mut self) {
        self.open.pop();
    }

    /// The files of a pattern.
    pub(crate) fn ask(&mut self, ask: &Ask<'_>, from: &Place) -> Result<Vec<File>, Refused> {
        (self.read)(ask)
            .map_err(|why| refuse(from, why, "name the folder with --root, or take the include out"))
    }
}

fn refuse(place: &Place, what: String, hint: &str) -> Refused {
    Refused { place: place.clone(), what, hint: hint.to_owned() }
}

/// A file as text: UTF-8, or UTF-16 with its mark, as Windows writes it.
pub(crate) fn text(file: &File) -> Result<String, Refused> {
    let name: Arc<str> = file.name.as_str().into();
    let refused = |before: &[u8], what: &str, hint: &str| {
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let place = Place { file: Arc::clone(&name), line: number(line), column: number(column) };
        Refused { place, what: what.to_owned(), hint: hint.to_owned() }
    };
    if file.bytes.len() > FILE_MAX_BYTES {
        return Err(refused(
            &[],
            "the file is larger than 4 MiB, which no configuration is",
            "name the configuration",
        ));
    }
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks(2).map(|pair| match pair {
            [a, b] => unit([*a, *b]),
            _ => 0xfffd,
        });
        char::decode_utf16(units).collect::<Result<String, _>>()
    };
    let text = match file.bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes).map_err(|_| 2),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes).map_err(|_| 2),
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            std::str::from_utf8(rest).map(str::to_owned).map_err(|e| 3 + e.valid_up_to())
        }
        all => std::str::from_utf8(all).map(str::to_owned).map_err(|e| e.valid_up_to()),
    };
    let text = text.map_err(|at| {
        let before = file.bytes.get(..at).unwrap_or_default();
        refused(before, "the file is not UTF-8 text from here on", "save it as UTF-8")
    })?;
    if let Some(at) = text.find('\0') {
        let before = text.as_bytes().get(..at).unwrap_or_default();
        return Err(refused(before, "a zero character: this is no configuration", "name the configuration"));
    }
    Ok(text)
}
