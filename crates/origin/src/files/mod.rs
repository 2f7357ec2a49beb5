//! A folder of files as an origin: from a path to a file, a redirect, a listing, a script, or the reason why not.
//!
//! Looking up costs a handful of system calls and never blocks on a FIFO; what takes longer (reading a large
//! file, drawing a listing) happens in the answer's body, off the serving core. Not here: conditions, ranges,
//! HEAD, caching, noticing changes (`watch`).

mod hidden;
mod listing;
mod media;
mod opened;
mod path;
mod root;
mod secret;

pub use opened::{AT_ONCE_MAX_BYTES, Opened, Version};

use crate::{Answer, FilesSettings};
use path::Target;
use root::{Found, Held, LOOK, READ, Root};
use rustix::fs::FileType;
use samovar_reason::Files as Reason;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A folder of files, shared by all cores.
pub struct Files {
    settings: FilesSettings,
    root: Arc<Root>,
    media: media::Media,
}

/// What a path names.
pub enum Resolved {
    /// A file to be sent; [`Files::answer`] makes the answer.
    File(Opened),
    /// A folder asked for without its slash: where it is, `/dir/`, percent-encoded and with the query.
    Redirect(String),
    /// A folder without index document, drawn.
    Listing(Answer),
    /// A script that exists, for its handler.
    Script {
        /// Where it lies below the root, decoded, with a leading slash.
        rel: String,
        /// What follows it in the path, decoded.
        path_info: Option<String>,
        /// The handler's extension as it was passed in.
        extension: String,
    },
    /// Nothing to be served, and why, in the system's own words.
    No(Reason, String),
}

/// Why there is nothing, on its way to [`Resolved::No`].
#[derive(Debug)]
pub(crate) struct No(pub(crate) Reason, pub(crate) String);

