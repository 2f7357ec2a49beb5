//! What comes back over the wire: response heads, bodies of every framing, and what caches say of themselves.
//!
//! Pure: bytes in, facts out, in any splits. Not here: sockets, clocks, counting.

pub mod cached;
pub mod chunked;
pub mod head;
pub mod media;
pub mod reader;

pub use cached::Cached;
pub use head::{Coding, Framing, Head};
pub use media::Media;
pub use reader::{Ending, Progress, Reader};

/// Why bytes are not an HTTP/1.x response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The status line or a field line does not parse (RFC 9112 §4, §5).
    Head,
    /// The head is longer than [`reader::HEAD_LIMIT_BYTES`], or has more fields than we look at.
    HeadTooLong,
    /// `Content-Length` is not a number, or several disagree (RFC 9112 §6.3).
    Length,
    /// A chunk size, its line end, or the trailer section is wrong (RFC 9112 §7.1).
    Chunk,
}

impl Malformed {
    /// One sentence for people.
    pub fn text(self) -> &'static str {
        match self {
            Malformed::Head => "the status line or a header field does not parse",
            Malformed::HeadTooLong => "the head is longer than 256 KiB or has more than 256 fields",
            Malformed::Length => "Content-Length is not one number",
            Malformed::Chunk => "the chunked body is broken",
        }
    }
}
