//! The order of a request's life around a cache that is a plain map, and the place where the property is judged.

use crate::client::Step;
use crate::operator::ignores_sessions;
use crate::origin::{Body, Page, cookie_of};
use http::header::{AUTHORIZATION, COOKIE, SET_COOKIE};
use http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use samovar_policy::*;
use samovar_rules::*;
use std::collections::HashMap;

pub(crate) struct Entry {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) freshness: Freshness,
    pub(crate) vary: VaryValues,
    pub(crate) body: Body,
}

#[derive(Default)]
pub(crate) struct World {
    pub(crate) pages: HashMap<char, Page>,
    pub(crate) entries: HashMap<Key, Vec<Entry>>,
    pub(crate) now: Now,
    pub(crate) fetches: usize,
    /// Bodies handed over from the cache that had been made for another.
    pub(crate) shared: usize,
}

/// One request on its way.
pub(crate) struct Case<'a> {
    pub(crate) step: &'a Step,
    pub(crate) routed: &'a Routed<'a>,
    pub(crate) facts: RequestFacts<'a>,
}

impl World {
    pub(crate) fn new(pages: Vec<Page>) -> World {
        let now = Now { mono_ms: 1_000, wall_ms: 1_790_000_000_000 };
        World { pages: ['a', 'b'].into_iter().zip(pages).collect(), now, ..World::default() }
    }

    pub(crate) fn run(&mut self, sites: &Sites, step: &Step) -> Result<(), TestCaseError> {
        self.now.mono_ms += step.pause_ms;
        self.now.wall_ms += step.pause_ms;
        let parts = RequestParts {
            method: &step.method,
            scheme: "http",
            host: "h",
            listener_port: 80,
            path: step.path,
            query: step.query,
            headers: &step.headers,
        };
        let routed = route(sites, &parts).unwrap();
        if let Some(page) = &step.new_page {
            self.pages.insert(page_of(&routed.path), page.clone());
        }
        let facts = RequestFacts {
            method: &step.method,
            headers: &step.headers,
            relevant_cookies: routed.relevant_cookies,
            has_query: step.query.is_some(),
            any_cookies: step.headers.contains_key(COOKIE),
        };
        self.answer(&Case { step, routed: &routed, facts })
    }

    /// The order of a request's life, as the server keeps it.
    fn answer(&mut self, case: &Case<'_>) -> Result<(), TestCaseError> {
        let (rule, facts) = (case.routed.rule, &case.facts);
        if may_look(facts, &rule.wishes).is_err() {
            self.fetch(case, None, case.step.store_after_pass);
            return Ok(());
        }
        let normaliser = rule.normaliser();
        let variants = self.entries.get(&case.routed.key).map(Vec::as_slice).unwrap_or_default();
        let found =
            variants.iter().position(|entry| vary_matches(&entry.vary, &case.step.headers, &normaliser));
        let Some(found) = found else {
            self.fetch(case, None, true);
            return Ok(());
        };
        let entry = &variants[found];
        let stored = entry.body.clone();
        match reuse(&entry.freshness, facts, &rule.wishes, self.now).verdict {
            Verdict::Serve => self.hand(&stored, case)?,
            Verdict::ServeAndRefresh => {
                self.hand(&stored, case)?;
                self.fetch(case, Some(found), true);
            }
            Verdict::Revalidate { stale_if_error: true } if case.step.origin_down => {
                self.hand(&stored, case)?
            }
            Verdict::Revalidate { .. } => self.fetch(case, Some(found), true),
            Verdict::Complete | Verdict::Refetch => self.fetch(case, None, true),
            Verdict::Pass => self.fetch(case, None, case.step.store_after_pass),
        }
        Ok(())
    }

