//! `error_pages`: the body of an error, the origin's or our own, is replaced by a page of the same site.
//!
//! The answer stays what it was — status, fields, reason — but for what describes its body. The page is asked for by
//! Samovar itself, through the cache, with a GET that carries no cookies and no credentials; it is not asked by the gate, and
//! an error of its own is not replaced again, so there are no circles. If it cannot be had the answer stays whole.

use super::exchange::Exchange;
use super::gate::Admitted;
use super::look;
use super::respond::{Ready, add_vary};
use super::route::{Routed, route_as};
use crate::clock;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use samovar_reason::Change;
use samovar_trace::Fact;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How long the page may take. The client has waited for the error already.
const PATIENCE: Duration = Duration::from_secs(5);

/// What describes a body, and goes with it.
const OF_THE_BODY: [HeaderName; 10] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LOCATION,
    header::ETAG,
    header::LAST_MODIFIED,
    header::ACCEPT_RANGES,
];

/// What describes the page's body.
const TAKEN: [HeaderName; 3] = [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LANGUAGE];

/// What a page may be negotiated by.
const TOLD: [HeaderName; 4] =
    [header::ACCEPT, header::ACCEPT_LANGUAGE, header::ACCEPT_ENCODING, header::USER_AGENT];

/// The answer with the rule's page for its status, if it has one.
pub(super) async fn instead(ready: Ready) -> Ready {
    match page_for(&ready) {
        None => ready,
        // Boxed, or all answers would carry room for it.
        Some(path) => Box::pin(swap(ready, path)).await,
    }
}

fn page_for(ready: &Ready) -> Option<String> {
    let status = ready.reply.status;
    if !status.is_client_error() && !status.is_server_error() {
        return None;
    }
    let rule = ready.route.as_ref()?.rule_in(&ready.x.snapshot)?;
    rule.acts.as_ref()?.error_page(status).map(str::to_owned)
}

async fn swap(mut ready: Ready, path: String) -> Ready {
    let page = match tokio::time::timeout(PATIENCE, page(&ready.x, &path)).await {
        Ok(Ok(page)) => page,
        failed => {
            let why = match failed {
                Ok(Err(why)) => why,
                _ => format!("{path}: not within {} s", PATIENCE.as_secs()),
            };
            ready.x.note(Fact::Change(Change::ErrorPageFailed, why));
            return ready;
        }
    };
    let reply = &mut ready.reply;
    for name in OF_THE_BODY {
        reply.headers.remove(name);
    }
    for name in TAKEN {
        if let Some(value) = page.reply.headers.get(&name) {
            reply.headers.insert(name, value.clone());
        }
    }
    let varies: Vec<HeaderName> = samovar_policy::vary_named(&page.reply.headers);
    add_vary(&mut reply.headers, varies.iter());
    reply.body = page.reply.body;
    reply.selectable = false;
    let detail = format!("{path} ({})", page.reply.word);
    ready.x.note(Fact::Change(Change::ErrorPage, detail));
    ready
}

/// The page, as its own rule has it.
async fn page(x: &Exchange, path: &str) -> Result<Ready, String> {
    let uri = path.parse().map_err(|_| format!("{path} is no target"))?;
    let mut headers = HeaderMap::new();
    for name in TOLD {
        headers.extend(x.headers.get(&name).map(|value| (name, value.clone())));
    }
    if let Ok(host) = HeaderValue::from_str(x.asked_host()) {
        headers.insert(header::HOST, host);
    }
    let own = Box::new(Exchange {
        core: Rc::clone(&x.core),
        snapshot: Arc::clone(&x.snapshot),
        conn: Rc::clone(&x.conn),
        method: Method::GET,
        uri,
        version: http::Version::HTTP_11,
        headers,
        of_the_server: false,
        has_body: false,
        handle: None,
        at: clock::now(),
        at_us: clock::mono_us(),
        id: x.id,
        not_hot: None,
        client: x.client.clone(),
        user: None,
        content_taken: None,
        body_too_long: None,
        facts: Vec::new(),
        late: Rc::default(),
        // What came of it stands in the record of the request that it was for.
        open: false,
        explains: false,
    });
    let (route, _) = route_as(&own, &Method::GET).map_err(|(_, why)| format!("{path}: {why}"))?;
    let routed = Routed { x: own, route, body: None, body_bytes: None };
    let ready = look::look(Admitted(routed)).fetch().await;
    match ready.reply.status {
        StatusCode::OK => Ok(ready),
        other => Err(format!("{path} answered {other}")),
    }
}
