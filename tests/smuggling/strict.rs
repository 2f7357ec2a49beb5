//! The strictest reading of what left Samovar: what any two origins could read differently is refused.
//!
//! HTTP/1.1 as RFC 9112 would have it written anew, FastCGI as its records have to follow each other. It shares no code
//! with what it judges.

/// What was sent on one HTTP connection: the targets of its requests. The last request may be cut off, for whoever sent it
/// may have left; everything before it has to be whole.
pub fn http(mut bytes: &[u8]) -> Result<Vec<String>, String> {
    let mut targets = Vec::new();
    while !bytes.is_empty() {
        let Some(end) = find(bytes, b"\r\n\r\n") else {
            return head(bytes, false).map(|_| targets);
        };
        let (target, framing) = head(&bytes[..end + 2], true)?;
        targets.push(target);
        let rest = &bytes[end + 4..];
        bytes = match framing {
            Framing::Length(length) if rest.len() <= length => &[],
            Framing::Length(length) => &rest[length..],
            Framing::Chunked => chunks(rest)?,
        };
    }
    Ok(targets)
}

enum Framing {
    Length(usize),
    Chunked,
}

/// A head without its empty line. Cut off, its last line may be anything that could still become one.
fn head(bytes: &[u8], whole: bool) -> Result<(String, Framing), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| format!("no text: {:?}", bytes.escape_ascii()))?;
    let mut lines: Vec<&str> = text.split("\r\n").collect();
    // What follows the last line end: nothing, or what is cut off.
    lines.pop();
    for line in &lines {
        if line.bytes().any(|b| b != b'\t' && !(b' '..=b'~').contains(&b)) {
            return Err(format!("a control character in {line:?}"));
        }
    }
    let Some((first, fields)) = lines.split_first() else { return Ok((String::new(), Framing::Length(0))) };
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else { return Err(format!("the request line {first:?}")) };
    if !is_token(method) || !(target.starts_with('/') || target == "*") || target.contains('#') {
        return Err(format!("the request line {first:?}"));
    }
    let (mut length, mut chunked, mut hosts) = (None, false, 0);
    for line in fields {
        let Some((name, value)) = line.split_once(": ") else { return Err(format!("the field {line:?}")) };
        if !is_token(name) || value.trim() != value || name != name.to_ascii_lowercase() {
            return Err(format!("the field {line:?}"));
        }
        match &*name.replace('_', "-") {
            "content-length" => {
                let number: usize = value.parse().map_err(|_| format!("{line:?}"))?;
                if name.contains('_') || number.to_string() != value || length.replace(number).is_some() {
                    return Err(format!("{line:?}, or a second one"));
                }
            }
            "transfer-encoding" => {
                let again = std::mem::replace(&mut chunked, true);
                if again || name.contains('_') || value != "chunked" {
                    return Err(format!("{line:?}, or a second one"));
                }
            }
            "host" => hosts += 1,
            "connection" if value == "upgrade" => {}
            "connection" | "keep-alive" | "proxy-connection" | "te" | "trailer" | "expect" => {
                return Err(format!("{line:?} is not for the next hop"));
            }
            _ => {}
        }
    }
    if whole && hosts != 1 {
        return Err(format!("{hosts} Host fields"));
    }
    let framing = match (length, chunked) {
        (Some(_), true) => return Err("both Content-Length and Transfer-Encoding".to_owned()),
        (length, false) => Framing::Length(length.unwrap_or(0)),
        (None, true) => Framing::Chunked,
    };
    Ok((target.to_owned(), framing))
}

