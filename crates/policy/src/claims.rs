//! Request fields in which a sender claims another method, host, scheme, path or client address than its request has.
//!
//! Applications and frameworks honour them, and no cache key holds them: who may send them can store a response of his
//! choice for everybody. This is the one list of them. A claim of the method makes a request pass by the cache; the other
//! claims end here unless a trusted proxy makes them.
//!
//! Names are compared as the most obliging application does: without case, and with any other character for `-`, as in
//! the variables of CGI, WSGI and Rack (`X_HTTP_METHOD_OVERRIDE`). Not here: who is trusted (`server::pipeline::arrive`),
//! what stands in the key (`rules::route`), which variables of a query claim a method (`rules::query`).

/// What a field claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The method.
    Method,
    /// Host, scheme, port, path or query, or who is signed in: the response depends on it.
    Target,
    /// The client's address.
    Address,
    /// The scheme, in the one field that is believed of a trusted proxy (`X-Forwarded-Proto`). It is in the key.
    Scheme,
    /// Written anew for each request that goes on, so that the sender's never does.
    Rebuilt,
}

/// A field that claims something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// What.
    pub claim: Claim,
    /// The name is not the usual one but is taken for it: no proxy sends that.
    pub alias: bool,
}

/// How a name is recognised.
enum Name {
    Is(&'static str),
    Begins(&'static str),
    Ends(&'static str),
}

use Claim::{Address, Method, Rebuilt, Scheme, Target};
use Name::{Begins, Ends, Is};

/// Names that begin with `x-`; the first row that fits holds.
const EXTENSIONS: [(Name, Claim); 40] = [
    (Is("x-http-method-override"), Method),
    (Is("x-method-override"), Method),
    (Is("x-http-method"), Method),
    (Is("x-forwarded-proto"), Scheme),
    (Is("x-forwarded-host"), Rebuilt),
    (Is("x-forwarded-port"), Rebuilt),
    (Is("x-forwarded-server"), Rebuilt),
    (Is("x-real-ip"), Rebuilt),
    (Is("x-forwarded"), Address),
    (Is("x-forwarded-for"), Address),
    (Is("x-original-forwarded-for"), Address),
    (Is("x-original-remote-addr"), Address),
    (Begins("x-forwarded-"), Target),
    (Begins("x-original-"), Target),
    (Begins("x-rewrite-"), Target),
    (Begins("x-envoy-original-"), Target),
    (Begins("x-real-"), Target),
    (Is("x-host"), Target),
    (Is("x-http-host"), Target),
    (Is("x-http-host-override"), Target),
    (Is("x-backend-host"), Target),
    (Is("x-scheme"), Target),
    (Is("x-url-scheme"), Target),
    (Is("x-https"), Target),
    (Is("x-appengine-https"), Target),
    (Is("x-script-name"), Target),
    (Is("x-path-info"), Target),
    (Is("x-request-uri"), Target),
    (Is("x-request-url"), Target),
    (Is("x-override-url"), Target),
    (Is("x-http-path-override"), Target),
    (Is("x-waws-unencoded-url"), Target),
    (Is("x-proxy-host"), Target),
    // Who is signed in, as proxies that ask for it say.
    (Is("x-remote-user"), Target),
    (Is("x-webauth-user"), Target),
    (Begins("x-auth-request-"), Target),
    (Begins("x-ssl-client-"), Target),
    (Begins("x-client-cert"), Target),
    // Which file an application's server sends in its place, and from which folder.
    (Is("x-sendfile-type"), Target),
    (Is("x-accel-mapping"), Target),
];

/// Names that begin otherwise. `Https` is read as `HTTP_HTTPS` by many PHP applications; gunicorn takes `Script_Name` and
/// `Path_Info` from proxies on the same machine.
const OTHERS: [(Name, Claim); 14] = [
    (Is("forwarded"), Rebuilt),
    (Is("https"), Target),
    (Is("front-end-https"), Target),
    (Is("cloudfront-forwarded-proto"), Target),
    (Is("cf-visitor"), Target),
    (Is("base-url"), Target),
    (Is("script-name"), Target),
    (Is("path-info"), Target),
    (Is("request-uri"), Target),
    (Is("coming-from"), Address),
    (Is("remote-user"), Target),
    (Is("proxy-host"), Target),
    (Begins("ssl-client-"), Target),
    (Is("uri"), Target),
];

/// How names end that hold the client's address: those of proxies, delivery networks and hosting services.
const ADDRESSES: [(Name, Claim); 12] = [
    (Ends("client-ip"), Address),
    (Ends("clientip"), Address),
    (Ends("forwarded-for"), Address),
    (Ends("connecting-ip"), Address),
    (Ends("connecting-ipv6"), Address),
    (Ends("real-ip"), Address),
    (Ends("remote-ip"), Address),
    (Ends("remote-addr"), Address),
    (Ends("originating-ip"), Address),
    (Ends("user-ip"), Address),
    (Ends("proxyuser-ip"), Address),
    (Ends("external-address"), Address),
];

/// What a field of this name claims, if anything.
pub fn claimed(name: &[u8]) -> Option<Claimed> {
    let (first, last) = (name.first()?, name.last()?);
    let is_extension = first.eq_ignore_ascii_case(&b'x') && !name.get(1)?.is_ascii_alphanumeric();
    let by_name: &[(Name, Claim)] = if is_extension { &EXTENSIONS } else { &OTHERS };
    // Few other names end so.
    let by_end: &[(Name, Claim)] =
        if matches!(last.to_ascii_lowercase(), b'p' | b'r' | b'6' | b's') { &ADDRESSES } else { &[] };
    let (_, claim) = by_name.iter().chain(by_end).find(|(known, _)| known.fits(name))?;
    let alias = name.iter().any(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
    Some(Claimed { claim: *claim, alias })
}

/// Fields of RFC 9110 and of browsers by which responses are chosen, or which a cache reads itself.
const CHOSEN_BY: [&str; 32] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "authorization",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-length",
    "content-type",
    "cookie",
    "device-memory",
    "dnt",
    "dpr",
    "expect",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "origin",
    "prefer",
    "range",
    "referer",
    "save-data",
    "sec-gpc",
    "te",
    "transfer-encoding",
    "upgrade-insecure-requests",
    "user-agent",
    "x-requested-with",
];

/// Whether applications that read fields as variables (CGI, WSGI, Rack) take a field of this name for one by which
/// responses are chosen (`Accept_Language`), while HTTP takes it for another: no `Vary` names it.
pub fn poses_as_another(name: &[u8]) -> bool {
    let is_odd = name.iter().any(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
    is_odd && CHOSEN_BY.iter().any(|known| Is(known).fits(name))
}

/// Whether a field of this name makes applications take another method for the request's.
pub fn overrides_method(name: &[u8]) -> bool {
    // The lengths of the three, which few other fields have.
    matches!(name.len(), 13 | 17 | 22) && claimed(name).is_some_and(|claimed| claimed.claim == Claim::Method)
}

impl Name {
    fn fits(&self, name: &[u8]) -> bool {
        match self {
            Is(known) => known.len() == name.len() && same(name, known),
            Begins(known) => name.get(..known.len()).is_some_and(|start| same(start, known)),
            Ends(known) => {
                let start = name.len().checked_sub(known.len());
                let end = start.and_then(|start| name.get(start..));
                // A whole word: `client-ip` and `x-client-ip`, not `notclient-ip`.
                let is_word = |start: usize| {
                    start == 0 || name.get(start - 1).is_some_and(|byte| !byte.is_ascii_alphanumeric())
                };
                start.is_some_and(is_word) && end.is_some_and(|end| same(end, known))
            }
        }
    }
}

/// Two texts of one length, as the most obliging application compares names.
fn same(name: &[u8], known: &str) -> bool {
    name.iter().zip(known.bytes()).all(|(byte, known)| {
        byte.eq_ignore_ascii_case(&known) || (known == b'-' && !byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_that_pose_as_others() {
        for (name, poses) in [
            ("accept_language", true),
            ("Accept_Language", true),
            ("accept.language", true),
            ("if_none-match", true),
            ("USER_AGENT", true),
            ("accept-language", false),
            ("api_key", false),
            ("accept_languages", false),
            ("x_accept_language", false),
            ("", false),
        ] {
            assert_eq!(super::poses_as_another(name.as_bytes()), poses, "{name}");
        }
    }

    use super::*;

    #[test]
    fn table() {
        for (name, claim, alias) in [
            ("X-HTTP-Method-Override", Method, false),
            ("x-method-override", Method, false),
            ("X-HTTP-METHOD", Method, false),
            ("X_HTTP_METHOD_OVERRIDE", Method, true),
            ("x.http-method~override", Method, true),
            ("X-Original-Host", Target, false),
            ("X-HTTP-Host-Override", Target, false),
            ("Front-End-Https", Target, false),
            ("X-Url-Scheme", Target, false),
            ("X-Forwarded", Address, false),
            ("Forwarded-For", Address, false),
            ("Client-IP", Address, false),
            ("X-Client-IP", Address, false),
            ("X-Cluster-Client-IP", Address, false),
            ("True-Client-IP", Address, false),
            ("CF-Connecting-IP", Address, false),
            ("CF-Connecting-IPv6", Address, false),
            ("X-Azure-ClientIP", Address, false),
            ("X-ProxyUser-Ip", Address, false),
            ("X-Forwarded-Uri", Target, false),
            ("X-Forwarded-Path", Target, false),
            ("X-Forwarded-Prefix", Target, false),
            ("X-Forwarded-Ssl", Target, false),
            ("X-Forwarded-User", Target, false),
            ("X-Original-URL", Target, false),
            ("X-Rewrite-URL", Target, false),
            ("x_rewrite_url", Target, true),
            ("X-Envoy-Original-Path", Target, false),
            ("X-Host", Target, false),
            ("Remote-User", Target, false),
            ("X_Remote_User", Target, true),
            ("X-Auth-Request-Email", Target, false),
            ("X-SSL-Client-Verify", Target, false),
            ("Ssl-Client-S-Dn", Target, false),
            ("X-Sendfile-Type", Target, false),
            ("X-Accel-Mapping", Target, false),
            ("X-Script-Name", Target, false),
            ("Script_Name", Target, true),
            ("PATH_INFO", Target, true),
            ("HTTPS", Target, false),
            ("X-Forwarded-Proto", Scheme, false),
            ("X_Forwarded-Proto", Scheme, true),
            ("X-Forwarded-For", Address, false),
            ("X-Forwarded-Host", Rebuilt, false),
            ("X-Real-IP", Rebuilt, false),
            ("X-Real-Host", Target, false),
            ("Forwarded", Rebuilt, false),
        ] {
            assert_eq!(claimed(name.as_bytes()), Some(Claimed { claim, alias }), "{name}");
            assert_eq!(overrides_method(name.as_bytes()), claim == Method, "{name}");
        }
    }

    /// Fields that applications need as they come.
    #[test]
    fn what_claims_nothing() {
        for name in [
            "",
            "x",
            "-",
            "Host",
            "Accept",
            "User-Agent",
            "Cookie",
            "Authorization",
            "Content-Type",
            "Destination",
            "Referer",
            "Origin",
            "Upgrade-Insecure-Requests",
            "X-Requested-With",
            "X-Request-ID",
            "X-CSRF-Token",
            "X-Api-Key",
            "X-Method",
            "X-HTTP-Methods",
            "X-Real",
            "X-Shipping",
            "notclient-ip",
            "x-notclient-ip",
            "Depth",
            "Slug",
            "Max-Forwards",
        ] {
            assert_eq!(claimed(name.as_bytes()), None, "{name}");
            assert!(!overrides_method(name.as_bytes()), "{name}");
        }
    }

    /// `overrides_method` looks at names of three lengths only.
    #[test]
    fn every_claim_of_the_method_has_a_length_that_is_looked_at() {
        for (name, claim) in &EXTENSIONS {
            if let (Is(name), Method) = (name, claim) {
                assert!(overrides_method(name.as_bytes()), "{name}");
            }
        }
        assert!(OTHERS.iter().chain(&ADDRESSES).all(|(_, claim)| *claim != Method));
    }
}
