//! Rules about results, as people type them: `p99>50ms`, `errors>1%`, `rate<1000`, `hits<90%`.
//!
//! They end a run early (`--until`), find a capacity (`--search`), or fail a build (`--fail-if`). Pure. Not here: where the
//! numbers come from.

use std::fmt;
use std::str::FromStr;

use crate::plan::{levels, size};

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What is looked at.
    pub metric: Metric,
    /// Whether it holds above the bound, and not below.
    pub above: bool,
    /// Whether it holds at the bound, too.
    pub or_equal: bool,
    /// The bound, in the unit of the metric.
    pub bound: f64,
    /// As it was typed.
    pub text: String,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// The time to the last byte that this share of the answers does not exceed, µs; 1 is the longest. In an open loop it
    /// runs from when the request was due.
    Quantile(f64),
    /// The mean of these, µs.
    Mean,
    /// Failed requests, as a share of all.
    ErrorShare,
    /// Failed requests.
    Errors,
    /// Whole answers per second.
    Rate,
    /// Answers from a cache, as a share of those that say where they came from.
    Hits,
    /// Requests that were due and not sent.
    Unsent,
}

/// The numbers a rule is held against.
pub trait Numbers {
    /// The time this share does not exceed, µs; `None` of nothing.
    fn quantile_us(&self, q: f64) -> Option<f64>;
    /// The mean time, µs.
    fn mean_us(&self) -> Option<f64>;
    /// Requests sent.
    fn requests(&self) -> u64;
    /// Of these, failed.
    fn errors(&self) -> u64;
    /// Answers per second.
    fn rate(&self) -> f64;
    /// Share of hits.
    fn hits(&self) -> Option<f64>;
    /// Requests due and not sent.
    fn unsent(&self) -> u64;
}

impl Rule {
    /// Whether it holds; where there is no number it does not.
    pub fn holds(&self, numbers: &dyn Numbers) -> bool {
        self.value(numbers).is_some_and(|value| match (self.above, self.or_equal) {
            (true, false) => value > self.bound,
            (true, true) => value >= self.bound,
            (false, false) => value < self.bound,
            (false, true) => value <= self.bound,
        })
    }

    /// Why it fails what has to pass it, if it does: it holds, or what it looks at cannot be told. A gate that nobody could look
    /// through is not open.
    pub fn fails(&self, numbers: &dyn Numbers) -> Option<String> {
        let Some(value) = self.value(numbers) else {
            let why = match self.metric {
                Metric::Hits => "no answer says whether it came from a cache",
                Metric::ErrorShare => "nothing was sent",
                Metric::Quantile(_) | Metric::Mean => "nothing was answered",
                Metric::Errors | Metric::Rate | Metric::Unsent => "it was not counted",
            };
            return Some(format!("{self} cannot be told: {why}"));
        };
        self.holds(numbers).then(|| format!("{self} holds: it is {}", self.shown(value)))
    }

    /// What it looks at.
    pub fn value(&self, numbers: &dyn Numbers) -> Option<f64> {
        match self.metric {
            Metric::Quantile(q) => numbers.quantile_us(q),
            Metric::Mean => numbers.mean_us(),
            Metric::ErrorShare => {
                (numbers.requests() > 0).then(|| numbers.errors() as f64 / numbers.requests() as f64)
            }
            Metric::Errors => Some(numbers.errors() as f64),
            Metric::Rate => Some(numbers.rate()),
            Metric::Hits => numbers.hits(),
            Metric::Unsent => Some(numbers.unsent() as f64),
        }
    }

