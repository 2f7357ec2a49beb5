//! One spelling per host: what chooses the site, stands in the key and is sent to the origin.
//!
//! Lower case, no trailing dot, no default port, IPv6 in its canonical text (RFC 5952) within brackets. Names
//! beyond ASCII must come as punycode, as they do on the wire. Not here: which site serves it (`route`).

use std::net::Ipv6Addr;

/// RFC 1035 §2.3.4, bytes.
const NAME_MAX_BYTES: usize = 253;
const LABEL_MAX_BYTES: usize = 63;

/// Host and port of a Host field or an authority; the port is `None` if it is the scheme's own or was not given.
/// `None` if this is no host.
pub fn normalise_host(host: &str, scheme: &str) -> Option<(String, Option<u16>)> {
    let (name, port) = if let Some(inside) = host.strip_prefix('[') {
        let (address, after) = inside.split_once(']')?;
        let port = if after.is_empty() { "" } else { after.strip_prefix(':')? };
        (format!("[{}]", address.parse::<Ipv6Addr>().ok()?), port)
    } else {
        let (name, port) = host.split_once(':').unwrap_or((host, ""));
        (normalise_name(name)?, port)
    };
    let port = parse_port(port)?.filter(|port| Some(*port) != default_port(scheme));
    Some((name, port))
}

/// The port a scheme has when none is written.
pub(crate) fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

fn normalise_name(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    (name.len() <= NAME_MAX_BYTES && is_labels(name)).then(|| name.to_ascii_lowercase())
}

/// Labels between dots: letters, digits and hyphens, and the underscore that private networks use.
fn is_labels(name: &str) -> bool {
    let mut label_bytes = 0;
    for byte in name.bytes() {
        match byte {
            b'.' if label_bytes == 0 => return false,
            b'.' => label_bytes = 0,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' if label_bytes < LABEL_MAX_BYTES => {
                label_bytes += 1
            }
            _ => return false,
        }
    }
    label_bytes > 0
}

/// Outer `None`: not a port. Inner `None`: none given; RFC 3986 §3.2.3 allows `host:`.
fn parse_port(text: &str) -> Option<Option<u16>> {
    if text.is_empty() {
        return Some(None);
    }
    // `parse` alone would take a plus sign.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<u16>().ok().filter(|port| *port != 0).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_host() {
        for (given, scheme, name, port) in [
            ("Example.COM", "http", "example.com", None),
            ("example.com.", "http", "example.com", None),
            ("example.com:80", "http", "example.com", None),
            ("example.com:443", "http", "example.com", Some(443)),
            ("example.com:443", "https", "example.com", None),
            ("example.com.:8080", "http", "example.com", Some(8080)),
            ("example.com:", "http", "example.com", None),
            ("example.com:0080", "http", "example.com", None),
            ("localhost", "http", "localhost", None),
            ("127.0.0.1:8080", "http", "127.0.0.1", Some(8080)),
            ("[::1]", "http", "[::1]", None),
            ("[0:0::0:1]:8080", "http", "[::1]", Some(8080)),
            ("[2001:DB8::A]:80", "http", "[2001:db8::a]", None),
            ("[::1]:", "http", "[::1]", None),
            ("my_host", "http", "my_host", None),
            ("xn--strae-oqa.example", "http", "xn--strae-oqa.example", None),
        ] {
            assert_eq!(normalise_host(given, scheme), Some((name.to_owned(), port)), "{given}");
        }
    }

    #[test]
    fn no_hosts() {
        let long_label = "a".repeat(64);
        let long_name = "a.".repeat(130);
        for given in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a..",
            "a b",
            "a/b",
            "a?b",
            "a@b",
            "a\nb",
            "straße.example",
            "a%41",
            "a:b",
            "a:99999",
            "a:0",
            "a:+1",
            "a:1:2",
            "::1",
            "[::1",
            "[::1]x",
            "[]",
            "[fe80::1%25eth0]",
            &long_label,
            &long_name,
        ] {
            assert_eq!(normalise_host(given, "http"), None, "{given}");
        }
    }
}
