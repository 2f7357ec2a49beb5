//! Heads of CGI answers: what is understood, what is refused, and that pieces and lies change nothing.

use super::*;
use proptest::prelude::*;

const MAX: usize = 4096;

/// Feeds `text` in pieces of `size` bytes, with all that follows the head.
fn read(text: &[u8], size: usize) -> Result<Option<Head>, Wrong> {
    let mut reader = HeadReader::new(MAX);
    let mut pieces = text.chunks(size.max(1));
    while let Some(piece) = pieces.next() {
        if let Some(mut head) = reader.push(piece)? {
            let mut rest = head.rest.to_vec();
            pieces.for_each(|piece| rest.extend(piece));
            head.rest = rest.into();
            return Ok(Some(head));
        }
    }
    Ok(None)
}

fn fields(head: &Head) -> Vec<String> {
    head.headers.iter().map(|(n, v)| format!("{n}: {}", String::from_utf8_lossy(v.as_bytes()))).collect()
}

#[test]
fn heads_are_understood() {
    let table: &[(&str, u16, &[&str], &str)] = &[
        ("Content-Type: text/html\r\n\r\nbody", 200, &["content-type: text/html"], "body"),
        ("Content-Type: text/html\n\nbody", 200, &["content-type: text/html"], "body"),
        ("A: 1\r\nB: 2\n\r\n\r\n\r\nbody", 200, &["a: 1", "b: 2"], "\r\n\r\nbody"),
        ("Status: 404 Not Found\r\nA: 1\r\n\r\n", 404, &["a: 1"], ""),
        ("status:503\r\n\r\n", 503, &[], ""),
        ("Status: 404\r\nStatus: 404 Not Found\r\n\r\n", 404, &[], ""),
        ("\r\nbody", 200, &[], "body"),
        ("\nbody", 200, &[], "body"),
        ("Location: /local?x\r\n\r\n", 302, &["location: /local?x"], ""),
        ("Location: https://a.example/\r\n\r\n", 302, &["location: https://a.example/"], ""),
        ("Status: 301 Moved\r\nLocation: /x\r\n\r\n", 301, &["location: /x"], ""),
        ("Status: 201 Created\r\nLocation: /x\r\n\r\n", 201, &["location: /x"], ""),
        ("Set-Cookie: a\r\nSet-Cookie: b\r\n\r\n", 200, &["set-cookie: a", "set-cookie: b"], ""),
        ("A:\r\nB:  spaced \t\r\n\r\n", 200, &["a: ", "b: spaced"], ""),
        ("Content-Length: 4\r\n\r\nbody", 200, &["content-length: 4"], "body"),
        ("Connection: close, X\r\nX: 1\r\nKeep-Alive: 5\r\nY: 1\r\n\r\n", 200, &["y: 1"], ""),
        ("A: caf\u{e9}\r\n\r\n", 200, &["a: caf\u{e9}"], ""),
    ];
    for (text, status, expected, rest) in table {
        for size in [1, 2, 7, 10_000] {
            let head = read(text.as_bytes(), size).unwrap().unwrap_or_else(|| panic!("{text:?} is whole"));
            assert_eq!(head.status, *status, "{text:?}");
            assert_eq!(fields(&head), *expected, "{text:?}");
            assert_eq!(head.rest, rest.as_bytes(), "{text:?}");
        }
    }
}

