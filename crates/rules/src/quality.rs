//! Lists with q-values (RFC 9110 §12.4.2) and the choice of a language or a coding from a declared list.
//!
//! Lenient towards what does not parse: such a member is ignored, the others count. Not here: where the values
//! come from (`value`).

use http::{HeaderMap, HeaderName};
use smallvec::SmallVec;

/// Members of a list that are looked at; what browsers send is below ten.
const MEMBERS_MAX: usize = 64;

/// One member of a list: `de-AT;q=0.8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member<'h> {
    what: &'h [u8],
    /// Thousandths, 0 to 1000.
    quality: u16,
}

type Members<'h> = SmallVec<[Member<'h>; 8]>;

fn members<'h>(name: &HeaderName, headers: &'h HeaderMap) -> Members<'h> {
    headers
        .get_all(name)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .take(MEMBERS_MAX)
        .filter_map(member)
        .collect()
}

fn member(text: &[u8]) -> Option<Member<'_>> {
    let mut parts = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let what = parts.next().filter(|what| !what.is_empty())?;
    let mut quality = 1000;
    for parameter in parts {
        if let Some((b'q' | b'Q', value)) = parameter.split_first()
            && let Some(value) = value.trim_ascii_start().strip_prefix(b"=")
        {
            quality = thousandths(value.trim_ascii_start())?;
        }
    }
    Some(Member { what, quality })
}

/// `0.5` as 500. More digits than the three RFC 9110 allows are cut, but never down to zero, which would turn
/// "hardly" into "not at all".
fn thousandths(text: &[u8]) -> Option<u16> {
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(dot) => (text.get(..dot)?, text.get(dot + 1..)?),
        None => (text, [].as_slice()),
    };
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let something = fraction.iter().any(|digit| *digit != b'0');
    match whole {
        b"1" if !something => Some(1000),
        b"0" => {
            let digits = fraction.iter().chain([b'0'; 3].iter()).take(3);
            let value = digits.fold(0_u16, |sum, digit| sum * 10 + u16::from(digit - b'0'));
            Some(value.max(u16::from(something)))
        }
        _ => None,
    }
}

/// The best of `list` by RFC 4647 §3.4 lookup; where nothing matches, the first that is not excluded by `q=0`,
/// and where all are excluded, the first. `None` only for an empty list.
pub(crate) fn best_language<'l>(
    list: &'l [String],
    name: &HeaderName,
    headers: &HeaderMap,
) -> Option<&'l str> {
    let members = members(name, headers);
    let mut wanted: SmallVec<[Member<'_>; 8]> =
        members.iter().copied().filter(|member| member.quality > 0 && member.what != b"*").collect();
    wanted.sort_by_key(|member| std::cmp::Reverse(member.quality));
    let looked_up = wanted.iter().find_map(|member| lookup(member.what, list, &members));
    looked_up
        .or_else(|| list.iter().find(|tag| !is_excluded(tag, &members)))
        .or(list.first())
        .map(String::as_str)
}

/// The range itself, then ever shorter heads of it.
fn lookup<'l>(range: &[u8], list: &'l [String], members: &[Member<'_>]) -> Option<&'l String> {
    let mut head = range;
    loop {
        let found = list.iter().find(|tag| tag.as_bytes().eq_ignore_ascii_case(head));
        if let Some(tag) = found.filter(|tag| !is_excluded(tag, members)) {
            return Some(tag);
        }
        head = shortened(head)?;
    }
}

/// Without its last subtag, and without a single letter or digit that would then end it (RFC 4647 §3.4).
fn shortened(range: &[u8]) -> Option<&[u8]> {
    let cut = |range: &[u8]| range.iter().rposition(|byte| *byte == b'-');
    let head = range.get(..cut(range)?)?;
    match cut(head) {
        Some(at) if head.len() - at == 2 => head.get(..at),
        _ => Some(head),
    }
}

/// True if the most specific range that covers the tag has `q=0`.
fn is_excluded(tag: &str, members: &[Member<'_>]) -> bool {
    let specificity =
        |range: &[u8]| if range == b"*" { Some(0) } else { covers(range, tag).then_some(range.len()) };
    members
        .iter()
        .filter_map(|member| Some((specificity(member.what)?, member.quality)))
        .max()
        .is_some_and(|(_, quality)| quality == 0)
}

/// RFC 4647 §3.3.1: the tag is the range or continues it after a hyphen.
fn covers(range: &[u8], tag: &str) -> bool {
    let tag = tag.as_bytes();
    tag.get(..range.len()).is_some_and(|head| head.eq_ignore_ascii_case(range))
        && matches!(tag.get(range.len()), None | Some(b'-'))
}

/// The best of `list` by RFC 9110 §12.5.3; the list's order breaks ties; `identity` where nothing else is
/// acceptable, or no field came.
pub(crate) fn best_encoding<'l>(list: &'l [String], name: &HeaderName, headers: &HeaderMap) -> &'l str {
    let members = members(name, headers);
    let mut best = ("identity", 0);
    for coding in list.iter().map(String::as_str).chain(["identity"]) {
        let rank = coding_rank(coding, &members);
        if rank > best.1 {
            best = (coding, rank);
        }
    }
    best.0
}

/// How much a client wants a coding, by RFC 9110 §12.5.3: 0 for not at all.
pub(crate) fn rank(coding: &str, name: &HeaderName, headers: &HeaderMap) -> u32 {
    coding_rank(coding, &members(name, headers))
}

