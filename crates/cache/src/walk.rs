//! Numbers and texts as bytes one after the other, and the way through them.
//!
//! Not here: what they mean (`head`, `fields`).

/// Seven bits a byte, the lowest first; the last has its highest bit clear.
pub(crate) fn put_number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Reads what was written. Past the end there is nothing but zeros: a block is never short, and if it were, an answer
/// without fields is better than none of the others.
pub(crate) struct Walk<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Walk<'b> {
    pub(crate) fn new(bytes: &'b [u8], at: usize) -> Walk<'b> {
        Walk { bytes, at: at.min(bytes.len()) }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                *byte
            }
            None => 0,
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        let first = self.byte();
        let mut n = u64::from(first & 0x7f);
        let mut more = first >= 0x80;
        let mut shift = 7;
        while more && shift < 64 {
            let byte = self.byte();
            n |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            more = byte >= 0x80;
        }
        n
    }

    pub(crate) fn text(&mut self) -> &'b [u8] {
        let len = self.number() as usize;
        let text = self.bytes.get(self.at..self.at.saturating_add(len)).unwrap_or_default();
        self.at += text.len();
        text
    }
}
