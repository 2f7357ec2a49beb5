//! Pictures that weigh what such pictures weigh: a map made of noise, cut into tiles, and photographs of nothing.
//!
//! Real JPEG files, so that whatever looks at them finds what it expects. Not here: which pictures.

use crate::dice::mix;
use jpeg_encoder::{ColorType, Encoder, EncodingError};

/// Width and height of a map tile, pixels.
pub(super) const TILE: u16 = 256;

/// How much lighter and darker a land is within itself, of 255.
const GRAIN: f64 = 45.0;

/// Of 85 the tiles of a detailed level weigh some 17 KiB.
const QUALITY: u8 = 85;

/// One tile of a map of which level `z` is `2^z` tiles wide: the same land at every level, in more detail.
pub(super) fn tile(seed: u64, z: u32, x: u64, y: u64) -> Result<Vec<u8>, EncodingError> {
    let side = f64::from(TILE) * f64::from(z).exp2();
    let at = |pixel: u16, tile: u64| (tile as f64 * f64::from(TILE) + f64::from(pixel) + 0.5) / side;
    // Land and rivers are those of the whole map; streets and shades are as fine at each level.
    let fine = f64::from(z).exp2();
    draw(TILE, TILE, |px, py| {
        let (u, v) = (at(px, x), at(py, y));
        let height = noise(seed, u * 3.0, v * 3.0, z + 4);
        let street =
            |by: u64, scale: f64| (noise(seed ^ by, u * fine * scale, v * fine * scale, 3) - 0.5).abs();
        let shade = noise(seed ^ 3, u * fine * 32.0, v * fine * 32.0, 3);
        let light = |tint: f64| (tint + shade * GRAIN) as u8;
        match height {
            height if height < 0.44 => [light(130.0), light(170.0), light(205.0)],
            _ if street(1, 3.0) < 0.02 => [250, 225, 150],
            _ if street(2, 9.0) < 0.03 => [255, 255, 255],
            _ => [light(205.0 - height * 60.0), light(200.0), light(180.0 - height * 60.0)],
        }
    })
}

/// A photograph of nothing: soft forms, and grain.
pub(super) fn photograph(seed: u64, width: u16, height: u16) -> Result<Vec<u8>, EncodingError> {
    draw(width, height, |x, y| {
        let (u, v) = (f64::from(x) / 160.0, f64::from(y) / 160.0);
        let light = noise(seed, u, v, 6);
        let grain = (mix(seed ^ (u64::from(x) << 32) ^ u64::from(y)) & 7) as f64;
        let channel = |tint: f64| (light * 170.0 + tint * 70.0 + grain) as u8;
        [
            channel(noise(seed ^ 1, u, v, 2)),
            channel(noise(seed ^ 2, u, v, 2)),
            channel(noise(seed ^ 3, u, v, 2)),
        ]
    })
}

fn draw(width: u16, height: u16, pixel: impl Fn(u16, u16) -> [u8; 3]) -> Result<Vec<u8>, EncodingError> {
    let pixels: Vec<u8> =
        (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).flat_map(|(x, y)| pixel(x, y)).collect();
    let mut out = Vec::new();
    Encoder::new(&mut out, QUALITY).encode(&pixels, width, height, ColorType::Rgb)?;
    Ok(out)
}

/// Noise between 0 and 1: `octaves` grids of chance, each twice as fine and weighing three fifths of the one before.
fn noise(seed: u64, x: f64, y: f64, octaves: u32) -> f64 {
    let (mut sum, mut weights, mut weight, mut scale) = (0.0, 0.0, 1.0, 1.0);
    for octave in 0..octaves {
        sum += weight * grid(seed ^ (u64::from(octave) << 56), x * scale, y * scale);
        weights += weight;
        weight *= 0.6;
        scale *= 2.0;
    }
    sum / weights
}

/// Chance at whole coordinates, and smoothly between them.
fn grid(seed: u64, x: f64, y: f64) -> f64 {
    let (left, top) = (x.floor(), y.floor());
    let corner = |dx: u64, dy: u64| {
        let (column, row) = (left as i64 as u64, top as i64 as u64);
        let place = column.wrapping_add(dx) ^ row.wrapping_add(dy).rotate_left(32);
        (mix(seed ^ place) >> 40) as f64 / f64::from(1 << 24)
    };
    let ease = |t: f64| t * t * (3.0 - 2.0 * t);
    let (u, v) = (ease(x - left), ease(y - top));
    let upper = corner(0, 0) * (1.0 - u) + corner(1, 0) * u;
    let lower = corner(0, 1) * (1.0 - u) + corner(1, 1) * u;
    upper * (1.0 - v) + lower * v
}
