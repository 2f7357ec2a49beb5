//! The head of a stored answer as one block of bytes: key, what is remembered of it, its fields.
//!
//! A map of fields takes about 110 bytes a field beside its text, and most of what is stored is never asked for again;
//! packed, a field takes two. Fields are unpacked when an answer is made, as slices of the block: nothing is copied.
//! Not here: what the fields mean (`policy`), what lies beside the block (`entry`).

use crate::entry::EntryHead;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use samovar_policy::Freshness;
use samovar_reason::Lifetime;

/// Names that a byte stands for: 1 for the first. Blocks live no longer than the process, so rows may move.
static NAMES: [HeaderName; 58] = [
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::LAST_MODIFIED,
    header::ETAG,
    header::DATE,
    header::CACHE_CONTROL,
    header::EXPIRES,
    header::VARY,
    header::SERVER,
    header::ACCEPT_RANGES,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::CONTENT_DISPOSITION,
    header::CONTENT_RANGE,
    header::CONTENT_SECURITY_POLICY,
    header::CONTENT_SECURITY_POLICY_REPORT_ONLY,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_ALLOW_METHODS,
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_EXPOSE_HEADERS,
    header::ACCESS_CONTROL_MAX_AGE,
    header::AGE,
    header::ALLOW,
    header::ALT_SVC,
    header::CACHE_STATUS,
    header::CDN_CACHE_CONTROL,
    header::LINK,
    header::LOCATION,
    header::PRAGMA,
    header::REFERRER_POLICY,
    header::REFRESH,
    header::RETRY_AFTER,
    header::STRICT_TRANSPORT_SECURITY,
    header::TRAILER,
    header::UPGRADE,
    header::VIA,
    header::WARNING,
    header::WWW_AUTHENTICATE,
    header::X_CONTENT_TYPE_OPTIONS,
    header::X_DNS_PREFETCH_CONTROL,
    header::X_FRAME_OPTIONS,
    header::X_XSS_PROTECTION,
    HeaderName::from_static("cache-tag"),
    HeaderName::from_static("cross-origin-opener-policy"),
    HeaderName::from_static("cross-origin-resource-policy"),
    HeaderName::from_static("permissions-policy"),
    HeaderName::from_static("priority"),
    HeaderName::from_static("server-timing"),
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("surrogate-key"),
    HeaderName::from_static("timing-allow-origin"),
    HeaderName::from_static("x-cache"),
    HeaderName::from_static("x-powered-by"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("x-robots-tag"),
    HeaderName::from_static("x-ua-compatible"),
];

/// Stands for a name that is written out.
const WRITTEN_OUT: u8 = 0;

/// Room for fields that an answer gets of ours: without it the map would be built twice.
const SPARE_FIELDS: usize = 4;

/// Key, what is remembered, fields, in that order.
pub(crate) fn pack(key: &str, head: &EntryHead, answered_ms: u64) -> Box<[u8]> {
    let text: usize = head.headers.iter().map(|(n, v)| n.as_str().len() + v.len() + 4).sum();
    let mut out = Vec::with_capacity(key.len() + 64 + text);
    out.extend_from_slice(key.as_bytes());
    let f = &head.freshness;
    let flags =
        [f.always_revalidate, f.must_revalidate, f.shared_despite_authorization, f.explicit, f.has_validator];
    let flags = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
    let [status_low, status_high] = head.status.as_u16().to_le_bytes();
    // What every hit looks at is found without a walk; how long the rest is stands first, once it is known.
    out.extend_from_slice(&[0, status_low, status_high, f.source as u8, flags]);
    // "Until changed" is the largest number; turned round it is the smallest, and a byte.
    number(&mut out, f.lifetime_ms.wrapping_add(1));
    number(&mut out, f.initial_age_ms);
    number(&mut out, answered_ms);
    number(&mut out, f.stored_mono_ms.wrapping_sub(answered_ms));
    number(&mut out, f.stale_while_revalidate_ms);
    number(&mut out, f.stale_if_error_ms);
    number(&mut out, f.stale_if_unreachable_ms);
    number(&mut out, head.epoch);
    let remembered_bytes = out.len() - key.len();
    if let Some(first) = out.get_mut(key.len()) {
        // Eight numbers of ten bytes at most.
        *first = remembered_bytes as u8;
    }
    for (name, value) in &head.headers {
        match NAMES.iter().position(|known| known == name) {
            Some(row) => out.push(row as u8 + 1),
            None => {
                out.push(WRITTEN_OUT);
                number(&mut out, name.as_str().len() as u64);
                out.extend_from_slice(name.as_str().as_bytes());
            }
        }
        number(&mut out, value.len() as u64);
        out.extend_from_slice(value.as_bytes());
    }
    out.into_boxed_slice()
}

/// Seven bits a byte, the lowest first; the last has its highest bit clear.
fn number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// What is remembered of an answer beside its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remembered {
    pub freshness: Freshness,
    pub answered_ms: u64,
    pub epoch: u64,
}

