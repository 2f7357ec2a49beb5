//! An extent of a file as a body.
//!
//! What the system has in memory is read at once, on the serving core; for what it has not, a thread beside it waits
//! for the disk. Reads pieces as they are asked for, so a slow client costs one piece of memory. Not here: sending by the
//! kernel, ranges.

use crate::files::Version;
use crate::{Failure, Reached};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use samovar_reason::Upstream;
use std::fs::File;
use std::io::IoSliceMut;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::oneshot::Receiver;

/// How much is read from the disk at a time, bytes.
const PIECE_BYTES: u64 = 256 * 1024;

/// How much is read from memory at a time, bytes: small enough to be still in the core's cache when it is sent.
const PIECE_AT_HAND_BYTES: u64 = 64 * 1024;

/// Streams `len` bytes of `file` from `offset`.
///
/// Ends with a [`Failure`] ([`Upstream::ShortBody`]) if the file shrank, or was written to without growing,
/// since this call: the last piece is held back until that is known, so that no torn content is taken for
/// whole. A file that only grew (a log being written) is fine: what was announced is untouched.
pub fn file_stream(
    file: Arc<File>,
    offset: u64,
    len: u64,
) -> Pin<Box<dyn Body<Data = Bytes, Error = Failure> + Send>> {
    let before = rustix::fs::fstat(&file).map(|stat| Version::of(&stat));
    Box::pin(FileBody { file, offset, left: len, before, reading: None })
}

struct FileBody {
    file: Arc<File>,
    offset: u64,
    left: u64,
    before: rustix::io::Result<Version>,
    reading: Option<Receiver<Result<Bytes, Failure>>>,
}

impl FileBody {
    /// The next piece, if the system need not wait for it: `RWF_NOWAIT` (Linux 4.14) refuses where it would.
    fn at_hand(&self) -> Option<Result<Bytes, Failure>> {
        let len = self.left.min(PIECE_AT_HAND_BYTES);
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let read =
            preadv2(&self.file, into, self.offset, ReadWriteFlags::NOWAIT).ok().filter(|read| *read > 0)?;
        bytes.truncate(read);
        if read as u64 == self.left
            && let Err(failure) = unchanged(&self.file, self.before)
        {
            return Some(Err(failure));
        }
        Some(Ok(Bytes::from(bytes)))
    }

    fn hand_out(&mut self, bytes: Bytes) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let read = bytes.len() as u64;
        self.offset = self.offset.saturating_add(read);
        self.left = self.left.saturating_sub(read);
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn start(&self) -> Result<Receiver<Result<Bytes, Failure>>, Failure> {
        let (file, before, offset) = (self.file.clone(), self.before, self.offset);
        let len = self.left.min(PIECE_BYTES);
        let last = len == self.left;
        // Room that is the core's: what a thread's own part of the allocator was given stays with the thread, which may
        // have nothing more to do for long, and there may be many.
        let room = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
        let reading = crate::disk::read(move || {
            let bytes = read_piece(&file, offset, len, room)?;
            if last {
                unchanged(&file, before)?;
            }
            Ok(bytes)
        });
        reading.map_err(|error| failure(format!("no thread to wait for the disk: {error}")))
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            None => match self.at_hand().map_or_else(|| self.start().map(Err), |bytes| bytes.map(Ok)) {
                Ok(Ok(bytes)) => return self.hand_out(bytes),
                Ok(Err(reading)) => reading,
                Err(failure) => return self.fail(failure),
            },
        };
        let Poll::Ready(done) = Pin::new(&mut reading).poll(cx) else {
            self.reading = Some(reading);
            return Poll::Pending;
        };
        match done.unwrap_or_else(|_| Err(failure("reading the file failed".to_owned()))) {
            Ok(bytes) => self.hand_out(bytes),
            Err(failure) => self.fail(failure),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl FileBody {
    /// The failure is the body's last word.
    fn fail(&mut self, failure: Failure) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        self.left = 0;
        Poll::Ready(Some(Err(failure)))
    }
}

/// Exactly `len` bytes from `offset`, for which there is `room`.
fn read_piece(file: &File, offset: u64, len: u64, room: Vec<u8>) -> Result<Bytes, Failure> {
    let mut bytes = room;
    while (bytes.len() as u64) < len {
        let at = offset.saturating_add(bytes.len() as u64);
        match rustix::io::pread(file, spare_capacity(&mut bytes), at) {
            Ok(0) => {
                return Err(failure(
                    "the file changed while it was being sent: it is shorter now".to_owned(),
                ));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failure(format!("reading the file: {}", std::io::Error::from(error)))),
        }
    }
    bytes.truncate(usize::try_from(len).unwrap_or(0));
    Ok(Bytes::from(bytes))
}

fn unchanged(file: &File, before: rustix::io::Result<Version>) -> Result<(), Failure> {
    let told = |error| failure(format!("looking at the file: {}", std::io::Error::from(error)));
    let before = before.map_err(told)?;
    let after = Version::of(&rustix::fs::fstat(file).map_err(told)?);
    if after.len < before.len || (after.len == before.len && after.mtime_ns != before.mtime_ns) {
        return Err(failure("the file changed while it was being sent".to_owned()));
    }
    Ok(())
}

fn failure(detail: String) -> Failure {
    Failure { reason: Upstream::ShortBody, detail, reached: Reached::Answered }
}
