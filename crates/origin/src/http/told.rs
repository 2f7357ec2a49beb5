//! What an upstream is told: the head of a request, written anew. Pure.
//!
//! Only the values of fields are taken over, so nothing of the client's own framing survives. The bytes are made once
//! and are sent again as they are if a connection proves to be dead. Not here: the body (`going`).

use crate::{Asked, AskedBody, Client, Failure, HttpSettings, Interim, Reached};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method};
use samovar_reason::Upstream;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::OnceLock;

/// Room for a usual head, bytes.
const HEAD_BYTES: usize = 768;

/// The name this process gives itself in `Via` (RFC 9110 §7.6.3), drawn anew at each start: a request that
/// carries it has been here, while one that came through another Samovar has not.
pub fn pseudonym() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        // The standard library's hash keys are the system's random bytes.
        let random = RandomState::new().hash_one(std::process::id());
        format!("samovar-{:08x}", random & 0xffff_ffff)
    })
}

/// A request ready to be sent.
pub(super) struct Told {
    pub(super) method: Method,
    pub(super) head: Vec<u8>,
    pub(super) body: Option<AskedBody>,
    /// The body's announced length, bytes; `None` with a body means chunked.
    pub(super) body_bytes: Option<u64>,
    pub(super) interim: Option<Interim>,
    /// The protocols that are asked for.
    pub(super) upgrade: Option<HeaderValue>,
}

/// Writes the head, or says why there can be none.
pub(super) fn told(settings: &HttpSettings, asked: &mut Asked) -> Result<Told, Failure> {
    let Asked { method, path, query, host, headers, body, body_bytes, client, interim, upgrade, .. } = asked;
    let (body, body_bytes) = (body.take(), *body_bytes);
    let mut out = Out(Vec::with_capacity(HEAD_BYTES));
    out.put(&[method.as_str(), " "]);
    out.target(&settings.base_path, path, query.as_deref())?;
    let told = settings.host.as_deref().unwrap_or(host);
    if !is_value(told) {
        return Err(not_sent(Upstream::Unsendable, format!("`{told}` cannot be a Host")));
    }
    out.put(&[" HTTP/1.1\r\nhost: ", told, "\r\n"]);
    let kept = out.fields(headers)?;
    out.forward(kept, client, host);
    if body.is_some() {
        match body_bytes {
            Some(bytes) => {
                out.put(&["content-length: ", itoa::Buffer::new().format(bytes), "\r\n"]);
            }
            None => out.put(&["transfer-encoding: chunked\r\n"]),
        }
    } else if matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
        // RFC 9110 §8.6: said even of none where one is expected; some servers refuse it otherwise.
        out.put(&["content-length: 0\r\n"]);
    }
    if let Some(protocols) = &upgrade {
        // RFC 9110 §7.8.
        out.put(&["connection: upgrade\r\n"]);
        out.field("upgrade", protocols.as_bytes());
    }
    out.put(&["\r\n"]);
    Ok(Told {
        method: method.clone(),
        head: out.0,
        body,
        body_bytes,
        interim: interim.clone(),
        upgrade: upgrade.clone(),
    })
}

/// Fields of the request that tell of the way it came; each list on one line, as many applications read no more.
#[derive(Default)]
struct Kept {
    via: Vec<u8>,
    forwarded: Vec<u8>,
    forwarded_for: Vec<u8>,
    host: bool,
    proto: bool,
}

struct Out(Vec<u8>);

impl Out {
    fn put(&mut self, parts: &[&str]) {
        parts.iter().for_each(|part| self.0.extend_from_slice(part.as_bytes()));
    }

    fn target(&mut self, base: &str, path: &str, query: Option<&str>) -> Result<(), Failure> {
        let begun = self.0.len();
        self.put(&[base, path]);
        if let Some(query) = query {
            self.put(&["?", query]);
        }
        let target = self.0.get(begun..).unwrap_or_default();
        let unsendable = |why: &str| {
            let target = String::from_utf8_lossy(target);
            not_sent(Upstream::Unsendable, format!("target `{target}`: {why}"))
        };
        if !target.starts_with(b"/") && target != b"*" {
            return Err(unsendable("it does not begin with `/`"));
        }
        let parsed = PathAndQuery::try_from(target).map_err(|error| unsendable(&error.to_string()))?;
        if parsed.as_str().as_bytes() != target {
            return Err(unsendable("it holds a fragment"));
        }
        Ok(())
    }

    /// The fields as they came. The pipeline drops hop-by-hop ones; those that would break our own framing no one is
    /// trusted with.
    fn fields(&mut self, headers: &HeaderMap) -> Result<Kept, Failure> {
        let mut kept = Kept::default();
        for (name, value) in headers {
            match name.as_str() {
                "host" | "connection" | "content-length" | "transfer-encoding" | "te" | "upgrade"
                | "keep-alive" | "proxy-connection" => continue,
                // Answered by the front already: the body is here or on its way.
                "expect" => continue,
                // Applications that know fields as variables would take it for one of ours.
                name if name.contains('_') && stands_for_ours(name, headers) => continue,
                "via" if was_here(value) => {
                    let detail = format!("Via already names {}", pseudonym());
                    return Err(not_sent(Upstream::LoopDetected, detail));
                }
                "via" => join(&mut kept.via, value),
                "forwarded" => join(&mut kept.forwarded, value),
                "x-forwarded-for" => join(&mut kept.forwarded_for, value),
                // Those the pipeline kept came from a proxy it trusts, which knows better than we do.
                "x-forwarded-host" => kept.host = true,
                "x-forwarded-proto" => kept.proto = true,
                _ => {}
            }
            if !matches!(name.as_str(), "via" | "forwarded" | "x-forwarded-for") {
                self.field(name.as_str(), value.as_bytes());
            }
        }
        Ok(kept)
    }

