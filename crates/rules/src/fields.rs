//! Fields set, appended and removed by a rule, and which fields a rule may not touch.
//!
//! Three places, three lists: the request towards the origin, the origin's answer before it is stored, the answer to the
//! client. What steers the cache or frames a message is refused where the configuration is read, with why. Not here:
//! when in a request's life each list is applied (`server::pipeline`).

use crate::template::{Template, Vars};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// One change of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldEdit {
    /// In place of all there are.
    Set(HeaderName, Template),
    /// Beside those there are.
    Append(HeaderName, Template),
    /// None.
    Remove(HeaderName),
}

impl FieldEdit {
    /// The field.
    pub fn name(&self) -> &HeaderName {
        match self {
            FieldEdit::Set(name, _) | FieldEdit::Append(name, _) | FieldEdit::Remove(name) => name,
        }
    }

    /// Its value.
    pub fn value(&self) -> Option<&Template> {
        match self {
            FieldEdit::Set(_, value) | FieldEdit::Append(_, value) => Some(value),
            FieldEdit::Remove(_) => None,
        }
    }
}

/// Carries the changes out, in their order.
pub fn edit_fields(edits: &[FieldEdit], vars: &Vars, headers: &mut HeaderMap) {
    for edit in edits {
        match edit {
            FieldEdit::Set(name, value) => {
                if let Some(value) = filled(value, vars) {
                    remove_aliases(name, headers);
                    headers.insert(name.clone(), value);
                }
            }
            FieldEdit::Append(name, value) => {
                if let Some(value) = filled(value, vars) {
                    headers.append(name.clone(), value);
                }
            }
            FieldEdit::Remove(name) => {
                remove_aliases(name, headers);
                headers.remove(name);
            }
        }
    }
}

/// Applications that know fields as variables (CGI, WSGI, Rack) take `X_User` for `X-User`: who changes one changes both.
fn remove_aliases(name: &HeaderName, headers: &mut HeaderMap) {
    let aliases: Vec<HeaderName> =
        headers.keys().filter(|other| is_alias(other.as_str(), name.as_str())).cloned().collect();
    for alias in aliases {
        headers.remove(alias);
    }
}

/// Whether a field's name is another, but for `_`, or another character that is neither letter nor digit, where that has
/// `-`.
fn is_alias(name: &str, of: &str) -> bool {
    let same = |(one, other): (u8, u8)| one == other || (other == b'-' && !one.is_ascii_alphanumeric());
    name.len() == of.len() && name != of && name.bytes().zip(of.bytes()).all(same)
}

/// The same for an origin's answer. A 304 repeats only some fields of what it confirms (RFC 9110 §15.4.5): to append to one
/// that it does not repeat would put the addition in the place of what is stored.
pub fn edit_answer(edits: &[FieldEdit], vars: &Vars, status: StatusCode, headers: &mut HeaderMap) {
    for edit in edits {
        let silent = status == StatusCode::NOT_MODIFIED && !headers.contains_key(edit.name());
        if !(silent && matches!(edit, FieldEdit::Append(..))) {
            edit_fields(std::slice::from_ref(edit), vars, headers);
        }
    }
}

/// A query may hold bytes that no field value may: then there is no field rather than a wrong one.
fn filled(value: &Template, vars: &Vars) -> Option<HeaderValue> {
    HeaderValue::from_bytes(value.fill(vars).as_bytes()).ok()
}

/// The names, for traces.
pub fn edited_names(edits: &[FieldEdit]) -> String {
    let names: Vec<String> = edits
        .iter()
        .map(|edit| match edit {
            FieldEdit::Set(name, _) => name.to_string(),
            FieldEdit::Append(name, _) => format!("+{name}"),
            FieldEdit::Remove(name) => format!("-{name}"),
        })
        .collect();
    names.join(", ")
}

/// Where fields are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldSide {
    /// `request_fields`.
    Request,
    /// `response_fields`.
    Response,
    /// `client_fields`.
    Client,
}

const FRAMING: &str =
    "it frames the message or belongs to one connection, and is written by whoever sends it";
