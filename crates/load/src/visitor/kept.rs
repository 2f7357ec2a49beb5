//! Answers a client keeps, as a browser does (RFC 9111, private cache): what is fresh is not asked for again, what is not is
//! asked for with its validators.
//!
//! Bodies are not kept: a load test has no screen. Not here: variants; a client sends the same fields each time.

use std::collections::HashMap;
use std::time::SystemTime;

use crate::wire::head;

/// Answers of one client at most; further ones are not kept.
const KEPT_MAX: usize = 4096;
/// Without a lifetime of its own an answer is fresh for a tenth of its age (§4.2.2), up to a day.
const HEURISTIC_MAX_S: u64 = 86_400;

/// One client's answers.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    answers: HashMap<(usize, usize), Answer>,
}

#[derive(Clone, Debug, Default)]
struct Answer {
    etag: Option<Vec<u8>>,
    modified: Option<Vec<u8>>,
    fresh_until_ns: u64,
}

/// What to do for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Ask: nothing is known.
    Plainly,
    /// Ask whether it has changed.
    WhetherChanged,
    /// Do not ask: what is kept is fresh.
    NotAtAll,
}

impl Kept {
    /// What to do for request `request` of server `origin`.
    pub fn ask(&self, origin: usize, request: usize, now_ns: u64) -> Ask {
        match self.answers.get(&(origin, request)) {
            None => Ask::Plainly,
            Some(answer) if answer.fresh_until_ns > now_ns => Ask::NotAtAll,
            Some(answer) if answer.etag.is_some() || answer.modified.is_some() => Ask::WhetherChanged,
            Some(_) => Ask::Plainly,
        }
    }

