//! How values must be spelt to be taken: hosts, names, fields, extensions, path globs, durations, sizes; and what their
//! spellings in the sources mean.
//!
//! The same bounds as `samovar check` has. A text that cannot be spelt gives `None`, and its directive is left out.

/// A host, or `*.` and a host, in lower case; an address stands for itself.
pub(crate) fn host(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    if text.starts_with('[') {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        inner.parse::<std::net::Ipv6Addr>().ok()?;
        return Some(text);
    }
    let bare = text.strip_prefix("*.").unwrap_or(&text);
    let label = |l: &str| {
        let inside = l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        !l.is_empty() && l.len() <= 63 && inside && !l.starts_with('-') && !l.ends_with('-')
    };
    (bare.len() <= 253 && bare.split('.').all(label)).then_some(text)
}

/// `host`, `host:port` or `[::1]:port`, without a wildcard: the host, and the port if there is one.
pub(crate) fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (bare, port) = match text.rsplit_once(':') {
        Some((bare, port)) if !port.ends_with(']') => {
            (bare, Some(port.parse::<u16>().ok().filter(|p| *p > 0)?))
        }
        _ => (text, None),
    };
    let bare = host(bare).filter(|h| !h.starts_with('*'))?;
    Some((bare, port))
}

/// A name of a site or an upstream, made of whatever is there.
pub(crate) fn name(text: &str) -> String {
    let ok = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = text.chars().map(ok).take(80).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "site".to_owned() } else { name.to_owned() }
}

/// A field name (RFC 9110 §5.1).
pub(crate) fn field_name(text: &str) -> Option<String> {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    (!text.is_empty() && text.len() <= 200 && text.bytes().all(ok)).then(|| text.to_owned())
}

/// Whether an application learns from the field how its client connected: it redirects for ever where that is wrong.
pub(crate) fn is_about_tls(field: &str) -> bool {
    const ABOUT: [&str; 4] = ["x-forwarded-proto", "x-forwarded-port", "x-forwarded-host", "forwarded"];
    ABOUT.iter().any(|about| field.eq_ignore_ascii_case(about))
}

/// What to do about such a field.
pub(crate) const TLS_IN_FRONT: &str = "Samovar writes the field from how the client connected. If TLS ends in front of \
    Samovar, name that proxy in [server] trusted_proxies: what it says of its clients then goes on to the application";

/// A field value: visible ASCII on one line.
pub(crate) fn field_value(text: &str) -> Option<String> {
    let ok = |b: u8| (b' '..=b'~').contains(&b);
    (!text.is_empty() && text.len() <= 1500 && text.bytes().all(ok)).then(|| text.to_owned())
}

/// An extension in lower case with its dot.
pub(crate) fn extension(text: &str) -> Option<String> {
    let bare = text.strip_prefix('.').unwrap_or(text);
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"_-+~".contains(&b);
    (!bare.is_empty() && bare.len() <= 60 && bare.bytes().all(ok))
        .then(|| format!(".{}", bare.to_ascii_lowercase()))
}

/// A media type, `image/*` allowed, parameters kept.
pub(crate) fn media_type(text: &str) -> Option<String> {
    let bare = text.split(';').next().unwrap_or("").trim_end();
    let part =
        |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b));
    let (kind, sub) = bare.split_once('/')?;
    (part(kind) && (part(sub) || sub == "*")).then(|| field_value(text))?
}

/// A file's name without a folder.
pub(crate) fn file_name(text: &str) -> Option<String> {
    let bad = text.is_empty()
        || text.len() > 200
        || text == "."
        || text == ".."
        || text.contains(['/', '\\', '\0']);
    (!bad).then(|| text.to_owned())
}

/// A path of a URL as it stands in a glob: begins with a slash, no control characters, what a glob means by its signs taken
/// as themselves.
pub(crate) fn literal(path: &str) -> Option<String> {
    if !path.starts_with('/') || path.len() > 1000 || path.chars().any(char::is_control) {
        return None;
    }
    let mut out = String::with_capacity(path.len());
    let mut rest = path.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' | '?' | '[' | ']' | '{' | '}' | '\\' => out.extend(['\\', c]),
            // In the glob a comma parts alternatives, if it stands in brackets.
            ',' => out.push_str("\\,"),
            '%' => {
                let digits: String = rest.clone().take(2).filter(char::is_ascii_hexdigit).collect();
                out.push_str(if digits.len() == 2 { "%" } else { "%25" });
            }
            _ => out.push(c),
        }
    }
    Some(out)
}

/// A duration of so many milliseconds, as `samovar` spells it.
pub(crate) fn duration(mut ms: u64) -> String {
    if ms == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if ms >= size {
            out.push_str(&format!("{}{unit}", ms / size));
            ms %= size;
        }
    }
    out
}

/// A size in bytes, as `samovar` spells it.
pub(crate) fn size(bytes: u64) -> String {
    for (unit, size) in [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= size && bytes.is_multiple_of(size) {
            return format!("{} {unit}", bytes / size);
        }
    }
    format!("{bytes} B")
}

