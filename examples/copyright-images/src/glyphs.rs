//! The built-in alphabet: each glyph as pen strokes on a small grid.
//!
//! Baseline at 0, small letters 5 units high, capitals 7, descenders to −2. Strokes rather than a font file: no
//! blob, no licence, any size. Not here: pixels (see `lettering`).

/// One movement of the pen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stroke {
    /// Straight lines through these points.
    Line(&'static [(f32, f32)]),
    /// Part of an ellipse: centre x and y, radius x and y, first and last angle in degrees, 0 to the right,
    /// growing counter-clockwise; a last angle below the first runs clockwise.
    Arc(f32, f32, f32, f32, f32, f32),
}

use Stroke::{Arc, Line};

/// A drawable character.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glyph {
    /// Width in units, without the space to the next glyph.
    pub(crate) width: f32,
    /// The letter itself.
    pub(crate) strokes: &'static [Stroke],
    /// What stands above it (dots, acute, tilde), moved by (x, y).
    pub(crate) accent: Option<(&'static [Stroke], f32, f32)>,
}

const DOTS: &[Stroke] = &[Line(&[(-1.1, 0.2), (-1.1, 0.25)]), Line(&[(1.1, 0.2), (1.1, 0.25)])];
const ACUTE: &[Stroke] = &[Line(&[(-0.3, 0.0), (0.9, 1.3)])];
const TILDE: &[Stroke] = &[Arc(-0.75, 0.1, 0.75, 0.6, 180.0, 0.0), Arc(0.75, 0.1, 0.75, 0.6, 180.0, 360.0)];

/// The glyph of a character; what the alphabet lacks is drawn as an empty box.
pub(crate) fn glyph(character: char) -> Glyph {
    let (base, mark) = match character {
        'ä' => ('a', Some(DOTS)),
        'ö' => ('o', Some(DOTS)),
        'ü' => ('u', Some(DOTS)),
        'Ä' => ('A', Some(DOTS)),
        'Ö' => ('O', Some(DOTS)),
        'Ü' => ('U', Some(DOTS)),
        'á' => ('a', Some(ACUTE)),
        'é' => ('e', Some(ACUTE)),
        'í' => ('ı', Some(ACUTE)),
        'ó' => ('o', Some(ACUTE)),
        'ú' => ('u', Some(ACUTE)),
        'ñ' => ('n', Some(TILDE)),
        'Ñ' => ('N', Some(TILDE)),
        other => (other, None),
    };
    let (width, strokes) = capital(base).or_else(|| small(base)).or_else(|| sign(base)).unwrap_or(BOX);
    let rise = if base.is_uppercase() { 8.2 } else { 6.3 };
    Glyph { width, strokes, accent: mark.map(|m| (m, width / 2.0, rise)) }
}

