//! Which cookies of a request matter.
//!
//! Lenient in what is read, safe in what is concluded: whatever cannot be told to be a cookie that does not
//! matter, matters, and the request passes the cache. Origins disagree on how a Cookie field is cut (RFC 6265
//! §5.4 writes `; `, RFC 2109 §4.4 let servers cut at commas too), so a name counts if either cut shows it. Not here:
//! what follows for storing and reuse (`policy`). Values never leave this file except into the key.

use crate::types::Rule;
use crate::wild::wild_match;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use std::collections::HashSet;

/// Most cookies of a request that are looked at. Browsers keep at most 180 for a site (Chromium; Firefox 150). A request
/// with more goes past the cache ([`samovar_reason::Lookup::TooManyCookies`]).
pub const COOKIES_MAX: usize = 256;

/// Up to so many names are compared one by one, which costs less than a set of them.
const FEW_NAMES: usize = 16;

/// Named lists for `ignore_cookies`, written `@name` there. They hold only cookies that scripts in the page set
/// for measuring, which no origin makes a page from.
pub const COOKIE_PRESETS: &[(&str, &[&str])] = &[(
    "@analytics",
    &[
        // Google Analytics, old and new; Google Ads' conversion linker
        "_ga",
        "_ga_*",
        "_gid",
        "_gat",
        "_gat_*",
        "_dc_gtm_*",
        "_gac_*",
        "_gcl_*",
        "__utma",
        "__utmb",
        "__utmc",
        "__utmt",
        "__utmt_*",
        "__utmv",
        "__utmx",
        "__utmxx",
        "__utmz",
        // Meta Pixel, TikTok, Pinterest, Microsoft Advertising and Clarity, LinkedIn
        "_fbp",
        "_fbc",
        "_ttp",
        "_pin_unauth",
        "_uetsid",
        "_uetvid",
        "_clck",
        "_clsk",
        "li_fat_id",
        // Matomo and Piwik
        "_pk_id.*",
        "_pk_ses.*",
        "_pk_ref.*",
        "_pk_cvar.*",
        "_pk_hsr.*",
        // Hotjar, Amplitude, Mixpanel, Segment, Heap, HubSpot, Yandex Metrica, Parsely, Chartbeat
        "_hj*",
        "amplitude_id*",
        "AMP_*",
        "mp_*_mixpanel",
        "ajs_anonymous_id",
        "_hp2_*",
        "__hstc",
        "__hssc",
        "__hssrc",
        "hubspotutk",
        "_ym_uid",
        "_ym_d",
        "_ym_isad",
        "_parsely_visitor",
        "_parsely_session",
        "_cb",
        "_chartbeat*",
    ],
)];

/// What a browser's cookie without a name is called in traces: its text would be its value.
const NAMELESS: &str = "(nameless)";

/// The patterns of a preset: `@analytics`.
pub fn cookie_preset(name: &str) -> Option<&'static [&'static str]> {
    COOKIE_PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, patterns)| *patterns)
}

/// One piece between semicolons, as it came but trimmed; never empty.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'h>(&'h [u8]);

/// One name that a piece may be read to hold.
#[derive(Clone, Copy)]
struct Reading<'h> {
    /// `None` for text without `=`.
    name: Option<&'h [u8]>,
    /// False for what only servers that cut at commas see.
    first: bool,
}

impl<'h> Piece<'h> {
    /// Name and value as RFC 6265 §5.2 cuts them.
    pub(crate) fn pair(self) -> Option<(&'h [u8], &'h [u8])> {
        let equals = self.0.iter().position(|byte| *byte == b'=')?;
        Some((self.0.get(..equals)?.trim_ascii(), self.0.get(equals + 1..)?.trim_ascii()))
    }

    /// `a=1, b=2` reads as `a` and as `b`; `a={"x":1,"y":2}` as `a` alone, since what follows its comma is no pair.
    fn readings(self) -> impl Iterator<Item = Reading<'h>> {
        self.0.split(|byte| *byte == b',').enumerate().filter_map(|(at, part)| {
            let first = at == 0;
            let name = Piece(part).pair().map(|(name, _)| name);
            (first || name.is_some()).then_some(Reading { name, first })
        })
    }
}

/// The pieces of all Cookie fields.
pub(crate) fn pieces(headers: &HeaderMap) -> impl Iterator<Item = Piece<'_>> {
    let lines = headers.get_all(COOKIE).iter();
    lines
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'))
        .map(<[u8]>::trim_ascii)
        .filter(|piece| !piece.is_empty())
        .map(Piece)
}

/// True if the rule says that a cookie of this name does not matter. Without a name only `*` covers it.
fn is_ignored(rule: &Rule, name: Option<&[u8]>) -> bool {
    let covers = |pattern: &str| match name {
        Some(name) => wild_match(pattern.as_bytes(), name),
        None => pattern == "*",
    };
    rule.ignore_cookies.iter().any(|word| match cookie_preset(word) {
        Some(patterns) => patterns.iter().any(|pattern| covers(pattern)),
        None => covers(word),
    })
}

