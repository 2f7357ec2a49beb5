//! The origin of both servers: every kind of answer that can become hot, and some that cannot.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, SystemTime};

/// What can become hot. `/changed` can be changed: a POST to it ends what is stored.
pub const PATHS: &[&str] = &[
    "/text",
    "/plain",
    "/weak",
    "/dated",
    "/vary",
    "/vary-two",
    "/moved",
    "/missing",
    "/gone",
    "/empty",
    "/chunked",
    "/s8191",
    "/s8192",
    "/s8193",
    "/s16384",
    "/s70000",
    "/s300000",
    "/links",
    "/no-vary-etag",
    "/cookie-any/x",
    "/cookie-some/x",
    "/cookie-key/x",
    "/language/x",
    "/reload/x",
    "/query/x?id=1",
    "/query/x",
    "/told/x",
    "/for/x",
    "/dressed/x",
    "/rewritten/text",
    "/rewritten/links",
    "/changed",
    "/text?x=1",
    "/text?",
    "/%74ext",
    "/",
    "/last",
    "/xml",
    "/xml-weak",
    "/noise",
];

/// What is compressed.
pub const CODED: &[&str] = &["/xml", "/xml-weak"];

/// What is asked of it before anything is compared; every other Accept-Encoding leads to one of these forms, or to none.
pub const CODINGS: &[&str] = &["gzip", "br;q=1.0, gzip", "zstd"];

/// Starts it: its URL, and the `Date` of all its answers.
pub fn start() -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // A little ago, so that it is never taken for the date of a page of our own.
    let date = httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(5));
    let said = date.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let date = said.clone();
            std::thread::spawn(move || serve(stream, &date));
        }
    });
    (url, date)
}

struct Asked {
    method: String,
    target: String,
    fields: Vec<(String, String)>,
}

impl Asked {
    fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v)
    }
}

/// Answers until the connection ends, or a body comes that it cannot follow.
fn serve(stream: TcpStream, date: &str) -> Option<()> {
    let mut to = stream.try_clone().ok()?;
    let mut from = BufReader::new(stream);
    loop {
        let asked = head(&mut from)?;
        body(&mut from, &asked)?;
        to.write_all(&answer(&asked, date)).ok()?;
    }
}

fn line(from: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let n = from.read_until(b'\n', &mut line).ok()?;
    (n > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_string())
}

fn head(from: &mut impl BufRead) -> Option<Asked> {
    let first = line(from)?;
    let mut words = first.split(' ').map(str::to_string);
    let (method, target) = (words.next()?, words.next()?);
    let mut fields = Vec::new();
    loop {
        let line = line(from)?;
        let Some((name, value)) = line.split_once(':') else { return Some(Asked { method, target, fields }) };
        fields.push((name.to_ascii_lowercase(), value.trim().to_string()));
    }
}

fn body(from: &mut impl BufRead, asked: &Asked) -> Option<()> {
    if asked.field("transfer-encoding").is_empty() {
        let length = asked.field("content-length").parse().unwrap_or(0);
        return (std::io::copy(&mut from.take(length), &mut std::io::sink()).ok()? == length).then_some(());
    }
    loop {
        let size = u64::from_str_radix(line(from)?.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            while !line(from)?.is_empty() {}
            return Some(());
        }
        std::io::copy(&mut from.take(size + 2), &mut std::io::sink()).ok()?;
    }
}

const MODIFIED: &str = "Fri, 20 Nov 2020 12:00:00 GMT";

