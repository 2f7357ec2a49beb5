//! Tables and properties of the head's parse.

use super::{Framing, Head, HeadLimits, leading_empty_lines, parse, slots, valid_host};
use crate::Limits;
use proptest::prelude::*;
use samovar_reason::Reject;

fn limits() -> HeadLimits {
    HeadLimits::of(&Limits {
        line_max_bytes: 200,
        head_max_bytes: 1000,
        fields_max: 10,
        body_max_bytes: Some(1 << 40),
        ..Limits::default()
    })
}

/// Parses and judges as the layer does with a cold head.
fn judge(bytes: &[u8]) -> Result<Option<(usize, Framing)>, Reject> {
    let mut room = slots();
    let facts = |head: Head<'_, '_>| {
        head.check_for_engine()?;
        Ok((head.len_bytes, head.framing))
    };
    parse(bytes, &mut 0, &mut room, &limits())?.map(facts).transpose()
}

fn head_with(fields: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
}

#[test]
fn framing_by_fields() {
    for (fields, framing) in [
        ("", Framing::None),
        ("Content-Length: 0\r\n", Framing::None),
        ("Content-Length: 5\r\n", Framing::Length(5)),
        ("content-LENGTH:\t005 \r\n", Framing::Length(5)),
        ("Transfer-Encoding: chunked\r\n", Framing::Chunked),
        ("transfer-encoding: Chunked\r\n", Framing::Chunked),
        ("Expect: 100-Continue\r\nContent-Length: 1\r\n", Framing::Length(1)),
        ("Upgrade: websocket\r\nConnection: upgrade\r\n", Framing::None),
        ("X: \u{e9}\r\n", Framing::None),
        ("X:\r\n", Framing::None),
    ] {
        let head = head_with(fields);
        assert_eq!(judge(&head), Ok(Some((head.len(), framing))), "{fields:?}");
    }
}

#[test]
fn refusals_by_fields() {
    let many = "X: y\r\n".repeat(10);
    let large = format!("X: {}\r\n", "y".repeat(1000));
    let options = |n: usize| format!("Connection: {}\r\n", vec!["a"; n].join(","));
    for (fields, reject) in [
        ("Host: a\r\n", Reject::BadHost),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", Reject::BadContentLength),
        ("Content-Length: 5, 5\r\n", Reject::BadContentLength),
        ("Content-Length: +5\r\n", Reject::BadContentLength),
        ("Content-Length: -5\r\n", Reject::BadContentLength),
        ("Content-Length: 0x5\r\n", Reject::BadContentLength),
        ("Content-Length: \r\n", Reject::BadContentLength),
        ("Content-Length: 9223372036854775808\r\n", Reject::BadContentLength),
        ("Content-Length: 99999999999999999999999\r\n", Reject::BadContentLength),
        ("Content-Length: 1099511627777\r\n", Reject::BodyTooLarge),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Reject::LengthAndChunked),
        ("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", Reject::LengthAndChunked),
        ("Transfer-Encoding: gzip, chunked\r\n", Reject::BadTransferEncoding),
        ("Transfer-Encoding: identity\r\n", Reject::BadTransferEncoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Reject::BadTransferEncoding),
        ("Transfer-Encoding: \"chunked\"\r\n", Reject::BadTransferEncoding),
        ("Transfer-Encoding:\u{b}chunked\r\n", Reject::BadFieldValue),
        ("Transfer-Encoding : chunked\r\n", Reject::BadFieldName),
        ("Expect: 200-maybe\r\n", Reject::BadExpect),
        ("X: y\r\n folded\r\n", Reject::FoldedField),
        ("X: y\r\n\tfolded\r\n", Reject::FoldedField),
        (" X: y\r\n", Reject::FoldedField),
        ("X: a\0b\r\n", Reject::BadFieldValue),
        ("X: a\rb\r\n", Reject::BareLineFeed),
        ("X: a\r\r\n", Reject::BareLineFeed),
        ("X: a\nY: b\r\n", Reject::BareLineFeed),
        ("X y\r\n", Reject::BadFieldName),
        (": y\r\n", Reject::BadFieldName),
        ("X\u{e9}: y\r\n", Reject::BadFieldName),
        (&many, Reject::TooManyFields),
        (&options(65), Reject::TooManyOptions),
        (&options(33).repeat(2), Reject::TooManyOptions),
        (&large, Reject::HeadTooLarge),
    ] {
        assert_eq!(judge(&head_with(fields)), Err(reject), "{fields:?}");
    }
}

#[test]
fn request_lines() {
    let long = format!("GET /{} HTTP/1.1", "x".repeat(200));
    for (line, wanted) in [
        ("GET /a?b=c HTTP/1.1", Ok(())),
        ("OPTIONS * HTTP/1.1", Ok(())),
        ("GET http://a/b HTTP/1.1", Ok(())),
        ("PURGE /x HTTP/1.1", Ok(())),
        ("M-SEARCH /x HTTP/1.1", Ok(())),
        ("GET * HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET a HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET a:80 HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET /a#b HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET  /a HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET /a  HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET /a HTTP/1.1 ", Err(Reject::BadRequestLine)),
        ("GET /a b HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET\t/a HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET /a", Err(Reject::BadRequestLine)),
        ("GET /a http/1.1", Err(Reject::BadRequestLine)),
        ("GET /a HTTP/x.y", Err(Reject::BadRequestLine)),
        (" GET /a HTTP/1.1", Err(Reject::BadRequestLine)),
        ("G@T /a HTTP/1.1", Err(Reject::BadRequestLine)),
        ("GET /a HTTP/2.0", Err(Reject::BadVersion)),
        ("GET /a HTTP/1.2", Err(Reject::BadVersion)),
        ("GET /a HTTP/0.9", Err(Reject::BadVersion)),
        ("PRI * HTTP/2.0", Err(Reject::BadVersion)),
        ("CONNECT a:80 HTTP/1.1", Err(Reject::ConnectMethod)),
        (&long, Err(Reject::UriTooLong)),
    ] {
        let head = format!("{line}\r\nHost: a\r\n\r\n");
        assert_eq!(judge(head.as_bytes()).map(|_| ()), wanted, "{line:?}");
    }
}

