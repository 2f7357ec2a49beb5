//! The field lines that a connection sent last, looked over already.
//!
//! Most clients send the same lines with every request on a connection; only the request line differs. If a head's lines
//! equal the last ones byte for byte, what was found in them holds again, and neither the end of the head nor its fields
//! need to be looked for. The request line is read as ever.
//!
//! One per connection: what a client sent is never compared with what another did. Not here: heads that have a body, and
//! any decision.

use super::fields::Seen;
use super::lines::{is_token_byte, within};
use super::{Fields, Framing, Head, HeadLimits};
use std::cell::Cell;

/// Longer blocks are not remembered, bytes.
const BLOCK_MAX_BYTES: usize = 2 << 10;
/// More fields than this are not remembered: the hot tier does not look at them either.
const FIELDS_MAX: usize = 64;
/// After so many blocks in a row of which none came a second time, no more are remembered.
const USELESS_MAX: u8 = 4;

/// Where a field stands in a block of lines: name and value, from and to.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    name: (u16, u16),
    value: (u16, u16),
}

impl Span {
    /// Name and value in the block.
    pub(super) fn of<'b>(&self, block: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        let part = |(from, to): (u16, u16)| block.get(usize::from(from)..usize::from(to));
        Some((part(self.name)?, part(self.value)?))
    }
}

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// From behind the request line to the empty line, both ends included; empty for none.
    block: Vec<u8>,
    spans: Vec<Span>,
    seen: Seen,
    minor: u8,
    /// How many blocks were remembered for nothing since one was not.
    useless: Cell<u8>,
}

impl Known {
    /// The head that `buf` begins with, if its lines are the known ones. `None` says nothing about it.
    pub(crate) fn recognise<'h, 'b>(&'h self, buf: &'b [u8], limits: &HeadLimits) -> Option<Head<'h, 'b>> {
        if self.block.is_empty() || !buf.first().is_some_and(|&b| is_token_byte(b)) {
            return None;
        }
        let line_end = memchr::memchr(b'\n', buf.get(..limits.line_max_bytes.min(buf.len()))?)? + 1;
        let len_bytes = line_end + self.block.len();
        let block = buf.get(line_end..len_bytes)?;
        let line = buf.get(..line_end)?;
        if block != self.block || !line.ends_with(b"\r\n") || self.spans.len() > limits.fields_max {
            return None;
        }
        within(buf, len_bytes, limits).ok()?;
        let mut request = httparse::Request::new(&mut []);
        // Only the line: the parser wants fields and has none yet.
        if !matches!(request.parse(line), Ok(httparse::Status::Partial)) {
            return None;
        }
        let (method, target, minor) = (request.method?, request.path?, request.version?);
        if minor != self.minor {
            return None;
        }
        self.useless.set(0);
        Some(Head {
            method,
            target,
            minor,
            fields: Fields::Known(&self.spans, block),
            len_bytes,
            framing: Framing::None,
            seen: self.seen,
        })
    }

    /// Remembers the lines of a head that was parsed out of the beginning of `buf`.
    pub(crate) fn learn(&mut self, head: &Head<'_, '_>, buf: &[u8]) {
        let Fields::Parsed(fields) = head.fields else { return };
        if self.useless.get() >= USELESS_MAX || head.framing != Framing::None || fields.len() > FIELDS_MAX {
            return;
        }
        let bytes = buf.get(..head.len_bytes).unwrap_or_default();
        let Some(line_end) = memchr::memchr(b'\n', bytes) else { return };
        let block = bytes.get(line_end + 1..).unwrap_or_default();
        if block.len() > BLOCK_MAX_BYTES {
            return;
        }
        self.useless.set(self.useless.get() + 1);
        self.forget();
        // Where a slice of the block stands in it.
        let place = |part: &[u8]| {
            let from = part.as_ptr().addr().checked_sub(block.as_ptr().addr())?;
            Some((u16::try_from(from).ok()?, u16::try_from(from + part.len()).ok()?))
        };
        for field in fields {
            let (Some(name), Some(value)) = (place(field.name.as_bytes()), place(field.value)) else {
                return self.forget();
            };
            self.spans.push(Span { name, value });
        }
        self.block.extend_from_slice(block);
        self.seen = head.seen;
        self.minor = head.minor;
    }

