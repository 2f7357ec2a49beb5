//! What a rule changes between the cache and the origin: fields of the request on its way there; of the answer, before
//! anything is stored, what names the upstream itself, and `response_fields`.
//!
//! The cache judges and varies by what the client sent, so the request's fields are changed where it leaves, not before.
//! Not here: the attempt itself (`attempt`), what clients are told beyond what is stored (`dress`).

use super::arrive::RequestBody;
use super::attempt::{self, Got, Problem, Question};
use super::exchange::{Exchange, Route};
use super::vars::vars;
use crate::config::TargetSettings;
use crate::state::Snapshot;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use samovar_origin::Address;
use samovar_reason::Change;
use samovar_rules::{
    Acts, AskedBy, OriginNames, Rewritten, TargetId, Vars, edit_answer, edit_fields, edited_names,
    map_cookie, map_location,
};
use samovar_trace::Fact;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What the rule of a question does between cache and origin, freed from the request.
pub struct Acting {
    acts: Arc<Acts>,
    vars: Vars,
    /// Rules that hold beside it and change fields of the request: what they tell the origin of who asks is true, whatever
    /// the client said of that itself.
    held: Vec<(Arc<Acts>, Vars)>,
    /// Where what was done is told.
    told: Rc<RefCell<Vec<Fact>>>,
}

impl Acting {
    /// Of a request; `None` if its rule changes nothing there.
    pub(super) fn of(x: &Exchange, route: &Route) -> Option<Rc<Acting>> {
        let none = Arc::default;
        let acts = route.rule_in(&x.snapshot)?.acts.as_ref();
        let changes = acts.is_some_and(|acts| {
            acts.rewrite.is_some()
                || !acts.request_fields.is_empty()
                || !acts.response_fields.is_empty()
                || !acts.cookie_paths.is_empty()
                || !acts.cookie_domains.is_empty()
        });
        let held = route.held_in(&x.snapshot).filter_map(|rule| rule.acts.as_ref());
        let held = held.filter(|acts| !acts.request_fields.is_empty());
        let held: Vec<_> = held.map(|acts| (Arc::clone(acts), vars(x, route, acts))).collect();
        (changes || !held.is_empty()).then(|| {
            let (acts, told) = (acts.map_or_else(none, Arc::clone), Rc::clone(&x.late));
            Rc::new(Acting { vars: vars(x, route, &acts), acts, held, told })
        })
    }

    /// The same, told elsewhere: a refresh has a record of its own.
    pub(super) fn told_to(&self, told: &Rc<RefCell<Vec<Fact>>>) -> Rc<Acting> {
        let (acts, told) = (Arc::clone(&self.acts), Rc::clone(told));
        Rc::new(Acting { acts, vars: self.vars.clone(), held: self.held.clone(), told })
    }

    /// Changes a request's fields on its way to the origin.
    pub(super) fn towards_origin(&self, headers: &mut HeaderMap) {
        let held = self.held.iter().map(|(acts, vars)| (acts, vars));
        for (acts, vars) in std::iter::once((&self.acts, &self.vars)).chain(held) {
            if !acts.request_fields.is_empty() {
                edit_fields(&acts.request_fields, vars, headers);
                self.tell(Change::RequestFields, edited_names(&acts.request_fields));
            }
        }
    }

    /// What the client asked for, path and query, where the origin is asked for something else.
    pub(super) fn client_target(&self) -> Option<String> {
        self.acts.rewrite.as_ref()?;
        let query = self.vars.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        Some(format!("{}{query}", self.vars.path))
    }

    fn tell(&self, change: Change, detail: String) {
        self.told.borrow_mut().push(Fact::Change(change, detail));
    }
}

/// Asks the target, and changes its answer as the rule and the site say.
///
/// # Errors
/// As of the attempt.
pub async fn attempt(
    question: Box<Question>,
    body: Option<RequestBody>,
    body_bytes: Option<u64>,
) -> Result<Box<Got>, Box<Problem>> {
    let after = After::of(&question);
    let mut got = attempt::attempt(question, body, body_bytes).await?;
    after.change(&mut got);
    Ok(got)
}

/// What is needed of a question once it was asked.
struct After {
    snapshot: Arc<Snapshot>,
    site: usize,
    target: TargetId,
    scheme: &'static str,
    /// Begins with the URL that the client asked by.
    key: Arc<str>,
    rewritten: Option<Arc<Rewritten>>,
    acting: Option<Rc<Acting>>,
}

