//! Listening to the sending threads while they run, and looking at the servers at both ends of each window.
//!
//! Not here: starting the threads, and what follows from what they tell.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::{StepSeen, Wanted, decode, progress, watch};
use crate::plan::Plan;
use crate::sender::{Clock, Message, Shared};
use crate::tally::series::{Series, Slice};
use crate::usage::{self, Root, link};

/// What was heard and seen.
pub(super) struct Watched {
    pub series: Series,
    pub ratios: decode::Ratios,
    pub steps: Vec<StepSeen>,
    /// The rule that ended the run, in words.
    pub ended: Option<String>,
}

/// Listens to the threads until the last is done; reads the servers and the interfaces at both ends of each window.
#[allow(clippy::too_many_arguments, reason = "each is another part of the run, and there is one caller")]
pub(super) fn collect(
    plan: &Plan,
    wanted: &Wanted,
    roots: &[Root],
    clock: Clock,
    inbox: &Receiver<Message>,
    shared: &Shared,
    carried: &mut link::Watch,
    tell: &mut dyn FnMut(&Slice),
) -> Watched {
    let schedule = &plan.load.schedule;
    let mut progress = progress::Progress::new(wanted.progress, schedule.clone(), plan.load.count);
    let mut series = Series::default();
    let mut ratios = decode::Ratios::default();
    let mut steps: Vec<StepSeen> = schedule.steps.iter().map(|_| StepSeen::default()).collect();
    let mut present: Option<usize> = None;
    let mut watch = watch::Watch::new(&wanted.until, schedule);
    let mut ended = None;
    loop {
        let now_ns = clock.now_ns();
        let phase = schedule.phase_at(now_ns).measured().map(usize::from);
        if phase != present {
            let reading = usage::read(roots);
            if let Some(step) = present.and_then(|step| steps.get_mut(step)) {
                step.after = Some(reading.clone());
            }
            if let Some(step) = phase.and_then(|step| steps.get_mut(step)) {
                step.before = Some(reading);
            }
            carried.pass(now_ns, phase.is_some());
            present = phase;
        }
        let wait =
            Duration::from_nanos(schedule.next_edge_ns(now_ns).saturating_sub(now_ns).min(200_000_000));
        match inbox.recv_timeout(wait) {
            Ok(Message::Slice(slice)) => {
                tell(&slice);
                progress.add(&slice);
                series.add(&slice);
                watch.add(&slice);
            }
            Ok(Message::Step(number, tally)) => {
                if let Some(step) = steps.get_mut(usize::from(number)) {
                    step.tally.merge(&tally);
                    step.tally.pack();
                }
            }
            Ok(Message::Sample(sample)) => {
                ratios.add(sample.media, sample.coding, &sample.body);
                shared.samples_out.fetch_sub(1, Ordering::Relaxed);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some((rule, value)) = watch.broken(clock.now_ns()).filter(|_| ended.is_none()) {
            ended = Some(format!("{rule} held: it was {}", rule.shown(value)));
            shared.enough.store(true, Ordering::Relaxed);
        }
        progress.show(clock.now_ns());
    }
    progress.clear();
    carried.pass(clock.now_ns(), false);
    if let Some(step) = present.and_then(|step| steps.get_mut(step)) {
        step.after = Some(usage::read(roots));
    }
    Watched { series, ratios, steps, ended }
}
