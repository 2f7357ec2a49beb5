//! Ready: the answer is shaped for its client — conditions, ranges, HEAD, `Age`, `Cache-Status` — and handed to
//! the engine with its body.

use super::body::{Body, Source};
use super::coding::{self, Plan};
use super::dress::dress;
use super::exchange::{Exchange, Route};
use super::finish::{Came, Finish};
use super::page::{self, Page};
use super::reply::{Reply, ReplyBody};
use super::{upgrade, upload};
use crate::config::ErrorDetail;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use samovar_cache::{Body as Stored, Entry};
use samovar_policy::Selected;
use samovar_reason::{Explain, Lookup, Store};
use samovar_trace::{Fact, Tier};
use std::sync::Arc;

const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Methods that go on to an origin, which may know more of them or fewer.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");

/// The fifth step: there is an answer.
pub struct Ready {
    pub(super) x: Box<Exchange>,
    pub(super) route: Option<Route>,
    pub(super) reply: Reply,
}

impl Ready {
    pub(super) fn new(x: Box<Exchange>, route: Option<Route>, reply: Reply) -> Ready {
        Ready { x, route, reply }
    }

    /// A page of our own.
    pub(super) fn page(x: Box<Exchange>, route: Option<Route>, page: Page) -> Ready {
        let open = match x.snapshot.settings.server.error_detail {
            ErrorDetail::Always => true,
            ErrorDetail::Never => false,
            // Behind a proxy on this machine the client may be anywhere.
            ErrorDetail::Loopback => {
                x.conn.is_local() && x.client.remote.is_none_or(|a| a.ip().to_canonical().is_loopback())
            }
        };
        let (headers, body) = page::render(&page, &x.headers, x.id, open);
        let reply = Reply::own(page.status, headers, body, page.code);
        Ready { x, route, reply }
    }

    /// The answer to `OPTIONS *` (RFC 9110 §9.3.7).
    pub(super) fn options(x: Box<Exchange>) -> Ready {
        Ready::allowed(x, None, "own")
    }

    /// What is answered here though an origin was to be asked (`samovar_policy::ends_here`).
    pub(super) fn last_recipient(mut x: Box<Exchange>, route: Route, why: Lookup) -> Ready {
        x.note(Fact::Store(Store::Bypassed));
        if why != Lookup::TraceMethod {
            return Ready::allowed(x, Some(route), why.code());
        }
        let (status, detail) = (StatusCode::METHOD_NOT_ALLOWED, String::new());
        let page = Page { status, code: why.code(), text: why.text(), mend: why.mend(), detail };
        let mut ready = Ready::page(x, Some(route), page);
        ready.add_fields(HeaderMap::from_iter([(header::ALLOW, METHODS)]));
        ready
    }

    fn allowed(x: Box<Exchange>, route: Option<Route>, code: &'static str) -> Ready {
        let headers = HeaderMap::from_iter([(header::ALLOW, METHODS)]);
        let reply = Reply::own(StatusCode::NO_CONTENT, headers, Bytes::new(), code);
        Ready { x, route, reply }
    }

    pub(super) fn add_fields(&mut self, fields: HeaderMap) {
        self.reply.headers.extend(fields);
    }

    /// The last step: the head for the engine, and a body that closes the request's record when it ends.
    pub fn respond(self) -> Response<Body> {
        let Ready { mut x, route, reply } = self;
        let Reply {
            mut status,
            mut headers,
            body,
            tier,
            word,
            reason,
            age_ms,
            status_field,
            selectable,
            own_fields,
        } = reply;
        let len = match &body {
            ReplyBody::Entry(entry) => entry.len_bytes(),
            ReplyBody::Source(source) => source.len_bytes(),
        };
        let of = coding::Of { status, body: &body, len, tier, selectable };
        let plan = coding::plan(&mut x, route.as_ref(), &of, &mut headers);
        let selected = match len {
            Some(bytes) if selectable => {
                let selected = samovar_policy::select(&x.method, &x.headers, status, &headers, bytes);
                // Ranges are of the plain body.
                if plan.coding().is_some() && cuts(&selected) { Selected::Whole } else { selected }
            }
            _ => Selected::Whole,
        };
        // What the operator tells caches downstream holds for what is shared here, never for one client's own.
        let shared =
            (tier == Tier::Memory || status_field.stored || status_field.collapsed) && own_fields.is_empty();
        headers.extend(own_fields);
        let source = match plan {
            Plan::Plain => shape(selected, body, len, &mut status, &mut headers, &mut x),
            plan if selected == Selected::Whole => coded(plan, body, &mut headers, &x),
            _ => shape(selected, body, None, &mut status, &mut headers, &mut x),
        };
        if let Some(ms) = age_ms {
            headers.insert(header::AGE, HeaderValue::from(ms / 1_000));
        }
        samovar_policy::strip_surrogate_control(&mut headers);
        if let Some(route) = &route {
            tell_client(&x, route, status, tier, shared, &mut headers);
        }
        dress(&mut x, route.as_ref(), &mut headers);
        if wants_cache_status(&x, route.as_ref()) {
            // Members of caches nearer the origin come first (RFC 9211 §2).
            headers.append(CACHE_STATUS, status_field.to_value());
        }
        upload::end_if_unread(&x, &mut headers);
        let bodiless = x.method == Method::HEAD
            || status == StatusCode::NOT_MODIFIED
            || status == StatusCode::NO_CONTENT;
        let source = if bodiless { Source::Empty } else { source };
        if let Source::Switched(switched) = &source {
            upgrade::announce(&x, switched.protocol(), &mut headers);
        }
        let came = Came { status, tier, word, reason };
        let finish = Finish::new(x, route, came);
        let mut response = Response::new(Body::new(source, finish));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        if status.canonical_reason().is_none() {
            // The engine would write one of its own making.
            response.extensions_mut().insert(hyper::ext::ReasonPhrase::from_static(b""));
        }
        response
    }
}

