//! The head by which a proxy says for whom it speaks: the PROXY protocol, versions 1 and 2
//! (haproxy.org, `doc/proxy-protocol.txt`). Pure: bytes in, a verdict out.
//!
//! It comes before anything else on a connection, TLS included, and has no end that could be looked for, so it is read in
//! steps: [`read`] says how many more bytes certainly belong to it, and never one beyond. Not here: whom to believe, and
//! what a connection is without one.

use samovar_reason::Reject;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What version 2 begins with.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// What version 1 begins with.
const WORD: &[u8; 6] = b"PROXY ";
/// The longest head of version 1, bytes, its line end included.
const LINE_MAX_BYTES: usize = 107;
/// Up to the length of the rest, version 2, bytes.
const FIXED_BYTES: usize = 16;
/// The longest head of version 2 that is read, bytes: addresses, and what a proxy may say beside (a certificate's names).
pub const HEAD_MAX_BYTES: usize = 4 << 10;
/// A field with the checksum over the whole head.
const CRC32C: u8 = 0x03;

/// What the head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// The proxy speaks for itself, or for somebody who has no address: those of the connection hold.
    Nobody,
    /// Who connected, and to which address.
    Client {
        /// The client.
        source: SocketAddr,
        /// The address it connected to.
        destination: SocketAddr,
    },
}

/// How far the head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// At least so many more bytes belong to it.
    More(usize),
    /// It is whole.
    Whole(Says),
}

/// Judges what has come so far: a beginning of the head, or all of it and not a byte more.
///
/// # Errors
/// [`Reject::BadProxyHead`]: this is none, or a broken one.
pub fn read(bytes: &[u8]) -> Result<Read, Reject> {
    if bytes.first().is_none_or(|first| *first == WORD[0]) && bytes.len() < WORD.len() {
        return if WORD.starts_with(bytes) { Ok(Read::More(WORD.len() - bytes.len())) } else { bad() };
    }
    if bytes.starts_with(WORD) {
        return first_version(bytes);
    }
    if bytes.len() < FIXED_BYTES {
        let known = bytes.len().min(SIGNATURE.len());
        let so_far = bytes.get(..known) == SIGNATURE.get(..known);
        return if so_far { Ok(Read::More(FIXED_BYTES - bytes.len())) } else { bad() };
    }
    second_version(bytes)
}

fn bad<T>() -> Result<T, Reject> {
    Err(Reject::BadProxyHead)
}

/// `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n`, in ASCII, single spaces, nothing to spare.
fn first_version(bytes: &[u8]) -> Result<Read, Reject> {
    let Some(line) = bytes.strip_suffix(b"\r\n") else {
        // Of a line feed within nothing good comes; without one there is at least the line's end to come.
        let over = bytes.contains(&b'\n') || bytes.len() >= LINE_MAX_BYTES;
        let least = if bytes.last() == Some(&b'\r') { 1 } else { 2 };
        return if over { bad() } else { Ok(Read::More(least.max(least_of_line(bytes)))) };
    };
    if bytes.len() > LINE_MAX_BYTES || line.iter().any(|byte| !matches!(byte, b' '..=b'~')) {
        return bad();
    }
    let text = std::str::from_utf8(line).map_err(|_| Reject::BadProxyHead)?;
    let mut words = text.split(' ').skip(1);
    let mut next = || words.next().unwrap_or_default();
    let family = next();
    if family == "UNKNOWN" {
        // Whatever follows is to be passed over (§2.1).
        return Ok(Read::Whole(Says::Nobody));
    }
    let (from, to, from_port, to_port) = (next(), next(), next(), next());
    if words.next().is_some() {
        return bad();
    }
    let (source, destination) = (port(from_port)?, port(to_port)?);
    let address = |text: &str| -> Result<IpAddr, Reject> {
        let found = match family {
            "TCP4" => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
            "TCP6" => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            _ => None,
        };
        found.ok_or(Reject::BadProxyHead)
    };
    Ok(Read::Whole(Says::Client {
        source: SocketAddr::new(address(from)?, source),
        destination: SocketAddr::new(address(to)?, destination),
    }))
}

/// How many bytes of a line are still to come at least, so that a usual one takes few reads: the family, and after it four
/// words (`::`, `::`, `0`, `0`) with their spaces.
fn least_of_line(bytes: &[u8]) -> usize {
    const SHORTEST: [(&[u8], usize); 2] = [
        (b"PROXY TCP4 ", b"PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n".len()),
        (b"PROXY TCP6 ", b"PROXY TCP6 :: :: 0 0\r\n".len()),
    ];
    // `PROXY UNKNOWN\r\n` is the shortest of all.
    let all = SHORTEST.iter().find(|(begins, _)| bytes.starts_with(begins)).map_or(15, |(_, least)| *least);
    all.saturating_sub(bytes.len())
}

/// Digits only, no zero in front (§2.1).
fn port(text: &str) -> Result<u16, Reject> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain).ok_or(Reject::BadProxyHead)
}

