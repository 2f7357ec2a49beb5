//! Keeping secrets out of traces and logs: cookies, credentials, and query variables that hold them.
//!
//! Names stay, values go, so that one can still see what was sent. Not here: which fields a trace keeps.

use std::borrow::Cow;

/// Stands for what is not shown.
const HIDDEN: &str = "***";

/// Parts of a name that give a secret away.
const SECRET_PARTS: [&str; 8] =
    ["token", "password", "passwd", "secret", "signature", "credential", "session", "apikey"];
/// Whole names, or last words of names (`api_key`, `x-api-key`), that do.
const SECRET_WORDS: [&str; 5] = ["key", "sig", "pwd", "pass", "auth"];

/// Fields of nearly every request, whose names say nothing of secrets.
const PLAIN: [&str; 10] = [
    "host",
    "user-agent",
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-type",
    "content-length",
    "if-none-match",
];

/// A field's value as it may be shown.
pub fn redact<'v>(name: &str, value: &'v str) -> Cow<'v, str> {
    if PLAIN.iter().any(|plain| name.eq_ignore_ascii_case(plain)) {
        return value.into();
    }
    let name = name.to_ascii_lowercase();
    let shown = match name.as_str() {
        "cookie" => pairs(value, &[';'], |_| true),
        "set-cookie" | "set-cookie2" => set_cookie(value),
        "authorization" | "proxy-authorization" => credentials(value),
        "authentication-info" | "proxy-authentication-info" => HIDDEN.to_owned(),
        "referer" | "location" | "content-location" | "destination" | "origin" => redact_url(value),
        other if is_secret(other) => HIDDEN.to_owned(),
        // A URL in a field of another name (`X-Original-URL`, `X-Forwarded-Uri`, `Link`).
        other if other.contains("ur") || other == "link" => redact_url(value),
        _ => return value.into(),
    };
    shown.into()
}

/// A URL as it may be shown: without user information, and without the values of variables (of the query, of path
/// parameters and of the fragment) whose names speak of secrets.
pub fn redact_url(url: &str) -> String {
    // Without either there is neither a value to hide nor user information.
    if !url.bytes().any(|byte| byte == b'=' || byte == b'@') {
        return url.to_owned();
    }
    let (scheme, rest) = match url.find("://") {
        Some(at) => url.split_at_checked(at + 3).unwrap_or(("", url)),
        None => ("", url),
    };
    let path_at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(path_at).unwrap_or((rest, ""));
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) if !scheme.is_empty() => format!("{HIDDEN}@{host}"),
        _ => authority.to_owned(),
    };
    format!("{scheme}{authority}{}", pairs(rest, &['?', '&', ';', '#', '/'], is_secret))
}

/// A key as it may be shown: its URL line and, after it, one line per request value it varies by (`name: value`,
/// `cookie name: value`).
pub fn redact_key(key: &str) -> String {
    let mut lines = key.split('\n');
    let mut out = redact_url(lines.next().unwrap_or_default());
    for line in lines {
        out.push('\n');
        match line.split_once(": ") {
            Some((name, _)) if name.starts_with("cookie ") => out.extend([name, ": ", HIDDEN]),
            Some((name, value)) => out.extend([name, ": ", &*redact(name, value)]),
            None => out.push_str(line),
        }
    }
    out
}

/// Hides the values of `name=value` pieces between separators, where the name asks for it. All else stays as it is.
fn pairs(text: &str, separators: &[char], secret: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(separators) {
        let end = piece.strip_suffix(separators).map_or(piece.len(), str::len);
        let (body, separator) = piece.split_at_checked(end).unwrap_or((piece, ""));
        match body.split_once('=') {
            Some((name, value)) if !value.is_empty() && secret(name.trim()) => {
                out.extend([name, "=", HIDDEN]);
            }
            _ => out.push_str(body),
        }
        out.push_str(separator);
    }
    out
}

/// The first pair is the cookie; the rest are attributes.
fn set_cookie(value: &str) -> String {
    let (cookie, attributes) = match value.find(';') {
        Some(at) => value.split_at_checked(at).unwrap_or((value, "")),
        None => (value, ""),
    };
    let shown = match cookie.split_once('=') {
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    };
    format!("{shown}{attributes}")
}

/// `Bearer ***`: the scheme may be known.
fn credentials(value: &str) -> String {
    match value.split_once(' ') {
        Some((scheme, _))
            if scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') && !scheme.is_empty() =>
        {
            format!("{scheme} {HIDDEN}")
        }
        _ => HIDDEN.to_owned(),
    }
}

