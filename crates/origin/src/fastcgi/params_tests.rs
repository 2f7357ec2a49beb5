//! Variables, read back by a decoder of the test's own.

use super::*;
use http::header::HeaderValue;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// §3.4, the other way round.
fn read(mut rest: &[u8]) -> Vec<(String, Vec<u8>)> {
    fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> &'a [u8] {
        let (taken, after) = rest.split_at(bytes);
        *rest = after;
        taken
    }
    fn length(rest: &mut &[u8]) -> usize {
        match take(rest, 1)[0] {
            short @ 0..128 => usize::from(short),
            long => {
                take(rest, 3).iter().fold(usize::from(long & 0x7f), |sum, byte| sum << 8 | usize::from(*byte))
            }
        }
    }
    let mut pairs = Vec::new();
    while !rest.is_empty() {
        let (name, value) = (length(&mut rest), length(&mut rest));
        let name = String::from_utf8(take(&mut rest, name).to_vec()).unwrap();
        pairs.push((name, take(&mut rest, value).to_vec()));
    }
    pairs
}

fn client() -> Client {
    Client {
        remote: Some("192.0.2.7:4711".parse().unwrap()),
        local: Some("[::ffff:10.0.0.1]:8080".parse().unwrap()),
        scheme: "https",
        version: "HTTP/1.1",
    }
}

fn script() -> Script {
    Script {
        script_filename: PathBuf::from("/srv/app/sub/x.php"),
        script_name: "/sub/x.php".to_owned(),
        path_info: Some("/ex tra".to_owned()),
        document_root: PathBuf::from("/srv/app"),
        params: Arc::default(),
    }
}

fn told(script: &Script, headers: &HeaderMap, client: &Client, host: &str) -> BTreeMap<String, String> {
    let bytes = pairs(&Told {
        script,
        method: &Method::POST,
        path: "/sub/x.php/ex%20tra",
        query: Some("a=1&b"),
        host,
        headers,
        client,
        body_bytes: Some(12),
    });
    let pairs = read(&bytes);
    let count = pairs.len();
    let map: BTreeMap<_, _> =
        pairs.into_iter().map(|(n, v)| (n, String::from_utf8_lossy(&v).into_owned())).collect();
    assert_eq!(map.len(), count, "a variable was told twice");
    map
}

#[test]
fn a_request_is_told_in_full() {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "text/plain"),
        ("accept-language", "de"),
        ("cookie", "a=1"),
        ("cookie", "b=2"),
        ("x-list", "1"),
        ("x-list", "2"),
        ("authorization", "Basic x"),
        // Left out: one would become HTTP_PROXY, two could pass for other fields.
        ("proxy", "http://evil/"),
        ("x_list", "3"),
        ("x.list", "4"),
        ("content-length", "99"),
        ("host", "evil.example"),
    ] {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let map = told(&script(), &headers, &client(), "site.example:8443");
    let expected = [
        ("CONTENT_LENGTH", "12"),
        ("CONTENT_TYPE", "text/plain"),
        ("DOCUMENT_ROOT", "/srv/app"),
        ("DOCUMENT_URI", "/sub/x.php/ex tra"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("HTTPS", "on"),
        ("HTTP_ACCEPT_LANGUAGE", "de"),
        ("HTTP_AUTHORIZATION", "Basic x"),
        ("HTTP_COOKIE", "a=1; b=2"),
        ("HTTP_HOST", "site.example:8443"),
        ("HTTP_X_LIST", "1, 2"),
        ("PATH_INFO", "/ex tra"),
        ("QUERY_STRING", "a=1&b"),
        ("REDIRECT_STATUS", "200"),
        ("REMOTE_ADDR", "192.0.2.7"),
        ("REMOTE_PORT", "4711"),
        ("REQUEST_METHOD", "POST"),
        ("REQUEST_SCHEME", "https"),
        ("REQUEST_URI", "/sub/x.php/ex%20tra?a=1&b"),
        ("SCRIPT_FILENAME", "/srv/app/sub/x.php"),
        ("SCRIPT_NAME", "/sub/x.php"),
        ("SERVER_ADDR", "10.0.0.1"),
        ("SERVER_NAME", "site.example"),
        ("SERVER_PORT", "8443"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("SERVER_SOFTWARE", concat!("samovar/", env!("CARGO_PKG_VERSION"))),
    ];
    let seen: Vec<_> = map.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(seen, expected);
}

#[test]
fn the_scripts_own_have_the_last_word() {
    let params = [("DOCUMENT_ROOT", "/chroot"), ("APP_ENV", "test")];
    let params = params.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let map = told(&Script { params, ..script() }, &HeaderMap::new(), &client(), "site.example");
    assert_eq!((map["DOCUMENT_ROOT"].as_str(), map["APP_ENV"].as_str()), ("/chroot", "test"));
}

#[test]
fn ends_of_every_kind() {
    let unix = Client { remote: None, local: None, scheme: "http", ..client() };
    let map = told(&script(), &HeaderMap::new(), &unix, "[2001:db8::1]");
    assert_eq!((map["REMOTE_ADDR"].as_str(), map["SERVER_PORT"].as_str()), ("unix:", "80"));
    assert_eq!(map["SERVER_NAME"], "[2001:db8::1]");
    assert!(
        !map.contains_key("HTTPS") && !map.contains_key("SERVER_ADDR") && !map.contains_key("REMOTE_PORT")
    );
    let map = told(&script(), &HeaderMap::new(), &unix, "[2001:db8::1]:8080");
    assert_eq!((map["SERVER_NAME"].as_str(), map["SERVER_PORT"].as_str()), ("[2001:db8::1]", "8080"));
}

proptest! {
    #[test]
    fn no_value_becomes_another_variable(
        values in prop::collection::vec("[ -~\\t]{0,300}", 1..6),
        query in "[!-~]{0,300}",
    ) {
        let mut headers = HeaderMap::new();
        for (number, value) in values.iter().enumerate() {
            let name = HeaderName::try_from(format!("x-{number}")).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let script = Script { path_info: None, ..script() };
        let client = client();
        let bytes = pairs(&Told {
            script: &script, method: &Method::GET, path: "/x", query: Some(&query),
            host: "a", headers: &headers, client: &client, body_bytes: None,
        });
        let told = read(&bytes);
        let with_prefix = told.iter().filter(|(name, _)| name.starts_with("HTTP_X_")).count();
        prop_assert_eq!(with_prefix, values.len());
        for (number, value) in values.iter().enumerate() {
            let name = format!("HTTP_X_{number}");
            prop_assert!(told.contains(&(name, value.as_bytes().to_vec())));
        }
        prop_assert!(told.contains(&("QUERY_STRING".to_owned(), query.as_bytes().to_vec())));
        prop_assert!(!told.iter().any(|(name, _)| name == "CONTENT_LENGTH" || name == "PATH_INFO"));
    }

    #[test]
    fn lengths_take_one_byte_or_four(length in prop_oneof![0_usize..300, 65_000_usize..70_000]) {
        let mut out = BytesMut::new();
        let value = "v".repeat(length);
        pair(&mut out, b"NAME", value.as_bytes());
        prop_assert_eq!(out.len(), 1 + if length < 128 { 1 } else { 4 } + 4 + length);
        prop_assert_eq!(read(&out), vec![("NAME".to_owned(), value.into_bytes())]);
    }
}