/// §2.2: signature, version and command, family, length; addresses; further fields.
fn second_version(bytes: &[u8]) -> Result<Read, Reject> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED_BYTES>() else { return bad() };
    let [.., command, family, high, low] = *fixed;
    if !fixed.starts_with(SIGNATURE) {
        return bad();
    }
    let len = usize::from(u16::from_be_bytes([high, low]));
    // The upper half is the version; of the lower only LOCAL (0) and PROXY (1) are known, and others are to be refused.
    if !matches!(command, 0x20 | 0x21) || FIXED_BYTES + len > HEAD_MAX_BYTES || rest.len() > len {
        return bad();
    }
    if rest.len() < len {
        return Ok(Read::More(len - rest.len()));
    }
    // TCP over IPv4, over IPv6; others have no address that a client of ours could have.
    let (says, fields) = match (command, family) {
        (0x21, 0x11) => v4(rest)?,
        (0x21, 0x21) => v6(rest)?,
        (0x21, 0x12) => (Says::Nobody, rest.get(12..)),
        (0x21, 0x22) => (Says::Nobody, rest.get(36..)),
        (0x21, 0x31 | 0x32) => (Says::Nobody, rest.get(216..)),
        // LOCAL, or a family that is not said: nothing of it counts, but for the checksum.
        _ => return local(bytes, rest),
    };
    check_fields(bytes, fields.ok_or(Reject::BadProxyHead)?)?;
    Ok(Read::Whole(says))
}

/// Of a head that names nobody the addresses are passed over, whatever they are (§2.2); then no field can be found either.
fn local(bytes: &[u8], rest: &[u8]) -> Result<Read, Reject> {
    if bytes.get(13) == Some(&0) {
        check_fields(bytes, rest)?;
    }
    Ok(Read::Whole(Says::Nobody))
}

type Found<'b> = (Says, Option<&'b [u8]>);

fn v4(rest: &[u8]) -> Result<Found<'_>, Reject> {
    let Some((&[a, b, c, d, e, f, g, h, p, q, r, s], fields)) = rest.split_first_chunk::<12>() else {
        return bad();
    };
    let source = SocketAddr::from(([a, b, c, d], u16::from_be_bytes([p, q])));
    let destination = SocketAddr::from(([e, f, g, h], u16::from_be_bytes([r, s])));
    Ok((Says::Client { source, destination }, Some(fields)))
}

fn v6(rest: &[u8]) -> Result<Found<'_>, Reject> {
    let address = |bytes: &[u8]| <[u8; 16]>::try_from(bytes).map(Ipv6Addr::from).ok();
    let port = |bytes: &[u8]| <[u8; 2]>::try_from(bytes).map(u16::from_be_bytes).ok();
    let find = || {
        let source = (address(rest.get(..16)?)?, port(rest.get(32..34)?)?);
        let destination = (address(rest.get(16..32)?)?, port(rest.get(34..36)?)?);
        Some(Says::Client { source: source.into(), destination: destination.into() })
    };
    Ok((find().ok_or(Reject::BadProxyHead)?, rest.get(36..)))
}

/// Further fields: type, length, value. Only the checksum means anything here; what is not known is passed over (§2.2.1).
fn check_fields(head: &[u8], mut fields: &[u8]) -> Result<(), Reject> {
    let mut checked = false;
    while let Some((&[kind, high, low], rest)) = fields.split_first_chunk::<3>() {
        let len = usize::from(u16::from_be_bytes([high, low]));
        let Some((value, after)) = rest.split_at_checked(len) else { return bad() };
        if kind == CRC32C {
            let Ok(said) = <[u8; 4]>::try_from(value) else { return bad() };
            // There is one head to check: for each further checksum all of it would be gone through again.
            if std::mem::replace(&mut checked, true) {
                return bad();
            }
            // Computed with the field itself taken for zeros (§2.2.4).
            let at = head.len() - rest.len();
            let zeroed =
                head.iter().enumerate().map(|(n, byte)| if (at..at + 4).contains(&n) { 0 } else { *byte });
            if crc32c(zeroed) != u32::from_be_bytes(said) {
                return bad();
            }
        }
        fields = after;
    }
    if fields.is_empty() { Ok(()) } else { bad() }
}

/// Castagnoli's polynomial, reflected; bit by bit, as a head is short and rare.
fn crc32c(bytes: impl Iterator<Item = u8>) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
    !bytes.fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

/// Any bytes: whole or in the steps that are asked for the verdict is the same, and no step reads beyond the head. For the
/// fuzz target and the tests.
///
/// # Panics
/// If they are not.
pub fn judge_bytes(bytes: &[u8]) {
    let mut at = 0;
    let stepwise = loop {
        let here = bytes.get(..at).unwrap_or_default();
        match read(here) {
            Ok(Read::More(more)) => {
                assert!(more > 0 && at + more <= HEAD_MAX_BYTES, "{more} more after {at}");
                if at + more > bytes.len() {
                    break None;
                }
                at += more;
            }
            Ok(Read::Whole(says)) => break Some(says),
            Err(reject) => {
                assert_eq!(reject, Reject::BadProxyHead);
                return;
            }
        }
    };
    if let Some(says) = stepwise {
        assert_eq!(read(bytes.get(..at).unwrap_or_default()), Ok(Read::Whole(says)));
        // Every beginning of a head is one, whichever way it is cut.
        for cut in 0..at {
            let more = read(bytes.get(..cut).unwrap_or_default());
            assert!(matches!(more, Ok(Read::More(n)) if cut + n <= at), "cut at {cut}: {more:?}");
        }
    }
}

#[cfg(test)]
mod tests;
