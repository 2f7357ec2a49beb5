//! Admitted: the rule let the request in — by address, by rate, by name and password — and did not send it elsewhere. So
//! did every rule that holds beside it, since the path may be read as theirs: each that differs is asked.
//!
//! In this order, so that what is cheap to refuse is refused first, and a flood costs no passwords. Before the cache, so
//! that answers from it count and are protected like any other. Not here: the verdicts themselves (`rules`, `state`).

use super::exchange::Exchange;
use super::page::Page;
use super::reply::Reply;
use super::respond::Ready;
use super::route::Routed;
use super::vars::vars;
use crate::state::Checked;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use samovar_reason::{Explain, Gate};
use samovar_rules::{Acts, BasicAuth, Counted, Credentials, Rate, Redirect};
use samovar_trace::Fact;
use std::net::IpAddr;
use std::sync::Arc;

/// The step after `Routed`.
pub(super) struct Admitted(pub(super) Routed);

/// A refusal.
struct No {
    why: Gate,
    status: StatusCode,
    detail: String,
    fields: HeaderMap,
}

impl No {
    fn new(why: Gate, status: StatusCode, detail: impl Into<String>) -> No {
        No { why, status, detail: detail.into(), fields: HeaderMap::new() }
    }

    fn field(mut self, name: header::HeaderName, value: HeaderValue) -> No {
        self.fields.insert(name, value);
        self
    }
}

/// A rule that looks at requests, and what it does.
type Gating = (Arc<str>, Arc<Acts>);

/// Asks the rule, and those that hold beside it. `Err` is an answer already.
pub(super) async fn admit(routed: Routed) -> Result<Admitted, Box<Ready>> {
    let Routed { x, route, .. } = &routed;
    let rules = route.rule_in(&x.snapshot).into_iter().chain(route.held_in(&x.snapshot));
    let gating = rules.filter_map(|rule| {
        let acts = rule.acts.as_ref().filter(|acts| acts.gates())?;
        Some((Arc::clone(&rule.id), Arc::clone(acts)))
    });
    let gating: Vec<Gating> = gating.collect();
    match gating.is_empty() {
        true => Ok(Admitted(routed)),
        // Boxed, or all requests would carry room for it.
        false => Box::pin(ask(routed, gating)).await,
    }
}

async fn ask(mut routed: Routed, gating: Vec<Gating>) -> Result<Admitted, Box<Ready>> {
    if let Err(no) = let_in(&mut routed, &gating).await {
        return Err(Box::new(refused(routed, no)));
    }
    let protected = gating.iter().any(|(_, acts)| acts.protects());
    let own = routed.route.rule_in(&routed.x.snapshot).and_then(|rule| rule.acts.clone());
    match own.as_ref().and_then(|acts| Some((acts, acts.redirect.as_ref()?))) {
        Some((acts, redirect)) => Err(Box::new(sent_elsewhere(routed, acts, redirect, protected))),
        None => Ok(Admitted(routed)),
    }
}

/// Each that differs, once.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

async fn let_in(routed: &mut Routed, gating: &[Gating]) -> Result<(), No> {
    let x = &mut routed.x;
    let client = client_of(x);
    for access in distinct(gating.iter().filter_map(|(_, acts)| acts.access.as_ref())) {
        if !access.lets_in(client) {
            let detail = format!("{}; the rule says: {access}", shown(client));
            return Err(No::new(Gate::AddressDenied, StatusCode::FORBIDDEN, detail));
        }
        x.note(Fact::Gate(Gate::AddressAllowed, shown(client)));
    }
    let rates = gating.iter().filter_map(|(id, acts)| Some((&**id, acts.rate.as_ref()?)));
    // A site's rate is one count, whichever of its rules it comes by.
    for (rule, rate) in distinct(rates.map(|(id, rate)| ((!rate.of_site).then_some(id), rate))) {
        let whom = rate.by.whom(client, routed.route.query.as_deref(), &x.headers);
        let snapshot = Arc::clone(&x.snapshot);
        let site = routed.route.site_in(&snapshot).map_or("", |site| &site.name);
        match x.core.shared.gates.count(site, rule, rate, &whom, x.at_us) {
            Counted::Within(left) => {
                x.note(Fact::Gate(Gate::WithinRate, format!("{left} more at once; {}", told(rate))));
            }
            Counted::TooMany(ms) => {
                let no = No::new(Gate::RateLimited, StatusCode::TOO_MANY_REQUESTS, told(rate));
                return Err(no.field(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1_000).max(1))));
            }
        }
    }
    let users = distinct(gating.iter().filter_map(|(_, acts)| acts.users.as_ref()));
    let site = routed.route.site_in(&x.snapshot).map_or_else(|| "".into(), |site| Arc::clone(&site.name));
    for users in &users {
        signed_in(x, &site, users, client).await?;
    }
    if users.iter().any(|users| !users.pass) {
        // It was for us: the origin does not see it, and HTTP's rules about it are about credentials for the origin.
        x.headers.remove(header::AUTHORIZATION);
    }
    Ok(())
}

