//! A bare spin timer: looks at the clock until a moment has come, and does nothing else.
//!
//! Nothing on this machine meets moments better, so it shows what the machine takes away from everyone. Not here: comparing.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

/// By how much each moment was missed, in nanoseconds, of `rate` a second for so long.
pub(super) fn lateness_ns(rate: f64, lasts: Duration) -> Vec<u64> {
    let count = (rate * lasts.as_secs_f64()) as u32;
    let began = Instant::now();
    (1..=count)
        .map(|number| {
            let due = Duration::from_secs_f64(f64::from(number) / rate);
            loop {
                let passed = began.elapsed();
                if passed >= due {
                    return u64::try_from((passed - due).as_nanos()).unwrap_or(u64::MAX);
                }
                spin_loop();
            }
        })
        .collect()
}

/// The value that this share does not exceed, in microseconds.
pub(super) fn quantile_us(values_ns: &mut [u64], share: f64) -> f64 {
    values_ns.sort_unstable();
    let at = (values_ns.len() as f64 * share).ceil() as usize;
    values_ns.get(at.saturating_sub(1)).map_or(0.0, |ns| *ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let mut values: Vec<u64> = (1..=100).rev().map(|value| value * 1000).collect();
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|q| quantile_us(&mut values, q)), [1.0, 50.0, 99.0, 100.0]);
        assert_eq!(quantile_us(&mut [], 0.5), 0.0);
    }

    #[test]
    fn as_many_moments_as_were_asked_for() {
        let began = Instant::now();
        assert_eq!(lateness_ns(1000.0, Duration::from_millis(30)).len(), 30);
        assert!(began.elapsed() >= Duration::from_millis(30));
    }
}
