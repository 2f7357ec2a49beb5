//! From what was gathered to the report: sums, rates, shares, verdict.
//!
//! Not here: gathering, and any clock.

use std::collections::BTreeMap;

use super::{Gathered, Wanted};
use crate::plan::Plan;
use crate::report::model::{
    Asked, Bytes, Cache, Connections, Cpu, Errors, Latencies, Point, Run, SCHEMA, Series, Server, Thread,
};
use crate::sender::Outcome;
use crate::stats::Summary;
use crate::tally::{Failure, Tally};
use crate::verdict::{self, Facts, Generator};

pub(super) fn report(plan: &Plan, wanted: &Wanted, gathered: Gathered) -> Run {
    let mut tally = Tally::default();
    for outcome in &gathered.outcomes {
        tally.merge(&outcome.tally);
    }
    let window_s = window_s(plan, &tally, &gathered);
    let per_s = |count: u64| if window_s > 0.0 { count as f64 / window_s } else { 0.0 };
    let cpu = cpu(&gathered, &tally, window_s);
    let asked = asked(plan, wanted, &gathered);
    let bytes = bytes(&tally, &gathered);
    let verdict = verdict::judge(&facts(plan, &tally, &gathered, &cpu));
    let statuses: BTreeMap<u16, u64> = tally.statuses().collect();
    let mut status_classes = BTreeMap::new();
    for (status, count) in &statuses {
        *status_classes.entry(format!("{}xx", status / 100)).or_insert(0) += count;
    }
    let label = wanted.label.clone().or_else(|| asked.urls.first().cloned()).unwrap_or_default();
    Run {
        schema: SCHEMA.to_owned(),
        thirst: env!("CARGO_PKG_VERSION").to_owned(),
        label,
        started_unix_ms: gathered.started_unix_ms,
        asked,
        verdict,
        requests: tally.counts.requests,
        responses: tally.counts.responses,
        unfinished: tally.counts.unfinished,
        interrupted: gathered.interrupted,
        all_requests: tally.counts.all_requests,
        elapsed_s: window_s,
        requests_per_s: per_s(tally.counts.window_answers),
        read_bytes_per_s: per_s(tally.counts.window_read_bytes),
        statuses,
        status_classes,
        errors: errors(&tally),
        latency_us: latencies(&tally),
        bytes,
        cache: cache(&tally),
        connections: Connections {
            attempts: tally.counts.connect_attempts,
            made: tally.counts.connections,
            peak: tally.counts.connections_peak,
            open_at_end: tally.counts.connections_open,
            socket_reads: tally.counts.socket_reads,
            socket_writes: tally.counts.socket_writes,
        },
        cpu,
        series: series(plan, &gathered, window_s),
    }
}

/// Time ends the window, or the last answer of a counted run, or Ctrl-C.
fn window_s(plan: &Plan, tally: &Tally, gathered: &Gathered) -> f64 {
    let start_ns = plan.schedule.window_start_ns();
    let planned_ns = plan.schedule.window_end_ns().unwrap_or(u64::MAX);
    let ended_ns = gathered.outcomes.iter().map(|outcome| outcome.ended_ns).max().unwrap_or(start_ns);
    let counted_out = plan.count.is_some_and(|count| tally.counts.requests >= count);
    let end_ns = if gathered.interrupted {
        planned_ns.min(ended_ns)
    } else if counted_out || planned_ns == u64::MAX {
        planned_ns.min(tally.last_end_ns)
    } else {
        planned_ns
    };
    end_ns.saturating_sub(start_ns) as f64 / 1e9
}

fn asked(plan: &Plan, wanted: &Wanted, gathered: &Gathered) -> Asked {
    Asked {
        urls: plan.requests.iter().map(|request| request.url.clone()).collect(),
        method: wanted.method.clone(),
        load: "closed".to_owned(),
        connections: plan.connections,
        threads: plan.threads,
        count: plan.count,
        warmup_s: plan.schedule.warmup_ns as f64 / 1e9,
        duration_s: plan.schedule.measure_ns.map(|ns| ns as f64 / 1e9),
        cooldown_s: plan.schedule.cooldown_ns as f64 / 1e9,
        timeout_s: plan.timeout_ns as f64 / 1e9,
        keep_alive: plan.keep_alive,
        same_host: gathered.same_host,
    }
}

fn facts(plan: &Plan, tally: &Tally, gathered: &Gathered, cpu: &Cpu) -> Facts {
    Facts {
        requests: tally.counts.requests,
        count: plan.count,
        responses: tally.counts.responses,
        error_statuses: tally.statuses().filter(|(status, _)| *status >= 400).map(|(_, count)| count).sum(),
        request_failures: tally.request_failures(),
        connect_failures: tally.connect_failures(),
        connections_asked: plan.connections.into(),
        connections_peak: tally.counts.connections_peak,
        threads: long_enough_to_tell(gathered, cpu),
        median_us: tally.last_byte.quantile_us(0.5),
        interrupted: gathered.interrupted,
        same_host: gathered.same_host,
        opaque_body_bytes: tally.counts.opaque_body_bytes,
        watch_notes: gathered.notes.clone(),
    }
}

