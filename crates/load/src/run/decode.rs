//! What gzip saved: decodes a sample of bodies and keeps the ratio.
//!
//! Bounded: a body that would grow beyond [`LIMIT_BYTES`] is given up and counted as broken, so a decompression
//! bomb costs milliseconds, not memory: nothing decoded is kept. Not here: choosing the sample (the sender does).

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Decoded bytes looked at per body at most.
pub const LIMIT_BYTES: u64 = 256 * 1024 * 1024;

/// Sizes of the bodies decoded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ratio {
    /// Encoded bytes.
    pub encoded: u64,
    /// Decoded bytes.
    pub decoded: u64,
    /// Bodies decoded.
    pub bodies: u64,
    /// Bodies that are not whole gzip, or too large.
    pub broken: u64,
}

impl Ratio {
    /// Decodes one body.
    pub fn add(&mut self, body: &[u8]) {
        match decoded_size(body) {
            Some(size) => {
                self.encoded += body.len() as u64;
                self.decoded += size;
                self.bodies += 1;
            }
            None => self.broken += 1,
        }
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
                "{} of {} sampled bodies are broken gzip, or decode to more than 256 MiB",
                self.broken,
                self.broken + self.bodies
            )
        })
    }
}

fn decoded_size(body: &[u8]) -> Option<u64> {
    let mut decoder = MultiGzDecoder::new(body).take(LIMIT_BYTES + 1);
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
        ratio.add(&body);
        assert_eq!((ratio.bodies, ratio.decoded), (1, 100_000));
        assert_eq!(ratio.apply(body.len() as u64 * 7), Some(700_000));
    }

    #[test]
    fn broken_and_bombs() {
        let mut ratio = Ratio::default();
        ratio.add(b"not gzip");
        let whole = gzip(b"hello hello hello");
        ratio.add(&whole[..whole.len() - 4]);
        ratio.add(&gzip(&vec![0_u8; LIMIT_BYTES as usize + 10]));
        assert_eq!((ratio.broken, ratio.bodies), (3, 0));
        assert!(ratio.note().unwrap().contains("3 of 3"));
    }
}