const CONDITION: &str = "the cache asks and answers with it";
const FORWARDED: &str = "it is written anew for each request, so that nobody can be made to believe it";
const STEERS: &str = "it says what may be stored, and for whom: a rule says that with `for`, `when_silent`, `max_lifetime`, \
    `set_cookie` and `override`, and what clients are told with `client_cache_control` or `client_fields`";
const METHOD: &str =
    "applications take it for the method, and what is stored is the response to the request's own";
const VALIDATOR: &str = "conditions are compared with it; it can be removed in `response_fields`";
const BODY: &str = "it belongs to the body that is stored; set it in `response_fields`";

/// Fields of one hop or of the framing, and those that every server writes for itself.
const NEVER: [(&str, &str); 16] = [
    ("connection", FRAMING),
    ("content-length", FRAMING),
    ("transfer-encoding", FRAMING),
    ("trailer", FRAMING),
    ("te", FRAMING),
    ("upgrade", FRAMING),
    ("keep-alive", FRAMING),
    ("proxy-connection", FRAMING),
    ("proxy-authenticate", FRAMING),
    ("proxy-authorization", FRAMING),
    ("content-range", FRAMING),
    ("date", "it is the moment the answer was made"),
    ("age", "it is counted from when the answer was made"),
    ("host", "the origin's is said with the upstream's `host`"),
    ("cache-status", "it is ours to write; `cache_status = false` leaves it out"),
    ("surrogate-capability", "it is ours to write"),
];

const IN_REQUESTS: [(&str, &str); 17] = [
    ("range", CONDITION),
    ("if-match", CONDITION),
    ("if-none-match", CONDITION),
    ("if-modified-since", CONDITION),
    ("if-unmodified-since", CONDITION),
    ("if-range", CONDITION),
    ("cache-control", CONDITION),
    ("expect", "it is answered here"),
    ("proxy", "libraries take it for their own configuration"),
    ("forwarded", FORWARDED),
    ("via", FORWARDED),
    ("x-forwarded-for", FORWARDED),
    ("x-forwarded-proto", FORWARDED),
    ("x-forwarded-host", FORWARDED),
    ("x-forwarded-port", FORWARDED),
    ("x-forwarded-server", FORWARDED),
    ("x-real-ip", FORWARDED),
];

const IN_RESPONSES: [(&str, &str); 9] = [
    ("cache-control", STEERS),
    ("expires", STEERS),
    ("pragma", STEERS),
    ("cdn-cache-control", STEERS),
    ("samovar-cache-control", STEERS),
    ("surrogate-control", STEERS),
    ("set-cookie", STEERS),
    ("vary", STEERS),
    ("content-encoding", "it says how the body is to be read"),
];

const TO_CLIENTS: [(&str, &str); 6] = [
    ("etag", VALIDATOR),
    ("last-modified", VALIDATOR),
    ("content-type", BODY),
    ("content-encoding", BODY),
    ("accept-ranges", BODY),
    ("vary", "caches between us and the client need it as it is; `Vary` is appended to in `response_fields`"),
];

/// Why a rule may not change a field of this name there; `verb`: `set`, `append` or `remove`. `None` if it may.
pub fn refused_name(side: FieldSide, verb: &str, name: &str) -> Option<&'static str> {
    let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { return Some("it is no field name") };
    let value = || Template::new("").ok();
    let edit = match verb {
        "remove" => Some(FieldEdit::Remove(name)),
        "append" => value().map(|value| FieldEdit::Append(name, value)),
        _ => value().map(|value| FieldEdit::Set(name, value)),
    };
    refused_field(side, &edit?)
}

