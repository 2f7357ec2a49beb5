//! Messages over a connection: their length in four bytes, big end first, then JSON.
//!
//! Not here: what they say.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest there is: all that a run of many steps counted, with room to spare.
const LIMIT_BYTES: u32 = 256 * 1024 * 1024;

/// Says one.
pub(super) fn say(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= LIMIT_BYTES);
    let length = length.ok_or_else(|| io::Error::other("the message is too long to be sent"))?;
    let mut whole = length.to_be_bytes().to_vec();
    whole.extend_from_slice(&body);
    stream.write_all(&whole)?;
    stream.flush()
}

/// Hears one of at most `most` bytes; an end of the connection is an error.
pub(super) fn hear<M: DeserializeOwned>(stream: &mut impl Read, most: u32) -> io::Result<M> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > most.min(LIMIT_BYTES) {
        return Err(io::Error::other("this is not what a thirst says"));
    }
    // Read as it comes: a length that was only claimed takes no memory.
    let mut body = Vec::new();
    stream.take(length.into()).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&body)
        .map_err(|_| io::Error::other("this is not what a thirst of this version says"))
}

/// For those whose first word nobody has heard yet.
pub(super) const FIRST_BYTES: u32 = 4096;
/// For those who are known.
pub(super) const ANY_BYTES: u32 = LIMIT_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut wire = Vec::new();
        say(&mut wire, &("a", 1)).unwrap();
        say(&mut wire, &("b", 2)).unwrap();
        let mut rest = wire.as_slice();
        assert_eq!(hear::<(String, u8)>(&mut rest, ANY_BYTES).unwrap(), ("a".to_owned(), 1));
        assert_eq!(hear::<(String, u8)>(&mut rest, ANY_BYTES).unwrap(), ("b".to_owned(), 2));
        assert!(hear::<(String, u8)>(&mut rest, ANY_BYTES).is_err());
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let refused = |bytes: &[u8]| hear::<(String, u8)>(&mut &bytes[..], FIRST_BYTES).is_err();
        assert!(refused(b"GET / HTTP/1.1\r\n\r\n"));
        assert!(refused(&[0, 0, 0, 9, b'"']));
        assert!(refused(&[0, 0, 0, 2, b'{', b'}']));
        assert!(refused(&[0xff; 64]));
    }
}