/// The longest lifetime that is carried over: 10 years, ms.
const LONGEST_MS: u64 = 10 * 366 * 86_400_000;

/// Seconds as a bare number, in milliseconds.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok()?.checked_mul(1000).map(|ms| ms.min(LONGEST_MS))
}

/// nginx's times: `30`, `10m`, `1h30m`, `500ms`, `1d 12h`; months and years too. Milliseconds.
pub(crate) fn nginx_time(text: &str) -> Option<u64> {
    let mut total: u64 = 0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = rest.get(..letters)?;
        rest = rest.get(letters..)?.trim_start();
        let size: u64 = match unit {
            "" | "s" => 1_000,
            "ms" => 1,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 7 * 86_400_000,
            "M" => 30 * 86_400_000,
            "y" => 365 * 86_400_000,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(size)?)?;
    }
    Some(total.min(LONGEST_MS))
}

/// nginx's sizes: `10`, `8k`, `1m`, `2g`. Bytes.
pub(crate) fn nginx_size(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, size) = match lower.as_bytes().last()? {
        b'k' => (lower.get(..lower.len() - 1)?, 1u64 << 10),
        b'm' => (lower.get(..lower.len() - 1)?, 1 << 20),
        b'g' => (lower.get(..lower.len() - 1)?, 1 << 30),
        _ => (lower.as_str(), 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(size).filter(|n| *n < 1 << 50)
}

/// IIS's times: `[d.]hh:mm:ss`. Milliseconds.
pub(crate) fn time_span(text: &str) -> Option<u64> {
    let (days, clock) = match text.trim().split_once('.') {
        Some((days, clock)) if !days.contains(':') => (days.parse::<u64>().ok()?, clock),
        _ => (0, text.trim()),
    };
    // Parts of a second are ten millionths, and never matter here.
    let clock = clock.split('.').next().unwrap_or(clock);
    let mut parts = clock.split(':');
    let mut part = || parts.next()?.parse::<u64>().ok().filter(|n| *n < 100_000);
    let (hours, minutes, seconds) = (part()?, part()?, part()?);
    if parts.next().is_some() {
        return None;
    }
    let total = days.checked_mul(86_400)?.checked_add(hours * 3600 + minutes * 60 + seconds)?;
    Some(total.checked_mul(1000)?.min(LONGEST_MS))
}

/// An address or a network with a prefix length.
pub(crate) fn network(text: &str) -> Option<String> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let ip = address.parse::<std::net::IpAddr>().ok()?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    match prefix {
        None => Some(ip.to_string()),
        Some(prefix) => {
            let bits = match prefix.parse::<std::net::Ipv4Addr>() {
                Ok(mask) => mask_bits(u32::from(mask))?,
                Err(_) => prefix.parse::<u32>().ok().filter(|n| *n <= most)?,
            };
            Some(format!("{}/{bits}", masked(ip, bits)))
        }
    }
}

/// The bits of a mask that is all ones, then all zeros.
fn mask_bits(mask: u32) -> Option<u32> {
    let ones = mask.leading_ones();
    (mask.checked_shl(ones).unwrap_or(0) == 0).then_some(ones)
}

/// The first address of a network: the others' bits say nothing.
fn masked(ip: std::net::IpAddr, bits: u32) -> std::net::IpAddr {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    match ip {
        IpAddr::V4(a) => {
            IpAddr::V4(Ipv4Addr::from(u32::from(a) & u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or(0)))
        }
        IpAddr::V6(a) => IpAddr::V6(Ipv6Addr::from(
            u128::from(a) & u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_of_all_three() {
        assert_eq!(time_span("00:00:10"), Some(10_000));
        assert_eq!(time_span("7.00:00:00"), Some(7 * 86_400_000));
        assert_eq!((time_span("10"), time_span("a:b:c")), (None, None));
        assert_eq!(nginx_time("1h30m"), Some(5_400_000));
        assert_eq!(
            (nginx_time("10"), nginx_time("500ms"), nginx_time("1x")),
            (Some(10_000), Some(500), None)
        );
        assert_eq!((nginx_size("8k"), nginx_size("m"), nginx_size("1M")), (Some(8192), None, Some(1 << 20)));
        assert_eq!(duration(5_400_000), "1h30m");
        assert_eq!((size(1 << 30), size(1000)), ("1 GiB".to_owned(), "1000 B".to_owned()));
    }

    #[test]
    fn networks_with_masks_and_prefixes() {
        assert_eq!(network("10.1.2.3/255.255.0.0"), Some("10.1.0.0/16".to_owned()));
        assert_eq!(network("10.0.0.0/8"), Some("10.0.0.0/8".to_owned()));
        assert_eq!(network("10.1.2.3"), Some("10.1.2.3".to_owned()));
        assert_eq!((network("10.0.0.0/255.0.255.0"), network("10.0.0.0/33")), (None, None));
    }

    #[test]
    fn paths_are_taken_as_they_are() {
        assert_eq!(literal("/a*b{c},%41%"), Some("/a\\*b\\{c\\}\\,%41%25".to_owned()));
        assert_eq!(literal("a"), None);
    }
}
