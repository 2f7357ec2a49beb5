//! Distributions as a log of HDR histograms, which the standard plotters read: one line for each distribution of each level.
//!
//! Values are microseconds. What matters most has no tag (of an open loop the response time, else the time to the last
//! byte), so that tools that know no tags find it; the others are tagged with their names. Only whole levels are kept as
//! histograms, so a plain run has one line of each. Stored runs have percentiles and no histograms: such a log can be written
//! only by the run itself. Not here: percentiles.

use std::borrow::Cow;
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::tally::Latency;

/// The column of maxima is for people, who read milliseconds.
const MAX_DIVISOR: f64 = 1_000.0;

/// One distribution over one stretch of the run.
#[derive(Clone, Debug)]
pub struct Interval<'a> {
    /// Its name; none of what matters most.
    pub tag: Option<&'static str>,
    /// When it began, seconds since the start of the run.
    pub start_s: f64,
    /// How long it was.
    pub length_s: f64,
    /// The times.
    pub times: Cow<'a, Latency>,
}

/// The whole log.
///
/// # Errors
/// A sentence for the person at the command line, if a histogram cannot be written down.
pub fn log(started_unix_ms: u64, label: &str, intervals: &[Interval<'_>]) -> Result<String, String> {
    let label: String = label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let began_s = started_unix_ms as f64 / 1e3;
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
    for interval in intervals {
        let Some(histogram) = interval.times.histogram() else { continue };
        let seconds = |s: f64| Duration::try_from_secs_f64(s).unwrap_or_default();
        let (start, length) = (seconds(interval.start_s), seconds(interval.length_s));
        log.write_histogram(&histogram, start, length, interval.tag.and_then(Tag::new))
            .map_err(|error| failed(&error))?;
    }
    String::from_utf8(out).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    fn latency(values_us: impl Iterator<Item = u64>) -> Latency {
        let mut latency = Latency::default();
        values_us.for_each(|us| latency.record(us * 1_000));
        latency
    }

    #[test]
    fn what_was_recorded_is_read_back() {
        let (one, two) = (latency(1..1_000), latency((1..=50).map(|i| i * 997)));
        let intervals = [
            Interval { tag: None, start_s: 0.5, length_s: 10.0, times: Cow::Borrowed(&one) },
            Interval { tag: Some("send-lag"), start_s: 0.5, length_s: 10.0, times: Cow::Borrowed(&two) },
            Interval {
                tag: Some("empty"),
                start_s: 0.0,
                length_s: 1.0,
                times: Cow::Owned(Latency::default()),
            },
            Interval { tag: None, start_s: 12.0, length_s: f64::NAN, times: Cow::Borrowed(&two) },
        ];
        let text = log(1_700_000_000_123, "a\nlabel", &intervals).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n#a label\n"), "{text}");
        assert!(text.contains("\n#[StartTime: 1700000000.123 (seconds since epoch)]\n"));
        assert_eq!(text.matches("MaxValueDivisor").count(), 1);
        let mut seen = Vec::new();
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            if let LogEntry::Interval(line) = entry.unwrap() {
                let mut bytes = Vec::new();
                decode(line.encoded_histogram(), &mut bytes);
                let histogram: hdrhistogram::Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                let tag = line.tag().map(|tag| tag.as_str().to_owned());
                seen.push((tag, line.start_timestamp().as_millis(), histogram, line.max()));
            }
        }
        assert_eq!(seen.len(), 3);
        assert_eq!((seen[0].0.as_deref(), seen[0].1, seen[0].3), (None, 500, 0.999));
        assert_eq!(seen[0].2, one.histogram().unwrap());
        assert_eq!((seen[1].0.as_deref(), &seen[1].2), (Some("send-lag"), &two.histogram().unwrap()));
        assert_eq!((seen[2].0.as_deref(), seen[2].1), (None, 12_000));
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
