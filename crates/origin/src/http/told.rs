//! Heads: what the upstream is told, and what is believed of its answer. Pure.
//!
//! A request is written anew from its parts, so nothing of the client's own framing survives. An answer that
//! contradicts itself about its length is refused before a byte of its body is passed on (RFC 9112 §6.3).

use crate::fields::{KEEP_ALIVE, PROXY_CONNECTION, settle_length};
use crate::{Asked, AskedBody, Client, Failure, HttpSettings, Interim, Reached};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, StatusCode, Uri, Version, request, response};
use samovar_reason::Upstream;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::OnceLock;

static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

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

/// The head to be sent, and the body with its announced length.
pub(super) fn request(
    settings: &HttpSettings,
    asked: Asked,
) -> Result<(request::Parts, Option<AskedBody>, Option<u64>), Failure> {
    let Asked { method, path, query, host, mut headers, body, body_bytes, client, interim } = asked;
    if was_here(&headers) {
        return Err(not_sent(Upstream::LoopDetected, format!("Via already names {}", pseudonym())));
    }
    drop_own_framing(&mut headers);
    let told = settings.host.as_deref().unwrap_or(&host);
    let told = HeaderValue::from_str(told)
        .map_err(|_| not_sent(Upstream::Unsendable, format!("`{told}` cannot be a Host")))?;
    headers.insert(header::HOST, told);
    if body.is_some() {
        match body_bytes {
            Some(bytes) => headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes)),
            // Said aloud: without it hyper takes a GET to have no body, and sends none.
            None => headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked")),
        };
    }
    forward(&mut headers, &client, &host);

    let mut request = Request::new(());
    *request.method_mut() = method;
    *request.uri_mut() = target(&settings.base_path, &path, query.as_deref())?;
    *request.version_mut() = Version::HTTP_11;
    *request.headers_mut() = headers;
    if let Some(interim) = interim {
        tell_interim(&mut request, interim);
    }
    Ok((request.into_parts().0, body, body_bytes))
}

fn tell_interim<B>(request: &mut Request<B>, interim: Interim) {
    hyper::ext::on_informational(request, move |answer| {
        if answer.status() == StatusCode::CONTINUE {
            return;
        }
        let mut headers = answer.headers().clone();
        samovar_policy::strip_hop_by_hop(&mut headers);
        headers.remove(header::CONTENT_LENGTH);
        let _nobody = interim.send((answer.status(), headers));
    });
}

/// The head of a request without its body, for a second sending.
pub(super) fn copy<B>(request: &Request<B>) -> request::Parts {
    let mut copy = Request::new(());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    copy.into_parts().0
}

fn was_here(headers: &HeaderMap) -> bool {
    let name = pseudonym().as_bytes();
    headers.get_all(header::VIA).iter().any(|value| {
        // `1.1 name (comment), 1.0 other`: the second word of each element.
        value.as_bytes().split(|b| *b == b',').any(|element| {
            element.split(|b| *b == b' ' || *b == b'\t').filter(|word| !word.is_empty()).nth(1) == Some(name)
        })
    })
}

/// The pipeline drops hop-by-hop fields; these would break our own framing, so no one is trusted with them.
fn drop_own_framing(headers: &mut HeaderMap) {
    const FRAMING: [HeaderName; 6] = [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::TE,
        header::UPGRADE,
        // Answered by the front already: the body is here or on its way.
        header::EXPECT,
    ];
    // One look at the names costs less than eight lookups that find nothing.
    let is_framing =
        |name: &HeaderName| FRAMING.contains(name) || *name == KEEP_ALIVE || *name == PROXY_CONNECTION;
    if headers.keys().any(is_framing) {
        FRAMING.iter().chain([&KEEP_ALIVE, &PROXY_CONNECTION]).for_each(|name| drop(headers.remove(name)));
    }
}

fn target(base: &str, path: &str, query: Option<&str>) -> Result<Uri, Failure> {
    let mut target = String::with_capacity(base.len() + path.len() + query.map_or(0, |q| q.len() + 1));
    target.push_str(base);
    target.push_str(path);
    if let Some(query) = query {
        target.push('?');
        target.push_str(query);
    }
    let unsendable = |why: &str| not_sent(Upstream::Unsendable, format!("target `{target}`: {why}"));
    if !target.starts_with('/') && target != "*" {
        return Err(unsendable("it does not begin with `/`"));
    }
    let parsed = PathAndQuery::try_from(target.as_str()).map_err(|error| unsendable(&error.to_string()))?;
    if parsed.as_str() != target {
        return Err(unsendable("it holds a fragment"));
    }
    Ok(Uri::from(parsed))
}