    /// A value of what it looks at, as people read it.
    pub fn shown(&self, value: f64) -> String {
        match self.metric {
            Metric::Quantile(_) | Metric::Mean => crate::report::units::time(value),
            Metric::ErrorShare | Metric::Hits => format!("{:.2} %", value * 100.0),
            Metric::Errors | Metric::Unsent => format!("{value:.0}"),
            Metric::Rate => format!("{}/s", crate::report::units::rate(value)),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        let wrong = || {
            format!(
                "`{text}` is not a rule; write p99>50ms, avg>1s, max>2s, errors>1%, errors>0, rate<1000, hits<90% or unsent>0"
            )
        };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (name, rest) = text.split_at(at);
        let above = rest.starts_with('>');
        let rest = rest.get(1..).unwrap_or_default();
        let (or_equal, bound) = rest.strip_prefix('=').map_or((false, rest), |bound| (true, bound));
        let (name, bound) = (name.trim(), bound.trim());
        let us = || {
            let digits = bound.strip_suffix("us").or_else(|| bound.strip_suffix("µs"));
            match digits {
                // `nan` and `inf` are numbers to the parser, and rules that can never hold.
                Some(digits) => match digits.trim().parse::<f64>() {
                    Ok(us) if us.is_finite() && us >= 0.0 => Ok(us),
                    _ => Err(wrong()),
                },
                None if bound.ends_with(|c: char| c.is_ascii_digit()) => {
                    Err(format!("`{text}`: say the unit: {bound}ms, {bound}us or {bound}s"))
                }
                None => size::duration(bound).map(|time| time.as_secs_f64() * 1e6),
            }
        };
        let share = || -> Result<f64, String> {
            let digits = bound.strip_suffix('%').ok_or_else(wrong)?;
            let percent: f64 = digits.trim().parse().map_err(|_| wrong())?;
            if (0.0..=100.0).contains(&percent) { Ok(percent / 100.0) } else { Err(wrong()) }
        };
        let count = || bound.parse::<u32>().map(f64::from).map_err(|_| wrong());
        let (metric, bound) = match name {
            "max" => (Metric::Quantile(1.0), us()?),
            "min" => (Metric::Quantile(0.0), us()?),
            "avg" | "mean" => (Metric::Mean, us()?),
            "errors" if bound.ends_with('%') => (Metric::ErrorShare, share()?),
            "errors" => (Metric::Errors, count()?),
            "unsent" => (Metric::Unsent, count()?),
            "hits" => (Metric::Hits, share()?),
            "rate" => (Metric::Rate, levels::rate(bound)?),
            _ => {
                let digits = name.strip_prefix('p').ok_or_else(wrong)?;
                let percent: f64 = digits.parse().map_err(|_| wrong())?;
                if !(0.0..=100.0).contains(&percent) {
                    return Err(wrong());
                }
                (Metric::Quantile(percent / 100.0), us()?)
            }
        };
        Ok(Rule { metric, above, or_equal, bound, text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Some1;

    impl Numbers for Some1 {
        fn quantile_us(&self, q: f64) -> Option<f64> {
            Some(q * 100_000.0)
        }
        fn mean_us(&self) -> Option<f64> {
            Some(40_000.0)
        }
        fn requests(&self) -> u64 {
            200
        }
        fn errors(&self) -> u64 {
            2
        }
        fn rate(&self) -> f64 {
            1000.0
        }
        fn hits(&self) -> Option<f64> {
            None
        }
        fn unsent(&self) -> u64 {
            0
        }
    }

    #[test]
    fn table() {
        for (text, holds) in [
            ("p99>50ms", true),
            ("p99 > 99ms", false),
            ("p99>=99ms", true),
            ("p99.9>99.5ms", true),
            ("p50<1s", true),
            ("max>99999us", true),
            ("avg<40ms", false),
            ("avg<=40ms", true),
            ("errors>1%", false),
            ("errors>=1%", true),
            ("errors>0", true),
            ("errors>2", false),
            ("rate<1k", false),
            ("rate<=1000/s", true),
            ("unsent>0", false),
            // Nobody says where anything came from: neither much nor little.
            ("hits<90%", false),
            ("hits>0%", false),
        ] {
            assert_eq!(text.parse::<Rule>().unwrap().holds(&Some1), holds, "{text}");
        }
    }

    #[test]
    fn a_gate_that_cannot_be_told_is_not_passed() {
        let fails = |text: &str| text.parse::<Rule>().unwrap().fails(&Some1);
        assert_eq!(fails("p99>50ms").unwrap(), "p99>50ms holds: it is 99.0 ms");
        assert_eq!(fails("p99>200ms"), None);
        let said = fails("hits<90%").unwrap();
        assert_eq!(said, "hits<90% cannot be told: no answer says whether it came from a cache");
    }

    #[test]
    fn what_is_no_rule() {
        for text in [
            "",
            "p99",
            "p99=5ms",
            "p99>5",
            "p101>5ms",
            "px>5ms",
            "errors>x",
            "hits<90",
            "rate<0",
            "errors>101%",
            "p99>nanus",
            "p99>infus",
            "avg>-1us",
            "max>-inf µs",
            "speed>9",
        ] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
        assert!("p99>50".parse::<Rule>().unwrap_err().contains("50ms"));
    }
}
