//! What a person asks for: `COUNTxSIZE[@BITS]`, `tiles:LEVELS`, `jpegs:COUNTxWIDTHxHEIGHT`.
//!
//! Not here: how bytes and pictures are made.

use super::letters::Alphabet;
use super::picture;
use crate::dice::Dice;
use std::fmt;
use std::str::FromStr;

/// Some files that belong together, in a folder of their own.
#[derive(Clone, Debug)]
pub struct Set {
    /// As it was typed; the folder's name comes from it.
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Files { count: u64, len: usize, alphabet: Alphabet },
    Tiles { levels: u32 },
    Jpegs { count: u64, width: u16, height: u16 },
}

/// More would be a mistake: a folder of a hundred million files helps nobody.
const COUNT_MAX: u64 = 100_000_000;
/// Of one file, bytes.
const LEN_MAX: u64 = 16 << 30;
/// Level 12 alone has 16 million tiles.
const LEVELS_MAX: u32 = 13;

impl Set {
    /// Name of its folder.
    pub fn folder(&self) -> String {
        match self.kind {
            Kind::Tiles { .. } => "tiles".to_owned(),
            // A colon would have to be escaped in some places.
            _ => self.text.replace(':', "-"),
        }
    }

    /// How many files it has.
    pub fn count(&self) -> u64 {
        match self.kind {
            Kind::Files { count, .. } | Kind::Jpegs { count, .. } => count,
            Kind::Tiles { levels } => (0..levels).map(|level| 1_u64 << (2 * level)).sum(),
        }
    }

    /// Bytes of all its files, if that is known before they are made.
    pub fn total_bytes(&self) -> Option<u64> {
        match self.kind {
            Kind::Files { count, len, .. } => Some(count.saturating_mul(len as u64)),
            _ => None,
        }
    }

