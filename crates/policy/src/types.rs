//! The values that policy takes and returns.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use samovar_reason::{Lifetime, Lookup, Store};

/// A moment as both clocks show it: monotonic for ages, wall for `Date` and `Expires`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Now {
    /// Milliseconds since an arbitrary point, never going back.
    pub mono_ms: u64,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: u64,
}

/// How long an answer lives by the operator's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LifetimeWish {
    /// HTTP decides.
    #[default]
    Respect,
    /// A lifetime in milliseconds only if the origin gives none.
    WhenSilent(u64),
    /// Replaces max-age, s-maxage, Expires and silence; milliseconds.
    For(u64),
    /// Until the file behind it changes.
    UntilChanged,
    /// Nothing is stored or reused.
    Never,
}

/// What a rule overrides although HTTP forbids it. Each word is a warning in `check` and a fact in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Store although the answer says `no-store`.
    pub no_store: bool,
    /// Store although the answer says `private`.
    pub private: bool,
    /// Reuse without revalidation although the answer says `no-cache`.
    pub no_cache: bool,
    /// Store although the answer says `Vary: *`.
    pub vary_star: bool,
    /// Store and reuse although the request carries `Authorization`.
    pub authorization: bool,
    /// Store although the answer sets a cookie (the field itself is still dropped).
    pub set_cookie: bool,
    /// Store and reuse although the request carries cookies.
    pub cookie: bool,
}

/// What a client's `Cache-Control: no-cache` (or `Pragma`) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reload {
    /// Nothing.
    #[default]
    Ignore,
    /// The stored answer is revalidated first.
    Revalidate,
    /// The request passes the cache by; the answer renews it.
    Bypass,
}

/// What an `Age` that comes twice, or is no number, means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OddAge {
    /// The age is not known: the answer is stale on arrival.
    Stale,
    /// RFC 9111 §5.1 to the letter: the first member counts, and what is no number is passed over.
    #[default]
    First,
}

/// What the operator wishes for one request, lowered from the rule that was chosen.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The lifetime policy.
    pub lifetime: LifetimeWish,
    /// Upper bound of any lifetime, ms.
    pub lifetime_max_ms: Option<u64>,
    /// Part of the time since Last-Modified taken as a lifetime; 0 turns heuristics off.
    pub heuristic_factor: f64,
    /// Upper bound of a heuristic lifetime, ms.
    pub heuristic_max_ms: u64,
    /// With [`LifetimeWish::WhenSilent`]: a response with Last-Modified lives by the heuristic instead, as in httpd.
    pub heuristic_first: bool,
    /// Smallest body stored, bytes.
    pub min_bytes: u64,
    /// Largest body stored, bytes; `u64::MAX` for no bound of the rule's own.
    pub max_bytes: u64,
    /// What is stored against HTTP's word.
    pub overrides: Overrides,
    /// Store an answer with `Set-Cookie`, without the field (`set_cookie = "strip"`).
    pub set_cookie_strip: bool,
    /// Media types stored (`image/*` allowed); empty for all.
    pub only_type: Vec<String>,
    /// Statuses stored; empty for HTTP's own list.
    pub only_status: Vec<u16>,
    /// Fields dropped from the answer before it is stored or sent.
    pub drop_fields: Vec<HeaderName>,
    /// What the client is told instead of the origin's Cache-Control.
    pub client_cache_control: Option<HeaderValue>,
    /// What a client's reload does.
    pub reload: Reload,
    /// Stale allowance while a refresh runs, ms, if the origin gives none.
    pub stale_while_revalidate_ms: Option<u64>,
    /// Stale allowance if the origin fails, ms, if the origin gives none.
    pub stale_if_error_ms: Option<u64>,
    /// Stale allowance if the origin cannot be reached at all, ms; 0 for none.
    pub stale_if_unreachable_ms: u64,
    /// How long an answer that went stale is still asked about or used, ms; `None` for as long as it is stored.
    pub keep_ms: Option<u64>,
    /// What an `Age` that comes twice, or is no number, means.
    pub odd_age: OddAge,
    /// Honour the request directives max-age, min-fresh, max-stale (RFC 9111 §5.2.1). `only-if-cached` always holds.
    pub request_directives: bool,
}

/// What policy must know of a request. `relevant_cookies` is decided by `rules` (ignored ones do not count,
/// ones in the key do not count).
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// The method.
    pub method: &'a Method,
    /// The fields, as they came.
    pub headers: &'a HeaderMap,
    /// True if the request carries a cookie that may matter.
    pub relevant_cookies: bool,
    /// True if the key's URL has a query.
    pub has_query: bool,
    /// True if the request carries any Cookie field at all (heuristic lifetimes want none).
    pub any_cookies: bool,
}