    /// Asks the origin and offers its answer to the cache. The client gets what the origin made for it.
    fn fetch(&mut self, case: &Case<'_>, variant: Option<usize>, store: bool) {
        if case.step.origin_down || only_if_cached(&case.facts) {
            return;
        }
        let mut sent = case.step.headers.clone();
        normalise_for_origin(case.routed.rule, &mut sent);
        let stored = variant.and_then(|at| self.entries.get_mut(&case.routed.key)?.get_mut(at));
        for (name, value) in stored.iter().flat_map(|entry| conditional_fields(&entry.headers)) {
            sent.insert(name, value);
        }
        self.fetches += 1;
        let page = self.pages.get(&page_of(&case.routed.path)).unwrap();
        let mut answer = page.answer(&case.routed.path, &sent, self.fetches);
        answer.body.rule_says =
            (ignores_sessions(case.routed.rule), case.routed.rule.wishes.set_cookie_strip);
        if answer.status != StatusCode::NOT_MODIFIED {
            if store {
                self.store(case, answer.status, &answer.headers, answer.body);
            }
            return;
        }
        let Some(stored) = stored.filter(|entry| confirms(&entry.headers, &answer.headers)) else {
            return self.fetch(case, None, store);
        };
        let (status, merged) = (stored.status, merge_304(&stored.headers, &answer.headers));
        // The origin says that the stored page is the one it would make for this client, on these terms: it is no
        // longer the page of the session it began.
        answer.body.new_session = None;
        answer.body.words = stored.body.words.renewed(answer.body.words);
        self.store(case, status, &merged, answer.body);
    }

    fn store(&mut self, case: &Case<'_>, status: StatusCode, headers: &HeaderMap, body: Body) {
        let rule = case.routed.rule;
        let normaliser = rule.normaliser();
        let variants = self.entries.entry(case.routed.key.clone()).or_default();
        variants.retain(|entry| !vary_matches(&entry.vary, &case.step.headers, &normaliser));
        let at = Exchange { requested: self.now, answered: self.now };
        let decision = storable(&case.facts, status, headers, &rule.wishes, at, None);
        let Some(freshness) = decision.freshness else { return };
        let kept = stored_fields(headers, &rule.wishes);
        assert!(!kept.contains_key(SET_COOKIE));
        let names = match vary_fields(headers) {
            VaryFields::None => vec![],
            VaryFields::Fields(names) => names,
            VaryFields::TooMany => unreachable!("it was stored"),
            VaryFields::Star => {
                assert!(decision.overridden.contains(&"vary-star"));
                vec![]
            }
        };
        let vary = vary_values(&names, &case.step.headers, &normaliser);
        variants.push(Entry { status, headers: kept, freshness, vary, body });
    }

    /// Hands a stored body to a client: the place where the property is judged.
    fn hand(&mut self, body: &Body, case: &Case<'_>) -> Result<(), TestCaseError> {
        let request = &case.step.headers;
        let (by_cookie, by_credentials, by_new_session) = body.words.shared();
        let (ignored, stripped) = body.rule_says;
        let mine = cookie_of(request, "sid");
        let credentials = request.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        let foreign_cookie = body.cookie.is_some() && body.cookie != mine;
        let foreign_credentials = body.credentials.is_some() && body.credentials != credentials;
        self.shared += usize::from(foreign_cookie || foreign_credentials || body.new_session.is_some());
        prop_assert!(!foreign_cookie || by_cookie || ignored, "a cookie's page for another: {:?}", body);
        prop_assert!(!foreign_credentials || by_credentials, "a page by credentials for another: {:?}", body);
        prop_assert!(
            body.new_session.is_none() || by_new_session || stripped,
            "a page that begins a session for another: {:?}",
            body
        );
        // No request reaches a page of another path, whatever the rules.
        prop_assert!(body.path.eq_ignore_ascii_case(&case.routed.path));
        Ok(())
    }
}

/// The origin minds the case of paths as little as the rules may.
pub(crate) fn page_of(path: &str) -> char {
    if path.eq_ignore_ascii_case("/a") { 'a' } else { 'b' }
}
