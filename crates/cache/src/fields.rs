//! The fields of a stored answer as bytes, in as few as they can be read back from as they were.
//!
//! A byte is the name, of those that are usual, and the form of the value in its two highest bits. Dates and numbers are
//! stored as such if writing them gives the very same text again, and fields that many answers have by a number. A map of fields takes about 110 bytes a field beside
//! its text, and most of what is stored is never asked for again. Not here: what fields mean (`policy`), what else is
//! packed with them (`head`).

use crate::pairs::{Pair, Pairs};
use crate::walk::{Walk, put_number};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use samovar_policy::{HTTP_DATE_BYTES, parse_http_date, write_http_date};
use smallvec::SmallVec;

/// Names that six bits stand for: 1 for the first. Blocks live no longer than the process, so rows may move.
pub(crate) static NAMES: [HeaderName; 58] = [
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::LAST_MODIFIED,
    header::ETAG,
    header::DATE,
    header::CACHE_CONTROL,
    header::EXPIRES,
    header::VARY,
    header::SERVER,
    header::ACCEPT_RANGES,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::CONTENT_DISPOSITION,
    header::CONTENT_RANGE,
    header::CONTENT_SECURITY_POLICY,
    header::CONTENT_SECURITY_POLICY_REPORT_ONLY,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_ALLOW_METHODS,
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_EXPOSE_HEADERS,
    header::ACCESS_CONTROL_MAX_AGE,
    header::AGE,
    header::ALLOW,
    header::ALT_SVC,
    header::CACHE_STATUS,
    header::CDN_CACHE_CONTROL,
    header::LINK,
    header::LOCATION,
    header::PRAGMA,
    header::REFERRER_POLICY,
    header::REFRESH,
    header::RETRY_AFTER,
    header::STRICT_TRANSPORT_SECURITY,
    header::TRAILER,
    header::UPGRADE,
    header::VIA,
    header::WARNING,
    header::WWW_AUTHENTICATE,
    header::X_CONTENT_TYPE_OPTIONS,
    header::X_DNS_PREFETCH_CONTROL,
    header::X_FRAME_OPTIONS,
    header::X_XSS_PROTECTION,
    HeaderName::from_static("cache-tag"),
    HeaderName::from_static("cross-origin-opener-policy"),
    HeaderName::from_static("cross-origin-resource-policy"),
    HeaderName::from_static("permissions-policy"),
    HeaderName::from_static("priority"),
    HeaderName::from_static("server-timing"),
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("surrogate-key"),
    HeaderName::from_static("timing-allow-origin"),
    HeaderName::from_static("x-cache"),
    HeaderName::from_static("x-powered-by"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("x-robots-tag"),
    HeaderName::from_static("x-ua-compatible"),
];

/// Stands for a name that is written out.
const WRITTEN_OUT: u8 = 0;

/// Where in the first byte of a field the form of its value stands.
const FORM_SHIFT: u32 = 6;
const NAME_MASK: u8 = (1 << FORM_SHIFT) - 1;

const _: () = assert!(NAMES.len() <= NAME_MASK as usize);

/// Room for fields that an answer gets of ours: without it the map would be built twice, and one that is all but full is
/// slow to fill.
const SPARE_FIELDS: usize = 8;

/// Fields that are looked at without an allocation, and room for what is written: three dates.
const ROWS: usize = 24;
const WRITTEN_BYTES: usize = 96;

/// A value, and the form it is stored in.
#[derive(Clone, Copy)]
enum Value<'b> {
    /// Its length and its bytes.
    Text(&'b [u8]),
    /// `Sun, 06 Nov 1994 08:49:37 GMT`: four bytes, until 2106.
    Date(u32),
    /// Digits, without a zero before others.
    Number(u64),
}

const TEXT: u8 = 0;
const DATE: u8 = 1;
const NUMBER: u8 = 2;
/// Of a field that is in `pairs`: its number takes what is left of the first byte, and one more.
const COMMON: u8 = 3;

impl<'b> Value<'b> {
    /// In the shortest form that gives it back to the byte.
    fn of(text: &'b [u8]) -> Value<'b> {
        number_of(text)
            .map(Value::Number)
            .or_else(|| date_of(text).map(Value::Date))
            .unwrap_or(Value::Text(text))
    }

    fn form(&self) -> u8 {
        match self {
            Value::Text(_) => TEXT,
            Value::Date(_) => DATE,
            Value::Number(_) => NUMBER,
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Value::Text(text) => {
                put_number(out, text.len() as u64);
                out.extend_from_slice(text);
            }
            Value::Date(epoch_s) => out.extend_from_slice(&epoch_s.to_le_bytes()),
            Value::Number(n) => put_number(out, *n),
        }
    }

    #[inline(always)]
    fn read(form: u8, walk: &mut Walk<'b>) -> Value<'b> {
        match form {
            DATE => Value::Date(u32::from_le_bytes(std::array::from_fn(|_| walk.byte()))),
            NUMBER => Value::Number(walk.number()),
            _ => Value::Text(walk.text()),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Text(text) => out.extend_from_slice(text),
            Value::Date(epoch_s) => out.extend_from_slice(&write_http_date(*epoch_s)),
            Value::Number(n) => out.extend_from_slice(itoa::Buffer::new().format(*n).as_bytes()),
        }
    }
}

fn number_of(text: &[u8]) -> Option<u64> {
    // Nineteen nines are less than a u64 holds.
    if !matches!(text, [b'0'] | [b'1'..=b'9', ..]) || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0')))
}

fn date_of(text: &[u8]) -> Option<u32> {
    if text.len() != HTTP_DATE_BYTES {
        return None;
    }
    // The form looked for has all digits of the year: it is near to nothing.
    let epoch_s = u32::try_from(parse_http_date(text, 0)?).ok()?;
    (write_http_date(epoch_s) == *text).then_some(epoch_s)
}

/// A name as it is stored.
#[derive(Clone, Copy)]
enum Name<'b> {
    Row(usize),
    WrittenOut(&'b [u8]),
}

impl Name<'_> {
    /// `None` of what `pack` did not write.
    fn own(&self) -> Option<HeaderName> {
        match self {
            Name::Row(row) => NAMES.get(*row).cloned(),
            Name::WrittenOut(text) => HeaderName::from_bytes(text).ok(),
        }
    }

    fn is(&self, wanted: &HeaderName) -> bool {
        match self {
            Name::Row(row) => NAMES.get(*row) == Some(wanted),
            Name::WrittenOut(text) => *text == wanted.as_str().as_bytes(),
        }
    }
}

/// A field as it is stored.
enum Field<'b> {
    Own(Name<'b>, Value<'b>),
    Common(&'b Pair),
}

/// Appends the fields of an answer with this key to `out`.
pub(crate) fn pack(out: &mut Vec<u8>, headers: &HeaderMap, pairs: &Pairs, key: &str) {
    for (name, value) in headers {
        let row = NAMES.iter().position(|known| known == name);
        let stored = Value::of(value.as_bytes());
        if let (Value::Text(_), Some(row)) = (stored, row)
            && let Some(number) = pairs.number_of(row as u8, value, key)
        {
            let [high, low] = number.to_be_bytes();
            out.extend_from_slice(&[COMMON << FORM_SHIFT | high, low]);
            continue;
        }
        let form = stored.form() << FORM_SHIFT;
        match row {
            Some(row) => out.push((row as u8 + 1) | form),
            None => {
                out.push(WRITTEN_OUT | form);
                put_number(out, name.as_str().len() as u64);
                out.extend_from_slice(name.as_str().as_bytes());
            }
        }
        stored.put(out);
    }
}

/// The next field. Every hit goes through all of them.
#[inline(always)]
fn next<'b>(walk: &mut Walk<'b>, pairs: &'b Pairs) -> Option<Field<'b>> {
    if walk.is_at_end() {
        return None;
    }
    let first = walk.byte();
    let (form, low) = (first >> FORM_SHIFT, first & NAME_MASK);
    if form == COMMON {
        return pairs.get(u16::from_be_bytes([low, walk.byte()])).map(Field::Common);
    }
    let name = match low {
        WRITTEN_OUT => Name::WrittenOut(walk.text()),
        row => Name::Row(usize::from(row) - 1),
    };
    Some(Field::Own(name, Value::read(form, walk)))
}

/// The fields. Common ones have their values from the table, the others are slices of one buffer: a copy of what is
/// stored, and behind it what is to be written for them.
pub(crate) fn unpack(bytes: &[u8], pairs: &Pairs) -> HeaderMap {
    let mut text = Vec::with_capacity(bytes.len() + WRITTEN_BYTES);
    text.extend_from_slice(bytes);
    let mut fields = SmallVec::<[(Field<'_>, usize); ROWS]>::new();
    let mut walk = Walk::new(bytes, 0);
    while let Some(field) = next(&mut walk, pairs) {
        let to = match field {
            Field::Own(_, Value::Text(_)) | Field::Common(_) => walk.at(),
            Field::Own(_, value @ (Value::Date(_) | Value::Number(_))) => {
                value.write(&mut text);
                text.len()
            }
        };
        fields.push((field, to));
    }
    let mut written = bytes.len();
    let text = Bytes::from(text);
    let mut map = HeaderMap::with_capacity((fields.len() + SPARE_FIELDS).min(64));
    for (field, to) in fields {
        // What was a valid value when it was stored is one now.
        let own = |from| HeaderValue::from_maybe_shared(text.slice(from..to)).ok();
        let (name, value) = match field {
            Field::Common(pair) => (NAMES.get(usize::from(pair.row)).cloned(), Some(pair.value.clone())),
            Field::Own(name, Value::Text(text)) => (name.own(), own(to - text.len())),
            Field::Own(name, Value::Date(_) | Value::Number(_)) => {
                (name.own(), own(std::mem::replace(&mut written, to)))
            }
        };
        // In one place, so that it becomes part of the loop: a call for each field costs a hit a thousand instructions.
        if let (Some(name), Some(value)) = (name, value) {
            map.append(name, value);
        }
    }
    map
}

/// The first value of one field.
pub(crate) fn first(bytes: &[u8], pairs: &Pairs, wanted: &HeaderName) -> Option<HeaderValue> {
    let mut walk = Walk::new(bytes, 0);
    while let Some(field) = next(&mut walk, pairs) {
        match field {
            Field::Common(pair) if NAMES.get(usize::from(pair.row)) == Some(wanted) => {
                return Some(pair.value.clone());
            }
            Field::Own(name, value) if name.is(wanted) => {
                let mut text = Vec::new();
                value.write(&mut text);
                return HeaderValue::from_maybe_shared(Bytes::from(text)).ok();
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use proptest::prelude::*;

    fn headers() -> impl Strategy<Value = HeaderMap> {
        let name = prop_oneof![
            (0..NAMES.len()).prop_map(|row| NAMES[row].clone()),
            "[a-z][a-z0-9-]{0,200}".prop_map(|name| HeaderName::from_bytes(name.as_bytes()).unwrap()),
        ];
        let bytes = proptest::collection::vec(prop_oneof![0x20..=0x7e_u8, 0x80..=0xff_u8], 0..300);
        let date = any::<u32>().prop_map(|epoch_s| write_http_date(epoch_s).to_vec());
        let number = "[0-9]{1,21}".prop_map(String::into_bytes);
        // One byte beside a date, or a number, is none.
        let nearly = (date.clone(), 0..29_usize, 0x20..=0x7e_u8).prop_map(|(mut date, at, byte)| {
            date[at] = byte;
            date
        });
        let value =
            prop_oneof![bytes, date, nearly, number, any::<u64>().prop_map(|n| n.to_string().into_bytes())]
                .prop_map(|value| HeaderValue::from_bytes(&value).unwrap());
        proptest::collection::vec((name, value), 0..12).prop_map(|rows| {
            let mut map = HeaderMap::new();
            for (name, value) in rows {
                map.append(name, value);
            }
            map
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out_as_it_was(headers in headers()) {
            let pairs = Pairs::new(&Budget::new(1 << 30));
            // Until all of them are common that can be.
            for key in 0..40 {
                let mut out = Vec::new();
                pack(&mut out, &headers, &pairs, &key.to_string());
                prop_assert_eq!(&unpack(&out, &pairs), &headers);
                for name in headers.keys().chain(&NAMES) {
                    prop_assert_eq!(first(&out, &pairs, name), headers.get(name).cloned());
                }
            }
        }

        /// Whatever the bytes are, reading them ends and stops at nothing.
        #[test]
        fn no_bytes_stop_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let pairs = Pairs::new(&Budget::new(1 << 30));
            let _ = (unpack(&bytes, &pairs), first(&bytes, &pairs, &header::DATE));
        }
    }

    #[test]
    fn a_name_has_one_row() {
        for (row, name) in NAMES.iter().enumerate() {
            assert_eq!(NAMES.iter().position(|other| other == name), Some(row), "{name}");
        }
    }

    #[test]
    fn what_a_field_takes() {
        for (name, value, bytes) in [
            ("content-type", "image/png", 1 + 1 + 9),
            ("content-length", "0", 1 + 1),
            ("content-length", "15360", 1 + 2),
            ("age", "007", 1 + 1 + 3),
            ("date", "Sat, 21 Nov 2026 13:00:00 GMT", 1 + 4),
            ("date", "Sun, 21 Nov 2026 13:00:00 GMT", 1 + 1 + 29),
            ("date", "Wed, 31 Dec 1969 23:59:59 GMT", 1 + 1 + 29),
            ("date", "Sun, 07 Feb 2106 06:28:15 GMT", 1 + 4),
            ("date", "Sun, 07 Feb 2106 06:28:16 GMT", 1 + 1 + 29),
            ("expires", "-1", 1 + 1 + 2),
            ("x-own", "Sat, 21 Nov 2026 13:00:00 GMT", 1 + 1 + 5 + 4),
        ] {
            let pairs = Pairs::new(&Budget::new(1 << 30));
            let name = HeaderName::from_static(name);
            let headers = HeaderMap::from_iter([(name.clone(), HeaderValue::from_static(value))]);
            for key in 0..100 {
                let mut out = Vec::new();
                pack(&mut out, &headers, &pairs, &key.to_string());
                let common = key > 14 && out.len() == 2;
                assert!(out.len() == bytes || common, "{name}: {value} takes {}", out.len());
                assert_eq!(first(&out, &pairs, &name).unwrap(), value);
            }
        }
    }
}
