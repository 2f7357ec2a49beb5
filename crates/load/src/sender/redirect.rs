//! Where a redirect leads, and the request that follows it (RFC 9110 §15.4).
//!
//! Only to servers the plan knows: those that are asked, and the same hosts by http and https. Not here: sending it.

use super::client::Client;
use crate::plan::{Place, Plan, Request, Target};
use crate::wire::head;

/// Redirects of one request that are followed.
const HOPS_MAX: u32 = 10;

/// Whether a status leads elsewhere.
pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Makes the bytes of the request that follows a redirect, in [`Client::out`]; the server it goes to, and how many there
/// were. `None`: the answer says nowhere to go, and is the last.
pub(super) fn follow(
    plan: &Plan,
    client: &mut Client,
    request: &Request,
    status: u16,
) -> Result<Option<(usize, u32)>, String> {
    let mut location = None;
    head::fields(client.reader.head_text(), &mut |name, value| {
        if name.eq_ignore_ascii_case("location") {
            location = Some(String::from_utf8_lossy(value).into_owned());
        }
    });
    let Some(location) = location else { return Ok(None) };
    let hops = client.exchange.pending.hops + 1;
    if hops > HOPS_MAX {
        return Err(format!("more than {HOPS_MAX} redirects, the last to {location}"));
    }
    let bytes = match client.exchange.own_bytes {
        true => client.out.clone(),
        false => request.bytes.clone(),
    };
    let target = target(plan, client.origin, &path_of(&bytes), &location)?;
    let is_there =
        |origin: &&crate::plan::Origin| origin.place == target.place && origin.secure == target.secure;
    let Some(origin) = plan.origins.iter().position(|origin| is_there(&origin)) else {
        return Err(format!("it leads to {}, a server that was not named", target.place));
    };
    // 303 always, 301 and 302 of a POST: by GET and without the body, as all do (RFC 9110 §15.4.2, §15.4.3).
    let by_get = status == 303 || (matches!(status, 301 | 302) && request.method == "POST");
    client.out = rewritten(&bytes, &target, by_get && request.method != "HEAD");
    Ok(Some((origin, hops)))
}

/// What a reference in an answer for `path` of a server means (RFC 3986 §5.2, as far as it occurs).
fn target(plan: &Plan, origin: usize, path: &str, location: &str) -> Result<Target, String> {
    let Some(origin) = plan.origins.get(origin) else { return Err("the server is gone".to_owned()) };
    if location.contains("://") {
        return location.parse();
    }
    let scheme = if origin.secure { "https" } else { "http" };
    if let Some(rest) = location.strip_prefix("//") {
        return format!("{scheme}://{rest}").parse();
    }
    let before_query = path.split('?').next().unwrap_or(path);
    let joined = match location.chars().next() {
        Some('/') => location.to_owned(),
        Some('?') => format!("{before_query}{location}"),
        _ => {
            let folder = before_query.rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{folder}/{location}")
        }
    };
    match &origin.place {
        Place::Tcp { .. } => format!("{scheme}://{}{}", origin.name, without_dots(&joined)).parse(),
        Place::Unix(socket) => format!("unix:{}:{}", socket.display(), without_dots(&joined)).parse(),
    }
}

/// `.` and `..` taken out of a path (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let (path, query) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    let mut out: Vec<&str> = Vec::new();
    let mut ends_in_folder = false;
    for part in path.split('/').skip(1) {
        ends_in_folder = matches!(part, "." | "..");
        match part {
            "." => {}
            ".." => drop(out.pop()),
            _ => out.push(part),
        }
    }
    let slash = if ends_in_folder && !out.is_empty() { "/" } else { "" };
    format!("/{}{slash}{query}", out.join("/"))
}

/// The request once more, for another place: with its fields but for those that belonged to the old one.
fn rewritten(bytes: &[u8], target: &Target, by_get: bool) -> Vec<u8> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let (head, body) = bytes.split_at(end);
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().filter(|_| !by_get).unwrap_or("GET");
    let version = words.nth(1).unwrap_or("HTTP/1.1");
    let mut out = format!("{method} {} {version}\r\n", target.path);
    for line in lines {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "host" => out.push_str(&format!("Host: {}\r\n", target.authority)),
            // Cookies and validators are of the first request; secrets are not for another place.
            "cookie" | "if-none-match" | "if-modified-since" | "authorization" => {}
            "content-length" | "content-type" | "transfer-encoding" if by_get => {}
            _ => out.push_str(&format!("{line}\r\n")),
        }
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    if !by_get {
        out.extend_from_slice(body.get(4..).unwrap_or_default());
    }
    out
}

/// The path a request asks for.
pub(super) fn path_of(bytes: &[u8]) -> String {
    let mut words = bytes.split(|byte| *byte == b' ');
    words.nth(1).map_or_else(|| "/".to_owned(), |path| String::from_utf8_lossy(path).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacer::Schedule;
    use crate::plan::{Load, Pick, Wish};

    fn plan() -> Plan {
        let targets = ["http://h:81/a/b?c".parse().unwrap()];
        let load = Load::closed(1, 1, None, Schedule::plain(1.0, 0, None, 0));
        Plan::of_urls(&targets, &[], Pick::InTurn, &Wish::default(), load).unwrap()
    }

    #[test]
    fn references() {
        for (location, place, path) in [
            ("http://other/x", "other:80", "/x"),
            ("https://h/x?y#z", "h:443", "/x?y"),
            ("//other:8/x", "other:8", "/x"),
            ("/x", "h:81", "/x"),
            ("x", "h:81", "/a/x"),
            ("?d", "h:81", "/a/b?d"),
            ("../x", "h:81", "/x"),
            ("../../../x/./y/..", "h:81", "/x/"),
        ] {
            let target = target(&plan(), 0, "/a/b?c", location).unwrap();
            assert_eq!(
                (target.place.to_string().as_str(), target.path.as_str()),
                (place, path),
                "{location}"
            );
        }
        assert!(target(&plan(), 0, "/", "ftp://x/").is_err());
    }

    #[test]
    fn the_request_that_follows() {
        let target: Target = "http://h:81/new".parse().unwrap();
        let post = b"POST /old HTTP/1.1\r\nHost: h\r\nX: 1\r\nCookie: a=b\r\nAuthorization: s\r\nContent-Length: 3\r\n\r\na=1";
        let text = |by_get| String::from_utf8(rewritten(post, &target, by_get)).unwrap();
        assert_eq!(text(true), "GET /new HTTP/1.1\r\nHost: h:81\r\nX: 1\r\n\r\n");
        assert_eq!(text(false), "POST /new HTTP/1.1\r\nHost: h:81\r\nX: 1\r\nContent-Length: 3\r\n\r\na=1");
    }
}