/// True if the key tells this reading apart: its value stands there, or the whole field does.
fn is_in_key(rule: &Rule, reading: Reading<'_>) -> bool {
    reading.first
        && reading.name.is_some_and(|name| rule.vary_cookies.iter().any(|word| word.as_bytes() == name))
}

/// True if the rule puts the whole field into the key, where it is always exact.
fn whole_field_in_key(rule: &Rule) -> bool {
    rule.vary_headers.iter().any(|vary| vary.name == COOKIE)
}

/// The cookies of a request that may matter under a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelevantCookies {
    /// Their names: not ignored, not in the key. Each once, in the order they came.
    pub names: Vec<String>,
    /// There are more than [`COOKIES_MAX`]; those beyond were not looked at, and any of them may matter.
    pub too_many: bool,
}

impl RelevantCookies {
    /// Whether any cookie matters, or may.
    pub fn any(&self) -> bool {
        self.too_many || !self.names.is_empty()
    }
}

/// Whether no cookie needs to be read to know that none matters: all are ignored, or the key holds the whole field.
fn none_can_matter(rule: &Rule, headers: &HeaderMap) -> bool {
    !headers.contains_key(COOKIE)
        || whole_field_in_key(rule)
        || (rule.vary_cookies.is_empty() && rule.ignore_cookies.iter().any(|word| word == "*"))
}

/// The cookies that may matter: not ignored, not in the key.
pub fn relevant_cookies(rule: &Rule, headers: &HeaderMap) -> RelevantCookies {
    let mut found = RelevantCookies::default();
    if none_can_matter(rule, headers) {
        return found;
    }
    for (at, reading) in pieces(headers).flat_map(Piece::readings).enumerate() {
        if at >= COOKIES_MAX {
            found.too_many = true;
            break;
        }
        if is_ignored(rule, reading.name) || is_in_key(rule, reading) {
            continue;
        }
        let name = match reading.name {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => NAMELESS.to_owned(),
        };
        if found.names.len() > FEW_NAMES || !found.names.contains(&name) {
            found.names.push(name);
        }
    }
    if found.names.len() > FEW_NAMES {
        let mut seen = HashSet::new();
        found.names.retain(|name| seen.insert(name.clone()));
    }
    found
}

/// Whether any cookie may matter; [`relevant_cookies`] without the names.
pub fn cookies_matter(rule: &Rule, headers: &HeaderMap) -> bool {
    if none_can_matter(rule, headers) {
        return false;
    }
    let mut readings = pieces(headers).flat_map(Piece::readings);
    let first = readings.by_ref().take(COOKIES_MAX);
    let matters = |reading: Reading<'_>| !is_ignored(rule, reading.name) && !is_in_key(rule, reading);
    first.into_iter().any(matters) || readings.next().is_some()
}

/// The names of the cookies that reach the origin and are not in the key because the rule ignores them.
pub(crate) fn ignored_cookies(rule: &Rule, headers: &HeaderMap) -> Vec<String> {
    if whole_field_in_key(rule) {
        return Vec::new();
    }
    pieces(headers)
        .flat_map(Piece::readings)
        .take(COOKIES_MAX)
        .filter(|reading| is_ignored(rule, reading.name) && !is_in_key(rule, *reading))
        .map(|reading| {
            reading.name.map_or(NAMELESS.into(), |name| String::from_utf8_lossy(name).into_owned())
        })
        .collect()
}

