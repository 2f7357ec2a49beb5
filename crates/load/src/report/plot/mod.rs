//! Plots as inline SVG, drawn by hand: lines over axes (linear, logarithmic, nines) and bars.
//!
//! Each has a title and a description for those who do not see it. Not here: what is plotted, the page around it, which values an axis
//! marks ([`scale`]).

mod bars;
mod scale;

pub(super) use bars::bars;
pub(super) use scale::Scale;

use std::fmt::Write;

use super::style::COLOURS;
use super::units;
use scale::Span;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 44.0;

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

fn open(out: &mut String, id: &str, title: &str, description: &str, height: f64) {
    let (title, description) = (escape(title), escape(description));
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
         <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>"
    );
}

/// A plot of lines over two axes.
#[derive(Clone, Debug)]
pub(super) struct Chart<'a> {
    pub id: &'a str,
    pub title: &'a str,
    pub about: &'a str,
    pub x: Axis,
    pub y: Axis,
    pub lines: &'a [Line],
    /// Parts of the x axis that are marked: the measured windows.
    pub shade: &'a [(f64, f64)],
    /// Places on the x axis that are marked: colour, and what is said there.
    pub marks: &'a [(f64, usize, String)],
    /// What the x axis has to hold besides, so that plots below each other have the same.
    pub reach: &'a [f64],
    /// Whether each point has a dot.
    pub dots: bool,
    pub height: f64,
}

impl<'a> Chart<'a> {
    /// Lines, and nothing else marked.
    pub(super) fn new(
        id: &'a str,
        title: &'a str,
        about: &'a str,
        (x, y): (Axis, Axis),
        lines: &'a [Line],
    ) -> Chart<'a> {
        Chart {
            id,
            title,
            about,
            x,
            y,
            lines,
            shade: &[],
            marks: &[],
            reach: &[],
            dots: false,
            height: HEIGHT,
        }
    }

    /// The SVG.
    pub(super) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        let x = Span::of(self.x.scale, points().map(|p| p.0).chain(self.reach.iter().copied()));
        let y = Span::of(self.y.scale, points().map(|p| p.1));
        let frame = Frame { x, y, height: self.height };
        let mut out = String::new();
        open(&mut out, self.id, self.title, self.about, self.height);
        for (from, to) in self.shade {
            let (from, to) = (frame.x(*from), frame.x(*to));
            let height = self.height - TOP - BOTTOM;
            let _ = write!(
                out,
                "<rect class=\"window\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{height}\"/>",
                to - from
            );
        }
        self.axes(&frame, &mut out);
        for line in self.lines {
            self.line(line, &frame, &mut out);
        }
        for (row, (at, colour, text)) in self.marks.iter().enumerate() {
            mark(&frame, row, *at, *colour, text, &mut out);
        }
        out.push_str("</svg>");
        out
    }

    fn axes(&self, frame: &Frame, out: &mut String) {
        let bottom = self.height - BOTTOM;
        for tick in frame.y.ticks() {
            let at = frame.y(tick);
            let (end, label) = (WIDTH - RIGHT, (self.y.format)(tick));
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                at + 4.0
            );
        }
        for tick in frame.x.ticks() {
            let at = frame.x(tick);
            let label = (self.x.format)(tick);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                bottom + 18.0
            );
        }
        let (end, foot) = (WIDTH - RIGHT, self.height - 8.0);
        let _ = write!(
            out,
            "<text class=\"soft\" x=\"{end}\" y=\"{foot}\" text-anchor=\"end\">{}</text>\
             <text class=\"soft\" x=\"{LEFT}\" y=\"{foot}\">{}</text>",
            escape(self.x.name),
            escape(self.y.name)
        );
    }

    fn line(&self, line: &Line, frame: &Frame, out: &mut String) {
        let colour = line.colour % COLOURS;
        let name = escape(&line.name);
        let mut path = String::new();
        for (index, (px, py)) in line.points.iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", frame.x(*px), frame.y(*py));
        }
        if line.points.len() > 1 {
            let dash = line.dash % 4;
            let _ = write!(
                out,
                "<path class=\"line s{colour} d{dash}\" d=\"{path}\"><title>{name}</title></path>"
            );
        }
        if !self.dots && line.points.len() != 1 {
            return;
        }
        let radius = if self.dots { 3 } else { 4 };
        for (px, py) in &line.points {
            let (cx, cy) = (frame.x(*px), frame.y(*py));
            let (at, value) = ((self.x.format)(*px), (self.y.format)(*py));
            let _ = write!(
                out,
                "<circle class=\"f{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{radius}\">\
                 <title>{name}, {at}: {value}</title></circle>"
            );
        }
    }
}

struct Frame {
    x: Span,
    y: Span,
    height: f64,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.share(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        self.height - BOTTOM - self.y.share(value) * (self.height - TOP - BOTTOM)
    }
}

/// A line from top to bottom with a word at its head; those of several runs stand below each other.
fn mark(frame: &Frame, row: usize, at: f64, colour: usize, text: &str, out: &mut String) {
    let (x, bottom, colour) = (frame.x(at), frame.height - BOTTOM, colour % COLOURS);
    // To the right of its line, unless there is no room.
    let (anchor, aside) = if x > WIDTH * 0.7 { ("end", -5.0) } else { ("start", 5.0) };
    let _ = write!(
        out,
        "<line class=\"mark s{colour}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>"
    );
    if !text.is_empty() {
        let _ = write!(
            out,
            "<text class=\"word f{colour}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            x + aside,
            TOP + 12.0 + 15.0 * row as f64,
            escape(text)
        );
    }
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
        let marks = [(0.5, 0, "<script>".to_owned())];
        let chart = Chart::new("a", "<t>", "<d>", (SHARE, TIME), std::slice::from_ref(&line));
        let svg = Chart { marks: &marks, dots: true, ..chart }.svg();
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;&quot;&amp;&#39;\u{fffd}"));
        assert!(legend(&[line]).contains("&lt;script&gt;"));
        assert!(bars("b", "t", "d", &[("<b>".into(), 1.0, "<i>".into())]).contains("&lt;b&gt;"));
    }

    #[test]
    fn shares_have_as_many_nines_as_they_need() {
        assert_eq!([0.0, 0.5, 0.999, 0.999999].map(share_mark), ["0 %", "50 %", "99.9 %", "99.9999 %"]);
    }

    proptest! {
        #[test]
        fn every_number_in_a_drawing_is_finite(
            points in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY), 0..20), scale in 0..3,
            at in -1e300..1e300_f64,
        ) {
            let scale = [Scale::Linear, Scale::Log, Scale::Nines][scale as usize];
            let axis = Axis { name: "a", scale, format: |v| format!("{v:.0}") };
            let line = Line { name: "n".into(), colour: 9, dash: 9, points: points.into_iter().filter(|p| p.0.is_finite() && p.1.is_finite()).collect() };
            let lines = [line];
            let marks = [(at, 3, "m".to_owned())];
            let chart = Chart::new("a", "t", "d", (axis, axis), &lines);
            let svg = Chart { shade: &[(0.0, 1.0)], marks: &marks, dots: true, reach: &[at], ..chart }.svg();
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
