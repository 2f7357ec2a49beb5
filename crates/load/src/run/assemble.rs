//! From what was gathered to the report: sums, rates, shares, verdict.
//!
//! Not here: gathering, and any clock; the levels of a run of several ([`super::steps`]).

use std::collections::BTreeMap;

use super::step::{connections_asked, generator, thread, used, window_s};
use super::{Gathered, Wanted, bytes, histograms, steps};
use crate::pacer::Spacing;
use crate::plan::{Full, Plan, Shape};
use crate::report::model::{
    Asked, Cache, Connections, Connects, Cpu, Errors, Latencies, Open, Point, Row, Run, SCHEMA, Series,
    Server, Window,
};
use crate::sender::meter::Usage;
use crate::stats::Summary;
use crate::tally::{Failure, Rows, Span, Tally};
use crate::verdict::{self, Facts, Generator, Grade, Instrument};

pub(super) fn report(plan: &Plan, wanted: &Wanted, gathered: Gathered) -> Run {
    let mut tally = Tally::default();
    gathered.steps.iter().for_each(|step| tally.merge(&step.tally));
    let window = window(&tally);
    gathered.outcomes.iter().for_each(|outcome| tally.merge(&outcome.whole));
    let window_s: f64 = (0..gathered.steps.len()).map(|step| window_s(plan, &gathered, step)).sum();
    let per_s = |count: u64| if window_s > 0.0 { count as f64 / window_s } else { 0.0 };
    let cpu = cpu(&gathered, &tally, window_s);
    let asked = asked(plan, wanted, &gathered);
    let bytes = bytes::bytes(&tally, &gathered.ratios);
    let instrument = instrument(plan, wanted, &tally, &gathered, &cpu, window_s);
    let steps = steps::steps(plan, &gathered);
    let in_doubt = steps.iter().filter(|step| step.verdict.grade > Grade::Valid).count();
    let facts = facts(plan, &tally, &gathered, &cpu, instrument);
    let verdict = verdict::judge(&Facts { steps_in_doubt: (in_doubt, steps.len()), ..facts });
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
            connects: Some(Connects {
                asynchronous: tally.counts.connects_async,
                in_flight_at_end: tally.counts.connecting,
                in_flight_peak: tally.counts.connecting_peak,
                failed_in_a_row: tally.counts.connects_failed_in_a_row,
                given_up: tally.counts.connects_given_up,
            }),
            window: Some(window),
        },
        cpu,
        series: series(plan, &gathered),
        steps,
        rows: rows(&plan.rows, &gathered, |outcome| &outcome.rows),
        rounds: rows(&rounds(plan), &gathered, |outcome| &outcome.rounds),
        unsent: tally.counts.unsent,
        rounds_done: tally.counts.rounds,
        kept: tally.counts.kept,
        changed: tally.counts.changed,
        bundle: None,
        histograms: histograms::histograms(plan, &gathered),
        counters: gathered.counters,
        ended: gathered.ended,
        calibrated_per_s: wanted.calibrated_per_s,
        search: None,
    }
}

/// What the steps saw of connections, before what happened outside them is added.
fn window(measured: &Tally) -> Window {
    let counts = &measured.counts;
    Window {
        attempts: counts.connect_attempts,
        made: counts.connections,
        failed: measured.connect_failures(),
        failed_for_want: measured.failures(Failure::NoPorts) + measured.failures(Failure::NoFiles),
        failed_in_a_row: counts.connects_failed_in_a_row,
        asynchronous: counts.connects_async,
        given_up: counts.connects_given_up,
        socket_reads: counts.socket_reads,
        socket_writes: counts.socket_writes,
    }
}

