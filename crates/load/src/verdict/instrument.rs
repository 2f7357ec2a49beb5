//! What speaks against the instrument itself: its own ceiling, gaps in its loop, and what the machine ran out of.
//!
//! Pure. Not here: the CPU of the sending threads and the lateness of what they send ([`super`]).

use super::{Code, Facts, Grade, share};
use crate::report::units;

/// What the machine and the way to the server were like.
#[derive(Clone, Debug, Default)]
pub struct Instrument {
    /// Requests per second that the same threads managed against a server that does nothing.
    pub calibrated_per_s: Option<f64>,
    /// Requests per second asked for, if the clock says when they are sent; of several levels the highest.
    pub asked_per_s: Option<f64>,
    /// Answers per second.
    pub reached_per_s: f64,
    /// Length of the measured window.
    pub window_s: f64,
    /// Requests in flight, at most.
    pub clients: u32,
    /// Threads that send.
    pub threads: u32,
    /// The longest time one of them did not look at its sockets, and was not waiting for them.
    pub longest_turn_us: f64,
    /// The 99th percentile of what is reported as the time people wait.
    pub p99_us: f64,
    /// Connects for which no local port was free.
    pub no_ports: u64,
    /// Connects for which no file descriptor was free.
    pub no_files: u64,
    /// The interfaces that lead to servers on other hosts, if their speed is known.
    pub links: Vec<Link>,
    /// TCP segments this host sent in the window, to whomever.
    pub segments: u64,
    /// Of these, sent again.
    pub segments_again: u64,
}

/// An interface in the measured window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Bytes per second in its busier direction, of all that used it.
    pub bytes_per_s: f64,
    /// Bytes per second it can carry each way.
    pub limit_bytes_per_s: f64,
}

/// Above this share of its ceiling a generator is no longer idle enough to be believed.
const NEAR_CEILING: f64 = 0.7;
/// A thread with less to do than this is nowhere near its ceiling: what was calibrated was disturbed.
const AT_WORK: f64 = 0.5;
/// Shorter gaps are what any system does.
const GAP_FREE_US: f64 = 1_000.0;
/// A gap is large that can have made as much of the 99th percentile.
const GAP_OF_P99: f64 = 0.5;
/// In a gap that is this share of the window nothing was sent, and the rate is that much off.
const GAP_OF_WINDOW: f64 = 0.05;
/// A link that carries more than this share of its speed is full: the rest are pauses between frames.
const LINK_FULL: f64 = 0.85;
/// Of what a host sends, this share is sent again only where something is wrong …
const AGAIN: f64 = 0.01;
/// … and not because two connections were unlucky.
const AGAIN_LEAST: u64 = 50;

/// `full`: a thread without a pause has been found already.
pub(super) fn judge(facts: &Facts, full: bool, add: &mut impl FnMut(Grade, Code, String)) {
    let it = &facts.instrument;
    ceiling(facts, full, add);
    let gap_us = gap_in_p99_us(it, facts.requests);
    let gap_of_window = it.longest_turn_us / 1e6 / it.window_s.max(f64::MIN_POSITIVE);
    if gap_of_window > GAP_OF_WINDOW && it.longest_turn_us > GAP_FREE_US {
        let hence = match it.asked_per_s {
            Some(_) => "what was due then went out late",
            None => "fewer requests were sent than the server let us send",
        };
        let text = format!(
            "a sending thread stood still for {}, {:.0} % of what was measured: {hence}",
            units::time(it.longest_turn_us),
            gap_of_window.min(1.0) * 100.0
        );
        add(Grade::Suspect, Code::LoopGap, text);
    } else if it.longest_turn_us > GAP_FREE_US && gap_us > it.p99_us * GAP_OF_P99 {
        let text = format!(
            "a sending thread did not look at its sockets for {}: answers waited for it, and that alone can make a 99th percentile of {}",
            units::time(it.longest_turn_us),
            units::time(gap_us)
        );
        add(Grade::Suspect, Code::LoopGap, text);
    }
    if it.no_ports > 0 {
        let text = format!(
            "{} found no free local port: a pair of addresses has some 28,000, and each is kept for a minute after its connection ends",
            units::many(it.no_ports, "connect")
        );
        add(Grade::Suspect, Code::NoPorts, text);
    }
    if it.no_files > 0 {
        let text = format!("{} found no free file descriptor", units::many(it.no_files, "connect"));
        add(Grade::Suspect, Code::NoFiles, text);
    }
    network(it, add);
}