#[test]
fn host_by_version() {
    assert_eq!(judge(b"GET / HTTP/1.1\r\n\r\n"), Err(Reject::BadHost));
    assert_eq!(judge(b"GET / HTTP/1.1\r\nHost:\r\n\r\n"), Err(Reject::BadHost));
    assert_eq!(judge(b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), Err(Reject::BadHost));
    assert_eq!(judge(b"GET / HTTP/1.0\r\n\r\n"), Ok(Some((18, Framing::None))));
    assert_eq!(judge(b"GET / HTTP/1.0\r\nHost: a b\r\n\r\n"), Err(Reject::BadHost));
    assert_eq!(
        judge(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Err(Reject::BadTransferEncoding)
    );
    assert!(judge(b"POST / HTTP/1.0\r\nExpect: what\r\n\r\n").is_ok());
}

#[test]
fn incomplete_heads_are_refused_as_soon_as_they_can_be() {
    assert_eq!(judge(b"GET / HT"), Ok(None));
    assert_eq!(judge(b"\x16\x03\x01"), Err(Reject::BadRequestLine), "a TLS hello");
    assert_eq!(judge(b"GET / HTTP/1.1\n"), Err(Reject::BareLineFeed));
    assert_eq!(judge(&[b'x'; 200]), Ok(None));
    assert_eq!(judge(&[b'x'; 201]), Err(Reject::UriTooLong));
    let mut endless = b"GET / HTTP/1.1\r\n".to_vec();
    endless.extend(b"X: y\r\n".repeat(200));
    assert_eq!(judge(&endless), Err(Reject::HeadTooLarge));
}

#[test]
fn empty_lines_before_a_head() {
    assert_eq!(leading_empty_lines(b"\r\n\r\nGET"), Ok(4));
    assert_eq!(leading_empty_lines(b"\r\n\r"), Ok(2));
    assert_eq!(leading_empty_lines(b""), Ok(0));
    assert_eq!(leading_empty_lines(b"\nGET"), Err(Reject::BareLineFeed));
    assert_eq!(leading_empty_lines(b"\rGET"), Err(Reject::BareLineFeed));
}

#[test]
fn an_options_without_a_path_is_about_the_server() {
    for (target, is) in [
        ("*", true),
        ("http://a", true),
        ("http://a:8080", true),
        ("https://[::1]", true),
        ("/", false),
        ("/*", false),
        ("/x?u=http://a", false),
        ("http://a/", false),
        ("http://a/x", false),
        ("http://a?", false),
        ("http://a?q", false),
    ] {
        for (method, may) in [("OPTIONS", true), ("GET", false)] {
            let bytes = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
            let mut room = slots();
            let head = parse(&bytes, &mut 0, &mut room, &limits()).unwrap().unwrap();
            assert_eq!(head.is_of_the_server(), is && may, "{method} {target}");
        }
    }
}

/// Pieces that make heads which are nearly right.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"GET / HTTP/1.1\r\n".to_vec()),
        Just(b"POST /a?b HTTP/1.0\r\n".to_vec()),
        Just(b"Host: a\r\n".to_vec()),
        Just(b"Content-Length: 3\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Connection: close\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b" ".to_vec()),
        Just(b": ".to_vec()),
        prop::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn never_panics_and_the_split_does_not_matter(
        pieces in prop::collection::vec(piece(), 0..12),
        step in 1usize..9,
    ) {
        let bytes = pieces.concat();
        let whole = judge(&bytes);
        // The same head in growing prefixes, with the search carried on.
        let mut scanned = 0;
        let mut grown = Ok(None);
        for end in (step..bytes.len()).step_by(step).chain([bytes.len()]) {
            let mut room = slots();
            grown = match parse(&bytes[..end], &mut scanned, &mut room, &limits()) {
                Ok(Some(head)) => head.check_for_engine().map(|()| Some((head.len_bytes, head.framing))),
                Ok(None) => Ok(None),
                Err(reject) => Err(reject),
            };
            if !matches!(grown, Ok(None)) { break; }
        }
        match (&whole, &grown) {
            // Seen whole, a bare line feed after the head's end does not matter, nor the other way round; a prefix
            // may be refused for another reason than the whole.
            (Err(_), Err(_)) => {}
            _ => prop_assert_eq!(&whole, &grown, "{:?}", String::from_utf8_lossy(&bytes)),
        }
    }

    #[test]
    fn valid_hosts_make_authorities(host in "[a-z0-9.:\\[\\]%@/ -]{0,12}") {
        if valid_host(host.as_bytes()) {
            prop_assert!(host.parse::<http::uri::Authority>().is_ok(), "{}", host);
        }
    }
}