async fn signed_in(
    x: &mut Exchange,
    site: &Arc<str>,
    users: &BasicAuth,
    client: Option<IpAddr>,
) -> Result<(), No> {
    let challenge = |why, detail: &str| {
        No::new(why, StatusCode::UNAUTHORIZED, detail)
            .field(header::WWW_AUTHENTICATE, users.challenge.clone())
    };
    let mut fields = x.headers.get_all(header::AUTHORIZATION).iter();
    let field = match (fields.next(), fields.next()) {
        (Some(field), None) => field,
        (None, _) => return Err(challenge(Gate::CredentialsMissing, &users.realm)),
        (Some(_), Some(_)) => {
            return Err(challenge(Gate::CredentialsWrong, "there are two Authorization fields"));
        }
    };
    let Some(credentials) = Credentials::of(field) else {
        return Err(challenge(Gate::CredentialsWrong, "these are no Basic credentials (RFC 7617)"));
    };
    let name = credentials.name.clone();
    match x.core.shared.gates.doorkeeper.check(site, &users.users, credentials, client).await {
        Checked::Right => {}
        Checked::Wrong => return Err(challenge(Gate::CredentialsWrong, &users.realm)),
        Checked::Unreadable => {
            let detail = users.users.display().to_string();
            return Err(No::new(Gate::UsersUnreadable, StatusCode::INTERNAL_SERVER_ERROR, detail));
        }
        Checked::Busy => {
            let no = No::new(Gate::AuthBusy, StatusCode::SERVICE_UNAVAILABLE, "");
            return Err(no.field(header::RETRY_AFTER, HeaderValue::from(1)));
        }
    }
    x.note(Fact::Gate(Gate::SignedIn, name.clone()));
    x.user = Some(name.into());
    Ok(())
}

fn refused(routed: Routed, no: No) -> Ready {
    let Routed { mut x, route, .. } = routed;
    x.core.counters.by_gate.add(no.why);
    x.note(Fact::Gate(no.why, no.detail.clone()));
    let (code, text, mend) = (no.why.code(), no.why.text(), no.why.mend());
    let page = Page { status: no.status, code, text, mend, detail: no.detail };
    let mut ready = Ready::page(x, Some(route), page);
    ready.add_fields(no.fields);
    ready
}

fn sent_elsewhere(routed: Routed, acts: &Acts, redirect: &Redirect, protected: bool) -> Ready {
    let Routed { mut x, route, .. } = routed;
    let mut headers = HeaderMap::new();
    let location = redirect.location(&vars(&x, &route, acts));
    let shown = location.as_ref().and_then(|to| to.to_str().ok()).unwrap_or("").to_owned();
    headers.extend(location.map(|to| (header::LOCATION, to)));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if protected {
        // Caches behind us would send it to those who are not let in.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private"));
    }
    let body = Bytes::from(format!("It is at {shown}\n"));
    x.note(Fact::Gate(Gate::Redirected, samovar_trace::redact_url(&shown)));
    let reply = Reply::own(redirect.status, headers, body, Gate::Redirected.code());
    Ready::new(x, Some(route), reply)
}

fn client_of(x: &Exchange) -> Option<IpAddr> {
    x.client.remote.map(|address| address.ip().to_canonical())
}

fn shown(client: Option<IpAddr>) -> String {
    client.map_or_else(|| "unix:".to_owned(), |ip| ip.to_string())
}

/// A rate in words.
fn told(rate: &Rate) -> String {
    let per = crate::config::show_duration(rate.per_ms);
    let of = if rate.of_site { " for the whole site" } else { "" };
    format!("{} per {per}, {} at once, by {}{of}", rate.requests, rate.burst, rate.by)
}

/// What will be asked of a request, for `explain`, which does not know who will send it.
pub fn asked(acts: &Acts) -> Vec<Fact> {
    let mut facts = Vec::new();
    facts.extend(acts.access.as_ref().map(|access| Fact::Gate(Gate::ChecksAddress, access.to_string())));
    facts.extend(acts.rate.as_ref().map(|rate| Fact::Gate(Gate::ChecksRate, told(rate))));
    facts.extend(acts.users.as_ref().map(|users| {
        Fact::Gate(Gate::ChecksUsers, format!("{}, users of {}", users.realm, users.users.display()))
    }));
    facts
}
