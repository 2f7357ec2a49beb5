//! Every fact in words: the one place where reasons become what people and tools read.
//!
//! The match is exhaustive, so that a decision nobody explained does not compile. Not here: laying the words out
//! (`text`, `json`).

use crate::clock::{micros, millis};
use crate::redact::redact_key;
use crate::types::{Elected, Fact};
use samovar_reason::Explain;
use serde_json::{Value, json};
use std::sync::Arc;

/// A fact in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    /// Which kind: `store`, `lookup`, …
    pub(crate) fact: &'static str,
    /// The reason's code, or the kind again where there is no reason.
    pub(crate) code: &'static str,
    /// One sentence.
    pub(crate) text: String,
    /// What is particular to this request; empty if nothing is.
    pub(crate) detail: String,
    /// What would change the outcome; empty where nothing should.
    pub(crate) mend: &'static str,
    /// The numbers and names for machines.
    pub(crate) data: Vec<(&'static str, Value)>,
}

impl Told {
    fn because(fact: &'static str, reason: impl Explain) -> Told {
        Told {
            fact,
            code: reason.code(),
            text: reason.text().to_owned(),
            detail: String::new(),
            mend: reason.mend(),
            data: Vec::new(),
        }
    }

    fn plain(fact: &'static str, text: impl Into<String>) -> Told {
        Told { fact, code: fact, text: text.into(), detail: String::new(), mend: "", data: Vec::new() }
    }

    fn detail(mut self, detail: impl Into<String>) -> Told {
        self.detail = detail.into();
        self
    }

    fn data(mut self, name: &'static str, value: impl Into<Value>) -> Told {
        self.data.push((name, value.into()));
        self
    }
}

/// Puts a fact into words.
pub(crate) fn tell(fact: &Fact) -> Told {
    match fact {
        Fact::Site(reason, site) => Told::because("site", *reason).detail(&**site).data("site", &**site),
        Fact::Rule(reason, rule, later) => {
            let others =
                if later.is_empty() { String::new() } else { format!(", before {}", later.join(", ")) };
            Told::because("rule", *reason)
                .detail(format!("{rule}{others}"))
                .data("rule", &**rule)
                .data("also_matched", later.iter().map(|id| Value::from(&**id)).collect::<Value>())
        }
        Fact::Document(path) => Told::plain(
            "document",
            "the path names a folder, and the rule was chosen by its default document",
        )
        .detail(path.clone())
        .data("document", path.clone()),
        Fact::Held(reason, rule, reading) => Told::because("held", *reason)
            .detail(format!("{rule}, read as {reading}"))
            .data("rule", &**rule)
            .data("reading", reading.as_str()),
        Fact::Key(key) => self::key(&redact_key(key)),
        Fact::Unkeyed(inputs) => {
            Told::plain("unkeyed", "these inputs reach the origin but are not in the key")
                .detail(inputs.join(", "))
                .data("inputs", inputs.clone())
        }
        Fact::Dropped(names) => Told {
            mend: "if a proxy of yours sends them, name it in `server.trusted_proxies`",
            ..Told::plain(
                "dropped",
                "these request fields end here: they claim another host, scheme, path or client than the request has",
            )
            .detail(names.join(", "))
            .data("fields", names.clone())
        },
        Fact::Cookies(names) => {
            Told::plain("cookies", "these cookies may matter and kept the request out of the cache")
                .detail(names.join(", "))
                .data("names", names.clone())
        }
        Fact::Lookup(reason, age_ms, ttl_ms) => Told::because("lookup", *reason)
            .detail(age_and_ttl(*age_ms, *ttl_ms))
            .data("age_ms", *age_ms)
            .data("ttl_ms", *ttl_ms),
        Fact::Store(reason) => Told::because("store", *reason),
        Fact::Lifetime(source, ms) => lifetime(Told::because("lifetime", *source), *ms),
        Fact::Overridden(words) => Told::plain("override", "the rule overrides what HTTP forbids")
            .detail(words.join(", "))
            .data("words", words.clone()),
        Fact::Hot(reason) => Told::because("hot", *reason),
        Fact::HotProgress(hits, threshold) => {
            Told::plain("hot-progress", format!("{hits} of {threshold} requests within the period"))
                .data("requests", *hits)
                .data("threshold", *threshold)
        }
        Fact::Upstream(reason, detail) => Told::because("upstream", *reason).detail(detail.clone()),
        Fact::Elected(why, elected) => self::elected(Told::because("elected", *why), elected),
        Fact::Retry(why, what) => Told::because("retry", *why).detail(what.clone()),
        Fact::Attempt { target, status, connect_us, first_byte_us, reused } => {
            attempt(target, *status, *connect_us, *first_byte_us, *reused)
        }
        Fact::LastUse(reason) => Told::because("last-use", *reason),
        Fact::Files(reason, detail) => Told::because("files", *reason).detail(detail.clone()),
        Fact::Reject(reason) => Told::because("reject", *reason),
        Fact::Selected(what) => Told::plain("selected", "what the client's conditions or range came to")
            .detail(*what)
            .data("selected", *what),
        Fact::Invalidated(count, what) => {
            let text = match count {
                1 => "1 stored answer is not valid any more (RFC 9111 §4.4)".to_owned(),
                n => format!("{n} stored answers are not valid any more (RFC 9111 §4.4)"),
            };
            Told::plain("invalidated", text)
                .detail(what.join(", "))
                .data("entries", *count)
                .data("what", what.clone())
        }
        Fact::Coding(reason, coding) => {
            Told::because("coding", *reason).detail(coding.unwrap_or_default()).data("coding", *coding)
        }
        Fact::Before(fact) => {
            let told = tell(fact);
            Told { fact: "before", text: format!("when it was last asked for: {}", told.text), ..told }
        }
        Fact::Gate(reason, detail) => Told::because("gate", *reason).detail(detail.clone()),
        Fact::Change(what, detail) => Told::because("change", *what).detail(detail.clone()),
        Fact::Interim(status) => Told::plain("interim", "an interim answer of the origin's was passed on")
            .detail(status.to_string())
            .data("interim", *status),
        Fact::Upgrade(reason, detail) => Told::because("upgrade", *reason).detail(detail.clone()),
    }
}

