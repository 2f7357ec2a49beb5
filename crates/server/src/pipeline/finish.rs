//! Done: the record is closed, counted, kept and logged.

use super::exchange::{Exchange, Route};
use super::promote::Copy;
use crate::clock;
use crate::config::LogFormat;
use crate::state::Core;
use http::{HeaderMap, Method, StatusCode, header};
use samovar_hot::{HotHit, Share};
use samovar_reason::{Explain, Lookup, Upgrade, Upstream};
use samovar_trace::{Fact, Fields, Record, Tier};
use std::net::SocketAddr;
use std::sync::Arc;

/// Where an answer came from, for the record.
pub struct Came {
    /// Status sent.
    pub status: StatusCode,
    /// Where from.
    pub tier: Tier,
    /// One word for logs.
    pub word: &'static str,
    /// The code of the reason that decided.
    pub reason: &'static str,
}

/// Closes a request's record when it is dropped: with the last byte of the body, or when the client left.
pub struct Finish {
    x: Option<Box<Exchange>>,
    route: Option<Route>,
    came: Came,
    first_byte_us: u64,
    sent_bytes: u64,
    cut: bool,
    /// Its body was refused before there was an answer.
    refused: bool,
}

impl Finish {
    /// The head is ready.
    pub fn new(mut x: Box<Exchange>, route: Option<Route>, came: Came) -> Finish {
        x.open = false;
        let refused = x.handle.as_ref().is_some_and(|client| client.rejected().is_some());
        let first_byte_us = clock::mono_us().saturating_sub(x.at_us);
        Finish { x: Some(x), route, came, first_byte_us, sent_bytes: 0, cut: false, refused }
    }

    /// Bytes went out.
    pub fn sent(&mut self, bytes: u64) {
        self.sent_bytes += bytes;
    }

    /// Bytes that went out so far.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// The connection changed to another protocol, which is over: why, and how many bytes went up and down.
    pub fn upgraded(&mut self, why: Upgrade, up_bytes: u64, down_bytes: u64) {
        self.sent_bytes += down_bytes;
        if let Some(x) = &mut self.x {
            let detail = format!("{up_bytes} bytes from the client, {down_bytes} from the upstream");
            x.facts.push(Fact::Upgrade(why, detail));
        }
    }

    /// The client did not take all of it: it left, or was left for taking nothing.
    pub fn not_taken(&mut self) {
        let rejected = self.x.as_ref().and_then(|x| x.handle.as_ref()).and_then(|client| client.rejected());
        match (rejected, &mut self.x) {
            (Some(why), Some(x)) => {
                x.facts.push(Fact::Reject(why));
                self.came.reason = why.code();
                self.cut = true;
            }
            _ => self.cut(Upstream::ClientGone, format!("after {} bytes of the answer", self.sent_bytes)),
        }
    }

    /// The body broke off, for whoever read along as for whoever began the fetch.
    pub fn cut(&mut self, why: Upstream, detail: String) {
        self.cut = true;
        self.came.reason = why.code();
        if let Some(x) = &mut self.x {
            x.facts.push(Fact::Upstream(why, detail));
        }
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        let Some(mut x) = self.x.take() else { return };
        if self.refused {
            refused(&mut x, self.route.take());
            return;
        }
        let core = std::rc::Rc::clone(&x.core);
        core.counters.answered(
            self.came.word,
            self.came.status.as_u16(),
            self.sent_bytes,
            self.first_byte_us,
        );
        if self.cut {
            core.counters.cut.add(1);
        }
        let format = x.snapshot.settings.log.format;
        let record = record(&mut x, self.route.take(), &self.came, self.first_byte_us, self.sent_bytes);
        log(&core, &record, format);
        core.shared.keep(core.index, Arc::new(record));
    }
}