type Drawn = (f32, &'static [Stroke]);

const BOX: Drawn = (4.0, &[Line(&[(0., 0.), (0., 7.), (4., 7.), (4., 0.), (0., 0.)])]);

fn capital(c: char) -> Option<Drawn> {
    let drawn: Drawn = match c {
        'A' => (5.2, &[Line(&[(0., 0.), (2.6, 7.), (5.2, 0.)]), Line(&[(0.9, 2.3), (4.3, 2.3)])]),
        'B' => (
            4.6,
            &[
                Line(&[(2.6, 3.7), (0., 3.7), (0., 7.), (2.6, 7.)]),
                Arc(2.6, 5.35, 1.7, 1.65, -90., 90.),
                Line(&[(2.6, 0.), (0., 0.), (0., 3.7)]),
                Arc(2.6, 1.85, 2., 1.85, -90., 90.),
            ],
        ),
        'C' => (5.2, &[Arc(3., 3.5, 3., 3.5, 45., 315.)]),
        'D' => (5.2, &[Line(&[(2., 0.), (0., 0.), (0., 7.), (2., 7.)]), Arc(2., 3.5, 3.2, 3.5, -90., 90.)]),
        'E' => (4., &[Line(&[(4., 7.), (0., 7.), (0., 0.), (4., 0.)]), Line(&[(0., 3.6), (3.4, 3.6)])]),
        'F' => (3.9, &[Line(&[(3.9, 7.), (0., 7.), (0., 0.)]), Line(&[(0., 3.5), (3.3, 3.5)])]),
        'G' => (5.8, &[Arc(3., 3.5, 3., 3.5, 45., 350.), Line(&[(5.95, 2.9), (3.6, 2.9)])]),
        'H' => (
            4.9,
            &[Line(&[(0., 0.), (0., 7.)]), Line(&[(4.9, 0.), (4.9, 7.)]), Line(&[(0., 3.6), (4.9, 3.6)])],
        ),
        'I' => (0.4, &[Line(&[(0.2, 0.), (0.2, 7.)])]),
        'J' => (3., &[Line(&[(3., 7.), (3., 2.)]), Arc(1.5, 2., 1.5, 2., 360., 190.)]),
        'K' => (
            4.6,
            &[Line(&[(0., 0.), (0., 7.)]), Line(&[(4.4, 7.), (0., 2.7)]), Line(&[(1.5, 4.2), (4.6, 0.)])],
        ),
        'L' => (3.8, &[Line(&[(0., 7.), (0., 0.), (3.8, 0.)])]),
        'M' => (6., &[Line(&[(0., 0.), (0., 7.), (3., 2.), (6., 7.), (6., 0.)])]),
        'N' => (4.9, &[Line(&[(0., 0.), (0., 7.), (4.9, 0.), (4.9, 7.)])]),
        'O' => (6., &[Arc(3., 3.5, 3., 3.5, 0., 360.)]),
        'P' => (
            4.5,
            &[
                Line(&[(0., 0.), (0., 7.), (2.6, 7.)]),
                Arc(2.6, 5.1, 1.9, 1.9, 90., -90.),
                Line(&[(2.6, 3.2), (0., 3.2)]),
            ],
        ),
        'Q' => (6., &[Arc(3., 3.5, 3., 3.5, 0., 360.), Line(&[(3.8, 1.7), (5.9, -0.6)])]),
        'R' => (
            4.7,
            &[
                Line(&[(0., 0.), (0., 7.), (2.6, 7.)]),
                Arc(2.6, 5.2, 1.9, 1.8, 90., -90.),
                Line(&[(0., 3.4), (2.6, 3.4), (4.7, 0.)]),
            ],
        ),
        'S' => (4.5, &[Arc(2.3, 5.25, 2.1, 1.75, 30., 270.), Arc(2.3, 1.75, 2.2, 1.75, 90., -150.)]),
        'T' => (5., &[Line(&[(0., 7.), (5., 7.)]), Line(&[(2.5, 7.), (2.5, 0.)])]),
        'U' => (
            4.8,
            &[
                Line(&[(0., 7.), (0., 2.4)]),
                Arc(2.4, 2.4, 2.4, 2.4, 180., 360.),
                Line(&[(4.8, 2.4), (4.8, 7.)]),
            ],
        ),
        'V' => (5.2, &[Line(&[(0., 7.), (2.6, 0.), (5.2, 7.)])]),
        'W' => (7.6, &[Line(&[(0., 7.), (1.9, 0.), (3.8, 6.4), (5.7, 0.), (7.6, 7.)])]),
        'X' => (4.8, &[Line(&[(0., 0.), (4.8, 7.)]), Line(&[(0., 7.), (4.8, 0.)])]),
        'Y' => (5., &[Line(&[(0., 7.), (2.5, 3.3), (5., 7.)]), Line(&[(2.5, 3.3), (2.5, 0.)])]),
        'Z' => (4.6, &[Line(&[(0., 7.), (4.6, 7.), (0., 0.), (4.6, 0.)])]),
        _ => return None,
    };
    Some(drawn)
}

fn small(c: char) -> Option<Drawn> {
    let drawn: Drawn = match c {
        'a' => (3.9, &[Arc(1.95, 2.5, 1.95, 2.5, 0., 360.), Line(&[(3.9, 5.), (3.9, 0.)])]),
        'b' => (3.9, &[Line(&[(0., 7.2), (0., 0.)]), Arc(1.95, 2.5, 1.95, 2.5, 0., 360.)]),
        'c' => (3.5, &[Arc(2., 2.5, 2., 2.5, 45., 315.)]),
        'd' => (3.9, &[Arc(1.95, 2.5, 1.95, 2.5, 0., 360.), Line(&[(3.9, 7.2), (3.9, 0.)])]),
        'e' => (4., &[Line(&[(0., 2.7), (4., 2.7)]), Arc(2., 2.5, 2., 2.5, 5., 315.)]),
        'f' => (
            2.6,
            &[
                Line(&[(1., 0.), (1., 5.7)]),
                Arc(2.3, 5.7, 1.3, 1.5, 180., 75.),
                Line(&[(0., 4.7), (2.4, 4.7)]),
            ],
        ),
        'g' => (
            3.9,
            &[
                Arc(1.95, 2.5, 1.95, 2.5, 0., 360.),
                Line(&[(3.9, 5.), (3.9, -0.4)]),
                Arc(1.95, -0.4, 1.95, 1.6, 0., -155.),
            ],
        ),
        'h' => (
            3.6,
            &[
                Line(&[(0., 0.), (0., 7.2)]),
                Arc(1.8, 3.1, 1.8, 1.9, 180., 0.),
                Line(&[(3.6, 3.1), (3.6, 0.)]),
            ],
        ),
        'i' => (0.4, &[Line(&[(0.2, 0.), (0.2, 5.)]), Line(&[(0.2, 6.8), (0.2, 6.85)])]),
        'ı' => (0.4, &[Line(&[(0.2, 0.), (0.2, 5.)])]),
        'j' => (
            1.2,
            &[
                Line(&[(1., 5.), (1., -0.6)]),
                Arc(-0.3, -0.6, 1.3, 1.4, 360., 270.),
                Line(&[(1., 6.8), (1., 6.85)]),
            ],
        ),
        'k' => (
            3.5,
            &[Line(&[(0., 0.), (0., 7.2)]), Line(&[(3.3, 5.), (0., 1.9)]), Line(&[(1.2, 3.), (3.5, 0.)])],
        ),
        'l' => (0.4, &[Line(&[(0.2, 0.), (0.2, 7.2)])]),
        'm' => (
            6.2,
            &[
                Line(&[(0., 0.), (0., 5.)]),
                Arc(1.55, 3.3, 1.55, 1.7, 180., 0.),
                Line(&[(3.1, 3.3), (3.1, 0.)]),
                Arc(4.65, 3.3, 1.55, 1.7, 180., 0.),
                Line(&[(6.2, 3.3), (6.2, 0.)]),
            ],
        ),
        'n' => (
            3.6,
            &[Line(&[(0., 0.), (0., 5.)]), Arc(1.8, 3.1, 1.8, 1.9, 180., 0.), Line(&[(3.6, 3.1), (3.6, 0.)])],
        ),
        'o' => (4., &[Arc(2., 2.5, 2., 2.5, 0., 360.)]),
        'p' => (3.9, &[Line(&[(0., 5.), (0., -2.)]), Arc(1.95, 2.5, 1.95, 2.5, 0., 360.)]),
        'q' => (3.9, &[Arc(1.95, 2.5, 1.95, 2.5, 0., 360.), Line(&[(3.9, 5.), (3.9, -2.)])]),
        'r' => (2.3, &[Line(&[(0., 0.), (0., 5.)]), Arc(1.8, 3., 1.8, 2., 180., 75.)]),
        's' => (3.2, &[Arc(1.6, 3.75, 1.5, 1.25, 35., 270.), Arc(1.6, 1.25, 1.6, 1.25, 90., -145.)]),
        't' => (
            2.5,
            &[
                Line(&[(0.9, 6.6), (0.9, 1.4)]),
                Arc(2.1, 1.4, 1.2, 1.4, 180., 290.),
                Line(&[(0., 4.7), (2.3, 4.7)]),
            ],
        ),
        'u' => (
            3.6,
            &[
                Line(&[(0., 5.), (0., 1.9)]),
                Arc(1.8, 1.9, 1.8, 1.9, 180., 360.),
                Line(&[(3.6, 5.), (3.6, 0.)]),
            ],
        ),
        'v' => (3.8, &[Line(&[(0., 5.), (1.9, 0.), (3.8, 5.)])]),
        'w' => (5.8, &[Line(&[(0., 5.), (1.45, 0.), (2.9, 4.6), (4.35, 0.), (5.8, 5.)])]),
        'x' => (3.5, &[Line(&[(0., 0.), (3.5, 5.)]), Line(&[(0., 5.), (3.5, 0.)])]),
        'y' => (3.8, &[Line(&[(0., 5.), (1.9, 0.)]), Line(&[(3.8, 5.), (1.2, -2.)])]),
        'z' => (3.4, &[Line(&[(0., 5.), (3.4, 5.), (0., 0.), (3.4, 0.)])]),
        'ß' => (
            3.9,
            &[
                Line(&[(0., 0.), (0., 5.4)]),
                Arc(1.8, 5.4, 1.8, 1.7, 180., -50.),
                Line(&[(2.96, 4.1), (2., 3.7)]),
                Arc(2., 1.85, 1.9, 1.85, 90., -120.),
            ],
        ),
        _ => return None,
    };
    Some(drawn)
}

fn sign(c: char) -> Option<Drawn> {
    let drawn: Drawn = match c {
        ' ' => (2.2, &[]),
        '.' => (0.4, &[Line(&[(0.2, 0.1), (0.2, 0.15)])]),
        ',' => (0.6, &[Line(&[(0.5, 0.2), (0.1, -1.2)])]),
        '-' => (2.4, &[Line(&[(0., 2.6), (2.4, 2.6)])]),
        '–' => (3.6, &[Line(&[(0., 2.6), (3.6, 2.6)])]),
        '·' => (0.4, &[Line(&[(0.2, 2.8), (0.2, 2.85)])]),
        '©' => (7., &[Arc(3.5, 3.5, 3.5, 3.5, 0., 360.), Arc(3.5, 3.5, 1.6, 1.7, 48., 312.)]),
        _ => return None,
    };
    Some(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_covers_what_the_copyright_lines_need() {
        let letters = ('a'..='z').chain('A'..='Z').chain("äöüÄÖÜßáéíóúñÑ©.,-– ".chars());
        for c in letters {
            assert_ne!(glyph(c).strokes.as_ptr(), BOX.1.as_ptr(), "{c} has no glyph");
        }
        assert_eq!(glyph('漢').strokes.as_ptr(), BOX.1.as_ptr());
    }

    #[test]
    fn marked_letters_differ_from_bare_ones() {
        assert!(glyph('ü').accent.is_some() && glyph('u').accent.is_none());
        assert!(glyph('ñ').accent.is_some() && glyph('©').accent.is_none());
    }
}
