//! What a server said, answer by answer, in a form that can be compared: what may differ between the two is set aside.
//!
//! May differ: the order of fields of different names, `Age` and `ttl` by the seconds between the two, the tier in
//! `Cache-Status`, on our own pages `Date` and the request's id, and the boundary between parts. Nothing else.

/// Seconds that may lie between the same entry's coming to the one server and to the other.
const APART_S: i64 = 3;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The status line.
    pub line: String,
    /// Fields, sorted by name.
    pub fields: Vec<(String, String)>,
    /// The body, as far as it came.
    pub body: Vec<u8>,
    /// False if the stream ended before the body did.
    pub whole: bool,
    /// It came from the hot tier.
    pub hot: bool,
    age_s: Option<i64>,
    ttl_s: Option<i64>,
}

impl Said {
    /// The status.
    pub fn status(&self) -> u16 {
        self.line.get(9..12).and_then(|s| s.parse().ok()).unwrap_or(0)
    }

    /// Whether the cache answered.
    pub fn is_hit(&self) -> bool {
        self.fields.iter().any(|(name, value)| name == "cache-status" && value.contains("; hit"))
    }

    /// Whether the origin made it, now or before.
    pub fn is_of_the_origin(&self) -> bool {
        self.fields.iter().any(|(name, _)| name == "x-from")
    }

    /// What differs, in words.
    pub fn difference(&self, other: &Said) -> Option<String> {
        let near = |a: Option<i64>, b: Option<i64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= APART_S,
            (a, b) => a == b,
        };
        let fields =
            self.fields == other.fields && near(self.age_s, other.age_s) && near(self.ttl_s, other.ttl_s);
        if self.line == other.line && fields && self.body == other.body && self.whole == other.whole {
            return None;
        }
        Some(format!("\n  with the hot tier {}\n  without {}", self.shown(), other.shown()))
    }

    fn shown(&self) -> String {
        let body: String = self.body.iter().take(300).map(|b| b.escape_ascii().to_string()).collect();
        format!(
            "{:?} age {:?} ttl {:?} whole {} hot {} {:?} body of {}: {body}",
            self.line,
            self.age_s,
            self.ttl_s,
            self.whole,
            self.hot,
            self.fields,
            self.body.len()
        )
    }
}

/// Splits what was said into answers. Interim ones are left out: whether one goes out depends on how the request was cut.
/// `date` is the origin's; another is our own.
pub fn read(mut bytes: &[u8], date: &str) -> Vec<Said> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else {
            panic!("the end of an answer's head is missing: {:?}", bytes.escape_ascii().to_string())
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        bytes = &bytes[end + 4..];
        let mut said = head_of(&head, date);
        (said.body, said.whole, bytes) = body_of(&said, bytes);
        if said.status() < 200 {
            continue;
        }
        let of_parts = said.fields.iter_mut().find(|(_, value)| value.starts_with("multipart/byteranges"));
        let of_parts = of_parts.map(|(_, value)| value.truncate("multipart/byteranges".len())).is_some();
        if of_parts || !said.is_of_the_origin() {
            mask_ids(&mut said.body);
        }
        said.fields.retain(|(name, _)| name != "transfer-encoding");
        all.push(said);
    }
    all
}

fn head_of(head: &str, date: &str) -> Said {
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_string();
    assert!(line.starts_with("HTTP/1."), "no status line: {line:?}");
    let mut said =
        Said { line, fields: vec![], body: vec![], whole: true, hot: false, age_s: None, ttl_s: None };
    for field in lines {
        let (name, value) = field.split_once(": ").unwrap_or_else(|| panic!("no field: {field:?}"));
        match name {
            "age" if said.age_s.is_none() => said.age_s = value.parse().ok(),
            "date" if value != date => said.fields.push((name.into(), "of now".into())),
            "cache-status" => {
                let value = said.take_status(value);
                said.fields.push((name.into(), value));
            }
            _ => said.fields.push((name.into(), value.into())),
        }
    }
    // Stable: lines of one name keep their order.
    said.fields.sort_by(|a, b| a.0.cmp(&b.0));
    said
}

impl Said {
    fn take_status(&mut self, value: &str) -> String {
        let mut parts = Vec::new();
        for part in value.split("; ") {
            match part.split_once('=') {
                Some(("ttl", seconds)) => self.ttl_s = seconds.parse().ok(),
                Some(("detail", detail)) => {
                    self.hot |= detail.ends_with("-hot");
                    parts.push(format!("detail={}", detail.trim_end_matches("-hot")));
                }
                _ => parts.push(part.to_string()),
            }
        }
        parts.join("; ")
    }
}

/// A body as its head announces it. Where the next answer or the end follows at once there is none: it answers a HEAD.
fn body_of<'b>(said: &Said, bytes: &'b [u8]) -> (Vec<u8>, bool, &'b [u8]) {
    let field = |name: &str| said.fields.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    if bytes.is_empty() || bytes.starts_with(b"HTTP/1.") || said.status() == 304 || said.status() < 200 {
        return (vec![], true, bytes);
    }
    if field("transfer-encoding").is_some() {
        return chunks(bytes);
    }
    let Some(length) = field("content-length") else { return (bytes.to_vec(), true, &[]) };
    let length: usize = length.parse().unwrap();
    let (body, rest) = bytes.split_at(length.min(bytes.len()));
    (body.to_vec(), body.len() == length, rest)
}

fn chunks(mut bytes: &[u8]) -> (Vec<u8>, bool, &[u8]) {
    let mut body = Vec::new();
    loop {
        let Some(end) = bytes.windows(2).position(|w| w == b"\r\n") else { return (body, false, &[]) };
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let Some(chunk) = bytes.get(end + 2..end + 4 + size) else { return (body, false, &[]) };
        assert!(chunk.ends_with(b"\r\n"), "a chunk that does not end where it says");
        body.extend_from_slice(&chunk[..size]);
        bytes = &bytes[end + 4 + size..];
        if size == 0 {
            return (body, true, bytes);
        }
    }
}

/// Request ids, and what tells boundaries apart, are 16 hexadecimal digits in a row.
fn mask_ids(body: &mut [u8]) {
    let is_digit = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let mut at = 0;
    while at < body.len() {
        let run = body[at..].iter().take_while(|b| is_digit(b)).count();
        if run == 16 {
            body[at..at + run].fill(b'0');
        }
        at += run.max(1);
    }
}
