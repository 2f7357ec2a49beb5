//! Ready: whether the answer goes out compressed, in which coding, and out of what: a form that is kept beside the stored
//! answer, or an encoder on the way.
//!
//! What is worth it and what the client gets is said by `rules`, what becomes of entity tags by `policy::coding`. A form is
//! begun with the first request that would have got it, out of the way of all serving; until it is there the answer is
//! compressed while it is sent, as it is for what is not stored.

use super::body::Source;
use super::coded::Coded;
use super::exchange::{Exchange, Route};
use super::page::Page;
use super::reply::ReplyBody;
use super::respond::add_vary;
use crate::compress::{Kept, Order, Row, Stream};
use crate::state::Snapshot;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use samovar_cache::{Body as Stored, Entry, Form};
use samovar_coding::Encoder;
use samovar_policy::Coding;
use samovar_reason::{Coding as Why, Explain};
use samovar_rules::CodingWish;
use samovar_trace::{Fact, Tier};
use std::sync::Arc;

/// How an answer goes out.
pub(super) enum Plan {
    /// As it is.
    Plain,
    /// In a form that is here; how many bytes the plain body has.
    Form(Coding, Bytes, u64),
    /// Compressed while it is sent.
    OnTheFly(Coding, Stream),
    /// In a coding that the client holds already: there will be no body.
    Held(Coding),
}

impl Plan {
    /// The coding.
    pub(super) fn coding(&self) -> Option<Coding> {
        match self {
            Plan::Plain => None,
            Plan::Form(coding, ..) | Plan::OnTheFly(coding, _) | Plan::Held(coding) => Some(*coding),
        }
    }
}

/// The answer as it came from wherever it came from.
pub(super) struct Of<'a> {
    pub(super) status: StatusCode,
    pub(super) body: &'a ReplyBody,
    pub(super) len: Option<u64>,
    pub(super) tier: Tier,
    /// Its conditions and ranges are ours to apply.
    pub(super) selectable: bool,
}

/// The wish that holds for a request.
pub(super) fn wish_of(snapshot: &Snapshot, route: &Route) -> Option<Arc<CodingWish>> {
    route.rule_in(snapshot)?.coding.clone()
}

/// Whether the rule requires a coding and the client takes none of them; the wish.
pub fn refused(snapshot: &Snapshot, route: &Route, request: &HeaderMap) -> Option<Arc<CodingWish>> {
    wish_of(snapshot, route).filter(|wish| wish.refuses(request))
}

/// Decides, notes why, and makes the fields those of what goes out.
pub(super) fn plan(x: &mut Exchange, route: Option<&Route>, of: &Of<'_>, headers: &mut HeaderMap) -> Plan {
    if of.tier == Tier::Own {
        return Plan::Plain;
    }
    let Some(wish) = route.and_then(|route| wish_of(&x.snapshot, route)) else { return Plan::Plain };
    let wish = &*wish;
    if of.status == StatusCode::NOT_MODIFIED {
        confirmed_by_origin(x, wish, headers);
        return Plan::Plain;
    }
    if let Err(why) = wish.worth(of.status, headers, of.len) {
        if why == Why::ByOrigin || x.headers.contains_key(header::ACCEPT_ENCODING) {
            x.note(Fact::Coding(why, None));
        }
        return Plan::Plain;
    }
    add_vary(headers, [header::ACCEPT_ENCODING].iter());
    match choose(x, wish, of, headers) {
        Ok((why, plan)) => {
            let coding = plan.coding();
            x.note(Fact::Coding(why, coding.map(Coding::name)));
            if let Some(coding) = coding {
                samovar_policy::coded_fields(headers, coding);
            }
            plan
        }
        Err(Some(why)) => {
            x.note(Fact::Coding(why, None));
            Plan::Plain
        }
        Err(None) => Plan::Plain,
    }
}

