//! An origin that makes pages for sessions and says random things about them.
//!
//! Its words come from tables that note what each allows, so that the oracle need not read a field.

use http::header::{
    AUTHORIZATION, CACHE_CONTROL, COOKIE, ETAG, EXPIRES, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    SET_COOKIE, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use proptest::sample::select;

/// A word of the origin and what it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: &'static str,
    /// Pages made by a cookie may be shared.
    pub(crate) cookie: bool,
    /// Pages made by credentials may be shared.
    pub(crate) credentials: bool,
    /// A page that sets a cookie may be shared.
    pub(crate) new_session: bool,
    /// Takes back what another word allows.
    pub(crate) forbids: bool,
    /// Gives a lifetime, so that `Expires` is not heard.
    pub(crate) lifetime: bool,
}

pub(crate) const fn word(text: &'static str, allows: &'static str) -> Word {
    let mut word =
        Word { text, cookie: false, credentials: false, new_session: false, forbids: false, lifetime: false };
    let mut at = 0;
    let letters = allows.as_bytes();
    while at < letters.len() {
        match letters[at] {
            b'c' => word.cookie = true,
            b'a' => word.credentials = true,
            b'n' => word.new_session = true,
            b'x' => word.forbids = true,
            b'l' => word.lifetime = true,
            _ => {}
        }
        at += 1;
    }
    word
}

pub(crate) const CACHE_CONTROLS: &[Word] = &[
    word("", ""),
    word("max-age=60", "cl"),
    word("MAX-AGE=60", "cl"),
    word("max-age=0", "l"),
    word("s-maxage=60", "canl"),
    word("s-maxage=0, max-age=60", "al"),
    word("public", "can"),
    word("public, max-age=60", "canl"),
    word("public, max-age=0", "canl"),
    word("must-revalidate", "a"),
    word("max-age=60, must-revalidate", "cal"),
    word("no-cache", "x"),
    word("no-cache, max-age=60", "xl"),
    word("no-cache, public, max-age=60", "xl"),
    word("no-store", "x"),
    word("no-store, max-age=60", "xl"),
    word("private", "x"),
    word("private, max-age=60", "xl"),
    word("private, s-maxage=60, public", "xl"),
    word("max-age=60, Private", "xl"),
    word("private=\"x-user\", max-age=60", "cl"),
    word("stale-while-revalidate=600, stale-if-error=600", ""),
    word("max-age=0, stale-while-revalidate=600", "l"),
    word("max-age=banana", "l"),
    word("max-age=60, max-age=0", "l"),
    word("immutable", ""),
];

pub(crate) const EXPIRES_WORDS: &[Word] = &[
    word("", ""),
    word("0", ""),
    word("Thu, 19 Nov 1981 08:52:00 GMT", ""),
    word("Tue, 01 Jan 2041 00:00:00 GMT", "c"),
];

/// RFC 9213: heard instead of Cache-Control and Expires.
pub(crate) const TARGETED: &[Word] = &[
    word("", ""),
    word("max-age=60", "c"),
    word("max-age=0", ""),
    word("no-store", "x"),
    word("private, max-age=60", "x"),
    word("public, max-age=60", "can"),
];

/// All that an answer says of sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) cache_control: Word,
    pub(crate) expires: Word,
    pub(crate) targeted: Word,
    /// What it varies by: for that, no word allows sharing.
    pub(crate) vary: &'static str,
}

impl Words {
    /// Cookie, credentials, new session: what may be shared.
    pub(crate) fn shared(self) -> (bool, bool, bool) {
        let mut words = vec![self.cache_control];
        if !self.targeted.text.is_empty() {
            words = vec![self.targeted];
        } else if !self.cache_control.lifetime {
            words.push(self.expires);
        }
        let allowed = |allows: &dyn Fn(&Word) -> bool| {
            words.iter().any(allows) && !words.iter().any(|word| word.forbids)
        };
        let varies_by = |field| self.vary == field || self.vary == "*";
        (
            allowed(&|word| word.cookie) && !varies_by("Cookie"),
            allowed(&|word| word.credentials) && !varies_by("Authorization"),
            allowed(&|word| word.new_session) && !varies_by("no request field"),
        )
    }

    /// What holds after a 304: a field that it does not bring stays as it was (RFC 9111 §3.2).
    pub(crate) fn renewed(self, by: Words) -> Words {
        let newer = |old: Word, new: Word| if new.text.is_empty() { old } else { new };
        Words {
            cache_control: newer(self.cache_control, by.cache_control),
            expires: newer(self.expires, by.expires),
            targeted: newer(self.targeted, by.targeted),
            vary: if by.vary.is_empty() { self.vary } else { by.vary },
        }
    }
}

/// What the origin makes a page from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeBy {
    Nothing,
    Cookie,
    Credentials,
    Both,
}