/// Why a rule may not make this change there; `None` if it may.
pub fn refused_field(side: FieldSide, edit: &FieldEdit) -> Option<&'static str> {
    let name = edit.name().as_str();
    let listed =
        |list: &[(&str, &'static str)]| list.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
    if let Some(why) = listed(&NEVER) {
        return Some(why);
    }
    match (side, edit) {
        (FieldSide::Request, FieldEdit::Set(..) | FieldEdit::Append(..))
            if samovar_policy::overrides_method(name.as_bytes()) =>
        {
            Some(METHOD)
        }
        (FieldSide::Request, _) => listed(&IN_REQUESTS),
        // More to vary by keeps more apart.
        (FieldSide::Response, FieldEdit::Append(..)) if name == "vary" => None,
        (FieldSide::Response, FieldEdit::Set(..) | FieldEdit::Append(..))
            if matches!(name, "etag" | "last-modified") =>
        {
            Some(VALIDATOR)
        }
        (FieldSide::Response, _) => listed(&IN_RESPONSES),
        (FieldSide::Client, _) => listed(&TO_CLIENTS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str) -> FieldEdit {
        let (word, rest) = text.split_once(' ').unwrap();
        let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        let value = Template::new(value).unwrap();
        match word {
            "set" => FieldEdit::Set(name, value),
            "append" => FieldEdit::Append(name, value),
            _ => FieldEdit::Remove(name),
        }
    }

    fn map(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn in_their_order() {
        let edits = ["set A={path}", "append A=2", "remove B", "append C=3", "set D=4", "remove D"].map(edit);
        let mut headers = map(&[("a", "x"), ("a", "y"), ("b", "1"), ("c", "1")]);
        let vars = Vars { path: "/p".into(), ..Vars::default() };
        edit_fields(&edits, &vars, &mut headers);
        assert_eq!(headers, map(&[("a", "/p"), ("a", "2"), ("c", "1"), ("c", "3")]));
        assert_eq!(edited_names(&edits), "a, +a, -b, +c, d, -d");
    }

    #[test]
    fn a_304_is_not_appended_to_what_it_does_not_repeat() {
        let edits = ["append A=2", "set B=3", "append C=4"].map(edit);
        let mut headers = map(&[("a", "1")]);
        edit_answer(&edits, &Vars::default(), StatusCode::NOT_MODIFIED, &mut headers);
        assert_eq!(headers, map(&[("a", "1"), ("a", "2"), ("b", "3")]));
    }

    #[test]
    fn a_value_that_no_field_may_have_is_left_out() {
        let vars = Vars { query: Some("a\nb".into()), ..Vars::default() };
        let mut headers = HeaderMap::new();
        edit_fields(&[edit("set A={query}")], &vars, &mut headers);
        assert!(headers.is_empty());
    }

    #[test]
    fn what_may_not_be_touched() {
        use FieldSide::{Client, Request, Response};
        for (side, text, refused) in [
            (Request, "set Content-Length=1", true),
            (Response, "remove Transfer-Encoding", true),
            (Client, "set Connection=close", true),
            (Client, "set Age=0", true),
            (Client, "remove Date", true),
            (Request, "set Host=x", true),
            (Request, "set X-Forwarded-For=x", true),
            (Request, "remove If-None-Match", true),
            (Request, "set Authorization=x", false),
            (Request, "remove Cookie", false),
            (Request, "set X-A=b", false),
            (Request, "set X-HTTP-Method-Override=HEAD", true),
            (Request, "append X_Method_Override=HEAD", true),
            (Request, "remove X-HTTP-Method-Override", false),
            (Response, "set X-HTTP-Method-Override=HEAD", false),
            (Response, "set Cache-Control=x", true),
            (Response, "remove Set-Cookie", true),
            (Response, "remove Vary", true),
            (Response, "append Vary=Accept", false),
            (Response, "remove ETag", false),
            (Response, "set ETag=x", true),
            (Response, "set Content-Type=x", false),
            (Client, "set Content-Type=x", true),
            (Client, "remove ETag", true),
            (Client, "set Cache-Control=no-store", false),
            (Client, "set Strict-Transport-Security=x", false),
            (Client, "remove Server", false),
        ] {
            assert_eq!(refused_field(side, &edit(text)).is_some(), refused, "{side:?} {text}");
        }
    }

    /// What the origin is told of the client's address and of the way here is ours to say.
    #[test]
    fn nobody_writes_who_the_client_is() {
        for name in [
            "Forwarded",
            "Via",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Forwarded-Port",
            "X-Forwarded-Proto",
            "X-Forwarded-Server",
            "X-Real-IP",
        ] {
            for word in ["set", "append", "remove"] {
                let text = format!("{word} {name}=1");
                assert!(refused_field(FieldSide::Request, &edit(&text)).is_some(), "{text}");
            }
        }
    }
}
