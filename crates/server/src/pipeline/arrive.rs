//! Arrived: a request head and, if there is one, its body, as the engine hands them over.

use super::exchange::{Connection, Exchange};
use super::upload;
use crate::clock;
use crate::state::{Core, Job};
use bytes::Bytes;
use http::{Method, Request, Version, header};
use http_body::Body as _;
use http_body_util::{BodyExt, combinators::BoxBody};
use hyper::body::Incoming;
use samovar_hot::ConnHandle;
use samovar_origin::{Client, Failure, Reached};
use samovar_policy::{Claim, Claimed, Now, claimed, poses_as_another};
use samovar_reason::{Hot, Upstream};
use samovar_trace::Fact;
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

/// A request body on its way to an origin.
pub type RequestBody = BoxBody<Bytes, Failure>;

/// The first step.
pub struct Arrived {
    pub(super) x: Box<Exchange>,
    pub(super) body: Option<RequestBody>,
    pub(super) body_bytes: Option<u64>,
}

/// A request from a connection.
pub fn arrive(
    core: &Rc<Core>,
    conn: &Rc<Connection>,
    request: Request<Incoming>,
    handle: ConnHandle,
) -> Arrived {
    let (at_us, not_hot) = (handle.arrival_ns() / 1_000, handle.refusal());
    let (parts, incoming) = request.into_parts();
    let has_body = !incoming.is_end_stream();
    let body_bytes = incoming.size_hint().exact();
    let body = has_body.then(|| {
        incoming
            .map_err(|e| Failure {
                reason: Upstream::ClientGone,
                detail: format!("read the request's body: {e}"),
                reached: Reached::Sent,
            })
            .boxed()
    });
    let id = core.shared.next_id();
    let mut x = exchange(core, conn, parts, has_body, id, at_us, not_hot);
    x.of_the_server = handle.of_the_server();
    x.handle = Some(handle);
    let (body, taken) = body.map(upload::watched).unzip();
    x.content_taken = taken;
    Arrived { x: Box::new(x), body, body_bytes }
}

/// A request that `explain` asks a core to live through.
pub fn arrive_by_door(
    core: &Rc<Core>,
    conn: &Rc<Connection>,
    job: Job,
) -> (Arrived, tokio::sync::oneshot::Sender<(u16, u64)>) {
    let (parts, ()) = job.request.into_parts();
    let mut x = exchange(core, conn, parts, false, job.id, clock::mono_us(), None);
    x.explains = true;
    (Arrived { x: Box::new(x), body: None, body_bytes: None }, job.done)
}

fn exchange(
    core: &Rc<Core>,
    conn: &Rc<Connection>,
    parts: http::request::Parts,
    has_body: bool,
    id: u64,
    at_us: u64,
    not_hot: Option<Hot>,
) -> Exchange {
    let snapshot = core.shared.snapshot();
    let version = if parts.version == Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut headers = parts.headers;
    // The origin will not see these, so no key may be made of them.
    samovar_policy::drop_named_by_connection(&mut headers);
    let trusted = &snapshot.settings.server.trusted_proxies;
    let (client, dropped) = believe(conn, &mut headers, version, |ip| trusted.trusts(ip));
    let mut facts = Vec::with_capacity(8);
    facts.extend((!dropped.is_empty()).then_some(Fact::Dropped(dropped)));
    let of_the_server = parts.method == Method::OPTIONS && parts.uri.path() == "*";
    Exchange {
        core: Rc::clone(core),
        snapshot,
        conn: Rc::clone(conn),
        method: parts.method,
        uri: parts.uri,
        version: parts.version,
        headers,
        of_the_server,
        has_body,
        handle: None,
        at: Now { mono_ms: at_us / 1_000, wall_ms: clock::wall_ms() },
        at_us,
        id,
        not_hot,
        client,
        user: None,
        facts,
        late: Rc::new(RefCell::new(Vec::new())),
        explains: false,
        open: true,
        content_taken: None,
        body_too_long: None,
    }
}

/// Who asked. From a trusted proxy its `X-Forwarded-For` is believed from the right as far as trusted proxies
/// reach; from anybody else all such fields are dropped, so that no origin believes them either.
fn believe(
    conn: &Connection,
    headers: &mut http::HeaderMap,
    version: &'static str,
    trusts: impl Fn(Option<IpAddr>) -> bool,
) -> (Client, Vec<String>) {
    let mut client = Client {
        remote: conn.peer,
        local: conn.local,
        scheme: if conn.tls { "https" } else { "http" },
        version,
    };
    let trusted = trusts(conn.ip());
    let dropped = drop_claims(headers, trusted);
    if !trusted {
        return (client, dropped);
    }
    let values: Vec<&str> =
        headers.get_all("x-forwarded-for").iter().filter_map(|v| v.to_str().ok()).collect();
    // Each proxy of ours appended whom it saw; what stands left of the first other address is that one's own claim.
    for part in values.iter().rev().flat_map(|v| v.rsplit(',')) {
        let Some(ip) = forwarded_ip(part.trim()) else { break };
        client.remote = Some(SocketAddr::new(ip, 0));
        if !trusts(Some(ip)) {
            break;
        }
    }
    if headers.get("x-forwarded-proto").is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"https")) {
        client.scheme = "https";
    }
    (client, dropped)
}

