//! Requests as bytes, built once before the run.
//!
//! Not here: sending, and reading files (the command line hands the body in).

use super::Target;

/// What all requests of a run have in common.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The method; `None`: GET, or POST when there is a body.
    pub method: Option<String>,
    /// Fields in the order given.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Whether the connection is to be kept.
    pub keep_alive: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Wish { method: None, headers: Vec::new(), body: None, keep_alive: true }
    }
}

impl Wish {
    /// The method that is sent.
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(if self.body.is_some() { "POST" } else { "GET" })
    }
}

/// One request, ready to be written.
#[derive(Clone, Debug)]
pub struct Request {
    /// The URL it was made from.
    pub url: String,
    /// All bytes of it.
    pub bytes: Vec<u8>,
    /// Whether the method is HEAD, whose answer has no body.
    pub is_head: bool,
}

/// Reads `Name: value`.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once(':').ok_or_else(|| format!("`{text}` is not a header; write 'Name: value'"))?;
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("`{name}` is not a header name"));
    }
    let value = value.trim_matches([' ', '\t']);
    if let Some(odd) = value.chars().find(|&c| c.is_control() && c != '\t') {
        return Err(format!("the value of `{name}` holds {odd:?}, which would break the request"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Reads a method.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn method(text: &str) -> Result<String, String> {
    if text.is_empty() || !text.bytes().all(is_token) {
        return Err(format!("`{text}` is not a method; write GET, HEAD, POST …"));
    }
    if text == "CONNECT" {
        return Err("CONNECT opens tunnels; there is nothing to measure".to_owned());
    }
    Ok(text.to_owned())
}

/// RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Builds the bytes for `target`. Fields given by the user replace ours.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn build(target: &Target, wish: &Wish) -> Result<Request, String> {
    let method = wish.method();
    let given = |name: &str| wish.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let mut head = format!("{method} {} HTTP/1.1\r\n", target.path);
    let mut field = |name: &str, value: &str| {
        if !given(name) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    };
    field("Host", &target.authority);
    field("User-Agent", concat!("thirst/", env!("CARGO_PKG_VERSION")));
    if !wish.keep_alive {
        field("Connection", "close");
    }
    if let Some(body) = wish.body.as_ref().filter(|_| !given("Transfer-Encoding")) {
        field("Content-Length", &body.len().to_string());
    }
    for (name, value) in &wish.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(wish.body.as_deref().unwrap_or_default());
    Ok(Request { url: target.url.clone(), bytes, is_head: method == "HEAD" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(wish: &Wish) -> String {
        String::from_utf8(build(&"http://h:81/p?q".parse().unwrap(), wish).unwrap().bytes).unwrap()
    }

    #[test]
    fn bytes() {
        let agent = concat!("User-Agent: thirst/", env!("CARGO_PKG_VERSION"), "\r\n");
        assert_eq!(text(&Wish::default()), format!("GET /p?q HTTP/1.1\r\nHost: h:81\r\n{agent}\r\n"));
        let wish = Wish {
            headers: vec![header("host:other ").unwrap(), header("User-Agent: me").unwrap()],
            body: Some(b"a=1".to_vec()),
            keep_alive: false,
            ..Wish::default()
        };
        assert_eq!(
            text(&wish),
            "POST /p?q HTTP/1.1\r\nConnection: close\r\nContent-Length: 3\r\nhost: other\r\nUser-Agent: me\r\n\r\na=1"
        );
    }

    #[test]
    fn no_smuggling_through_flags() {
        for bad in ["X", ": v", "X Y: v", "X: a\r\nY: b", "X: a\nb", "X\r: y", "Ü: x"] {
            assert!(header(bad).is_err(), "{bad:?}");
        }
        assert_eq!(header("X:").unwrap(), ("X".to_owned(), String::new()));
        for bad in ["", "G ET", "GET\r\n", "CONNECT"] {
            assert!(method(bad).is_err(), "{bad:?}");
        }
    }
}
