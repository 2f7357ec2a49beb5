//! Letters onto pixels: strokes become a field of distances, the field becomes smooth ink with a dark halo.
//!
//! Pure. Not here: the shapes of letters (`glyphs`), which words are drawn (`language`).

use crate::glyphs::{Stroke, glyph};

/// Yellow on a dark halo reads on any picture.
const INK: [f32; 3] = [255.0, 214.0, 10.0];
const HALO: [f32; 3] = [12.0, 10.0, 4.0];
/// Space between glyphs, in the alphabet's units.
const GAP: f32 = 1.5;
/// Half the width of the pen, and of the pen with its halo, in the alphabet's units.
const PEN: f32 = 0.48;
const HALO_PEN: f32 = 1.15;

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) left: usize,
    pub(crate) top: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// Draws `words` into the lower left corner of an RGB picture; returns the pixels it may have touched.
pub(crate) fn letter(pixels: &mut [u8], width: usize, height: usize, words: &str) -> Area {
    let unit = unit_px(width, words);
    let area = place(width, height, words, unit);
    let field = Field::of(words, unit, area.width, area.height);
    if area.width == 0 || width == 0 {
        return area;
    }
    let rows = pixels.chunks_exact_mut(width * 3).skip(area.top);
    for (row, distances) in rows.zip(field.distance_px.chunks_exact(area.width)) {
        for (pixel, &distance) in row.chunks_exact_mut(3).skip(area.left).zip(distances) {
            let halo = 0.7 * (HALO_PEN * unit + 0.5 - distance).clamp(0.0, 1.0);
            let ink = (PEN * unit + 0.5 - distance).clamp(0.0, 1.0);
            for ((channel, dark), bright) in pixel.iter_mut().zip(HALO).zip(INK) {
                let under = f32::from(*channel) * (1.0 - halo) + dark * halo;
                *channel = (under * (1.0 - ink) + bright * ink) as u8;
            }
        }
    }
    area
}

/// Pixels per unit of the alphabet: capitals of 1/28 of the width, less where the words would not fit.
fn unit_px(width: usize, words: &str) -> f32 {
    let wanted = width as f32 / 28.0 / 7.0;
    let room = width as f32 * 0.92 / (span(words) + 2.0 * HALO_PEN).max(1.0);
    wanted.min(room)
}

/// Length of the words in units.
fn span(words: &str) -> f32 {
    words.chars().map(|c| glyph(c).width + GAP).sum::<f32>()
}

fn place(width: usize, height: usize, words: &str, unit: f32) -> Area {
    let margin = (width as f32 * 0.02) as usize;
    let wide = ((span(words) + 2.0 * HALO_PEN) * unit).ceil() as usize + 2;
    // From the descenders (−2) to the dots of a capital (8.5), with the halo around both.
    let high = ((10.5 + 2.0 * HALO_PEN) * unit).ceil() as usize + 2;
    Area {
        left: margin.min(width),
        top: height.saturating_sub(high + margin),
        width: wide.min(width.saturating_sub(margin)),
        height: high.min(height),
    }
}

/// For every pixel of an area, how far it is from the nearest stroke.
struct Field {
    width: usize,
    height: usize,
    distance_px: Vec<f32>,
}

impl Field {
    fn of(words: &str, unit: f32, width: usize, height: usize) -> Field {
        let mut field = Field { width, height, distance_px: vec![f32::MAX; width * height] };
        let baseline = (8.5 + HALO_PEN) * unit + 1.0;
        let mut pen_x = HALO_PEN * unit + 1.0;
        for c in words.chars() {
            let glyph = glyph(c);
            let letter = glyph.strokes.iter().map(|s| (s, 0.0, 0.0));
            let accent =
                glyph.accent.iter().flat_map(|(strokes, x, y)| strokes.iter().map(move |s| (s, *x, *y)));
            for (stroke, dx, dy) in letter.chain(accent) {
                let to_px = |(x, y): (f32, f32)| (pen_x + (x + dx) * unit, baseline - (y + dy) * unit);
                field.stroke(stroke, to_px, HALO_PEN * unit + 1.0);
            }
            pen_x += (glyph.width + GAP) * unit;
        }
        field
    }

    fn stroke(&mut self, stroke: &Stroke, to_px: impl Fn((f32, f32)) -> (f32, f32), reach_px: f32) {
        match *stroke {
            Stroke::Line(points) => {
                for (from, to) in points.iter().zip(points.iter().skip(1)) {
                    self.segment(to_px(*from), to_px(*to), reach_px);
                }
            }
            Stroke::Arc(cx, cy, rx, ry, first, last) => {
                let steps = ((last - first).abs() / 15.0).ceil().max(1.0) as usize;
                let on = |n: usize| {
                    let angle = (first + (last - first) * n as f32 / steps as f32).to_radians();
                    to_px((cx + rx * angle.cos(), cy + ry * angle.sin()))
                };
                for n in 0..steps {
                    self.segment(on(n), on(n + 1), reach_px);
                }
            }
        }
    }

    /// Lowers the distances around one straight piece, no farther out than ink or halo reach.
    fn segment(&mut self, a: (f32, f32), b: (f32, f32), reach_px: f32) {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let length_squared = (dx * dx + dy * dy).max(1e-6);
        let from = |low: f32| (low - reach_px).max(0.0) as usize;
        let until = |high: f32, end: usize| ((high + reach_px).max(0.0) as usize + 1).min(end);
        let (left, right) = (from(a.0.min(b.0)), until(a.0.max(b.0), self.width));
        let (top, bottom) = (from(a.1.min(b.1)), until(a.1.max(b.1), self.height));
        let rows = self.distance_px.chunks_exact_mut(self.width.max(1)).enumerate();
        for (y, row) in rows.take(bottom).skip(top) {
            let py = y as f32 - a.1;
            for (x, best) in row.iter_mut().enumerate().take(right).skip(left) {
                let px = x as f32 - a.0;
                let along = ((px * dx + py * dy) / length_squared).clamp(0.0, 1.0);
                let distance = (px - dx * along).hypot(py - dy * along);
                *best = best.min(distance);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_ink(p: &[u8]) -> bool {
        p[0] > 220 && p[1] > 180 && p[2] < 60
    }

    #[test]
    fn letters_are_yellow_and_stay_inside_their_area() {
        let (w, h) = (400, 200);
        let mut pixels = vec![90u8; w * h * 3];
        let area = letter(&mut pixels, w, h, "Copyright © Grün");
        let mut ink = 0;
        for (n, p) in pixels.chunks_exact(3).enumerate() {
            let (x, y) = (n % w, n / w);
            let inside = (area.left..area.left + area.width).contains(&x)
                && (area.top..area.top + area.height).contains(&y);
            assert!(inside || p == [90, 90, 90], "pixel {x},{y} outside was touched");
            ink += usize::from(is_ink(p));
        }
        assert!(ink > 300, "{ink} yellow pixels");
    }

    #[test]
    fn dots_make_a_difference() {
        let draw = |words| {
            let mut pixels = vec![90u8; 200 * 100 * 3];
            letter(&mut pixels, 200, 100, words);
            pixels
        };
        assert_ne!(draw("u"), draw("ü"));
    }

    proptest! {
        #[test]
        fn any_words_on_any_picture(words in "\\PC{0,60}", w in 0usize..120, h in 0usize..80) {
            let mut pixels = vec![0u8; w * h * 3];
            letter(&mut pixels, w, h, &words);
        }
    }
}
