//! What a selftest showed, for the terminal.
//!
//! Pure. Not here: what it has to show ([`super::judge`]).

use std::fmt::Write;

use super::judge::{Check, Delay, LONG_US, Stalled, waited};
use crate::report::units::{time, whole};

/// A run against a known delay.
pub fn of_delay(run: &Delay, checks: &[Check]) -> String {
    let mut out = format!(
        "\n  A server that answers after exactly {}, asked {:.0} times a second\n\n",
        time(run.delay_us),
        run.rate
    );
    let mut row = |name: &str, cells: [String; 3]| {
        let [p50, p99, max] = cells;
        // Writing to a string cannot fail.
        let line = format!("  {name:<26}{p50:>10}{p99:>16}{max:>10}");
        let _ = writeln!(out, "{}", line.trim_end());
    };
    row("", ["median".to_owned(), "99th percentile".to_owned(), "longest".to_owned()]);
    row("reported time", [run.response.p50, run.response.p99, run.response.max].map(time));
    row("sent late by", [run.lag.p50, run.lag.p99, run.lag.max].map(time));
    row("a bare timer is late by", [run.spin.p50_us, run.spin.p99_us, run.spin.max_us].map(time));
    row("the server was late by", [time(run.late_us), String::new(), String::new()]);
    out + &lines(checks)
}

/// Two runs against a server that stalls.
pub fn of_stall(runs: &Stalled, checks: &[Check]) -> String {
    let mut out = format!(
        "\n  A server that answers after {} stops answering for {} s, in the middle of {} s\n\n",
        time(runs.delay_us),
        runs.stall_s,
        runs.window_s
    );
    let mut row = |name: &str, open: String, closed: String| {
        let _ = writeln!(out, "  {name:<26}{open:>18}{closed:>24}");
    };
    let (open, closed) = (&runs.open, &runs.closed);
    row("", "open loop".to_owned(), "closed loop".to_owned());
    row("", format!("{:.0} a second", runs.rate), format!("{} connections", runs.clients));
    row("requests", whole(open.count), whole(closed.count));
    row("median", time(open.p50), time(closed.p50));
    row("99th percentile", time(open.p99), time(closed.p99));
    row("longest", time(open.max), time(closed.max));
    let long = |summary| format!("{:.0}", waited(summary, LONG_US));
    row(&format!("waited {} or more", time(LONG_US)), long(open), long(closed));
    out.push_str(
        "
  Both met the same stall. Who asks only when the last answer has come sends nothing while the server stands
  still, and so hardly sees it; people would not have waited to ask. Use --rate where that matters.
",
    );
    out + &lines(checks)
}

fn lines(checks: &[Check]) -> String {
    let line = |check: &Check| format!("  {}  {}\n", if check.ok { "PASS" } else { "FAIL" }, check.text);
    format!("\n{}", checks.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selftest::judge::{self, Spin};
    use crate::stats::Summary;

    fn summary(count: u64, p50: f64, p99: f64, max: f64) -> Summary {
        let curve = vec![(0.0, p50), (0.5, p50), (0.99, p99), (1.0, max)];
        Summary { count, p50, p99, max, avg: p50, curve, ..Summary::default() }
    }

    #[test]
    fn a_delay() {
        let run = Delay {
            rate: 500.0,
            delay_us: 2_000.0,
            late_us: 4.0,
            due: 1_000,
            answers: 1_000,
            response: summary(1_000, 2_040.0, 2_090.0, 2_900.0),
            lag: summary(1_000, 0.0, 250.0, 300.0),
            spin: Spin { p50_us: 0.04, p99_us: 2.0, max_us: 40.0 },
        };
        let want = "
  A server that answers after exactly 2.00 ms, asked 500 times a second

                                median 99th percentile   longest
  reported time                2.04 ms         2.09 ms   2.90 ms
  sent late by                    0 µs          250 µs    300 µs
  a bare timer is late by      0.04 µs         2.00 µs   40.0 µs
  the server was late by       4.00 µs

  PASS  1,000 of 1,000 requests were sent and answered
  PASS  the instrument adds 36.0 µs to the median, 200 µs at most
  FAIL  99 of 100 requests went out at most 250 µs late, 200 µs allowed: 1.5 times a bare spin timer, or 200 µs
";
        assert_eq!(of_delay(&run, &judge::delay(&run)), want);
    }

    #[test]
    fn a_stall() {
        let runs = Stalled {
            rate: 500.0,
            window_s: 4.0,
            stall_s: 1.0,
            delay_us: 2_000.0,
            open: summary(2_000, 2_000.0, 962_000.0, 1_002_000.0),
            clients: 10,
            closed: summary(13_456, 2_000.0, 2_100.0, 1_001_000.0),
        };
        let text = of_stall(&runs, &judge::stalled(&runs));
        for line in [
            "  A server that answers after 2.00 ms stops answering for 1 s, in the middle of 4 s\n",
            "  99th percentile                       962 ms                 2.10 ms\n",
            "  PASS  the 99th percentile shows the stall: 962 ms, 962 ms expected\n",
            "  FAIL  the 500 that fell into it waited 0.00 s on average, 0.50 s expected\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }
}
