//! For fuzzing and its corpus: any bytes as a head, whole and byte by byte, judged alike and without a panic.

use super::{HeadLimits, leading_empty_lines, parse, slots};
use crate::Limits;

/// Judges `bytes` whole, then as they would come byte by byte.
///
/// # Panics
/// If the two differ: that is what fuzzing looks for.
pub fn judge_bytes(bytes: &[u8]) {
    let limits = HeadLimits::of(&Limits::default());
    let Ok(skip) = leading_empty_lines(bytes) else { return };
    let bytes = bytes.get(skip..).unwrap_or_default();
    let mut room = slots();
    let whole = parse(bytes, &mut 0, &mut room, &limits).map(|head| head.map(|h| (h.len_bytes, h.framing)));
    // Beyond this the pieces would take too long to be worth it.
    if bytes.len() > 2_048 {
        return;
    }
    let mut scanned = 0;
    for end in 1..=bytes.len() {
        let mut room = slots();
        let piece = parse(bytes.get(..end).unwrap_or_default(), &mut scanned, &mut room, &limits);
        match piece.map(|head| head.map(|h| (h.len_bytes, h.framing))) {
            Ok(None) => {}
            done => {
                assert_eq!(done, whole, "whole and in pieces differ");
                return;
            }
        }
    }
    assert_eq!(whole, Ok(None), "whole and in pieces differ");
}
