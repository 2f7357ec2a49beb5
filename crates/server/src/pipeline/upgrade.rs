//! A request for another protocol (`Upgrade`, RFC 9110 §7.8): whether it is passed on, and what the client is told.
//!
//! Not here: the rule of HTTP (`policy::upgrade_to_ask_for`), the bytes afterwards (`front::tunnel`).

use super::exchange::{Exchange, Route};
use crate::state::{Snapshot, Target};
use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Method, Version};
use samovar_origin::Answer;
use samovar_reason::{Lookup, Upgrade};
use samovar_trace::Fact;

/// The protocols that the upstream is asked for on behalf of this request, if any; the decision is noted.
pub(super) fn ask(x: &mut Exchange, route: &Route, why: Lookup) -> Option<HeaderValue> {
    if !matches!(why, Lookup::RequestUpgrade | Lookup::RequestBody) {
        return None;
    }
    let mut asked = would_ask(&x.snapshot, route, &x.method, x.version, &x.headers, x.has_body)?;
    // Where no client is connected there is nobody to speak the other protocol to.
    let client = x.handle.as_ref()?;
    if client.draining() {
        asked = Err(Upgrade::Stopping);
    }
    x.note(fact(&asked, &x.headers));
    asked.ok()
}

/// The same for a request that nobody has sent.
pub fn would_ask(
    snapshot: &Snapshot,
    route: &Route,
    method: &Method,
    version: Version,
    headers: &HeaderMap,
    has_body: bool,
) -> Option<Result<HeaderValue, Upgrade>> {
    let allowed = route.rule_in(snapshot).is_some_and(|rule| !rule.upgrade_off);
    let asked = samovar_policy::upgrade_to_ask_for(method, version, headers, has_body, allowed)?;
    Some(asked.and_then(
        |protocols| {
            if goes_to_http(snapshot, route) { Ok(protocols) } else { Err(Upgrade::NoUpstream) }
        },
    ))
}

/// The decision as a fact.
pub fn fact(asked: &Result<HeaderValue, Upgrade>, headers: &HeaderMap) -> Fact {
    match asked {
        Ok(protocols) => Fact::Upgrade(Upgrade::Passed, text(protocols)),
        Err(why) => Fact::Upgrade(*why, headers.get(UPGRADE).map(text).unwrap_or_default()),
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// Whether an HTTP upstream is asked: the site's, or the rule's own beside a site's files.
fn goes_to_http(snapshot: &Snapshot, route: &Route) -> bool {
    matches!(snapshot.target(route.target).map(|target| &**target), Some(Target::Http(_)))
}

/// Notes that the upstream went on in HTTP.
pub(super) fn note_declined(x: &mut Exchange, asked: bool, answer: &Answer) {
    if asked && answer.status != http::StatusCode::SWITCHING_PROTOCOLS {
        x.note(Fact::Upgrade(Upgrade::Declined, answer.status.as_u16().to_string()));
    }
}

/// The fields of a 101 to the client, whose connection becomes a plain pipe after it.
pub(super) fn announce(x: &Exchange, protocol: &HeaderValue, headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol.clone());
    if let Some(client) = &x.handle {
        client.accept_upgrade();
    }
}
