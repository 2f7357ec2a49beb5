//! Requests as clients, proxies and attackers send them: most are plain enough to be answered hot, the rest is near to it.
//!
//! Not here: how the stream is cut.

use crate::rig::{CODED, CODINGS, PATHS};

/// A small generator, so that a failing case can be run again.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % below.max(1)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.roll(all.len())]
    }
}

/// The requests of one connection.
pub fn some(dice: &mut Dice) -> Vec<Vec<u8>> {
    let odd = dice.roll(4);
    (0..1 + dice.roll(8)).map(|_| request(dice, odd)).collect()
}

const ODD_METHODS: &[&str] = &[
    "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PURGE", "get", "GETT", "CONNECT", "G@T", "", "PRI", "PATCH",
];
const ODD_TARGETS: &[&str] = &[
    "/unknown",
    "/te%78t",
    "/text%00",
    "/text%",
    "/text%zz",
    "//text",
    "/./text",
    "/a/../text",
    "/../text",
    "/TEXT",
    "/text#f",
    "*",
    "",
    "text",
    "/t\u{e9}xt",
    "http://test/text",
    "http://other/text",
    "HTTP://TEST/text",
    "http://test",
    "https://test/text",
    "/text?x=2",
    "/text?x=1&",
    "/query/x?id=1&b=2",
    "/query/x?b=2&id=1",
    "/text;a",
    "/text/",
    "/text\\",
    "http://test:80/text",
    "http://u@test/text",
    "/%2e%2e/text",
    "/text?%",
    "/s300000?a",
    "/%2Ftext",
    "/text|",
];
const ODD_VERSIONS: &[&str] = &[
    "HTTP/1.0",
    "HTTP/1.0",
    "HTTP/1.0",
    "HTTP/1.2",
    "HTTP/2.0",
    "HTTP/0.9",
    "http/1.1",
    "HTTP/1.1 ",
    "",
    "HTTP/1.01",
];
const ODD_HOSTS: &[&str] = &[
    "Host: TEST",
    "Host: test:80",
    "Host: test:",
    "Host: test.",
    "Host: other",
    "Host:",
    "Host: test\r\nHost: test",
    "X: y",
    "Host:test",
    "Host: \t test \t",
    "host: test",
    "Host: te st",
    "Host: test:8080",
    "Host: [::1]",
    "Host: a@test",
    "Host : test",
    "Host: test, test",
];
/// These leave a request hot, or should.
const PLAIN: &[&str] = &[
    "Accept: */*",
    "User-Agent: a b",
    "Accept-Language: de",
    "Accept-Language: en",
    "Accept-Encoding: gzip",
    "Connection: keep-alive",
    "Referer: http://x/",
    "Cookie: a=1",
    "Cookie: b=2",
    "X-Y: z",
    "DNT: 1",
    "TE: trailers",
    "Accept-Encoding: br;q=1.0, gzip",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Accept-Encoding: zstd",
    "Content-Length: 0",
    "Keep-Alive: timeout=5",
    "Cache-Control:",
    "X-Forwarded-For: 1.2.3.4",
    "X-Forwarded-Proto: https",
    "Forwarded: for=x",
    "Accept: text/html",
];
const ODD: &[&str] = &[
    "If-None-Match: \"x\"",
    "If-None-Match: \"y\"",
    "If-None-Match: W/\"x\"",
    "If-None-Match: *",
    "If-None-Match: \"y\", \"x\"",
    "If-None-Match: \"y\", W/\"x\"",
    "If-None-Match: x",
    "If-None-Match: \"x",
    "If-None-Match: \"y\"\r\nIf-None-Match: \"x\"",
    "If-None-Match:",
    "If-None-Match: \"x\" ,, \"z\"",
    "If-None-Match: \"a,\"x\"",
    "If-None-Match: w/\"x\"",
    "If-None-Match: \"x\",",
    "If-None-Match: *, \"x\"",
    "If-None-Match: W/\"x--gzip\"",
    "If-None-Match: W/\"x--br\"",
    "If-None-Match: \"x\", W/\"x--br\"",
    "If-None-Match: W/\"x--gzip\", \"x\"",
    "If-None-Match: \"x--gzip\"",
    "If-None-Match: W/\"y--gzip\"",
    "If-Match: W/\"x--gzip\"",
    "Range: bytes=0-1\r\nIf-Range: W/\"x--gzip\"",
    "If-Modified-Since: Fri, 20 Nov 2020 12:00:00 GMT",
    "If-Modified-Since: Fri, 20 Nov 2020 11:59:59 GMT",
    "If-Modified-Since: Fri, 20 Nov 2020 12:00:01 GMT",
    "If-Modified-Since: Friday, 20-Nov-20 12:00:00 GMT",
    "If-Modified-Since: Fri Nov 20 12:00:00 2020",
    "If-Modified-Since: yesterday",
    "If-Modified-Since:",
    "If-Modified-Since: Fri, 20 Nov 2099 12:00:00 GMT",
    "If-Modified-Since: 0",
    "If-Modified-Since: Fri, 20 Nov 2020 12:00:00 GMT\r\nIf-Modified-Since: Fri, 20 Nov 2020 12:00:00 GMT",
    "If-None-Match: \"y\"\r\nIf-Modified-Since: Fri, 20 Nov 2020 12:00:00 GMT",
    "If-None-Match: \"x\"\r\nIf-Modified-Since: Fri, 20 Nov 2019 12:00:00 GMT",
    "If-Match: \"x\"",
    "If-Match: \"y\"",
    "If-Match: *",
    "If-Unmodified-Since: Fri, 20 Nov 2020 12:00:00 GMT",
    "If-Unmodified-Since: Fri, 20 Nov 2019 12:00:00 GMT",
    "Range: bytes=0-1",
    "Range: bytes=2-",
    "Range: bytes=-3",
    "Range: bytes=0-0",
    "Range: bytes=0-99999999",
    "Range: bytes=99999999-",
    "Range: bytes=-0",
    "Range: bytes=3-2",
    "Range: bytes=0-1,3-4",
    "Range: bytes=0-1, 0-1",
    "Range: bytes=a-b",
    "Range: lines=0-1",
    "Range: bytes",
    "Range:",
    "Range: bytes = 0-1",
    "Range: Bytes=0-1",
    "Range: bytes=0-1\r\nRange: bytes=2-3",
    "Range: bytes= 0-1",
    "Range: bytes=8190-8193",
    "Range: bytes=-99999999",
    "Range: bytes=0-18446744073709551616",
    "Range: bytes=+1-2",
    "Range: bytes=0-1\r\nIf-Range: \"x\"",
    "Range: bytes=0-1\r\nIf-Range: \"y\"",
    "Range: bytes=0-1\r\nIf-Range: W/\"x\"",
    "Range: bytes=0-1\r\nIf-Range: Fri, 20 Nov 2020 12:00:00 GMT",
    "Range: bytes=0-1\r\nIf-None-Match: \"x\"",
    "Range: bytes=0-1\r\nIf-Range: Fri, 20 Nov 2019 12:00:00 GMT",
    "If-Range: \"x\"",
    "Range: bytes=0-1\r\nIf-Modified-Since: Fri, 20 Nov 2020 12:00:00 GMT",
    "Range: bytes=0-1\r\nIf-Match: \"y\"",
    "Connection: close",
    "Connection: Close",
    "Connection: keep-alive, close",
    "Connection: accept-language",
    "Connection: cookie",
    "Connection: if-none-match",
    "Connection: range",
    "Connection: keep-alive, Upgrade",
    "Connection:",
    "Connection: close\r\nConnection: keep-alive",
    "Proxy-Connection: close",
    "Upgrade: websocket",
    "Upgrade: h2c",
    "Expect: 100-continue",
    "Expect: x",
    "Expect:",
    "Authorization: Basic eDp5",
    "Proxy-Authorization: Basic eDp5",
    "Cookie: c=3",
    "Cookie: a=1; c=3",
    "Cookie: a=1; b=2",
    "Cookie: a=1\r\nCookie: b=2",
    "Cookie:",
    "Cookie: =",
    "Cookie: a",
    "Cookie: a=\u{e9}",
    "Cache-Control: no-cache",
    "Cache-Control: max-age=0",
    "Cache-Control: no-store",
    "Cache-Control: only-if-cached",
    "Cache-Control: max-age=5",
    "Cache-Control: max-stale",
    "Cache-Control: x",
    "Cache-Control: NO-CACHE",
    "Pragma: no-cache",
    "Pragma: x",
    "Cache-Control: no-cache\r\nPragma: no-cache",
    "Cache-Control: max-age=0, no-cache",
    "Cache-Control: min-fresh=99999999",
    "Cache-Control: no-transform",
    "Accept-Language: de\r\nAccept-Language: en",
    "Accept-Language:",
    "Accept-Language: de, en;q=0.5",
    "Accept-Language: \u{e9}",
    "Accept-Encoding: gzip, identity",
    "Accept-Encoding: gzip;q=0",
    "Accept-Encoding: identity;q=0, gzip",
    "Accept-Encoding: *",
    "Accept-Encoding: *;q=0",
    "Accept-Encoding:",
    "Accept-Encoding: gzip\r\nAccept-Encoding: br",
    "Accept-Encoding: identity, gzip;q=0.5",
    "Content-Length: x",
    "Content-Length: 0, 0",
    "Content-Length: +0",
    "Content-Length: 0\r\nContent-Length: 0",
    "Content-Length: -1",
    "Content-Length:",
    "Transfer-Encoding: identity",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding:",
    "X: \u{0}",
    "X\u{0}: y",
    "X: a\rb",
    "X: a\nY: b",
    "X: a\r\n folded",
    " X: y",
    "X : y",
    "no colon",
    ": y",
    "X: \u{7f}",
    "X: \u{80}",
    "X@: y",
    "X: \t y \t",
    "Trailer: x",
    "Range : bytes=0-1",
    "Range: bytes=0-1 ",
    "Via: 1.1 x",
    "Max-Forwards: 0",
    "X-HTTP-Method-Override: POST",
    "X-Original-URL: /plain",
    "X-Forwarded-Host: other",
    "Accept: application/json",
    "Surrogate-Control: max-age=0",
    "X-Host: other",
    "A-IM: feed",
    "If-Match:",
    "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
];
/// A field of a body, and the body.
const BODIES: &[(&str, &str)] = &[
    ("Content-Length: 3", "abc"),
    ("Content-Length: 3", "abcd"),
    ("Content-Length: 03", "abc"),
    ("Transfer-Encoding: chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: Chunked", "3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n"),
    ("Transfer-Encoding: chunked", "3\nabc\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "x\r\n\r\n"),
    ("Content-Length: 3\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"),
    ("Content-Length: 30", "GET /text HTTP/1.1\r\nHost: test\r\n\r\n"),
    ("Content-Length: 3\r\nExpect: 100-continue", "abc"),
];

/// One request; `odd` says how strange it may be, 0 to 3.
fn request(dice: &mut Dice, odd: usize) -> Vec<u8> {
    let strange = |dice: &mut Dice, n: usize| odd > 0 && dice.one_in(n / odd);
    let method = match dice.roll(12) {
        0 => "HEAD",
        1 if odd > 1 && dice.one_in(3) => dice.of(ODD_METHODS),
        _ => "GET",
    };
    let target = if strange(dice, 24) { dice.of(ODD_TARGETS) } else { dice.of(PATHS) };
    let version = if strange(dice, 60) { dice.of(ODD_VERSIONS) } else { "HTTP/1.1" };
    let host = if strange(dice, 60) { dice.of(ODD_HOSTS) } else { "Host: test" };
    let mut fields = vec![host.to_string()];
    if CODED.contains(&target) && !dice.one_in(3) {
        fields.push(format!("Accept-Encoding: {}", dice.of(CODINGS)));
    }
    if dice.one_in(2) {
        fields.extend((0..dice.roll(4)).map(|_| dice.of(PLAIN).to_string()));
    }
    if strange(dice, 5) {
        fields.extend((0..1 + dice.roll(2)).map(|_| dice.of(ODD).to_string()));
    }
    let mut body = "";
    if strange(dice, 60) || (!matches!(method, "GET" | "HEAD") && dice.one_in(2)) {
        let (field, content) = BODIES[dice.roll(BODIES.len())];
        fields.push(field.to_string());
        body = content;
    }
    if strange(dice, 90) {
        fields.push(large(dice));
    }
    for at in (1..fields.len()).rev() {
        fields.swap(at, dice.roll(at + 1));
    }
    if strange(dice, 30) {
        fields.iter_mut().for_each(|field| respell(dice, field));
    }
    let before = if strange(dice, 60) { dice.of(&["\r\n", "\r\n\r\n", "\n", "\r", " "]) } else { "" };
    let space = if strange(dice, 120) { dice.of(&["  ", "\t", ""]) } else { " " };
    let head = format!("{before}{method} {target}{space}{version}\r\n{}\r\n\r\n{body}", fields.join("\r\n"));
    // What was written as a character of Latin-1 is that byte.
    let mut bytes: Vec<u8> = head.chars().map(|c| c as u8).collect();
    if strange(dice, 60) {
        damage(dice, &mut bytes);
    }
    bytes
}

/// More than a head, a line or a count of fields allows, or nearly.
fn large(dice: &mut Dice) -> String {
    match dice.roll(4) {
        0 => "X: y\r\n".repeat(90 + dice.roll(20)) + "X: y",
        1 => "X: y\r\n".repeat(20 + dice.roll(50)) + "X: y",
        2 => format!("X: {}", "y".repeat(60_000 + dice.roll(10_000))),
        _ => format!("X: {}", "y".repeat(1 + dice.roll(20_000))),
    }
}

/// Another spelling of the same field.
fn respell(dice: &mut Dice, field: &mut String) {
    let Some((name, value)) = field.split_once(':') else { return };
    *field = match dice.roll(4) {
        0 => format!("{}:{value}", name.to_ascii_uppercase()),
        1 => format!("{}:{value}", name.to_ascii_lowercase()),
        2 => format!("{name}:{}", value.trim_start()),
        _ => format!("{name}: \t{value} "),
    };
}

fn damage(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let at = dice.roll(bytes.len());
    let byte = b"\r\n\0 \t:;,/%\x7f\xffaA0\""[dice.roll(16)];
    match dice.roll(3) {
        0 => bytes[at] = byte,
        1 => bytes.insert(at, byte),
        _ => drop(bytes.remove(at)),
    }
}
