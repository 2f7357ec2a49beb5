//! Where a chunked body ends (RFC 9112 §7.1): a state machine that follows the bytes as they pass and refuses what two
//! readers could read differently: no bare line feeds, no control characters in extensions, trailer fields well formed.
//!
//! A request's is read more strictly than an answer's: a client may be an attacker, while old applications pad the sizes
//! of their chunks with spaces. Not here: what becomes of the data; trailer fields are passed over.

use crate::syntax::is_tchar;

/// Most bytes of chunk extensions in one body; hyper allows 16 KiB.
const EXTENSIONS_MAX_BYTES: u32 = 8 << 10;
/// Most bytes of trailer fields; hyper allows 16 KiB.
const TRAILERS_MAX_BYTES: u32 = 8 << 10;
/// Most trailer fields; hyper allows what it allows for fields, at least as many.
const TRAILERS_MAX: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Size { digits: u8 },
    AfterSize,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    LastLf,
    Done,
}

/// Why a chunked body is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadChunk {
    /// Its framing is not what RFC 9112 §7.1 allows, or there is too much of it.
    Malformed,
    /// It holds more data than it may.
    TooLarge,
}

/// The next bytes of a body that are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkRun {
    /// So many bytes that only say where the data is.
    Framing(usize),
    /// So many bytes of data.
    Data(usize),
}

/// How far the body has come.
#[derive(Clone, Debug)]
pub struct Chunked {
    at: At,
    /// Bytes left of the current chunk's data, or its size as read so far.
    left: u64,
    body_bytes: u64,
    body_max_bytes: u64,
    extension_bytes: u32,
    trailer_bytes: u32,
    trailers: u32,
    padded: bool,
}

impl Chunked {
    /// At the start of a request's body that may hold so much data.
    pub fn of_request(body_max_bytes: u64) -> Chunked {
        Chunked {
            at: At::Size { digits: 0 },
            left: 0,
            body_bytes: 0,
            body_max_bytes,
            extension_bytes: 0,
            trailer_bytes: 0,
            trailers: 0,
            padded: false,
        }
    }

    /// At the start of an answer's body.
    pub fn of_answer() -> Chunked {
        Chunked { padded: true, ..Chunked::of_request(u64::MAX) }
    }

    /// Whether the last byte has passed.
    pub fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Whether the next byte is one of data.
    pub fn is_in_data(&self) -> bool {
        self.at == At::Data
    }

