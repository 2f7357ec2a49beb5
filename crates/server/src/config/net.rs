//! Addresses as the configuration writes them: where we listen, where an upstream is, which peers are trusted.
//!
//! Pure: names are not resolved here.

use samovar_origin::Address;
pub use samovar_rules::Network;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Listen {
    /// An address and a port; port 0 picks a free one.
    Tcp(SocketAddr),
    /// The same, under TLS.
    Tls(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Listen::Tcp(a) => write!(f, "{a}"),
            Listen::Tls(a) => write!(f, "https://{a}"),
            Listen::Unix(p) => write!(f, "unix:{}", p.display()),
        }
    }
}

/// Reads `127.0.0.1:8080`, `[::]:80`, `https://[::]:443` or `unix:/path`. The error says what is wrong and what to write.
pub fn parse_listen(text: &str) -> Result<Listen, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return unix_path(path).map(Listen::Unix);
    }
    if let Some(rest) = text.strip_prefix("https://") {
        return tcp(rest, "https://").map(Listen::Tls);
    }
    match text.strip_prefix("http://") {
        Some(rest) => tcp(rest, "http://").map(Listen::Tcp),
        None => tcp(text, "").map(Listen::Tcp),
    }
}

fn tcp(text: &str, scheme: &str) -> Result<SocketAddr, String> {
    let text = text.strip_suffix('/').filter(|_| !scheme.is_empty()).unwrap_or(text);
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    let port = text.strip_prefix(':').unwrap_or(text);
    if port.parse::<u16>().is_ok() {
        return Err(format!(
            "the address is missing; write \"{scheme}127.0.0.1:{port}\" or \"{scheme}0.0.0.0:{port}\""
        ));
    }
    if let Some(port) = text.strip_prefix("localhost:") {
        return Err(format!("a number is wanted, not a name; write \"{scheme}127.0.0.1:{port}\""));
    }
    if text.parse::<IpAddr>().is_ok() {
        let shown = if text.contains(':') {
            format!("{scheme}[{text}]:8080")
        } else {
            format!("{scheme}{text}:8080")
        };
        return Err(format!("the port is missing; write \"{shown}\""));
    }
    Err("write an address and a port, \"127.0.0.1:8080\" or \"https://[::]:443\", or \"unix:/path\""
        .to_owned())
}

/// Reads `unix:/path`, `host:port` or `[::1]:port`.
pub fn parse_address(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return unix_path(path).map(Address::Unix);
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err("the port is missing; write \"host:port\" or \"unix:/path\"".to_owned());
    };
    let port = port_of(port)?;
    Ok(Address::Tcp(host_of(host)?, port))
}

/// An HTTP upstream's URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OriginUrl {
    /// Where it listens.
    pub address: Address,
    /// Put before each path, without trailing slash; usually empty.
    pub base_path: String,
    /// Host and port as written, for names and traces.
    pub authority: String,
}

/// Reads `http://host[:port][/base]` or `unix:/path`.
pub(crate) fn parse_origin_url(text: &str) -> Result<OriginUrl, String> {
    if text.starts_with("unix:") {
        let address = parse_address(text)?;
        return Ok(OriginUrl { address, base_path: String::new(), authority: text.to_owned() });
    }
    if text.starts_with("https://") {
        return Err("TLS towards upstreams comes later; write \"http://…\" for now".to_owned());
    }
    let Some(rest) = text.strip_prefix("http://") else {
        return Err("write \"http://host:port\" or \"unix:/path\"".to_owned());
    };
    if rest.contains(['?', '#', '@']) {
        return Err("only a host, a port and a path may stand here, no user, query or fragment".to_owned());
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port_of(port)?),
        _ => (authority, 80),
    };
    let host = host_of(host)?;
    let path = path.trim_end_matches('/');
    let base_path = if path.is_empty() { String::new() } else { format!("/{path}") };
    if base_path.parse::<http::uri::PathAndQuery>().is_err() && !base_path.is_empty() {
        return Err("the path holds a character that must be percent-encoded".to_owned());
    }
    Ok(OriginUrl { address: Address::Tcp(host, port), base_path, authority: authority.to_ascii_lowercase() })
}

fn unix_path(path: &str) -> Result<PathBuf, String> {
    if !path.starts_with('/') || path.ends_with('/') || path.contains('\0') {
        return Err("write the socket's absolute path, \"unix:/run/name.sock\"".to_owned());
    }
    // sun_path holds 108 bytes with the closing zero (unix(7)).
    if path.len() > 107 {
        return Err("the path of a unix socket can have 107 bytes at most".to_owned());
    }
    Ok(PathBuf::from(path))
}

fn port_of(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 && !text.starts_with('+') => Ok(port),
        _ => Err(format!("`{text}` is not a port; write a number from 1 to 65535")),
    }
}

/// A host name or address; brackets of IPv6 are taken off.
fn host_of(text: &str) -> Result<String, String> {
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        return match inner.parse::<std::net::Ipv6Addr>() {
            Ok(a) => Ok(a.to_string()),
            Err(_) => Err(format!("`{inner}` is not an IPv6 address")),
        };
    }
    if text.contains(':') {
        return Err("an IPv6 address stands in brackets: \"[::1]:3000\"".to_owned());
    }
    host_name(text)
}

