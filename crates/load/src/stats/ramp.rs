//! Where more load stops bringing more answers: the knee of a stepped run.
//!
//! Pure: levels in, a step out. Not here: fitting a curve through them ([`super::usl`]), or how the steps came about.

/// Throughput that grows by less than this share of what the load grows by has stopped growing.
const GAIN: f64 = 0.05;
/// However few answers there were, a gain above this share is one.
const GAIN_BY_CHANCE: f64 = 0.25;
/// A 99th percentile so many times that of the first steps says that requests wait for each other.
const SLOWER: f64 = 1.5;
/// How many steps are the first ones.
const FIRST: usize = 3;
/// If a later step brings so much more, what looked like a knee was a dip.
const RISES_AGAIN: f64 = 0.1;

/// One step of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Clients, or requests per second asked for.
    pub load: f64,
    /// Answers per second.
    pub per_s: f64,
    /// How many answers that rests on.
    pub answers: u64,
    /// 99th percentile of the times.
    pub p99_us: f64,
}

/// The first step that was hardly worth its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Which step it is, from 0.
    pub step: usize,
    /// By what share there was more load than at the step before.
    pub added: f64,
    /// By what share there were more answers per second.
    pub gain: f64,
    /// How many times the 99th percentile of the first steps it has.
    pub slower: f64,
}

/// The knee, if the run went beyond it: the first step that brought less than a twentieth of the answers its additional load
/// would have brought before, while its 99th percentile is more than one and a half times that of the first steps.
///
/// The gain is held against the load added, as small steps bring little even where all is well. A gain that is no larger than
/// the chance of its counts is none, if the step was large enough to show one.
pub fn knee(steps: &[Level]) -> Option<Knee> {
    let pairs = steps.iter().zip(steps.iter().skip(1)).enumerate();
    pairs.map(|(before, (last, this))| (before + 1, last, this)).find_map(|(step, last, this)| {
        let added = this.load / last.load - 1.0;
        let gain = this.per_s / last.per_s - 1.0;
        let slower = this.p99_us / first_p99_us(steps.get(..step)?)?;
        let worth = GAIN.max(chance(last, this) / added).min(GAIN_BY_CHANCE) * added;
        let is_knee = added > 0.0 && gain < worth && slower > SLOWER && !rises_again(steps, step);
        (is_knee && [added, gain, slower].iter().all(|n| n.is_finite())).then_some(Knee {
            step,
            added,
            gain,
            slower,
        })
    })
}

/// By what share the ratio of two rates is off by chance alone: one standard deviation of counts that do not know of each
/// other.
fn chance(last: &Level, this: &Level) -> f64 {
    let of = |step: &Level| 1.0 / step.answers.max(1) as f64;
    (of(last) + of(this)).sqrt()
}

/// The middle one of the first steps: a single one may have met a server that was still cold.
fn first_p99_us(before: &[Level]) -> Option<f64> {
    let mut first: Vec<f64> = before.iter().take(FIRST).map(|step| step.p99_us).collect();
    first.sort_by(f64::total_cmp);
    first.get(first.len().saturating_sub(1) / 2).copied().filter(|p99_us| *p99_us > 0.0)
}