/// Reads what `pack` wrote. Past the end there is nothing but zeros: a block is never short, and if it were, an answer
/// without fields is better than none of the others.
struct Walk<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Walk<'b> {
    fn new(bytes: &'b [u8], at: usize) -> Walk<'b> {
        Walk { bytes, at: at.min(bytes.len()) }
    }

    fn byte(&mut self) -> u8 {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                *byte
            }
            None => 0,
        }
    }

    fn number(&mut self) -> u64 {
        let first = self.byte();
        let mut n = u64::from(first & 0x7f);
        let mut more = first >= 0x80;
        let mut shift = 7;
        while more && shift < 64 {
            let byte = self.byte();
            n |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            more = byte >= 0x80;
        }
        n
    }

    fn text(&mut self) -> &'b [u8] {
        let len = self.number() as usize;
        let text = self.bytes.get(self.at..self.at.saturating_add(len)).unwrap_or_default();
        self.at += text.len();
        text
    }
}

/// What is remembered, out of what follows the key.
pub(crate) fn remembered(after_key: &[u8]) -> Remembered {
    let mut walk = Walk::new(after_key, 3);
    let source = Lifetime::ALL.get(usize::from(walk.byte())).copied().unwrap_or(Lifetime::None);
    let flags = walk.byte();
    let flag = |n: u8| flags & (1 << n) != 0;
    let lifetime_ms = walk.number().wrapping_sub(1);
    let initial_age_ms = walk.number();
    let answered_ms = walk.number();
    let freshness = Freshness {
        lifetime_ms,
        source,
        initial_age_ms,
        stored_mono_ms: walk.number().wrapping_add(answered_ms),
        stale_while_revalidate_ms: walk.number(),
        stale_if_error_ms: walk.number(),
        stale_if_unreachable_ms: walk.number(),
        always_revalidate: flag(0),
        must_revalidate: flag(1),
        shared_despite_authorization: flag(2),
        explicit: flag(3),
        has_validator: flag(4),
    };
    Remembered { freshness, answered_ms, epoch: walk.number() }
}

/// The status, out of what follows the key.
pub(crate) fn status(after_key: &[u8]) -> StatusCode {
    let status = match after_key {
        [_, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    };
    StatusCode::from_u16(status).unwrap_or(StatusCode::OK)
}

/// The fields, out of what follows the key.
pub(crate) fn packed_fields(after_key: &[u8]) -> &[u8] {
    let at = after_key.first().copied().unwrap_or(0);
    after_key.get(usize::from(at)..).unwrap_or_default()
}

/// How many fields to make room for: one has about so many bytes. A map that is too small is built twice, and one gets
/// fields of ours besides.
fn room_for(packed: &[u8]) -> usize {
    packed.len() / 16 + SPARE_FIELDS
}

/// The fields as slices of what `pack` wrote.
pub(crate) fn fields(packed: &Bytes) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(room_for(packed).min(64));
    let mut walk = Walk::new(packed, 0);
    while let Some(name) = name(&mut walk) {
        let len = walk.text().len();
        // What was a valid value when it was stored is one now.
        if let Ok(value) = HeaderValue::from_maybe_shared(packed.slice(walk.at - len..walk.at)) {
            map.append(name, value);
        }
    }
    map
}