/// A host name or IPv4 address in lower case, without trailing dot.
pub(crate) fn host_name(text: &str) -> Result<String, String> {
    let host = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    if !host.is_ascii() {
        return Err("write the name in punycode, \"xn--…\"".to_owned());
    }
    let label_ok = |l: &str| {
        !l.is_empty()
            && l.len() <= 63
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    if host.len() > 253 || !host.split('.').all(label_ok) {
        return Err("this is not a host name".to_owned());
    }
    Ok(host)
}

/// Reads `10.0.0.0/8`, `::1/128` or a single address.
pub fn parse_network(text: &str) -> Result<Network, String> {
    let wrong = || "write an address or a network: \"10.0.0.5\", \"10.0.0.0/8\", \"fd00::/8\"".to_owned();
    let (address, prefix) = match text.split_once('/') {
        Some((a, p)) => (a, Some(p)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let bits: u8 = if address.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix {
        None => bits,
        Some(p) => p.parse::<u8>().ok().filter(|p| *p <= bits).ok_or_else(wrong)?,
    };
    let first = match address {
        IpAddr::V4(a) => {
            IpAddr::V4((a.to_bits() & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)).into())
        }
        IpAddr::V6(a) => {
            IpAddr::V6((a.to_bits() & u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0)).into())
        }
    };
    if first != address {
        return Err(format!("bits stand beyond the prefix; the network is \"{first}/{prefix}\""));
    }
    Ok(Network { address, prefix })
}

/// Peers whose `Forwarded` and `X-Forwarded-*` fields are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    /// By address.
    pub networks: Vec<Network>,
    /// Those that come over a unix socket.
    pub unix: bool,
}

impl TrustedProxies {
    /// True if this peer is believed; `None` is a peer on a unix socket.
    pub fn trusts(&self, peer: Option<IpAddr>) -> bool {
        match peer {
            None => self.unix,
            Some(a) => self.networks.iter().any(|n| n.contains(a)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn listeners() {
        assert_eq!(parse_listen("127.0.0.1:0"), Ok(Listen::Tcp(([127, 0, 0, 1], 0).into())));
        assert_eq!(parse_listen("http://127.0.0.1:1/"), Ok(Listen::Tcp(([127, 0, 0, 1], 1).into())));
        assert_eq!(parse_listen("https://127.0.0.1:443"), Ok(Listen::Tls(([127, 0, 0, 1], 443).into())));
        assert_eq!(Listen::Tls(([127, 0, 0, 1], 443).into()).to_string(), "https://127.0.0.1:443");
        let mend = parse_listen("https://:443").unwrap_err();
        assert!(mend.contains("https://0.0.0.0:443"), "{mend}");
        assert!(parse_listen("https://h.example:443").is_err() && parse_listen("https://").is_err());
        assert!(matches!(parse_listen("[::]:80"), Ok(Listen::Tcp(a)) if a.is_ipv6() && a.port() == 80));
        assert_eq!(parse_listen("unix:/run/s.sock"), Ok(Listen::Unix("/run/s.sock".into())));
        let hints = [
            ("8080", "127.0.0.1:8080"),
            (":8080", "0.0.0.0:8080"),
            ("localhost:81", "127.0.0.1:81"),
            ("127.0.0.1", "127.0.0.1:8080"),
            ("::1", "[::1]:8080"),
            ("unix:s.sock", "unix:/run/name.sock"),
            ("here", "unix:/path"),
            ("1.2.3.4:99999", "127.0.0.1:8080"),
        ];
        for (text, hint) in hints {
            let said = parse_listen(text).unwrap_err();
            assert!(said.contains(hint), "{text}: {said}");
        }
        assert!(parse_listen(&format!("unix:/{}", "x".repeat(107))).is_err());
    }

    #[test]
    fn origins() {
        let url = parse_origin_url("http://App.Example:3000/base/").unwrap();
        assert_eq!(url.address, Address::Tcp("app.example".into(), 3000));
        assert_eq!((url.base_path.as_str(), url.authority.as_str()), ("/base", "app.example:3000"));
        assert_eq!(parse_origin_url("http://[::1]").unwrap().address, Address::Tcp("::1".into(), 80));
        assert_eq!(parse_origin_url("http://[::1]:81/").unwrap().address, Address::Tcp("::1".into(), 81));
        assert_eq!(parse_origin_url("unix:/a.sock").unwrap().address, Address::Unix("/a.sock".into()));
        for bad in [
            "https://a",
            "a:80",
            "http://",
            "http://:80",
            "http://a:0",
            "http://a:+80",
            "http://a/?q",
            "http://u@a/",
            "http://a b/",
            "http://::1/",
            "http://a/b c",
            "ftp://a",
        ] {
            assert!(parse_origin_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn networks() {
        let rows = [
            ("10.0.0.0/8", "10.200.3.4", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
            ("192.168.1.1", "192.168.1.1", true),
            ("192.168.1.1", "192.168.1.2", false),
        ];
        for (net, address, want) in rows {
            assert_eq!(
                parse_network(net).unwrap().contains(address.parse().unwrap()),
                want,
                "{net} {address}"
            );
        }
        assert!(parse_network("10.0.0.1/8").unwrap_err().contains("10.0.0.0/8"));
        for bad in ["10.0.0.0/33", "10.0.0/8", "::/129", "a/8", "", "10.0.0.0/-1", "10.0.0.0/"] {
            assert!(parse_network(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn trust_names_its_peers() {
        let trust = TrustedProxies { networks: vec![parse_network("10.0.0.0/8").unwrap()], unix: false };
        assert!(trust.trusts(Some([10, 1, 1, 1].into())));
        assert!(!trust.trusts(Some([11, 1, 1, 1].into())));
        assert!(!trust.trusts(None));
        assert!(TrustedProxies { unix: true, ..trust }.trusts(None));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = (parse_listen(&text), parse_address(&text), parse_network(&text), parse_origin_url(&text));
            let _ = parse_origin_url(&format!("http://{text}"));
        }
    }
}
