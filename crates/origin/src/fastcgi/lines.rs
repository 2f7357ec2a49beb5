//! An application's error stream cut into lines. Pure.
//!
//! A log is read in terminals and by machines: control characters are shown, not passed on, and a line without
//! an end is cut rather than collected for ever. Of one request only so much is handed on: a script that complains in a
//! loop must not fill the log, nor keep a core writing to it.

/// The longest line, bytes; longer ones are cut in pieces.
const LINE_MAX_BYTES: usize = 8 * 1024;

/// What is handed on of one request, bytes; the rest is counted.
const SAID_MAX_BYTES: usize = 64 * 1024;

/// Collects one line at a time.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: Vec<u8>,
    last: Option<String>,
    said_bytes: usize,
    /// Lines that were not handed on, and their bytes.
    left_out: (u64, u64),
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

    /// Hands on a line, whole or not.
    fn flush(&mut self, say: &dyn Fn(&str)) {
        let line = shown(self.partial.trim_ascii_end());
        self.partial.clear();
        if line.is_empty() {
            return;
        }
        self.said_bytes = self.said_bytes.saturating_add(line.len());
        if self.said_bytes <= SAID_MAX_BYTES {
            say(&line);
        } else {
            self.left_out.0 += 1;
            self.left_out.1 += line.len() as u64;
        }
        self.last = Some(line);
    }

    /// The request is over: hands on what has no line end yet, and how much was left out.
    pub(super) fn end(&mut self, say: &dyn Fn(&str)) {
        self.flush(say);
        if let (lines @ 1.., bytes) = std::mem::take(&mut self.left_out) {
            let last = self.last().unwrap_or_default();
            say(&format!(
                "{lines} more lines ({bytes} bytes) of this request are left out; the last: {last}"
            ));
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
        lines.end(&say);
        lines.end(&say);
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
    fn of_one_request_only_so_much_is_said() {
        let line = [vec![b'x'; 1023], b"\n".to_vec()].concat();
        let mut pieces: Vec<&[u8]> = vec![&line; 5_000];
        pieces.push(b"the end");
        let said = said(&pieces);
        assert_eq!(said.len(), 65, "64 lines of 1,023 bytes, and what became of the rest");
        assert_eq!(
            said.last().unwrap(),
            "4937 more lines (5049535 bytes) of this request are left out; the last: the end"
        );
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
