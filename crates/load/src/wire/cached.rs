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
    /// A cache is there and asked the origin.
    Miss,
    /// A cache answered without asking, with what was no longer fresh.
    Stale,
    /// A cache asked the origin whether what it had was still right, and it was.
    Revalidated,
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

/// What says more of where the answer came from: of several caches the one that had it speaks.
fn stronger(a: Cached, b: Cached) -> Cached {
    let order = |cached| match cached {
        Cached::Hit => 4,
        Cached::Stale => 3,
        Cached::Revalidated => 2,
        Cached::Miss => 1,
        Cached::Unknown => 0,
    };
    if order(b) > order(a) { b } else { a }
}

/// RFC 9211 §2.1 to §2.5: `hit`, `fwd`, `fwd-status` and `ttl` are parameters of a list member. A parameter inside a
/// quoted string (`detail="a; hit"`) is not one.
fn read_cache_status(value: &[u8]) -> Cached {
    let mut found = Cached::Unknown;
    let mut quoted = false;
    let mut escaped = false;
    let mut start = 0;
    let mut member = Member::default();
    for (at, &byte) in value.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' | b',' if !quoted => {
                member.take(value.get(start..at));
                start = at + 1;
                if byte == b',' {
                    found = stronger(found, member.judge());
                    member = Member::default();
                }
            }
            _ => {}
        }
    }
    member.take(value.get(start..));
    stronger(found, member.judge())
}

/// What one cache says.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    named: bool,
    hit: bool,
    forwarded: bool,
    unchanged: bool,
    expired: bool,
}

impl Member {
    /// Its name, which comes first, or a parameter.
    fn take(&mut self, text: Option<&[u8]>) {
        let text = text.unwrap_or_default().trim_ascii();
        if !self.named {
            self.named = true;
            return;
        }
        match text {
            b"hit" | b"hit=?1" => self.hit = true,
            b"fwd-status=304" => self.unchanged = true,
            _ if text.starts_with(b"fwd=") => self.forwarded = true,
            _ if text.starts_with(b"ttl=-") => self.expired = true,
            _ => {}
        }
    }

    fn judge(self) -> Cached {
        match (self.hit, self.forwarded) {
            (true, _) if self.expired => Cached::Stale,
            (true, _) => Cached::Hit,
            (false, true) if self.unchanged => Cached::Revalidated,
            (false, true) => Cached::Miss,
            (false, false) => Cached::Unknown,
        }
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
        if is(&["refresh", "refreshhit", "revalidated"]) {
            return Cached::Revalidated;
        }
        if is(&["miss", "expired", "bypass", "dynamic", "pass"]) {
            return Cached::Miss;
        }
        if is(&["stale", "updating"]) {
            return Cached::Stale;
        }
        if is(&["hit"]) {
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
            ("samovar; fwd=stale; fwd-status=304", Cached::Revalidated),
            ("samovar; fwd=stale; fwd-status=200; stored", Cached::Miss),
            ("samovar; hit; ttl=-5", Cached::Stale),
            ("a; fwd=stale; fwd-status=304, b; hit; ttl=3", Cached::Hit),
            ("a; fwd=uri-miss, b; fwd=stale; fwd-status=304", Cached::Revalidated),
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
            ("RefreshHit from cloudfront", Cached::Revalidated),
            ("TCP_MEM_HIT from a", Cached::Hit),
            ("TCP_REFRESH_HIT", Cached::Revalidated),
            ("MISS", Cached::Miss),
            ("MISS, HIT", Cached::Hit),
            ("HIT, MISS", Cached::Hit),
            ("EXPIRED", Cached::Miss),
            ("STALE", Cached::Stale),
            ("UPDATING", Cached::Stale),
            ("REVALIDATED", Cached::Revalidated),
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
