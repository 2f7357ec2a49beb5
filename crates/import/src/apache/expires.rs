//! mod_expires: lifetimes that httpd wrote into responses.
//!
//! It does nothing without `ExpiresActive On`, which may stand in another section: what holds is known when all was read.
//! httpd wrote the lifetime before mod_cache read it, so where a cache is on it decides how long a response is stored, too.

use super::cache::Caches;
use super::directives::Conf;
use crate::draft::Draft;
use crate::note::{Consequence, Fate};
use crate::tree::Directive;
use crate::wanted::{LIFETIMES, Scope, Select, Site, Value};

/// What was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expiry {
    /// `ExpiresActive`: where it was switched, and how.
    switches: Vec<(Select, bool, Directive)>,
    /// Lifetimes, s, and for which requests.
    lifetimes: Vec<(Select, u64, Directive)>,
}

/// A directive of this module.
pub(super) fn directive(conf: &mut Conf<'_, '_>, d: &Directive, name: &str, select: &Select) {
    const NOT_SAID: &str = "clients are told no lifetime by it, and nothing is stored by it";
    match name {
        "expiresactive" => {
            conf.expiry.switches.push((select.clone(), d.arg(0).eq_ignore_ascii_case("on"), d.clone()));
        }
        "expiresdefault" => match expires_seconds(&d.args.join(" ")) {
            Some(seconds) => conf.expiry.lifetimes.push((select.clone(), seconds, d.clone())),
            None => conf.cached(
                d,
                format!(
                    "a lifetime counted from the request is expected, \"access plus 1 hour\": {NOT_SAID}"
                ),
            ),
        },
        _ => {
            let media = d.arg(0).to_ascii_lowercase();
            let known = TYPES.iter().find(|(name, _)| *name == media);
            let extensions: Option<Vec<String>> =
                known.map(|(_, list)| list.iter().map(|e| (*e).to_owned()).collect());
            let inner = extensions.and_then(|list| super::sections::within(select, Select::extensions(list)));
            let rest = d.args.iter().skip(1).map(String::as_str).collect::<Vec<_>>().join(" ");
            match (inner, expires_seconds(&rest)) {
                (Some(inner), Some(seconds)) => conf.expiry.lifetimes.push((inner, seconds, d.clone())),
                (None, _) => conf.cached(
                    d,
                    format!(
                        "rules select by extension: write a rule with `extension = [\"…\"]` and \
                         `client_cache_control = \"max-age=…\"`. Until then {NOT_SAID}"
                    ),
                ),
                (_, None) => conf.cached(
                    d,
                    format!(
                        "a lifetime counted from the request is expected, \"access plus 1 hour\": {NOT_SAID}"
                    ),
                ),
            }
        }
    }
}

impl Expiry {
    /// Whether it was on for these requests: the narrowest section that says so decides, of equals the last.
    fn is_on(&self, select: &Select) -> bool {
        let covering = self.switches.iter().filter(|(s, ..)| s.covers(select));
        covering.max_by_key(|(s, ..)| s.rank()).is_some_and(|(_, on, _)| *on)
    }

    /// Turns it into settings of the site, behind those of the cache.
    pub(super) fn settle(self, caches: &Caches, site: &mut Site, draft: &mut Draft<'_>, noted: bool) {
        // Each goes before those that are there: so the narrower first, and of equals the last.
        let mut lifetimes: Vec<&(Select, u64, Directive)> = self.lifetimes.iter().rev().collect();
        lifetimes.sort_by_key(|(select, ..)| std::cmp::Reverse(select.rank()));
        for (select, seconds, d) in lifetimes {
            let inside = self.switches.iter().filter(|(s, on, _)| *on && select.covers(s) && s != select);
            let mut held: Vec<Select> = inside.map(|(s, ..)| s.clone()).collect();
            if self.is_on(select) {
                held = vec![select.clone()];
            }
            let mut stored = false;
            for place in &held {
                stored |= caches.covers(place);
                hold(place, *seconds, d, caches.covers(place), site);
            }
            let told = format!("client_cache_control = \"max-age={seconds}\"");
            let (as_what, text) = match (held.is_empty(), stored) {
                (true, _) => (
                    (Fate::LeftOut, Consequence::Nothing),
                    "ExpiresActive is not On here, so httpd did nothing with it".to_owned(),
                ),
                (_, true) => ((Fate::Carried, Consequence::Nothing), format!("{told}, and when_silent")),
                (_, false) => ((Fate::Carried, Consequence::Nothing), told),
            };
            if noted {
                draft.note_once(&d.place, &d.shown(), as_what, text);
            }
        }
        for (select, on, d) in self.switches.iter().filter(|_| noted) {
            let used = self.lifetimes.iter().any(|(s, ..)| select.covers(s) || s.covers(select));
            let around = Expiry { switches: self.outside(select), lifetimes: Vec::new() };
            let (as_what, text) = match (on, used) {
                (true, true) => {
                    ((Fate::Carried, Consequence::Nothing), "client_cache_control, where a lifetime is given")
                }
                (false, true) if around.is_on(select) => (
                    (Fate::LeftOut, Consequence::CachedDifferently),
                    "clients are told the lifetime of the section around it: write `client_cache_control` into the rule",
                ),
                (false, _) => {
                    ((Fate::Carried, Consequence::Nothing), "Samovar tells no lifetimes of its own")
                }
                (true, false) => (
                    (Fate::LeftOut, Consequence::Nothing),
                    "no ExpiresDefault or ExpiresByType gives a lifetime",
                ),
            };
            draft.note_once(&d.place, &d.shown(), as_what, text);
        }
    }