/// When an exchange with the origin ran (RFC 9111 §4.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When the request was sent.
    pub requested: Now,
    /// When the answer's head arrived.
    pub answered: Now,
}

/// What is remembered of an answer's freshness, made once when it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Freshness lifetime, ms; `u64::MAX` for "until changed".
    pub lifetime_ms: u64,
    /// Where the lifetime comes from.
    pub source: Lifetime,
    /// Corrected initial age at `stored_mono_ms` (RFC 9111 §4.2.3), ms.
    pub initial_age_ms: u64,
    /// The monotonic moment the answer arrived, ms.
    pub stored_mono_ms: u64,
    /// Stale allowance while a refresh runs, ms.
    pub stale_while_revalidate_ms: u64,
    /// Stale allowance if the origin fails, ms.
    pub stale_if_error_ms: u64,
    /// Stale allowance if the origin cannot be reached, ms.
    pub stale_if_unreachable_ms: u64,
    /// Never reused without asking the origin (`no-cache`).
    pub always_revalidate: bool,
    /// Never reused stale (`must-revalidate`, `proxy-revalidate`, `s-maxage`).
    pub must_revalidate: bool,
    /// Reusable for requests with Authorization (RFC 9111 §3.5).
    pub shared_despite_authorization: bool,
    /// The lifetime is the origin's own explicit word (`s-maxage`, `max-age`, `Expires`, targeted fields):
    /// request cookies do not matter then.
    pub explicit: bool,
    /// The answer has an ETag or Last-Modified.
    pub has_validator: bool,
}

/// The verdict on storing an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreDecision {
    /// `Some` if it is stored, with what is remembered.
    pub freshness: Option<Freshness>,
    /// Why, or why not.
    pub reason: Store,
    /// The words of `override` that made the difference, for the trace.
    pub overridden: Vec<&'static str>,
}

/// What to do with a stored answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Serve it.
    Serve,
    /// Serve it and refresh it in the background.
    ServeAndRefresh,
    /// Ask the origin, conditionally if it has a validator. `stale_if_error` says that it may be served if the
    /// origin fails now.
    Revalidate {
        /// May be served if the origin fails.
        stale_if_error: bool,
    },
    /// Parts of it are here and are fresh, but not those wanted: fetch what is missing.
    Complete,
    /// It is too old to be asked about: fetch anew, as if nothing were stored.
    Refetch,
    /// Do not use it for this request; the request passes.
    Pass,
}

/// The verdict on reusing a stored answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReuseDecision {
    /// What to do.
    pub verdict: Verdict,
    /// Why.
    pub reason: Lookup,
    /// Current age, ms.
    pub age_ms: u64,
    /// Remaining freshness, ms; negative when stale; `i64::MAX` for "until changed".
    pub ttl_ms: i64,
}

/// The request fields an answer varies by, with the values of the request that fetched it, normalised by the
/// caller. Names are lower case and sorted.
pub type VaryValues = Vec<(HeaderName, Option<HeaderValue>)>;

/// What a conditional or range request gets out of a complete 200 answer (RFC 9110 §13, §14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// The whole answer with its own status.
    Whole,
    /// 304 without a body.
    NotModified,
    /// 412 without a body.
    PreconditionFailed,
    /// 206 with one range, `start..end` (end exclusive), `Content-Range` to be written with the total.
    Range {
        /// First byte.
        start: u64,
        /// One past the last byte.
        end: u64,
    },
    /// 206 multipart/byteranges, ranges in the order asked, each `start..end` (end exclusive).
    Ranges(Vec<(u64, u64)>),
    /// 416 with `Content-Range: bytes */total`.
    Unsatisfiable,
}

/// The parts of a Cache-Status field of ours (RFC 9211).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CacheStatus {
    /// The answer came from the cache.
    pub hit: bool,
    /// Why the request went forward: `bypass`, `method`, `uri-miss`, `vary-miss`, `miss`, `request`, `stale`, `partial`.
    pub fwd: Option<&'static str>,
    /// The origin's status, if it differs from what is sent.
    pub fwd_status: Option<u16>,
    /// The answer was stored.
    pub stored: bool,
    /// The request shared another's fetch.
    pub collapsed: bool,
    /// Remaining freshness, s.
    pub ttl_s: Option<i64>,
    /// Our reason code.
    pub detail: Option<&'static str>,
}

/// What a status answered by an origin means for reuse and conditions; kept with [`Freshness`].
pub type Status = StatusCode;
