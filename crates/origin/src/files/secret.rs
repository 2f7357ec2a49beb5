//! Files that are never served for what is in them: private keys, and configurations of ours.
//!
//! Somebody put them among the files by mistake, whatever the server was started with. Only the beginning is looked at, and
//! only of files that are no web page, picture or the like by their type; a file that looks like one of several PEM blocks is
//! looked at further, as the key may follow its certificates. Not here: names that are never served (`hidden`).

use http::HeaderValue;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::IoSliceMut;
use std::os::fd::AsFd;

/// How much is looked at of any file, bytes.
const HEAD_BYTES: usize = 1024;

/// How much is looked at where there is a PEM block, bytes: a key with a long chain of certificates.
const PEM_BYTES: usize = 64 * 1024;

/// What pages are made of; a key in one of these is quoted.
const PAGES: [&str; 12] = [
    "image/",
    "video/",
    "audio/",
    "font/",
    "text/html",
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/xhtml",
    "application/wasm",
    "application/pdf",
    "application/zip",
];

/// Why this open file is not served, if so. `name` is its last name.
pub(super) fn kept_back(file: impl AsFd, name: &[u8], content_type: &HeaderValue) -> Option<&'static str> {
    let content_type = content_type.as_bytes();
    if PAGES.iter().any(|page| content_type.starts_with(page.as_bytes())) {
        return None;
    }
    let head = read(&file, HEAD_BYTES);
    if let Some(why) = of_head(&head, name) {
        return Some(why);
    }
    // A certificate may stand before the key, and words about it before that.
    let longer = head.len() == HEAD_BYTES && (contains(&head, b"-----BEGIN ") || names_pem(name));
    (longer && has_key(&read(&file, PEM_BYTES))).then_some(KEY)
}

const KEY: &str = "holds a private key";

fn of_head(head: &[u8], name: &[u8]) -> Option<&'static str> {
    if has_key(head) || is_der_key(head, name) {
        return Some(KEY);
    }
    is_ours(head).then_some("is a configuration of Samovar")
}

fn names_pem(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    [".pem", ".key", ".crt", ".cer"].iter().any(|end| lower.ends_with(end.as_bytes()))
}

/// RFC 7468 §3: a block begins at the start of a line. In JSON, where a line end is two characters, it begins a text.
fn has_key(text: &[u8]) -> bool {
    let json = text.trim_ascii_start().first().is_some_and(|first| matches!(first, b'{' | b'['));
    let starts = text.windows(BEGIN.len()).enumerate().filter(|(_, window)| *window == BEGIN);
    starts.map(|(at, _)| at).any(|at| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let begins = match before {
            None | Some(b'\n' | b'\r') => true,
            // A byte order mark.
            Some(0xBF) => at == 3,
            Some(b'"') => json,
            Some(_) => false,
        };
        let label = text.get(at + BEGIN.len()..).unwrap_or_default();
        let end = label.windows(5).position(|window| window == b"-----");
        begins && end.and_then(|end| label.get(..end)).is_some_and(|label| contains(label, b"PRIVATE KEY"))
    }) || text.starts_with(b"PuTTY-User-Key-File-")
        || text.starts_with(b"AGE-SECRET-KEY-")
}

const BEGIN: &[u8] = b"-----BEGIN ";

/// RFC 5208 §5, RFC 8017 §A.1.2, RFC 5915 §3: a sequence that begins with version 0 or 1. Other files begin so, too, but not
/// under these names.
fn is_der_key(head: &[u8], name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    let named = [".key", ".der", ".p8", ".pk8"].iter().any(|end| lower.ends_with(end.as_bytes()));
    let inner = match head {
        [0x30, len, inner @ ..] if *len < 0x80 => inner,
        [0x30, 0x81, _, inner @ ..] | [0x30, 0x82, _, _, inner @ ..] => inner,
        _ => return false,
    };
    named && matches!(inner, [0x02, 0x01, 0x00 | 0x01, ..])
}

/// The first line that says something gives the version of the format (`config = 1`).
fn is_ours(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")).unwrap_or_default();
    let value = first.strip_prefix(b"config").map(<[u8]>::trim_ascii_start);
    let value = value.and_then(|rest| rest.strip_prefix(b"=")).map(<[u8]>::trim_ascii_start);
    value.is_some_and(|value| value.first().is_some_and(u8::is_ascii_digit))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// The first bytes; fewer if it has fewer, or cannot be read.
fn read(file: &impl AsFd, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let offset = u64::try_from(done).unwrap_or(u64::MAX);
        // The core waits for a disk only where the file is in nobody's memory, once.
        let got = match preadv2(file, &mut [IoSliceMut::new(rest)], offset, ReadWriteFlags::NOWAIT) {
            Err(Errno::OPNOTSUPP | Errno::AGAIN) => rustix::io::pread(file, rest, offset),
            got => got,
        };
        match got {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    bytes.truncate(done);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_by_what_they_hold() {
        for (text, wanted) in [
            ("-----BEGIN PRIVATE KEY-----\nMIIE", true),
            ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", true),
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----\r\n", true),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\n", true),
            ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n", true),
            ("\u{feff}-----BEGIN EC PRIVATE KEY-----\n", true),
            ("Bag Attributes\n    friendlyName: a\n-----BEGIN PRIVATE KEY-----\n", true),
            (
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n",
                true,
            ),
            ("{\"private_key\":\"-----BEGIN PRIVATE KEY-----\\nMIIE", true),
            ("PuTTY-User-Key-File-2: ssh-rsa", true),
            ("-----BEGIN CERTIFICATE-----\nMIIB\n", false),
            ("-----BEGIN PUBLIC KEY-----\nMIIB\n", false),
            ("It begins with -----BEGIN PRIVATE KEY-----", false),
            ("   -----BEGIN PRIVATE KEY-----", false),
            ("say \"-----BEGIN PRIVATE KEY-----\"", false),
            ("", false),
        ] {
            assert_eq!(has_key(text.as_bytes()), wanted, "{text:?}");
        }
    }

    #[test]
    fn keys_without_armour_by_name_and_beginning() {
        let pkcs8 = [0x30, 0x82, 0x04, 0xBE, 0x02, 0x01, 0x00, 0x30];
        let small = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04];
        let certificate = [0x30, 0x82, 0x03, 0x00, 0x30, 0x82];
        assert!(is_der_key(&pkcs8, b"server.KEY") && is_der_key(&small, b"ec.der"));
        assert!(!is_der_key(&pkcs8, b"a.bin") && !is_der_key(&certificate, b"a.der"));
        assert!(!is_der_key(b"PK\x03\x04", b"talk.key"), "a presentation");
    }

    #[test]
    fn configurations_of_ours() {
        for (text, wanted) in [
            ("config = 1\n[[site]]\n", true),
            ("# written by hand\n\n  config=1", true),
            ("\u{feff}config = 1\r\n", true),
            ("config = \"a\"\n", false),
            ("configuration = 1\n", false),
            ("[package]\nconfig = 1\n", false),
            ("", false),
        ] {
            assert_eq!(is_ours(text.as_bytes()), wanted, "{text:?}");
        }
    }
}
