//! Repeatable noise: the raw material of every generated picture.
//!
//! Pure functions of a seed and a place, so the same seed paints the same picture on every machine.
//! Not here: colours or shapes (see `scene`).

/// A source of repeatable noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    /// Another, unrelated noise grown from this one.
    pub(crate) fn branch(self, n: u64) -> Noise {
        Noise(mix(self.0 ^ n.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// A value in 0..1 for a whole-numbered place.
    pub(crate) fn at(self, x: i32, y: i32) -> f32 {
        let place = (u64::from(x.cast_unsigned()) << 32) | u64::from(y.cast_unsigned());
        // 24 bits fit an f32 exactly.
        (mix(self.0 ^ place) >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Smooth noise in 0..1: lattice values joined by a curve without visible edges.
    pub(crate) fn smooth(self, x: f32, y: f32) -> f32 {
        let (left, top) = (x.floor(), y.floor());
        let (ix, iy) = (left as i32, top as i32);
        let (tx, ty) = (ease(x - left), ease(y - top));
        let upper = lerp(self.at(ix, iy), self.at(ix.wrapping_add(1), iy), tx);
        let under =
            lerp(self.at(ix, iy.wrapping_add(1)), self.at(ix.wrapping_add(1), iy.wrapping_add(1)), tx);
        lerp(upper, under, ty)
    }

    /// Clouds, rocks, water: `octaves` layers of smooth noise, each twice as fine and half as strong. 0..1.
    pub(crate) fn fractal(self, x: f32, y: f32, octaves: u32) -> f32 {
        let (mut sum, mut weight, mut scale, mut total) = (0.0, 1.0, 1.0, 0.0);
        for octave in 0..octaves {
            sum += weight * self.branch(u64::from(octave)).smooth(x * scale, y * scale);
            total += weight;
            weight *= 0.5;
            scale *= 2.03;
        }
        if total > 0.0 { sum / total } else { 0.0 }
    }
}

/// Straight line from `a` to `b`.
pub(crate) fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// 0 below `from`, 1 above `to`, smooth between.
pub(crate) fn step(from: f32, to: f32, value: f32) -> f32 {
    ease(((value - from) / (to - from)).clamp(0.0, 1.0))
}

fn ease(t: f32) -> f32 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

/// The finaliser of SplitMix64: every input bit reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn noise_stays_in_its_range_and_repeats(seed: u64, x in -1e4f32..1e4, y in -1e4f32..1e4) {
            let value = Noise(seed).fractal(x, y, 5);
            prop_assert!((0.0..=1.0).contains(&value), "{value}");
            prop_assert_eq!(value, Noise(seed).fractal(x, y, 5));
        }
    }

    #[test]
    fn seeds_differ() {
        let differing = (0..100).filter(|&x| Noise(1).at(x, 0) != Noise(2).at(x, 0)).count();
        assert!(differing > 95, "{differing}");
    }
}
