//! How far a request goes, and which responses answer it: Max-Forwards, TRACE, OPTIONS of a server, a 304 that nobody
//! asked for.

use samovar_tests::origin::Origin;
use samovar_tests::server::Server;

#[test]
fn options_is_counted_down_and_ends_at_zero() {
    let origin = Origin::counting(&[("Allow", "GET")]);
    let server = Server::before(&origin.url, &[]);
    for (sent, on) in [(None, None), (Some("7"), Some("6")), (Some("1"), Some("0"))] {
        let before = origin.count();
        let fields: Vec<_> = sent.map(|value| ("Max-Forwards", value)).into_iter().collect();
        let answer = server.connect().request("OPTIONS", "/x", &fields, b"");
        assert_eq!((answer.status, answer.field("allow")), (200, Some("GET")), "{sent:?}");
        let asked = origin.asked().pop().unwrap();
        assert_eq!((origin.count() - before, asked.field("max-forwards")), (1, on), "{sent:?}");
    }
    for sent in ["0", "00", "x", ""] {
        let before = origin.count();
        let answer = server.connect().request("OPTIONS", "/x", &[("Max-Forwards", sent)], b"");
        assert_eq!((answer.status, &*answer.reason()), (204, "max-forwards"), "{sent:?}");
        assert!(answer.field("allow").unwrap().contains("OPTIONS"));
        assert_eq!(origin.count(), before, "{sent:?} went on");
    }
    // To other methods it says nothing (RFC 9110 §7.6.2).
    let answer = server.get("/x", &[("Max-Forwards", "0")]);
    assert_eq!(answer.status, 200);
    assert_eq!(origin.asked().pop().unwrap().field("max-forwards"), Some("0"));
}

#[test]
fn trace_goes_no_further() {
    let origin = Origin::counting(&[]);
    let server = Server::before(&origin.url, &[]);
    for fields in [&[][..], &[("Max-Forwards", "0")], &[("Max-Forwards", "9")], &[("Cookie", "a=secret")]] {
        let answer = server.connect().request("TRACE", "/x", fields, b"");
        assert_eq!((answer.status, &*answer.reason()), (405, "trace-method"), "{fields:?}");
        assert!(answer.field("allow").is_some_and(|methods| !methods.contains("TRACE")));
        assert!(!answer.text().contains("secret"));
    }
    assert_eq!(origin.count(), 0);
    let foretold = server.tell(&["explain", &server.url("/x"), "--method", "TRACE"]);
    assert!(foretold.contains("trace-method"), "{foretold}");
}

/// RFC 9112 §3.2.4: the absolute form of `*` has neither path nor query.
#[test]
fn options_of_an_absolute_form_without_a_path_is_about_the_server() {
    let origin = Origin::counting(&[]);
    let server = Server::before(&origin.url, &[]);
    for (target, of_the_server) in
        [("*", true), ("http://localhost", true), ("http://localhost/", false), ("http://localhost?q", false)]
    {
        let before = origin.count();
        let mut client = server.connect();
        client.send(format!("OPTIONS {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let answer = client.answer("OPTIONS");
        let expected = if of_the_server { (204, 0) } else { (200, 1) };
        assert_eq!((answer.status, origin.count() - before), expected, "{target}");
    }
}

/// RFC 9110 §15.4.5: a 304 answers a GET or HEAD with a condition, and nothing else.
#[test]
fn a_304_that_nobody_asked_for_is_a_bad_gateway_whatever_the_method() {
    let origin = Origin::new(|_| (304, vec![("ETag".into(), "\"a\"".into())], Vec::new()));
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n[[site.rule]]\npath = \"/never/**\"\n\
         never = true\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    for path in ["/x", "/never/x"] {
        for method in ["GET", "HEAD", "POST", "OPTIONS", "DELETE"] {
            let answer = server.connect().request(method, path, &[], b"");
            assert_eq!((answer.status, &*answer.reason()), (502, "upstream-bad-head"), "{method} {path}");
        }
        for (name, value) in
            [("If-None-Match", "\"a\""), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")]
        {
            let head = server.connect().request("HEAD", path, &[(name, value)], b"");
            assert_eq!(head.status, 304, "HEAD {path} with {name}");
        }
    }
    let get = server.get("/never/x", &[("If-None-Match", "\"a\"")]);
    assert_eq!(get.status, 304);
    // A condition that asks for no 304.
    let range = server.get("/never/x", &[("Range", "bytes=0-1"), ("If-Range", "\"a\"")]);
    assert_eq!(range.status, 502);
}
