//! Where requests end: so many empty lines, so many requests.
//!
//! It shares nothing with the reader of answers ([`crate::wire`]), which is judged with its help. Pure. Not here: bodies of
//! requests; who asks this server sends none.

/// How much of `\r\n\r\n` has been seen.
#[derive(Debug, Default)]
pub(super) struct Heads(u8);

impl Heads {
    /// How many heads end in these bytes, which follow those given before.
    pub(super) fn ends(&mut self, bytes: &[u8]) -> u64 {
        let mut ends = 0;
        for byte in bytes {
            self.0 = match (self.0, byte) {
                (0 | 1, b'\r') => 1,
                (2, b'\r') => 3,
                // What follows the three is a line of its own that begins here.
                (3, b'\r') => 1,
                (1, b'\n') => 2,
                (3, b'\n') => {
                    ends += 1;
                    0
                }
                _ => 0,
            };
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (bytes, want) in [
            ("", 0),
            ("GET / HTTP/1.1\r\n\r\n", 1),
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n", 2),
            ("a\r\n\r", 0),
            ("a\r\r\n\r\n", 1),
            ("a\r\n\r\r\n\r\n", 1),
            ("a\n\n", 0),
        ] {
            assert_eq!(Heads::default().ends(bytes.as_bytes()), want, "{bytes:?}");
        }
    }

    proptest! {
        /// The oracle: the text as a whole, taken apart at its empty lines.
        #[test]
        fn pieces_make_no_difference(text in "[a\r\n]{0,60}", cuts in prop::collection::vec(0_usize..60, 0..6)) {
            let whole = text.matches("\r\n\r\n").count() as u64;
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            cuts.push(text.len());
            let mut heads = Heads::default();
            let mut from = 0;
            let mut ends = 0;
            for cut in cuts {
                ends += heads.ends(&text.as_bytes()[from..cut]);
                from = cut;
            }
            prop_assert_eq!(ends, whole);
        }
    }
}