impl Files {
    /// Opens the root.
    pub fn new(settings: FilesSettings) -> io::Result<Arc<Files>> {
        let root = Arc::new(Root::new(&settings)?);
        let media = media::Media::new(&settings.types)?;
        Ok(Arc::new(Files { settings, root, media }))
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &FilesSettings {
        &self.settings
    }

    /// What `path` (normalised, percent-encoded) names. `query` sorts a listing and is kept by a redirect;
    /// `handlers` are the extensions that have one (`.php`); `index` the index documents, best first.
    pub fn resolve(&self, path: &str, query: Option<&str>, handlers: &[&str], index: &[String]) -> Resolved {
        self.find(path, query, handlers, index)
            .unwrap_or_else(|No(reason, detail)| Resolved::No(reason, detail))
    }

    /// Which of the `index` documents the folder at `path` (normalised, percent-encoded) is answered with, as
    /// [`Files::resolve`] would find it; `None` if it has none of them, or is no folder to be served.
    pub fn default_document(&self, path: &str, index: &[String]) -> Option<usize> {
        let target = Target::parse(path);
        let held = self.root.now().ok()?;
        let mut folder = Vec::with_capacity(path.len());
        for segment in target.segments.iter().filter(|segment| !segment.bytes.is_empty()) {
            let top = folder.is_empty();
            path::push(&mut folder, &segment.bytes).ok()?;
            if hidden::is_hidden(&segment.bytes, top) {
                return None;
            }
        }
        index.iter().position(|name| {
            let mut rel = folder.clone();
            let mut parts = name.split('/').filter(|part| !part.is_empty());
            parts.all(|part| path::push(&mut rel, part.as_bytes()).is_ok())
                && self.is_script(&held, &rel).unwrap_or(false)
        })
    }

    /// The whole of an open file.
    pub fn answer(open: Opened) -> Answer {
        opened::answer(open)
    }

    /// The file beside `open` whose name is the same with `.extension` behind it, if there is one that is not older: the
    /// same content, compressed by somebody else.
    pub fn sibling(&self, open: &Opened, extension: &str) -> Option<Opened> {
        let rel = format!("{}.{extension}", open.rel.trim_start_matches('/'));
        let held = self.root.now().ok()?;
        let found = self.root.open(&held, rel.as_bytes(), READ).ok()?;
        if found.kind() != FileType::RegularFile || Version::of(&found.stat).mtime_ns < open.version.mtime_ns
        {
            return None;
        }
        Some(Opened::new(File::from(found.fd), &found.stat, format!("/{rel}"), open.content_type.clone()))
    }

    /// The version of the file or folder at `rel` (decoded, leading slash, as in [`Opened::rel`]) as it is
    /// now; `None` if there is none. Where a folder cannot be watched, comparing it with
    /// [`Opened::version`] tells in O(1) whether a stored answer still holds.
    pub fn version(&self, rel: &str) -> Option<Version> {
        let mut inside = Vec::new();
        for name in rel.split('/').filter(|name| !name.is_empty()) {
            path::push(&mut inside, name.as_bytes()).ok()?;
        }
        let held = self.root.now().ok()?;
        let found = self.root.open(&held, &inside, LOOK).ok()?;
        Some(Version::of(&found.stat))
    }

    fn find(
        &self,
        path: &str,
        query: Option<&str>,
        handlers: &[&str],
        index: &[String],
    ) -> Result<Resolved, No> {
        let target = Target::parse(path);
        let held = self.root.now()?;
        let mut rel = Vec::with_capacity(path.len());
        for (at, segment) in target.segments.iter().enumerate() {
            if segment.bytes.is_empty() {
                continue;
            }
            let top = rel.is_empty();
            path::push(&mut rel, &segment.bytes)?;
            if hidden::is_hidden(&segment.bytes, top) {
                return Err(No(Reason::Hidden, format!("{} is a hidden name", lossy(&segment.bytes))));
            }
            if let Some(extension) = hidden::handler(&segment.bytes, handlers)
                && self.is_script(&held, &rel)?
            {
                return script(&rel, target.path_info(at)?, extension);
            }
        }
        if target.folder || rel.is_empty() {
            self.folder(&held, &rel, query, handlers, index)
        } else {
            self.file(&held, rel, &target, query)
        }
    }

    fn file(
        &self,
        held: &Held,
        rel: Vec<u8>,
        target: &Target<'_>,
        query: Option<&str>,
    ) -> Result<Resolved, No> {
        let found = match self.root.open(held, &rel, READ) {
            // A folder may be passed through without being readable.
            Err(No(Reason::Unreadable, detail)) => match self.root.open(held, &rel, LOOK) {
                Ok(found) if found.kind() == FileType::Directory => found,
                _ => return Err(No(Reason::Unreadable, detail)),
            },
            found => found?,
        };
        match found.kind() {
            FileType::RegularFile => self.regular(found, &rel).map(Resolved::File),
            FileType::Directory => {
                let to = target.with_slash();
                Ok(Resolved::Redirect(query.map_or(to.clone(), |query| format!("{to}?{query}"))))
            }
            kind => {
                Err(No(Reason::NotAFile, format!("{} is a {}", self.root.place(&rel).display(), named(kind))))
            }
        }
    }

    fn regular(&self, found: Found, rel: &[u8]) -> Result<Opened, No> {
        if hidden::is_source(rel) {
            let detail =
                format!("{} is a script, and its extension has no handler", self.root.place(rel).display());
            return Err(No(Reason::NoHandler, detail));
        }
        let shown = format!("/{}", lossy(rel));
        let content_type = self.media.of(rel);
        let name = rel.rsplit(|byte| *byte == b'/').next().unwrap_or(rel);
        if let Some(why) = secret::kept_back(&found.fd, name, &content_type) {
            return Err(No(Reason::Hidden, format!("{} {why}", self.root.place(rel).display())));
        }
        Ok(Opened::new(File::from(found.fd), &found.stat, shown, content_type))
    }

    fn folder(
        &self,
        held: &Arc<Held>,
        rel: &[u8],
        query: Option<&str>,
        handlers: &[&str],
        index: &[String],
    ) -> Result<Resolved, No> {
        let mut no_handler = None;
        for name in index {
            match self.index(held, rel, name, handlers) {
                Ok(Some(resolved)) => return Ok(resolved),
                Ok(None) => {}
                Err(no @ No(Reason::NoHandler, _)) => no_handler = Some(no),
                Err(no) => return Err(no),
            }
        }
        let found = self.root.open(held, rel, LOOK)?;
        if found.kind() != FileType::Directory {
            let detail =
                format!("{} is no folder, but the path ends with a slash", self.root.place(rel).display());
            return Err(No(Reason::NotFound, detail));
        }
        if let Some(no) = no_handler {
            return Err(no);
        }
        if !self.settings.listing {
            let place = self.root.place(rel);
            let detail = match index {
                [] => format!("{}: no index documents are configured, and listing is off", place.display()),
                _ => {
                    format!("{}: none of {} is there, and listing is off", place.display(), index.join(", "))
                }
            };
            return Err(No(Reason::NoIndex, detail));
        }
        self.listing(held, rel, query, handlers).map(Resolved::Listing)
    }

    /// The index document `name` of the folder `rel`, if it is there.
    fn index(&self, held: &Held, rel: &[u8], name: &str, handlers: &[&str]) -> Result<Option<Resolved>, No> {
        let mut rel = rel.to_vec();
        for part in name.split('/').filter(|part| !part.is_empty()) {
            path::push(&mut rel, part.as_bytes())?;
        }
        if let Some(extension) = hidden::handler(&rel, handlers) {
            return if self.is_script(held, &rel)? {
                script(&rel, None, extension).map(Some)
            } else {
                Ok(None)
            };
        }
        match self.root.open(held, &rel, READ) {
            Ok(found) if found.kind() == FileType::RegularFile => {
                self.regular(found, &rel).map(|open| Some(Resolved::File(open)))
            }
            Ok(_) | Err(No(Reason::NotFound | Reason::NotAFile, _)) => Ok(None),
            Err(no) => Err(no),
        }
    }

    /// There is a regular file here. Whether it may be read is its handler's business.
    fn is_script(&self, held: &Held, rel: &[u8]) -> Result<bool, No> {
        match self.root.open(held, rel, LOOK) {
            Ok(found) => Ok(found.kind() == FileType::RegularFile),
            Err(No(Reason::NotFound, _)) => Ok(false),
            Err(no) => Err(no),
        }
    }
}

fn script(rel: &[u8], path_info: Option<String>, extension: &str) -> Result<Resolved, No> {
    let Ok(text) = std::str::from_utf8(rel) else {
        return Err(No(Reason::NotFound, "the script's name is not UTF-8".to_owned()));
    };
    Ok(Resolved::Script { rel: format!("/{text}"), path_info, extension: extension.to_owned() })
}

fn lossy(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn named(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        _ => "thing of another kind",
    }
}
