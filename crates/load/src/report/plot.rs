//! Plots as inline SVG, drawn by hand: lines over axes (linear, logarithmic, nines) and bars.
//!
//! Each has a title and a description for those who do not see it. Not here: what is plotted, the page around it.

use std::fmt::Write;

use super::style::COLOURS;
use super::units;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 44.0;

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    /// Powers of ten.
    Log,
    /// Shares by the number of nines: 0, 90 %, 99 %, 99.9 % at equal distances.
    Nines,
}

/// One axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub name: &'static str,
    pub scale: Scale,
    pub format: fn(f64) -> String,
}

/// One line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub name: String,
    /// Which colour, and which dashes.
    pub colour: usize,
    pub dash: usize,
    pub points: Vec<(f64, f64)>,
}

/// Text safe inside HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
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

struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Span {
    fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Span {
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

    fn share(&self, value: f64) -> f64 {
        ((place(self.scale, value) - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Values to mark, with even distances a person can read off.
    fn ticks(&self) -> Vec<f64> {
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

fn x_of(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn y_of(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

fn open(out: &mut String, id: &str, title: &str, description: &str, height: f64) {
    let (title, description) = (escape(title), escape(description));
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
         <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>"
    );
}

/// Lines over two axes. `shade` marks a part of the x axis: the measured window.
pub(super) fn lines(
    id: &str,
    title: &str,
    description: &str,
    (x_axis, y_axis): (Axis, Axis),
    lines: &[Line],
    shade: Option<(f64, f64)>,
) -> String {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let x = Span::of(x_axis.scale, points().map(|p| p.0));
    let y = Span::of(y_axis.scale, points().map(|p| p.1));
    let mut out = String::new();
    open(&mut out, id, title, description, HEIGHT);
    if let Some((from, to)) = shade {
        let (from, to) = (x_of(x.share(from)), x_of(x.share(to)));
        let height = HEIGHT - TOP - BOTTOM;
        let _ = write!(
            out,
            "<rect class=\"window\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{height}\"/>",
            to - from
        );
    }
    for tick in y.ticks() {
        let at = y_of(y.share(tick));
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>",
            WIDTH - RIGHT
        );
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            at + 4.0,
            (y_axis.format)(tick)
        );
    }
    for tick in x.ticks() {
        let at = x_of(x.share(tick));
        let (bottom, label) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM + 18.0);
        let _ =
            write!(out, "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>");
        let _ = write!(
            out,
            "<text x=\"{at:.1}\" y=\"{label}\" text-anchor=\"middle\">{}</text>",
            (x_axis.format)(tick)
        );
    }
    let _ = write!(
        out,
        "<text class=\"soft\" x=\"{:.1}\" y=\"{}\" text-anchor=\"end\">{}</text>",
        WIDTH - RIGHT,
        HEIGHT - 8.0,
        escape(x_axis.name)
    );
    for line in lines {
        if let [(px, py)] = line.points.as_slice() {
            let (cx, cy) = (x_of(x.share(*px)), y_of(y.share(*py)));
            let colour = line.colour % COLOURS;
            let name = escape(&line.name);
            let _ = write!(
                out,
                "<circle class=\"f{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\"><title>{name}</title></circle>"
            );
            continue;
        }
        let mut path = String::new();
        for (index, (px, py)) in line.points.iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", x_of(x.share(*px)), y_of(y.share(*py)));
        }
        let _ = write!(
            out,
            "<path class=\"line s{} d{}\" d=\"{path}\"><title>{}</title></path>",
            line.colour % COLOURS,
            line.dash % 4,
            escape(&line.name)
        );
    }
    out.push_str("</svg>");
    out
}

/// What each line means.
pub(super) fn legend(lines: &[Line]) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for line in lines {
        let _ = write!(
            out,
            "<li><svg viewBox=\"0 0 32 10\" aria-hidden=\"true\"><path class=\"line s{} d{}\" d=\"M0 5L32 5\"/></svg>{}</li>",
            line.colour % COLOURS,
            line.dash % 4,
            escape(&line.name)
        );
    }
    out.push_str("</ul>");
    out
}

/// Horizontal bars from zero, each with its value.
pub(super) fn bars(id: &str, title: &str, description: &str, bars: &[(String, f64, String)]) -> String {
    const ROW: f64 = 34.0;
    const NAME: f64 = 230.0;
    const VALUE: f64 = 190.0;
    let height = ROW * bars.len() as f64 + 16.0;
    let high = bars.iter().map(|bar| bar.1).fold(0.0, f64::max);
    let mut out = String::new();
    open(&mut out, id, title, description, height);
    for (index, (name, value, label)) in bars.iter().enumerate() {
        let top = 8.0 + ROW * index as f64;
        let width = if high > 0.0 { value / high * (WIDTH - NAME - VALUE) } else { 0.0 };
        let short: String = if name.chars().count() > 34 {
            name.chars().take(33).chain(['…']).collect()
        } else {
            name.clone()
        };
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"f{}\" x=\"{NAME}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            NAME - 10.0,
            top + ROW / 2.0 + 4.0,
            escape(&short),
            index % COLOURS,
            top + 5.0,
            width.max(1.0),
            ROW - 10.0,
            NAME + width.max(1.0) + 8.0,
            top + ROW / 2.0 + 4.0,
            escape(label)
        );
    }
    out.push_str("</svg>");
    out
}

/// Marks for an axis of times in microseconds.
pub(super) fn time_mark(us: f64) -> String {
    units::time(us).replace(".00 ", " ").replace(".0 ", " ")
}

/// Marks for an axis of shares.
pub(super) fn share_mark(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIME: Axis = Axis { name: "t", scale: Scale::Log, format: time_mark };
    const SHARE: Axis = Axis { name: "q", scale: Scale::Nines, format: share_mark };

    #[test]
    fn text_from_outside_is_escaped() {
        let line = Line { name: "<script>\"&'\u{1}".into(), colour: 0, dash: 0, points: vec![(0.5, 100.0)] };
        let svg = lines("a", "<t>", "<d>", (SHARE, TIME), std::slice::from_ref(&line), None);
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;&quot;&amp;&#39;\u{fffd}"));
        assert!(legend(&[line]).contains("&lt;script&gt;"));
        assert!(bars("b", "t", "d", &[("<b>".into(), 1.0, "<i>".into())]).contains("&lt;b&gt;"));
    }

    #[test]
    fn ticks_are_round() {
        let ticks = |scale, values: &[f64]| Span::of(scale, values.iter().copied()).ticks();
        assert_eq!(ticks(Scale::Linear, &[0.0, 10.0]), [0.0, 5.0, 10.0]);
        assert_eq!(ticks(Scale::Linear, &[0.0, 434.0]), [0.0, 100.0, 200.0, 300.0, 400.0]);
        assert_eq!(ticks(Scale::Log, &[3.0, 90_000.0]), [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]);
        assert_eq!(ticks(Scale::Nines, &[0.0, 0.999]), [0.0, 0.5, 0.75, 0.9, 0.99, 0.999]);
        assert_eq!([0.0, 0.5, 0.999, 0.999999].map(share_mark), ["0 %", "50 %", "99.9 %", "99.9999 %"]);
    }

    proptest! {
        #[test]
        fn every_number_in_a_drawing_is_finite(
            points in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY), 0..20), scale in 0..3
        ) {
            let scale = [Scale::Linear, Scale::Log, Scale::Nines][scale as usize];
            let axis = Axis { name: "a", scale, format: |v| format!("{v:.0}") };
            let line = Line { name: "n".into(), colour: 9, dash: 9, points: points.into_iter().filter(|p| p.0.is_finite() && p.1.is_finite()).collect() };
            let svg = lines("a", "t", "d", (axis, axis), &[line], Some((0.0, 1.0)));
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
