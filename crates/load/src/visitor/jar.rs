//! Cookies (RFC 6265): taken from answers, sent back to whom they belong.
//!
//! Not here: the list of public suffixes; a load test knows its servers. Third-party rules of browsers.

use super::without_query;

/// Cookies of one client at most, as §6.1 suggests for a domain, generously.
const COOKIES_MAX: usize = 200;

/// One client's cookies.
#[derive(Clone, Debug, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    /// Without a leading dot, in small letters.
    domain: String,
    /// Whether only this host gets it, and none below it.
    host_only: bool,
    path: String,
    secure: bool,
    /// Unix seconds; `None`: as long as the client lives.
    until_s: Option<u64>,
}

impl Jar {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Takes one `Set-Cookie` field of an answer of `host` to `path` (§5.2, §5.3).
    pub fn take(&mut self, field: &str, host: &str, path: &str, now_s: u64) {
        let mut parts = field.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let host = host.to_ascii_lowercase();
        let mut cookie = Cookie {
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
            domain: host.clone(),
            host_only: true,
            path: default_path(path),
            secure: false,
            until_s: None,
        };
        if cookie.name.is_empty() || field.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            return;
        }
        let mut age_s: Option<i64> = None;
        for attribute in parts {
            let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "domain" if !value.is_empty() => {
                    let domain = value.trim_start_matches('.').to_ascii_lowercase();
                    if !is_within(&host, &domain) {
                        return;
                    }
                    (cookie.domain, cookie.host_only) = (domain, false);
                }
                "path" if value.starts_with('/') => cookie.path = value.to_owned(),
                "secure" => cookie.secure = true,
                "max-age" => age_s = value.parse().ok(),
                "expires" => {
                    let date = httpdate::parse_http_date(value).ok();
                    let since = date.and_then(|date| date.duration_since(std::time::UNIX_EPOCH).ok());
                    cookie.until_s = since.map(|since| since.as_secs()).or(cookie.until_s);
                }
                _ => {}
            }
        }
        // Max-Age wins over Expires (§5.3, step 3).
        if let Some(age_s) = age_s {
            cookie.until_s = Some(if age_s <= 0 { 0 } else { now_s.saturating_add(age_s.unsigned_abs()) });
        }
        let is_same = |other: &Cookie| {
            (&other.name, &other.domain, &other.path) == (&cookie.name, &cookie.domain, &cookie.path)
        };
        let known = self.cookies.iter().position(is_same);
        if cookie.until_s.is_some_and(|until| until <= now_s) {
            known.map(|at| self.cookies.remove(at));
            return;
        }
        let is_full = self.cookies.len() >= COOKIES_MAX;
        match known.and_then(|at| self.cookies.get_mut(at)) {
            Some(old) => *old = cookie,
            None if is_full => {}
            None => self.cookies.push(cookie),
        }
    }

    /// Adds the `Cookie` field for a request, if there is any to send (§5.4).
    pub fn send(&self, host: &str, path: &str, secure: bool, now_s: u64, out: &mut Vec<u8>) {
        let host = host.to_ascii_lowercase();
        let path = without_query(path);
        let fits = |cookie: &&Cookie| {
            let domain =
                if cookie.host_only { host == cookie.domain } else { is_within(&host, &cookie.domain) };
            domain
                && is_below(path, &cookie.path)
                && (secure || !cookie.secure)
                && cookie.until_s.is_none_or(|until| until > now_s)
        };
        let mut sent: Vec<&Cookie> = self.cookies.iter().filter(fits).collect();
        // Longer paths first; those of the same stay in the order they came.
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        for (at, cookie) in sent.iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"Cookie: " } else { b"; " });
            out.extend_from_slice(cookie.name.as_bytes());
            out.push(b'=');
            out.extend_from_slice(cookie.value.as_bytes());
        }
        if !sent.is_empty() {
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Whether `host` is `domain` or below it (§5.1.3); an address is only itself.
fn is_within(host: &str, domain: &str) -> bool {
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    host == domain || (!is_address && host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')))
}

/// Whether `path` is at or below `of` (§5.1.4).
fn is_below(path: &str, of: &str) -> bool {
    match path.strip_prefix(of) {
        Some(rest) => rest.is_empty() || of.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

/// The directory of the path that was asked for (§5.1.4).
fn default_path(path: &str) -> String {
    match without_query(path).rfind('/') {
        None | Some(0) => "/".to_owned(),
        Some(at) => path.get(..at).unwrap_or("/").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(jar: &Jar, host: &str, path: &str, secure: bool, now_s: u64) -> String {
        let mut out = Vec::new();
        jar.send(host, path, secure, now_s, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn table() {
        // What is set by a.example.org for /shop/cart, where it is asked for, whether it comes along.
        for (set, host, path, secure, comes) in [
            ("x=1", "a.example.org", "/shop/", false, true),
            ("x=1", "A.Example.org", "/shop/other?q", false, true),
            ("x=1", "a.example.org", "/shop", false, true),
            ("x=1", "a.example.org", "/", false, false),
            ("x=1", "a.example.org", "/shopping", false, false),
            ("x=1", "b.example.org", "/shop/", false, false),
            ("x=1; Path=/", "a.example.org", "/else", false, true),
            ("x=1; Domain=example.org", "b.example.org", "/shop/", false, true),
            ("x=1; Domain=.example.org", "example.org", "/shop/", false, true),
            ("x=1; Domain=ample.org", "a.example.org", "/shop/", false, false),
            ("x=1; Domain=other.org", "other.org", "/shop/", false, false),
            ("x=1; Secure", "a.example.org", "/shop/", false, false),
            ("x=1; Secure", "a.example.org", "/shop/", true, true),
            ("x=1; Max-Age=10", "a.example.org", "/shop/", false, true),
            ("x=1; Max-Age=0", "a.example.org", "/shop/", false, false),
            ("x=1; Expires=Thu, 01 Jan 1970 00:00:10 GMT", "a.example.org", "/shop/", false, false),
            ("x=1; Expires=Thu, 01 Jan 1970 00:00:10 GMT; Max-Age=5", "a.example.org", "/shop/", false, true),
            ("novalue", "a.example.org", "/shop/", false, false),
            ("=1", "a.example.org", "/shop/", false, false),
            ("x=a\rb", "a.example.org", "/shop/", false, false),
        ] {
            let mut jar = Jar::default();
            jar.take(set, "a.example.org", "/shop/cart", 100);
            let got = sent(&jar, host, path, secure, 101);
            assert_eq!(got, if comes { "Cookie: x=1\r\n" } else { "" }, "{set} at {host}{path}");
        }
    }

    #[test]
    fn replaced_deleted_and_in_order() {
        let mut jar = Jar::default();
        jar.take("a=1; Path=/", "h", "/", 0);
        jar.take("b=2; Path=/p", "h", "/", 0);
        jar.take("a=3; Path=/", "h", "/", 0);
        assert_eq!(sent(&jar, "h", "/p", false, 1), "Cookie: b=2; a=3\r\n");
        jar.take("a=; Path=/; Max-Age=-1", "h", "/", 0);
        assert_eq!(sent(&jar, "h", "/p", false, 1), "Cookie: b=2\r\n");
        (0..1000).for_each(|n| jar.take(&format!("c{n}=1"), "h", "/", 0));
        assert_eq!(jar.cookies.len(), COOKIES_MAX);
        assert!(!jar.is_empty());
    }
}
