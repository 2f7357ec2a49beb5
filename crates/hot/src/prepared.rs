//! A complete answer as bytes: everything fixed but `Age` and the `ttl` inside `Cache-Status`.
//!
//! Not here: who may get it (a [`crate::Grant`]), and whether it should exist at all.

use crate::share::Share;
use bytes::Bytes;
use http::header::{AGE, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, StatusCode};
use samovar_policy::{RawValidators, raw_validators};
use samovar_reason::Hot;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Where the state of an answer is kept: with what it was prepared from, not beside it.
pub trait StateCell: std::fmt::Debug + Send + Sync {
    /// The state.
    fn cell(&self) -> &AtomicU8;
}

impl StateCell for AtomicU8 {
    fn cell(&self) -> &AtomicU8 {
        self
    }
}

/// How long a prepared answer may be sent, and what its `Age` counts from.
#[derive(Clone, Debug)]
pub struct Lifetime {
    /// The entry's state: 0 is live, anything else refuses. Loaded on every hit; a purge stores first and
    /// returns then.
    pub state: Arc<dyn StateCell>,
    /// The configuration epoch it was prepared under; any other refuses.
    pub epoch: u64,
    /// Age at the monotonic clock's zero, in ms: the age now is `(now_ms + age_base_ms) / 1000` seconds.
    pub age_base_ms: i64,
    /// When it stops being fresh, monotonic; `u64::MAX` for never, then no `ttl` is sent.
    pub fresh_until_ms: u64,
}

/// One answer, ready to send.
pub struct Prepared {
    /// The head but for two numbers, in one piece: whoever asks for one answer of many finds little of it in the
    /// processor's cache.
    text: Box<[u8]>,
    /// Where the age goes: before it stands all from the status line to `age: `.
    age_at: u32,
    /// Where the ttl goes, after `ttl=`; at the end if none is sent.
    ttl_at: u32,
    /// Where the validators stand in `text`.
    etag: Option<Range<u32>>,
    modified: Option<Range<u32>>,
    life: Lifetime,
    body: Box<[Bytes]>,
    body_bytes: u64,
    status: StatusCode,
    key: Arc<str>,
    info: Arc<dyn Any + Send + Sync>,
    /// See [`Prepared::one_form_of_several`].
    one_form: bool,
    coded: bool,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("key", &self.key).field("body_bytes", &self.body_bytes).finish()
    }
}

/// How every prepared head begins and ends.
const STATUS_LINE: &[u8] = b"HTTP/1.1 200 OK\r\n";
const AGE_FIELD: &[u8] = b"age: ";

/// The lines of a head that a 304 leaves out, as the engine does.
const NOT_IN_304: [&[u8]; 4] =
    [b"content-length: ", b"content-type: ", b"content-encoding: ", b"content-range: "];

/// The lines of a head that a 206 writes anew.
const NOT_IN_206: [&[u8]; 2] = [b"content-length: ", b"content-range: "];