/// The Cookie field without the cookies that do not matter, for an answer that varies by it.
pub(crate) fn that_matter(rule: &Rule, headers: &HeaderMap) -> Option<HeaderValue> {
    let mut kept: Vec<u8> = Vec::new();
    for piece in pieces(headers) {
        if piece.readings().all(|reading| is_ignored(rule, reading.name)) {
            continue;
        }
        if !kept.is_empty() {
            kept.extend_from_slice(b"; ");
        }
        kept.extend_from_slice(piece.0);
    }
    if kept.is_empty() { None } else { HeaderValue::from_bytes(&kept).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Normalise, VaryHeader};
    use proptest::prelude::*;

    fn map(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    fn rule(ignore: &str, in_key: &str) -> Rule {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Rule { ignore_cookies: words(ignore), vary_cookies: words(in_key), ..Rule::default() }
    }

    #[test]
    fn which_matter() {
        for (ignore, in_key, lines, expected) in [
            ("", "", &[][..], &[][..]),
            ("", "", &["a=1; b=2"][..], &["a", "b"][..]),
            ("a", "", &["a=1; b=2"], &["b"]),
            ("_ga*", "", &["_ga=1; _ga_X=2;_gat=3"], &[]),
            ("*", "", &["a=1; nameless; =x"], &[]),
            ("", "lang", &["lang=de"], &[]),
            ("", "lang", &["lang=de; sid=1"], &["sid"]),
            ("a", "", &["a=1", "b=2", "b=3"], &["b"]),
            (
                "@analytics",
                "",
                &["_ga=1; _hjid=2; _pk_id.1.af3=3; __utmz=4; amplitude_idX=5; sid=6"],
                &["sid"],
            ),
            ("@nonsense", "", &["a=1"], &["a"]),
            // Names are case-sensitive.
            ("sid", "", &["SID=1"], &["SID"]),
            // Without a name only `*` covers it, and what may be a secret is not shown.
            ("secret", "", &["secret"], &["(nameless)"]),
            ("a", "", &["=secret"], &[""]),
            // Spaces around names and values, empty pieces.
            ("a", "", &[" a = 1 ;;; ; a=2;"], &[]),
            // What a server that cuts at commas would see counts too.
            ("a", "", &["a=1, sid=2"], &["sid"]),
            ("a*", "", &["a, sid=2"], &["(nameless)", "sid"]),
            ("a", "", &["a={\"x\":1,\"y\":2}"], &[]),
            // … and is not taken from the key, which holds only what RFC 6265 sees.
            ("a", "lang", &["a=1, lang=de"], &["lang"]),
            // Quotes do not hide anything.
            ("a", "", &["a=\"1; sid=2\""], &["sid"]),
        ] {
            let rule = rule(ignore, in_key);
            let found = relevant_cookies(&rule, &map(lines));
            assert_eq!(found.names, expected, "{ignore}|{in_key}|{lines:?}");
            assert_eq!(cookies_matter(&rule, &map(lines)), found.any(), "{ignore}|{in_key}|{lines:?}");
        }
    }

    #[test]
    fn what_an_answer_varies_by() {
        for (ignore, lines, expected) in [
            ("", &["a=1;b=2 ", "c"][..], Some("a=1; b=2; c")),
            ("a", &["a=1; b=2"][..], Some("b=2")),
            ("a", &["a=1"], None),
            ("a", &["a=1, sid=2"], Some("a=1, sid=2")),
            ("*", &["a=1; c"], None),
        ] {
            let kept = that_matter(&rule(ignore, "a"), &map(lines));
            assert_eq!(kept, expected.map(HeaderValue::from_static), "{ignore} {lines:?}");
        }
    }

    #[test]
    fn the_whole_field_in_the_key() {
        let mut rule = rule("", "");
        rule.vary_headers = vec![VaryHeader { name: COOKIE, normalise: Normalise::Exact }];
        assert!(!relevant_cookies(&rule, &map(&["a=1"])).any());
    }

    /// What is beyond the bound is not read, so it may matter, whatever stands before it; where no cookie can matter
    /// none is counted either.
    #[test]
    fn more_than_are_looked_at() {
        let line = |n: usize| (0..n).map(|at| format!("c{at}=1")).collect::<Vec<_>>().join("; ");
        for (ignore, in_key, cookies, names, too_many) in [
            ("", "", COOKIES_MAX, COOKIES_MAX, false),
            ("", "", COOKIES_MAX + 1, COOKIES_MAX, true),
            ("c*", "", COOKIES_MAX, 0, false),
            ("c*", "", COOKIES_MAX + 1, 0, true),
            ("*", "", COOKIES_MAX + 1, 0, false),
            ("*", "c1", COOKIES_MAX + 1, 0, true),
        ] {
            let (rule, headers) = (rule(ignore, in_key), map(&[&line(cookies)]));
            let found = relevant_cookies(&rule, &headers);
            assert_eq!((found.names.len(), found.too_many), (names, too_many), "{ignore}|{in_key}|{cookies}");
            assert_eq!(cookies_matter(&rule, &headers), found.any());
        }
        // Each name once, however many come.
        let twice = format!("{}; {}", line(COOKIES_MAX / 2), line(COOKIES_MAX / 2));
        assert_eq!(relevant_cookies(&rule("", ""), &map(&[&twice])).names.len(), COOKIES_MAX / 2);
    }

    #[test]
    fn presets_never_cover_sessions() {
        let rule = rule("@analytics", "");
        for name in [
            "PHPSESSID",
            "JSESSIONID",
            "ASP.NET_SessionId",
            "sid",
            "session",
            "wordpress_logged_in_x",
            "_session_id",
            "connect.sid",
            "__Host-id",
            "csrftoken",
            "AMP",
            "mp",
            "_gauth",
        ] {
            assert_eq!(relevant_cookies(&rule, &map(&[&format!("{name}=1")])).names, [name]);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_no_harm(line in prop::collection::vec(prop_oneof![0x20_u8..=0x7e, 0x80_u8..=0xff, Just(b'='), Just(b';')], 0..60)) {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_bytes(&line).unwrap());
            let something = line.iter().any(|byte| !b" ;".contains(byte));
            // Without `ignore_cookies` whatever is there matters; with `*` nothing does.
            prop_assert_eq!(relevant_cookies(&rule("", ""), &headers).any(), something);
            prop_assert_eq!(that_matter(&rule("", ""), &headers).is_some(), something);
            prop_assert!(!relevant_cookies(&rule("*", ""), &headers).any());
            prop_assert_eq!(that_matter(&rule("*", ""), &headers), None);
        }
    }
}
