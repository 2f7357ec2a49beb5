//! The text that servers write for Prometheus (exposition format 0.0.4; what OpenMetrics adds to it is understood
//! too): its samples, and what kind each is of.
//!
//! A line that does not parse is counted and the first one said; the others are of use without it. Timestamps and
//! exemplars are read over: when a sample was taken is known better here. Not here: fetching it, and which samples
//! matter.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// Longest text that is read, in bytes.
pub const TEXT_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Samples that are read at most.
pub const SAMPLES_MAX: usize = 100_000;

/// What a sample is, by the `# TYPE` of its family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Only ever grows, until the server starts anew.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Part of a histogram: a bucket, the sum, the count.
    Histogram,
    /// Part of a summary: a quantile, the sum, the count.
    Summary,
    /// Nothing is said about it.
    #[default]
    Untyped,
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<'t> {
    /// Name of the metric, suffixes included.
    pub name: &'t str,
    /// Labels, in the order of the text.
    pub labels: Vec<(&'t str, Cow<'t, str>)>,
    /// Value; may be infinite or no number.
    pub value: f64,
    /// What it is.
    pub kind: Kind,
}

/// What a text says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text<'t> {
    /// In the order of the text.
    pub samples: Vec<Sample<'t>>,
    /// Lines that are none.
    pub malformed: usize,
    /// The first of these: its number from 1, and what is wrong with it.
    pub first_malformed: Option<(usize, &'static str)>,
}

/// Why a text is not read at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooMuch {
    /// It has so many bytes.
    Bytes(usize),
    /// It has more samples than [`SAMPLES_MAX`].
    Samples,
}

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooMuch::Bytes(bytes) => {
                write!(f, "{bytes} bytes of metrics, more than the {TEXT_MAX_BYTES} that are read")
            }
            TooMuch::Samples => write!(f, "more than the {SAMPLES_MAX} samples that are read"),
        }?;
        f.write_str("; let the server write fewer (many take ?name[]=… or ?collect[]=… in the URL)")
    }
}

impl Sample<'_> {
    /// Whether it only ever grows, so that its rate means something: also what belongs to histograms, and what is
    /// not said to be a counter but called `…_total`.
    pub fn grows(&self) -> bool {
        match self.kind {
            Kind::Counter => true,
            Kind::Gauge => false,
            Kind::Histogram => true,
            Kind::Summary => self.name.ends_with("_sum") || self.name.ends_with("_count"),
            Kind::Untyped => self.name.ends_with("_total"),
        }
    }

    /// The value of a label; that of one that is not there is empty, as Prometheus has it.
    pub fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(label, _)| *label == name).map_or("", |(_, value)| value)
    }

    /// The name of its series: the labels sorted, since some servers write them in another order each time.
    pub fn series(&self) -> String {
        if self.labels.is_empty() {
            return self.name.to_owned();
        }
        let mut labels: Vec<_> = self.labels.iter().collect();
        labels.sort();
        let shown: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        format!("{}{{{}}}", self.name, shown.join(","))
    }
}