/// What a fact holds on the heap, about, bytes.
pub(crate) fn weight_bytes(fact: &Fact) -> usize {
    let all = |texts: &[String]| texts.iter().map(|text| text.len() + size_of::<String>()).sum::<usize>();
    match fact {
        Fact::Held(_, _, text) | Fact::Upstream(_, text) | Fact::Files(_, text) | Fact::Upgrade(_, text) => {
            text.len()
        }
        Fact::Site(_, text) | Fact::Key(text) => text.len(),
        Fact::Gate(_, text) | Fact::Change(_, text) => text.len(),
        Fact::Document(text) => text.len(),
        Fact::Rule(_, _, later) => later.len() * size_of::<Arc<str>>(),
        Fact::Unkeyed(texts) | Fact::Cookies(texts) | Fact::Dropped(texts) => all(texts),
        Fact::Overridden(words) => words.len() * size_of::<&str>(),
        Fact::Invalidated(_, what) => all(what),
        Fact::Before(fact) => size_of::<Fact>() + weight_bytes(fact),
        Fact::Elected(_, elected) => {
            let Elected { upstream, member, passed_over, .. } = &**elected;
            let passed = passed_over.iter().map(|(name, _)| name.len() + size_of::<(String, u8)>());
            size_of::<Elected>() + upstream.len() + member.len() + passed.sum::<usize>()
        }
        Fact::Retry(_, text) => text.len(),
        Fact::Attempt { .. }
        | Fact::LastUse(_)
        | Fact::Lookup(..)
        | Fact::Store(_)
        | Fact::Lifetime(..)
        | Fact::Hot(_)
        | Fact::HotProgress(..)
        | Fact::Reject(_)
        | Fact::Selected(_)
        | Fact::Coding(..)
        | Fact::Interim(_) => 0,
    }
}

/// The URL first, then what else is in the key.
fn key(shown: &str) -> Told {
    let (url, values) = shown.split_once('\n').unwrap_or((shown, ""));
    Told::plain("key", url).detail(values.replace('\n', ", ")).data("key", shown)
}

