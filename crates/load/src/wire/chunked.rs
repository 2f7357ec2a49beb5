//! The chunked transfer coding, decoded as it arrives (RFC 9112 §7.1).
//!
//! Counts and passes on the data between the chunk lines; extensions and trailers are skipped. Not here: any
//! buffering, for a state and a number are all that lies between two reads.

use super::Malformed;

/// Longest line of size and extension, and longest trailer section, in bytes: a server without end is an error.
const LINE_LIMIT_BYTES: u32 = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Reading hex digits; `true` once there was one.
    Size(bool),
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a trailer line.
    TrailerStart,
    TrailerLine,
    LastLf,
    Done,
}

/// Where in a chunked body we are.
#[derive(Clone, Debug)]
pub struct Chunked {
    state: State,
    left: u64,
    line: u32,
}

impl Default for Chunked {
    fn default() -> Self {
        Chunked { state: State::Size(false), left: 0, line: 0 }
    }
}

impl Chunked {
    /// Takes what arrived; hands body bytes to `body`; returns how much was used and whether the body is whole.
    ///
    /// # Errors
    /// [`Malformed::Chunk`] when the framing is broken; nothing after that can be trusted.
    pub fn feed(&mut self, input: &[u8], body: &mut impl FnMut(&[u8])) -> Result<(usize, bool), Malformed> {
        let mut rest = input;
        while let Some((&byte, after)) = rest.split_first() {
            if self.state == State::Data {
                let take = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
                let (data, after) = rest.split_at(take);
                body(data);
                self.left -= take as u64;
                rest = after;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            self.step(byte)?;
            rest = after;
            if self.state == State::Done {
                return Ok((input.len() - rest.len(), true));
            }
        }
        Ok((input.len(), false))
    }

    fn step(&mut self, byte: u8) -> Result<(), Malformed> {
        self.state = match (self.state, byte) {
            (State::Size(_), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                let shifted = self.left.checked_mul(16).ok_or(Malformed::Chunk)?;
                self.left = shifted + u64::from(digit);
                self.lengthen()?;
                State::Size(true)
            }
            (State::Size(true), b'\r') => State::SizeLf,
            (State::Size(true), b';' | b' ' | b'\t') => State::Extension,
            (State::Extension, b'\r') => State::SizeLf,
            (State::Extension, b'\n') => return Err(Malformed::Chunk),
            (State::Extension, _) => {
                self.lengthen()?;
                State::Extension
            }
            (State::SizeLf, b'\n') => {
                self.line = 0;
                if self.left == 0 { State::TrailerStart } else { State::Data }
            }
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size(false),
            (State::TrailerStart, b'\r') => State::LastLf,
            (State::TrailerStart | State::TrailerLine, _) => {
                self.lengthen()?;
                if byte == b'\n' { State::TrailerStart } else { State::TrailerLine }
            }
            (State::LastLf, b'\n') => State::Done,
            _ => return Err(Malformed::Chunk),
        };
        Ok(())
    }

    fn lengthen(&mut self) -> Result<(), Malformed> {
        self.line += 1;
        if self.line > LINE_LIMIT_BYTES { Err(Malformed::Chunk) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(input: &[u8]) -> Result<(usize, bool, Vec<u8>), Malformed> {
        let mut out = Vec::new();
        let (used, done) = Chunked::default().feed(input, &mut |piece| out.extend_from_slice(piece))?;
        Ok((used, done, out))
    }

    #[test]
    fn table() {
        let whole: &[(&str, &str)] = &[
            ("0\r\n\r\n", ""),
            ("5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("5;name=value\r\nhello\r\n0\r\n\r\n", "hello"),
            ("5 \r\nhello\r\n0\r\n\r\n", "hello"),
            ("A\r\n0123456789\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\nX-B: 2\r\n\r\n", "0123456789x"),
            ("000\r\n\r\n", ""),
        ];
        for (input, want) in whole {
            assert_eq!(
                decode(input.as_bytes()),
                Ok((input.len(), true, want.as_bytes().to_vec())),
                "{input:?}"
            );
        }
        for (input, used) in [("0\r\n\r\nHTTP/1.1", 5), ("1\r\na\r\n0\r\n\r\n!", 11)] {
            assert_eq!(decode(input.as_bytes()).map(|d| (d.0, d.1)), Ok((used, true)), "{input:?}");
        }
        let broken =
            ["\r\n", "g\r\n", "5\nhello", "5\r\nhelloX\r\n", "11111111111111111\r\n", "5;x\nhello", "-1\r\n"];
        for input in broken {
            assert_eq!(decode(input.as_bytes()), Err(Malformed::Chunk), "{input:?}");
        }
    }

    #[test]
    fn endless_lines_are_refused() {
        let long = format!("5;{}", "x".repeat(20_000));
        assert_eq!(decode(long.as_bytes()), Err(Malformed::Chunk));
        let trailers = format!("0\r\n{}", "X-A: b\r\n".repeat(4_000));
        assert_eq!(decode(trailers.as_bytes()), Err(Malformed::Chunk));
    }
}