#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) made_by: MadeBy,
    pub(crate) words: Words,
    pub(crate) etag: bool,
    pub(crate) last_modified: bool,
    pub(crate) status: u16,
    /// Clients without a session get one, and a page made for it.
    pub(crate) begins_sessions: bool,
    /// Sets a cookie on every answer.
    pub(crate) always_sets: bool,
}

pub(crate) fn page() -> impl Strategy<Value = Page> {
    let made_by =
        select(vec![MadeBy::Nothing, MadeBy::Cookie, MadeBy::Cookie, MadeBy::Credentials, MadeBy::Both]);
    // Silence twice as often: it is where rules speak.
    let targeted = prop_oneof![3 => Just(TARGETED[0]), 1 => select(TARGETED)];
    let expires = prop_oneof![2 => Just(EXPIRES_WORDS[0]), 1 => select(EXPIRES_WORDS)];
    let cache_control = prop_oneof![1 => Just(CACHE_CONTROLS[0]), 2 => select(CACHE_CONTROLS)];
    let vary = select(vec!["", "", "Cookie", "Accept-Language", "Authorization", "*"]);
    let status = select(vec![200, 200, 200, 404, 301, 500, 302]);
    let (validators, cookies) = (any::<(bool, bool)>(), (any::<bool>(), prop::bool::weighted(0.2)));
    (made_by, cache_control, expires, targeted, validators, vary, status, cookies).prop_map(
        |(made_by, cache_control, expires, targeted, (etag, last_modified), vary, status, cookies)| Page {
            made_by,
            words: Words { cache_control, expires, targeted, vary },
            etag,
            last_modified,
            status,
            begins_sessions: cookies.0,
            always_sets: cookies.1,
        },
    )
}

/// For whom a page was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) path: String,
    pub(crate) cookie: Option<String>,
    pub(crate) credentials: Option<String>,
    pub(crate) new_session: Option<usize>,
    /// What the origin says of it.
    pub(crate) words: Words,
    /// The rule it was fetched under: ignores the session cookie, strips Set-Cookie.
    pub(crate) rule_says: (bool, bool),
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Page {
    /// What the origin answers, unless it is down.
    pub(crate) fn answer(&self, path: &str, request: &HeaderMap, counter: usize) -> Answer {
        let session = cookie_of(request, "sid");
        let credentials = request.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        let by_cookie = matches!(self.made_by, MadeBy::Cookie | MadeBy::Both);
        let by_credentials = matches!(self.made_by, MadeBy::Credentials | MadeBy::Both);
        let begins = self.begins_sessions && by_cookie && session.is_none();
        let body = Body {
            path: path.to_owned(),
            cookie: session.filter(|_| by_cookie),
            credentials: credentials.filter(|_| by_credentials),
            new_session: begins.then_some(counter),
            words: self.words,
            rule_says: (false, false),
        };
        let mut headers = self.headers(&body);
        if begins || self.always_sets {
            headers.insert(SET_COOKIE, HeaderValue::from_str(&format!("sid=new{counter}")).unwrap());
        }
        let same_tag = headers.get(ETAG).is_some_and(|tag| request.get(IF_NONE_MATCH) == Some(tag));
        // By date alone the origin is careless: it confirms whatever it is asked about, for anyone.
        let same_date = !request.contains_key(IF_NONE_MATCH) && request.contains_key(IF_MODIFIED_SINCE);
        let unchanged = self.status == 200 && (same_tag || (same_date && self.last_modified));
        let status = if unchanged { 304 } else { self.status };
        Answer { status: StatusCode::from_u16(status).unwrap(), headers, body }
    }

    fn headers(&self, body: &Body) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut put = |name: HeaderName, value: &str| {
            if !value.is_empty() {
                headers.append(name, HeaderValue::from_str(value).unwrap());
            }
        };
        put(CACHE_CONTROL, self.words.cache_control.text);
        put(EXPIRES, self.words.expires.text);
        put(HeaderName::from_static("samovar-cache-control"), self.words.targeted.text);
        put(VARY, self.words.vary);
        if self.etag {
            let by = [body.cookie.as_deref(), body.credentials.as_deref()].map(|one| one.unwrap_or("-"));
            put(
                ETAG,
                &format!("\"{}|{}|{}|{:?}\"", body.path, by[0], by[1], body.new_session).replace(' ', "_"),
            );
        }
        if self.last_modified {
            put(LAST_MODIFIED, "Mon, 01 Jan 2024 00:00:00 GMT");
        }
        headers
    }
}

/// The value of a cookie as a lenient origin reads it: cut at semicolons and at commas.
pub(crate) fn cookie_of(request: &HeaderMap, name: &str) -> Option<String> {
    let lines = request.get_all(COOKIE).iter().flat_map(|line| line.to_str().unwrap().split([';', ',']));
    lines
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|pair| pair.0.trim() == name)
        .map(|pair| pair.1.to_owned())
}
