//! The head of a stored answer as one block of bytes: key, what is remembered of it, its fields.
//!
//! Not here: how fields are packed (`fields`), what lies beside the block (`entry`).

use crate::entry::EntryHead;
use crate::fields;
use crate::pairs::Pairs;
use crate::walk::{Walk, put_number};
use http::StatusCode;
use samovar_policy::Freshness;
use samovar_reason::Lifetime;

/// What is remembered begins with as many bytes that every hit finds without a walk.
const FIXED_BYTES: usize = 5;

/// Key, what is remembered, fields, in that order; the end of a body may follow.
pub(crate) fn pack(key: &str, head: &EntryHead, answered_ms: u64, pairs: &Pairs) -> Vec<u8> {
    let text: usize = head.headers.iter().map(|(n, v)| n.as_str().len() + v.len() + 4).sum();
    let mut packed = Vec::with_capacity(text);
    fields::pack(&mut packed, &head.headers, pairs, key);
    let mut out = Vec::with_capacity(key.len() + 96 + packed.len());
    out.extend_from_slice(key.as_bytes());
    let f = &head.freshness;
    let flags =
        [f.always_revalidate, f.must_revalidate, f.shared_despite_authorization, f.explicit, f.has_validator];
    let flags = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
    let [status_low, status_high] = head.status.as_u16().to_le_bytes();
    // What every hit looks at is found without a walk; how long the rest is stands first, once it is known.
    out.extend_from_slice(&[0, status_low, status_high, f.source as u8, flags]);
    put_number(&mut out, packed.len() as u64);
    // "Until changed" is the largest number; turned round it is the smallest, and a byte.
    put_number(&mut out, f.lifetime_ms.wrapping_add(1));
    put_number(&mut out, f.initial_age_ms);
    put_number(&mut out, answered_ms);
    put_number(&mut out, f.stored_mono_ms.wrapping_sub(answered_ms));
    put_number(&mut out, f.stale_while_revalidate_ms);
    put_number(&mut out, f.stale_if_error_ms);
    put_number(&mut out, f.stale_if_unreachable_ms);
    put_number(&mut out, head.epoch);
    let remembered_bytes = out.len() - key.len();
    if let Some(first) = out.get_mut(key.len()) {
        // Nine numbers of ten bytes at most.
        *first = remembered_bytes as u8;
    }
    out.extend_from_slice(&packed);
    out
}

/// What is remembered of an answer beside its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remembered {
    pub freshness: Freshness,
    pub answered_ms: u64,
    pub epoch: u64,
}

/// What is remembered, out of what follows the key.
pub(crate) fn remembered(after_key: &[u8]) -> Remembered {
    let mut walk = Walk::new(after_key, 3);
    let source = Lifetime::ALL.get(usize::from(walk.byte())).copied().unwrap_or(Lifetime::None);
    let flags = walk.byte();
    let flag = |n: u8| flags & (1 << n) != 0;
    let _fields_bytes = walk.number();
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
    let (from, to) = fields_at(after_key);
    after_key.get(from..to).unwrap_or_default()
}

/// What follows the fields, out of what follows the key.
pub(crate) fn after_fields(after_key: &[u8]) -> &[u8] {
    let (_, to) = fields_at(after_key);
    after_key.get(to..).unwrap_or_default()
}

/// Where the fields begin and end, out of what follows the key.
fn fields_at(after_key: &[u8]) -> (usize, usize) {
    let from = usize::from(after_key.first().copied().unwrap_or(0));
    (from, from.saturating_add(Walk::new(after_key, FIXED_BYTES).number() as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use http::{HeaderMap, HeaderValue, header};
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

    proptest! {
        #[test]
        fn what_is_packed_comes_out_as_it_was(
            key in "\\PC{0,80}",
            freshness in freshness(),
            rest in proptest::collection::vec(any::<u8>(), 0..9),
            (answered_ms, epoch, status) in (any::<u64>(), any::<u64>(), 100_u16..1_000),
        ) {
            let headers = HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("\"x\""))]);
            let status = StatusCode::from_u16(status).unwrap();
            let head = EntryHead {
                status, headers: headers.clone(), freshness, epoch,
                vary: Vec::new(), tags: Vec::new(), reason: Store::Stored, rule: "".into(),
            };
            let pairs = Pairs::new(&Budget::new(1 << 20));
            let mut block = pack(&key, &head, answered_ms, &pairs);
            block.extend_from_slice(&rest);
            prop_assert_eq!(&block[..key.len()], key.as_bytes());
            let after_key = &block[key.len()..];
            let got = remembered(after_key);
            prop_assert_eq!(got.freshness, freshness);
            prop_assert_eq!((got.answered_ms, got.epoch), (answered_ms, epoch));
            prop_assert_eq!(super::status(after_key), status);
            let packed = packed_fields(after_key);
            prop_assert_eq!(fields::unpack(packed, &pairs), headers);
            prop_assert_eq!(after_fields(after_key), &rest);
        }

        /// Whatever the bytes are, reading them ends and stops at nothing.
        #[test]
        fn no_bytes_stop_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (remembered(&bytes), status(&bytes), packed_fields(&bytes), after_fields(&bytes));
        }
    }
}