fn asked(plan: &Plan, wanted: &Wanted, gathered: &Gathered) -> Asked {
    let load = &plan.load;
    let schedule = &load.schedule;
    let open = match load.shape {
        Shape::Closed => None,
        Shape::Open { spacing, full } => Some(Open {
            rate: schedule.highest(),
            spacing: match spacing {
                Spacing::Constant => "constant".to_owned(),
                Spacing::Poisson => "poisson".to_owned(),
            },
            when_full: match full {
                Full::Queue => "queue".to_owned(),
                Full::Drop => "drop".to_owned(),
            },
        }),
    };
    let end_ns = schedule.window_end_ns();
    Asked {
        urls: plan.requests.iter().map(|request| request.url.clone()).collect(),
        servers: plan
            .origins_meant()
            .iter()
            .filter_map(|origin| Some(plan.origins.get(*origin)?.name.clone()))
            .collect(),
        method: wanted.method.clone(),
        load: if open.is_some() { "open" } else { "closed" }.to_owned(),
        open,
        counters: wanted.counted.windows.clone(),
        seed: load.seed,
        think_s: (load.think_ns.1 > 0).then(|| (load.think_ns.0 as f64 / 1e9, load.think_ns.1 as f64 / 1e9)),
        most_per_s: load.most_per_s,
        expect: plan.manners.checks.expect.iter().map(ToString::to_string).collect(),
        until: wanted.until.iter().map(ToString::to_string).collect(),
        // Who holds the rules that fail a run holds them against the report, afterwards.
        fail_if: Vec::new(),
        connections: load.clients,
        threads: load.threads,
        count: load.count,
        warmup_s: schedule.warmup_ns as f64 / 1e9,
        duration_s: end_ns.map(|end| end.saturating_sub(schedule.warmup_ns) as f64 / 1e9),
        cooldown_s: schedule.cooldown_ns as f64 / 1e9,
        timeout_s: load.timeout_ns as f64 / 1e9,
        keep_alive: plan.requests.iter().all(|request| request.close == crate::wcat::Manner::Keep),
        same_host: gathered.same_host,
    }
}

fn facts(plan: &Plan, tally: &Tally, gathered: &Gathered, cpu: &Cpu, instrument: Instrument) -> Facts {
    let wrong_statuses = tally.failures(Failure::Status);
    Facts {
        requests: tally.counts.requests,
        count: plan.load.count,
        responses: tally.counts.responses,
        request_failures: tally.request_failures(),
        wrong_answers: wrong_statuses + tally.failures(Failure::Check) + tally.failures(Failure::Changed),
        wrong_statuses,
        connect_failures: tally.connect_failures(),
        connections_asked: connections_asked(plan),
        connections_peak: tally.counts.connections_peak,
        threads: long_enough_to_tell(gathered, cpu),
        median_us: tally.of(Span::LastByte).quantile_us(0.5),
        interrupted: gathered.interrupted,
        same_host: gathered.same_host,
        opaque_body_bytes: tally.types.total().opaque_bytes,
        broken_bodies: gathered.ratios.all().note(),
        watch_notes: gathered.notes.clone(),
        unsent: tally.counts.unsent,
        own_lag_p99_us: tally.of(Span::OwnLag).quantile_us(0.99),
        changed: tally.counts.changed,
        lost: gathered.lost.clone(),
        ended_early: gathered.ended.is_some(),
        waiting: steps::worst_waiting(plan, gathered),
        steps_in_doubt: (0, 0),
        instrument,
    }
}

fn instrument(
    plan: &Plan,
    wanted: &Wanted,
    tally: &Tally,
    gathered: &Gathered,
    cpu: &Cpu,
    window_s: f64,
) -> Instrument {
    let load = &plan.load;
    let times = if load.is_open() { Span::Response } else { Span::LastByte };
    let carried = &gathered.carried;
    Instrument {
        calibrated_per_s: wanted.calibrated_per_s,
        asked_per_s: load.is_open().then(|| load.schedule.highest()),
        reached_per_s: tally.counts.window_answers as f64 / window_s.max(f64::MIN_POSITIVE),
        window_s,
        clients: load.clients,
        threads: load.threads,
        longest_turn_us: cpu.generator.iter().map(|thread| thread.longest_turn_us).fold(0.0, f64::max),
        p99_us: tally.of(times).quantile_us(0.99),
        no_ports: tally.failures(Failure::NoPorts),
        no_files: tally.failures(Failure::NoFiles),
        links: carried.links(),
        segments: carried.segments,
        segments_again: carried.segments_again,
    }
}

/// Shares of a core mean something only over a window of some length.
fn long_enough_to_tell(gathered: &Gathered, cpu: &Cpu) -> Vec<Generator> {
    let wall_ns = |usage: &[Usage]| usage.iter().map(|usage| usage.wall_ns).sum::<u64>();
    let threads = gathered.outcomes.iter().zip(&cpu.generator);
    threads
        .filter(|(outcome, _)| wall_ns(&outcome.usage) >= 500_000_000)
        .map(|(_, thread)| generator(thread))
        .collect()
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
    let of = |span| Summary::of(tally.of(span));
    Latencies {
        connect: of(Span::Connect),
        first_byte: of(Span::FirstByte),
        last_byte: of(Span::LastByte),
        hit_first_byte: of(Span::HitFirstByte),
        hit_last_byte: of(Span::HitLastByte),
        miss_first_byte: of(Span::MissFirstByte),
        miss_last_byte: of(Span::MissLastByte),
        failed: of(Span::Failed),
        tls: of(Span::Tls),
        response: of(Span::Response),
        send_lag: of(Span::SendLag),
        own_lag: of(Span::OwnLag),
        stale_first_byte: of(Span::StaleFirstByte),
        stale_last_byte: of(Span::StaleLastByte),
        revalidated_first_byte: of(Span::RevalidatedFirstByte),
        revalidated_last_byte: of(Span::RevalidatedLastByte),
        round: of(Span::Round),
    }
}