fn name(walk: &mut Walk<'_>) -> Option<HeaderName> {
    if walk.at >= walk.bytes.len() {
        return None;
    }
    match walk.byte() {
        WRITTEN_OUT => HeaderName::from_bytes(walk.text()).ok(),
        row => NAMES.get(usize::from(row) - 1).cloned(),
    }
}

/// The first value of one field.
pub(crate) fn field<'b>(packed: &'b [u8], wanted: &HeaderName) -> Option<&'b [u8]> {
    let mut walk = Walk::new(packed, 0);
    while let Some(name) = name(&mut walk) {
        let value = walk.text();
        if name == *wanted {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samovar_reason::Store;

    fn freshness() -> impl Strategy<Value = Freshness> {
        let ms = prop_oneof![Just(0_u64), Just(u64::MAX), 0..1_000_000_u64, any::<u64>()];
        (proptest::collection::vec(ms, 6), 0..Lifetime::ALL.len(), any::<[bool; 5]>()).prop_map(
            |(ms, source, flags)| Freshness {
                lifetime_ms: ms[0],
                source: Lifetime::ALL[source],
                initial_age_ms: ms[1],
                stored_mono_ms: ms[2],
                stale_while_revalidate_ms: ms[3],
                stale_if_error_ms: ms[4],
                stale_if_unreachable_ms: ms[5],
                always_revalidate: flags[0],
                must_revalidate: flags[1],
                shared_despite_authorization: flags[2],
                explicit: flags[3],
                has_validator: flags[4],
            },
        )
    }

    fn headers() -> impl Strategy<Value = HeaderMap> {
        let name = prop_oneof![
            (0..NAMES.len()).prop_map(|row| NAMES[row].clone()),
            "[a-z][a-z0-9-]{0,200}".prop_map(|name| HeaderName::from_bytes(name.as_bytes()).unwrap()),
        ];
        let value = proptest::collection::vec(prop_oneof![0x20..=0x7e_u8, 0x80..=0xff_u8], 0..300)
            .prop_map(|value| HeaderValue::from_bytes(&value).unwrap());
        proptest::collection::vec((name, value), 0..12).prop_map(|rows| {
            let mut map = HeaderMap::new();
            for (name, value) in rows {
                map.append(name, value);
            }
            map
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out_as_it_was(
            key in "\\PC{0,80}",
            freshness in freshness(),
            headers in headers(),
            (answered_ms, epoch, status) in (any::<u64>(), any::<u64>(), 100_u16..1_000),
        ) {
            let status = StatusCode::from_u16(status).unwrap();
            let head = EntryHead {
                status, headers, freshness, epoch,
                vary: Vec::new(), tags: Vec::new(), reason: Store::Stored, rule: "".into(),
            };
            let block = pack(&key, &head, answered_ms);
            prop_assert_eq!(&block[..key.len()], key.as_bytes());
            let after_key = &block[key.len()..];
            let got = remembered(after_key);
            prop_assert_eq!(got.freshness, freshness);
            prop_assert_eq!((got.answered_ms, got.epoch), (answered_ms, epoch));
            prop_assert_eq!(super::status(after_key), status);
            let packed = packed_fields(after_key);
            prop_assert_eq!(&fields(&Bytes::copy_from_slice(packed)), &head.headers);
            for name in head.headers.keys().chain(&NAMES) {
                let want = head.headers.get(name).map(HeaderValue::as_bytes);
                prop_assert_eq!(field(packed, name), want);
            }
        }

        /// Whatever the bytes are, reading them ends and stops at nothing.
        #[test]
        fn no_bytes_stop_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (remembered(&bytes), status(&bytes), packed_fields(&bytes));
            let _ = (fields(&Bytes::copy_from_slice(&bytes)), field(&bytes, &header::DATE));
        }
    }

    #[test]
    fn a_name_has_one_row() {
        for (row, name) in NAMES.iter().enumerate() {
            assert_eq!(NAMES.iter().position(|other| other == name), Some(row), "{name}");
        }
    }
}
