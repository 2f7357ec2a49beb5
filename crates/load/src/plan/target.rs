//! A target as people type it: `http://host:port/path?query`, the same with `https`, or `unix:/path/to/socket[:/path]`.
//!
//! Not here: names to addresses, and anything sent.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A name or address, without brackets, and a port.
    Tcp {
        /// Host name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// A unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Place::Tcp { host, port } => write!(f, "{host}:{port}"),
            Place::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// One URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As it was typed.
    pub url: String,
    /// Where to connect.
    pub place: Place,
    /// Whether TLS is spoken there.
    pub secure: bool,
    /// What goes into the `Host` field.
    pub authority: String,
    /// The request target in origin form: path and query (RFC 9112 §3.2.1).
    pub path: String,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(url: &str) -> Result<Target, String> {
        if let Some(rest) = url.strip_prefix("unix:") {
            return unix(url, rest);
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            let guess = if url.starts_with('/') {
                format!("http://127.0.0.1:8080{url}")
            } else {
                format!("http://{url}")
            };
            return Err(format!("`{url}` has no scheme; did you mean {guess} ?"));
        };
        let secure = scheme.eq_ignore_ascii_case("https");
        if !secure && !scheme.eq_ignore_ascii_case("http") {
            if scheme.split_whitespace().next().is_some_and(|word| word.parse::<f64>().is_ok()) {
                return Err(format!("`{url}`: a number before a URL is its weight with `--pick weights`"));
            }
            return Err(format!(
                "`{url}`: the scheme `{scheme}` is unknown; thirst speaks http://, https:// and unix:"
            ));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let usual = if secure { 443 } else { 80 };
        let (host, port) = split_authority(authority).map_err(|why| format!("`{url}`: {why}"))?;
        let port = port.unwrap_or(usual);
        let shown = if port == usual && !authority.ends_with(']') {
            authority.rsplit_once(':').map_or(authority, |(host, _)| host)
        } else {
            authority
        };
        Ok(Target {
            url: url.to_owned(),
            place: Place::Tcp { host, port },
            secure,
            authority: shown.to_owned(),
            path: origin_form(url, tail)?,
        })
    }
}

/// One URL or path a line; empty lines and those that begin with `#` say nothing. Paths are asked of the server of `base`.
///
/// # Errors
/// Number of the line, and what is wrong with it.
pub fn lines(text: &str, base: Option<&Target>) -> Result<Vec<Target>, String> {
    let meant = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    meant
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            let target = match base {
                Some(base) if line.starts_with('/') => beside(base, line),
                None if line.starts_with('/') => {
                    Err(format!("`{line}` is a path; give the URL of its server beside --urls"))
                }
                Some(_) if !line.contains(':') => Err(format!(
                    "`{line}` is neither a URL nor a path; a path begins with a slash: `/{line}`"
                )),
                _ => line.parse(),
            };
            target.map_err(|message| format!("{number}: {message}"))
        })
        .collect()
}

/// Takes the weight from each line, `3 /path`; one without has the weight 1. What is left are the lines without, as many.
///
/// # Errors
/// Number of the line, and what is wrong with it.
pub fn weighted(text: &str) -> Result<(String, Vec<f64>), String> {
    let (mut rest, mut weights) = (String::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let meant = line.trim();
        let parts = meant.split_once(char::is_whitespace);
        let url = match parts {
            Some((weight, url)) if !meant.starts_with('#') => {
                let weight: Option<f64> = weight.parse().ok();
                let weight = weight.filter(|weight| weight.is_finite() && *weight >= 0.0);
                weights.push(weight.ok_or_else(|| {
                    format!("{}: `{meant}` does not begin with a weight; write `3 /path`", at + 1)
                })?);
                url.trim()
            }
            _ => {
                if !meant.is_empty() && !meant.starts_with('#') {
                    weights.push(1.0);
                }
                meant
            }
        };
        rest.push_str(url);
        rest.push('\n');
    }
    Ok((rest, weights))
}

fn beside(base: &Target, path: &str) -> Result<Target, String> {
    let path = origin_form(path, path)?;
    let url = match &base.place {
        Place::Tcp { .. } if base.secure => format!("https://{}{path}", base.authority),
        Place::Tcp { .. } => format!("http://{}{path}", base.authority),
        Place::Unix(socket) => format!("unix:{}:{path}", socket.display()),
    };
    Ok(Target { url, path, ..base.clone() })
}

fn unix(url: &str, rest: &str) -> Result<Target, String> {
    let (socket, path) = match rest.find(":/") {
        Some(at) => rest.split_at(at),
        None => (rest, ":/"),
    };
    if socket.is_empty() {
        return Err(format!(
            "`{url}` names no socket; write unix:/path/to/socket or unix:/path/to/socket:/page"
        ));
    }
    let path = origin_form(url, path.strip_prefix(':').unwrap_or(path))?;
    Ok(Target {
        url: url.to_owned(),
        place: Place::Unix(socket.into()),
        secure: false,
        authority: "localhost".to_owned(),
        path,
    })
}

