//! No spelling of a path walks around a guard: whatever an origin would open the file for is refused here, or every guard of
//! the file's own path is asked.
//!
//! Spellings are generated (`spellings`), origins simulated (`origins`), and the rules are laid out in all the ways in which a
//! spelling can fall to another rule than the file does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod origins;
#[path = "../../../../tests/spellings.rs"]
mod spellings;

use http::{HeaderMap, Method};
use origins::ORIGINS;
use samovar_policy::LifetimeWish;
use samovar_reason::Route;
use samovar_rules::*;
use spellings::{Alphabet, FOUND, SHORT, WHOLE};
use std::sync::Arc;

/// The file that the rules keep to some.
const SECRET: &str = "/staff/secret.txt";

/// A guard: only from this network; so each is told from the others.
fn guard(number: u8) -> Acts {
    let network = Network { address: [10, number, 0, 0].into(), prefix: 16 };
    let allow = Addresses { networks: vec![network], unix: false };
    Acts { access: Some(Access { allow, deny: Addresses::default() }), ..Acts::default() }
}

fn count() -> Acts {
    let rate = Rate { requests: 1, per_ms: 1_000, burst: 1, by: RateBy::Client, of_site: false };
    Acts { rate: Some(rate), ..Acts::default() }
}

fn rule(path: &str, acts: Option<Acts>) -> Rule {
    Rule {
        id: path.into(),
        path: Some(PathGlob::new(path).unwrap()),
        acts: acts.map(Arc::new),
        ..Rule::default()
    }
}

fn never(path: &str) -> Rule {
    let mut rule = rule(path, None);
    rule.wishes.lifetime = LifetimeWish::Never;
    rule
}

fn site(rules: Vec<Rule>, otherwise: Option<Acts>, refuses: bool) -> Sites {
    let otherwise = Rule { id: "default".into(), acts: otherwise.map(Arc::new), ..Rule::default() };
    let guards = Guards::new(&rules, &otherwise, refuses);
    let site = Site {
        name: "s".into(),
        hosts: vec![],
        ports: vec![],
        default: true,
        canonical_host: "h".into(),
        handlers: vec![],
        fallback: TargetId(0),
        index: vec![],
        rules,
        otherwise: Arc::new(otherwise),
        cache_status: true,
        guards,
    };
    Sites { sites: vec![site] }
}

/// The ways in which rules guard or exclude the file.
fn layouts(refuses: bool) -> Vec<(&'static str, Sites)> {
    let site = |rules, otherwise| site(rules, otherwise, refuses);
    vec![
        ("one rule", site(vec![rule("/staff/**", Some(guard(1)))], None)),
        ("a count", site(vec![rule("/staff/**", Some(count()))], None)),
        ("an open rule under a guarded site", site(vec![rule("/public/**", None)], Some(guard(1)))),
        (
            "a rule that counts beside it",
            site(vec![rule("/api/**", Some(count())), rule("/staff/**", Some(guard(1)))], None),
        ),
        (
            "two guards",
            site(vec![rule("/members/**", Some(guard(2))), rule("/staff/**", Some(guard(1)))], None),
        ),
        ("excluded", site(vec![never("/staff/**"), rule("/public/**", None)], None)),
        ("by its whole name", site(vec![rule(SECRET, Some(guard(1)))], None)),
        ("by its last name", site(vec![rule("secret.txt", Some(guard(1))), rule("/public/**", None)], None)),
        ("by its ending", site(vec![rule("*.txt", Some(guard(1)))], None)),
        (
            "in capitals",
            site(vec![rule("/STAFF/**", Some(guard(1))), rule("/staff/**", Some(guard(1)))], None),
        ),
    ]
}

fn asked<'s>(sites: &'s Sites, path: &str) -> Result<Vec<&'s Rule>, (Route, String)> {
    let headers = HeaderMap::new();
    let parts = RequestParts {
        method: &Method::GET,
        scheme: "http",
        host: "",
        listener_port: 80,
        path,
        query: None,
        headers: &headers,
    };
    let routed = route(sites, &parts)?;
    Ok(std::iter::once(routed.rule).chain(routed.held.iter().map(|held| held.rule)).collect())
}

/// Whether all that the file's own rule asks is asked by these.
fn covers(asked: &[&Rule], own: &Rule) -> bool {
    let acts = |rule: &Rule| rule.acts.as_deref().cloned().unwrap_or_default();
    let wanted = acts(own);
    let access = wanted.access.is_none() || asked.iter().any(|rule| acts(rule).access == wanted.access);
    let rate = wanted.rate.is_none() || asked.iter().any(|rule| rule.id == own.id);
    let excludes = |rule: &Rule| rule.wishes.lifetime == LifetimeWish::Never;
    access && rate && (!excludes(own) || asked.iter().any(|rule| excludes(rule)))
}

