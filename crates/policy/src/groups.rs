//! Cache groups: answers that belong together, and requests that end the life of a whole group (RFC 9875).
//!
//! Not here: finding the answers of a group (`cache`). Groups hold within one URI origin (§2.1); that is the caller's
//! to add.

use crate::invalidate::invalidates;
use crate::sfv;
use http::{HeaderMap, HeaderName, Method, StatusCode};

const CACHE_GROUPS: HeaderName = HeaderName::from_static("cache-groups");
const CACHE_GROUP_INVALIDATION: HeaderName = HeaderName::from_static("cache-group-invalidation");

/// Groups of one answer that are looked at, and bytes of one name: four times and twice what §2 and §3 ask for.
const GROUPS_MAX: usize = 512;
const NAME_MAX_BYTES: usize = 256;

/// The groups an answer belongs to (§2).
pub fn groups(headers: &HeaderMap) -> Vec<String> {
    names(headers, &CACHE_GROUPS)
}

/// The groups that an answer ends the life of (§3): none for a safe method, or for an error.
pub fn invalidated_groups(method: &Method, status: StatusCode, headers: &HeaderMap) -> Vec<String> {
    if invalidates(method, status) { names(headers, &CACHE_GROUP_INVALIDATION) } else { Vec::new() }
}

/// A list of strings; a field that is anything else is void.
fn names(headers: &HeaderMap, field: &HeaderName) -> Vec<String> {
    let lines: Vec<&[u8]> = headers.get_all(field).iter().map(|value| value.as_bytes()).collect();
    let mut names = sfv::strings(&lines.join(&b", "[..])).unwrap_or_default();
    names.retain(|name| name.len() <= NAME_MAX_BYTES);
    names.truncate(GROUPS_MAX);
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(lines: &[&str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(CACHE_GROUPS, HeaderValue::from_str(line).unwrap());
        }
        groups(&headers)
    }

    #[test]
    fn lists_of_strings_and_nothing_else() {
        for (lines, want) in [
            (&[][..], &[][..]),
            (&[""], &[]),
            (&[r#""a""#], &["a"]),
            (&[r#""a", "b c";x=1"#], &["a", "b c"]),
            (&[r#""a""#, r#""b""#], &["a", "b"]),
            (&[r#""\"\\""#], &["\"\\"]),
            (&["a"], &[]),
            (&[r#""a", b"#], &[]),
            (&[r#""a","#], &[]),
            (&[r#""a" "b""#], &[]),
            (&[r#"("a" "b")"#], &[]),
            (&[r#""open"#], &[]),
        ] {
            assert_eq!(of(lines), want, "{lines:?}");
        }
        assert_eq!(of(&[&format!("\"{}\", \"short\"", "x".repeat(257))]), ["short"]);
    }

    #[test]
    fn only_unsafe_and_successful_requests_invalidate() {
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_GROUP_INVALIDATION, HeaderValue::from_static("\"a\""));
        for (method, status, want) in [("POST", 200, true), ("GET", 200, false), ("POST", 500, false)] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let found = invalidated_groups(&method, StatusCode::from_u16(status).unwrap(), &headers);
            assert_eq!(!found.is_empty(), want, "{method} {status}");
        }
    }
}
