//! Distributions as a log of HDR histograms, which the standard plotters read: one line for each distribution of each
//! level.
//!
//! Values are microseconds. What matters most has no tag (of an open loop the response time, else the time to the
//! last byte), so that tools that know no tags find it; the others are tagged with their names. Only whole levels are
//! kept as histograms, so a plain run has one line of each. Pure. Not here: percentiles.

use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::model::Run;
use crate::tally::{Span, latency};

/// The column of maxima is for people, who read milliseconds.
const MAX_DIVISOR: f64 = 1_000.0;

/// The whole log.
///
/// # Errors
/// A sentence for the person at the command line, if a histogram cannot be written down.
pub fn log(run: &Run) -> Result<String, String> {
    let label: String = run.label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let began_s = run.started_unix_ms as f64 / 1e3;
    let mut out = format!(
        "#[Histogram log format version 1.3]\n#{label}\n\
         #Values are microseconds, Interval_Max is milliseconds; lines without a tag are what a client waits\n\
         #[StartTime: {began_s:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
    .into_bytes();
    let failed = |error: &dyn std::fmt::Display| format!("cannot write the histograms: {error}");
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(MAX_DIVISOR)
        .begin_log_with(&mut out, &mut serializer)
        .map_err(|error| failed(&error))?;
    let matters = if run.is_open() { Span::Response } else { Span::LastByte };
    for stored in &run.histograms {
        let Some(histogram) = latency::histogram(&stored.cells_us) else { continue };
        let seconds = |s: f64| Duration::try_from_secs_f64(s).unwrap_or_default();
        let (start, length) = (seconds(stored.start_s), seconds(stored.length_s));
        let tag = (stored.step.is_none() || stored.times != matters.code()).then_some(stored.times.as_str());
        log.write_histogram(&histogram, start, length, tag.and_then(Tag::new))
            .map_err(|error| failed(&error))?;
    }
    String::from_utf8(out).map_err(|error| failed(&error))
}

/// What is said of a stored run that has none.
pub const NONE: &str =
    "it has no histograms: nothing was sent in it, or a thirst stored it that did not keep them yet";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::{Histogram, Open};
    use crate::report::table::tests::sample;
    use crate::tally::Latency;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    fn stored(times: &str, step: Option<usize>, values_us: impl Iterator<Item = u64>) -> Histogram {
        let mut latency = Latency::default();
        values_us.for_each(|us| latency.record(us * 1_000));
        let start_s = step.map_or(0.0, |step| 0.5 + 12.0 * step as f64);
        Histogram { times: times.to_owned(), step, start_s, length_s: 10.0, cells_us: latency.cells() }
    }

    /// Tag, start in milliseconds, the histogram, the highest in milliseconds.
    type Line = (Option<String>, u128, hdrhistogram::Histogram<u64>, f64);

    fn lines(text: &str) -> Vec<Line> {
        let mut seen = Vec::new();
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            if let LogEntry::Interval(line) = entry.unwrap() {
                let mut bytes = Vec::new();
                decode(line.encoded_histogram(), &mut bytes);
                let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                let tag = line.tag().map(|tag| tag.as_str().to_owned());
                seen.push((tag, line.start_timestamp().as_millis(), histogram, line.max()));
            }
        }
        seen
    }

    #[test]
    fn what_was_recorded_is_read_back() {
        let mut run = sample("a", 10.0);
        run.label = "a\nlabel".to_owned();
        run.started_unix_ms = 1_700_000_000_123;
        assert!(lines(&log(&run).unwrap()).is_empty());
        run.histograms = vec![
            stored("last-byte", Some(0), 1..1_000),
            stored("send-lag", Some(0), (1..=50).map(|i| i * 997)),
            stored("empty", None, 0..0),
            Histogram { length_s: f64::NAN, ..stored("last-byte", Some(1), 7..8) },
            stored("last-byte", None, 9..10),
            stored("from a later version", Some(1), 9..10),
        ];
        let text = log(&run).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n#a label\n"), "{text}");
        assert!(text.contains("\n#[StartTime: 1700000000.123 (seconds since epoch)]\n"));
        assert_eq!(text.matches("MaxValueDivisor").count(), 1);
        let seen = lines(&text);
        let tags: Vec<_> = seen.iter().map(|line| line.0.as_deref()).collect();
        assert_eq!(tags[..4], [None, Some("send-lag"), None, Some("last-byte")]);
        assert_eq!((seen[0].1, seen[0].3), (500, 0.999));
        assert_eq!((seen[0].2.len(), seen[0].2.value_at_quantile(0.5)), (999, 500));
        assert_eq!((seen[1].2.len(), seen[1].2.max()), (50, 49_855));
        assert_eq!(seen[2].1, 12_500);
    }

    #[test]
    fn of_an_open_loop_what_a_person_waits_has_no_tag() {
        let mut run = sample("a", 10.0);
        run.asked.open = Some(Open::default());
        run.histograms = vec![stored("last-byte", Some(0), 1..9), stored("response", Some(0), 1..9)];
        let seen = lines(&log(&run).unwrap());
        assert_eq!((seen[0].0.as_deref(), seen[1].0.as_deref()), (Some("last-byte"), None));
    }

    /// Base 64 as its standard has it, for want of a decoder here.
    fn decode(text: &str, out: &mut Vec<u8>) {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let (mut bits, mut held) = (0_u32, 0);
        for letter in text.bytes().filter(|letter| *letter != b'=') {
            let value = LETTERS.iter().position(|known| *known == letter).unwrap();
            bits = bits << 6 | u32::try_from(value).unwrap();
            held += 6;
            if held >= 8 {
                held -= 8;
                out.push((bits >> held & 0xff) as u8);
            }
        }
    }
}
