//! Paints landscapes from a seed: sky, sun, clouds, ridges, water, sand, grass, stars.
//!
//! Pure: a scene number in, pixels out. They stand in for the photographs of a gallery: varied, detailed
//! enough that a JPEG of one weighs what a photograph weighs. Not here: JPEG (`picture`), lettering (`lettering`).

use crate::noise::{Noise, lerp, step};

type Colour = [f32; 3];

/// What is in front of the sky.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Land {
    Mountains,
    Sea,
    Dunes,
    Night,
    Meadow,
    Lake,
}

/// Names used in the addresses of the pictures, in the order scenes are dealt out.
const LANDS: [(Land, &str); 6] = [
    (Land::Mountains, "mountains"),
    (Land::Sea, "sea"),
    (Land::Dunes, "dunes"),
    (Land::Night, "night"),
    (Land::Meadow, "meadow"),
    (Land::Lake, "lake"),
];

/// Colours of one time of day.
struct Light {
    zenith: Colour,
    horizon: Colour,
    sun: Colour,
    cloud: Colour,
    far: Colour,
    near: Colour,
}

const LIGHTS: [Light; 4] = [
    Light {
        zenith: [38., 92., 168.],
        horizon: [196., 220., 236.],
        sun: [255., 250., 226.],
        cloud: [248., 250., 252.],
        far: [138., 166., 190.],
        near: [42., 74., 52.],
    },
    Light {
        zenith: [52., 46., 104.],
        horizon: [248., 158., 92.],
        sun: [255., 226., 150.],
        cloud: [250., 176., 150.],
        far: [172., 110., 116.],
        near: [44., 28., 46.],
    },
    Light {
        zenith: [92., 134., 178.],
        horizon: [250., 222., 196.],
        sun: [255., 244., 214.],
        cloud: [255., 236., 224.],
        far: [176., 178., 196.],
        near: [66., 78., 70.],
    },
    Light {
        zenith: [26., 60., 92.],
        horizon: [226., 196., 140.],
        sun: [255., 240., 190.],
        cloud: [222., 214., 206.],
        far: [120., 138., 142.],
        near: [34., 50., 46.],
    },
];

const NIGHT: Light = Light {
    zenith: [6., 9., 26.],
    horizon: [44., 62., 96.],
    sun: [238., 240., 232.],
    cloud: [92., 108., 140.],
    far: [36., 48., 76.],
    near: [5., 8., 14.],
};

/// One landscape: everything that does not change from pixel to pixel.
pub(crate) struct Scene {
    land: Land,
    noise: Noise,
    light: &'static Light,
    width: usize,
    height: usize,
    /// Height of the horizon from the top, as a share of the picture.
    horizon: f32,
    /// Centre of the sun or moon, as shares of width and height.
    sun: (f32, f32),
    /// For each ridge, far to near: its top edge by column, as a share of the height.
    ridges: Vec<Vec<f32>>,
}

/// The name of the picture with this number, without an extension: `sea-2`.
pub(crate) fn name(number: usize) -> String {
    let (_, word) = LANDS.get(number % LANDS.len()).copied().unwrap_or((Land::Sea, "sea"));
    format!("{word}-{}", number / LANDS.len() + 1)
}

impl Scene {
    /// The scene with this number; the same number always gives the same scene.
    pub(crate) fn new(number: usize, width: usize, height: usize) -> Scene {
        let (land, _) = LANDS.get(number % LANDS.len()).copied().unwrap_or((Land::Sea, "sea"));
        let noise = Noise(number as u64).branch(1);
        let round = number / LANDS.len() + number;
        let light = match land {
            Land::Night => &NIGHT,
            _ => LIGHTS.get(round % LIGHTS.len()).unwrap_or(&NIGHT),
        };
        let horizon = lerp(0.48, 0.62, noise.at(1, 0));
        let sun = (lerp(0.18, 0.82, noise.at(2, 0)), horizon * lerp(0.35, 0.8, noise.at(3, 0)));
        let mut scene = Scene { land, noise, light, width, height, horizon, sun, ridges: Vec::new() };
        scene.ridges = scene.raise_ridges();
        scene
    }

