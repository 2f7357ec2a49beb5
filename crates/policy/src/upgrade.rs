//! A request for another protocol (`Upgrade`, RFC 9110 §7.8): whether it may be passed on, and whether what the upstream
//! changed to is what was asked for.
//!
//! Not here: the bytes of the other protocol; nobody here knows any.

use crate::syntax::{elements, is_tchar, trim_ows};
use http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use http::{Method, Version};
use samovar_reason::Upgrade;

/// Most protocols that one request may name; browsers name one.
const PROTOCOLS_MAX: usize = 8;

const WEBSOCKET: &[u8] = b"websocket";
const KEY: HeaderName = HeaderName::from_static("sec-websocket-key");
const ACCEPT: HeaderName = HeaderName::from_static("sec-websocket-accept");

/// The protocols to ask the upstream for, or why none is; `None` where the client asked for none.
///
/// Another version of HTTP, or TLS, is taken out of the list: the requests inside would be seen by no rule and no limit,
/// and the upstream would take them for ours.
pub fn upgrade_to_ask_for(
    method: &Method,
    version: Version,
    headers: &HeaderMap,
    has_body: bool,
    allowed: bool,
) -> Option<Result<HeaderValue, Upgrade>> {
    if !headers.contains_key(UPGRADE) {
        return None;
    }
    Some(if version != Version::HTTP_11 {
        Err(Upgrade::OldVersion)
    } else if !is_named(headers) {
        Err(Upgrade::NotNamed)
    } else if !allowed {
        Err(Upgrade::Off)
    } else if *method != Method::GET || has_body {
        Err(Upgrade::NotGet)
    } else {
        protocols(headers)
    })
}

fn is_named(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(CONNECTION).iter();
    lines.flat_map(|line| elements(line.as_bytes())).any(|word| word.eq_ignore_ascii_case(b"upgrade"))
}

/// The list anew, in its order.
fn protocols(headers: &HeaderMap) -> Result<HeaderValue, Upgrade> {
    let mut list = Vec::new();
    let lines = headers.get_all(UPGRADE).iter();
    for (at, protocol) in lines.flat_map(|line| elements(line.as_bytes())).enumerate() {
        if at >= PROTOCOLS_MAX || !is_protocol(protocol) {
            return Err(Upgrade::Malformed);
        }
        if is_another_http(protocol) {
            continue;
        }
        if !list.is_empty() {
            list.extend_from_slice(b", ");
        }
        list.extend_from_slice(protocol);
    }
    match (list.is_empty(), lines_are_empty(headers)) {
        (true, true) => Err(Upgrade::Malformed),
        (true, false) => Err(Upgrade::AnotherHttp),
        _ => HeaderValue::from_bytes(&list).map_err(|_| Upgrade::Malformed),
    }
}

fn lines_are_empty(headers: &HeaderMap) -> bool {
    headers.get_all(UPGRADE).iter().all(|line| elements(line.as_bytes()).next().is_none())
}

/// `name` or `name/version`, both tokens.
fn is_protocol(text: &[u8]) -> bool {
    let token = |part: &[u8]| !part.is_empty() && part.iter().all(|byte| is_tchar(*byte));
    let mut parts = text.splitn(2, |byte| *byte == b'/');
    parts.next().is_some_and(token) && parts.next().is_none_or(token)
}

fn name_of(protocol: &[u8]) -> &[u8] {
    protocol.split(|byte| *byte == b'/').next().unwrap_or_default()
}

fn is_another_http(protocol: &[u8]) -> bool {
    let name = name_of(protocol);
    [&b"h2c"[..], b"h2", b"h3", b"http", b"https", b"tls", b"ssl"]
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}