/// Whether it is about a part.
fn cuts(selected: &Selected) -> bool {
    matches!(selected, Selected::Range { .. } | Selected::Ranges(_) | Selected::Unsatisfiable)
}

/// The whole of it, in a coding.
fn coded(plan: Plan, body: ReplyBody, headers: &mut HeaderMap, x: &Exchange) -> Source {
    let source = coding::body(x, plan, whole(body).opened(), headers);
    if let Some(bytes) = source.len_bytes().filter(|_| !matches!(source, Source::Empty)) {
        set_length(headers, bytes);
    }
    source
}

/// What the conditions or ranges select (RFC 9110 §13, §14): changes head and body accordingly.
fn shape(
    selected: Selected,
    body: ReplyBody,
    len: Option<u64>,
    status: &mut StatusCode,
    headers: &mut HeaderMap,
    x: &mut Exchange,
) -> Source {
    let total = len.unwrap_or(0);
    match selected {
        Selected::Whole => {
            if let Some(bytes) = len
                && !matches!(status.as_u16(), 100..=199 | 204 | 304)
            {
                // An origin's answer to HEAD tells a length although no body comes (RFC 9110 §9.3.2).
                if x.method != Method::HEAD || !matches!(body, ReplyBody::Source(Source::Empty)) {
                    set_length(headers, bytes);
                }
            }
            whole(body)
        }
        Selected::NotModified => {
            x.note(Fact::Selected("not-modified"));
            *status = StatusCode::NOT_MODIFIED;
            for name in [
                header::CONTENT_LENGTH,
                header::CONTENT_TYPE,
                header::CONTENT_ENCODING,
                header::CONTENT_RANGE,
            ] {
                headers.remove(name);
            }
            Source::Empty
        }
        Selected::PreconditionFailed => {
            x.note(Fact::Selected("precondition-failed"));
            *status = StatusCode::PRECONDITION_FAILED;
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(0));
            headers.remove(header::CONTENT_TYPE);
            Source::Empty
        }
        Selected::Unsatisfiable => {
            x.note(Fact::Selected("range-not-satisfiable"));
            *status = StatusCode::RANGE_NOT_SATISFIABLE;
            set(headers, header::CONTENT_RANGE, format!("bytes */{total}"));
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(0));
            headers.remove(header::CONTENT_TYPE);
            Source::Empty
        }
        Selected::Range { start, end } => match cut(body, start, end) {
            Ok(source) => {
                x.note(Fact::Selected("range"));
                *status = StatusCode::PARTIAL_CONTENT;
                set(headers, header::CONTENT_RANGE, format!("bytes {start}-{}/{total}", end - 1));
                headers.insert(header::CONTENT_LENGTH, HeaderValue::from(end - start));
                source
            }
            Err(body) => whole(body),
        },
        Selected::Ranges(ranges) => match multipart(&body, &ranges, total, headers) {
            Some((source, boundary)) => {
                x.note(Fact::Selected("ranges"));
                *status = StatusCode::PARTIAL_CONTENT;
                set(headers, header::CONTENT_TYPE, format!("multipart/byteranges; boundary={boundary}"));
                headers.insert(header::CONTENT_LENGTH, HeaderValue::from(source.len_bytes().unwrap_or(0)));
                source
            }
            None => whole(body),
        },
    }
}