    fn field(&mut self, name: &str, value: &[u8]) {
        self.put(&[name, ": "]);
        self.0.extend_from_slice(value);
        self.put(&["\r\n"]);
    }

    /// `Via`, `Forwarded` (RFC 7239) and the customary `X-Forwarded-*`.
    fn forward(&mut self, mut kept: Kept, client: &Client, host: &str) {
        self.put(&["via: "]);
        self.list(&kept.via);
        self.put(&[client.version.strip_prefix("HTTP/").unwrap_or("1.1"), " ", pseudonym(), "\r\n"]);
        let ip = client.remote.map(|address| plain(address.ip()));
        let from = ip.map(text_of);
        let plain_host = is_value(host);
        if plain_host {
            self.put(&["forwarded: "]);
            self.list(&kept.forwarded);
            self.forwarded(ip.zip(from.as_deref()), client.scheme, host);
            self.put(&["\r\n"]);
        } else if !kept.forwarded.is_empty() {
            self.field("forwarded", &kept.forwarded);
        }
        if let Some(from) = from.filter(|from| last_hop(&kept.forwarded_for) != Some(from.as_bytes())) {
            if !kept.forwarded_for.is_empty() {
                kept.forwarded_for.extend_from_slice(b", ");
            }
            kept.forwarded_for.extend_from_slice(from.as_bytes());
        }
        if !kept.forwarded_for.is_empty() {
            self.field("x-forwarded-for", &kept.forwarded_for);
        }
        if !kept.host && plain_host {
            self.field("x-forwarded-host", host.as_bytes());
        }
        if !kept.proto {
            self.field("x-forwarded-proto", client.scheme.as_bytes());
        }
    }

    /// What a list holds already, and what parts it from the next element.
    fn list(&mut self, elements: &[u8]) {
        if !elements.is_empty() {
            self.0.extend_from_slice(elements);
            self.put(&[", "]);
        }
    }

    /// One element: `for=192.0.2.1;host="a.example:8080";proto=http`. What is no token is quoted (RFC 7239 §4).
    fn forwarded(&mut self, from: Option<(IpAddr, &str)>, scheme: &str, host: &str) {
        self.put(&["for="]);
        match from {
            Some((IpAddr::V4(_), ip)) => self.put(&[ip]),
            Some((IpAddr::V6(_), ip)) => self.put(&["\"[", ip, "]\""]),
            None => self.put(&["unknown"]),
        }
        let token = host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~!#$%&'*+^`|".contains(&b));
        if token && !host.is_empty() {
            self.put(&[";host=", host]);
        } else {
            let escaped = host.replace('\\', "\\\\").replace('"', "\\\"");
            self.put(&[";host=\"", &escaped, "\""]);
        }
        self.put(&[";proto=", scheme]);
    }
}

/// Whether `x_user` would be taken for an `X-User` that goes with it, or for a field that tells of the way.
fn stands_for_ours(name: &str, headers: &HeaderMap) -> bool {
    let dashed = name.replace('_', "-");
    headers.contains_key(&dashed)
        || dashed.starts_with("x-forwarded-")
        || matches!(&*dashed, "content-length" | "transfer-encoding")
}

/// Whether a field may hold it as it is.
fn is_value(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'))
}

fn join(list: &mut Vec<u8>, value: &HeaderValue) {
    if !list.is_empty() {
        list.extend_from_slice(b", ");
    }
    list.extend_from_slice(value.as_bytes());
}

fn was_here(value: &HeaderValue) -> bool {
    let name = pseudonym().as_bytes();
    // `1.1 name (comment), 1.0 other`: the second word of each element.
    value.as_bytes().split(|b| *b == b',').any(|element| {
        element.split(|b| *b == b' ' || *b == b'\t').filter(|word| !word.is_empty()).nth(1) == Some(name)
    })
}

/// The last address of `X-Forwarded-For`: the pipeline may have kept it and taken the client from it.
fn last_hop(list: &[u8]) -> Option<&[u8]> {
    list.rsplit(|b| *b == b',').next().map(<[u8]>::trim_ascii)
}

/// An address as text; without the formatter for IPv4, whose share of a passed request was a fiftieth.
fn text_of(ip: IpAddr) -> String {
    let IpAddr::V4(v4) = ip else { return ip.to_string() };
    let mut text = String::with_capacity(15);
    for (at, octet) in v4.octets().into_iter().enumerate() {
        if at > 0 {
            text.push('.');
        }
        text.push_str(itoa::Buffer::new().format(octet));
    }
    text
}

/// An IPv4 client of a dual-stack socket, as IPv4.
fn plain(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

fn not_sent(reason: Upstream, detail: String) -> Failure {
    Failure { reason, detail, reached: Reached::NotSent }
}
