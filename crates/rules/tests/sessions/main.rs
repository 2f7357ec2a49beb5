//! Two sessions never see each other's bytes under any rule without `override`.
//!
//! Random rules, an origin that makes pages for sessions and says random things about them, and clients of three
//! sessions go through routing and policy, in the order the server keeps, around a cache that is a plain map. The
//! oracle is the origin itself: it notes in each page for whom it was made, and knows from the table its words were
//! drawn from what they allow. It reads no field and shares no code with what it judges.
//!
//! A page made for one session may reach another only if
//! - the origin said so: a lifetime of its own above zero, `public` or `s-maxage` for a page made by a cookie
//!   (RFC 9111 §3); `public`, `s-maxage` or `must-revalidate` for one made by credentials (§3.5); and nothing that
//!   takes it back, `Vary` on that very input included;
//! - or the origin confirmed it with a 304 to this very request;
//! - or the rule it was fetched under says that this cookie does not matter (`ignore_cookies`);
//! - or it was made for a session that begins with it, and the rule says `set_cookie = "strip"`.
//!
//! Not here: requests that join a fill. They go through the same `reuse` as a look-up right after it, which is here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at its first surprise")]

mod client;
mod operator;
mod origin;
mod world;

use client::{Step, step};
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderName, HeaderValue, Method};
use operator::{one_site, site};
use origin::{CACHE_CONTROLS, EXPIRES_WORDS, MadeBy, Page, TARGETED, Words, page};
use proptest::prelude::*;
use samovar_policy::{LifetimeWish, Overrides, Wishes};
use samovar_rules::Rule;
use world::World;

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(8192),
        failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn two_sessions_never_see_each_others_bytes(
        sites in site(),
        pages in prop::collection::vec(page(), 2),
        steps in prop::collection::vec(step(), 1..24),
    ) {
        let mut world = World::new(pages);
        for step in &steps {
            world.run(&sites, step)?;
        }
    }
}

/// One page, one rule, the same request from one session and then another; how many bodies were
/// shared, or `None` if the property broke.
fn two_clients(
    page: Page,
    rule: Rule,
    one: &[(HeaderName, &'static str)],
    other: &[(HeaderName, &'static str)],
) -> Option<usize> {
    let mut world = World::new(vec![page]);
    let sites = one_site(vec![], rule);
    for client in [one, other] {
        let headers =
            client.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        let step = Step {
            path: "/a",
            query: None,
            method: Method::GET,
            headers,
            pause_ms: 0,
            origin_down: false,
            store_after_pass: false,
            new_page: None,
        };
        world.run(&sites, &step).ok()?;
    }
    Some(world.shared)
}

fn plain_page(made_by: MadeBy, cache_control: &str) -> Page {
    let cache_control = *CACHE_CONTROLS.iter().find(|word| word.text == cache_control).unwrap();
    Page {
        made_by,
        words: Words { cache_control, expires: EXPIRES_WORDS[0], targeted: TARGETED[0], vary: "" },
        etag: false,
        last_modified: false,
        status: 200,
        begins_sessions: false,
        always_sets: false,
    }
}

impl Page {
    fn varying(mut self, vary: &'static str) -> Page {
        self.words.vary = vary;
        self
    }
}

fn for_a_minute(overrides: Overrides) -> Rule {
    let wishes =
        Wishes { lifetime: LifetimeWish::For(60_000), max_bytes: u64::MAX, overrides, ..Wishes::default() };
    Rule { wishes, ..Rule::default() }
}

/// The model does share where it may: otherwise the property would hold of a cache that stores nothing.
#[test]
fn what_the_origin_allows_is_shared() {
    let respect = || Rule {
        wishes: Wishes { lifetime: LifetimeWish::Respect, ..for_a_minute(Overrides::default()).wishes },
        ..Rule::default()
    };
    let (one, other) = ([(COOKIE, "sid=A")], [(COOKIE, "sid=B")]);
    assert_eq!(two_clients(plain_page(MadeBy::Cookie, "max-age=60"), respect(), &one, &other), Some(1));
    let (one, other) = ([(AUTHORIZATION, "Bearer A")], [(AUTHORIZATION, "Bearer B")]);
    assert_eq!(
        two_clients(plain_page(MadeBy::Credentials, "public, max-age=60"), respect(), &one, &other),
        Some(1)
    );
    assert_eq!(two_clients(plain_page(MadeBy::Credentials, "max-age=60"), respect(), &one, &other), Some(0));
    let (one, other) = ([(COOKIE, "sid=A")], [(COOKIE, "sid=B")]);
    assert_eq!(
        two_clients(plain_page(MadeBy::Cookie, "max-age=60").varying("Cookie"), respect(), &one, &other),
        Some(0)
    );
}

/// The oracle can fail: each word of `override` breaks the property where nothing else allows it, and without the
/// word it holds.
#[test]
fn each_override_breaks_it() {
    let (a, b) = ([(COOKIE, "sid=A")], [(COOKIE, "sid=B")]);
    let (auth_a, auth_b) = ([(AUTHORIZATION, "Bearer A")], [(AUTHORIZATION, "Bearer B")]);
    let begins = Page { begins_sessions: true, ..plain_page(MadeBy::Cookie, "") };
    let cookie = Overrides { cookie: true, ..Overrides::default() };
    for (page, overrides, one, other) in [
        (plain_page(MadeBy::Cookie, ""), cookie, &a[..], &b[..]),
        (plain_page(MadeBy::Cookie, "private"), Overrides { private: true, ..cookie }, &a, &b),
        (plain_page(MadeBy::Cookie, "no-store"), Overrides { no_store: true, ..cookie }, &a, &b),
        (
            Page { etag: true, ..plain_page(MadeBy::Cookie, "no-cache") },
            Overrides { no_cache: true, ..cookie },
            &a,
            &b,
        ),
        (plain_page(MadeBy::Cookie, "").varying("*"), Overrides { vary_star: true, ..cookie }, &a, &b),
        (
            plain_page(MadeBy::Credentials, ""),
            Overrides { authorization: true, ..Overrides::default() },
            &auth_a,
            &auth_b,
        ),
        (begins, Overrides { set_cookie: true, ..Overrides::default() }, &[], &[]),
    ] {
        let without = two_clients(page.clone(), for_a_minute(Overrides::default()), one, other);
        assert_eq!(without, Some(0), "{page:?}");
        assert!(
            two_clients(page.clone(), for_a_minute(overrides), one, other).is_none(),
            "{page:?} {overrides:?}"
        );
    }
}

/// Found by the property: `max-age=0`, `Expires: 0` and `s-maxage=0` give no leave to share, and the operator's
/// allowances for stale answers are not the origin's word either.
#[test]
fn a_lifetime_of_zero_allows_nothing() {
    let page = Page { last_modified: true, ..plain_page(MadeBy::Cookie, "max-age=0") };
    let mut rule = for_a_minute(Overrides::default());
    rule.wishes.lifetime = LifetimeWish::Respect;
    rule.wishes.stale_while_revalidate_ms = Some(60_000);
    assert_eq!(two_clients(page, rule, &[(COOKIE, "sid=A")], &[(COOKIE, "sid=B")]), Some(0));
    let page = Page { begins_sessions: true, ..plain_page(MadeBy::Cookie, "s-maxage=0, max-age=60") };
    assert_eq!(two_clients(page, for_a_minute(Overrides::default()), &[], &[]), Some(0));
}