    /// All pixels, RGB, row by row.
    pub(crate) fn paint(&self) -> Vec<u8> {
        let mut pixels = vec![0u8; self.width * self.height * 3];
        let grain = self.noise.branch(99);
        for (y, row) in pixels.chunks_exact_mut(self.width * 3).enumerate() {
            for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
                let colour = self.colour(x, y);
                // Film grain: without it the skies would compress to nothing.
                let speck = (grain.at(x as i32, y as i32) - 0.5) * 11.0;
                for (channel, value) in pixel.iter_mut().zip(colour) {
                    *channel = (value + speck).clamp(0.0, 255.0) as u8;
                }
            }
        }
        pixels
    }

    /// Edges of the ridges: (count, roughness, how high they rise) by kind of land.
    fn raise_ridges(&self) -> Vec<Vec<f32>> {
        let (count, octaves, rise) = match self.land {
            Land::Mountains => (5, 8, 0.42),
            Land::Lake => (3, 8, 0.38),
            Land::Dunes => (5, 2, 0.2),
            Land::Night => (3, 9, 0.24),
            Land::Meadow => (3, 3, 0.14),
            Land::Sea => (0, 1, 0.0),
        };
        (0..count).map(|n| self.ridge(n, count, octaves, rise)).collect()
    }

    fn ridge(&self, n: u64, count: u64, octaves: u32, rise: f32) -> Vec<f32> {
        let noise = self.noise.branch(20 + n);
        let nearness = n as f32 / count as f32;
        let foot = match self.land {
            Land::Lake => self.horizon,
            _ => lerp(self.horizon + 0.04, 0.98, nearness),
        };
        let lift = rise * lerp(1.0, 0.55, nearness);
        let columns = 0..self.width;
        columns
            .map(|x| {
                let along = x as f32 / self.width as f32 * lerp(2.2, 4.0, nearness);
                foot - lift * noise.fractal(along, 7.0, octaves).powf(1.3) * 1.3
            })
            .collect()
    }

    fn colour(&self, x: usize, y: usize) -> Colour {
        let (u, v) = (x as f32 / self.width as f32, y as f32 / self.height as f32);
        match self.nearest_ridge(x, v) {
            Some((n, depth)) => self.ground(u, v, n, depth),
            None if v > self.horizon && self.is_wet() => self.water(u, v),
            None => self.sky(u, v),
        }
    }

    fn is_wet(&self) -> bool {
        matches!(self.land, Land::Sea | Land::Lake)
    }

    /// The frontmost ridge covering this place, and how far below its edge the place is.
    fn nearest_ridge(&self, x: usize, v: f32) -> Option<(usize, f32)> {
        if self.land == Land::Lake && v > self.horizon {
            return None;
        }
        let mut ridges = self.ridges.iter().enumerate().rev();
        ridges.find_map(|(n, edge)| {
            let edge = edge.get(x).copied()?;
            (v >= edge).then_some((n, v - edge))
        })
    }

    fn sky(&self, u: f32, v: f32) -> Colour {
        let light = self.light;
        let mut colour = mix(light.zenith, light.horizon, (v / self.horizon).clamp(0.0, 1.0).powf(1.4));
        let aspect = self.width as f32 / self.height as f32;
        let distance = ((u - self.sun.0) * aspect).hypot(v - self.sun.1);
        colour = mix(colour, light.sun, 0.65 * (-distance * 5.5).exp());
        if self.land == Land::Night {
            colour = self.stars(colour, u, v);
        }
        colour = mix(colour, light.sun, 1.0 - step(0.045, 0.05, distance));
        let cloud = self.noise.branch(3).fractal(u * 5.0, v * 13.0, 6);
        let thick = step(0.5, 0.78, cloud) * if self.land == Land::Night { 0.35 } else { 0.9 };
        mix(colour, light.cloud, thick)
    }

    fn stars(&self, colour: Colour, u: f32, v: f32) -> Colour {
        // One star at most in each small square, its place and brightness from the square's own noise.
        let (gx, gy) = (u * 150.0, v * 100.0);
        let (ix, iy) = (gx as i32, gy as i32);
        let (place, shine) = (self.noise.branch(5), self.noise.branch(6).at(ix, iy));
        let distance = (gx - ix as f32 - place.at(ix, iy)).hypot(gy - iy as f32 - place.at(iy, ix));
        let star = (1.0 - step(0.05, 0.22, distance)) * step(0.72, 1.0, shine);
        let milky = step(0.35, 0.9, self.noise.branch(7).fractal(u * 3.0 + v, v * 4.0, 5)) * (1.0 - v) * 0.5;
        mix(mix(colour, [120., 130., 176.], milky), [255., 252., 240.], star)
    }

    fn ground(&self, u: f32, v: f32, n: usize, depth: f32) -> Colour {
        let count = self.ridges.len().max(1) as f32;
        let nearness = (n as f32 + 0.5) / count;
        let base = mix(self.light.far, self.light.near, nearness);
        let noise = self.noise.branch(40 + n as u64);
        match self.land {
            Land::Mountains | Land::Lake => {
                let rock = noise.fractal(u * 26.0, v * 40.0, 6);
                let colour = mix(base, [16., 18., 24.], (rock - 0.35) * 0.9);
                let snow = step(0.52, 0.62, rock) * (1.0 - step(0.02, 0.16, depth)) * (1.0 - nearness);
                mix(colour, [244., 246., 252.], snow)
            }
            Land::Dunes => {
                let sand = mix([236., 196., 132.], [150., 84., 46.], nearness * 0.7 + depth * 0.8);
                let ripple = noise.fractal(u * 14.0, v * 130.0 + u * 30.0, 4);
                mix(sand, [96., 52., 34.], (ripple - 0.3) * 0.8)
            }
            Land::Meadow => {
                let blades = noise.fractal(u * 240.0, v * 46.0, 4);
                let grass = mix([178., 198., 104.], [38., 84., 30.], nearness * 0.5 + blades * 0.6);
                let flower = self.noise.branch(60).at((u * 220.0) as i32, (v * 150.0) as i32);
                let hue = if flower > 0.993 { [250., 236., 120.] } else { [238., 236., 246.] };
                mix(grass, hue, step(0.984, 0.986, flower) * step(0.01, 0.2, depth))
            }
            Land::Night | Land::Sea => {
                let trees = noise.fractal(u * 120.0, v * 30.0, 4);
                mix(base, [2., 3., 6.], trees * 0.9)
            }
        }
    }

    fn water(&self, u: f32, v: f32) -> Colour {
        let depth = (v - self.horizon) / (1.0 - self.horizon);
        // Waves look longer and flatter the farther they are.
        let scale = 1.0 / (depth + 0.06);
        let noise = self.noise.branch(80);
        let wave = noise.fractal(u * 9.0 * scale.min(9.0), 26.0 * scale, 5);
        let mirrored = (self.horizon - (v - self.horizon) * 0.85 + (wave - 0.5) * 0.09).clamp(0.0, 1.0);
        let shifted = (u + (wave - 0.5) * 0.05 * depth).clamp(0.0, 1.0);
        let x = (shifted * self.width as f32) as usize;
        let above = match self.nearest_ridge(x, mirrored.min(self.horizon)) {
            Some((n, below)) => self.ground(shifted, mirrored, n, below),
            None => self.sky(shifted, mirrored),
        };
        let colour = mix(above, mix(self.light.zenith, [8., 34., 48.], 0.6), 0.3 + 0.45 * depth);
        let column = (1.0 - ((u - self.sun.0).abs() * 6.0 / (0.5 + depth))).max(0.0);
        let glitter = step(0.56, 0.66, wave) * column;
        mix(colour, self.light.sun, glitter * 0.9)
    }
}

fn mix(a: Colour, b: Colour, t: f32) -> Colour {
    let t = t.clamp(0.0, 1.0);
    let [ar, ag, ab] = a;
    let [br, bg, bb] = b;
    [lerp(ar, br, t), lerp(ag, bg, t), lerp(ab, bb, t)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_fit_an_address() {
        let names: HashSet<String> = (0..60).map(name).collect();
        assert_eq!(names.len(), 60);
        assert!(
            names
                .iter()
                .all(|n| n.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'))
        );
    }

    #[test]
    fn scenes_repeat_and_differ() {
        let paint = |n| Scene::new(n, 60, 40).paint();
        assert_eq!(paint(4), paint(4));
        let all: HashSet<Vec<u8>> = (0..24).map(paint).collect();
        assert_eq!(all.len(), 24);
    }

    #[test]
    fn no_scene_is_blank() {
        for n in 0..12 {
            let pixels = Scene::new(n, 90, 60).paint();
            let (low, high) = pixels.iter().fold((255, 0), |(l, h), &p| (p.min(l), p.max(h)));
            assert!(high - low > 60, "scene {n} spans only {low}..{high}");
        }
    }
}