#[test]
fn heads_are_refused() {
    let table: &[(&[u8], Upstream)] = &[
        (b"HTTP/1.1 200 OK\r\nA: 1\r\n\r\n", Upstream::BadHead),
        (b"<html>\n\n", Upstream::BadHead),
        (b"A: 1\r\n folded\r\n\r\n", Upstream::BadHead),
        (b"A : 1\r\n\r\n", Upstream::BadHead),
        (b": 1\r\n\r\n", Upstream::BadHead),
        (b"A: 1\rB: 2\r\n\r\n", Upstream::BadHead),
        (b"A: 1\0\r\n\r\n", Upstream::BadHead),
        (b"A: \x1b[31m\r\n\r\n", Upstream::BadHead),
        (b"Status: abc\r\n\r\n", Upstream::BadHead),
        (b"Status: 99\r\n\r\n", Upstream::BadHead),
        (b"Status: 100 Continue\r\n\r\n", Upstream::BadHead),
        (b"Status: 600\r\n\r\n", Upstream::BadHead),
        (b"Status:\r\n\r\n", Upstream::BadHead),
        (b"Status: 200\r\nStatus: 404\r\n\r\n", Upstream::BadHead),
        (b"Transfer-Encoding: chunked\r\n\r\n", Upstream::BadFraming),
        (b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", Upstream::BadFraming),
        (b"Content-Length: x\r\n\r\n", Upstream::BadFraming),
    ];
    for (text, reason) in table {
        for size in [1, 3, 10_000] {
            let (seen, detail) = read(text, size).expect_err(&text.escape_ascii().to_string());
            assert_eq!(seen, *reason, "{}: {detail}", text.escape_ascii());
            assert!(!detail.contains(|c: char| c.is_control()), "{detail:?}");
        }
    }
}

#[test]
fn a_head_is_bounded() {
    let field = |bytes: usize| format!("A: {}\r\n", "x".repeat(bytes - 5));
    for (bytes, fits) in [(MAX - 2, true), (MAX - 1, false), (MAX * 3, false)] {
        let text = field(bytes) + "\r\nbody";
        for size in [1, 100, 100_000] {
            match read(text.as_bytes(), size) {
                Ok(Some(head)) => assert!(fits && head.rest == "body", "{bytes}"),
                Err((Upstream::HeadTooLarge, _)) => assert!(!fits, "{bytes}"),
                other => panic!("{bytes} in pieces of {size}: {other:?}"),
            }
        }
    }
    let endless: Vec<u8> = b"A: x\n".repeat(MAX);
    assert_eq!(read(&endless, 50).unwrap_err().0, Upstream::HeadTooLarge);
    // A body may be as long as it likes.
    let text = [b"A: 1\n\n".to_vec(), vec![b'x'; MAX * 4]].concat();
    assert_eq!(read(&text, 100_000).unwrap().unwrap().rest.len(), MAX * 4);
}

#[test]
fn a_hundred_fields_and_no_more() {
    let some = |count: usize| (0..count).map(|n| format!("a{n}: 1\n")).collect::<String>() + "\n";
    assert_eq!(read(some(100).as_bytes(), usize::MAX).unwrap().unwrap().headers.len(), 100);
    let many = HeadReader::new(10_000).push(some(101).as_bytes());
    assert_eq!(many.unwrap_err().0, Upstream::HeadTooLarge);
}

#[test]
fn more_fields_than_a_map_holds_are_no_panic() {
    let mut reader = HeadReader::new(10_000_000);
    let many: String = (0..40_000).map(|n| format!("a{n}:\n")).collect();
    assert_eq!(reader.push((many + "\n").as_bytes()).unwrap_err().0, Upstream::HeadTooLarge);
}

proptest! {
    #[test]
    fn garbage_never_panics_and_never_injects(text in prop::collection::vec(any::<u8>(), 0..300), size in 1_usize..50) {
        if let Ok(Some(head)) = read(&text, size) {
            let lines = text.iter().filter(|b| **b == b'\n').count();
            prop_assert!(head.headers.len() < lines.max(1));
            for value in head.headers.values() {
                prop_assert!(!value.as_bytes().iter().any(|b| matches!(b, b'\r' | b'\n' | 0)));
            }
        }
    }

    #[test]
    fn likely_heads_are_split_invariant(text in "((A|Status|Location|x-y)(:| :)( ?[a-z0-9]{0,5})(\r\n|\n)){0,4}(\r\n|\n)[a-z]{0,9}", size in 1_usize..20) {
        let whole = read(text.as_bytes(), usize::MAX).map(|h| h.map(|h| (h.status, h.headers, h.rest)));
        let split = read(text.as_bytes(), size).map(|h| h.map(|h| (h.status, h.headers, h.rest)));
        prop_assert_eq!(whole, split);
    }
}