/// Whether the request's body was refused below the engine, and answered there: then this is its record, and the engine's
/// own answer went nowhere. It is counted where it was refused.
fn refused(x: &mut Exchange, route: Option<Route>) -> bool {
    let Some(why) = x.handle.as_ref().and_then(|client| client.rejected()) else { return false };
    let came =
        Came { status: samovar_hot::status(why), tier: Tier::Own, word: "rejected", reason: why.code() };
    x.facts.push(Fact::Reject(why));
    let (core, format) = (std::rc::Rc::clone(&x.core), x.snapshot.settings.log.format);
    let record = record(x, route, &came, 0, 0);
    log(&core, &record, format);
    core.shared.keep(core.index, Arc::new(record));
    true
}

/// What nginx calls a request whose client left; there is no answer that could have a status.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// The client left, and no answer had begun.
pub(super) fn client_gone(x: &mut Exchange) {
    if refused(x, None) {
        return;
    }
    let status = StatusCode::from_u16(CLIENT_CLOSED_REQUEST).unwrap_or(StatusCode::BAD_REQUEST);
    let reason = Upstream::ClientGone;
    let came = Came { status, tier: Tier::Own, word: "gone", reason: reason.code() };
    x.facts.push(Fact::Upstream(reason, "before an answer began".to_owned()));
    let (core, format) = (std::rc::Rc::clone(&x.core), x.snapshot.settings.log.format);
    core.counters.gone.add(1);
    let record = record(x, None, &came, 0, 0);
    log(&core, &record, format);
    core.shared.keep(core.index, Arc::new(record));
}

fn record(
    x: &mut Exchange,
    route: Option<Route>,
    came: &Came,
    first_byte_us: u64,
    body_bytes: u64,
) -> Record {
    let url = match &route {
        Some(route) => {
            let (before, query) = route.query.as_ref().map_or(("", ""), |query| ("?", query.as_str()));
            [x.client.scheme, "://", &route.host, &route.path, before, query].concat()
        }
        None => format!("{}://{}{}", x.client.scheme, x.asked_host(), x.uri),
    };
    let version = x.version_text();
    let mut facts = std::mem::take(&mut x.facts);
    facts.append(&mut x.late.borrow_mut());
    let field = |name| text_of(&x.headers, &name);
    Record {
        id: x.id,
        at_wall_ms: x.at.wall_ms,
        client: match x.client.remote {
            // The connection has its text already.
            Some(remote) if Some(remote) != x.conn.peer => remote.ip().to_string().into(),
            _ => Arc::clone(&x.conn.text),
        },
        method: match x.method {
            Method::GET => "GET".into(),
            ref other => other.to_string().into(),
        },
        url: samovar_trace::redact_url(&url),
        version,
        status: came.status.as_u16(),
        body_bytes,
        tier: came.tier,
        cache: came.word,
        reason: came.reason,
        first_byte_us,
        total_us: clock::mono_us().saturating_sub(x.at_us),
        referer: field(header::REFERER),
        user_agent: field(header::USER_AGENT),
        // A hit's request says nothing that its key does not; for the rest every field may have mattered.
        request_fields: if came.tier == Tier::Memory { Fields::default() } else { fields(&x.headers) },
        facts,
    }
}

/// Keeps a record of a refresh that no request waited for: what came of it is seen nowhere else.
pub fn record_refresh(core: &Core, at: samovar_policy::Now, facts: Vec<Fact>) {
    let key = facts.iter().find_map(|fact| match fact {
        Fact::Key(key) => Some(&**key),
        _ => None,
    });
    let url = key.and_then(|key| key.split('\n').next()).unwrap_or_default().to_owned();
    let status = facts.iter().rev().find_map(|fact| match fact {
        Fact::Attempt { status, .. } => Some(*status),
        _ => None,
    });
    let reason = facts.iter().rev().find_map(|fact| match fact {
        Fact::Store(reason) => Some(reason.code()),
        Fact::Upstream(reason, _) => Some(reason.code()),
        _ => None,
    });
    let took_us = clock::mono_ms().saturating_sub(at.mono_ms) * 1_000;
    core.shared.keep(
        core.index,
        Arc::new(Record {
            id: core.shared.next_id(),
            at_wall_ms: at.wall_ms,
            client: "refresh".into(),
            method: "GET".into(),
            url: samovar_trace::redact_url(&url),
            version: "HTTP/1.1",
            status: status.unwrap_or_default(),
            body_bytes: 0,
            tier: Tier::Origin,
            cache: "refresh",
            reason: reason.unwrap_or_default(),
            first_byte_us: took_us,
            total_us: took_us,
            referer: None,
            user_agent: None,
            facts,
            request_fields: Fields::default(),
        }),
    );
}

