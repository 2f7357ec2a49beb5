//! Tables and properties of the answer's head, its framing, and where its body ends.

use super::decode::Decoder;
use super::heard::{Framing, Head, Heard, Listener};
use bytes::BytesMut;
use http::{HeaderValue, Method};
use proptest::prelude::*;
use samovar_reason::Upstream;

const MAX_BYTES: usize = 16 * 1024;

fn heard(bytes: &[u8], method: &Method) -> Result<Option<Heard>, Upstream> {
    Listener::default().next(&mut BytesMut::from(bytes), method, MAX_BYTES).map_err(|(reason, _)| reason)
}

fn head(bytes: &str, method: &Method) -> Head {
    match heard(bytes.as_bytes(), method) {
        Ok(Some(Heard::Head(head))) => head,
        other => panic!("{bytes:?}: {other:?}"),
    }
}

#[test]
fn framing_follows_rfc_9112_6_3_in_its_order() {
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";
    const FIVE: &str = "Content-Length: 5\r\n";
    let get = Method::GET;
    for (line, fields, method, framing) in [
        ("1.1 200", FIVE, &Method::HEAD, Framing::None),
        ("1.1 200", CHUNKED, &Method::HEAD, Framing::None),
        ("1.0 200", CHUNKED, &Method::HEAD, Framing::None),
        ("1.1 204", CHUNKED, &get, Framing::None),
        ("1.1 204", "", &get, Framing::None),
        ("1.1 304", FIVE, &get, Framing::None),
        ("1.1 200", FIVE, &Method::CONNECT, Framing::None),
        ("1.1 404", FIVE, &Method::CONNECT, Framing::Sized(5)),
        ("1.1 200", CHUNKED, &get, Framing::Chunked),
        ("1.1 200", "Transfer-Encoding: \t CHUNKED \r\n", &get, Framing::Chunked),
        ("1.1 205", FIVE, &get, Framing::Sized(5)),
        ("1.0 200", FIVE, &get, Framing::Sized(5)),
        ("1.1 200", "Content-Length: 5, 5\r\nContent-Length:5\r\n", &get, Framing::Sized(5)),
        ("1.1 200", "Content-Length: 005\r\n", &get, Framing::Sized(5)),
        ("1.1 200", "", &get, Framing::UntilClose),
        ("1.0 200", "", &get, Framing::UntilClose),
    ] {
        let head = head(&format!("HTTP/{line} x\r\n{fields}\r\n"), method);
        assert_eq!(head.framing, framing, "{line} {fields:?} {method}");
        assert!(!head.headers.contains_key("transfer-encoding"));
        let told: Vec<_> = head.headers.get_all("content-length").iter().collect();
        assert!(told.len() <= 1 && told.iter().all(|len| *len == "5"), "{told:?}");
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    use Upstream::{BadFraming, BadHead, HeadTooLarge};
    let many = "A: b\r\n".repeat(101);
    let long = format!("A: {}\r\n", "b".repeat(MAX_BYTES));
    for (line, fields, reason) in [
        ("1.1 200", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", BadFraming),
        ("1.1 304", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", BadFraming),
        ("1.1 200", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", BadFraming),
        ("1.1 200", "Transfer-Encoding: chunked, chunked\r\n", BadFraming),
        ("1.1 200", "Transfer-Encoding: gzip, chunked\r\n", BadFraming),
        ("1.1 200", "Transfer-Encoding: identity\r\n", BadFraming),
        ("1.1 200", "Transfer-Encoding:\r\n", BadFraming),
        ("1.0 200", "Transfer-Encoding: chunked\r\n", BadFraming),
        ("1.1 200", "Content-Length: 5\r\nContent-Length: 6\r\n", BadFraming),
        ("1.1 200", "Content-Length: 5, 6\r\n", BadFraming),
        ("1.1 200", "Content-Length: 5,\r\n", BadFraming),
        ("1.1 204", "Content-Length: x\r\n", BadFraming),
        ("1.1 200", "Content-Length: 18446744073709551616\r\n", BadFraming),
        ("1.1 101", "Upgrade: x\r\n", BadHead),
        ("1.1 200", &format!("Connection: {}\r\n", vec!["a"; 65].join(",")), BadHead),
        ("1.1 099", "", BadHead),
        ("2.0 200", "", BadHead),
        ("1.1 200", "A : b\r\n", BadHead),
        ("1.1 200", "A\r\n", BadHead),
        ("1.1 200", "A: b\r\n c\r\n", BadHead),
        ("1.1 200", "A: \u{1}\r\n", BadHead),
        ("1.1 200", &many, HeadTooLarge),
        ("1.1 200", &long, HeadTooLarge),
    ] {
        let bytes = format!("HTTP/{line} x\r\n{fields}\r\n");
        let seen = heard(bytes.as_bytes(), &Method::GET);
        assert!(matches!(seen, Err(r) if r == reason), "{line} {fields:.50?}: {seen:?}");
    }
    for nonsense in ["<html>", "SSH-2.0-x", "HTTP/1.1 2x", "\r\n\n?"] {
        let seen = heard(nonsense.as_bytes(), &Method::GET);
        assert!(matches!(seen, Err(BadHead)), "{nonsense}: {seen:?}");
    }
}

#[test]
fn the_connection_lives_as_long_as_was_said() {
    for (version, fields, lives) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: keep-alive, Close\r\n", false),
        ("1.1", "Connection: close\r\nConnection: keep-alive\r\n", false),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: Keep-Alive\r\nConnection: close\r\n", false),
        ("1.1", "Connection: closed\r\n", true),
    ] {
        let head = head(&format!("HTTP/{version} 200 OK\r\n{fields}\r\n"), &Method::GET);
        assert_eq!(head.keeps_alive, lives, "{version} {fields:?}");
        assert!(head.headers.is_empty());
    }
}

/// What can never become a head is refused before it ends, in whatever pieces it comes.
#[test]
fn what_is_no_head_is_noticed_early() {
    for cut in 1..8 {
        let (mut read, mut listener) = (BytesMut::new(), Listener::default());
        let (first, rest) = "HELLO WORLD, this is no answer\r\nfoo".split_at(cut);
        let mut refused = false;
        for piece in [first, rest] {
            read.extend_from_slice(piece.as_bytes());
            refused |= listener.next(&mut read, &Method::GET, MAX_BYTES).is_err();
        }
        assert!(refused, "cut at {cut}");
    }
    // Nor is a connection kept on which a body may follow that nobody asked for.
    assert!(!head("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", &Method::GET).keeps_alive);
    assert!(head("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", &Method::GET).keeps_alive);
}

#[test]
fn another_protocol_begins_where_the_head_ends() {
    let asked = HeaderValue::from_static("chat");
    let hear = |bytes: &str| {
        let (mut read, mut listener) = (BytesMut::from(bytes), Listener::asking(Some(asked.clone())));
        let heard = listener.next(&mut read, &Method::GET, MAX_BYTES).map_err(|(reason, _)| reason);
        (heard, read)
    };
    let (heard, rest) = hear(
        "HTTP/1.1 101 x\r\nUpgrade: Chat/1\r\nConnection: upgrade, x-a\r\nX-A: b\r\nX-B: c\r\nContent-Length: 3\r\n\r\nrest",
    );
    let Ok(Some(Heard::Switched(protocol, fields))) = heard else { panic!("{heard:?}") };
    assert_eq!(
        (protocol.to_str().unwrap(), fields.len(), &fields["x-b"]),
        ("Chat/1", 1, &"c".parse().unwrap())
    );
    assert_eq!(rest, "rest", "whatever it is, it is not HTTP");
    for bad in ["", "Upgrade: other\r\n", "Upgrade: chat\r\nUpgrade: chat\r\n"] {
        let (heard, _) = hear(&format!("HTTP/1.1 101 x\r\n{bad}\r\n"));
        assert!(matches!(heard, Err(Upstream::BadHead)), "{bad:?}: {heard:?}");
    }
    let (heard, _) = hear("HTTP/1.1 200 OK\r\nUpgrade: chat\r\n\r\n");
    assert!(matches!(heard, Ok(Some(Heard::Head(head))) if head.status == 200));
}

#[test]
fn interim_heads_come_first_and_one_by_one() {
    let bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\
                 Connection: x-a\r\nX-A: b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nrest";
    let (mut read, mut listener) = (BytesMut::from(bytes), Listener::default());
    let mut next = || listener.next(&mut read, &Method::GET, MAX_BYTES).unwrap();
    assert!(matches!(next(), Some(Heard::Interim(status, fields)) if status == 100 && fields.is_empty()));
    let Some(Heard::Interim(status, fields)) = next() else { panic!("no second interim answer") };
    assert_eq!((status.as_u16(), fields.len(), &fields["link"]), (103, 1, &"</a>".parse().unwrap()));
    assert!(matches!(next(), Some(Heard::Head(head)) if head.status == 204));
    assert_eq!(read, "rest");
}

#[test]
fn the_last_piece_is_known_to_be_the_last() {
    for (framing, bytes, pieces, rest) in [
        (Framing::None, "next", &[][..], "next"),
        (Framing::Sized(0), "next", &[], "next"),
        (Framing::Sized(2), "oknext", &["ok"], "next"),
        (Framing::Chunked, "2\r\nok\r\n0\r\n\r\nnext", &["ok"], "next"),
        (Framing::Chunked, "2 \r\nok\r\n1;x\r\n!\r\n0\r\nA: b\r\n\r\n", &["ok", "!"], ""),
        (Framing::Chunked, "0\r\n\r\n", &[], ""),
    ] {
        let (mut read, mut decoder) = (BytesMut::from(bytes), Decoder::new(framing));
        for (at, piece) in pieces.iter().enumerate() {
            assert_eq!(decoder.next(&mut read).unwrap().unwrap(), piece, "{bytes:?}");
            assert_eq!(decoder.is_done(), at + 1 == pieces.len(), "{bytes:?}");
        }
        assert_eq!(decoder.next(&mut read), Ok(None), "{bytes:?}");
        assert!(decoder.is_done() && read == rest, "{bytes:?}");
    }
    for (framing, whole) in
        [(Framing::UntilClose, true), (Framing::Sized(9), false), (Framing::Chunked, false)]
    {
        assert_eq!(Decoder::new(framing).at_close().is_ok(), whole);
    }
}

proptest! {
    #[test]
    fn any_split_is_heard_alike(
        fields in prop::collection::vec("[a-z]{1,9}: [ -~]{0,20}\r?\n", 0..9),
        splits in prop::collection::vec(1usize..9, 1..40),
    ) {
        let bytes = ["\r\nHTTP/1.1 200 OK\r\n", &fields.concat(), "\r\nrest"].concat();
        let mut whole = BytesMut::from(bytes.as_str());
        let at_once = Listener::default().next(&mut whole, &Method::GET, MAX_BYTES);
        prop_assume!(at_once.is_ok());
        let (mut read, mut listener, mut given) = (BytesMut::new(), Listener::default(), 0);
        let mut heard = None;
        for size in splits.iter().cycle() {
            let piece = &bytes.as_bytes()[given..(given + size).min(bytes.len())];
            given += piece.len();
            read.extend_from_slice(piece);
            heard = listener.next(&mut read, &Method::GET, MAX_BYTES).unwrap();
            if heard.is_some() { break; }
            prop_assert!(given < bytes.len());
        }
        read.extend_from_slice(&bytes.as_bytes()[given..]);
        prop_assert_eq!(read, whole);
        prop_assert_eq!(format!("{heard:?}"), format!("{:?}", at_once.unwrap()));
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = heard(&bytes, &Method::GET);
        let _ = heard(&[b"HTTP/1.1 200 OK\r\n", bytes.as_slice(), b"\r\n\r\n"].concat(), &Method::GET);
    }
}