/// Fields of one hop, and those written here.
const NOT_COPIED: [HeaderName; 6] = [
    CONNECTION,
    TRANSFER_ENCODING,
    AGE,
    CONTENT_LENGTH,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

impl Prepared {
    /// Prepares a 200 answer from its end-to-end fields (the origin's `Date` among them) and its whole body.
    ///
    /// `Content-Length` is written from the body; if `headers` has one that differs, the answer is not whole.
    /// `cache_status` is the name in our member of `Cache-Status` (RFC 9211), `None` to send none; members of
    /// caches before us in `headers` go out ahead of it. `info` is the server's own, for counting and logging.
    pub fn new(
        status: StatusCode,
        headers: &HeaderMap,
        body: Vec<Bytes>,
        life: Lifetime,
        cache_status: Option<&str>,
        key: Arc<str>,
        info: Arc<dyn Any + Send + Sync>,
    ) -> Result<Prepared, Hot> {
        if status != StatusCode::OK {
            return Err(Hot::StatusNotHot);
        }
        let body: Box<[Bytes]> = body.into_iter().filter(|chunk| !chunk.is_empty()).collect();
        let body_bytes = body.iter().map(|chunk| chunk.len() as u64).sum();
        let mut text = itoa::Buffer::new();
        let length = text.format(body_bytes).as_bytes();
        if headers.get_all(CONTENT_LENGTH).iter().any(|value| value.as_bytes() != length) {
            return Err(Hot::Incomplete);
        }
        let mut head = Vec::with_capacity(512);
        head.extend_from_slice(STATUS_LINE);
        for (name, value) in headers.iter().filter(|(name, _)| !NOT_COPIED.contains(name)) {
            put_field(&mut head, name.as_str(), value.as_bytes());
        }
        put_field(&mut head, "content-length", length);
        head.extend_from_slice(AGE_FIELD);
        let age_at = u32::try_from(head.len()).map_err(|_| Hot::TooLarge)?;
        let (after_age, after_ttl) = match cache_status {
            None => ("\r\n\r\n".to_owned(), ""),
            Some(name) if life.fresh_until_ms == u64::MAX => {
                (format!("\r\ncache-status: {name}; hit; detail=fresh-hot\r\n\r\n"), "")
            }
            Some(name) => (format!("\r\ncache-status: {name}; hit; ttl="), "; detail=fresh-hot\r\n\r\n"),
        };
        let own = raw_validators(headers);
        let place = |text: Option<&[u8]>| text.and_then(|text| place_of(&head, text));
        let (etag, modified) = (place(own.etag), place(own.modified));
        head.extend_from_slice(after_age.as_bytes());
        let ttl_at = u32::try_from(head.len()).map_err(|_| Hot::TooLarge)?;
        head.extend_from_slice(after_ttl.as_bytes());
        Ok(Prepared {
            etag,
            modified,
            text: head.into(),
            age_at,
            ttl_at,
            life,
            body,
            body_bytes,
            status,
            key,
            info,
            one_form: false,
            coded: false,
        })
    }

    /// It is one form of an answer of which the same client may hold another: an entity tag that is not this one's says
    /// nothing certain then. `coded`: it is not the plain one, of which alone ranges are cut.
    pub fn one_form_of_several(mut self, coded: bool) -> Prepared {
        (self.one_form, self.coded) = (true, coded);
        self
    }

    pub(crate) fn is_one_form(&self) -> bool {
        self.one_form
    }

    /// Whether it is in a coding that was chosen for its client.
    pub fn is_coded(&self) -> bool {
        self.coded
    }

    /// The key of the entry it was made from.
    pub fn key(&self) -> &Arc<str> {
        &self.key
    }

    /// What the server attached.
    pub fn info(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.info
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Bytes of the body.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Until when, and since when.
    pub fn life(&self) -> &Lifetime {
        &self.life
    }

    /// Bytes held here beyond the body, which the cache's entry shares.
    pub fn head_bytes(&self) -> usize {
        size_of::<Prepared>() + self.text.len()
    }

    /// What conditions are compared with.
    pub(crate) fn validators(&self) -> RawValidators<'_> {
        let text = |place: &Option<Range<u32>>| {
            place.as_ref().and_then(|at| self.text.get(at.start as usize..at.end as usize))
        };
        RawValidators { etag: text(&self.etag), modified: text(&self.modified) }
    }

    pub(crate) fn body(&self) -> &[Bytes] {
        &self.body
    }

    /// Whether it may be sent now. The state is loaded with acquire: what a purge wrote before is seen.
    pub fn check(&self, now_ms: u64, epoch: u64) -> Result<(), Hot> {
        if self.life.state.cell().load(Ordering::Acquire) != 0 {
            Err(Hot::Dead)
        } else if self.life.epoch != epoch {
            Err(Hot::OldEpoch)
        } else if now_ms >= self.life.fresh_until_ms {
            Err(Hot::Expired)
        } else {
            Ok(())
        }
    }

    /// Appends the head as it is at `now_ms`.
    pub fn write_head(&self, now_ms: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.up_to_age());
        self.write_end(now_ms, out);
    }

    /// From the status line to `age: `.
    fn up_to_age(&self) -> &[u8] {
        self.text.get(..self.age_at as usize).unwrap_or_default()
    }

    /// Appends the head of what a request gets. Fields stand as in the whole answer, those that the engine changes
    /// apart (RFC 9110 §15.3.7, §15.4.5).
    pub fn write_head_of(&self, share: Share, now_ms: u64, out: &mut Vec<u8>) {
        match share {
            Share::Whole | Share::Head => self.write_head(now_ms, out),
            Share::NotModified => {
                out.extend_from_slice(b"HTTP/1.1 304 Not Modified\r\n");
                self.write_fields_but(&NOT_IN_304, out);
                out.extend_from_slice(AGE_FIELD);
                self.write_end(now_ms, out);
            }
            Share::Range { start, end } => {
                out.extend_from_slice(b"HTTP/1.1 206 Partial Content\r\n");
                self.write_fields_but(&NOT_IN_206, out);
                let mut text = itoa::Buffer::new();
                out.extend_from_slice(b"content-range: bytes ");
                out.extend_from_slice(text.format(start).as_bytes());
                out.push(b'-');
                out.extend_from_slice(text.format(end.saturating_sub(1)).as_bytes());
                out.push(b'/');
                out.extend_from_slice(text.format(self.body_bytes).as_bytes());
                out.extend_from_slice(b"\r\ncontent-length: ");
                out.extend_from_slice(text.format(end.saturating_sub(start)).as_bytes());
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(AGE_FIELD);
                self.write_end(now_ms, out);
            }
        }
    }

    /// Appends the field lines that begin with none of `names`.
    fn write_fields_but(&self, names: &[&[u8]], out: &mut Vec<u8>) {
        let fields = self.up_to_age().strip_prefix(STATUS_LINE).and_then(|rest| rest.strip_suffix(AGE_FIELD));
        for line in fields.unwrap_or_default().split_inclusive(|&byte| byte == b'\n') {
            if !names.iter().any(|name| line.starts_with(name)) {
                out.extend_from_slice(line);
            }
        }
    }

    /// Appends what follows `age: `.
    fn write_end(&self, now_ms: u64, out: &mut Vec<u8>) {
        let mut text = itoa::Buffer::new();
        let age_ms = i64::try_from(now_ms).unwrap_or(i64::MAX).saturating_add(self.life.age_base_ms);
        out.extend_from_slice(text.format(u64::try_from(age_ms).unwrap_or(0) / 1000).as_bytes());
        let (age_at, ttl_at) = (self.age_at as usize, self.ttl_at as usize);
        out.extend_from_slice(self.text.get(age_at..ttl_at).unwrap_or_default());
        let after_ttl = self.text.get(ttl_at..).unwrap_or_default();
        if !after_ttl.is_empty() {
            let ttl_s = self.life.fresh_until_ms.saturating_sub(now_ms) / 1000;
            out.extend_from_slice(text.format(ttl_s).as_bytes());
            out.extend_from_slice(after_ttl);
        }
    }
}

