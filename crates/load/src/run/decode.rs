//! What compression saved: decodes a sample of bodies and keeps the ratio.
//!
//! Bounded: a body that would grow beyond [`LIMIT_BYTES`] is given up and counted as broken, so a decompression
//! bomb costs milliseconds, not memory: nothing decoded is kept. Not here: choosing the sample (the sender does).

use std::collections::BTreeMap;
use std::io::Read;

use crate::tally::types::Bodies;
use crate::wire::{Coding, Media};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

/// Decoded bytes looked at per body at most.
pub const LIMIT_BYTES: u64 = 256 * 1024 * 1024;

/// Sizes of the bodies decoded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    /// Encoded bytes.
    pub encoded: u64,
    /// Decoded bytes.
    pub decoded: u64,
    /// Bodies decoded.
    pub bodies: u64,
    /// Bodies that are not whole in their coding, or too large.
    pub broken: u64,
}

/// The same of each type of content: pages shrink otherwise than scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratios {
    types: BTreeMap<Media, Ratio>,
}

impl Ratios {
    /// Decodes one body.
    pub fn add(&mut self, media: Media, coding: Coding, body: &[u8]) {
        self.types.entry(media).or_default().add(coding, body);
    }

    /// Adds what another process decoded.
    pub fn merge(&mut self, other: &Ratios) {
        other.types.iter().for_each(|(media, ratio)| self.types.entry(*media).or_default().merge(ratio));
    }

    /// Those of this type.
    pub fn of(&self, media: &Media) -> Ratio {
        self.types.get(media).copied().unwrap_or_default()
    }

    /// All together.
    pub fn all(&self) -> Ratio {
        let mut all = Ratio::default();
        self.types.values().for_each(|ratio| all.merge(ratio));
        all
    }

    /// How large these bodies are when decoded, judging by the samples of their type, or else of all types; `None` if none was
    /// decoded, or some are in a coding that is not decoded.
    pub fn decoded(&self, media: &Media, bodies: &Bodies) -> Option<u64> {
        if bodies.opaque_bytes > 0 {
            return None;
        }
        let coded =
            self.of(media).apply(bodies.coded_bytes).or_else(|| self.all().apply(bodies.coded_bytes))?;
        Some(bodies.bytes.saturating_sub(bodies.coded_bytes).saturating_add(coded))
    }
}

impl Ratio {
    /// Decodes one body.
    pub fn add(&mut self, coding: Coding, body: &[u8]) {
        match decoded_size(coding, body) {
            Some(size) => {
                self.encoded += body.len() as u64;
                self.decoded += size;
                self.bodies += 1;
            }
            None => self.broken += 1,
        }
    }

    /// Adds what another process decoded.
    pub fn merge(&mut self, other: &Ratio) {
        self.encoded += other.encoded;
        self.decoded += other.decoded;
        self.bodies += other.bodies;
        self.broken += other.broken;
    }

    /// How large `encoded` bytes are when decoded, judging by the sample.
    pub fn apply(&self, encoded: u64) -> Option<u64> {
        if encoded == 0 {
            return Some(0);
        }
        (self.encoded > 0)
            .then(|| (encoded as f64 * self.decoded as f64 / self.encoded as f64).round() as u64)
    }

    /// What the report should say besides.
    pub fn note(&self) -> Option<String> {
        (self.broken > 0).then(|| {
            format!(
                "{} of {} sampled bodies are broken in their coding, or decode to more than 256 MiB",
                self.broken,
                self.broken + self.bodies
            )
        })
    }
}

fn decoded_size(coding: Coding, body: &[u8]) -> Option<u64> {
    match coding {
        Coding::Gzip => read_all(MultiGzDecoder::new(body)),
        Coding::Brotli => read_all(brotli_decompressor::Decompressor::new(body, 4096)),
        Coding::Zstd => read_all(ruzstd::decoding::StreamingDecoder::new(body).ok()?),
        Coding::Identity | Coding::Other => None,
    }
}

fn read_all(decoder: impl Read) -> Option<u64> {
    let mut decoder = decoder.take(LIMIT_BYTES + 1);
    let mut piece = vec![0_u8; 64 * 1024];
    let mut size = 0;
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return (size <= LIMIT_BYTES).then_some(size),
            Ok(read) => size += read as u64,
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn ratio_of_a_sample() {
        let mut ratio = Ratio::default();
        assert_eq!((ratio.apply(0), ratio.apply(10)), (Some(0), None));
        let body = gzip(&vec![b'a'; 100_000]);
        ratio.add(Coding::Gzip, &body);
        assert_eq!((ratio.bodies, ratio.decoded), (1, 100_000));
        assert_eq!(ratio.apply(body.len() as u64 * 7), Some(700_000));
    }

    #[test]
    fn brotli_and_zstd() {
        // Twenty-six letters, by the brotli and zstd command-line tools.
        let brotli = [
            0x8f, 0x0c, 0x80, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
            0x6e, 0x6f, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x03,
        ];
        let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x1a, 0xd1, 0x00, 0x00];
        zstd.extend(b"abcdefghijklmnopqrstuvwxyz");
        for (coding, body) in [(Coding::Brotli, &brotli[..]), (Coding::Zstd, &zstd)] {
            let mut ratio = Ratio::default();
            ratio.add(coding, body);
            assert_eq!((ratio.decoded, ratio.bodies, ratio.broken), (26, 1, 0), "{coding:?}");
            ratio.add(coding, &body[..body.len() - 3]);
            assert_eq!((ratio.bodies, ratio.broken), (1, 1), "{coding:?}");
        }
    }

    #[test]
    fn each_type_by_its_own_samples() {
        let (html, css, none) = (Media::of(b"text/html"), Media::of(b"text/css"), Media::default());
        let bodies =
            |coded_bytes| Bodies { answers: 1, bytes: coded_bytes + 100, coded_bytes, opaque_bytes: 0 };
        let mut ratios = Ratios::default();
        assert_eq!((ratios.decoded(&html, &bodies(0)), ratios.decoded(&html, &bodies(5))), (Some(100), None));
        let (small, large) = (gzip(&vec![b'a'; 100_000]), gzip(&(0..=255).collect::<Vec<u8>>()));
        ratios.add(html, Coding::Gzip, &small);
        ratios.add(css, Coding::Gzip, &large);
        assert_eq!(ratios.decoded(&html, &bodies(3 * small.len() as u64)), Some(300_100));
        assert_eq!(ratios.decoded(&css, &bodies(2 * large.len() as u64)), Some(612));
        // What was never sampled shrinks as all together do.
        let coded = (small.len() + large.len()) as u64;
        assert_eq!(ratios.decoded(&none, &bodies(coded)), Some(100_356));
        assert_eq!(ratios.decoded(&html, &Bodies { opaque_bytes: 1, ..bodies(10) }), None);
        let mut twice = ratios.clone();
        twice.merge(&ratios);
        assert_eq!((twice.all().bodies, twice.of(&css).decoded), (4, 512));
    }

    #[test]
    fn broken_and_bombs() {
        let mut ratio = Ratio::default();
        ratio.add(Coding::Gzip, b"not gzip");
        let whole = gzip(b"hello hello hello");
        ratio.add(Coding::Gzip, &whole[..whole.len() - 4]);
        ratio.add(Coding::Gzip, &gzip(&vec![0_u8; LIMIT_BYTES as usize + 10]));
        assert_eq!((ratio.broken, ratio.bodies), (3, 0));
        assert!(ratio.note().unwrap().contains("3 of 3"));
    }
}
