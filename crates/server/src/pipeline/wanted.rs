//! One attempt for a fetch of the cache, as long as somebody waits for what it brings, and for a while after.
//!
//! Whoever is next may want what an impatient client has set going, so a fetch outlives it; but not for as long as an origin
//! may take, or clients that come and go would hold all of its connections. Not here: the attempt itself (`attempt`), and
//! what becomes of a body that nobody reads (`take_in`).

use super::answered;
use super::attempt::{Got, Problem, Question};
use crate::state::Target;
use samovar_cache::Ticket;
use samovar_origin::UpstreamLimits;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Asks the target. `background`: it is wanted though nobody waits.
///
/// # Errors
/// As of the attempt; and that it was given up.
pub(super) async fn attempt(
    question: Box<Question>,
    ticket: &Ticket,
    background: bool,
) -> Result<Box<Got>, Box<Problem>> {
    if background {
        return answered::attempt(question, None, None).await;
    }
    let abandon_after = abandon_after(&question);
    let mut attempt = pin!(answered::attempt(question, None, None));
    let mut patience = None;
    poll_fn(|cx| {
        if let Poll::Ready(result) = attempt.as_mut().poll(cx) {
            return Poll::Ready(result);
        }
        if !ticket.poll_deserted(cx) {
            patience = None;
            return Poll::Pending;
        }
        let sleep = patience.get_or_insert_with(|| Box::pin(tokio::time::sleep(abandon_after)));
        if sleep.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if ticket.give_up() {
            return Poll::Ready(Err(Box::new(Problem::deserted())));
        }
        // Somebody has come; whoever comes or goes from here on wakes this.
        patience = None;
        Poll::Pending
    })
    .await
}

/// What the target's settings say. Of files and the applications that run some of them: the longest.
fn abandon_after(question: &Question) -> Duration {
    let snapshot = &question.snapshot;
    let limits = |id| match snapshot.target(id).map(|target| &**target) {
        Some(Target::Http(upstream)) => Some(upstream.settings().limits.abandon_after),
        Some(Target::FastCgi(scripts)) => Some(scripts.app.settings().limits.abandon_after),
        Some(Target::Files(_)) | None => None,
    };
    let handlers = question.route.site_in(snapshot).map(|site| &site.handlers[..]).unwrap_or_default();
    let of_handlers = || handlers.iter().filter_map(|(_, id)| limits(*id)).max();
    limits(question.route.target)
        .or_else(of_handlers)
        .unwrap_or_else(|| UpstreamLimits::default().abandon_after)
}
