//! A body comes in: into the cache, as far as it may be stored, and to all who read along.
//!
//! Not here: what becomes of it afterwards (`fill`, `part`).

use super::fill::Job;
use bytes::Bytes;
use http_body_util::BodyExt;
use samovar_cache::{FillFailure, Sink};
use samovar_origin::AnswerBody;
use samovar_reason::{Store, Upstream};
use std::sync::Arc;

/// A fill that nobody reads any more goes on if no more than this is left of it, bytes.
const WORTH_FETCHING_BYTES: u64 = 16 * 1024 * 1024;

/// How a body broke off.
pub(super) struct Broken {
    store: Store,
    failure: FillFailure,
}

impl Broken {
    fn new(store: Store, reason: Upstream, detail: impl Into<Arc<str>>) -> Broken {
        Broken { store, failure: FillFailure { reason, detail: detail.into() } }
    }

    /// Tells everyone who reads.
    pub(super) fn end(self, sink: Sink) -> Store {
        sink.fail(self.failure);
        self.store
    }
}

/// Takes a body in. If it is known how many bytes there are to be in all, no more than these are handed on: whoever reads
/// along was told a length, and would take what is too much for what comes next.
pub(super) async fn take_in(
    job: &Job,
    sink: &mut Sink,
    body: AnswerBody,
    announced: Option<u64>,
) -> Result<(), Broken> {
    let mut frames = match body {
        AnswerBody::Empty | AnswerBody::Switched(_) => return whole(sink, announced),
        AnswerBody::Bytes(bytes) => {
            push(sink, bytes, announced)?;
            return whole(sink, announced);
        }
        AnswerBody::File { file, offset, len } => samovar_origin::file_stream(file, offset, len),
        AnswerBody::Stream { frames, .. } => frames,
    };
    loop {
        if !sink.room().await || (!job.background && abandoned(sink, announced)) {
            return Err(Broken::new(Store::Abandoned, Upstream::ClientGone, "every client left"));
        }
        match frames.frame().await {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    push(sink, data, announced)?;
                }
                // Whoever has its last byte may ask for more at once: by then it is stored.
                if frames.is_end_stream() {
                    return whole(sink, announced);
                }
            }
            Some(Err(failure)) => {
                return Err(Broken::new(Store::Incomplete, failure.reason, failure.detail));
            }
            None => return whole(sink, announced),
        }
    }
}

fn push(sink: &mut Sink, data: Bytes, announced: Option<u64>) -> Result<(), Broken> {
    if announced.is_some_and(|bytes| sink.arrived_bytes() + data.len() as u64 > bytes) {
        return Err(not_as_announced());
    }
    sink.push(data);
    Ok(())
}

fn whole(sink: &Sink, announced: Option<u64>) -> Result<(), Broken> {
    if announced.is_none_or(|bytes| bytes == sink.arrived_bytes()) {
        return Ok(());
    }
    Err(not_as_announced())
}

fn not_as_announced() -> Broken {
    let detail = "the body is not as long as announced";
    Broken::new(Store::Incomplete, Upstream::ShortBody, detail)
}

/// Nobody reads it or is about to, and what is left is more than is worth fetching for nobody.
fn abandoned(sink: &Sink, announced: Option<u64>) -> bool {
    // In this order: whoever waits begins to read before it ceases to wait.
    if sink.waiting() > 0 || sink.readers() > 0 {
        return false;
    }
    match announced {
        Some(bytes) => bytes.saturating_sub(sink.arrived_bytes()) > WORTH_FETCHING_BYTES,
        None => sink.arrived_bytes() > WORTH_FETCHING_BYTES,
    }
}