fn choose(
    x: &mut Exchange,
    wish: &CodingWish,
    of: &Of<'_>,
    headers: &HeaderMap,
) -> Result<(Why, Plan), Option<Why>> {
    let selects = of.selectable && (x.method == Method::GET || x.method == Method::HEAD);
    if selects && x.headers.contains_key(header::IF_MATCH) {
        // Compared strongly, with the tag of the plain answer.
        return Err(None);
    }
    let chosen = wish.chosen(&x.headers);
    let form = match (of.body, chosen) {
        (ReplyBody::Entry(entry), Some(coding)) => Some(form(x, entry, coding)),
        _ => None,
    };
    let effective = chosen.filter(|_| !matches!(form, Some(Form::Worthless)));
    let held = if selects { held(x, wish, headers, effective) } else { None };
    match held {
        Some(Some(coding)) => return Ok((Why::NotModified, Plan::Held(coding))),
        // It holds the plain one, which it may have.
        Some(None) => return Err(None),
        None => {}
    }
    let Some(coding) = chosen else {
        return Err(x.headers.contains_key(header::ACCEPT_ENCODING).then_some(Why::NotAccepted));
    };
    // For any other method the field means nothing (RFC 9110 §14.2).
    let ranged = of.selectable && x.method == Method::GET && x.headers.contains_key(header::RANGE);
    if ranged && wish.takes(&x.headers, None) {
        return Err(Some(Why::RangeNotCoded));
    }
    match form {
        Some(Form::Made(bytes)) => {
            return Ok((Why::Stored, Plan::Form(coding, bytes, of.len.unwrap_or(0))));
        }
        Some(Form::Worthless) => return Err(Some(Why::NotWorth)),
        Some(Form::Unmade | Form::Making) | None => {}
    }
    let coding = wish.chosen_on_the_fly(&x.headers).unwrap_or(coding);
    let settings = &x.snapshot.settings.compression;
    match x.core.load.begin(settings.yield_at_percent, settings.streams_max) {
        Some(stream) => Ok((Why::OnTheFly, Plan::OnTheFly(coding, stream))),
        None => Err(Some(Why::Busy)),
    }
}

/// What the client holds, by its If-None-Match: what it would get, if that is there; else whatever else it may have.
fn held(
    x: &Exchange,
    wish: &CodingWish,
    headers: &HeaderMap,
    effective: Option<Coding>,
) -> Option<Option<Coding>> {
    let find =
        |accepts: &dyn Fn(Option<Coding>) -> bool| samovar_policy::coding_held(&x.headers, headers, accepts);
    find(&|coding| coding == effective).or_else(|| find(&|coding| wish.takes(&x.headers, coding)))
}

/// The form of a stored body. If nobody has begun it, it is ordered.
pub(super) fn form(x: &Exchange, entry: &Arc<Entry>, coding: Coding) -> Form {
    let form = entry.form(coding.place());
    if matches!(form, Form::Unmade)
        && let Some(making) = entry.make_form(coding.place())
    {
        let level = x.snapshot.settings.compression.level(coding);
        let order = Order { entry: Arc::clone(entry), making, coding, level };
        x.core.shared.compress.order(order);
    }
    form
}

/// A 304 of the origin's says what it says of its own tag; the client has one of ours (RFC 9111 §4.3.4).
fn confirmed_by_origin(x: &Exchange, wish: &CodingWish, headers: &mut HeaderMap) {
    let held = samovar_policy::coding_held(&x.headers, headers, |coding| wish.takes(&x.headers, coding));
    if let Some(Some(coding)) = held {
        samovar_policy::coded_fields(headers, coding);
        headers.remove(header::CONTENT_ENCODING);
        add_vary(headers, [header::ACCEPT_ENCODING].iter());
    }
}