/// Every spelling under which some origin opens the file, by layout; the number of those.
fn grid(alphabet: &Alphabet, refuses: bool) -> usize {
    let layouts = layouts(refuses);
    let own: Vec<&Rule> = layouts.iter().map(|(_, sites)| asked(sites, SECRET).unwrap()[0]).collect();
    let (mut reaching, mut open) = (0, Vec::new());
    for path in spellings::spellings(alphabet) {
        let Ok(sent) = normalise_path(&path) else { continue };
        let reads = ORIGINS.iter().find(|(_, read)| read(&sent).is_some_and(|file| file == SECRET));
        let Some((origin, _)) = reads else { continue };
        reaching += 1;
        for ((layout, sites), own) in layouts.iter().zip(&own) {
            if asked(sites, &path).is_ok_and(|asked| !covers(&asked, own)) {
                open.push(format!("{path} opens it at {origin}, with {layout}"));
            }
        }
    }
    assert!(
        open.is_empty(),
        "{} ways around a guard, such as\n{}",
        open.len(),
        open[..open.len().min(20)].join("\n")
    );
    reaching
}

#[test]
fn no_spelling_walks_around_a_guard() {
    let reaching = grid(&SHORT, true);
    assert!(reaching > 1_000, "only {reaching} spellings reach the file at all: the grid proves little");
}

#[test]
#[ignore = "minutes: more than a million spellings"]
fn no_spelling_of_all_walks_around_a_guard() {
    assert!(grid(&WHOLE, true) > 100_000);
}

/// An origin that needs such paths gets them, and the guards still hold for all that they may be read as.
#[test]
fn nor_where_ambiguous_paths_are_passed_on() {
    grid(&SHORT, false);
}

#[test]
#[ignore = "minutes: more than a million spellings"]
fn nor_any_of_all_where_ambiguous_paths_are_passed_on() {
    grid(&WHOLE, false);
}

#[test]
fn what_was_found_is_refused_as_ambiguous() {
    for (layout, sites) in layouts(true) {
        for path in FOUND {
            assert_eq!(asked(&sites, path).unwrap_err().0, Route::AmbiguousPath, "{path} with {layout}");
        }
    }
    let open = site(vec![rule("/staff/**", None)], None, true);
    for path in FOUND {
        assert!(asked(&open, path).is_ok(), "{path}: where nothing is guarded, nothing is refused");
    }
}

/// Each reading names its rule; the rule of the path itself stays what it is.
#[test]
fn which_rule_holds_beside_which() {
    let rules = vec![
        rule("/login.php", Some(count())),
        rule("/public/**", None),
        rule("/staff/**", Some(guard(1))),
        rule("/members/**", Some(guard(2))),
        never("/basket/**"),
        rule("/Caf\u{c9}/**", Some(guard(3))),
        rule("/area/index.php", Some(guard(4))),
    ];
    let sites = site(rules, None, true);
    for (path, wanted) in [
        ("/", &["default"][..]),
        ("/public/x", &["/public/**"]),
        ("/staff/x", &["/staff/**"]),
        ("/STAFF/x", &["default", "/staff/**"]),
        ("/staff%2Fx", &["default", "/staff/**"]),
        ("/members/x%2F;/y", &["/members/**"]),
        ("/public/x;%2F", &["/public/**"]),
        ("/members;%2Fx/y", &["default", "/members/**"]),
        ("/staff;/x%2Fy", &["default", "/staff/**"]),
        ("/login.php/x", &["default", "/login.php"]),
        ("/LOGIN.PHP/x", &["default", "/login.php"]),
        ("/basket%2Fx", &["default", "/basket/**"]),
        ("/caf%C3%A9/x", &["default", "/Caf\u{c9}/**"]),
        ("/area/", &["default", "/area/index.php"]),
        ("/public/a.b/c", &["/public/**"]),
        ("/x.y/../staff/z", &["/staff/**"]),
    ] {
        let found: Vec<String> =
            asked(&sites, path).unwrap().iter().map(|rule| rule.id.to_string()).collect();
        assert_eq!(found, wanted, "{path}");
    }
    let many = format!("/{}", "a.b/".repeat(200));
    assert_eq!(asked(&sites, &many).unwrap_err().0, Route::TooManyReadings);
}

/// A guard of the site's own is not counted twice, and rules that only inherit it are not held beside each other.
#[test]
fn what_all_rules_share_holds_once() {
    let shared = || Some(guard(1));
    let sites = site(vec![rule("/a/**", shared()), rule("/b/**", shared())], shared(), true);
    assert_eq!(asked(&sites, "/a/x%2Fy").unwrap().len(), 1);
    assert_eq!(asked(&sites, "/a;/b%2Fy").unwrap().len(), 1);
}
