//! One response, read as it arrives, in any splits.
//!
//! The fast path is a whole head (and often a whole response) in one read: nothing is copied. A head that comes
//! in pieces is gathered in a buffer of its own. Bodies are counted, never kept; who wants the bytes gets them
//! through a function.
//!
//! Not here: sockets, clocks, what is done with the facts.

use super::Malformed;
use super::chunked::Chunked;
use super::head::{self, Framing, Head};

/// Longest head we gather, in bytes.
pub const HEAD_LIMIT_BYTES: usize = 256 * 1024;

/// How far one response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The response is whole after this many bytes of the last input.
    Done(usize),
}

/// What the end of the connection means for the response being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The body was to end with the connection: the response is whole.
    Whole,
    /// The connection ended before or inside the head.
    NoHead,
    /// The connection ended inside the body.
    ShortBody,
}

#[derive(Clone, Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Done,
}

/// Reads one response after another; [`Reader::reset`] between them.
#[derive(Debug)]
pub struct Reader {
    state: State,
    asked_head: bool,
    gathered: Vec<u8>,
    head: Option<Head>,
    /// Whether the bytes of the final head are kept, for those who look at more of its fields.
    keeps_head: bool,
    kept: Vec<u8>,
    body_bytes: u64,
    head_bytes: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            state: State::Head,
            asked_head: false,
            gathered: Vec::new(),
            head: None,
            keeps_head: false,
            kept: Vec::new(),
            body_bytes: 0,
            head_bytes: 0,
        }
    }
}

impl Reader {
    /// Makes ready for the next response; `asked_head` when the request is HEAD.
    pub fn reset(&mut self, asked_head: bool) {
        self.state = State::Head;
        self.asked_head = asked_head;
        self.gathered.clear();
        self.head = None;
        self.kept.clear();
        self.body_bytes = 0;
        self.head_bytes = 0;
    }

    /// Keeps the bytes of the final head of the next answers, or does not.
    pub fn keep_head(&mut self, keeps: bool) {
        self.keeps_head = keeps;
    }

    /// The bytes of the final head, if they are kept.
    pub fn head_text(&self) -> &[u8] {
        &self.kept
    }

    /// The final head, once it is there.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Body bytes so far, without the framing of chunks.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Bytes of the final head and of interim ones before it.
    pub fn head_bytes(&self) -> u64 {
        self.head_bytes
    }

    /// Takes what arrived. Body bytes go to `body`, too, with the head they belong to.
    ///
    /// # Errors
    /// [`Malformed`]; the connection is of no further use.
    pub fn feed(&mut self, input: &[u8], body: &mut impl FnMut(&Head, &[u8])) -> Result<Progress, Malformed> {
        let mut rest = input;
        while matches!(self.state, State::Head) {
            match self.feed_head(rest)? {
                None => return Ok(Progress::More),
                Some(used) => rest = rest.get(used..).unwrap_or_default(),
            }
        }
        let done = self.feed_body(&mut rest, body)?;
        Ok(if done { Progress::Done(input.len() - rest.len()) } else { Progress::More })
    }

    /// Reads heads until the final one; returns how much of `input` the head used.
    fn feed_head(&mut self, input: &[u8]) -> Result<Option<usize>, Malformed> {
        let before = self.gathered.len();
        let parsed = if before == 0 {
            head::parse(input, self.asked_head)?
        } else {
            self.gathered.extend_from_slice(input);
            // Parsed again only when an end came in: a head that drips in byte by byte must not cost the square.
            let news = self.gathered.get(before.saturating_sub(3)..).unwrap_or_default();
            if holds_end(news) { head::parse(&self.gathered, self.asked_head)? } else { None }
        };
        let Some((used, head)) = parsed else {
            if before == 0 {
                self.gathered.extend_from_slice(input);
            }
            return if self.gathered.len() > HEAD_LIMIT_BYTES {
                Err(Malformed::HeadTooLong)
            } else {
                Ok(None)
            };
        };
        if self.keeps_head && !head.is_interim() {
            let whole = if before == 0 { input } else { self.gathered.as_slice() };
            self.kept.extend_from_slice(whole.get(..used).unwrap_or_default());
        }
        self.gathered.clear();
        self.head_bytes += used as u64;
        if !head.is_interim() {
            self.state = match head.framing {
                Framing::Empty | Framing::Length(0) => State::Done,
                Framing::Length(length) => State::Length(length),
                Framing::Chunked => State::Chunked(Chunked::default()),
                Framing::UntilClose => State::UntilClose,
            };
            self.head = Some(head);
        }
        Ok(Some(used.saturating_sub(before)))
    }

    fn feed_body(
        &mut self,
        rest: &mut &[u8],
        body: &mut impl FnMut(&Head, &[u8]),
    ) -> Result<bool, Malformed> {
        let Some(head) = self.head.as_ref() else { return Ok(false) };
        match &mut self.state {
            State::Head | State::Done => {}
            State::Length(left) => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                let (data, after) = rest.split_at(take);
                body(head, data);
                self.body_bytes += take as u64;
                *left -= take as u64;
                *rest = after;
                if *left == 0 {
                    self.state = State::Done;
                }
            }
            State::Chunked(chunked) => {
                let mut counted = 0;
                let (used, done) = chunked.feed(rest, &mut |data| {
                    counted += data.len() as u64;
                    body(head, data);
                })?;
                self.body_bytes += counted;
                *rest = rest.get(used..).unwrap_or_default();
                if done {
                    self.state = State::Done;
                }
            }
            State::UntilClose => {
                body(head, rest);
                self.body_bytes += rest.len() as u64;
                *rest = &[];
            }
        }
        Ok(matches!(self.state, State::Done))
    }

    /// What it means that the server closed now.
    pub fn end(&self) -> Ending {
        match self.state {
            State::Head => Ending::NoHead,
            State::UntilClose | State::Done => Ending::Whole,
            State::Length(_) | State::Chunked(_) => Ending::ShortBody,
        }
    }
}

/// Whether an empty line is in here, bare LF included, as the parser takes both.
fn holds_end(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}