    /// Path of a file below the content's folder, with `/` between its parts; `index` counts from 0.
    pub fn path(&self, index: u64) -> String {
        let digits = |count: u64| count.to_string().len();
        let folder = self.folder();
        match &self.kind {
            Kind::Files { count, alphabet, .. } => {
                let ending = if alphabet.is_text() { "txt" } else { "bin" };
                format!("{folder}/{:0width$}.{ending}", index + 1, width = digits(*count))
            }
            Kind::Jpegs { count, .. } => {
                format!("{folder}/{:0width$}.jpg", index + 1, width = digits(*count))
            }
            Kind::Tiles { .. } => {
                let (z, x, y) = tile(index);
                format!("{folder}/{z}/{x}/{y}.jpg")
            }
        }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// A picture that cannot be encoded.
    pub fn bytes(&self, seed: u64, index: u64) -> Result<Vec<u8>, String> {
        let encoded = match &self.kind {
            Kind::Files { len, alphabet, .. } => {
                return Ok(alphabet.draw(*len, &mut Dice::of(seed, &self.text, index)));
            }
            Kind::Jpegs { width, height, .. } => {
                picture::photograph(Dice::of(seed, &self.text, index).next(), *width, *height)
            }
            Kind::Tiles { .. } => {
                let (z, x, y) = tile(index);
                picture::tile(Dice::of(seed, "tiles", 0).next(), z, x, y)
            }
        };
        encoded.map_err(|error| format!("cannot encode `{}`: {error}", self.path(index)))
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Level, column and row of tile number `index`, from the top.
fn tile(index: u64) -> (u32, u64, u64) {
    let (mut level, mut left) = (0, index);
    while left >= 1 << (2 * level) {
        left -= 1 << (2 * level);
        level += 1;
    }
    (level, left >> level, left & ((1 << level) - 1))
}

impl FromStr for Set {
    type Err = String;

    fn from_str(text: &str) -> Result<Set, String> {
        let kind = match text.split_once(':') {
            Some(("tiles", levels)) => {
                let levels = levels.parse().ok().filter(|levels| (1..=LEVELS_MAX).contains(levels));
                Kind::Tiles {
                    levels: levels.ok_or_else(|| {
                        format!(
                            "`{text}`: a number of levels from 1 to {LEVELS_MAX} must follow, as in tiles:8"
                        )
                    })?,
                }
            }
            Some(("jpegs", rest)) => {
                let wrong = || format!("`{text}`: write jpegs:COUNTxWIDTHxHEIGHT, as in jpegs:100x800x600");
                let mut parts = rest.split('x');
                let count = count(text, parts.next().unwrap_or_default())?;
                let mut side = || {
                    let side = parts.next().and_then(|side| side.parse().ok());
                    side.filter(|side| (1..=16_384_u16).contains(side)).ok_or_else(wrong)
                };
                let (width, height) = (side()?, side()?);
                if parts.next().is_some() {
                    return Err(wrong());
                }
                Kind::Jpegs { count, width, height }
            }
            Some((other, _)) => return Err(format!("`{other}:` is unknown; there are tiles: and jpegs:")),
            None => files(text)?,
        };
        Ok(Set { text: text.to_owned(), kind })
    }
}

fn files(text: &str) -> Result<Kind, String> {
    let wrong = || {
        format!(
            "`{text}` is no set of files; write COUNTxSIZE as in 1000x1KB, tiles:LEVELS or jpegs:COUNTxWIDTHxHEIGHT"
        )
    };
    let (number, rest) = text.split_once('x').ok_or_else(wrong)?;
    let count = count(text, number)?;
    let (size, bits) = match rest.split_once('@') {
        Some((size, bits)) => {
            let plain = bits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let bits = bits.parse().ok().filter(|bits| plain && (0.0..=8.0).contains(bits));
            (size, bits.ok_or_else(|| format!("`{text}`: after @ stands the entropy, 0 to 8 bits per byte"))?)
        }
        None => (rest, 8.0),
    };
    let at = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
    let (number, unit) = size.split_at(at);
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => {
            return Err(format!(
                "`{text}`: `{unit}` is no unit of size; there are B, KB, MB, GB and KiB, MiB, GiB"
            ));
        }
    };
    let len = number.parse().ok().and_then(|number: u64| number.checked_mul(unit)).ok_or_else(wrong)?;
    if len > LEN_MAX {
        return Err(format!("`{text}`: a file may have 16 GiB at most"));
    }
    Ok(Kind::Files { count, len: len as usize, alphabet: Alphabet::new(bits) })
}

fn count(text: &str, number: &str) -> Result<u64, String> {
    let plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let count = number.parse().ok().filter(|count| plain && (1..=COUNT_MAX).contains(count));
    count.ok_or_else(|| format!("`{text}`: `{number}` is no number of files from 1 to {COUNT_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Set {
        text.parse().unwrap()
    }

    #[test]
    fn names_and_sizes() {
        for (text, count, total, first, last) in [
            ("1000x1KB", 1_000, Some(1_000_000), "1000x1KB/0001.bin", "1000x1KB/1000.bin"),
            ("2x1KiB@4.5", 2, Some(2_048), "2x1KiB@4.5/1.txt", "2x1KiB@4.5/2.txt"),
            ("3x0", 3, Some(0), "3x0/1.bin", "3x0/3.bin"),
            ("tiles:1", 1, None, "tiles/0/0/0.jpg", "tiles/0/0/0.jpg"),
            ("tiles:8", 21_845, None, "tiles/0/0/0.jpg", "tiles/7/127/127.jpg"),
            ("jpegs:10x32x16", 10, None, "jpegs-10x32x16/01.jpg", "jpegs-10x32x16/10.jpg"),
        ] {
            let set = set(text);
            assert_eq!((set.count(), set.total_bytes(), set.to_string().as_str()), (count, total, text));
            assert_eq!((set.path(0).as_str(), set.path(count - 1).as_str()), (first, last));
        }
        let paths: std::collections::HashSet<String> =
            (0..85).map(|index| set("tiles:4").path(index)).collect();
        assert_eq!(paths.len(), 85);
    }

    #[test]
    fn messages_say_what_to_write() {
        for (text, say) in [
            ("", "COUNTxSIZE"),
            ("1000", "COUNTxSIZE"),
            ("x1KB", "no number of files"),
            ("0x1KB", "no number of files"),
            ("+1x1KB", "no number of files"),
            ("999999999x1KB", "no number of files"),
            ("10x1XB", "`XB` is no unit"),
            ("10x", "COUNTxSIZE"),
            ("10x-1", "no unit"),
            ("10x17GiB", "16 GiB"),
            ("10x99999999999999999999", "COUNTxSIZE"),
            ("10x99999999999GB", "COUNTxSIZE"),
            ("10x1KB@9", "0 to 8"),
            ("10x1KB@", "0 to 8"),
            ("10x1KB@nan", "0 to 8"),
            ("10x1KB@-1", "0 to 8"),
            ("tiles:0", "from 1 to 13"),
            ("tiles:14", "from 1 to 13"),
            ("tiles:", "from 1 to 13"),
            ("jpegs:10", "WIDTHxHEIGHT"),
            ("jpegs:10x0x5", "WIDTHxHEIGHT"),
            ("jpegs:10x5x5x5", "WIDTHxHEIGHT"),
            ("jpegs:10x99999x5", "WIDTHxHEIGHT"),
            ("pngs:10", "tiles: and jpegs:"),
            ("../x:1", "tiles: and jpegs:"),
            ("1x1/../../x", "no unit"),
        ] {
            let error = text.parse::<Set>().unwrap_err();
            assert!(error.contains(say), "{text}: {error}");
        }
    }

    #[test]
    fn the_same_seed_makes_the_same() {
        for text in ["3x10KB", "3x10KB@2", "tiles:2", "jpegs:3x64x64"] {
            let set = set(text);
            let all: Vec<_> = (0..3).map(|index| set.bytes(1, index).unwrap()).collect();
            assert_eq!(set.bytes(1, 1).unwrap(), all[1], "{text}");
            assert!(all[0] != all[1] && all[1] != all[2], "{text}: each is another");
            assert_ne!(set.bytes(2, 1).unwrap(), all[1], "{text}: of another seed");
        }
        assert_eq!(set("3x10KB").bytes(1, 0).unwrap().len(), 10_000);
        // What else is asked for changes nothing; another size is another set.
        assert_eq!(set("tiles:2").bytes(1, 3).unwrap(), set("tiles:5").bytes(1, 3).unwrap());
        assert_ne!(set("3x10KB").bytes(1, 0).unwrap()[..9], set("4x10KB").bytes(1, 0).unwrap()[..9]);
        // Written down, so that content of another day is the same.
        assert_eq!(set("1x8@4").bytes(1, 0).unwrap().len(), 8);
    }

    /// Tiles of a detailed level weigh about what tiles of real maps do, and all pictures are pictures.
    #[test]
    fn pictures_weigh_what_they_should() {
        let tiles = set("tiles:8");
        let sizes: Vec<usize> = (0..20).map(|n| tiles.bytes(1, 5_461 + n * 801).unwrap().len()).collect();
        let mean = sizes.iter().sum::<usize>() / sizes.len();
        assert!((12_000..18_000).contains(&mean), "{mean}: {sizes:?}");
        let photograph = set("jpegs:1x800x600").bytes(1, 0).unwrap();
        assert!((40_000..160_000).contains(&photograph.len()), "{}", photograph.len());
        assert!(photograph.starts_with(&[0xFF, 0xD8, 0xFF]) && photograph.ends_with(&[0xFF, 0xD9]));
    }
}