    /// Follows `bytes` and returns how many of them belong to the body: all, or fewer if it ends among them.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, BadChunk> {
        let mut used = 0;
        while let Some(rest) = bytes.get(used..).filter(|rest| !rest.is_empty()) {
            match self.run(rest)? {
                ChunkRun::Framing(0) => break,
                ChunkRun::Framing(here) | ChunkRun::Data(here) => used += here,
            }
        }
        Ok(used)
    }

    /// Follows the first of `bytes`, as far as they are of one kind. None of them belong to a body that is done.
    pub fn run(&mut self, bytes: &[u8]) -> Result<ChunkRun, BadChunk> {
        if self.at == At::Data && !bytes.is_empty() {
            let here = u64::try_from(bytes.len()).unwrap_or(u64::MAX).min(self.left);
            self.left -= here;
            if self.left == 0 {
                self.at = At::DataCr;
            }
            return Ok(ChunkRun::Data(usize::try_from(here).unwrap_or(usize::MAX)));
        }
        let mut used = 0;
        for &byte in bytes {
            if matches!(self.at, At::Data | At::Done) {
                break;
            }
            self.at = self.step(byte)?;
            used += 1;
        }
        Ok(ChunkRun::Framing(used))
    }

    fn step(&mut self, byte: u8) -> Result<At, BadChunk> {
        match (self.at, byte) {
            (At::Size { digits }, b) if b.is_ascii_hexdigit() => self.digit(digits, b),
            (At::Size { digits: 1.. }, b' ' | b'\t') => self.count_extension(At::AfterSize),
            (At::Size { digits: 1.. } | At::AfterSize, b';') => self.count_extension(At::Extension),
            (At::AfterSize, b' ' | b'\t') => self.count_extension(At::AfterSize),
            (At::Size { digits: 1.. } | At::Extension, b'\r') => Ok(At::SizeLf),
            (At::AfterSize, b'\r') if self.padded => Ok(At::SizeLf),
            (At::Extension, b'\t' | b' '..=0x7e | 0x80..) => self.count_extension(At::Extension),
            (At::SizeLf, b'\n') if self.left == 0 => Ok(At::TrailerStart),
            (At::SizeLf, b'\n') => self.count_body(),
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => Ok(At::Size { digits: 0 }),
            (At::TrailerStart, b'\r') => Ok(At::LastLf),
            (At::TrailerStart, b) if is_tchar(b) => {
                self.trailers += 1;
                if self.trailers > TRAILERS_MAX {
                    Err(BadChunk::Malformed)
                } else {
                    self.count_trailer(At::TrailerName)
                }
            }
            (At::TrailerName, b':') => self.count_trailer(At::TrailerValue),
            (At::TrailerName, b) if is_tchar(b) => self.count_trailer(At::TrailerName),
            (At::TrailerValue, b'\r') => Ok(At::TrailerLf),
            (At::TrailerValue, b'\t' | b' '..=0x7e | 0x80..) => self.count_trailer(At::TrailerValue),
            (At::TrailerLf, b'\n') => Ok(At::TrailerStart),
            (At::LastLf, b'\n') => Ok(At::Done),
            _ => Err(BadChunk::Malformed),
        }
    }

    fn digit(&mut self, digits: u8, byte: u8) -> Result<At, BadChunk> {
        let value = char::from(byte).to_digit(16).ok_or(BadChunk::Malformed)?;
        let before = if digits == 0 { 0 } else { self.left };
        if digits >= 16 {
            return Err(BadChunk::Malformed);
        }
        self.left = before << 4 | u64::from(value);
        Ok(At::Size { digits: digits + 1 })
    }

    fn count_body(&mut self) -> Result<At, BadChunk> {
        self.body_bytes = self.body_bytes.checked_add(self.left).ok_or(BadChunk::Malformed)?;
        if self.body_bytes > self.body_max_bytes { Err(BadChunk::TooLarge) } else { Ok(At::Data) }
    }

    fn count_extension(&mut self, next: At) -> Result<At, BadChunk> {
        self.extension_bytes += 1;
        if self.extension_bytes > EXTENSIONS_MAX_BYTES { Err(BadChunk::Malformed) } else { Ok(next) }
    }

    fn count_trailer(&mut self, next: At) -> Result<At, BadChunk> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > TRAILERS_MAX_BYTES { Err(BadChunk::Malformed) } else { Ok(next) }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadChunk, Chunked};
    use proptest::prelude::*;

    fn run(bytes: &[u8]) -> Result<(usize, bool), BadChunk> {
        let mut chunked = Chunked::of_request(1 << 20);
        chunked.advance(bytes).map(|used| (used, chunked.is_done()))
    }

    #[test]
    fn whole_bodies_end_where_they_end() {
        for (body, tail) in [
            (&b"0\r\n\r\n"[..], &b"GET"[..]),
            (b"5\r\nhello\r\n0\r\n\r\n", b""),
            (b"5;x=y\r\nhello\r\n00\r\n\r\n", b"\r\n"),
            (b"5 ; x\r\nhello\r\n0;last\r\n\r\n", b"0"),
            (b"A\r\n0123456789\r\n0\r\nX-Sum: 1 2\r\nY:\r\n\r\n", b"POST"),
            (b"0000000000000001\r\nx\r\n0\r\n\r\n", b""),
        ] {
            let all = [body, tail].concat();
            assert_eq!(run(&all), Ok((body.len(), true)), "{:?}", String::from_utf8_lossy(&all));
            for cut in 0..body.len() {
                assert_eq!(run(&body[..cut]), Ok((cut, false)), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_can_be_read_two_ways_is_refused() {
        for body in [
            &b"\r\n"[..],
            b"g\r\n",
            b"-1\r\n",
            b"+1\r\n",
            b" 1\r\n",
            b"0x1\r\n",
            b"5\nhello\r\n",
            b"5 \r\nhello\r\n",
            b"5\r\nhelloo\r\n",
            b"5\r\nhello\n",
            b"5\r\nhello0\r\n",
            b"5;a\nb\r\n",
            b"5;a\0\r\n",
            b"5\r\r\n",
            b"00000000000000001\r\n",
            b"0\r\n\n",
            b"0\r\nname\r\n\r\n",
            b"0\r\n: v\r\n\r\n",
            b"0\r\nn : v\r\n\r\n",
            b"0\r\nn: v\n\r\n",
            b"0\r\nn: v\r\n folded\r\n\r\n",
        ] {
            assert_eq!(run(body), Err(BadChunk::Malformed), "{:?}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn an_answers_sizes_may_be_padded() {
        let body = b"5  \r\nhello\r\n0 \t\r\n\r\n";
        let mut chunked = Chunked::of_answer();
        assert_eq!(chunked.advance(body), Ok(body.len()));
        assert!(chunked.is_done());
        for body in [&b"5 5\r\n"[..], b" 5\r\n", b"5 \n"] {
            assert_eq!(Chunked::of_answer().advance(body), Err(BadChunk::Malformed));
        }
    }

    #[test]
    fn limits() {
        assert_eq!(run(b"100000\r\n"), Ok((8, false)));
        assert_eq!(run(b"100001\r\n"), Err(BadChunk::TooLarge));
        assert_eq!(run(b"ffffffffffffffff\r\n"), Err(BadChunk::TooLarge));
        let mut endless = Chunked::of_request(u64::MAX);
        assert_eq!(endless.advance(b"ffffffffffffffff\r\n").map(|_| ()), Ok(()));
        let extension = [&b"1;"[..], &vec![b'x'; 9000]].concat();
        assert_eq!(run(&extension), Err(BadChunk::Malformed));
        let trailers = [&b"0\r\n"[..], &b"a:b\r\n".repeat(17)].concat();
        assert_eq!(run(&trailers), Err(BadChunk::Malformed));
        let long = [&b"0\r\na:"[..], &vec![b'x'; 9000]].concat();
        assert_eq!(run(&long), Err(BadChunk::Malformed));
    }

    proptest! {
        /// Oracle: the encoder below, which knows nothing of the state machine.
        #[test]
        fn any_split_of_any_body_ends_at_the_same_byte(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6),
            tail in prop::collection::vec(any::<u8>(), 0..20),
            splits in prop::collection::vec(1usize..30, 1..50),
        ) {
            let mut body = Vec::new();
            for chunk in &chunks {
                body.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                body.extend(chunk);
                body.extend(b"\r\n");
            }
            body.extend(b"0\r\n\r\n");
            let end = body.len();
            body.extend(tail);
            let mut chunked = Chunked::of_request(1 << 20);
            let (mut at, mut total) = (0, 0);
            for size in splits.iter().cycle() {
                let piece = &body[at..(at + size).min(body.len())];
                let used = chunked.advance(piece).unwrap();
                total += used;
                at += piece.len();
                if used < piece.len() || at == body.len() { break; }
            }
            prop_assert!(chunked.is_done());
            prop_assert_eq!(total, end);
        }

        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = run(&bytes);
        }
    }
}
