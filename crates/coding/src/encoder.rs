//! One encoder per answer. What it has made is taken out by the caller, who decides when that is sent.

use flate2::Compression;
use flate2::write::GzEncoder;
use samovar_policy::Coding;
use std::io::{self, Write};

/// The largest window of zstd that browsers must be able to hold (RFC 8878 §3.1.1.1.2): 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Windows of Brotli. The larger one finds what repeats in a long document; an answer on the fly must not take more
/// memory than it is worth.
const BR_WINDOW_LOG: i32 = 22;
const BR_WINDOW_LOG_SMALL: i32 = 18;

/// What Brotli writes at once, bytes.
const BR_BUFFER_BYTES: usize = 8 << 10;

/// An answer that is being coded.
pub struct Encoder(Kind);

enum Kind {
    Gzip(GzEncoder<Vec<u8>>),
    Br(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    /// Finished, or failed.
    Over,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Kind::Gzip(_) => "Encoder(gzip)",
            Kind::Br(_) => "Encoder(br)",
            Kind::Zstd(_) => "Encoder(zstd)",
            Kind::Over => "Encoder(over)",
        })
    }
}

/// About how much memory an encoder takes while it works, bytes: measured, rounded up. Levels matter more than bodies.
pub fn memory_bytes(coding: Coding, level: u32) -> u64 {
    match (coding, level) {
        (Coding::Gzip, _) => 400 << 10,
        (Coding::Br, 0..=1) => 700 << 10,
        (Coding::Br, 2..=4) => 2 << 20,
        (Coding::Br, _) => 12 << 20,
        (Coding::Zstd, 0..=3) => 2 << 20,
        (Coding::Zstd, _) => 16 << 20,
    }
}

impl Encoder {
    /// An encoder. `body_bytes`, where it is known, is told to zstd, which then needs less room for short bodies.
    ///
    /// # Errors
    /// If the level is not one of the coding's.
    pub fn new(coding: Coding, level: u32, body_bytes: Option<u64>) -> io::Result<Encoder> {
        let kind = match coding {
            Coding::Gzip => Kind::Gzip(GzEncoder::new(Vec::new(), Compression::new(level.min(9)))),
            Coding::Br => {
                let quality = i32::try_from(level.min(11)).unwrap_or(11);
                let lgwin = if quality < 5 { BR_WINDOW_LOG_SMALL } else { BR_WINDOW_LOG };
                let params = brotli::enc::BrotliEncoderParams {
                    quality,
                    lgwin,
                    size_hint: body_bytes.and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
                    ..Default::default()
                };
                let writer = brotli::CompressorWriter::with_params(Vec::new(), BR_BUFFER_BYTES, &params);
                Kind::Br(Box::new(writer))
            }
            Coding::Zstd => {
                let level = i32::try_from(level.min(19)).unwrap_or(19);
                let mut writer = zstd::stream::write::Encoder::new(Vec::new(), level)?;
                writer.set_pledged_src_size(body_bytes)?;
                writer.include_checksum(false)?;
                if level > 15 {
                    writer.window_log(ZSTD_WINDOW_LOG_MAX)?;
                }
                Kind::Zstd(writer)
            }
        };
        Ok(Encoder(kind))
    }

    /// Takes more of the body. What came out so far is in [`Encoder::take`].
    ///
    /// # Errors
    /// If it was finished before, or is longer than was said.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer()?.write_all(bytes)
    }

    /// Lets out all that was taken in, so that the other side can decode it. Costs some bytes.
    ///
    /// # Errors
    /// If it was finished before.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }

    /// What came out since it was last taken.
    pub fn take(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Kind::Gzip(writer) => std::mem::take(writer.get_mut()),
            Kind::Br(writer) => std::mem::take(writer.get_mut()),
            Kind::Zstd(writer) => std::mem::take(writer.get_mut()),
            Kind::Over => Vec::new(),
        }
    }

    /// How much waits to be taken, bytes.
    pub fn ready_bytes(&self) -> usize {
        match &self.0 {
            Kind::Gzip(writer) => writer.get_ref().len(),
            Kind::Br(writer) => writer.get_ref().len(),
            Kind::Zstd(writer) => writer.get_ref().len(),
            Kind::Over => 0,
        }
    }

    /// Ends it and returns what is left of it.
    ///
    /// # Errors
    /// If it was finished before, or is shorter than was said.
    pub fn finish(&mut self) -> io::Result<Vec<u8>> {
        match std::mem::replace(&mut self.0, Kind::Over) {
            Kind::Gzip(writer) => writer.finish(),
            Kind::Br(writer) => Ok(writer.into_inner()),
            Kind::Zstd(writer) => writer.finish(),
            Kind::Over => Err(over()),
        }
    }

    fn writer(&mut self) -> io::Result<&mut dyn Write> {
        match &mut self.0 {
            Kind::Gzip(writer) => Ok(writer),
            Kind::Br(writer) => Ok(writer),
            Kind::Zstd(writer) => Ok(writer),
            Kind::Over => Err(over()),
        }
    }
}

fn over() -> io::Error {
    io::Error::other("the encoder is finished")
}
