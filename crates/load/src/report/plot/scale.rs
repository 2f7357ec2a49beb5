//! How values lie along an axis, and which of them are marked.
//!
//! Not here: drawing.

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Scale {
    Linear,
    /// Powers of ten.
    Log,
    /// Shares by the number of nines: 0, 90 %, 99 %, 99.9 % at equal distances.
    Nines,
}

/// Where a value lies on a scale, before it is stretched to the drawing.
fn place(scale: Scale, value: f64) -> f64 {
    // A stored run may hold anything; beyond this, differences of floats overflow.
    let value = value.clamp(-1e15, 1e15);
    match scale {
        Scale::Linear => value,
        Scale::Log => value.max(1e-3).log10(),
        Scale::Nines => -(1.0 - value.clamp(0.0, 0.999_999)).log10(),
    }
}

pub(super) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Span {
    pub(super) fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Span {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.map(|value| place(scale, value)).filter(|value| value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        if !low.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        match scale {
            Scale::Linear => {
                low = low.min(0.0);
                high = if high > low { high + (high - low) * 0.05 } else { low + 1.0 };
            }
            Scale::Log => {
                low = low.floor();
                high = if high.ceil() > low { high.ceil() } else { low + 1.0 };
            }
            Scale::Nines => {
                low = 0.0;
                high = high.clamp(1.0, 6.0);
            }
        }
        Span { scale, low, high }
    }

    pub(super) fn share(&self, value: f64) -> f64 {
        ((place(self.scale, value) - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Values to mark, with even distances a person can read off.
    pub(super) fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.high - self.low) / 5.0;
                let power = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0]
                    .into_iter()
                    .map(|s| s * power)
                    .find(|s| *s >= rough)
                    .unwrap_or(rough);
                (0..12)
                    .map(|n| (self.low / step).ceil() * step + f64::from(n) * step)
                    .filter(|v| *v <= self.high)
                    .collect()
            }
            Scale::Log => {
                let powers = self.low as i32..=self.high as i32;
                let steps: &[f64] = if self.high - self.low <= 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let all = powers.flat_map(|p| steps.iter().map(move |s| s * 10_f64.powi(p)));
                all.filter(|v| place(Scale::Log, *v) <= self.high + 1e-9).collect()
            }
            Scale::Nines => {
                let all = [0.0, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
                all.into_iter().filter(|v| place(Scale::Nines, *v) <= self.high + 1e-9).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let ticks = |scale, values: &[f64]| Span::of(scale, values.iter().copied()).ticks();
        assert_eq!(ticks(Scale::Linear, &[0.0, 10.0]), [0.0, 5.0, 10.0]);
        assert_eq!(ticks(Scale::Linear, &[0.0, 434.0]), [0.0, 100.0, 200.0, 300.0, 400.0]);
        assert_eq!(ticks(Scale::Log, &[3.0, 90_000.0]), [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]);
        assert_eq!(ticks(Scale::Nines, &[0.0, 0.999]), [0.0, 0.5, 0.75, 0.9, 0.99, 0.999]);
    }
}