/// A label's value as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Reads a text.
///
/// # Errors
/// [`TooMuch`]. A text that is no metrics at all is no error here: it has no samples, and malformed lines.
pub fn parse(text: &str) -> Result<Text<'_>, TooMuch> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(TooMuch::Bytes(text.len()));
    }
    let mut read = Text::default();
    let mut kinds: HashMap<&str, Kind> = HashMap::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in text.split('\n').enumerate() {
        let line = line.trim_matches([' ', '\t', '\r']);
        if let Some(comment) = line.strip_prefix('#') {
            if let Some((family, kind)) = type_of(comment) {
                kinds.insert(family, kind);
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        match sample(line) {
            Ok(_) if read.samples.len() == SAMPLES_MAX => return Err(TooMuch::Samples),
            Ok(sample) => {
                let kind = kind_of(sample.name, &kinds);
                read.samples.push(Sample { kind, ..sample });
            }
            Err(why) => {
                read.malformed += 1;
                read.first_malformed.get_or_insert((at + 1, why));
            }
        }
    }
    Ok(read)
}

/// `# TYPE name kind`.
fn type_of(comment: &str) -> Option<(&str, Kind)> {
    let mut words = comment.split_ascii_whitespace();
    if words.next() != Some("TYPE") {
        return None;
    }
    let family = words.next()?;
    let kind = match words.next()? {
        "counter" => Kind::Counter,
        // The three others are of OpenMetrics: buckets that go up and down, and states as 0 and 1.
        "gauge" | "gaugehistogram" | "info" | "stateset" => Kind::Gauge,
        "histogram" => Kind::Histogram,
        "summary" => Kind::Summary,
        _ => Kind::Untyped,
    };
    Some((family, kind))
}

/// The family of a sample has its name, or its name without a suffix.
fn kind_of(name: &str, kinds: &HashMap<&str, Kind>) -> Kind {
    if let Some(kind) = kinds.get(name) {
        return *kind;
    }
    let family = |suffix: &str| name.strip_suffix(suffix).and_then(|family| kinds.get(family)).copied();
    if let Some(kind) = family("_created") {
        // When it began, as a time: no part of what it counts.
        return if kind == Kind::Untyped { kind } else { Kind::Gauge };
    }
    let of = |suffix: &str, wanted: &[Kind]| family(suffix).filter(|kind| wanted.contains(kind));
    of("_total", &[Kind::Counter])
        .or_else(|| of("_bucket", &[Kind::Histogram]))
        .or_else(|| of("_sum", &[Kind::Histogram, Kind::Summary]))
        .or_else(|| of("_count", &[Kind::Histogram, Kind::Summary]))
        .or_else(|| ["_bucket", "_gsum", "_gcount", "_info"].into_iter().find_map(|s| of(s, &[Kind::Gauge])))
        .unwrap_or_default()
}

/// `name{label="value",…} value [timestamp] [# exemplar]`.
fn sample(line: &str) -> Result<Sample<'_>, &'static str> {
    let (name, rest) = word(line, true);
    if name.is_empty() {
        return Err("it does not begin with the name of a metric");
    }
    let rest = rest.trim_start_matches(BLANKS);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None if rest.len() + name.len() == line.len() => {
            return Err("after the name comes neither { nor a blank");
        }
        None => (Vec::new(), rest),
    };
    let mut words = rest.split(BLANKS).filter(|word| !word.is_empty());
    let value = words.next().ok_or("the value is missing")?;
    let value = value.parse().map_err(|_| "the value is no number")?;
    match words.next() {
        None => {}
        Some(word) if word.starts_with('#') => {}
        Some(word) => {
            word.parse::<f64>().map_err(|_| "the timestamp is no number")?;
            if words.next().is_some_and(|word| !word.starts_with('#')) {
                return Err("something stands after the timestamp");
            }
        }
    }
    Ok(Sample { name, labels, value, kind: Kind::Untyped })
}

const BLANKS: [char; 2] = [' ', '\t'];

/// The name at the start, which may be none, and what follows. Only names of metrics have colons.
fn word(text: &str, colons: bool) -> (&str, &str) {
    let fits = |(at, c): (usize, char)| {
        c == '_' || c.is_ascii_alphabetic() || at > 0 && c.is_ascii_digit() || colons && c == ':'
    };
    let end = text.char_indices().find(|found| !fits(*found)).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(end).unwrap_or((text, ""))
}

type Labels<'t> = Vec<(&'t str, Cow<'t, str>)>;

/// What stands behind `{`, and what follows `}`.
fn labels(text: &str) -> Result<(Labels<'_>, &str), &'static str> {
    let mut labels = Vec::new();
    let mut rest = text.trim_start_matches(BLANKS);
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        let (name, after) = word(rest, false);
        if name.is_empty() {
            return Err("the name of a label is missing");
        }
        let after = after.trim_start_matches(BLANKS).strip_prefix('=').ok_or("a label without =")?;
        let after = after.trim_start_matches(BLANKS).strip_prefix('"').ok_or("a label without quotes")?;
        let (value, after) = quoted(after)?;
        labels.push((name, value));
        rest = after.trim_start_matches(BLANKS);
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start_matches(BLANKS),
            None if rest.starts_with('}') => {}
            None => return Err("after a label comes neither , nor }"),
        }
    }
}

/// What stands behind a quote, and what follows the next one. A backslash before anything else is one.
fn quoted(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    let open = "a label's value without its closing quote";
    let first = text.find(['"', '\\']).ok_or(open)?;
    let (plain, rest) = text.split_at_checked(first).ok_or(open)?;
    if let Some(after) = rest.strip_prefix('"') {
        return Ok((Cow::Borrowed(plain), after));
    }
    let mut value = plain.to_owned();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok((Cow::Owned(value), chars.as_str())),
            '\\' => match chars.next().ok_or(open)? {
                'n' => value.push('\n'),
                c @ ('\\' | '"') => value.push(c),
                c => value.extend(['\\', c]),
            },
            c => value.push(c),
        }
    }
    Err(open)
}

#[cfg(test)]
mod tests;