fn ceiling(facts: &Facts, full: bool, add: &mut impl FnMut(Grade, Code, String)) {
    let it = &facts.instrument;
    let Some(most) = it.calibrated_per_s.filter(|most| *most > 0.0) else { return };
    let awake = facts.threads.iter().map(|thread| thread.busy + thread.starved).fold(0.0, f64::max);
    if awake < AT_WORK && !facts.threads.is_empty() {
        return;
    }
    let (what, rate) = match it.asked_per_s {
        Some(asked) if asked >= it.reached_per_s => ("asked for", asked),
        // Who was full has reached all it could, whatever that was a moment before.
        _ if full => return,
        _ => ("reached", it.reached_per_s),
    };
    if rate > most * NEAR_CEILING {
        let text = format!(
            "{} requests/s were {what}, {:.0} % of the {} that these threads manage against a server that does nothing, beside them on this machine: the times hold our own queue",
            units::rate(rate),
            rate / most * 100.0,
            units::rate(most)
        );
        add(Grade::Suspect, Code::GeneratorCeiling, text);
    }
}

/// The 99th percentile that the longest gap would make in a run whose answers take no time otherwise. Those that fall into
/// the gap wait for its end, from not at all to all of it; in a closed loop these are no more than are in flight.
fn gap_in_p99_us(it: &Instrument, requests: u64) -> f64 {
    let threads = f64::from(it.threads.max(1));
    let hit = match it.asked_per_s {
        Some(_) if it.window_s > 0.0 => it.longest_turn_us / 1e6 / it.window_s / threads,
        Some(_) => 0.0,
        // Without a thousand answers there is no 99th percentile to speak of.
        None if requests < 1000 => 0.0,
        None => f64::from(it.clients) / threads / requests as f64,
    };
    if hit > 0.01 { it.longest_turn_us * (1.0 - 0.01 / hit.min(1.0)) } else { 0.0 }
}