/// `Via`, `Forwarded` (RFC 7239) and the customary `X-Forwarded-*`.
fn forward(headers: &mut HeaderMap, client: &Client, host: &str) {
    let version = client.version.strip_prefix("HTTP/").unwrap_or("1.1");
    append(headers, header::VIA, [version, " ", pseudonym()].concat());
    let ip = client.remote.map(|address| plain(address.ip()));
    let from = ip.map(text_of);
    append(headers, header::FORWARDED, forwarded(ip.zip(from.as_deref()), client.scheme, host));
    if let Some(from) = from.filter(|from| last_hop(headers) != Some(from.as_bytes())) {
        append(headers, FORWARDED_FOR.clone(), from);
    }
    // Those the pipeline kept came from a proxy it trusts, which knows better than we do.
    for (name, value) in [(&FORWARDED_HOST, host), (&FORWARDED_PROTO, client.scheme)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.entry(name.clone()).or_insert(value);
        }
    }
}

/// The last address of `X-Forwarded-For`: the pipeline may have kept it and taken the client from it.
fn last_hop(headers: &HeaderMap) -> Option<&[u8]> {
    let last = headers.get_all(&FORWARDED_FOR).iter().next_back()?;
    last.as_bytes().rsplit(|b| *b == b',').next().map(<[u8]>::trim_ascii)
}

/// One element: `for=192.0.2.1;host="a.example:8080";proto=http`. What is no token is quoted (RFC 7239 §4).
fn forwarded(from: Option<(IpAddr, &str)>, scheme: &str, host: &str) -> String {
    let mut element = String::with_capacity(64);
    element.push_str("for=");
    match from {
        Some((IpAddr::V4(_), ip)) => element.push_str(ip),
        Some((IpAddr::V6(_), ip)) => element.extend(["\"[", ip, "]\""]),
        None => element.push_str("unknown"),
    }
    let token = host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~!#$%&'*+^`|".contains(&b));
    if token && !host.is_empty() {
        element.extend([";host=", host]);
    } else {
        let escaped = host.replace('\\', "\\\\").replace('"', "\\\"");
        element.extend([";host=\"", &escaped, "\""]);
    }
    element.extend([";proto=", scheme]);
    element
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

/// Appends to a list field, on one line if there is one already: many applications read only the first line.
fn append(headers: &mut HeaderMap, name: HeaderName, element: String) {
    let value = if !headers.contains_key(&name) {
        HeaderValue::try_from(element)
    } else {
        let lines: Vec<&[u8]> = headers.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
        let mut joined = lines.join(&b", "[..]);
        joined.extend_from_slice(b", ");
        joined.extend_from_slice(element.as_bytes());
        HeaderValue::try_from(joined)
    };
    if let Ok(value) = value {
        headers.insert(name, value);
    }
}

/// Whether the answer's head lets the connection live (RFC 9112 §9.3). Asked before `check` cleans the head.
pub(super) fn keeps_alive(parts: &response::Parts) -> bool {
    let said = |word: &str| {
        parts.headers.get_all(header::CONNECTION).iter().any(|value| {
            value
                .as_bytes()
                .split(|b| *b == b',')
                .any(|w| w.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
        })
    };
    if said("close") {
        return false;
    }
    parts.version == Version::HTTP_11 || said("keep-alive")
}

/// Refuses heads that contradict themselves, and drops the fields that end here (RFC 9110 §7.6.1).
pub(super) fn check(parts: &mut response::Parts, method: &Method) -> Result<(), Failure> {
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(answered(
            Upstream::BadHead,
            "101 to a request that asked for no other protocol".to_owned(),
        ));
    }
    check_framing(&mut parts.headers)?;
    // RFC 9110 §8.6: no Content-Length in a 204; some upstreams send one all the same.
    if parts.status == StatusCode::NO_CONTENT || (*method == Method::CONNECT && parts.status.is_success()) {
        parts.headers.remove(header::CONTENT_LENGTH);
    }
    samovar_policy::strip_hop_by_hop(&mut parts.headers);
    Ok(())
}

fn check_framing(headers: &mut HeaderMap) -> Result<(), Failure> {
    let coded = headers.contains_key(header::TRANSFER_ENCODING);
    let sized = headers.contains_key(header::CONTENT_LENGTH);
    if coded && sized {
        return Err(answered(
            Upstream::BadFraming,
            "both Content-Length and Transfer-Encoding (RFC 9112 §6.3)".to_owned(),
        ));
    }
    if coded {
        let mut lines = headers.get_all(header::TRANSFER_ENCODING).iter();
        let only = lines.next().filter(|_| lines.next().is_none());
        if !only.is_some_and(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")) {
            let seen: Vec<_> = headers.get_all(header::TRANSFER_ENCODING).iter().collect();
            return Err(answered(Upstream::BadFraming, format!("Transfer-Encoding {seen:?}")));
        }
    }
    settle_length(headers).map_err(|seen| answered(Upstream::BadFraming, seen))?;
    Ok(())
}

fn not_sent(reason: Upstream, detail: String) -> Failure {
    Failure { reason, detail, reached: Reached::NotSent }
}

fn answered(reason: Upstream, detail: String) -> Failure {
    Failure { reason, detail, reached: Reached::Answered }
}