    /// Adds the fields that ask whether it has changed (RFC 9110 §13.1).
    pub fn send(&self, origin: usize, request: usize, out: &mut Vec<u8>) {
        let Some(answer) = self.answers.get(&(origin, request)) else { return };
        for (name, value) in
            [(&b"If-None-Match: "[..], &answer.etag), (b"If-Modified-Since: ", &answer.modified)]
        {
            if let Some(value) = value {
                out.extend_from_slice(name);
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Keeps an answer to a GET, or what a 304 says anew of it.
    pub fn learn(&mut self, origin: usize, request: usize, status: u16, head: &[u8], now_ns: u64) {
        let key = (origin, request);
        let known = self.answers.get(&key);
        if !(status == 200 || (status == 304 && known.is_some())) {
            return;
        }
        let says = Says::read(head);
        if says.no_store {
            self.answers.remove(&key);
            return;
        }
        let old = known.cloned().unwrap_or_default();
        let keep_old =
            |new: Option<Vec<u8>>, old: Option<Vec<u8>>| if status == 304 { new.or(old) } else { new };
        let fresh_ns = says.lifetime_s().saturating_sub(says.age_s).saturating_mul(1_000_000_000);
        let answer = Answer {
            etag: keep_old(says.etag.clone(), old.etag),
            modified: keep_old(says.modified.clone(), old.modified),
            fresh_until_ns: now_ns.saturating_add(fresh_ns),
        };
        if known.is_some() || self.answers.len() < KEPT_MAX {
            self.answers.insert(key, answer);
        }
    }
}

/// What a head says of its keeping.
#[derive(Debug, Default)]
struct Says {
    etag: Option<Vec<u8>>,
    modified: Option<Vec<u8>>,
    no_store: bool,
    no_cache: bool,
    varies: bool,
    max_age_s: Option<u64>,
    age_s: u64,
    date: Option<SystemTime>,
    expires: Option<Option<SystemTime>>,
}

impl Says {
    fn read(head: &[u8]) -> Says {
        let mut says = Says::default();
        let date = |value: &[u8]| {
            std::str::from_utf8(value).ok().and_then(|text| httpdate::parse_http_date(text).ok())
        };
        head::fields(head, &mut |name, value| match name.to_ascii_lowercase().as_str() {
            "etag" => says.etag = Some(value.to_vec()),
            "last-modified" => says.modified = Some(value.to_vec()),
            "date" => says.date = date(value),
            "expires" => says.expires = Some(date(value)),
            "age" => says.age_s = number(value).unwrap_or(0),
            "vary" => says.varies |= value.contains(&b'*'),
            "cache-control" => says.directives(value),
            _ => {}
        });
        says
    }

    fn directives(&mut self, value: &[u8]) {
        for directive in value.split(|byte| *byte == b',') {
            let directive = directive.trim_ascii().to_ascii_lowercase();
            match directive.as_slice() {
                b"no-store" => self.no_store = true,
                _ if directive.starts_with(b"no-cache") => self.no_cache = true,
                _ => {
                    if let Some(age) = directive.strip_prefix(b"max-age=") {
                        self.max_age_s = number(age.trim_ascii());
                    }
                }
            }
        }
    }

    /// §4.2.1, for a private cache.
    fn lifetime_s(&self) -> u64 {
        if self.no_cache || self.varies {
            return 0;
        }
        let between =
            |from: SystemTime, to: SystemTime| to.duration_since(from).map_or(0, |gap| gap.as_secs());
        match (self.max_age_s, self.expires, self.date) {
            (Some(age), ..) => age,
            (None, Some(Some(expires)), Some(date)) => between(date, expires),
            (None, Some(_), _) => 0,
            (None, None, Some(date)) => {
                let text = self.modified.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
                let modified = text.and_then(|text| httpdate::parse_http_date(text).ok());
                modified.map_or(0, |modified| (between(modified, date) / 10).min(HEURISTIC_MAX_S))
            }
            (None, None, None) => 0,
        }
    }
}

fn number(value: &[u8]) -> Option<u64> {
    let digits: &str = std::str::from_utf8(value).ok()?.trim_matches(['"', ' ']);
    // More than fits is as long as can be told (RFC 9111 §1.2.2).
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().unwrap_or(u64::MAX / 4_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn learned(status: u16, fields: &str) -> Kept {
        let mut kept = Kept::default();
        kept.learn(0, 7, status, format!("HTTP/1.1 {status} X\r\n{fields}\r\n").as_bytes(), 10 * S);
        kept
    }

    #[test]
    fn table() {
        let date = "Date: Thu, 01 Jan 2026 00:01:40 GMT\r\n";
        for (fields, after_s, want) in [
            ("ETag: \"a\"\r\n", 0, Ask::WhetherChanged),
            ("Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n", 0, Ask::WhetherChanged),
            ("Cache-Control: max-age=60\r\n", 59, Ask::NotAtAll),
            ("Cache-Control: max-age=60\r\n", 60, Ask::Plainly),
            ("Cache-Control: public, Max-Age=60\r\nETag: \"a\"\r\n", 60, Ask::WhetherChanged),
            ("Cache-Control: max-age=60\r\nAge: 50\r\n", 9, Ask::NotAtAll),
            ("Cache-Control: max-age=60\r\nAge: 50\r\n", 10, Ask::Plainly),
            ("Cache-Control: no-cache, max-age=60\r\nETag: \"a\"\r\n", 0, Ask::WhetherChanged),
            ("Cache-Control: no-store\r\nETag: \"a\"\r\n", 0, Ask::Plainly),
            ("Expires: Thu, 01 Jan 2026 00:01:50 GMT\r\n", 9, Ask::NotAtAll),
            ("Expires: Thu, 01 Jan 2026 00:01:50 GMT\r\n", 10, Ask::Plainly),
            ("Expires: 0\r\nETag: \"a\"\r\n", 0, Ask::WhetherChanged),
            // A tenth of 100 s.
            ("Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nX: 1\r\n", 9, Ask::WhetherChanged),
            ("Vary: *\r\nCache-Control: max-age=60\r\n", 0, Ask::Plainly),
        ] {
            let with_date = if fields.starts_with("Last") && !fields.contains("X: 1") { "" } else { date };
            let kept = learned(200, &format!("{with_date}{fields}"));
            let want = if fields.contains("X: 1") { Ask::NotAtAll } else { want };
            assert_eq!(kept.ask(0, 7, (10 + after_s) * S), want, "{fields} after {after_s} s");
        }
        assert_eq!(learned(404, "Cache-Control: max-age=60\r\n").ask(0, 7, 10 * S), Ask::Plainly);
        assert_eq!(learned(304, "Cache-Control: max-age=60\r\n").ask(0, 7, 10 * S), Ask::Plainly);
    }

    #[test]
    fn what_is_unchanged_is_fresh_again_and_keeps_its_validator() {
        let mut kept = learned(200, "ETag: \"a\"\r\nCache-Control: max-age=5\r\n");
        assert_eq!(kept.ask(0, 7, 20 * S), Ask::WhetherChanged);
        let mut out = Vec::new();
        kept.send(0, 7, &mut out);
        assert_eq!(out, b"If-None-Match: \"a\"\r\n");
        kept.learn(0, 7, 304, b"HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=5\r\n\r\n", 20 * S);
        assert_eq!(kept.ask(0, 7, 24 * S), Ask::NotAtAll);
        assert_eq!(kept.ask(0, 7, 25 * S), Ask::WhetherChanged);
        // Another server's, another request's: not these.
        assert_eq!((kept.ask(1, 7, 24 * S), kept.ask(0, 8, 24 * S)), (Ask::Plainly, Ask::Plainly));
    }
}
