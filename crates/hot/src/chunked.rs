//! Where a chunked request body ends (RFC 9112 §7.1): a pure state machine that follows the bytes as they pass
//! and refuses what two readers could read differently.
//!
//! Stricter than hyper's own decoder, which sees the same bytes afterwards: no bare line feeds, whitespace after
//! a size only before an extension, no control characters in extensions, trailer fields well formed.
//!
//! Not here: the decoding; hyper does it.

use crate::head::is_token_byte;
use samovar_reason::Reject;

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
}

impl Chunked {
    /// At the start of a body that may hold so much data.
    pub fn new(body_max_bytes: u64) -> Chunked {
        Chunked {
            at: At::Size { digits: 0 },
            left: 0,
            body_bytes: 0,
            body_max_bytes,
            extension_bytes: 0,
            trailer_bytes: 0,
            trailers: 0,
        }
    }

    /// Whether the last byte has passed.
    pub fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Follows `bytes` and returns how many of them belong to the body: all, or fewer if it ends among them.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, Reject> {
        let mut used = 0;
        while let Some(&byte) = bytes.get(used) {
            match self.at {
                At::Done => break,
                At::Data => {
                    let here = u64::try_from(bytes.len() - used).unwrap_or(u64::MAX).min(self.left);
                    self.left -= here;
                    used += usize::try_from(here).unwrap_or(usize::MAX);
                    if self.left == 0 {
                        self.at = At::DataCr;
                    }
                }
                _ => {
                    self.at = self.step(byte)?;
                    used += 1;
                }
            }
        }
        Ok(used)
    }

    fn step(&mut self, byte: u8) -> Result<At, Reject> {
        match (self.at, byte) {
            (At::Size { digits }, b) if b.is_ascii_hexdigit() => self.digit(digits, b),
            (At::Size { digits: 1.. }, b' ' | b'\t') => self.count_extension(At::AfterSize),
            (At::Size { digits: 1.. } | At::AfterSize, b';') => self.count_extension(At::Extension),
            (At::AfterSize, b' ' | b'\t') => self.count_extension(At::AfterSize),
            (At::Size { digits: 1.. } | At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Extension, b'\t' | b' '..=0x7e | 0x80..) => self.count_extension(At::Extension),
            (At::SizeLf, b'\n') if self.left == 0 => Ok(At::TrailerStart),
            (At::SizeLf, b'\n') => self.count_body(),
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => Ok(At::Size { digits: 0 }),
            (At::TrailerStart, b'\r') => Ok(At::LastLf),
            (At::TrailerStart, b) if is_token_byte(b) => {
                self.trailers += 1;
                if self.trailers > TRAILERS_MAX {
                    Err(Reject::BadChunk)
                } else {
                    self.count_trailer(At::TrailerName)
                }
            }
            (At::TrailerName, b':') => self.count_trailer(At::TrailerValue),
            (At::TrailerName, b) if is_token_byte(b) => self.count_trailer(At::TrailerName),
            (At::TrailerValue, b'\r') => Ok(At::TrailerLf),
            (At::TrailerValue, b'\t' | b' '..=0x7e | 0x80..) => self.count_trailer(At::TrailerValue),
            (At::TrailerLf, b'\n') => Ok(At::TrailerStart),
            (At::LastLf, b'\n') => Ok(At::Done),
            _ => Err(Reject::BadChunk),
        }
    }

    fn digit(&mut self, digits: u8, byte: u8) -> Result<At, Reject> {
        let value = char::from(byte).to_digit(16).ok_or(Reject::BadChunk)?;
        let before = if digits == 0 { 0 } else { self.left };
        if digits >= 16 {
            return Err(Reject::BadChunk);
        }
        self.left = before << 4 | u64::from(value);
        Ok(At::Size { digits: digits + 1 })
    }

    fn count_body(&mut self) -> Result<At, Reject> {
        self.body_bytes = self.body_bytes.checked_add(self.left).ok_or(Reject::BadChunk)?;
        if self.body_bytes > self.body_max_bytes { Err(Reject::BodyTooLarge) } else { Ok(At::Data) }
    }

    fn count_extension(&mut self, next: At) -> Result<At, Reject> {
        self.extension_bytes += 1;
        if self.extension_bytes > EXTENSIONS_MAX_BYTES { Err(Reject::BadChunk) } else { Ok(next) }
    }

    fn count_trailer(&mut self, next: At) -> Result<At, Reject> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > TRAILERS_MAX_BYTES { Err(Reject::BadChunk) } else { Ok(next) }
    }
}

#[cfg(test)]
mod tests {
    use super::Chunked;
    use proptest::prelude::*;
    use samovar_reason::Reject;

    fn run(bytes: &[u8]) -> Result<(usize, bool), Reject> {
        let mut chunked = Chunked::new(1 << 20);
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
            assert_eq!(run(body), Err(Reject::BadChunk), "{:?}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn limits() {
        assert_eq!(run(b"100000\r\n"), Ok((8, false)));
        assert_eq!(run(b"100001\r\n"), Err(Reject::BodyTooLarge));
        assert_eq!(run(b"ffffffffffffffff\r\n"), Err(Reject::BodyTooLarge));
        let mut endless = Chunked::new(u64::MAX);
        assert_eq!(endless.advance(b"ffffffffffffffff\r\n").map(|_| ()), Ok(()));
        let extension = [&b"1;"[..], &vec![b'x'; 9000]].concat();
        assert_eq!(run(&extension), Err(Reject::BadChunk));
        let trailers = [&b"0\r\n"[..], &b"a:b\r\n".repeat(17)].concat();
        assert_eq!(run(&trailers), Err(Reject::BadChunk));
        let long = [&b"0\r\na:"[..], &vec![b'x'; 9000]].concat();
        assert_eq!(run(&long), Err(Reject::BadChunk));
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
            let mut chunked = Chunked::new(1 << 20);
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
