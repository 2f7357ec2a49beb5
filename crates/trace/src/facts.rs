//! Every fact in words: the one place where reasons become what people and tools read.
//!
//! The match is exhaustive, so that a decision nobody explained does not compile. Not here: laying the words out
//! (`text`, `json`).

use crate::clock::{micros, millis};
use crate::redact::redact_url;
use crate::types::Fact;
use samovar_reason::Explain;
use serde_json::{Value, json};

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
        Fact::Site(reason, site) => {
            Told::because("site", *reason).detail(site.clone()).data("site", site.clone())
        }
        Fact::Rule(reason, rule, later) => {
            let others =
                if later.is_empty() { String::new() } else { format!(", before {}", later.join(", ")) };
            Told::because("rule", *reason)
                .detail(format!("{rule}{others}"))
                .data("rule", rule.clone())
                .data("also_matched", later.clone())
        }
        Fact::Key(key) => Told::plain("key", redact_url(key)).data("key", redact_url(key)),
        Fact::Unkeyed(inputs) => {
            Told::plain("unkeyed", "these inputs reach the origin but are not in the key")
                .detail(inputs.join(", "))
                .data("inputs", inputs.clone())
        }
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
        Fact::Attempt { target, status, connect_us, first_byte_us, reused } => {
            attempt(target, *status, *connect_us, *first_byte_us, *reused)
        }
        Fact::Files(reason, detail) => Told::because("files", *reason).detail(detail.clone()),
        Fact::Reject(reason) => Told::because("reject", *reason),
        Fact::Selected(what) => Told::plain("selected", "what the client's conditions or range came to")
            .detail(*what)
            .data("selected", *what),
    }
}

/// What a fact holds on the heap, about, bytes.
pub(crate) fn weight_bytes(fact: &Fact) -> usize {
    let all = |texts: &[String]| texts.iter().map(|text| text.len() + size_of::<String>()).sum::<usize>();
    match fact {
        Fact::Site(_, text) | Fact::Key(text) | Fact::Upstream(_, text) | Fact::Files(_, text) => text.len(),
        Fact::Rule(_, text, later) => text.len() + all(later),
        Fact::Unkeyed(texts) | Fact::Cookies(texts) => all(texts),
        Fact::Overridden(words) => words.len() * size_of::<&str>(),
        Fact::Attempt { target, .. } => target.len(),
        Fact::Lookup(..)
        | Fact::Store(_)
        | Fact::Lifetime(..)
        | Fact::Hot(_)
        | Fact::HotProgress(..)
        | Fact::Reject(_)
        | Fact::Selected(_) => 0,
    }
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

fn attempt(target: &str, status: u16, connect_us: u64, first_byte_us: u64, reused: bool) -> Told {
    let connected =
        if reused { "kept connection".to_owned() } else { format!("connected in {}", micros(connect_us)) };
    let data = json!({ "target": target, "status": status, "connect_us": connect_us, "first_byte_us": first_byte_us,
        "reused": reused });
    Told::plain("attempt", format!("{target} answered {status}"))
        .detail(format!("{connected}, first byte after {}", micros(first_byte_us)))
        .data("attempt", data)
}
