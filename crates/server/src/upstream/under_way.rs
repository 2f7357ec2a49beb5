//! What a request occupies while it is under way: a place on its member, and behind the gates; and what its end says of the
//! member.
//!
//! Given back with the last byte of the answer's body, or when that is dropped. Not here: choosing the member.

use super::{Places, Upstream};
use crate::clock;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use samovar_balance::{Attempt, Heard, Reached};
use samovar_origin::{AnswerBody, Failure};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// See the file's head.
pub(super) struct UnderWay {
    upstream: Arc<Upstream>,
    member: usize,
    heard: bool,
    places: Places,
}

impl UnderWay {
    /// The member was chosen.
    pub(super) fn new(upstream: &Arc<Upstream>, member: usize, places: Places) -> UnderWay {
        UnderWay { upstream: Arc::clone(upstream), member, heard: false, places }
    }

    /// The head came (how long that took, µs), or the attempt failed.
    pub(super) fn heard(&mut self, how: Result<u64, Attempt>) {
        self.heard = true;
        let upstream = &self.upstream;
        let now_ms = clock::mono_ms();
        let mut balancer = upstream.balancer();
        let heard = balancer.heard(now_ms, self.member, how);
        match heard {
            Heard::Same => return,
            Heard::Aside => {}
            Heard::Back => balancer.level_bytes(self.member, &|at| upstream.carried(at)),
            Heard::Recalled => (0..upstream.members.len())
                .for_each(|member| balancer.level_bytes(member, &|at| upstream.carried(at))),
        }
        drop(balancer);
        let target = upstream.target(self.member);
        match (heard, how) {
            (Heard::Same, _) => {}
            (Heard::Recalled, _) => {
                let name = &upstream.settings.name;
                crate::say!(
                    "samovar: upstream {name}: all in use fail, so those left alone are in use again"
                );
            }
            (Heard::Aside, Err(Attempt::Status(status))) => {
                crate::say!("samovar: upstream {target} is left alone for a while: it answered {status}");
            }
            (Heard::Aside, Err(Attempt::Failed(why, _))) => {
                crate::say!("samovar: upstream {target} is left alone for a while: {why}");
            }
            (Heard::Back, _) | (Heard::Aside, Ok(_)) => {
                crate::say!("samovar: upstream {target} answers again and is taken back");
            }
        }
    }

    /// Another member is asked: this one is free, the places are kept.
    pub(super) fn give_up(mut self) -> Places {
        std::mem::take(&mut self.places)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.upstream.balancer().released(self.member, !self.heard);
    }
}

/// An answer's body with what its request occupies.
struct Carried {
    frames: Pin<Box<dyn Body<Data = Bytes, Error = Failure>>>,
    under_way: Option<UnderWay>,
}

/// The body; with its end, or its reader's, `under_way` ends.
pub(super) fn carried(body: AnswerBody, under_way: UnderWay) -> AnswerBody {
    match body {
        AnswerBody::Stream { len, frames } => {
            AnswerBody::Stream { len, frames: Box::pin(Carried { frames, under_way: Some(under_way) }) }
        }
        AnswerBody::Switched(mut switched) => {
            switched.hold(under_way);
            AnswerBody::Switched(switched)
        }
        whole => whole,
    }
}

impl Body for Carried {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let frame = self.frames.as_mut().poll_frame(cx);
        match &frame {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(_))) => {
                // Not every reader asks for the end after the last piece.
                if self.frames.is_end_stream() {
                    self.under_way = None;
                }
            }
            Poll::Ready(Some(Err(failure))) => {
                if let Some(mut under_way) = self.under_way.take() {
                    under_way.heard(Err(Attempt::Failed(failure.reason, Reached::Answered)));
                }
            }
            Poll::Ready(None) => self.under_way = None,
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.frames.size_hint()
    }
}