fn rises_again(steps: &[Level], step: usize) -> bool {
    let most = |steps: &mut dyn Iterator<Item = &Level>| steps.map(|step| step.per_s).fold(0.0, f64::max);
    let (so_far, later) = (most(&mut steps.iter().take(step + 1)), most(&mut steps.iter().skip(step + 1)));
    later > so_far * (1.0 + RISES_AGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn levels(table: &[(f64, f64, f64)]) -> Vec<Level> {
        let level = |&(load, per_s, p99_us)| Level { load, per_s, p99_us, answers: 1_000_000 };
        table.iter().map(level).collect()
    }

    #[test]
    fn table() {
        type Case<'a> = (&'a str, &'a [(f64, f64, f64)], Option<usize>);
        let cases: &[Case<'_>] = &[
            ("nothing", &[], None),
            ("one step", &[(1.0, 10.0, 5.0)], None),
            ("still growing", &[(1.0, 10.0, 5.0), (2.0, 20.0, 5.0), (4.0, 40.0, 5.0)], None),
            (
                "the paper's shape",
                &[
                    (1.0, 10.0, 5.0),
                    (6.0, 58.0, 5.0),
                    (11.0, 90.0, 7.0),
                    (16.0, 91.0, 15.0),
                    (21.0, 90.0, 25.0),
                ],
                Some(3),
            ),
            (
                "small steps that bring what they can are no knee",
                &[(100.0, 1000.0, 5.0), (102.0, 1020.0, 9.0), (104.0, 1040.0, 9.0)],
                None,
            ),
            ("full, and no slower", &[(1.0, 10.0, 5.0), (2.0, 10.0, 6.0), (3.0, 10.0, 7.0)], None),
            (
                "a dip from which it recovers",
                &[(1.0, 10.0, 5.0), (2.0, 9.0, 50.0), (3.0, 30.0, 5.0), (4.0, 40.0, 5.0)],
                None,
            ),
            (
                "a first step that was cold does not hide it",
                &[(1.0, 10.0, 90.0), (2.0, 20.0, 5.0), (4.0, 40.0, 5.0), (8.0, 40.0, 20.0)],
                Some(3),
            ),
            (
                "less load again is no more load",
                &[(10.0, 100.0, 5.0), (20.0, 190.0, 6.0), (10.0, 100.0, 50.0)],
                None,
            ),
            (
                "an open loop that is not kept up with",
                &[(1e3, 1e3, 2.0), (2e3, 2e3, 2.0), (4e3, 2.1e3, 900.0), (8e3, 2.05e3, 5000.0)],
                Some(3),
            ),
            ("no answers at all", &[(1.0, 0.0, 0.0), (2.0, 0.0, 0.0)], None),
        ];
        for (name, table, want) in cases {
            assert_eq!(knee(&levels(table)).map(|knee| knee.step), *want, "{name}");
        }
        // Two percent more answers for a fifth more load: nothing where two thousand were counted, little where a million.
        let mut steps = levels(&[(800.0, 800.0, 4.0), (1e3, 922.0, 9.0), (1.2e3, 940.0, 9.0)]);
        assert_eq!(knee(&steps), None);
        steps.iter_mut().for_each(|step| step.answers = 1_900);
        assert_eq!(knee(&steps).map(|knee| knee.step), Some(2));
        // And a handful shows nothing at all: half of what the load would bring is a gain.
        let mut steps = levels(&[(10.0, 10.0, 4.0), (20.0, 15.0, 9.0)]);
        steps.iter_mut().for_each(|step| step.answers = 3);
        assert_eq!(knee(&steps), None);
        let found = knee(&levels(&[(10.0, 100.0, 4.0), (20.0, 101.0, 12.0)])).unwrap();
        assert_eq!((found.step, found.added, found.slower), (1, 1.0, 3.0));
        assert!((found.gain - 0.01).abs() < 1e-9);
    }

    /// A server that answers each client `per_client` times a second until `most` are reached; then they queue.
    fn ideal(loads: &[f64], per_client: f64, most: f64) -> Vec<Level> {
        let of = |load: &f64| {
            let per_s = (load * per_client).min(most);
            Level { load: *load, per_s, answers: u64::MAX, p99_us: 1e6 * load / per_s }
        };
        loads.iter().map(of).collect()
    }

    proptest! {
        #[test]
        fn it_is_where_the_ideal_server_is_full(
            gaps in prop::collection::vec(1_u32..20, 4..30), per_client in 0.1..1e4_f64, full_at in 20.0..150.0_f64,
        ) {
            let loads: Vec<f64> = gaps.iter().scan(0, |sum, gap| { *sum += gap; Some(f64::from(*sum)) }).collect();
            // Of a queue in front of a full server: what it brings is what lies below the load it is full at.
            let want = (1..loads.len()).find(|&at| {
                loads[at] > 1.5 * full_at * (1.0 + 1e-9)
                    && loads[at].min(full_at) - loads[at - 1].min(full_at) < 0.05 * (loads[at] - loads[at - 1])
            });
            prop_assume!(loads[2] < full_at);
            prop_assert_eq!(knee(&ideal(&loads, per_client, per_client * full_at)).map(|knee| knee.step), want);
        }

        #[test]
        fn units_do_not_matter(
            rates in prop::collection::vec((1.0..1e5_f64, 1.0..1e6_f64), 2..20), scale in 1e-3..1e3_f64,
        ) {
            let steps: Vec<Level> = (1..).zip(&rates)
                .map(|(at, (per_s, p99_us))| Level { load: f64::from(at), per_s: *per_s, answers: 900, p99_us: *p99_us }).collect();
            // A power of two scales without rounding.
            let scale = scale.log2().round().exp2();
            let scaled: Vec<Level> = steps.iter()
                .map(|s| Level { load: s.load * scale, per_s: s.per_s * scale, p99_us: s.p99_us * scale, ..*s }).collect();
            prop_assert_eq!(knee(&steps).map(|knee| knee.step), knee(&scaled).map(|knee| knee.step));
        }

        #[test]
        fn whatever_a_file_holds(steps in prop::collection::vec(
            (prop::num::f64::ANY, prop::num::f64::ANY, prop::num::f64::ANY), 0..20,
        )) {
            if let Some(found) = knee(&levels(&steps)) {
                prop_assert!(found.step < steps.len() && found.slower > 1.5 && found.gain.is_finite());
            }
        }
    }
}