/// True if a name speaks of a secret, percent-encoded or not.
fn is_secret(name: &str) -> bool {
    let name = decoded(name).to_ascii_lowercase();
    let last_word = name.rsplit(['_', '-', '.', '[']).next().unwrap_or_default().trim_end_matches(']');
    SECRET_PARTS.iter().any(|part| name.contains(part)) || SECRET_WORDS.contains(&last_word)
}

/// Percent-decoded; what is no valid escape stays.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escape = tail.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields() {
        for (name, value, want) in [
            ("Cookie", "a=1; sid=secret;b", "a=***; sid=***;b"),
            ("Cookie", "a=b=c", "a=***"),
            ("Set-Cookie", "sid=secret; Path=/; HttpOnly", "sid=***; Path=/; HttpOnly"),
            ("Set-Cookie", "odd", "***"),
            ("Authorization", "Bearer abc.def", "Bearer ***"),
            ("authorization", "Basic dXNlcjpwYXNz", "Basic ***"),
            ("Authorization", "rawtoken", "***"),
            ("Proxy-Authorization", "Basic x", "Basic ***"),
            ("X-Api-Key", "k", "***"),
            ("X-Auth-Token", "k", "***"),
            ("X-Amz-Security-Token", "k", "***"),
            ("X-CSRF-Token", "k", "***"),
            ("Referer", "https://h/x?token=1&a=2", "https://h/x?token=***&a=2"),
            ("X-Original-URL", "/x?password=1", "/x?password=***"),
            ("Accept-Language", "de", "de"),
            ("User-Agent", "curl/8", "curl/8"),
        ] {
            assert_eq!(redact(name, value), want, "{name}: {value}");
        }
    }

    #[test]
    fn urls() {
        for (url, want) in [
            ("http://h/x", "http://h/x"),
            ("http://h/x?a=1&token=s&b", "http://h/x?a=1&token=***&b"),
            ("http://h/x?access_token=s#id_token=t", "http://h/x?access_token=***#id_token=***"),
            (
                "/x?KEY=s&api_key=s&apikey=s&monkey=1&keyboard=2",
                "/x?KEY=***&api_key=***&apikey=***&monkey=1&keyboard=2",
            ),
            (
                "/x?%74oken=s&X-Amz-Signature=s&sig=s&secret=s",
                "/x?%74oken=***&X-Amz-Signature=***&sig=***&secret=***",
            ),
            ("/x?user[password]=s", "/x?user[password]=***"),
            ("/a;jsessionid=s/b?c=1", "/a;jsessionid=***/b?c=1"),
            ("http://user:pass@h:81/x", "http://***@h:81/x"),
            ("http://h/@x?a=b@c", "http://h/@x?a=b@c"),
            ("/x?token=", "/x?token="),
            ("/x?token", "/x?token"),
            ("http://h?token=s", "http://h?token=***"),
            ("", ""),
        ] {
            assert_eq!(redact_url(url), want, "{url}");
        }
    }

    #[test]
    fn keys() {
        let key =
            "http://h/x?token=s\naccept-language: de\ncookie sid: s\nauthorization: Basic s\ncookie lang";
        let want = "http://h/x?token=***\naccept-language: de\ncookie sid: ***\nauthorization: Basic ***\ncookie lang";
        assert_eq!(redact_key(key), want);
        assert_eq!(redact_key(want), want);
    }

    proptest! {
        /// The value between two separators is nowhere in what is shown, and showing twice changes nothing.
        #[test]
        fn a_secret_never_shows(before in "[a-z0-9=&/]{0,12}", secret in "[A-Z]{6,12}", after in "(&[a-z0-9=&]{0,12})?") {
            let shown = redact_url(&format!("http://h/p?{before}&token={secret}{after}"));
            prop_assert!(!shown.contains(&secret), "{}", shown);
            prop_assert_eq!(redact_url(&shown), shown.clone());
            let cookie = redact("Cookie", &format!("{before}; s={secret}")).into_owned();
            prop_assert!(!cookie.contains(&secret), "{}", cookie);
            prop_assert_eq!(redact("Cookie", &cookie), cookie.as_str());
        }

        #[test]
        fn any_text_is_redacted_without_panic(name in "\\PC{0,20}", value in any::<String>()) {
            let _ = (redact(&name, &value), redact_url(&value), redact("set-cookie", &value), redact("authorization", &value));
        }
    }
}
