//! What hyper's errors mean, as reasons. Not here: our own limits, which are no errors of hyper's.

use crate::{Failure, Reached};
use samovar_reason::Upstream;
use std::error::Error as _;
use std::io;

/// An error before the head was whole.
pub(super) fn before_head(error: &hyper::Error, reached: Reached) -> Failure {
    let words = words(error);
    let (reason, reached) = if error.is_parse_too_large() {
        (Upstream::HeadTooLarge, Reached::Answered)
    } else if error.is_parse() {
        (parse_reason(&words), Reached::Answered)
    } else {
        (Upstream::Reset, reached)
    };
    Failure { reason, detail: format!("waiting for the head: {words}"), reached }
}

/// hyper keeps the kinds of parse errors to itself; only their words tell contradictory framing from nonsense.
fn parse_reason(words: &str) -> Upstream {
    if words.contains("content-length") || words.contains("transfer-encoding") {
        Upstream::BadFraming
    } else {
        Upstream::BadHead
    }
}

/// An error after the head, with `got_bytes` of the body received.
pub(super) fn in_body(error: &hyper::Error, got_bytes: u64) -> Failure {
    let kind = io_error(error).map(io::Error::kind);
    let reason = match kind {
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => Upstream::BadFraming,
        _ => Upstream::ShortBody,
    };
    let detail = format!("after {got_bytes} bytes of the body: {}", words(error));
    Failure { reason, detail, reached: Reached::Answered }
}

fn io_error(error: &hyper::Error) -> Option<&io::Error> {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            return Some(io);
        }
        source = inner.source();
    }
    None
}

/// The error and all that caused it, in one line.
fn words(error: &hyper::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_words = inner.to_string();
        if !words.contains(&inner_words) {
            words.push_str(": ");
            words.push_str(&inner_words);
        }
        source = inner.source();
    }
    words
}
