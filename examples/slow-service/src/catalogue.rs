//! The XML that everybody waits for: a catalogue of so many items, as talkative as such formats are.
//!
//! Pure: the same question has the same answer, byte for byte. Not here: HTTP.

use std::fmt::Write as _;

const COLOURS: [&str; 7] = ["red", "green", "blue", "black", "white", "amber", "violet"];
const THINGS: [&str; 11] =
    ["samovar", "kettle", "teapot", "cup", "saucer", "spoon", "tray", "strainer", "caddy", "cosy", "urn"];

/// A catalogue.
pub(crate) fn catalogue(items: u32) -> String {
    // An item takes some 400 bytes.
    let mut xml = String::with_capacity(items as usize * 420 + 200);
    let _ = writeln!(
        xml,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Catalogue xmlns=\"urn:example:catalogue:1\" items=\"{items}\">"
    );
    for n in 0..items {
        let dice = mix(u64::from(n));
        let thing = pick(&THINGS, dice);
        let colour = pick(&COLOURS, dice >> 8);
        let _ = write!(
            xml,
            "  <CatalogueItem id=\"{id}\">\n    <ItemName>{thing} {id}, {colour}</ItemName>\n    \
             <ItemDescription>A {colour} {thing}, number {id} of our catalogue.</ItemDescription>\n    \
             <ItemPrice currency=\"EUR\">{euros}.{cents:02}</ItemPrice>\n    <ItemAttributes>\n      \
             <ItemAttribute name=\"colour\" value=\"{colour}\"/>\n      <ItemAttribute name=\"weight\" value=\"{grams}\" unit=\"g\"/>\n    \
             </ItemAttributes>\n    <ItemsInStock>{stock}</ItemsInStock>\n  </CatalogueItem>\n",
            id = n + 1,
            euros = dice >> 16 & 0x7F,
            cents = (dice >> 24) % 100,
            grams = dice >> 32 & 0x7FF,
            stock = dice >> 48 & 0x3F,
        );
    }
    xml.push_str("</Catalogue>\n");
    xml
}

fn pick<'a>(words: &[&'a str], dice: u64) -> &'a str {
    words.get((dice & 0xFF) as usize % words.len()).copied().unwrap_or("")
}

/// The finaliser of SplitMix64: every input bit reaches every output bit.
fn mix(n: u64) -> u64 {
    let z = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_as_many_items_as_were_asked_for_and_is_large() {
        for items in [1, 50, 1000] {
            let xml = catalogue(items);
            assert_eq!(xml.matches("<CatalogueItem ").count(), items as usize);
            assert_eq!(xml.matches("</CatalogueItem>").count(), items as usize);
            assert!(xml.starts_with("<?xml ") && xml.ends_with("</Catalogue>\n"));
            assert_eq!(xml, catalogue(items));
        }
        let bytes = catalogue(1000).len();
        assert!((350_000..500_000).contains(&bytes), "{bytes}");
    }
}