fn text_of(headers: &HeaderMap, name: &header::HeaderName) -> Option<String> {
    headers.get(name).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned())
}

fn fields(headers: &HeaderMap) -> Fields {
    let bytes = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 2).sum();
    let mut fields = Fields::with_capacity(bytes);
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        fields.push(name.as_str(), &samovar_trace::redact(name.as_str(), &value));
    }
    fields
}

fn log(core: &Core, record: &Record, format: LogFormat) {
    if !core.shared.access_log.is_on() {
        return;
    }
    core.shared.access_log.line(core.index, |out| line(record, format, out));
}

/// One line of the access log.
pub fn line(record: &Record, format: LogFormat, out: &mut Vec<u8>) {
    match format {
        LogFormat::Combined => samovar_trace::combined(record, out),
        LogFormat::Json => samovar_trace::json_line(record, out),
    }
}

/// One hot answer in this many is kept as a record; all are counted, and logged if there is a log.
const HOT_SAMPLE: u64 = 64;

/// What is told of a hot answer: as the engine would, of where it came from and what of it was sent.
fn hot_facts(key: &str, share: Share) -> Vec<Fact> {
    let mut facts = vec![Fact::Key(key.into()), Fact::Lookup(Lookup::FreshHot, None, None)];
    match share {
        Share::Whole | Share::Head => {}
        Share::NotModified => facts.push(Fact::Selected("not-modified")),
        Share::Range { .. } => facts.push(Fact::Selected("range")),
    }
    facts
}

/// Counts a hot answer, logs it, and keeps a record of some.
pub fn record_hot(core: &Core, peer: Option<SocketAddr>, hit: &HotHit<'_>) {
    let counters = &core.counters;
    counters.hot.add(1);
    counters.hot_bytes.add(hit.body_bytes);
    if hit.share == Share::NotModified {
        counters.hot_not_modified.add(1);
    }
    let copy = || hit.prepared.info().downcast_ref::<Copy>();
    if hit.prepared.is_coded()
        && hit.share == Share::Whole
        && let Some((row, plain_bytes)) = copy().and_then(|copy| copy.coded.as_ref())
    {
        row.add(*plain_bytes, hit.body_bytes);
    }
    let logged = core.shared.access_log.is_on();
    if !logged && counters.hot.get() % HOT_SAMPLE != 1 {
        return;
    }
    if let Some(copy) = copy() {
        copy.hot.entry().add_hits(if logged { 1 } else { HOT_SAMPLE });
    }
    let key = hit.prepared.key();
    let text = |value: Option<&[u8]>| value.map(|v| String::from_utf8_lossy(v).into_owned());
    let took_us = clock::mono_us().saturating_sub(hit.now_ns / 1_000);
    let record = Record {
        id: core.shared.next_id(),
        at_wall_ms: clock::wall_ms(),
        client: peer.map_or_else(|| "unix:".into(), |a| a.ip().to_canonical().to_string().into()),
        method: if hit.head.method == "GET" { "GET" } else { "HEAD" }.into(),
        url: samovar_trace::redact_url(key.split('\n').next().unwrap_or(key)),
        version: if hit.head.minor == 0 { "HTTP/1.0" } else { "HTTP/1.1" },
        status: hit.share.status().as_u16(),
        body_bytes: hit.body_bytes,
        tier: Tier::Hot,
        cache: "hot",
        reason: Lookup::FreshHot.code(),
        first_byte_us: took_us,
        total_us: took_us,
        referer: text(hit.head.referer()),
        user_agent: text(hit.head.user_agent()),
        facts: hot_facts(key, hit.share),
        request_fields: Fields::default(),
    };
    if logged {
        log(core, &record, core.shared.snapshot().settings.log.format);
    }
    if counters.hot.get() % HOT_SAMPLE == 1 {
        core.shared.keep(core.index, Arc::new(record));
    }
}
