//! An application's error stream cut into lines. Pure.
//!
//! A log is read in terminals and by machines: control characters are shown, not passed on, and a line without
//! an end is cut rather than collected for ever.

/// The longest line, bytes; longer ones are cut in pieces.
const LINE_MAX_BYTES: usize = 8 * 1024;

/// Collects one line at a time.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: Vec<u8>,
    last: Option<String>,
}

impl Lines {
    /// Takes a piece, and hands each line it completes to `say`.
    pub(super) fn push(&mut self, piece: &[u8], say: &dyn Fn(&str)) {
        for part in piece.split_inclusive(|b| *b == b'\n') {
            for bit in part.chunks(LINE_MAX_BYTES) {
                if self.partial.len() + bit.len() > LINE_MAX_BYTES {
                    self.flush(say);
                }
                self.partial.extend_from_slice(bit);
            }
            if part.ends_with(b"\n") {
                self.flush(say);
            }
        }
    }

    /// Hands on what has no line end yet.
    pub(super) fn flush(&mut self, say: &dyn Fn(&str)) {
        let line = shown(self.partial.trim_ascii_end());
        self.partial.clear();
        if !line.is_empty() {
            say(&line);
            self.last = Some(line);
        }
    }

    /// The last line handed on.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }
}

fn shown(line: &[u8]) -> String {
    let mut shown = String::with_capacity(line.len());
    for c in String::from_utf8_lossy(line).chars() {
        if c.is_control() && c != '\t' { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{LINE_MAX_BYTES, Lines};
    use std::cell::RefCell;

    fn said(pieces: &[&[u8]]) -> Vec<String> {
        let said = RefCell::new(Vec::new());
        let say = |line: &str| said.borrow_mut().push(line.to_owned());
        let mut lines = Lines::default();
        for piece in pieces {
            lines.push(piece, &say);
        }
        lines.flush(&say);
        said.into_inner()
    }

    #[test]
    fn pieces_become_lines() {
        assert_eq!(said(&[b"one\ntw", b"o\r\n\n", b"thr", b"ee"]), ["one", "two", "three"]);
        assert_eq!(said(&[]), [""; 0]);
        assert_eq!(said(&[b"\x1b[31mred\x07\tq\n"]), ["\\u{1b}[31mred\\u{7}\tq"]);
        assert_eq!(said(&[b"caf\xc3\xa9 \xff\n"]), ["café \u{fffd}"]);
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let long = vec![b'x'; 3 * LINE_MAX_BYTES + 5];
        let lengths: Vec<_> = said(&[&long]).iter().map(String::len).collect();
        assert_eq!(lengths, [LINE_MAX_BYTES, LINE_MAX_BYTES, LINE_MAX_BYTES, 5]);
        let bits: Vec<&[u8]> = vec![b"xyz"; 5000];
        assert!(said(&bits).iter().all(|line| line.len() <= LINE_MAX_BYTES));
    }
}
