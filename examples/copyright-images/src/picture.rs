//! One picture: generated once, then for every request decoded, lettered and encoded again.
//!
//! That is the work a photo gallery repeats for every visitor, done honestly. Not here: the scenes (`scene`), the
//! letters (`lettering`), threads (`studio`).

use crate::language::Language;
use crate::lettering;
use crate::scene::{self, Scene};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use std::time::{Duration, Instant};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Size of every picture, pixels.
pub(crate) const WIDTH: u16 = 1280;
/// See [`WIDTH`].
pub(crate) const HEIGHT: u16 = 853;
/// What each generated JPEG should weigh.
const WANTED_BYTES: usize = 250 * 1024;

/// A JPEG with its address.
pub(crate) struct Picture {
    /// Without an extension: `sea-2`.
    pub(crate) name: String,
    /// As a camera would have left it.
    pub(crate) jpeg: Vec<u8>,
    /// The quality it was encoded with.
    quality: u8,
}

/// A lettered JPEG and where the time went.
pub(crate) struct Lettered {
    pub(crate) jpeg: Vec<u8>,
    pub(crate) decode: Duration,
    pub(crate) draw: Duration,
    pub(crate) encode: Duration,
}

impl Picture {
    /// Paints the scene with this number and encodes it to about 250 KB.
    pub(crate) fn generate(number: usize) -> Result<Picture, String> {
        let pixels = Scene::new(number, usize::from(WIDTH), usize::from(HEIGHT)).paint();
        let (mut low, mut high) = (35u8, 97u8);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if encode(&pixels, WIDTH, HEIGHT, middle, SamplingFactor::F_2_2)?.len() > WANTED_BYTES {
                high = middle - 1;
            } else {
                low = middle;
            }
        }
        let jpeg = encode(&pixels, WIDTH, HEIGHT, low, SamplingFactor::F_2_2)?;
        Ok(Picture { name: scene::name(number), jpeg, quality: low })
    }

    /// Decodes, draws the copyright line, encodes: all of it, every time.
    pub(crate) fn lettered(&self, language: Language) -> Result<Lettered, String> {
        let start = Instant::now();
        let (mut pixels, width, height) = decode(&self.jpeg)?;
        let decoded = Instant::now();
        lettering::letter(&mut pixels, usize::from(width), usize::from(height), language.line());
        let drawn = Instant::now();
        // More colour resolution than the camera spent, or the yellow strokes bleed into the picture; paid for with
        // a little quality, so that an answer weighs no more than the photograph.
        let quality = self.quality.saturating_sub(7);
        let jpeg = encode(&pixels, width, height, quality, SamplingFactor::F_2_1)?;
        Ok(Lettered { jpeg, decode: decoded - start, draw: drawn - decoded, encode: drawn.elapsed() })
    }
}

/// RGB pixels, width, height.
fn decode(jpeg: &[u8]) -> Result<(Vec<u8>, u16, u16), String> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    let pixels = decoder.decode().map_err(|e| format!("cannot decode the picture: {e}"))?;
    let info = decoder.info().ok_or("the decoder gave no size")?;
    Ok((pixels, info.width, info.height))
}

fn encode(
    pixels: &[u8],
    width: u16,
    height: u16,
    quality: u8,
    colour: SamplingFactor,
) -> Result<Vec<u8>, String> {
    let mut jpeg = Vec::with_capacity(WANTED_BYTES + WANTED_BYTES / 2);
    let mut encoder = Encoder::new(&mut jpeg, quality);
    encoder.set_sampling_factor(colour);
    encoder
        .encode(pixels, width, height, ColorType::Rgb)
        .map_err(|e| format!("cannot encode the picture: {e}"))?;
    Ok(jpeg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yellow(pixels: &[u8], from_row: usize) -> usize {
        let rows = pixels.chunks_exact(usize::from(WIDTH) * 3).skip(from_row);
        rows.flat_map(|r| r.chunks_exact(3)).filter(|p| p[0] > 200 && p[1] > 160 && p[2] < 90).count()
    }

    #[test]
    fn a_picture_weighs_what_a_photograph_does_and_takes_its_line() {
        let picture = Picture::generate(3).unwrap();
        let kib = picture.jpeg.len() / 1024;
        assert!((200..=256).contains(&kib), "{kib} KiB");

        let (bare, w, h) = decode(&picture.jpeg).unwrap();
        assert_eq!((w, h), (WIDTH, HEIGHT));
        let foot = usize::from(HEIGHT) - 110;
        for language in [Language::German, Language::Spanish, Language::English] {
            let lettered = picture.lettered(language).unwrap();
            let (pixels, w, h) = decode(&lettered.jpeg).unwrap();
            assert_eq!((w, h), (WIDTH, HEIGHT));
            // Samovar's hot tier takes answers up to 256 KiB by default; the demo counts on it.
            assert!((180_000..256 * 1024).contains(&lettered.jpeg.len()), "{} bytes", lettered.jpeg.len());
            let (before, after) = (yellow(&bare, foot), yellow(&pixels, foot));
            assert!(after > before + 1500, "{language:?}: {before} yellow pixels before, {after} after");
        }
    }

    #[test]
    fn languages_give_different_pictures_and_repeat() {
        let picture = Picture::generate(1).unwrap();
        let draw = |l| picture.lettered(l).unwrap().jpeg;
        assert_ne!(draw(Language::German), draw(Language::Spanish));
        assert_ne!(draw(Language::Spanish), draw(Language::English));
        assert_eq!(draw(Language::English), draw(Language::English));
    }

    #[test]
    fn a_broken_jpeg_is_an_error_not_a_panic() {
        let picture = Picture { name: "x".into(), jpeg: vec![0xFF, 0xD8, 0xFF, 0x00, 1, 2], quality: 80 };
        assert!(picture.lettered(Language::English).is_err());
    }
}