fn answer(asked: &Asked, date: &str) -> Vec<u8> {
    let path = asked.target.split('?').next().unwrap_or("");
    let stored = "Cache-Control: max-age=30000000\r\n";
    let tag = format!("{stored}ETag: \"x\"\r\n");
    let both = format!("{tag}Last-Modified: {MODIFIED}\r\n");
    let text = |text: &str| format!("this is {path} {text}").into_bytes();
    let unsafe_method = !matches!(asked.method.as_str(), "GET" | "HEAD");
    let (status, fields, body) = match path {
        // An unsafe method that succeeds ends what is stored; only here, so that the rest stays hot.
        "/changed" if unsafe_method => (200, String::new(), text("changed")),
        _ if unsafe_method => (405, String::new(), text("not allowed")),
        "/" | "/last" | "/text" | "/%74ext" | "/changed" => (200, both, text(&asked.target)),
        "/plain" => (200, format!("{stored}Age: 100\r\n"), text("")),
        "/weak" => (200, format!("{stored}ETag: W/\"x\"\r\nAge: 4000\r\n"), text("")),
        "/dated" => (200, format!("{stored}Last-Modified: {MODIFIED}\r\n"), text("")),
        "/vary" => (200, format!("{both}Vary: Accept-Language\r\n"), text(asked.field("accept-language"))),
        "/vary-two" => {
            let of = format!("{} {}", asked.field("accept-language"), asked.field("accept-encoding"));
            (200, format!("{tag}Vary: Accept-Language\r\nVary: accept-encoding\r\n"), text(&of))
        }
        "/moved" => (301, format!("{tag}Location: /text\r\n"), text("")),
        "/missing" => (404, both, text("")),
        "/gone" => (410, stored.to_string(), vec![]),
        "/empty" => (200, both, vec![]),
        "/links" => {
            let more = "Link: </a>; rel=a\r\nLink: </b>; rel=b\r\nKeep-Alive: timeout=5\r\nCache-Status: Edge; hit\r\n";
            (200, format!("{both}{more}"), text(""))
        }
        "/for/x" => (200, "Cache-Control: max-age=0\r\n".to_string(), text("")),
        "/xml" => (
            200,
            format!("{both}Content-Type: text/xml\r\nAccept-Ranges: bytes\r\n"),
            text("<a>").repeat(300),
        ),
        "/xml-weak" => {
            let fields = format!("{stored}ETag: W/\"x\"\r\nContent-Type: text/xml\r\n");
            (200, fields, text("<b>").repeat(200))
        }
        // Of a type that is compressed, and does not become smaller.
        "/noise" => (200, format!("{both}Content-Type: text/plain\r\n"), noise(3_000)),
        "/chunked" => return chunked(asked, &both, date),
        _ if path.starts_with("/s") => {
            (200, both, numbered(path.trim_start_matches("/s").parse().unwrap_or(0)))
        }
        _ if PATHS.iter().any(|p| p.split('?').next() == Some(path)) => (200, both, text(&of_fields(asked))),
        _ => (404, "Cache-Control: no-store\r\n".to_string(), text("unknown")),
    };
    if asked.field("if-none-match").contains("\"x\"")
        && fields.contains("ETag")
        && status == 200
        && !unsafe_method
    {
        return format!("HTTP/1.1 304 X\r\nDate: {date}\r\nX-From: origin\r\n{fields}\r\n").into_bytes();
    }
    let length = body.len();
    let mut all = format!(
        "HTTP/1.1 {status} X\r\nDate: {date}\r\nX-From: origin\r\n{fields}Content-Length: {length}\r\n\r\n"
    )
    .into_bytes();
    if asked.method != "HEAD" {
        all.extend(body);
    }
    all
}

/// What an answer of a rule may depend on.
fn of_fields(asked: &Asked) -> String {
    format!("{} {} {}", asked.target, asked.field("cookie"), asked.field("accept-language"))
}

fn chunked(asked: &Asked, fields: &str, date: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 X\r\nDate: {date}\r\nX-From: origin\r\n{fields}Transfer-Encoding: chunked\r\n\r\n"
    );
    let mut all = head.into_bytes();
    if asked.method != "HEAD" {
        for chunk in numbered(20_000).chunks(7_000) {
            all.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            all.extend(chunk);
            all.extend(b"\r\n");
        }
        all.extend(b"0\r\n\r\n");
    }
    all
}

/// So many bytes, of which one can tell what stands where.
fn numbered(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at % 251) as u8 ^ (at >> 8) as u8).collect()
}

/// So many bytes that no coding makes fewer.
fn noise(size: usize) -> Vec<u8> {
    let mut n = 88_172_645_463_325_252_u64;
    let next = || {
        n ^= n << 13;
        n ^= n >> 7;
        n ^= n << 17;
        (n >> 32) as u8
    };
    std::iter::repeat_with(next).take(size).collect()
}