fn cache(tally: &Tally) -> Cache {
    let count = |span| tally.of(span).count();
    let (hits, misses) = (count(Span::HitLastByte), count(Span::MissLastByte));
    let (stale, revalidated) = (count(Span::StaleLastByte), count(Span::RevalidatedLastByte));
    let known = hits + misses + stale + revalidated;
    Cache {
        hits,
        misses,
        stale,
        revalidated,
        unknown: tally.counts.unknown,
        hit_ratio: (known > 0).then(|| (hits + stale) as f64 / known as f64),
        hit_body_bytes: tally.counts.hit_body_bytes,
    }
}

fn cpu(gathered: &Gathered, tally: &Tally, window_s: f64) -> Cpu {
    let answers = tally.counts.window_answers.max(1) as f64;
    let own_ns: u64 =
        gathered.outcomes.iter().flat_map(|outcome| &outcome.usage).map(|usage| usage.cpu_ns).sum();
    let steps: Vec<Vec<(u64, u64, u32)>> = gathered.steps.iter().map(used).collect();
    let servers: Vec<Server> = gathered
        .roots
        .iter()
        .enumerate()
        .map(|(at, root)| {
            let of_root = || steps.iter().filter_map(|step| step.get(at));
            let cpu_us: u64 = of_root().map(|(cpu_us, ..)| cpu_us).sum();
            let (rss_bytes, processes) =
                of_root().next_back().map_or((0, 0), |(_, rss, count)| (*rss, *count));
            Server {
                name: root.name.clone(),
                pid: root.pid,
                processes,
                found: root.found,
                cpu_us,
                cores: if window_s > 0.0 { cpu_us as f64 / 1e6 / window_s } else { 0.0 },
                us_per_request: cpu_us as f64 / answers,
                rss_bytes,
            }
        })
        .collect();
    Cpu {
        generator: gathered.outcomes.iter().map(|outcome| thread(&outcome.usage)).collect(),
        generator_us_per_request: own_ns as f64 / 1e3 / answers,
        server_us_per_request: (!servers.is_empty()).then(|| servers.iter().map(|s| s.us_per_request).sum()),
        servers,
    }
}

fn series(plan: &Plan, gathered: &Gathered) -> Series {
    let schedule = &plan.load.schedule;
    let window_start_s = schedule.window_start_ns() as f64 / 1e9;
    let last = gathered.steps.len().saturating_sub(1);
    let window_end_s = schedule.window(last).0 as f64 / 1e9 + window_s(plan, gathered, last);
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
        window_end_s,
        points: points.collect(),
    }
}

fn rounds(plan: &Plan) -> Vec<String> {
    match &plan.script {
        crate::plan::Script::Requests(_) => Vec::new(),
        crate::plan::Script::Rounds(rounds) => rounds.all().iter().map(|round| round.name.clone()).collect(),
    }
}

/// The rows that were kept, with their names; one alone says nothing that the whole does not.
fn rows(names: &[String], gathered: &Gathered, of: fn(&crate::sender::Outcome) -> &Rows) -> Vec<Row> {
    let mut all = Rows::default();
    gathered.outcomes.iter().for_each(|outcome| all.merge(of(outcome)));
    if names.len() < 2 {
        return Vec::new();
    }
    let last = all.all().len().saturating_sub(1);
    let shared = names.len().saturating_sub(last);
    let named = all.all().iter().zip(names).enumerate();
    named
        .map(|(at, (row, name))| Row {
            name: if at == last && shared > 1 { format!("{shared} others") } else { name.clone() },
            answers: row.answers,
            failures: row.failures,
            body_bytes: row.body_bytes,
            p50_us: row.times.quantile_us(0.5),
            p99_us: row.times.quantile_us(0.99),
        })
        .collect()
}