/// The body of what was planned, once it is known that the whole of it is sent.
pub(super) fn body(x: &Exchange, plan: Plan, plain: Source, headers: &HeaderMap) -> Source {
    let count = |coding, kept| x.core.counters.coded.row(headers, coding, kept);
    match plan {
        Plan::Plain | Plan::Held(_) => plain,
        Plan::Form(coding, bytes, plain_bytes) => {
            if x.method != Method::HEAD {
                count(coding, Kept::Stored).add(plain_bytes, bytes.len() as u64);
            }
            Source::whole(bytes)
        }
        // Nothing is sent of it.
        Plan::OnTheFly(..) if x.method == Method::HEAD => Source::Empty,
        Plan::OnTheFly(coding, stream) => {
            let level = x.snapshot.settings.compression.level_on_the_fly(coding);
            match Encoder::new(coding, level, None) {
                Ok(encoder) => {
                    let room = samovar_coding::memory_bytes(coding, level);
                    let room = x.core.shared.cache.budget().charge(room);
                    let row = count(coding, Kept::OnTheFly);
                    Source::Coded(Box::new(Coded::new(plain, encoder, row, stream, room)))
                }
                Err(error) => Source::Failed(format!("compress the answer: {error}").into()),
            }
        }
    }
}

/// What a prepared answer is made of, for the coding that this request gets.
pub(super) struct Prepares {
    pub(super) body: Vec<Bytes>,
    pub(super) row: Option<(Arc<Row>, u64)>,
    /// The same client may hold it in another form.
    pub(super) one_form: bool,
}

/// The body of a hot answer and its fields; `None` while its form is still being made.
pub(super) fn prepare(
    x: &Exchange,
    wish: &CodingWish,
    entry: &Arc<Entry>,
    headers: &mut HeaderMap,
) -> Option<Prepares> {
    let plain = |entry: &Arc<Entry>, one_form| Some(Prepares { body: entry.whole()?, row: None, one_form });
    if wish.worth(entry.status(), headers, entry.len_bytes()).is_err() {
        return plain(entry, false);
    }
    add_vary(headers, [header::ACCEPT_ENCODING].iter());
    let Some(coding) = wish.chosen(&x.headers) else {
        return plain(entry, x.headers.contains_key(header::ACCEPT_ENCODING));
    };
    match form(x, entry, coding) {
        Form::Worthless => plain(entry, true),
        Form::Unmade | Form::Making => None,
        Form::Made(bytes) => {
            let row = x.core.counters.coded.row(headers, coding, Kept::Stored);
            samovar_policy::coded_fields(headers, coding);
            Some(Prepares {
                body: vec![bytes],
                row: Some((row, entry.len_bytes().unwrap_or(0))),
                one_form: true,
            })
        }
    }
}

/// What would be done with a stored answer, for `explain`: nothing is begun.
pub fn foreseen(snapshot: &Snapshot, route: &Route, request: &HeaderMap, entry: &Arc<Entry>) -> Option<Fact> {
    let wish = wish_of(snapshot, route)?;
    if let Err(why) = wish.worth(entry.status(), &entry.headers(), entry.len_bytes()) {
        return Some(Fact::Coding(why, None));
    }
    let Some(coding) = wish.chosen(request) else { return Some(Fact::Coding(Why::NotAccepted, None)) };
    let whole = matches!(entry.body(), Stored::Own | Stored::Chunks(_));
    Some(match entry.form(coding.place()) {
        Form::Worthless if whole => Fact::Coding(Why::NotWorth, None),
        Form::Made(_) => Fact::Coding(Why::Stored, Some(coding.name())),
        _ => Fact::Coding(Why::OnTheFly, wish.chosen_on_the_fly(request).map(Coding::name)),
    })
}

/// Whether what is stored came in a coding that this client does not take.
pub fn unfit(snapshot: &Snapshot, route: &Route, request: &HeaderMap, entry: &Entry) -> bool {
    let Some(rule) = route.rule_in(snapshot) else { return false };
    let Some(coding) = rule.coding.as_ref().and_then(|_| entry.field(&header::CONTENT_ENCODING)) else {
        return false;
    };
    let came = HeaderMap::from_iter([(header::CONTENT_ENCODING, coding)]);
    !samovar_rules::takes_as_it_came(request, &came)
}

/// The page for a client that accepts none of what the rule requires.
pub(super) fn refusal(wish: &CodingWish) -> Page {
    let why = Why::Required;
    let names: Vec<&str> = wish.require.iter().map(|coding| coding.name()).collect();
    Page {
        status: StatusCode::NOT_ACCEPTABLE,
        code: why.code(),
        text: why.text(),
        mend: why.mend(),
        detail: format!("one of: {}", names.join(", ")),
    }
}