    fn forget(&mut self) {
        self.block.clear();
        self.spans.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Known;
    use crate::Limits;
    use crate::head::{Head, HeadLimits, parse, slots};
    use proptest::prelude::*;

    fn limits() -> HeadLimits {
        HeadLimits { line_max_bytes: 60, head_max_bytes: 200, ..HeadLimits::of(&Limits::default()) }
    }

    /// All that a head says.
    fn told(head: &Head<'_, '_>) -> String {
        let fields: Vec<_> = head.fields.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
        let texts = [head.host(), head.user_agent(), head.referer()];
        let (method, target, minor) = (head.method, head.target, head.minor);
        format!(
            "{method} {target} {minor} {} {:?} {:?} {texts:?} {fields:?}",
            head.len_bytes, head.framing, head.seen
        )
    }

    /// Both judgements of each head in turn, as a connection would come to them.
    fn both(known: &mut Known, bytes: &[u8]) -> (Option<String>, Option<String>) {
        let quick = known.recognise(bytes, &limits()).map(|head| told(&head));
        let mut room = slots();
        let parsed = parse(bytes, &mut 0, &mut room, &limits()).ok().flatten();
        if quick.is_none()
            && let Some(head) = &parsed
        {
            known.learn(head, bytes);
        }
        (quick, parsed.map(|head| told(&head)))
    }

    #[test]
    fn equal_lines_are_known_whatever_the_request_line() {
        let mut known = Known::default();
        let lines = "Host: a\r\nUser-Agent: me\r\nCookie: a=b\r\nRange: bytes=0-1\r\n\r\n";
        let ask = |line: &str, lines: &str| format!("{line}\r\n{lines}GET / HTTP/1.1\r\n").into_bytes();
        assert_eq!(both(&mut known, &ask("GET /a HTTP/1.1", lines)).0, None, "the first is parsed");
        for line in ["GET /a HTTP/1.1", "HEAD /another/target?q HTTP/1.1", "POST / HTTP/1.1"] {
            let (quick, parsed) = both(&mut known, &ask(line, lines));
            assert!(quick.is_some() && quick == parsed, "{line}: {quick:?} {parsed:?}");
        }
        let too_long = format!("GET /{} HTTP/1.1", "x".repeat(60));
        for (line, lines) in [
            ("GET /a HTTP/1.0", lines),
            ("GET /a  HTTP/1.1", lines),
            (&too_long, lines),
            ("GET /a HTTP/1.1", "Host: b\r\nUser-Agent: me\r\nCookie: a=b\r\nRange: bytes=0-1\r\n\r\n"),
            ("GET /a HTTP/1.1", "Host: a\r\nUser-Agent: me\r\nCookie: a=b\r\nRange: bytes=0-1\r\n"),
            ("GET /a HTTP/1.1\r\nX: y", lines),
        ] {
            assert_eq!(known.recognise(&ask(line, lines), &limits()).map(|head| told(&head)), None, "{line}");
        }
        let fewer = HeadLimits { fields_max: 3, ..limits() };
        assert!(
            known.recognise(&ask("GET /a HTTP/1.1", lines), &fewer).is_none(),
            "limits may have been lowered"
        );
    }

    #[test]
    fn lines_that_never_come_again_are_no_longer_remembered() {
        let mut known = Known::default();
        let ask = |n: u32| format!("GET / HTTP/1.1\r\nHost: a\r\nX: {n}\r\n\r\n").into_bytes();
        for n in 0..4 {
            both(&mut known, &ask(n));
        }
        assert!(known.recognise(&ask(3), &limits()).is_some(), "the fourth was remembered");
        let mut known = Known::default();
        for n in 0..5 {
            both(&mut known, &ask(n));
        }
        assert!(known.recognise(&ask(4), &limits()).is_none(), "the fifth was not");
    }

    proptest! {
        /// Whatever is known is what parsing finds.
        #[test]
        fn what_is_known_is_what_parsing_finds(
            heads in prop::collection::vec((
                prop::sample::select(vec![
                    "GET / HTTP/1.1", "GET / HTTP/1.0", "HEAD /x?y HTTP/1.1", "GET  / HTTP/1.1", "GET /\u{7f} HTTP/1.1",
                    "(GET / HTTP/1.1", "GET / HTTP/1.1\r\nA: b", "GET / HTTP/2.0", "GET /a\nb HTTP/1.1",
                ]),
                prop::sample::select(vec!["\r\n", "\n", "\r\r\n"]),
                prop::sample::select(vec![
                    "Host: a\r\n\r\n", "Host: a\r\nA: b\r\n\r\n", "Host: a\r\nContent-Length: 1\r\n\r\nGET",
                    "Host: a\r\nContent-Length: 0\r\n\r\n", "Host: a\r\nRange: a\r\nrange: b\r\n\r\n", "\r\n",
                    "Host: a\r\nAuthorization: x\r\n\r\n", "Host: a\r\nHost: b\r\n\r\n", "Host : a\r\n\r\n",
                ]),
                prop::sample::select(vec!["", "GET / HTTP/1.1\r\n", "\r\n"]),
            ), 1..12),
        ) {
            let mut known = Known::default();
            for (line, end, lines, after) in &heads {
                let bytes = [line, *end, lines, after].concat().into_bytes();
                let (quick, parsed) = both(&mut known, &bytes);
                if quick.is_some() {
                    prop_assert_eq!(quick, parsed);
                }
                for cut in 0..bytes.len() {
                    // A piece of it says no more than the whole.
                    if let Some(head) = known.recognise(&bytes[..cut], &limits()) {
                        prop_assert!(head.len_bytes <= cut);
                    }
                }
            }
        }
    }
}