/// What follows a chunked body.
fn chunks(mut bytes: &[u8]) -> Result<&[u8], String> {
    loop {
        let Some(end) = find(bytes, b"\r\n") else { return Ok(&[]) };
        let size = std::str::from_utf8(&bytes[..end]).unwrap_or("no text");
        let number = usize::from_str_radix(size, 16).ok().filter(|n| format!("{n:x}") == size);
        let Some(number) = number else { return Err(format!("the chunk size {size:?}")) };
        let rest = &bytes[end + 2..];
        let Some(after) = rest.get(number..) else { return Ok(&[]) };
        if !b"\r\n".starts_with(&after[..after.len().min(2)]) {
            return Err(format!(
                "after a chunk: {:?}",
                after[..after.len().min(20)].escape_ascii().to_string()
            ));
        }
        let Some(next) = after.get(2..) else { return Ok(&[]) };
        if number == 0 {
            return Ok(next);
        }
        bytes = next;
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// What was sent on one FastCGI connection: the targets of its requests.
pub fn fastcgi(mut bytes: &[u8]) -> Result<Vec<String>, String> {
    const BEGIN: u8 = 1;
    const ABORT: u8 = 2;
    const PARAMS: u8 = 4;
    const STDIN: u8 = 5;
    let mut targets = Vec::new();
    let (mut stage, mut params, mut content, mut announced) = (BEGIN, Vec::new(), 0usize, 0usize);
    while bytes.len() >= 8 {
        let (version, kind, id) = (bytes[0], bytes[1], u16::from_be_bytes([bytes[2], bytes[3]]));
        let length = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
        if (version, id) != (1, 1) {
            return Err(format!("a record of version {version} and id {id}"));
        }
        let Some(record) = bytes.get(8..8 + length) else { return Ok(targets) };
        match (stage, kind) {
            (BEGIN, BEGIN) if length == 8 => (stage, content) = (PARAMS, 0),
            (PARAMS, PARAMS) if length > 0 => params.extend_from_slice(record),
            (PARAMS, PARAMS) => {
                let pairs = pairs(&std::mem::take(&mut params))?;
                let value = |name: &str| pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
                announced = value("CONTENT_LENGTH")
                    .filter(|v| !v.is_empty())
                    .map_or(Ok(0), |text| text.parse().map_err(|_| format!("CONTENT_LENGTH={text:?}")))?;
                for never in ["HTTP_TRANSFER_ENCODING", "HTTP_PROXY", "HTTP_CONTENT_LENGTH"] {
                    if value(never).is_some() {
                        return Err(format!("{never} is told"));
                    }
                }
                targets.push(value("REQUEST_URI").ok_or("no REQUEST_URI")?);
                stage = STDIN;
            }
            (STDIN, STDIN) if length > 0 => content += length,
            (STDIN, STDIN) => {
                if content != announced {
                    return Err(format!("{content} bytes of content, {announced} announced"));
                }
                stage = BEGIN;
            }
            // Whoever asked has left; nothing may follow.
            (_, ABORT) => return Ok(targets),
            _ => return Err(format!("a record of kind {kind} where {stage} is due")),
        }
        bytes = bytes.get(8 + length + usize::from(bytes[6])..).unwrap_or_default();
    }
    Ok(targets)
}

/// Names and values; no name may come twice.
fn pairs(mut bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let mut all: Vec<(String, String)> = Vec::new();
    let number = |bytes: &mut &[u8]| -> Option<usize> {
        let first = *bytes.first()?;
        let (value, used) = match first {
            0..=127 => (usize::from(first), 1),
            _ => (
                u32::from_be_bytes([first & 0x7f, *bytes.get(1)?, *bytes.get(2)?, *bytes.get(3)?]) as usize,
                4,
            ),
        };
        *bytes = &bytes[used..];
        Some(value)
    };
    while !bytes.is_empty() {
        let (Some(name), Some(value)) = (number(&mut bytes), number(&mut bytes)) else {
            return Err("the parameters are cut off".to_owned());
        };
        let Some(pair) = bytes.get(..name + value) else {
            return Err("the parameters are cut off".to_owned());
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (name, value) = (text(&pair[..name]), text(&pair[name..]));
        bytes = &bytes[pair.len()..];
        if all.iter().any(|(before, _)| *before == name) {
            return Err(format!("{name} is told twice"));
        }
        all.push((name, value));
    }
    Ok(all)
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let one = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
    let post = "POST /b HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc";
    let chunked = "POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let all = format!("{one}{post}{chunked}{one}");
    assert_eq!(http(all.as_bytes()).unwrap(), ["/a", "/b", "/c", "/a"]);
    for end in 0..all.len() {
        assert!(http(&all.as_bytes()[..end]).is_ok(), "cut off at {end}");
    }
    for wrong in [
        "GET /a HTTP/1.1\nhost: x\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\n\r\nX: y\r\n\r\n",
        "GET  /a HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET /a HTTP/1.1\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\n folded\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\na : b\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\na: b\0\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\na: b\rc: d\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\ncontent_length: 3\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\ncontent-length: +3\r\n\r\nabc",
        "GET /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\nabc",
        "GET /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc",
        "GET /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n03\r\nabc\r\n0\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
        "GET /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: y\r\n\r\n",
    ] {
        assert!(http(wrong.as_bytes()).is_err(), "{wrong:?}");
    }
}
