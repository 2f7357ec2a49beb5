//! The Cache-Status field (RFC 9211), one member: ours.
//!
//! Not here: what upstream caches wrote, which stays before it in the list.

use crate::types::CacheStatus;
use http::HeaderValue;
use samovar_reason::Lookup;

impl CacheStatus {
    /// `Samovar; hit; ttl=9; detail=fresh`.
    pub fn to_value(&self) -> HeaderValue {
        let mut text = String::with_capacity(64);
        text.push_str("Samovar");
        self.write(&mut text);
        // Tokens and integers only, so this never fails; if it did, our name alone is still true.
        HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("Samovar"))
    }

    fn write(&self, text: &mut String) {
        // RFC 9211 §2.1, §2.2: hit and fwd exclude each other, and what hangs on fwd goes with it.
        let fwd = self.fwd.filter(|_| !self.hit);
        if self.hit {
            text.push_str("; hit");
        } else if let Some(fwd) = fwd.and_then(sf_token) {
            text.extend(["; fwd=", fwd]);
            if let Some(status) = self.fwd_status {
                text.extend(["; fwd-status=", itoa::Buffer::new().format(status)]);
            }
            text.push_str(if self.stored { "; stored" } else { "" });
            text.push_str(if self.collapsed { "; collapsed" } else { "" });
        }
        if let Some(ttl_s) = self.ttl_s {
            let ttl_s = ttl_s.clamp(-SF_INTEGER_MAX, SF_INTEGER_MAX);
            text.extend(["; ttl=", itoa::Buffer::new().format(ttl_s)]);
        }
        if let Some(detail) = self.detail.and_then(sf_token) {
            text.extend(["; detail=", detail]);
        }
    }
}

/// The largest integer a structured field holds (RFC 8941 §3.3.1).
const SF_INTEGER_MAX: i64 = 999_999_999_999_999;

/// Why a request went forward, in RFC 9211's words (§2.2); `None` if it did not.
pub fn fwd_of(reason: Lookup) -> Option<&'static str> {
    match reason {
        Lookup::Fresh
        | Lookup::FreshHot
        | Lookup::StaleWhileRevalidate
        | Lookup::MaxStale
        | Lookup::MaxForwards
        | Lookup::TraceMethod
        | Lookup::OnlyIfCached => None,
        Lookup::Revalidated
        | Lookup::StaleIfError
        | Lookup::StaleUnreachable
        | Lookup::Expired
        | Lookup::PastKeep
        | Lookup::MustRevalidate => Some("stale"),
        Lookup::Joined
        | Lookup::KnownNotStorable
        | Lookup::RuleChanged
        | Lookup::RequestRange
        | Lookup::FillDied
        | Lookup::WaitedTooLong => Some("miss"),
        Lookup::NoEntry | Lookup::Purged => Some("uri-miss"),
        Lookup::VaryMiss | Lookup::CodingUnfit => Some("vary-miss"),
        Lookup::PartMissing => Some("partial"),
        Lookup::MethodNotCached | Lookup::MethodOverride => Some("method"),
        Lookup::RuleNever
        | Lookup::NoSitePolicy
        | Lookup::Protected
        | Lookup::RequestCookie
        | Lookup::RequestBody
        | Lookup::HostNotLearned
        | Lookup::TooManyCookies
        | Lookup::TooManyVariables
        | Lookup::RequestUpgrade => Some("bypass"),
        Lookup::RequestAuthorization
        | Lookup::RequestNoCache
        | Lookup::RequestNoStore
        | Lookup::RequestPrecondition
        | Lookup::RequestFreshness => Some("request"),
    }
}

/// A word that is a structured field's token (RFC 8941 §3.3.4).
fn sf_token(word: &'static str) -> Option<&'static str> {
    let starts = word.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    (starts && word.bytes().all(crate::syntax::is_tchar)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samovar_reason::Explain;

    #[test]
    fn as_the_rfc_writes_it() {
        let hit = CacheStatus { hit: true, ttl_s: Some(9), detail: Some("fresh"), ..CacheStatus::default() };
        assert_eq!(hit.to_value(), "Samovar; hit; ttl=9; detail=fresh");
        let miss = CacheStatus {
            fwd: Some("uri-miss"),
            fwd_status: Some(200),
            stored: true,
            collapsed: true,
            ttl_s: Some(-3),
            ..CacheStatus::default()
        };
        assert_eq!(miss.to_value(), "Samovar; fwd=uri-miss; fwd-status=200; stored; collapsed; ttl=-3");
        assert_eq!(CacheStatus { hit: true, ..miss }.to_value(), "Samovar; hit; ttl=-3");
        assert_eq!(CacheStatus::default().to_value(), "Samovar");
    }

    #[test]
    fn every_code_is_a_token_and_every_fwd_is_registered() {
        let registered = ["bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"];
        for row in samovar_reason::all() {
            assert_eq!(sf_token(row.code), Some(row.code));
        }
        for reason in Lookup::ALL {
            let fwd = fwd_of(*reason);
            assert!(fwd.is_none_or(|word| registered.contains(&word)), "{}", reason.code());
        }
    }

    proptest! {
        /// Read back with the strict parser of `sfv`, as parameters of the one member.
        #[test]
        fn is_a_structured_field(hit: bool, stored: bool, collapsed: bool, fwd: bool, ttl: Option<i64>, status: Option<u16>) {
            let fwd = fwd.then_some("stale");
            let status = CacheStatus { hit, fwd, fwd_status: status, stored, collapsed, ttl_s: ttl, detail: Some("expired") };
            let value = status.to_value();
            let member = value.to_str().unwrap().replacen("Samovar", "samovar", 1);
            prop_assert!(crate::sfv::dictionary(member.as_bytes(), &[]).is_some(), "{}", member);
        }
    }
}
