//! An open file's facts, and the answer made of it.
//!
//! The validator is O(1): modification time, length, inode (never a hash of the content). Not here: ranges,
//! conditions, HEAD — the pipeline answers those from what is returned here.

use crate::{Answer, AnswerBody, Timing};
use bytes::Bytes;
use http::header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode};
use rustix::fs::Stat;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Files up to this length, bytes, are read at once; larger ones are handed on as an extent.
pub const AT_ONCE_MAX_BYTES: u64 = 64 * 1024;

/// How often a file that changes while it is read is read again.
const READS: u32 = 3;

/// What tells one content of a file from the next, in O(1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// Modification time, ns since 1970.
    pub mtime_ns: i64,
    /// Length, bytes.
    pub len: u64,
    /// The inode: another one after a replacement by rename.
    pub inode: u64,
}

impl Version {
    /// From a file's facts.
    pub(crate) fn of(stat: &Stat) -> Version {
        let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
        Version {
            mtime_ns: stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanoseconds),
            len: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
        }
    }

    /// A strong entity tag (RFC 9110 §8.8.3).
    pub(super) fn etag(self) -> HeaderValue {
        let text = format!("\"{:x}-{:x}-{:x}\"", self.mtime_ns, self.len, self.inode);
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("\"\""))
    }

    /// The modification time; 1970 for a time before it.
    pub(super) fn modified(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.mtime_ns).unwrap_or(0))
    }
}

/// A regular file, open for reading.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The open file.
    pub file: Arc<File>,
    /// Length, bytes, when it was opened.
    pub len: u64,
    /// When it was last modified.
    pub modified: SystemTime,
    /// Where it lies below the root, decoded, with a leading slash: what [`crate::Change::Path`] and
    /// [`super::Files::version`] speak of. Of an index document its own path, not the folder's. What is not UTF-8 is
    /// replaced (U+FFFD).
    pub rel: String,
    /// The media type.
    pub content_type: HeaderValue,
    /// The entity tag.
    pub etag: HeaderValue,
    /// The facts the entity tag is made of.
    pub version: Version,
}

impl Opened {
    /// Of an open regular file and its facts.
    pub(super) fn new(file: File, stat: &Stat, rel: String, content_type: HeaderValue) -> Opened {
        let version = Version::of(stat);
        Opened {
            file: Arc::new(file),
            len: version.len,
            modified: version.modified(),
            rel,
            content_type,
            etag: version.etag(),
            version,
        }
    }
}

/// The whole file as an answer.
pub(super) fn answer(open: Opened) -> Answer {
    let (body, version) = match read_whole(&open) {
        Read::Whole(bytes, version) => (AnswerBody::Bytes(bytes), Some(version)),
        Read::Restless(bytes) => (AnswerBody::Bytes(bytes), None),
        Read::Extent(version) => {
            (AnswerBody::File { file: open.file.clone(), offset: 0, len: version.len }, Some(version))
        }
    };
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, open.content_type);
    match version {
        Some(version) => {
            headers.insert(ETAG, if version == open.version { open.etag } else { version.etag() });
            if let Some(date) = last_modified(version.modified(), SystemTime::now()) {
                headers.insert(LAST_MODIFIED, date);
            }
            headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        }
        // What was read may be half of one content and half of the next: no one may keep it.
        None => {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
    }
    Answer { status: StatusCode::OK, headers, body, timing: Timing::default() }
}

/// `Last-Modified`, never later than now (RFC 9110 §8.8.2.1); none for a time that was never set.
pub(super) fn last_modified(modified: SystemTime, now: SystemTime) -> Option<HeaderValue> {
    let at = modified.min(now);
    // The HTTP date has four digits for the year and begins, for us, in 1970.
    let seconds = at.duration_since(UNIX_EPOCH).ok()?.as_secs();
    if seconds == 0 || seconds > 253_402_300_799 {
        return None;
    }
    HeaderValue::from_str(&httpdate::fmt_http_date(at)).ok()
}

enum Read {
    /// All of it, and the version it is of.
    Whole(Bytes, Version),
    /// It changed each time it was read.
    Restless(Bytes),
    /// Too long, not in the system's memory, or reading failed: the body's stream reads it and says what is wrong.
    Extent(Version),
}

fn read_whole(open: &Opened) -> Read {
    let mut expected = open.version;
    let mut last = Bytes::new();
    for _ in 0..READS {
        if expected.len > AT_ONCE_MAX_BYTES {
            return Read::Extent(expected);
        }
        let Ok(bytes) = read_prefix(&open.file, expected.len) else { return Read::Extent(expected) };
        let Ok(stat) = rustix::fs::fstat(&open.file) else { return Read::Extent(expected) };
        let after = Version::of(&stat);
        if after == expected && u64::try_from(bytes.len()) == Ok(expected.len) {
            return Read::Whole(bytes, expected);
        }
        (expected, last) = (after, bytes);
    }
    Read::Restless(last)
}

fn read_prefix(file: &File, len: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        let offset = u64::try_from(read).unwrap_or(u64::MAX);
        // The core does not wait for a disk; file systems that cannot say whether it would have to are mostly in memory.
        let got = match preadv2(file, &mut [IoSliceMut::new(rest)], offset, ReadWriteFlags::NOWAIT) {
            Err(Errno::OPNOTSUPP) => rustix::io::pread(file, rest, offset),
            got => got,
        };
        match got {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bytes.truncate(read);
    Ok(Bytes::from(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_modified_is_never_in_the_future_nor_before_1970() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(last_modified(now, now).unwrap(), "Sun, 06 Nov 1994 08:49:37 GMT");
        let later = now + Duration::from_secs(3600);
        assert_eq!(last_modified(later, now).unwrap(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(last_modified(UNIX_EPOCH, now), None);
        let year_12000 = UNIX_EPOCH + Duration::from_secs(316_000_000_000);
        assert_eq!(last_modified(year_12000, year_12000), None);
    }
}
