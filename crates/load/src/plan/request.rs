//! Requests as bytes, built once before the run.
//!
//! Not here: sending, and reading files (the command line hands the body in).

use super::Target;
use crate::dice::Dice;
use crate::wcat::Manner;

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
    /// The status that is right.
    pub right: Right,
    /// Whether clients keep cookies.
    pub cookies: bool,
    /// Whether redirects are followed.
    pub follow: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Wish {
            method: None,
            headers: Vec::new(),
            body: None,
            keep_alive: true,
            right: Right::default(),
            cookies: false,
            follow: false,
        }
    }
}

impl Wish {
    /// The method that is sent.
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(if self.body.is_some() { "POST" } else { "GET" })
    }
}

/// One request: ready to be written, or a form to be filled in each time.
#[derive(Clone, Debug)]
pub struct Request {
    /// What it is called in reports: its URL, or the name its scenario gives it.
    pub url: String,
    /// Its method.
    pub method: String,
    /// All bytes of it; empty if it is a form.
    pub bytes: Vec<u8>,
    /// How many of these are the head without the empty line that ends it: where further fields go.
    pub fields_end: usize,
    /// How it is filled in, if it is another each time.
    pub form: Option<Form>,
    /// Where it goes: an origin for each home; the only one for all.
    pub origins: Vec<usize>,
    /// What its answer must be.
    pub right: Right,
    /// The client's cookies are sent with it, and taken from its answer.
    pub cookies: bool,
    /// Redirects are followed.
    pub follow: bool,
    /// What becomes of the connection after its answer.
    pub close: Manner,
    /// Spoken in HTTP/1.0 without asking for the connection to stay: it ends unless the answer says otherwise.
    pub is_old: bool,
    /// Its row in the table of results.
    pub row: usize,
}

impl Request {
    /// Whether the answer to it has no body.
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }
}

/// The status that is right: what is not is a failure, and no response that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Right {
    /// Any, as `--expect` names the statuses.
    Any,
    /// Any below 400: from there on they are errors (RFC 9110 §15.5, §15.6).
    #[default]
    Below400,
    /// This one.
    Only(u16),
}

impl Right {
    /// Whether it is.
    pub fn is(self, status: u16) -> bool {
        match self {
            Right::Any => true,
            Right::Below400 => status < 400,
            Right::Only(right) => status == right,
        }
    }

    /// Why a response of this status is a failure, and what to do where it should be none.
    pub(crate) fn refusal(self, status: u16) -> String {
        match self {
            Right::Only(right) => format!("the status is {status}, and {right} is expected"),
            Right::Any | Right::Below400 => {
                format!("the status is {status}; --expect status={status} takes it")
            }
        }
    }
}

/// A request of parts, some of which are other ones each time. Its head has no empty line yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Request line and fields.
    pub head: Vec<Blank>,
    /// The body; its length goes into the head unless that says one.
    pub body: Vec<Blank>,
    /// Whether `Content-Length` is to be said.
    pub says_length: bool,
}

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blank {
    /// Always the same.
    Bytes(Vec<u8>),
    /// A number between these two.
    Random(u64, u64),
    /// The name of the client's server.
    Server,
    /// The number of the client.
    Client,
}

/// Who fills in a form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hand<'a> {
    /// The name of its server.
    pub server: &'a str,
    /// Its number.
    pub client: u64,
}

impl Form {
    /// Fills it in; what was in `out` is gone. Returns where further fields would go.
    pub(crate) fn fill(&self, hand: Hand<'_>, dice: &mut Dice, out: &mut Vec<u8>) -> usize {
        out.clear();
        write(&self.head, hand, dice, out);
        let end = out.len();
        if self.body.is_empty() && !self.says_length {
            out.extend_from_slice(b"\r\n");
            return end;
        }
        // The body first, as its length stands before it.
        write(&self.body, hand, dice, out);
        let mut length = Vec::new();
        if self.says_length {
            length = format!("Content-Length: {}\r\n", out.len() - end).into_bytes();
        }
        length.extend_from_slice(b"\r\n");
        out.splice(end..end, length.iter().copied());
        end + length.len() - 2
    }
}

fn write(blanks: &[Blank], hand: Hand<'_>, dice: &mut Dice, out: &mut Vec<u8>) {
    for blank in blanks {
        match blank {
            Blank::Bytes(bytes) => out.extend_from_slice(bytes),
            Blank::Random(low, high) => {
                out.extend_from_slice(dice.between(*low, *high).to_string().as_bytes())
            }
            Blank::Server => out.extend_from_slice(hand.server.as_bytes()),
            Blank::Client => out.extend_from_slice(hand.client.to_string().as_bytes()),
        }
    }
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
    let fields_end = bytes.len() - 2;
    bytes.extend_from_slice(wish.body.as_deref().unwrap_or_default());
    Ok(Request {
        url: target.url.clone(),
        method: method.to_owned(),
        bytes,
        fields_end,
        form: None,
        origins: Vec::new(),
        right: wish.right,
        cookies: wish.cookies,
        follow: wish.follow,
        close: if wish.keep_alive { Manner::Keep } else { Manner::Graceful },
        is_old: false,
        row: 0,
    })
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
    fn forms_are_filled_in() {
        let text = |text: &str| Blank::Bytes(text.as_bytes().to_vec());
        let head = vec![
            text("POST /?n="),
            Blank::Random(7, 7),
            text(" HTTP/1.1\r\nHost: "),
            Blank::Server,
            text("\r\n"),
        ];
        let mut form = Form { head, body: vec![text("client="), Blank::Client], says_length: true };
        let hand = Hand { server: "h", client: 12 };
        let mut out = b"what was there".to_vec();
        let at = form.fill(hand, &mut Dice::of(1, "", 0), &mut out);
        assert_eq!(out, b"POST /?n=7 HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nclient=12");
        assert_eq!(out.get(at..at + 2), Some(&b"\r\n"[..]));
        (form.body, form.says_length) = (Vec::new(), false);
        let at = form.fill(hand, &mut Dice::of(1, "", 0), &mut out);
        assert_eq!(out, b"POST /?n=7 HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(at, out.len() - 2);
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