    fn outside(&self, select: &Select) -> Vec<(Select, bool, Directive)> {
        self.switches.iter().filter(|(s, ..)| s != select).cloned().collect()
    }
}

/// mod_headers comes behind mod_expires: what it says of the same requests stands, and what is said in other sections is
/// laid over this.
fn hold(select: &Select, seconds: u64, d: &Directive, stored: bool, site: &mut Site) {
    if !site.scopes.iter().any(|scope| scope.select == *select) {
        let scope = Scope { select: select.clone(), place: Some(d.place.clone()), ..Scope::default() };
        site.scopes.insert(0, scope);
    }
    let scope = site.scope(select, &d.place);
    if scope.get("client_cache_control").is_none() {
        scope.set("client_cache_control", Value::Text(format!("max-age={seconds}")), &d.place);
    }
    let ruled = LIFETIMES.iter().any(|key| scope.get(key).is_some());
    match seconds {
        _ if !stored || ruled => {}
        0 => {
            scope.set("respect", Value::Bool(true), &d.place);
            scope.set("heuristic_factor", Value::Number(0.0), &d.place);
        }
        _ => {
            let ms = seconds.saturating_mul(1000).min(366 * 86_400_000);
            scope.set("when_silent", Value::duration(ms), &d.place);
            scope.set("heuristic_first", Value::Bool(false), &d.place);
        }
    }
}

/// Extensions whose files have these types by the built-in table.
const TYPES: [(&str, &[&str]); 12] = [
    ("image/jpeg", &[".jpg", ".jpeg"]),
    ("image/jpg", &[".jpg", ".jpeg"]),
    ("image/png", &[".png"]),
    ("image/gif", &[".gif"]),
    ("image/webp", &[".webp"]),
    ("image/svg+xml", &[".svg"]),
    ("image/x-icon", &[".ico"]),
    ("text/css", &[".css"]),
    ("text/html", &[".html", ".htm"]),
    ("text/javascript", &[".js"]),
    ("application/javascript", &[".js"]),
    ("application/pdf", &[".pdf"]),
];

/// `access plus 1 month 2 days`, `A3600`: seconds from the request on.
fn expires_seconds(text: &str) -> Option<u64> {
    let text = text.trim().trim_matches('"');
    if let Some(seconds) = text.strip_prefix('A').and_then(|t| t.parse::<u64>().ok()) {
        return Some(seconds);
    }
    let mut words = text.split_whitespace();
    if !matches!(words.next()?, "access" | "now") {
        return None;
    }
    let mut total: u64 = 0;
    let mut words = words.filter(|w| *w != "plus");
    while let Some(number) = words.next() {
        let number: u64 = number.parse().ok()?;
        let unit = words.next()?.trim_end_matches('s');
        let size = match unit {
            "second" => 1,
            "minute" => 60,
            "hour" => 3600,
            "day" => 86_400,
            "week" => 7 * 86_400,
            "month" => 30 * 86_400,
            "year" => 365 * 86_400,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(size)?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_of_mod_expires() {
        assert_eq!(expires_seconds("access plus 1 hour"), Some(3600));
        assert_eq!(expires_seconds("now plus 1 day 2 hours"), Some(93_600));
        assert_eq!(expires_seconds("A3600"), Some(3600));
        assert_eq!((expires_seconds("modification plus 1 day"), expires_seconds("x")), (None, None));
    }
}
