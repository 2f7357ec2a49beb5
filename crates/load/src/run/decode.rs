//! What compression saved: decodes a sample of bodies and keeps the ratio.
//!
//! Bounded: a body that would grow beyond [`LIMIT_BYTES`] is given up and counted as broken, so a decompression
//! bomb costs milliseconds, not memory: nothing decoded is kept. Not here: choosing the sample (the sender does).

use std::io::Read;

use crate::wire::Coding;
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
