//! What names the upstream itself, turned into what the client knows: Location, Content-Location, cookies' paths and
//! domains.
//!
//! As httpd's `ProxyPassReverse` and its neighbours. Pure texts in, texts out; `None` where nothing is to be changed.
//! Not here: which names an upstream has.

/// How an upstream is named in its own answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginNames {
    /// Hosts with ports as URLs name them, lower case, without a scheme's own port.
    pub authorities: Vec<String>,
    /// The path its URLs begin with, as in `http://app:8080/base`; empty if none.
    pub base_path: String,
}

/// What a client asked by.
#[derive(Clone, Copy, Debug)]
pub struct AskedBy<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Host, with the port where it is not the scheme's own.
    pub host: &'a str,
}

/// A Location or Content-Location that names the upstream, as the client must see it: the path alone, which is right under
/// whatever host, port and scheme the client knows us by (RFC 9110 §10.2.2); with ours where it would name another host.
pub fn map_location(value: &str, names: &OriginNames, asked: AskedBy<'_>) -> Option<String> {
    let Some((scheme, rest)) = value.split_once("://") else {
        // Without a scheme it is the path alone that may name the upstream; `//host/` names a host.
        let own = value.starts_with('/') && !value.starts_with("//");
        let path = own.then(|| without_base(value, &names.base_path)).flatten()?;
        return Some(ours(path, asked));
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at_checked(end)?;
    let authority = authority.to_ascii_lowercase();
    let usual = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let authority = authority.strip_suffix(usual).unwrap_or(&authority);
    let path = without_base(target, &names.base_path).unwrap_or(target);
    // It may have been told the client's host, and name its own path under it.
    let named = match authority == asked.host {
        true => path != target,
        false => names.authorities.iter().any(|known| known == authority),
    };
    named.then(|| ours(path, asked))
}

fn ours(path: &str, asked: AskedBy<'_>) -> String {
    match path.as_bytes() {
        [b'/', b'/' | b'\\', ..] => format!("{}://{}{path}", asked.scheme, asked.host),
        [b'/', ..] => path.to_owned(),
        _ => format!("/{path}"),
    }
}

/// A path without what the upstream's begin with, if it does.
fn without_base<'t>(target: &'t str, base: &str) -> Option<&'t str> {
    let rest = target.strip_prefix(base).filter(|_| !base.is_empty())?;
    match rest.chars().next() {
        Some('/') => Some(rest),
        // `/base` alone is the client's root.
        None => Some("/"),
        Some(_) => None,
    }
}

/// A `Set-Cookie` whose path or domain the client would not send it back to. Both lists are pairs of the inner and the
/// outer text.
pub fn map_cookie(value: &str, paths: &[(String, String)], domains: &[(String, String)]) -> Option<String> {
    let mut changed = false;
    let attributes: Vec<String> = value
        .split(';')
        .enumerate()
        .map(|(at, attribute)| {
            let Some((name, text)) = attribute.split_once('=').filter(|_| at > 0) else {
                return attribute.to_owned();
            };
            let new = match name.trim().to_ascii_lowercase().as_str() {
                "path" => new_path(text.trim(), paths),
                "domain" => new_domain(text.trim(), domains),
                _ => None,
            };
            match new {
                Some(new) => {
                    changed = true;
                    format!("{name}={new}")
                }
                None => attribute.to_owned(),
            }
        })
        .collect();
    changed.then(|| attributes.join(";"))
}

/// The longest inner path that this one is, or lies below (RFC 6265 §5.1.4).
fn new_path(path: &str, paths: &[(String, String)]) -> Option<String> {
    let below = |inner: &str| {
        let rest = path.strip_prefix(inner.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    };
    let (rest, outer) = paths
        .iter()
        .filter_map(|(inner, outer)| Some((inner.len(), below(inner)?, outer)))
        .max_by_key(|(len, ..)| *len)
        .map(|(_, rest, outer)| (rest, outer))?;
    let new = format!("{}{rest}", outer.trim_end_matches('/'));
    Some(if new.is_empty() { "/".to_owned() } else { new })
}

fn new_domain(domain: &str, domains: &[(String, String)]) -> Option<String> {
    let bare = domain.strip_prefix('.').unwrap_or(domain);
    domains.iter().find(|(inner, _)| inner.eq_ignore_ascii_case(bare)).map(|(_, outer)| outer.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ASKED: AskedBy<'_> = AskedBy { scheme: "https", host: "out.example" };

    fn names(base: &str) -> OriginNames {
        OriginNames { authorities: vec!["app".into(), "10.0.0.1:8080".into()], base_path: base.into() }
    }

    #[test]
    fn locations() {
        for (base, value, want) in [
            ("", "http://app/x?y#z", Some("/x?y#z")),
            ("", "http://APP:80/x", Some("/x")),
            ("", "http://app", Some("/")),
            ("", "http://app?q", Some("/?q")),
            ("", "http://app//evil.example/", Some("https://out.example//evil.example/")),
            ("", "http://app/\\evil.example/", Some("https://out.example/\\evil.example/")),
            ("", "http://10.0.0.1:8080/x", Some("/x")),
            ("", "http://10.0.0.1/x", None),
            ("", "http://other.example/x", None),
            ("", "http://app.example/x", None),
            ("", "http://app@evil.example/x", None),
            ("", "https://out.example/x", None),
            ("", "http://out.example/x", None),
            ("", "/x", None),
            ("", "x", None),
            ("", "//app/x", None),
            ("", "ftp://app/x", None),
            ("/base", "http://app/base/x", Some("/x")),
            ("/base", "http://app/base", Some("/")),
            ("/base", "http://app/base//evil.example", Some("https://out.example//evil.example")),
            ("/base", "http://app/other", Some("/other")),
            ("/base", "/base/x", Some("/x")),
            ("/base", "/base", Some("/")),
            ("/base", "/basement", None),
            ("/base", "/base//evil.example", Some("https://out.example//evil.example")),
            ("/base", "/x", None),
            ("/base", "https://out.example/base/x", Some("/x")),
        ] {
            assert_eq!(map_location(value, &names(base), ASKED).as_deref(), want, "{base} {value}");
        }
    }

    #[test]
    fn cookies() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let paths = [pair("/app", "/"), pair("/app/deep", "/d"), pair("/in/", "/out/")];
        let domains = [pair("inner.example", "outer.example")];
        for (value, want) in [
            ("a=b", None),
            ("a=b; Path=/app", Some("a=b; Path=/")),
            ("a=b; path=/app/x; Secure", Some("a=b; path=/x; Secure")),
            ("a=b; Path=/app/deep/er", Some("a=b; Path=/d/er")),
            ("a=b; Path=/in", Some("a=b; Path=/out")),
            ("a=b; Path=/apple", None),
            ("Path=/app; Path=/x", None),
            ("a=b; Domain=.Inner.example", Some("a=b; Domain=outer.example")),
            ("a=b; Domain=x.inner.example", None),
            ("a=b; Domain=inner.example; Path=/app", Some("a=b; Domain=outer.example; Path=/")),
        ] {
            assert_eq!(map_cookie(value, &paths, &domains).as_deref(), want, "{value}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(value in "\\PC{0,30}|https?://(app|out.example)(:80)?\\PC{0,10}") {
            let _ = map_location(&value, &names("/b"), ASKED);
            let _ = map_cookie(&value, &[("/a".into(), "/".into())], &[("i".into(), "o".into())]);
        }
    }
}
