//! Each level of load by itself: what it asked for, what came, and whether it can be trusted.
//!
//! Not here: the whole run ([`super::assemble`]), and what follows from the levels together ([`crate::stats`]).

use super::step::{connections_asked, generator, thread, used, window_s};
use super::{Gathered, StepSeen};
use crate::plan::Plan;
use crate::report::model::Step;
use crate::stats::{Summary, little};
use crate::tally::{Failure, Span};
use crate::verdict::{self, Facts};

/// One for each level, if there were several; those that an early end left out are left out.
pub(super) fn steps(plan: &Plan, gathered: &Gathered) -> Vec<Step> {
    if gathered.steps.len() < 2 {
        return Vec::new();
    }
    let seen = gathered.steps.iter().enumerate().filter(|(_, seen)| seen.tally.counts.requests > 0);
    seen.map(|(number, seen)| step(plan, gathered, number, seen)).collect()
}

/// How many of the clients of a step waited for answers; `None` where they do not always have to.
pub(super) fn waiting(plan: &Plan, gathered: &Gathered, number: usize) -> Option<little::Waiting> {
    let tally = &gathered.steps.get(number)?.tally;
    let times = tally.of(Span::LastByte);
    // Failures take time that is not that of answers, and a counted run ends with clients that have nothing to do.
    let failed = tally.request_failures() * 100 > tally.counts.requests;
    if connections_asked(plan) == 0 || plan.load.count.is_some() || failed || gathered.interrupted {
        return None;
    }
    let clients = plan.load.schedule.steps.get(number)?.level.min(plan.load.clients.into());
    let window_s = window_s(plan, gathered, number);
    let per_s = tally.counts.window_answers as f64 / window_s;
    little::waiting(clients, per_s, times.mean_ns() / 1e3, window_s)
}

/// The step in which the clients that waited and those there were differ most.
pub(super) fn worst_waiting(plan: &Plan, gathered: &Gathered) -> Option<little::Waiting> {
    let all = (0..gathered.steps.len()).filter_map(|number| waiting(plan, gathered, number));
    let off = |waiting: &little::Waiting| waiting.off().map_or(0.0, f64::abs);
    all.max_by(|a, b| off(a).total_cmp(&off(b)))
}

fn step(plan: &Plan, gathered: &Gathered, number: usize, seen: &StepSeen) -> Step {
    let tally = &seen.tally;
    let counts = &tally.counts;
    let elapsed_s = window_s(plan, gathered, number);
    let per_s = |count: u64| if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 };
    let of = |span| Summary::of(tally.of(span));
    let threads: Vec<_> = gathered
        .outcomes
        .iter()
        .filter_map(|outcome| outcome.usage.get(number))
        .filter(|usage| usage.wall_ns >= 500_000_000)
        .map(|usage| generator(&thread(std::slice::from_ref(usage))))
        .collect();
    let servers = used(seen);
    let facts = Facts {
        requests: counts.requests,
        responses: counts.responses,
        request_failures: tally.request_failures(),
        wrong_statuses: tally.failures(Failure::Status),
        median_us: tally.of(Span::LastByte).quantile_us(0.5),
        own_lag_p99_us: tally.of(Span::OwnLag).quantile_us(0.99),
        unsent: counts.unsent,
        threads: threads.clone(),
        interrupted: false,
        waiting: waiting(plan, gathered, number),
        ..Facts::default()
    };
    Step {
        level: plan.load.schedule.steps.get(number).map_or(0.0, |step| step.level),
        start_s: plan.load.schedule.window(number).0 as f64 / 1e9,
        elapsed_s,
        requests: counts.requests,
        responses: counts.responses,
        errors: tally.request_failures(),
        unsent: counts.unsent,
        requests_per_s: per_s(counts.window_answers),
        read_bytes_per_s: per_s(counts.window_read_bytes),
        first_byte: of(Span::FirstByte),
        last_byte: of(Span::LastByte),
        response: of(Span::Response),
        send_lag: of(Span::SendLag),
        server_cores: (!servers.is_empty() && elapsed_s > 0.0)
            .then(|| servers.iter().map(|(cpu_us, ..)| *cpu_us).sum::<u64>() as f64 / 1e6 / elapsed_s),
        generator_busy: threads.iter().map(|thread| thread.busy).fold(0.0, f64::max),
        verdict: verdict::judge(&facts),
    }
}