/// Shares of a core mean something only over a window of some length.
fn long_enough_to_tell(gathered: &Gathered, cpu: &Cpu) -> Vec<Generator> {
    let long = |outcome: &Outcome| outcome.usage.wall_ns >= 500_000_000;
    let threads = gathered.outcomes.iter().zip(&cpu.generator).filter(|(outcome, _)| long(outcome));
    let facts = |thread: &Thread| Generator {
        busy: thread.busy,
        starved: thread.starved.unwrap_or(0.0),
        mean_wait_us: thread.mean_wait_us.unwrap_or(0.0),
    };
    threads.map(|(_, thread)| facts(thread)).collect()
}

fn errors(tally: &Tally) -> Errors {
    let seen =
        Failure::ALL.into_iter().map(|f| (f.code().to_owned(), tally.failures(f))).filter(|(_, n)| *n > 0);
    Errors {
        requests: tally.request_failures(),
        connects: tally.connect_failures(),
        unmeasured: tally.counts.unmeasured_failures,
        kinds: seen.collect(),
        samples: tally
            .samples
            .iter()
            .map(|(failure, text)| (failure.code().to_owned(), text.clone()))
            .collect(),
    }
}

fn latencies(tally: &Tally) -> Latencies {
    Latencies {
        connect: Summary::of(&tally.connect),
        first_byte: Summary::of(&tally.first_byte),
        last_byte: Summary::of(&tally.last_byte),
        hit_first_byte: Summary::of(&tally.hit_first_byte),
        hit_last_byte: Summary::of(&tally.hit_last_byte),
        miss_first_byte: Summary::of(&tally.miss_first_byte),
        miss_last_byte: Summary::of(&tally.miss_last_byte),
        failed: Summary::of(&tally.failed),
    }
}

fn bytes(tally: &Tally, gathered: &Gathered) -> Bytes {
    let counts = &tally.counts;
    let plain = counts.body_bytes.saturating_sub(counts.gzip_body_bytes + counts.opaque_body_bytes);
    let unzipped = gathered.ratio.apply(counts.gzip_body_bytes);
    let decoded = unzipped.filter(|_| counts.opaque_body_bytes == 0).map(|unzipped| plain + unzipped);
    Bytes {
        read: counts.wire_read_bytes,
        written: counts.wire_written_bytes,
        heads: counts.head_bytes,
        bodies: counts.body_bytes,
        decoded,
        gzip_bodies: counts.gzip_body_bytes,
        opaque_bodies: counts.opaque_body_bytes,
        decoded_samples: gathered.ratio.bodies,
    }
}

fn cache(tally: &Tally) -> Cache {
    let (hits, misses) = (tally.hit_last_byte.count(), tally.miss_last_byte.count());
    let known = hits + misses;
    Cache {
        hits,
        misses,
        unknown: tally.counts.unknown,
        hit_ratio: (known > 0).then(|| hits as f64 / known as f64),
        hit_body_bytes: tally.counts.hit_body_bytes,
    }
}

fn cpu(gathered: &Gathered, tally: &Tally, window_s: f64) -> Cpu {
    let answers = tally.counts.window_answers.max(1) as f64;
    let thread = |outcome: &Outcome| {
        let wall = outcome.usage.wall_ns.max(1) as f64;
        Thread {
            busy: outcome.usage.cpu_ns as f64 / wall,
            starved: outcome.usage.waited.map(|waited| waited.ns as f64 / wall),
            mean_wait_us: outcome
                .usage
                .waited
                .map(|waited| waited.ns as f64 / 1e3 / waited.turns.max(1) as f64),
            longest_turn_us: outcome.usage.longest_turn_ns as f64 / 1e3,
        }
    };
    let own_ns: u64 = gathered.outcomes.iter().map(|outcome| outcome.usage.cpu_ns).sum();
    let servers: Vec<Server> = gathered
        .roots
        .iter()
        .zip(gathered.before.iter().zip(&gathered.after))
        .map(|(root, (before, after))| {
            let cpu_us = after.cpu_us.saturating_sub(before.cpu_us);
            Server {
                name: root.name.clone(),
                pid: root.pid,
                processes: after.processes,
                found: root.found,
                cpu_us,
                cores: if window_s > 0.0 { cpu_us as f64 / 1e6 / window_s } else { 0.0 },
                us_per_request: cpu_us as f64 / answers,
                rss_bytes: after.rss_bytes,
            }
        })
        .collect();
    Cpu {
        generator: gathered.outcomes.iter().map(thread).collect(),
        generator_us_per_request: own_ns as f64 / 1e3 / answers,
        server_us_per_request: (!servers.is_empty()).then(|| servers.iter().map(|s| s.us_per_request).sum()),
        servers,
    }
}

fn series(plan: &Plan, gathered: &Gathered, window_s: f64) -> Series {
    let window_start_s = plan.schedule.window_start_ns() as f64 / 1e9;
    let points = gathered.series.points().iter().map(|slice| Point {
        at_s: slice.second,
        responses: slice.answers,
        errors: slice.failures,
        read_bytes: slice.read_bytes,
        p50_us: slice.times.quantile_us(0.5),
        p99_us: slice.times.quantile_us(0.99),
    });
    Series {
        interval_s: gathered.series.interval_s(),
        window_start_s,
        window_end_s: window_start_s + window_s,
        points: points.collect(),
    }
}