/// The host, and the port if one is said.
fn split_authority(authority: &str) -> Result<(String, Option<u16>), String> {
    if authority.contains('@') {
        return Err("user and password in the URL are not sent; use -H 'Authorization: …'".to_owned());
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("the bracket of the address is not closed")?;
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(format!("[{host}] is not an IPv6 address"));
            }
            let port = if after.is_empty() {
                ""
            } else {
                after.strip_prefix(':').ok_or("after ] only :PORT may follow")?
            };
            (host, port)
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    if let Some(odd) = host.chars().find(|c| !(c.is_ascii_alphanumeric() || "-._:".contains(*c))) {
        return Err(format!(
            "`{odd}` cannot be part of a host name; write international names in their xn-- form"
        ));
    }
    let port = match port {
        "" => None,
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => {
            let port = digits.parse().ok().filter(|&p: &u16| p > 0);
            Some(port.ok_or_else(|| format!("{digits} is not a port"))?)
        }
        other => return Err(format!("`{other}` is not a port")),
    };
    Ok((host.to_owned(), port))
}

fn origin_form(url: &str, tail: &str) -> Result<String, String> {
    let tail = tail.split('#').next().unwrap_or_default();
    if let Some(odd) = tail.chars().find(|c| !c.is_ascii_graphic()) {
        let mut bytes = [0; 4];
        let escaped: String = odd.encode_utf8(&mut bytes).bytes().map(|b| format!("%{b:02X}")).collect();
        return Err(format!("`{url}`: {odd:?} cannot stand in a URL; write {escaped}"));
    }
    Ok(if tail.starts_with('/') { tail.to_owned() } else { format!("/{tail}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (url, place, authority, path) in [
            ("http://localhost", "localhost:80", "localhost", "/"),
            ("http://localhost:80/", "localhost:80", "localhost", "/"),
            ("HTTP://Example.org:8080/a?b=c#d", "Example.org:8080", "Example.org:8080", "/a?b=c"),
            ("http://h?q", "h:80", "h", "/?q"),
            ("http://h#f", "h:80", "h", "/"),
            ("http://[::1]:9/x", "[::1]:9", "[::1]:9", "/x"),
            ("http://[::1]/x", "[::1]:80", "[::1]", "/x"),
            ("https://h/x", "h:443", "h", "/x"),
            ("https://h:443/", "h:443", "h", "/"),
            ("https://h:80/", "h:80", "h:80", "/"),
            ("http://h:443/", "h:443", "h:443", "/"),
            ("http://[::1]:80/", "[::1]:80", "[::1]", "/"),
            ("unix:/run/s.sock", "unix:/run/s.sock", "localhost", "/"),
            ("unix:/run/s.sock:/a?b", "unix:/run/s.sock", "localhost", "/a?b"),
        ] {
            let got: Target = url.parse().unwrap();
            assert_eq!(
                (got.place.to_string().as_str(), got.authority.as_str(), got.path.as_str()),
                (place, authority, path)
            );
        }
    }

    #[test]
    fn lists() {
        let base: Target = "http://h:81/not/asked?x".parse().unwrap();
        let text = "/a\n\n# a remark\n  /b?c#d \r\nhttp://other/e\n";
        let urls = |text: &str, base: Option<&Target>| -> Result<Vec<String>, String> {
            Ok(lines(text, base)?
                .into_iter()
                .map(|target| format!("{} {}", target.url, target.path))
                .collect())
        };
        let want = ["http://h:81/a /a", "http://h:81/b?c /b?c", "http://other/e /e"].map(str::to_owned);
        assert_eq!(urls(text, Some(&base)), Ok(want.into()));
        let socket: Target = "unix:/s.sock".parse().unwrap();
        assert_eq!(urls("/a", Some(&socket)), Ok(vec!["unix:/s.sock:/a /a".to_owned()]));
        assert_eq!(
            urls("\n/a", None).unwrap_err(),
            "2: `/a` is a path; give the URL of its server beside --urls"
        );
        assert!(urls("ok", Some(&base)).unwrap_err().ends_with("a path begins with a slash: `/ok`"));
        assert!(urls("ok", None).unwrap_err().starts_with("1: `ok` has no scheme"));
        assert!(urls("/a b", Some(&base)).unwrap_err().contains("write %20"));
    }

    #[test]
    fn weights() {
        let (rest, weights) = weighted("3 /a\n# 9 remark\n\n/b\n0.5\thttp://h/c\n").unwrap();
        assert_eq!((rest.as_str(), weights), ("/a\n# 9 remark\n\n/b\nhttp://h/c\n", vec![3.0, 1.0, 0.5]));
        for wrong in ["x /a", "-1 /a", "inf /a", "/a b"] {
            assert!(weighted(wrong).unwrap_err().starts_with("1: "), "{wrong}");
        }
    }

    #[test]
    fn messages_say_what_to_do() {
        for (url, say) in [
            ("localhost:8080/x", "did you mean http://localhost:8080/x"),
            ("/x", "did you mean http://127.0.0.1:8080/x"),
            ("ftp://h/", "`ftp` is unknown"),
            ("http:///x", "host is missing"),
            ("http://h:0/", "not a port"),
            ("http://h:99999/", "not a port"),
            ("http://h:x/", "not a port"),
            ("http://u:p@h/", "Authorization"),
            ("http://bücher.de/", "xn--"),
            ("http://h/a b", "write %20"),
            ("http://h/ü", "write %C3%BC"),
            ("http://h/\r\nX: y", "write %0D"),
            ("http://[::1/", "not closed"),
            ("http://[zz]/", "not an IPv6"),
            ("unix:", "names no socket"),
        ] {
            let error = url.parse::<Target>().unwrap_err();
            assert!(error.contains(say), "{url}: {error}");
        }
    }
}
