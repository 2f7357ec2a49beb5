//! How origins get from a request's path to a file, as their documents and sources say; written from those alone, and shared
//! with nothing that is judged.
//!
//! Each takes the path that it is sent and gives the path of the file that it would open. What an origin refuses is `None`.

/// An origin's name and its way of reading.
pub type Origin = (&'static str, fn(&str) -> Option<String>);

/// All that are known here.
pub const ORIGINS: [Origin; 18] = [
    ("nginx", nginx),
    ("httpd", httpd),
    ("httpd, AllowEncodedSlashes On", httpd_with_slashes),
    ("Tomcat", tomcat),
    ("Tomcat, encoded slashes and backslashes decoded", tomcat_lenient),
    ("a servlet container that cuts parameters after decoding", params_after_decoding),
    ("IIS", iis),
    ("IIS behind a proxy that decodes", iis_twice),
    ("werkzeug", werkzeug),
    ("Go's FileServer", go),
    ("express", express),
    ("http.server", http_server),
    ("node with path.normalize", node),
    ("node with new URL", new_url),
    ("Python's urlsplit", urlsplit),
    ("Python's urlparse", urlparse),
    ("one that decodes three times", thrice),
    ("one that decodes before it looks for a query", query_after_decoding),
];

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Percent-decoding, once, of all but what `keep` holds.
fn decode(path: &[u8], keep: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < path.len() {
        let pair = path.get(at + 1).zip(path.get(at + 2));
        let byte =
            (path[at] == b'%').then(|| pair.and_then(|(h, l)| Some(hex(*h)? * 16 + hex(*l)?))).flatten();
        match byte.filter(|byte| !keep.contains(byte)) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(path[at]);
                at += 1;
            }
        }
    }
    out
}

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Dots settled, empty segments left out; `climbs` says what becomes of `..` above the root.
fn settle(path: &str, climbs: bool) -> Option<String> {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                if kept.pop().is_none() && !climbs {
                    return None;
                }
            }
            name => kept.push(name),
        }
    }
    Some(format!("/{}", kept.join("/")))
}

fn without_params(path: &str) -> String {
    path.split('/').map(|segment| segment.split(';').next().unwrap()).collect::<Vec<_>>().join("/")
}

/// `ngx_http_parse_complex_uri`: decodes once, merges slashes, settles dots, refuses to climb.
fn nginx(path: &str) -> Option<String> {
    settle(&text(decode(path.as_bytes(), b""))?, false)
}

/// `ap_unescape_url` refuses an encoded slash by default.
fn httpd(path: &str) -> Option<String> {
    (!path.to_ascii_uppercase().contains("%2F")).then(|| nginx(path)).flatten()
}

fn httpd_with_slashes(path: &str) -> Option<String> {
    nginx(path)
}

/// `CoyoteAdapter`: parameters first, then decoding, then `normalize`.
fn tomcat(path: &str) -> Option<String> {
    let plain = without_params(path);
    let upper = plain.to_ascii_uppercase();
    if upper.contains("%2F") || upper.contains("%5C") || plain.contains('\\') {
        return None;
    }
    settle(&text(decode(plain.as_bytes(), b""))?, false)
}

fn tomcat_lenient(path: &str) -> Option<String> {
    let decoded = text(decode(without_params(path).as_bytes(), b""))?;
    settle(&decoded.replace('\\', "/"), false)
}

fn params_after_decoding(path: &str) -> Option<String> {
    settle(&without_params(&text(decode(path.as_bytes(), b""))?), true)
}

fn windows(path: &str) -> Option<String> {
    let names = path.replace('\\', "/");
    let names = names.split('/').map(|name| match name {
        "." | ".." => name.to_owned(),
        name => name.split(':').next().unwrap().trim_end_matches(['.', ' ']).to_owned(),
    });
    settle(&names.collect::<Vec<_>>().join("/"), true).map(|path| path.to_lowercase())
}

fn iis(path: &str) -> Option<String> {
    windows(&text(decode(path.as_bytes(), b""))?)
}

fn iis_twice(path: &str) -> Option<String> {
    windows(&text(decode(&decode(path.as_bytes(), b""), b""))?)
}

/// `safe_join`: `posixpath.normpath` of what was decoded, never above the folder.
fn werkzeug(path: &str) -> Option<String> {
    settle(&text(decode(path.as_bytes(), b""))?, false)
}

/// `path.Clean("/" + name)`.
fn go(path: &str) -> Option<String> {
    settle(&text(decode(path.as_bytes(), b""))?, true)
}

/// `send`: decodeURIComponent, `normalize("./" + path)`, refuses what climbs.
fn express(path: &str) -> Option<String> {
    settle(&text(decode(path.as_bytes(), b""))?, false)
}

/// `translate_path`: query and fragment cut first, then `unquote` and `normpath`; what is invalid is decoded as it is.
fn http_server(path: &str) -> Option<String> {
    let path = path.split(['?', '#']).next().unwrap();
    settle(&text(decode(path.as_bytes(), b""))?, true)
}

fn node(path: &str) -> Option<String> {
    settle(&text(decode(path.as_bytes(), b""))?, true)
}

/// WHATWG URL against a base of a special scheme: a second slash, or more, begins a host. Dots are settled, then the
/// application decodes.
fn new_url(path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    let path = match path.starts_with("//") {
        true => path
            .trim_start_matches('/')
            .split_once('/')
            .map_or("/".to_owned(), |(_, rest)| format!("/{rest}")),
        false => path,
    };
    settle(&text(decode(path.as_bytes(), b""))?, true)
}

/// Two slashes begin a network location.
fn urlsplit(path: &str) -> Option<String> {
    let path = match path.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or("", |end| &rest[end..]),
        None => path,
    };
    settle(&text(decode(path.as_bytes(), b""))?, true)
}

/// The last segment's parameters are no part of the path.
fn urlparse(path: &str) -> Option<String> {
    let (folder, last) = path.rsplit_once('/')?;
    let path = format!("{folder}/{}", last.split(';').next().unwrap());
    settle(&text(decode(path.as_bytes(), b""))?, true)
}

fn thrice(path: &str) -> Option<String> {
    let once = |path: Vec<u8>| decode(&path, b"");
    settle(&text(once(once(once(path.into()))))?, true)
}

fn query_after_decoding(path: &str) -> Option<String> {
    let decoded = text(decode(path.as_bytes(), b""))?;
    settle(decoded.split(['?', '#']).next().unwrap(), true)
}
