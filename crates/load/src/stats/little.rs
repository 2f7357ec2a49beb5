//! Little's law as a check of ourselves: of clients that always wait for an answer, rate times time must be their number.
//!
//! If it is less, they spend time that is in none of the times shown, and the server was under less load than the number of
//! clients says. Pure. Not here: which runs have clients that always wait.

/// Off by less is what the ends of a window make.
const OFF_MAX: f64 = 0.1;
/// A window must hold so many answers of each client one after the other, or its ends count for too much.
const TURNS_MIN: f64 = 20.0;

/// Clients that should have waited, and as many as did on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// How many there were.
    pub clients: f64,
    /// Rate times mean time.
    pub seen: f64,
}

/// Rate times time; `None` if the window is too short to tell.
pub fn waiting(clients: f64, per_s: f64, mean_us: f64, window_s: f64) -> Option<Waiting> {
    let turns = window_s * 1e6 / mean_us;
    (clients >= 1.0 && turns >= TURNS_MIN).then_some(Waiting { clients, seen: per_s * mean_us / 1e6 })
}

impl Waiting {
    /// By what share of the clients the two differ, if that is more than it may be; above zero if time is hidden.
    pub fn off(&self) -> Option<f64> {
        let off = 1.0 - self.seen / self.clients;
        (off.abs() > OFF_MAX).then_some(off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        // 20 clients, 50 ms an answer: 400 a second.
        for (per_s, off) in
            [(400.0, None), (365.0, None), (350.0, Some(0.125)), (200.0, Some(0.5)), (500.0, Some(-0.25))]
        {
            assert_eq!(waiting(20.0, per_s, 50_000.0, 30.0).unwrap().off(), off, "{per_s}");
        }
        assert_eq!(waiting(20.0, 400.0, 50_000.0, 0.9), None, "too short");
        assert_eq!(waiting(20.0, 0.0, 0.0, 0.0), None);
    }

    proptest! {
        /// The oracle plays clients that answer, and pause for a known share of the time.
        #[test]
        fn a_pause_nobody_asked_for_is_found(clients in 1_u32..50, time_us in 100_u64..5_000, pause in 0.0..3.0_f64) {
            let turn_us = time_us + (time_us as f64 * pause) as u64;
            let window_us = turn_us * 1_000;
            let answers = f64::from(clients) * (window_us / turn_us) as f64;
            let window_s = window_us as f64 / 1e6;
            let seen = waiting(clients.into(), answers / window_s, time_us as f64, window_s).unwrap();
            let hidden = 1.0 - time_us as f64 / turn_us as f64;
            prop_assume!((hidden - 0.1).abs() > 1e-6);
            prop_assert_eq!(seen.off().is_some(), hidden > 0.1);
        }
    }
}
