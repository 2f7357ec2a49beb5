//! Whether an answer came from a cache, read from the fields caches write.
//!
//! In order of trust: `Cache-Status` (RFC 9211: one member per cache, first the one nearest the origin; *any*
//! member with `hit` means that some cache answered), then the `X-Cache` family by its words, then `Age` above
//! zero (RFC 9111 §5.1; some caches write `Age: 0` on misses too, so zero says nothing).
//!
//! Not here: counting, and any knowledge of one product beyond the words it writes.

/// What the answer says of where it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cached {
    /// A cache answered without asking the origin for this request.
    Hit,
    /// A cache is there and asked the origin (revalidation included).
    Miss,
    /// No field says anything.
    #[default]
    Unknown,
}

/// Gathers the fields of one head; later lines of the same field continue the list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    status: Cached,
    x_cache: Cached,
    aged: bool,
}

impl Evidence {
    /// One `Cache-Status` line.
    pub fn cache_status(&mut self, value: &[u8]) {
        self.status = stronger(self.status, read_cache_status(value));
    }

    /// One line of `X-Cache`, `X-Cache-Status` or `CF-Cache-Status`.
    pub fn x_cache(&mut self, value: &[u8]) {
        self.x_cache = stronger(self.x_cache, read_words(value));
    }

    /// An `Age` line.
    pub fn age(&mut self, value: &[u8]) {
        let digits = value.trim_ascii();
        self.aged |=
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && digits.iter().any(|&d| d != b'0');
    }

    /// The sum of the evidence.
    pub fn judge(self) -> Cached {
        match (self.status, self.x_cache) {
            (Cached::Unknown, Cached::Unknown) if self.aged => Cached::Hit,
            (Cached::Unknown, words) => words,
            (status, _) => status,
        }
    }
}

fn stronger(a: Cached, b: Cached) -> Cached {
    match (a, b) {
        (Cached::Hit, _) | (_, Cached::Hit) => Cached::Hit,
        (Cached::Miss, _) | (_, Cached::Miss) => Cached::Miss,
        _ => Cached::Unknown,
    }
}

/// RFC 9211 §2.1, §2.2: `hit` and `fwd` are parameters of a list member. A parameter inside a quoted string
/// (`detail="a; hit"`) is not one.
fn read_cache_status(value: &[u8]) -> Cached {
    let mut found = Cached::Unknown;
    let mut quoted = false;
    let mut escaped = false;
    let mut start = 0;
    let mut first_of_member = true;
    for (at, &byte) in value.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' | b',' if !quoted => {
                found = stronger(found, parameter(value.get(start..at), first_of_member));
                first_of_member = byte == b',';
                start = at + 1;
            }
            _ => {}
        }
    }
    stronger(found, parameter(value.get(start..), first_of_member))
}

fn parameter(text: Option<&[u8]>, is_name_of_cache: bool) -> Cached {
    let text = text.unwrap_or_default().trim_ascii();
    if is_name_of_cache {
        return Cached::Unknown;
    }
    match text {
        b"hit" | b"hit=?1" => Cached::Hit,
        _ if text.starts_with(b"fwd=") => Cached::Miss,
        _ => Cached::Unknown,
    }
}

/// `HIT`, `TCP_MEM_HIT`, `Hit from cloudfront`, `MISS, HIT`, `EXPIRED`, `RefreshHit from cloudfront` …
fn read_words(value: &[u8]) -> Cached {
    value.split(|&b| b == b',').fold(Cached::Unknown, |sum, member| stronger(sum, read_member(member)))
}

fn read_member(member: &[u8]) -> Cached {
    let mut found = Cached::Unknown;
    for word in member.split(|b| !b.is_ascii_alphanumeric()) {
        let is = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
        if is(&["refresh", "refreshhit", "revalidated", "miss", "expired", "bypass", "dynamic", "pass"]) {
            return Cached::Miss;
        }
        if is(&["hit", "stale", "updating"]) {
            found = Cached::Hit;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_status_table() {
        for (value, want) in [
            ("samovar; hit; ttl=9", Cached::Hit),
            ("samovar;hit", Cached::Hit),
            ("samovar; hit=?1", Cached::Hit),
            ("samovar; hit=?0; fwd=miss", Cached::Miss),
            ("samovar; fwd=uri-miss; stored", Cached::Miss),
            ("samovar; fwd=stale; fwd-status=304", Cached::Miss),
            ("origin; hit, edge; fwd=uri-miss", Cached::Hit),
            ("origin; fwd=miss, edge; hit; ttl=3", Cached::Hit),
            ("hit", Cached::Unknown),
            ("hit; ttl=3", Cached::Unknown),
            ("samovar; detail=\"x; hit, y; hit\"; fwd=bypass", Cached::Miss),
            ("samovar; detail=\"quote \\\"; hit\"", Cached::Unknown),
            ("samovar", Cached::Unknown),
            ("", Cached::Unknown),
            (";;,,;hit", Cached::Hit),
        ] {
            assert_eq!(read_cache_status(value.as_bytes()), want, "{value}");
        }
    }

    #[test]
    fn x_cache_table() {
        for (value, want) in [
            ("HIT", Cached::Hit),
            ("hit", Cached::Hit),
            ("Hit from cloudfront", Cached::Hit),
            ("RefreshHit from cloudfront", Cached::Miss),
            ("TCP_MEM_HIT from a", Cached::Hit),
            ("TCP_REFRESH_HIT", Cached::Miss),
            ("MISS", Cached::Miss),
            ("MISS, HIT", Cached::Hit),
            ("HIT, MISS", Cached::Hit),
            ("EXPIRED", Cached::Miss),
            ("STALE", Cached::Hit),
            ("whitehit", Cached::Unknown),
            ("", Cached::Unknown),
        ] {
            assert_eq!(read_words(value.as_bytes()), want, "{value}");
        }
    }

    #[test]
    fn order_of_trust() {
        let judge = |status: &[&str], x: &[&str], age: &[&str]| {
            let mut evidence = Evidence::default();
            status.iter().for_each(|v| evidence.cache_status(v.as_bytes()));
            x.iter().for_each(|v| evidence.x_cache(v.as_bytes()));
            age.iter().for_each(|v| evidence.age(v.as_bytes()));
            evidence.judge()
        };
        assert_eq!(judge(&[], &[], &[]), Cached::Unknown);
        assert_eq!(judge(&[], &[], &["12"]), Cached::Hit);
        assert_eq!(judge(&[], &[], &["0"]), Cached::Unknown);
        assert_eq!(judge(&[], &[], &["x"]), Cached::Unknown);
        assert_eq!(judge(&[], &["MISS"], &["12"]), Cached::Miss);
        assert_eq!(judge(&["a; fwd=miss"], &["HIT"], &["12"]), Cached::Miss);
        assert_eq!(judge(&["a; fwd=miss", "b; hit"], &[], &[]), Cached::Hit);
    }
}