impl After {
    fn of(question: &Question) -> After {
        After {
            snapshot: Arc::clone(&question.snapshot),
            site: question.route.site,
            target: question.route.target,
            scheme: question.client.scheme,
            key: Arc::clone(&question.route.key),
            rewritten: question.route.rewritten.clone(),
            acting: question.acting.clone(),
        }
    }

    fn change(&self, got: &mut Got) {
        let headers = &mut got.answer.headers;
        if headers.contains_key(header::LOCATION) || headers.contains_key(header::CONTENT_LOCATION) {
            self.map_locations(headers);
        }
        let Some(acting) = &self.acting else { return };
        let acts = &acting.acts;
        if headers.contains_key(header::VARY) && acts.varies_by_asker(&samovar_policy::vary_named(headers)) {
            // What no request shows nobody behind us can compare either.
            headers.append(header::VARY, HeaderValue::from_static("*"));
        }
        if !acts.cookie_paths.is_empty() || !acts.cookie_domains.is_empty() {
            map_cookies(acting, headers);
        }
        if !acts.response_fields.is_empty() {
            edit_answer(&acts.response_fields, &acting.vars, got.answer.status, headers);
            acting.tell(Change::ResponseFields, edited_names(&acts.response_fields));
            // Surrogate keys may be among them.
            got.tags = attempt::tags_of(headers);
        }
    }

    fn map_locations(&self, headers: &mut HeaderMap) {
        let names = self.names();
        for name in [header::LOCATION, header::CONTENT_LOCATION] {
            let Some(value) = headers.get(&name).and_then(|value| value.to_str().ok()) else { continue };
            let by_name = names.as_ref().and_then(|names| map_location(value, names, self.asked_by()));
            let mapped = by_name.or_else(|| self.folder(value));
            let Some(mapped) = mapped.and_then(|mapped| HeaderValue::from_str(&mapped).ok()) else {
                continue;
            };
            if let Some(acting) = &self.acting {
                acting.tell(Change::Mapped, name.to_string());
            }
            headers.insert(name, mapped);
        }
    }

    /// How the upstream is named, if the site maps what names it.
    fn names(&self) -> Option<OriginNames> {
        let site = self.snapshot.settings.sites.sites.get(self.site)?;
        if self.snapshot.settings.unmapped_sites.contains(&site.name) {
            return None;
        }
        names_of(self.snapshot.settings.targets.get(self.target.0)?)
    }

    /// The client's own words for where it asked.
    fn asked_by(&self) -> AskedBy<'_> {
        let host = self.key.split_once("://").map_or("", |(_, rest)| rest);
        AskedBy { scheme: self.scheme, host: host.split(['/', '\n']).next().unwrap_or(host) }
    }

    /// A folder asked for without its slash, by a rewritten path: the client is told its own path.
    fn folder(&self, value: &str) -> Option<String> {
        let rest = value.strip_prefix(self.rewritten.as_ref()?.path.as_str())?.strip_prefix('/')?;
        let own = &self.acting.as_ref()?.vars.path;
        (rest.is_empty() || rest.starts_with('?')).then(|| format!("{own}/{rest}"))
    }
}

fn names_of(target: &TargetSettings) -> Option<OriginNames> {
    let TargetSettings::Http(http) = target else { return None };
    let mut authorities: Vec<String> = http.host.iter().cloned().collect();
    for place in &http.places {
        if let Address::Tcp(host, port) = &place.address {
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_ascii_lowercase() };
            authorities.push(if *port == 80 { host } else { format!("{host}:{port}") });
        }
    }
    // Which member answered is not asked here: a path that they do not share is left as it is.
    let first = http.places.first().map_or("", |place| place.base_path.as_str());
    let shared = http.places.iter().all(|place| place.base_path == first);
    Some(OriginNames { authorities, base_path: if shared { first.to_owned() } else { String::new() } })
}

fn map_cookies(acting: &Acting, headers: &mut HeaderMap) {
    const NAME: HeaderName = header::SET_COOKIE;
    let acts = &acting.acts;
    let old: Vec<HeaderValue> = headers.get_all(NAME).iter().cloned().collect();
    let mapped = |value: &HeaderValue| {
        let mapped = map_cookie(value.to_str().ok()?, &acts.cookie_paths, &acts.cookie_domains)?;
        HeaderValue::from_str(&mapped).ok()
    };
    let new: Vec<Option<HeaderValue>> = old.iter().map(mapped).collect();
    if new.iter().all(Option::is_none) {
        return;
    }
    headers.remove(NAME);
    for (old, new) in old.into_iter().zip(new) {
        headers.append(NAME, new.unwrap_or(old));
    }
    acting.tell(Change::Mapped, NAME.to_string());
}