fn age_and_ttl(age_ms: Option<i64>, ttl_ms: Option<i64>) -> String {
    let age = age_ms.map(|ms| format!("age {}", millis(ms.unsigned_abs())));
    let ttl = ttl_ms.map(|ms| match ms {
        i64::MAX => "fresh until it changes".to_owned(),
        1.. => format!("fresh for another {}", millis(ms.unsigned_abs())),
        _ => format!("stale for {}", millis(ms.unsigned_abs())),
    });
    [age, ttl].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn lifetime(told: Told, ms: u64) -> Told {
    if ms == u64::MAX {
        return told.detail("no end of its own").data("lifetime_ms", Value::Null);
    }
    told.detail(millis(ms)).data("lifetime_ms", ms)
}

fn elected(told: Told, elected: &Elected) -> Told {
    let Elected { upstream, member, busy, passed_over } = elected;
    let passed = passed_over.iter().map(|(name, why)| format!("; not {name}: {}", why.text()));
    let passed_json: Vec<Value> =
        passed_over.iter().map(|(name, why)| json!({ "member": name, "code": why.code() })).collect();
    told.detail(format!("{upstream}/{member}, {busy} under way on it{}", passed.collect::<String>()))
        .data("upstream", upstream.clone())
        .data("member", member.clone())
        .data("busy", *busy as u64)
        .data("passed_over", passed_json)
}

fn attempt(target: &str, status: u16, connect_us: u64, first_byte_us: u64, reused: bool) -> Told {
    let connected =
        if reused { "kept connection".to_owned() } else { format!("connected in {}", micros(connect_us)) };
    let data = json!({ "target": target, "status": status, "connect_us": connect_us, "first_byte_us": first_byte_us,
        "reused": reused });
    Told::plain("attempt", format!("{target} answered {status}"))
        .detail(format!("{connected}, first byte after {}", micros(first_byte_us)))
        .data("attempt", data)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use samovar_reason::{
        Change, Coding, Elect, Files, Gate, Hot, Lifetime, Lookup, Reject, Retry, Reuse, Route, Store,
        Unusable, Upstream,
    };

    /// One fact of every kind with every reason it can have.
    pub(crate) fn every_fact() -> Vec<Fact> {
        let text = || "some text".to_owned();
        let mut all = vec![
            Fact::Key("http://h/x\naccept-language: de\ncookie sid: s3cret".into()),
            Fact::Unkeyed(vec!["user-agent".into(), "x".into()]),
            Fact::Cookies(vec!["sid".into()]),
            Fact::Dropped(vec!["x-original-url".into()]),
            Fact::Overridden(vec!["private", "cookie"]),
            Fact::HotProgress(1, 2),
            Fact::Invalidated(1, vec!["http://h/x".into()]),
            Fact::Invalidated(2, vec!["http://h/x".into(), "group a".into()]),
            Fact::Before(Box::new(Fact::Store(Store::Incomplete))),
            Fact::Attempt {
                target: "app".into(),
                status: 200,
                connect_us: 90,
                first_byte_us: 61_000,
                reused: false,
            },
            Fact::Attempt {
                target: "app".into(),
                status: 304,
                connect_us: 0,
                first_byte_us: 900,
                reused: true,
            },
            Fact::Selected("not-modified"),
        ];
        let elected =
            |passed_over| Elected { upstream: "maps".into(), member: "a".into(), busy: 3, passed_over };
        let unusable = Unusable::ALL.iter().map(|r| ("b".to_owned(), *r)).collect();
        all.push(Fact::Elected(Elect::Sticky, Box::new(elected(unusable))));
        all.extend(Elect::ALL.iter().map(|r| Fact::Elected(*r, Box::new(elected(Vec::new())))));
        all.extend(Retry::ALL.iter().map(|r| Fact::Retry(*r, text())));
        all.extend(Route::ALL.iter().map(|r| Fact::Site(*r, text().into())));
        all.extend(Route::ALL.iter().map(|r| Fact::Rule(*r, text().into(), vec!["r2".into(), "r3".into()])));
        all.extend(Route::ALL.iter().map(|r| Fact::Held(*r, "r4".into(), text())));
        all.extend(Lookup::ALL.iter().map(|r| Fact::Lookup(*r, Some(3000), Some(7000))));
        all.extend(Store::ALL.iter().map(|r| Fact::Store(*r)));
        all.extend(Lifetime::ALL.iter().map(|r| Fact::Lifetime(*r, 10_000)));
        all.extend(Hot::ALL.iter().map(|r| Fact::Hot(*r)));
        all.extend(Upstream::ALL.iter().map(|r| Fact::Upstream(*r, text())));
        all.extend(Files::ALL.iter().map(|r| Fact::Files(*r, text())));
        all.extend(Gate::ALL.iter().map(|r| Fact::Gate(*r, text())));
        all.extend(Change::ALL.iter().map(|r| Fact::Change(*r, text())));
        all.extend(Reuse::ALL.iter().map(|r| Fact::LastUse(*r)));
        all.extend(Coding::ALL.iter().map(|r| Fact::Coding(*r, Some("br"))));
        all.extend(Reject::ALL.iter().map(|r| Fact::Reject(*r)));
        all
    }

    #[test]
    fn every_fact_says_something_of_its_own() {
        let mut seen = std::collections::HashSet::new();
        for fact in every_fact() {
            let told = tell(&fact);
            assert!(!told.fact.is_empty() && !told.code.is_empty() && !told.text.is_empty(), "{fact:?}");
            assert!(seen.insert((told.fact, told.code, told.text.clone(), told.detail.clone())), "{told:?}");
        }
    }

    #[test]
    fn ages_and_lifetimes_in_words() {
        for (age, ttl, want) in [
            (None, None, ""),
            (Some(3_000), Some(7_000), "age 3 s, fresh for another 7 s"),
            (Some(12_000), Some(-2_000), "age 12 s, stale for 2 s"),
            (Some(0), Some(0), "age 0 ms, stale for 0 ms"),
            (Some(60_000), Some(i64::MAX), "age 1 min, fresh until it changes"),
        ] {
            assert_eq!(tell(&Fact::Lookup(Lookup::Fresh, age, ttl)).detail, want);
        }
        assert_eq!(tell(&Fact::Lifetime(Lifetime::UntilChanged, u64::MAX)).detail, "no end of its own");
    }
}
