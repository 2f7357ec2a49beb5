//! The body of an answer out of the bytes that were received. Pure: nothing is kept but how far the body has come.
//!
//! Data is handed on as slices of what was read, without a copy but of small pieces. Trailer fields end here. Not here: which framing it is
//! (`heard`), when to read more.

use super::heard::{Framing, Wrong};
use bytes::{Buf, Bytes, BytesMut};
use samovar_policy::{ChunkRun, Chunked};
use samovar_reason::Upstream;

/// Pieces up to so many bytes are copied, lest one that somebody takes his time with keeps the buffer it was read into.
const COPY_MAX_BYTES: usize = 4 * 1024;

/// How far the body has come.
#[derive(Debug)]
pub(super) enum Decoder {
    /// So many bytes are still to come.
    Sized(u64),
    /// In chunks.
    Chunked(Chunked),
    /// All that comes.
    UntilClose,
}

impl Decoder {
    pub(super) fn new(framing: Framing) -> Decoder {
        match framing {
            Framing::None => Decoder::Sized(0),
            Framing::Sized(bytes) => Decoder::Sized(bytes),
            Framing::Chunked => Decoder::Chunked(Chunked::of_answer()),
            Framing::UntilClose => Decoder::UntilClose,
        }
    }

    /// The last byte has been taken. Never, if only the connection's end says so.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Decoder::Sized(left) => *left == 0,
            Decoder::Chunked(chunked) => chunked.is_done(),
            Decoder::UntilClose => false,
        }
    }

    /// What is still to come, bytes, if it was announced.
    pub(super) fn left_bytes(&self) -> Option<u64> {
        match self {
            Decoder::Sized(left) => Some(*left),
            Decoder::Chunked(_) | Decoder::UntilClose => None,
        }
    }

    /// The next piece of what was received; `None` if there is none, or the body is done.
    pub(super) fn next(&mut self, read: &mut BytesMut) -> Result<Option<Bytes>, Wrong> {
        let here = match self {
            Decoder::Sized(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(read.len());
                *left -= here as u64;
                here
            }
            Decoder::UntilClose => read.len(),
            Decoder::Chunked(chunked) => return next_of_chunks(chunked, read),
        };
        Ok((here > 0).then(|| take(read, here)))
    }

    /// The connection ended: so does a body that nothing else ends. `Err` says what is missing of any other.
    pub(super) fn at_close(&self) -> Result<(), String> {
        match self {
            Decoder::UntilClose => Ok(()),
            Decoder::Sized(left) => Err(format!("the connection ended {left} bytes early")),
            Decoder::Chunked(_) => Err("the connection ended before the last chunk".to_owned()),
        }
    }
}

fn take(read: &mut BytesMut, bytes: usize) -> Bytes {
    match read.get(..bytes) {
        Some(small) if bytes <= COPY_MAX_BYTES => {
            let copy = Bytes::copy_from_slice(small);
            read.advance(bytes);
            copy
        }
        _ => read.split_to(bytes).freeze(),
    }
}

/// Passes over framing up to a piece of data and after it, so that the last piece is known to be the last.
fn next_of_chunks(chunked: &mut Chunked, read: &mut BytesMut) -> Result<Option<Bytes>, Wrong> {
    let mut piece = None;
    while !read.is_empty() && !chunked.is_done() {
        if piece.is_some() && chunked.is_in_data() {
            break;
        }
        match chunked.run(read) {
            Ok(ChunkRun::Framing(bytes)) => read.advance(bytes),
            Ok(ChunkRun::Data(bytes)) => piece = Some(take(read, bytes)),
            Err(_) => return Err((Upstream::BadFraming, "the chunks are not well formed".to_owned())),
        }
    }
    Ok(piece)
}