/// What a 101 changed to, if it is among what was asked for; else what is wrong with it. `said` are the fields of the 101,
/// `Upgrade` among them.
///
/// # Errors
/// In words.
pub fn upgraded_to(asked: &HeaderValue, said: &HeaderMap) -> Result<HeaderValue, String> {
    let mut named = said.get_all(UPGRADE).iter();
    let (Some(named), None) = (named.next(), named.next()) else {
        return Err("101 without exactly one Upgrade field".to_owned());
    };
    let mut asked = elements(asked.as_bytes()).map(name_of);
    let name = name_of(trim_ows(named.as_bytes()));
    if !asked.any(|asked| asked.eq_ignore_ascii_case(name)) {
        let name = String::from_utf8_lossy(name);
        return Err(format!("101 to `{name}`, which was not asked for"));
    }
    // RFC 6455 §4.2.2: what no upstream says that only echoes a status.
    if name.eq_ignore_ascii_case(WEBSOCKET) && !said.contains_key(&ACCEPT) {
        return Err(format!("101 to WebSocket without {ACCEPT}, the answer to {KEY}"));
    }
    Ok(named.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    fn asked(fields: &[(&'static str, &'static str)]) -> Option<Result<String, Upgrade>> {
        let found = upgrade_to_ask_for(&Method::GET, Version::HTTP_11, &head(fields), false, true)?;
        Some(found.map(|value| value.to_str().unwrap().to_owned()))
    }

    #[test]
    fn what_is_passed_on() {
        assert_eq!(asked(&[("connection", "upgrade")]), None);
        let rows: [(&str, Result<&str, Upgrade>); 11] = [
            ("websocket", Ok("websocket")),
            ("WebSocket", Ok("WebSocket")),
            ("a/1, b ,, c", Ok("a/1, b, c")),
            ("h2c", Err(Upgrade::AnotherHttp)),
            ("H2C, HTTP/2.0, TLS/1.0", Err(Upgrade::AnotherHttp)),
            ("h2c, websocket", Ok("websocket")),
            ("", Err(Upgrade::Malformed)),
            (" , ", Err(Upgrade::Malformed)),
            ("web socket", Err(Upgrade::Malformed)),
            ("a/b/c", Err(Upgrade::Malformed)),
            ("a,b,c,d,e,f,g,h,i", Err(Upgrade::Malformed)),
        ];
        for (value, want) in rows {
            let found = asked(&[("connection", "keep-alive, Upgrade"), ("upgrade", value)]).unwrap();
            assert_eq!(found.as_deref(), want.as_ref().map(|text| *text), "{value:?}");
        }
        let two =
            asked(&[("connection", "x"), ("connection", "upgrade"), ("upgrade", "a"), ("upgrade", "b")]);
        assert_eq!(two, Some(Ok("a, b".to_owned())));
        assert_eq!(asked(&[("connection", "close"), ("upgrade", "websocket")]), Some(Err(Upgrade::NotNamed)));
        assert_eq!(asked(&[("upgrade", "websocket")]), Some(Err(Upgrade::NotNamed)));
    }

    #[test]
    fn who_may_not() {
        let headers = head(&[("connection", "upgrade"), ("upgrade", "websocket")]);
        let ask = |method, version, body, allowed| {
            upgrade_to_ask_for(&method, version, &headers, body, allowed).unwrap().unwrap_err()
        };
        assert_eq!(ask(Method::GET, Version::HTTP_10, false, true), Upgrade::OldVersion);
        assert_eq!(ask(Method::GET, Version::HTTP_11, false, false), Upgrade::Off);
        assert_eq!(ask(Method::GET, Version::HTTP_11, true, true), Upgrade::NotGet);
        assert_eq!(ask(Method::POST, Version::HTTP_11, false, true), Upgrade::NotGet);
    }

    #[test]
    fn what_was_changed_to() {
        let asked = HeaderValue::from_static("websocket, chat/2");
        let said = |fields: &[(&'static str, &'static str)]| upgraded_to(&asked, &head(fields));
        assert_eq!(said(&[("upgrade", "CHAT/3")]).unwrap(), "CHAT/3");
        assert!(said(&[("upgrade", "websocket"), ("sec-websocket-accept", "x")]).is_ok());
        for bad in [
            &[][..],
            &[("upgrade", "websocket")],
            &[("upgrade", "irc")],
            &[("upgrade", "")],
            &[("upgrade", "chat/2"), ("upgrade", "chat/2")],
            &[("upgrade", "chat, websocket")],
        ] {
            assert!(said(bad).is_err(), "{bad:?}");
        }
    }
}