/// Where a field's value stands in a head: after `: ` and before the line's end. Any line with the same value will do.
fn place_of(head: &[u8], value: &[u8]) -> Option<Range<u32>> {
    let line = [b": ", value, b"\r\n"].concat();
    let at = memchr::memmem::find(head, &line)? + 2;
    Some(u32::try_from(at).ok()?..u32::try_from(at + value.len()).ok()?)
}

fn put_field(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::{Lifetime, Prepared};
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};
    use samovar_reason::Hot;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering};

    fn life(fresh_until_ms: u64) -> Lifetime {
        Lifetime { state: Arc::new(AtomicU8::new(0)), epoch: 3, age_base_ms: -4_000, fresh_until_ms }
    }

    fn make(headers: &HeaderMap, life: Lifetime, name: Option<&str>) -> Result<Prepared, Hot> {
        let body = vec![Bytes::from_static(b"he"), Bytes::new(), Bytes::from_static(b"llo")];
        Prepared::new(StatusCode::OK, headers, body, life, name, "k".into(), Arc::new(()))
    }

    fn head_at(prepared: &Prepared, now_ms: u64) -> String {
        let mut out = Vec::new();
        prepared.write_head(now_ms, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn age_and_ttl_are_patched_and_nothing_else() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/plain"));
        headers.insert("connection", HeaderValue::from_static("close"));
        headers.insert("age", HeaderValue::from_static("99"));
        headers.insert("cache-status", HeaderValue::from_static("Edge; fwd=miss"));
        let prepared = make(&headers, life(20_500), Some("Samovar")).unwrap();
        assert_eq!(
            head_at(&prepared, 11_499),
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncache-status: Edge; fwd=miss\r\n\
             content-length: 5\r\nage: 7\r\ncache-status: Samovar; hit; ttl=9; detail=fresh-hot\r\n\r\n"
        );
        assert!(
            head_at(&prepared, 1_000).contains("\r\nage: 0\r\n"),
            "a clock before the age's base is age 0"
        );
    }

    #[test]
    fn ttl_and_cache_status_can_be_absent() {
        let headers = HeaderMap::new();
        let lasting = make(&headers, life(u64::MAX), Some("S")).unwrap();
        assert!(
            head_at(&lasting, 5_000).ends_with("age: 1\r\ncache-status: S; hit; detail=fresh-hot\r\n\r\n")
        );
        let silent = make(&headers, life(9_000), None).unwrap();
        assert!(head_at(&silent, 5_000).ends_with("content-length: 5\r\nage: 1\r\n\r\n"));
    }

    #[test]
    fn only_whole_200_answers() {
        let mut headers = HeaderMap::new();
        headers.insert("content-length", HeaderValue::from_static("6"));
        assert_eq!(make(&headers, life(1), None).err(), Some(Hot::Incomplete));
        let not_found = Prepared::new(
            StatusCode::NOT_FOUND,
            &HeaderMap::new(),
            vec![],
            life(1),
            None,
            "k".into(),
            Arc::new(()),
        );
        assert_eq!(not_found.err(), Some(Hot::StatusNotHot));
    }

    #[test]
    fn state_epoch_and_clock_each_refuse() {
        let prepared = make(&HeaderMap::new(), life(10), None).unwrap();
        assert_eq!(prepared.check(9, 3), Ok(()));
        assert_eq!(prepared.check(10, 3), Err(Hot::Expired));
        assert_eq!(prepared.check(9, 4), Err(Hot::OldEpoch));
        prepared.life().state.cell().store(1, Ordering::Release);
        assert_eq!(prepared.check(9, 3), Err(Hot::Dead));
    }
}