/// Says how long the body is. Most answers say it already.
fn set_length(headers: &mut HeaderMap, bytes: u64) {
    let mut text = itoa::Buffer::new();
    let text = text.format(bytes).as_bytes();
    let mut said = headers.get_all(header::CONTENT_LENGTH).iter();
    if said.next().is_none_or(|value| value.as_bytes() != text) || said.next().is_some() {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

fn whole(body: ReplyBody) -> Source {
    match body {
        ReplyBody::Source(source) => source,
        ReplyBody::Entry(entry) => whole_entry(&entry),
    }
}

fn whole_entry(entry: &Arc<Entry>) -> Source {
    match entry.body() {
        Stored::Own | Stored::Chunks(_) => {
            entry.len_bytes().and_then(|len| Source::slice(entry, 0, len)).unwrap_or(Source::Empty)
        }
        Stored::Growing(growing) => growing.read().map_or(Source::Empty, Source::Growing),
        // Answered by `part`, never as a whole.
        Stored::Parts(_) | Stored::Verbatim(_) => Source::Empty,
        Stored::Extent(of) => extent(Arc::clone(&of.file), of.offset, of.len),
    }
}

/// The bytes `start..end` of a body; the body comes back if they cannot be cut from it.
fn cut(body: ReplyBody, start: u64, end: u64) -> Result<Source, ReplyBody> {
    match body {
        // Read along from its beginning, as it may still be arriving.
        ReplyBody::Source(Source::Growing(reader)) => Ok(Source::GrowingRange(reader, start, end - start)),
        body => slice(&body, start, end).ok_or(body),
    }
}

fn slice(body: &ReplyBody, start: u64, end: u64) -> Option<Source> {
    match body {
        ReplyBody::Entry(entry) => match entry.body() {
            Stored::Own | Stored::Chunks(_) => Source::slice(entry, start, end),
            Stored::Extent(of) => Some(extent(Arc::clone(&of.file), of.offset + start, end - start)),
            Stored::Growing(_) | Stored::Parts(_) | Stored::Verbatim(_) => None,
        },
        ReplyBody::Source(Source::File { file, offset, .. }) => {
            Some(extent(Arc::clone(file), offset + start, end - start))
        }
        ReplyBody::Source(Source::Parts(parts, _)) => {
            let mut at = 0u64;
            let mut out = std::collections::VecDeque::new();
            for part in parts {
                let part_end = at + part.len() as u64;
                let (from, to) = (start.max(at), end.min(part_end));
                if from < to {
                    out.push_back(part.slice((from - at) as usize..(to - at) as usize));
                }
                at = part_end;
            }
            Some(Source::Parts(out, end - start))
        }
        ReplyBody::Source(_) => None,
    }
}

fn extent(file: Arc<std::fs::File>, offset: u64, len: u64) -> Source {
    Source::Stream(samovar_origin::file_stream(file, offset, len), Some(len))
}

/// Several ranges as `multipart/byteranges` (RFC 9110 §14.6), out of bodies in memory.
fn multipart(
    body: &ReplyBody,
    ranges: &[(u64, u64)],
    total: u64,
    headers: &HeaderMap,
) -> Option<(Source, String)> {
    let boundary = format!("samovar-{:016x}", crate::clock::mono_us());
    let media =
        headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("application/octet-stream");
    let mut parts = std::collections::VecDeque::new();
    for (start, end) in ranges {
        let Some(Source::Parts(piece, _)) = slice(body, *start, *end) else { return None };
        let head = format!(
            "\r\n--{boundary}\r\nContent-Type: {media}\r\nContent-Range: bytes {start}-{}/{total}\r\n\r\n",
            end - 1
        );
        parts.push_back(Bytes::from(head));
        parts.extend(piece);
    }
    parts.push_back(Bytes::from(format!("\r\n--{boundary}--\r\n")));
    let len = parts.iter().map(|p| p.len() as u64).sum();
    Some((Source::Parts(parts, len), boundary))
}

/// What the client and caches behind it are told: the fields the rule varies by, and the rule's own
/// Cache-Control.
fn tell_client(
    x: &Exchange,
    route: &Route,
    status: StatusCode,
    tier: Tier,
    shared: bool,
    headers: &mut HeaderMap,
) {
    let Some(rule) = route.rule_in(&x.snapshot) else { return };
    if tier == Tier::Own {
        return;
    }
    // Only here: what is dropped still decides what is stored, and for whom.
    for name in &rule.wishes.drop_fields {
        headers.remove(name);
    }
    add_vary(headers, rule.vary_headers.iter().map(|v| &v.name));
    if let Some(value) = &rule.wishes.client_cache_control
        && shared
        && (status.is_success() || status == StatusCode::NOT_MODIFIED)
    {
        headers.insert(header::CACHE_CONTROL, value.clone());
        headers.remove(header::EXPIRES);
    }
}

/// Names the fields in `Vary` that are not named yet.
pub(super) fn add_vary<'n>(headers: &mut HeaderMap, names: impl Iterator<Item = &'n HeaderName>) {
    for name in names {
        let named =
            headers.get_all(header::VARY).iter().filter_map(|v| v.to_str().ok()).any(|v| {
                v.split(',').any(|n| n.trim() == "*" || n.trim().eq_ignore_ascii_case(name.as_str()))
            });
        if !named {
            headers.append(header::VARY, HeaderValue::from(name.clone()));
        }
    }
}

fn wants_cache_status(x: &Exchange, route: Option<&Route>) -> bool {
    route.and_then(|r| r.site_in(&x.snapshot)).is_none_or(|site| site.cache_status)
}
