//! The listing of a folder: its head at once, its page drawn off the serving core when the body is read.
//!
//! Bounded in what it looks at and what it shows. Hidden names, scripts without a handler, links that lead out
//! and everything that is neither file nor folder are left out, as asking for them would find nothing.

mod page;

use super::root::{FOLDER, Held, LOOK, Root};
use super::{Files, No, Version, hidden, opened, path};
use crate::{Answer, AnswerBody, Failure, Reached, Timing};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::Frame;
use page::{Entry, Order};
use rustix::fs::{AtFlags, Dir, FileType};
use samovar_reason::Upstream;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;
use tokio::task::JoinHandle;

/// Entries shown at most.
const SHOWN_MAX: usize = 5_000;

/// Names looked at at most, hidden ones among them.
const SEEN_MAX: usize = 50_000;

impl Files {
    /// The listing of the folder `rel`.
    pub(super) fn listing(
        &self,
        held: &Arc<Held>,
        rel: &[u8],
        query: Option<&str>,
        handlers: &[&str],
    ) -> Result<Answer, No> {
        let found = self.root.open(held, rel, FOLDER)?;
        let order = Order::parse(query);
        let headers = head(Version::of(&found.stat), order);
        let job = Job {
            root: self.root.clone(),
            held: held.clone(),
            folder: found.fd,
            rel: rel.to_vec(),
            order,
            handlers: handlers.iter().map(|&handler| handler.to_owned()).collect(),
        };
        let frames = Box::pin(Drawing { job: Some(job), drawn: None });
        let body = AnswerBody::Stream { len: None, frames };
        Ok(Answer { status: StatusCode::OK, headers, body, timing: Timing::default() })
    }
}

/// The tag is weak: it tells of names that came and went, not of a file that grew (RFC 9110 §8.8.1).
fn head(version: Version, order: Order) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    let tag = format!("W/\"{:x}-{:x}-{}\"", version.mtime_ns, version.inode, order.code());
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    if let Some(date) = opened::last_modified(version.modified(), SystemTime::now()) {
        headers.insert(LAST_MODIFIED, date);
    }
    headers
}

/// All it takes to draw the page elsewhere.
struct Job {
    root: Arc<Root>,
    held: Arc<Held>,
    folder: OwnedFd,
    rel: Vec<u8>,
    order: Order,
    handlers: Vec<String>,
}

impl Job {
    fn draw(self) -> Result<Bytes, Failure> {
        let (entries, more) = self.read().map_err(|error| failure(format!("reading the folder: {error}")))?;
        Ok(Bytes::from(page::draw(&self.rel, entries, self.order, more)))
    }

    /// The entries, and whether there are more than are shown.
    fn read(&self) -> rustix::io::Result<(Vec<Entry>, bool)> {
        let handlers: Vec<&str> = self.handlers.iter().map(String::as_str).collect();
        let mut entries = Vec::new();
        for (seen, entry) in Dir::read_from(&self.folder)?.enumerate() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if seen == SEEN_MAX || entries.len() == SHOWN_MAX {
                return Ok((entries, true));
            }
            if !hidden::is_hidden(name, self.rel.is_empty()) {
                entries.extend(self.entry(name, &handlers));
            }
        }
        Ok((entries, false))
    }

    /// One entry; `None` if it would not be served, or is gone already.
    fn entry(&self, name: &[u8], handlers: &[&str]) -> Option<Entry> {
        let mut stat = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let mut rel = self.rel.clone();
        path::push(&mut rel, name).ok()?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            stat = self.root.open(&self.held, &rel, LOOK).ok()?.stat;
        } else if self.held.is_never(&rel) {
            return None;
        }
        let folder = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => true,
            FileType::RegularFile if hidden::is_source(name) && hidden::handler(name, handlers).is_none() => {
                return None;
            }
            FileType::RegularFile => false,
            _ => return None,
        };
        let version = Version::of(&stat);
        Some(Entry { name: name.to_vec(), folder, len: version.len, modified: stat.st_mtime })
    }
}

fn failure(detail: String) -> Failure {
    Failure { reason: Upstream::ShortBody, detail, reached: Reached::Answered }
}

/// The body: nothing is drawn before it is asked for (HEAD never asks).
struct Drawing {
    job: Option<Job>,
    drawn: Option<JoinHandle<Result<Bytes, Failure>>>,
}

impl http_body::Body for Drawing {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        if let Some(job) = self.job.take() {
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => self.drawn = Some(runtime.spawn_blocking(|| job.draw())),
                Err(error) => return Poll::Ready(Some(Err(failure(error.to_string())))),
            }
        }
        let Some(drawn) = self.drawn.as_mut() else { return Poll::Ready(None) };
        let done = ready!(Pin::new(drawn).poll(cx));
        self.drawn = None;
        let page = done.unwrap_or_else(|error| Err(failure(format!("drawing the listing: {error}"))));
        Poll::Ready(Some(page.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.job.is_none() && self.drawn.is_none()
    }
}
