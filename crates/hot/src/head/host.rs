//! Whether a Host value is well formed (RFC 9110 §7.2, RFC 3986 §3.2.2).
//!
//! Not here: whether anyone serves it, and its normal form.

/// Whether `value` is `uri-host [ ":" port ]` with a host that is not empty.
pub fn valid_host(value: &[u8]) -> bool {
    if let Some(rest) = value.strip_prefix(b"[") {
        let Some(end) = memchr::memchr(b']', rest) else { return false };
        let (address, tail) = rest.split_at(end);
        return valid_literal(address) && valid_port(tail.get(1..).unwrap_or_default());
    }
    let name_len = memchr::memchr(b':', value).unwrap_or(value.len());
    let (name, port) = value.split_at(name_len);
    !name.is_empty() && valid_name(name) && valid_port(port)
}

/// Nothing, or a colon and a port number; RFC 3986 allows the number to be missing.
fn valid_port(tail: &[u8]) -> bool {
    match tail {
        [] => true,
        [b':', digits @ ..] => {
            digits.len() <= 5
                && digits.iter().all(u8::is_ascii_digit)
                && digits.iter().fold(0u32, |n, d| n * 10 + u32::from(d - b'0')) <= 65_535
        }
        _ => false,
    }
}

/// The inside of `[…]`: an IPv6 address. IPvFuture and zones do not occur in requests.
fn valid_literal(address: &[u8]) -> bool {
    std::str::from_utf8(address).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
}

/// `reg-name` without percent escapes: no registry knows such names, and `http::uri::Authority` refuses them.
fn valid_name(name: &[u8]) -> bool {
    name.iter().all(|b| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(b))
}

#[cfg(test)]
mod tests {
    use super::valid_host;

    #[test]
    fn hosts() {
        for good in [
            "a",
            "example.com",
            "example.com.",
            "EXAMPLE.com:80",
            "a:",
            "127.0.0.1",
            "127.0.0.1:65535",
            "[::1]",
            "[::1]:8080",
            "xn--bcher-kva.example",
            "a_b.example",
        ] {
            assert!(valid_host(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            ":80",
            "a b",
            "a/b",
            "a@b",
            "a:80:80",
            "a:65536",
            "a:8x",
            "[::1",
            "[::1]x",
            "[x]",
            "::1",
            "a%4",
            "%41.example",
            "a?",
            "a#",
            "a\\b",
            "\u{fc}.example",
            "[fe80::1%25eth0]",
        ] {
            assert!(!valid_host(bad.as_bytes()), "{bad}");
        }
    }
}