fn network(it: &Instrument, add: &mut impl FnMut(Grade, Code, String)) {
    let full = |link: &&Link| link.bytes_per_s > link.limit_bytes_per_s * LINK_FULL;
    for link in it.links.iter().filter(full) {
        let text = format!(
            "{} carried {}/s of the {}/s it can: the network was measured, and the server can do at least this much",
            link.name,
            units::bytes(link.bytes_per_s),
            units::bytes(link.limit_bytes_per_s)
        );
        add(Grade::Suspect, Code::NetworkFull, text);
    }
    let again = share(it.segments_again, it.segments);
    if it.segments_again >= AGAIN_LEAST && again > AGAIN {
        let text = format!(
            "{:.1} % of the segments that this host sent were sent again: something loses packets, and each waits for 0.2 s or more",
            again * 100.0
        );
        add(Grade::Suspect, Code::Retransmits, text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Generator, judge};
    use super::*;
    use proptest::prelude::*;

    fn good() -> Facts {
        Facts {
            requests: 100_000,
            responses: 100_000,
            threads: vec![Generator { busy: 0.6, starved: 0.01, mean_wait_us: 5.0 }],
            median_us: 1_000.0,
            instrument: Instrument {
                reached_per_s: 10_000.0,
                window_s: 10.0,
                clients: 10,
                threads: 1,
                p99_us: 3_000.0,
                segments: 200_000,
                ..Instrument::default()
            },
            ..Facts::default()
        }
    }

    #[test]
    fn table() {
        type Change = fn(&mut Facts);
        let cases: &[(&str, Change, Option<Code>)] = &[
            ("nothing known", |_| {}, None),
            ("well below", |f| f.instrument.calibrated_per_s = Some(14_500.0), None),
            ("too near", |f| f.instrument.calibrated_per_s = Some(14_000.0), Some(Code::GeneratorCeiling)),
            (
                "asked for too much",
                |f| {
                    f.instrument.calibrated_per_s = Some(100_000.0);
                    f.instrument.asked_per_s = Some(71_000.0);
                },
                Some(Code::GeneratorCeiling),
            ),
            (
                "calibrated while something else ran",
                |f| {
                    f.instrument.calibrated_per_s = Some(9_000.0);
                    f.threads[0].busy = 0.3
                },
                None,
            ),
            (
                "the same, and no core to be had",
                |f| {
                    f.instrument.calibrated_per_s = Some(9_000.0);
                    f.threads[0] = Generator { busy: 0.3, starved: 0.3, mean_wait_us: 5.0 }
                },
                Some(Code::GeneratorCeiling),
            ),
            (
                "too near, as it was full",
                |f| {
                    f.instrument.calibrated_per_s = Some(10_000.0);
                    f.threads[0].busy = 0.91
                },
                Some(Code::GeneratorFull),
            ),
            ("a calibration of nothing", |f| f.instrument.calibrated_per_s = Some(0.0), None),
            ("a long gap, ten of many in flight", |f| f.instrument.longest_turn_us = 500_000.0, None),
            (
                "a gap that is much of the window",
                |f| f.instrument.longest_turn_us = 510_000.0,
                Some(Code::LoopGap),
            ),
            (
                "a long gap, and many in flight",
                |f| {
                    f.instrument.longest_turn_us = 8_000.0;
                    f.instrument.clients = 2_000
                },
                Some(Code::LoopGap),
            ),
            (
                "the same beside long answers",
                |f| {
                    f.instrument.longest_turn_us = 8_000.0;
                    f.instrument.clients = 2_000;
                    f.instrument.p99_us = 9_000.0
                },
                None,
            ),
            (
                "the same over many threads",
                |f| {
                    f.instrument.longest_turn_us = 8_000.0;
                    f.instrument.clients = 2_000;
                    f.instrument.threads = 2
                },
                None,
            ),
            (
                "the same of few answers",
                |f| {
                    (f.requests, f.responses) = (999, 1_000);
                    f.instrument.longest_turn_us = 8_000.0;
                },
                None,
            ),
            (
                "a gap of a fiftieth of an open loop",
                |f| {
                    f.instrument.asked_per_s = Some(10_000.0);
                    f.instrument.longest_turn_us = 200_000.0;
                },
                Some(Code::LoopGap),
            ),
            (
                "of a hundredth",
                |f| {
                    f.instrument.asked_per_s = Some(10_000.0);
                    f.instrument.longest_turn_us = 100_000.0;
                },
                None,
            ),
            ("no ports", |f| f.instrument.no_ports = 1, Some(Code::NoPorts)),
            ("no files", |f| f.instrument.no_files = 1, Some(Code::NoFiles)),
            ("a link at 84 %", |f| f.instrument.links = vec![link(105e6)], None),
            ("a link at 86 %", |f| f.instrument.links = vec![link(107.5e6)], Some(Code::NetworkFull)),
            ("a link of no known speed", |f| f.instrument.links = vec![], None),
            ("one in a hundred again", |f| f.instrument.segments_again = 2_000, None),
            ("more", |f| f.instrument.segments_again = 2_001, Some(Code::Retransmits)),
            ("more, of few", |f| (f.instrument.segments, f.instrument.segments_again) = (500, 49), None),
        ];
        for (name, change, code) in cases {
            let mut facts = good();
            change(&mut facts);
            let verdict = judge(&facts);
            assert_eq!(verdict.findings.first().map(|f| f.code.as_str()), code.map(Code::code), "{name}");
            let grade = if code.is_some() { Grade::Suspect } else { Grade::Valid };
            assert_eq!(
                (verdict.grade, verdict.findings.len()),
                (grade, usize::from(code.is_some())),
                "{name}"
            );
            assert!(verdict.findings.iter().all(|finding| !finding.mend.is_empty()), "{name}");
        }
    }

    fn link(bytes_per_s: f64) -> Link {
        Link { name: "eth0".to_owned(), bytes_per_s, limit_bytes_per_s: 125e6 }
    }

    proptest! {
        /// The oracle makes such a run: answers that take no time, and one gap they wait out.
        #[test]
        fn what_a_gap_makes_of_p99(gap_ms in 1_u32..2_000, window_s in 1_u32..20, rate in 1_u32..5) {
            let (rate, window_s) = (f64::from(rate) * 1_000.0, f64::from(window_s));
            let gap_s = f64::from(gap_ms) / 1e3;
            let mut waits: Vec<f64> = (0..(rate * window_s) as u32)
                .map(|at| (gap_s - f64::from(at) / rate).max(0.0)).collect();
            waits.sort_by(f64::total_cmp);
            let p99_us = waits[(waits.len() as f64 * 0.99) as usize] * 1e6;
            let it = Instrument {
                asked_per_s: Some(rate), window_s, threads: 1, longest_turn_us: gap_s * 1e6, ..Instrument::default()
            };
            let told = gap_in_p99_us(&it, waits.len() as u64);
            // A gap longer than the window is not over in it.
            let whole = gap_s.min(window_s) / gap_s;
            prop_assert!((told - p99_us).abs() <= 2e6 / rate || whole < 1.0, "{told} {p99_us}");
        }
    }
}
