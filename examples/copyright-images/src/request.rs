//! The head of a request: just enough of RFC 9112 to serve behind a proxy or bare.
//!
//! Pure. Not here: sockets (`serve`), answers (`reply`).

use crate::language::Language;

/// Longest head accepted.
pub(crate) const HEAD_MAX_BYTES: usize = 16 * 1024;
const FIELDS_MAX: usize = 100;

/// What the application needs of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) language: Language,
    /// True if the client wants to send more requests on this connection.
    pub(crate) keep_alive: bool,
    /// Announced body to be read and dropped.
    pub(crate) body_bytes: u64,
}

/// What a buffer holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// A request and the length of its head.
    Whole(Request, usize),
    /// More bytes are needed.
    Part,
    /// Not to be served: status and explanation.
    Bad(u16, &'static str),
}

/// Reads the head at the start of `bytes`.
pub(crate) fn read_head(bytes: &[u8]) -> Head {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => whole(&parsed, length),
        Ok(httparse::Status::Partial) if bytes.len() > HEAD_MAX_BYTES => {
            Head::Bad(431, "the request head is too long")
        }
        Ok(httparse::Status::Partial) => Head::Part,
        Err(httparse::Error::TooManyHeaders) => Head::Bad(431, "the request has too many fields"),
        Err(_) => Head::Bad(400, "the request head is malformed"),
    }
}

fn whole(parsed: &httparse::Request<'_, '_>, length: usize) -> Head {
    let fields = || parsed.headers.iter();
    let all = |name: &'static str| fields().filter(move |f| f.name.eq_ignore_ascii_case(name));
    if all("transfer-encoding").next().is_some() {
        return Head::Bad(411, "a body needs a Content-Length here");
    }
    let mut body_bytes = 0;
    for (n, field) in all("content-length").enumerate() {
        let digits = std::str::from_utf8(field.value).ok().filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
        match digits.and_then(|t| t.parse::<u64>().ok()) {
            Some(bytes) if n == 0 => body_bytes = bytes,
            // Two lengths leave it open where the next request begins (RFC 9112 §6.3).
            _ => return Head::Bad(400, "the Content-Length is not one number"),
        }
    }
    let joined = |name| all(name).map(|f| String::from_utf8_lossy(f.value)).collect::<Vec<_>>().join(",");
    let connection = joined("connection").to_ascii_lowercase();
    let says = |word: &str| connection.split(',').any(|c| c.trim() == word);
    let keep_alive = if parsed.version == Some(1) { !says("close") } else { says("keep-alive") };
    let target = parsed.path.unwrap_or("/");
    let request = Request {
        method: parsed.method.unwrap_or("").to_string(),
        path: target.split('?').next().unwrap_or("/").to_string(),
        language: Language::of(&joined("accept-language")),
        keep_alive,
        body_bytes,
    };
    Head::Whole(request, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Head {
        read_head(text.as_bytes())
    }

    fn request(text: &str) -> Request {
        match read(text) {
            Head::Whole(request, length) => {
                assert_eq!(length, text.len());
                request
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_plain_request() {
        let r = request("GET /pictures/sea-1.jpg?x=1 HTTP/1.1\r\nHost: a\r\nAccept-Language: es\r\n\r\n");
        assert_eq!((r.method.as_str(), r.path.as_str()), ("GET", "/pictures/sea-1.jpg"));
        assert_eq!(r.language, Language::Spanish);
        assert!(r.keep_alive);
    }

    #[test]
    fn who_keeps_the_connection() {
        let table = [
            ("HTTP/1.1", "", true),
            ("HTTP/1.1", "Connection: close\r\n", false),
            ("HTTP/1.1", "Connection: foo, Close\r\n", false),
            ("HTTP/1.0", "", false),
            ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
        ];
        for (version, field, wanted) in table {
            let r = request(&format!("GET / {version}\r\n{field}\r\n"));
            assert_eq!(r.keep_alive, wanted, "{version} {field:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        let long = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(HEAD_MAX_BYTES));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(FIELDS_MAX + 1));
        let table = [
            ("\x01\x02\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
            (long.as_str(), 431),
            (many.as_str(), 431),
        ];
        for (text, wanted) in table {
            assert!(
                matches!(read(text), Head::Bad(status, _) if status == wanted),
                "{text:.60?}: {:?}",
                read(text)
            );
        }
        assert_eq!(read("GET / HT"), Head::Part);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            read_head(&bytes);
        }

        #[test]
        fn a_split_head_is_never_read_early(cut in 0usize..60) {
            let text = "GET /pictures/ HTTP/1.1\r\nHost: a\r\nAccept-Language: de\r\n\r\n";
            let part = text.as_bytes().get(..cut.min(text.len() - 1)).unwrap_or(&[]);
            prop_assert_eq!(read_head(part), Head::Part);
        }
    }
}
