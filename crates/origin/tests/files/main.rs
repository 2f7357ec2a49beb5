//! Files as an origin, against a real file system.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod answers;
mod contained;
mod cost;
mod listing;
mod scratch;
mod table;
mod unreadable;

use samovar_origin::{Files, FilesSettings, Resolved};
use samovar_reason::Explain;
use scratch::Scratch;
use std::sync::Arc;

/// Settings for a scratch folder, with a listing.
pub(crate) fn settings(scratch: &Scratch) -> FilesSettings {
    FilesSettings {
        root: scratch.root(),
        listing: true,
        follow_links: true,
        never: Vec::new(),
        types: Vec::new(),
    }
}

pub(crate) fn files(scratch: &Scratch) -> Arc<Files> {
    Files::new(settings(scratch)).unwrap()
}

/// Resolves with `.php` handled and two index documents; the outcome as one line.
pub(crate) fn ask(files: &Files, path: &str) -> String {
    let index = ["index.php".to_owned(), "index.html".to_owned()];
    outcome(files.resolve(path, None, &[".php"], &index))
}

pub(crate) fn outcome(resolved: Resolved) -> String {
    match resolved {
        Resolved::File(open) => format!("file {}", open.rel),
        Resolved::Redirect(to) => format!("redirect {to}"),
        Resolved::Listing(_) => "listing".to_owned(),
        Resolved::Script { rel, path_info, extension } => {
            format!("script {rel} {} {extension}", path_info.as_deref().unwrap_or("-"))
        }
        Resolved::No(reason, detail) => {
            assert!(!detail.is_empty(), "{} without detail", reason.code());
            reason.code().to_owned()
        }
    }
}
