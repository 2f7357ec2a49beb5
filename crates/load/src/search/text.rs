//! A search in words: a line for each rate while it goes on, a table of them, and the result.
//!
//! Pure. Not here: what it rests on.

use std::fmt::Write;

use super::{End, Found, Outcome};
use crate::report::model::{Probe, Run, Search, Step};
use crate::report::units::{percent, rate, time};

impl Outcome {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Held => "held",
            Outcome::Failed => "failed",
            Outcome::Limited => "limited",
        }
    }
}

/// One rate, as it was tried.
pub fn line(probe: &Probe, step: &Step) -> String {
    let times = step.times().map_or_else(String::new, |times| {
        format!("  p50 {:>8}  p99 {:>8}", time(times.p50), time(times.p99))
    });
    let errors = percent(step.errors as f64 / step.requests.max(1) as f64);
    let text =
        format!("{:>10}/s{times}  errors {errors:>7}  {:<7}  {}", rate(probe.rate), probe.outcome, probe.why);
    text.trim_end().to_owned()
}

/// The rates that were tried, from the lowest up, and the result; of a run that is no search, nothing.
pub fn table(run: &Run) -> String {
    let Some(search) = &run.search else { return String::new() };
    let mut out = format!("\n  Search for the highest rate with {}\n\n", search.rules.join(", "));
    let mut probes: Vec<&Probe> = search.probes.iter().collect();
    probes.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    // Both are in the order of their rates, and of those of one rate in the order they were made.
    for (probe, step) in probes.into_iter().zip(&run.steps) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {}", line(probe, step));
    }
    let _ = writeln!(out, "\n  {}", search.result);
    out
}

/// The result in a sentence: what was found, or why the search ended before.
pub fn result(search: &Search, found: Result<Found, &str>) -> String {
    let rules = search.rules.join(", ");
    let why = |at: f64| {
        let failed = |probe: &&Probe| probe.rate == at && !probe.why.is_empty();
        search.probes.iter().rev().find(failed).map_or("", |probe| probe.why.as_str())
    };
    let lowest = search.probes.iter().map(|probe| probe.rate).fold(f64::INFINITY, f64::min);
    let held = search.probes.iter().filter(|probe| probe.outcome == Outcome::Held.word());
    match found {
        Err(why) => match held.map(|probe| probe.rate).reduce(f64::max) {
            Some(best) => format!("Ended early ({why}): {rules} held at {} requests/s.", rate(best)),
            None => format!("Ended early ({why}): {rules} held at no rate."),
        },
        Ok(Found { capacity: Some(most), end: End::Edge(above) }) => {
            format!("Capacity: {} requests/s, confirmed. At {}/s: {}.", rate(most), rate(above), why(above))
        }
        Ok(Found { capacity: Some(most), end: End::Generator }) => format!(
            "Capacity: at least {} requests/s, confirmed; more than this generator can tell of. Give it more threads or cores, or another machine.",
            rate(most)
        ),
        Ok(Found { capacity: Some(most), .. }) => format!(
            "Capacity: about {} requests/s, not confirmed: what held at one moment did not at the next. Measure longer with -d.",
            rate(most)
        ),
        Ok(Found { capacity: None, .. }) => {
            format!("No capacity: even at {} requests/s {}.", rate(lowest), why(lowest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search() -> Search {
        let probe = |rate, outcome: Outcome, why: &str| Probe {
            rate,
            outcome: outcome.word().to_owned(),
            why: why.to_owned(),
        };
        Search {
            rules: vec!["p99<50ms".into(), "errors<1%".into()],
            probes: vec![
                probe(400.0, Outcome::Held, ""),
                probe(800.0, Outcome::Failed, "not p99<50ms: it is 81.0 ms"),
                probe(800.0, Outcome::Failed, "not p99<50ms: it is 90.0 ms"),
                probe(780.0, Outcome::Held, ""),
            ],
            ..Search::default()
        }
    }

    #[test]
    fn results() {
        let of = |capacity, end| result(&search(), Ok(Found { capacity, end }));
        for (told, wanted) in [
            (
                of(Some(780.0), End::Edge(800.0)),
                "Capacity: 780 requests/s, confirmed. At 800/s: not p99<50ms: it is 90.0 ms.",
            ),
            (of(Some(780.0), End::Generator), "Capacity: at least 780 requests/s, confirmed; more than"),
            (of(Some(780.0), End::Noise), "Capacity: about 780 requests/s, not confirmed"),
            (of(None, End::Nowhere), "No capacity: even at 400 requests/s "),
            (
                result(&search(), Err("Ctrl-C")),
                "Ended early (Ctrl-C): p99<50ms, errors<1% held at 780 requests/s.",
            ),
            (result(&Search::default(), Err("at 9/s: gone")), "Ended early (at 9/s: gone): "),
        ] {
            assert!(told.starts_with(wanted), "{told}");
        }
    }

    #[test]
    fn the_table_goes_upwards() {
        let mut run = Run::default();
        assert_eq!(table(&run), "");
        let step = |level, requests| Step { level, requests, ..Step::default() };
        run.steps = vec![step(400.0, 1000), step(780.0, 2000), step(800.0, 2000), step(800.0, 2000)];
        run.search = Some(Search { result: "Capacity: 780.".into(), ..search() });
        let want = "
  Search for the highest rate with p99<50ms, errors<1%

         400/s  errors   0.0 %  held
         780/s  errors   0.0 %  held
         800/s  errors   0.0 %  failed   not p99<50ms: it is 81.0 ms
         800/s  errors   0.0 %  failed   not p99<50ms: it is 90.0 ms

  Capacity: 780.
";
        assert_eq!(table(&run), want);
    }
}
