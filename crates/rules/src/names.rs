//! What applications take the name of a variable for.
//!
//! PHP leaves out spaces before it and what follows a NUL, makes `_` of dots and spaces, reads `key[x]` as a part of `key`,
//! and a `[` that nothing closes as `_`; others compare names without case. Names come decoded. Not here: who asks (`query`,
//! `whom`), where one variable ends and the next begins.

/// A name as the most obliging application reads it: up to the first `[`, and the whole of it.
pub(crate) fn readings(name: &[u8]) -> [Vec<u8>; 2] {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default().trim_ascii();
    let outside = name.split(|byte| *byte == b'[').next().unwrap_or_default();
    [folded(outside), folded(name)]
}

/// Whether a name may be read as one that is [`readings`]' second, the whole; nothing is allocated for what is not.
pub(crate) fn may_be(name: &[u8], whole: &[u8]) -> bool {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default().trim_ascii();
    let outside = name.split(|byte| *byte == b'[').next().unwrap_or_default();
    let is =
        |reading: &[u8]| reading.len() == whole.len() && reading.iter().map(fold).eq(whole.iter().copied());
    is(outside) || is(name)
}

/// Whether what it is taken for depends on who reads it: a `[` that nothing closes.
pub(crate) fn is_torn(name: &[u8]) -> bool {
    let open = name.iter().position(|byte| *byte == b'[');
    open.is_some_and(|at| !name.iter().skip(at).any(|byte| *byte == b']'))
}

fn folded(name: &[u8]) -> Vec<u8> {
    name.iter().map(fold).collect()
}

fn fold(byte: &u8) -> u8 {
    match byte {
        b'.' | b' ' | b'[' => b'_',
        other => other.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (name, outside, whole, torn) in [
            (&b"id"[..], &b"id"[..], &b"id"[..], false),
            (b"  ID", b"id", b"id", false),
            (b"page.size", b"page_size", b"page_size", false),
            (b"a[b]", b"a", b"a_b]", false),
            (b"page[size", b"page", b"page_size", true),
            (b"id\0x", b"id", b"id", false),
            (b"", b"", b"", false),
        ] {
            assert_eq!(readings(name), [outside.to_vec(), whole.to_vec()], "{name:?}");
            assert_eq!(is_torn(name), torn, "{name:?}");
            assert!(may_be(name, outside) && may_be(name, whole) && !may_be(name, b"other"), "{name:?}");
        }
    }
}
