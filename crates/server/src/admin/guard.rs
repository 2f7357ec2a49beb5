//! Who may ask the admin side. Pure: a request's fields in, a verdict out.
//!
//! A page in somebody's browser must not steer a server on the same machine: the `Host` must be one of ours (or a
//! name could be rebound to it), and an `Origin`, if there is one, too.

use http::{HeaderMap, Method, header};
use std::net::SocketAddr;

/// What is asked of each request.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The bound address; `None` on a unix socket, which no browser reaches.
    address: Option<SocketAddr>,
    token: Option<String>,
}

impl Guard {
    /// For a TCP listener.
    pub fn tcp(address: SocketAddr, token: Option<String>) -> Guard {
        Guard { address: Some(address), token }
    }

    /// For a unix socket.
    pub fn unix(token: Option<String>) -> Guard {
        Guard { address: None, token }
    }

    /// Whether a request may be answered.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), &'static str> {
        if let Some(address) = self.address {
            let host = headers.get(header::HOST).and_then(|v| v.to_str().ok()).unwrap_or("");
            // With a token, names that point here are the operator's business.
            if self.token.is_none() && !is_ours(host, address) {
                return Err("the Host field does not name this admin interface");
            }
            if let Some(origin) = headers.get(header::ORIGIN) {
                let origin = origin.to_str().unwrap_or("");
                let same = origin
                    .strip_prefix("http://")
                    .is_some_and(|authority| authority.eq_ignore_ascii_case(host));
                if !same && *method != Method::OPTIONS || origin.is_empty() {
                    return Err("the Origin field names another site");
                }
            }
        }
        match &self.token {
            None => Ok(()),
            Some(token) => {
                let given = headers.get(header::AUTHORIZATION).and_then(|v| bearer(v.as_bytes()));
                if given.is_some_and(|given| same_bytes(given, token.as_bytes())) {
                    Ok(())
                } else {
                    Err("the token is missing or wrong: send `Authorization: Bearer …`")
                }
            }
        }
    }
}

/// The token of `Authorization: Bearer TOKEN`: the scheme's name in any case, spaces before the token (RFC 9110 §§11.1, 11.4).
fn bearer(field: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = field.split_at_checked(b"Bearer".len())?;
    let named = scheme.eq_ignore_ascii_case(b"Bearer") && token.starts_with(b" ");
    named.then(|| token.trim_ascii())
}

fn is_ours(host: &str, address: SocketAddr) -> bool {
    let port = address.port();
    let names = ["localhost".to_string(), "127.0.0.1".to_string(), "[::1]".to_string(), ip(address)];
    names.iter().any(|name| {
        host.eq_ignore_ascii_case(&format!("{name}:{port}")) || port == 80 && host.eq_ignore_ascii_case(name)
    })
}

fn ip(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(a) => a.ip().to_string(),
        SocketAddr::V6(a) => format!("[{}]", a.ip()),
    }
}

/// Compares in a time that does not tell where they differ.
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0u8, |sum, (x, y)| sum | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn fields(rows: &[(&'static str, &'static str)]) -> HeaderMap {
        rows.iter().map(|(n, v)| (header::HeaderName::from_static(n), HeaderValue::from_static(v))).collect()
    }

    #[test]
    fn pages_of_other_sites_cannot_ask() {
        let guard = Guard::tcp("127.0.0.1:9900".parse().unwrap(), None);
        let ask = |rows: &[(&'static str, &'static str)]| guard.check(&Method::POST, &fields(rows)).is_ok();
        assert!(ask(&[("host", "127.0.0.1:9900")]));
        assert!(ask(&[("host", "localhost:9900"), ("origin", "http://localhost:9900")]));
        assert!(!ask(&[("host", "evil.example:9900")]), "rebinding");
        assert!(!ask(&[("host", "127.0.0.1:9900"), ("origin", "http://evil.example")]));
        assert!(!ask(&[("host", "127.0.0.1:9900"), ("origin", "null")]));
        assert!(!ask(&[]));
    }

    #[test]
    fn a_token_is_demanded_where_there_is_one() {
        let guard = Guard::unix(Some("secret".into()));
        assert!(guard.check(&Method::GET, &fields(&[])).is_err());
        assert!(guard.check(&Method::GET, &fields(&[("authorization", "Bearer secre")])).is_err());
        for good in ["Bearer secret", "bearer secret", "BEARER   secret", "bEaReR secret"] {
            assert!(guard.check(&Method::GET, &fields(&[("authorization", good)])).is_ok(), "{good}");
        }
        for bad in [
            "Bearersecret",
            "Bearer",
            "Bearer ",
            "Basic secret",
            "secret",
            "Bearer\tsecret",
            "Bearer secret x",
        ] {
            assert!(guard.check(&Method::GET, &fields(&[("authorization", bad)])).is_err(), "{bad}");
        }
    }
}