/// Those of `list` that a client accepts and wants at least as much as `identity`, in the list's order: what comes of it
/// comes of it again.
pub(crate) fn encodings<'l>(list: &'l [String], name: &HeaderName, headers: &HeaderMap) -> Vec<&'l str> {
    let members = members(name, headers);
    let plain = coding_rank("identity", &members).max(1);
    let wanted = |coding: &&str| coding_rank(coding, &members) >= plain.max(2);
    list.iter().map(String::as_str).filter(wanted).collect()
}

/// 0 for not acceptable; `identity` unmentioned is acceptable, below everything that is asked for.
fn coding_rank(coding: &str, members: &[Member<'_>]) -> u32 {
    let quality = |wanted: &dyn Fn(&[u8]) -> bool| {
        members.iter().filter(|member| wanted(member.what)).map(|member| u32::from(member.quality) * 2).max()
    };
    quality(&|what| is_coding(what, coding))
        .or_else(|| quality(&|what| what == b"*"))
        .unwrap_or(u32::from(coding.eq_ignore_ascii_case("identity")))
}

/// RFC 9110 §8.4.1.3: `x-gzip` is `gzip`.
fn is_coding(what: &[u8], coding: &str) -> bool {
    what.eq_ignore_ascii_case(coding.as_bytes())
        || (coding.eq_ignore_ascii_case("gzip") && what.eq_ignore_ascii_case(b"x-gzip"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use http::header::{ACCEPT_ENCODING, ACCEPT_LANGUAGE};

    fn map(name: &HeaderName, lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        headers
    }

    fn list(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn languages() {
        for (words, lines, expected) in [
            ("en de es", &[][..], "en"),
            ("en de es", &["de"][..], "de"),
            ("en de es", &["DE-at"], "de"),
            ("en de es", &["fr"], "en"),
            ("en de es", &[""], "en"),
            ("en de es", &["fr, es;q=0.3, de;q=0.7"], "de"),
            ("en de es", &["es;q=0.5,de;q=0.5"], "es"),
            ("en de es", &["fr;q=1", "es"], "es"),
            ("en de es", &["*"], "en"),
            ("en de es", &["*, de;q=0.1"], "de"),
            ("en de es", &["en;q=0"], "de"),
            ("en de es", &["en;q=0, *"], "de"),
            ("en de es", &["*;q=0"], "en"),
            ("en de es", &["*;q=0, es;q=0.1"], "es"),
            ("en de es", &["*;q=0, xx"], "en"),
            ("en de es", &["de;q=0, de-AT"], "en"),
            ("de de-AT", &["de;q=0, de-AT"], "de-AT"),
            ("de-AT de", &["de"], "de"),
            ("de-AT", &["de"], "de-AT"),
            ("en zh-Hant", &["zh-Hant-CN-x-wadegile"], "zh-Hant"),
            ("en zh-Hant-CN", &["zh-Hant-CN-x-private1-private2"], "zh-Hant-CN"),
            ("en de-x", &["de-x-private"], "en"),
            ("en de", &["de;q=2, en"], "en"),
            ("de en", &["en;q=nonsense"], "de"),
            ("en de", &["de ; Q = 0.000"], "en"),
            ("en de", &["de;q=0.0004"], "de"),
            ("en de", &["de;q=1.000"], "de"),
            ("en de", &["de;level=1;q=0.9, en;q=0.8"], "de"),
            ("en de", &[",,;q=1,de"], "de"),
            ("en-US en", &["en-us-x-a"], "en-US"),
        ] {
            let list = list(words);
            let headers = map(&ACCEPT_LANGUAGE, lines);
            assert_eq!(
                best_language(&list, &ACCEPT_LANGUAGE, &headers),
                Some(expected),
                "{words}: {lines:?}"
            );
        }
        assert_eq!(best_language(&[], &ACCEPT_LANGUAGE, &HeaderMap::new()), None);
    }

    #[test]
    fn encodings() {
        for (words, lines, expected) in [
            ("br gzip", &[][..], "identity"),
            ("br gzip", &[""][..], "identity"),
            ("br gzip", &["gzip, deflate, br"], "br"),
            ("br gzip", &["gzip"], "gzip"),
            ("br gzip", &["GZIP"], "gzip"),
            ("br gzip", &["x-gzip"], "gzip"),
            ("br gzip", &["br;q=0.5, gzip"], "gzip"),
            ("br gzip", &["br;q=0.5, gzip;q=0.5"], "br"),
            ("br gzip", &["gzip;q=0"], "identity"),
            ("br gzip", &["gzip;q=0, *"], "br"),
            ("br gzip", &["*"], "br"),
            ("br gzip", &["*;q=0"], "identity"),
            ("br gzip", &["*;q=0, gzip;q=0.1"], "gzip"),
            ("br gzip", &["identity;q=0"], "identity"),
            ("br gzip", &["identity, gzip;q=0.5"], "identity"),
            ("br gzip", &["gzip;q=0.001"], "gzip"),
            ("br gzip", &["zstd, deflate"], "identity"),
            ("identity gzip", &["gzip"], "gzip"),
            ("identity gzip", &["gzip, identity"], "identity"),
            ("identity gzip", &["*"], "identity"),
            ("br gzip", &["gzip", "br"], "br"),
            ("", &["gzip"], "identity"),
        ] {
            let list = list(words);
            let headers = map(&ACCEPT_ENCODING, lines);
            assert_eq!(best_encoding(&list, &ACCEPT_ENCODING, &headers), expected, "{words}: {lines:?}");
        }
    }

    #[test]
    fn a_huge_list_is_cut() {
        let long = format!("{}, de", vec!["xx"; MEMBERS_MAX].join(","));
        let headers = map(&ACCEPT_LANGUAGE, &[&long]);
        assert_eq!(best_language(&list("en de"), &ACCEPT_LANGUAGE, &headers), Some("en"));
    }
}