/// Drops the fields that claim another target or client than the request has: all but those that a trusted proxy sends
/// under their usual names. What is written anew for the origin goes from everybody: it would be an input that no key
/// knows of. A claim of the method stays, for applications live by it; such a request passes by the cache. A name that some
/// applications take for that of a field by which responses are chosen goes from everybody, too.
///
/// Returns the names of those that end here for want of trust.
pub fn drop_claims(headers: &mut http::HeaderMap, trusted: bool) -> Vec<String> {
    let goes = |Claimed { claim, alias }: Claimed| match claim {
        Claim::Method => false,
        Claim::Rebuilt => true,
        Claim::Target | Claim::Address | Claim::Scheme => alias || !trusted,
    };
    let claims = |name: &http::HeaderName| claimed(name.as_str().as_bytes()).filter(|it| goes(*it));
    let poses = |name: &http::HeaderName| poses_as_another(name.as_str().as_bytes()).then_some(Claim::Target);
    // Most requests have none, which one look at the names tells.
    let dropped: Vec<_> = headers
        .keys()
        .filter_map(|name| Some((name.clone(), claims(name).map(|it| it.claim).or_else(|| poses(name))?)))
        .collect();
    let untrusted = dropped.iter().filter(|(_, claim)| !trusted || *claim != Claim::Rebuilt);
    let mut names: Vec<String> = untrusted.map(|(name, _)| name.to_string()).collect();
    names.sort_unstable();
    dropped.iter().for_each(|(name, _)| drop(headers.remove(name)));
    names
}

/// An address of `X-Forwarded-For`, with or without a port.
fn forwarded_ip(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|t| t.split_once(']')).map(|(ip, _)| ip);
    let ip = bare.unwrap_or(text).parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|a| a.ip()));
    ip.map(|ip: IpAddr| ip.to_canonical())
}

impl Exchange {
    /// The host that was asked for: an absolute target's authority comes first (RFC 9112 §3.2.2).
    pub(super) fn asked_host(&self) -> &str {
        match self.uri.authority() {
            Some(authority) => authority.as_str(),
            None => self.headers.get(header::HOST).and_then(|v| v.to_str().ok()).unwrap_or(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue};

    fn conn(peer: &str) -> Connection {
        Connection {
            peer: Some(peer.parse().unwrap()),
            local: None,
            listener: 0,
            port: 80,
            tls: false,
            text: "".into(),
        }
    }

    fn forwarded(list: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_static(list));
        headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
        headers
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let ten = |ip: Option<IpAddr>| ip.is_some_and(|ip| ip.to_string().starts_with("10."));
        let mut headers = forwarded("6.6.6.6, 1.2.3.4, 10.0.0.2");
        let (client, _) = believe(&conn("10.0.0.1:1"), &mut headers, "HTTP/1.1", ten);
        assert_eq!(
            client.remote.unwrap().ip().to_string(),
            "1.2.3.4",
            "the nearest that is no proxy of ours"
        );
        assert_eq!(client.scheme, "https");
        for (list, client) in [
            ("6.6.6.6, x, 1.2.3.4", "1.2.3.4"),
            ("6.6.6.6, 1.2.3.4:555, 10.0.0.3", "1.2.3.4"),
            ("[2001:db8::1]:5", "2001:db8::1"),
            ("6.6.6.6, unknown", "10.0.0.1"),
        ] {
            let (found, _) = believe(&conn("10.0.0.1:1"), &mut forwarded(list), "HTTP/1.1", ten);
            assert_eq!(found.remote.unwrap().ip().to_string(), client, "{list}");
        }
        let mut headers = forwarded("6.6.6.6");
        let (client, dropped) = believe(&conn("9.9.9.9:1"), &mut headers, "HTTP/1.1", ten);
        assert_eq!(client.remote.unwrap().ip().to_string(), "9.9.9.9");
        assert_eq!(dropped, ["x-forwarded-for", "x-forwarded-proto"]);
        assert!(headers.is_empty(), "what nobody vouches for is dropped: {headers:?}");
    }

    #[test]
    fn claims_end_here_unless_a_trusted_proxy_makes_them() {
        let left = |trusted| {
            let mut headers = HeaderMap::new();
            for name in [
                "x-original-url",
                "x_original_url",
                "true-client-ip",
                "x-forwarded-host",
                "x-forwarded-for",
                "x-http-method-override",
                "x_method_override",
                "x-requested-with",
            ] {
                headers.insert(name, HeaderValue::from_static("1"));
            }
            let dropped = drop_claims(&mut headers, trusted);
            let mut left: Vec<_> = headers.keys().map(ToString::to_string).collect();
            left.sort();
            (left.join(" "), dropped.join(" "))
        };
        let everybody = "x-http-method-override x-requested-with x_method_override";
        assert_eq!(left(false).0, everybody);
        let (left, dropped) = left(true);
        assert_eq!(
            left,
            "true-client-ip x-forwarded-for x-http-method-override x-original-url x-requested-with \
             x_method_override"
        );
        assert_eq!(dropped, "x_original_url", "the others are written anew");
    }
}
