//! A list of URLs, as `thirst content --list` and many others write them: one URL or path a line, in turn. With weights
//! before them, `3 /page`, they are chosen by weight.
//!
//! Not here: lists on the command line of `thirst run` (`plan::target`).

use super::scenario::{Part, Request, Scenario, Step, Transaction, constant, joined};
use super::source::Note;
use std::ops::Range;

/// Lines that are wrong are told up to this many: a file of something else has thousands of them.
const WRONG_MAX: usize = 10;

/// A list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Urls {
    /// One round that asks for all; with weights, one for each.
    pub scenario: Scenario,
    /// The server, if all name the same.
    pub server: Option<String>,
}

/// A URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url<'u> {
    /// TLS, host with brackets, and the port, if it is said; `None` for a path.
    pub server: Option<(bool, &'u str, Option<u16>)>,
    /// Path and query.
    pub path: String,
}

/// Whether the first line that says something looks like one of a list.
pub(super) fn is_list(text: &str) -> bool {
    let Some(line) = said(text).next().map(|(_, line)| line) else { return false };
    let url = weighted(line).1;
    let Some((before, _)) = url.split_once('/') else { return false };
    !url.starts_with("//") && !before.contains(['{', '=', '"', '“']) && !url.contains(char::is_whitespace)
}

/// Lines that say something, and where they begin.
fn said(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        let begin = at + line.len() - line.trim_start().len();
        at += line.len();
        (begin, line.trim())
    });
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The weight, if one is said, and the rest.
fn weighted(line: &str) -> (Option<&str>, &str) {
    match line.split_once(char::is_whitespace) {
        Some((weight, rest)) if weight.bytes().all(|byte| byte.is_ascii_digit()) => {
            (Some(weight), rest.trim_start())
        }
        _ => (None, line),
    }
}

/// Reads a list.
pub(super) fn read(text: &str, notes: &mut Vec<Note>) -> Urls {
    let mut requests: Vec<(Option<u64>, Request)> = Vec::new();
    let mut wrong = 0;
    for (at, line) in said(text) {
        let span = at..at + line.len();
        match one(line, &span) {
            Ok(read) => requests.push(read),
            Err(_) if wrong == WRONG_MAX => {
                notes.push(Note::error(span, "and so on: is this a list of URLs?", ""));
                return Urls::default();
            }
            Err((message, mend)) => {
                wrong += 1;
                notes.push(Note::error(span, message, mend));
            }
        }
    }
    let server = the_only(&requests);
    let mut scenario = Scenario::default();
    let step = |request| Step::Request(Box::new(request));
    if requests.iter().any(|(weight, _)| weight.is_some()) {
        for (weight, request) in requests {
            let (id, weight) = (request.id.clone(), weight.unwrap_or(1));
            scenario.transactions.push(Transaction { id, weight, steps: vec![step(request)] });
        }
        if wrong == 0 && scenario.transactions.iter().all(|round| round.weight == 0) {
            notes.push(Note::error(0..0, "no URL has a weight above 0: nothing would be asked", "1 /page"));
        }
    } else {
        let steps = requests.into_iter().map(|(_, request)| step(request)).collect();
        scenario.transactions.push(Transaction { id: "round 1".to_owned(), weight: 1, steps });
    }
    Urls { scenario, server }
}

/// Takes the servers off all requests: that of the run is meant.
pub(super) fn ask_the_run(scenario: &mut Scenario) {
    for step in scenario.transactions.iter_mut().flat_map(|round| round.steps.iter_mut()) {
        if let Step::Request(request) = step {
            (request.server, request.port) = (None, None);
        }
    }
}

type Wrong = (String, String);

fn one(line: &str, span: &Range<usize>) -> Result<(Option<u64>, Request), Wrong> {
    let (weight, url) = weighted(line);
    let weight = weight
        .map(|weight| {
            weight.parse().map_err(|_| (format!("`{weight}` is too large a weight"), String::new()))
        })
        .transpose()?;
    let url = split(url)?;
    let mut request = Request { span: span.clone(), ..Request::plain() };
    if let Some((secure, host, port)) = url.server {
        request.secure = secure;
        request.server = Some(joined([Part::Text(host.to_owned())]));
        request.port = port.or(Some(if secure { 443 } else { 80 }));
    }
    request.id.clone_from(&url.path);
    request.url = joined([Part::Text(url.path)]);
    Ok((weight, request))
}

/// The server of all, if there is but one, without a port that goes without saying.
fn the_only(requests: &[(Option<u64>, Request)]) -> Option<String> {
    let (_, first) = requests.first()?;
    let is_same = |request: &Request| {
        (&request.server, request.port, request.secure) == (&first.server, first.port, first.secure)
    };
    if !requests.iter().all(|(_, request)| is_same(request)) {
        return None;
    }
    let host = constant(first.server.as_ref()?)?;
    let usual = if first.secure { 443 } else { 80 };
    Some(match first.port {
        Some(port) if port != usual => format!("{host}:{port}"),
        _ => host,
    })
}

/// Takes a URL or a path apart.
///
/// # Errors
/// What is wrong with it, and what to do.
pub(super) fn split(url: &str) -> Result<Url<'_>, Wrong> {
    let wrong = |message: String, mend: &str| Err((message, mend.to_owned()));
    if let Some(odd) = url.chars().find(|c| !c.is_ascii_graphic()) {
        let mut bytes = [0; 4];
        let escaped: String = odd.encode_utf8(&mut bytes).bytes().map(|b| format!("%{b:02X}")).collect();
        return wrong(format!("{odd:?} cannot stand in a URL"), &format!("write {escaped}"));
    }
    let path = |tail: &str| {
        let tail = tail.split('#').next().unwrap_or_default();
        if tail.starts_with('/') { tail.to_owned() } else { format!("/{tail}") }
    };
    if url.starts_with('/') && !url.starts_with("//") {
        return Ok(Url { server: None, path: path(url) });
    }
    let (secure, rest) = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
        _ if url.starts_with("unix:") => {
            let mend = "write the path alone, and name the server when it is run";
            return wrong("a plan's servers have a host and a port".to_owned(), mend);
        }
        Some((scheme, _)) => return wrong(format!("the scheme `{scheme}` is not spoken"), "http or https"),
        None => {
            let mend = format!("write `http://{url}` or `/{url}`");
            return wrong("this is neither a URL nor a path".to_owned(), &mend);
        }
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return wrong(
            "user and password in a URL are not sent".to_owned(),
            "header = [\"Authorization: Basic …\"] in the plan",
        );
    }
    let after_host = if authority.starts_with('[') { authority.find(']').map_or(0, |at| at + 1) } else { 0 };
    let colon = authority.get(after_host..).and_then(|rest| rest.find(':')).map(|at| after_host + at);
    let (host, port) = match colon {
        Some(at) => (authority.get(..at).unwrap_or_default(), authority.get(at + 1..).unwrap_or_default()),
        None => (authority, ""),
    };
    let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match inside {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
    };
    if !is_host {
        return wrong(format!("`{host}` is no host"), "http://host:port/path");
    }
    let port = match port {
        "" => None,
        digits => match digits.parse() {
            Ok(port @ 1..) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(port),
            _ => return wrong(format!("`{digits}` is no port"), "a number from 1 to 65535"),
        },
    };
    Ok(Url { server: Some((secure, host, port)), path: path(tail) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<(Vec<String>, Option<String>), Vec<String>> {
        let mut notes = Vec::new();
        let mut read = read(text, &mut notes);
        if read.server.is_some() {
            ask_the_run(&mut read.scenario);
        }
        if !notes.is_empty() {
            return Err(notes
                .iter()
                .map(|note| format!("{}: {} ({})", note.span.start, note.message, note.mend))
                .collect());
        }
        let told = |round: &Transaction| {
            let each = round.steps.iter().map(|step| {
                let Step::Request(request) = step else { panic!() };
                let server = request.server.as_ref().map(|server| constant(server).unwrap());
                format!("{} {server:?} {:?} {}", request.id, request.port, request.secure)
            });
            format!("{} × {}: {}", round.weight, round.id, each.collect::<Vec<_>>().join("; "))
        };
        Ok((read.scenario.transactions.iter().map(told).collect(), read.server))
    }

    #[test]
    fn lists() {
        let one = |text: &str, server: Option<&str>| Ok((vec![text.to_owned()], server.map(str::to_owned)));
        assert_eq!(
            told("/a\n# no\n\n  /b?c#d \r\n"),
            one("1 × round 1: /a None None false; /b?c None None false", None)
        );
        assert_eq!(
            told("http://h:81/a\nHTTP://h:81\n"),
            one("1 × round 1: /a None None false; / None None false", Some("h:81"))
        );
        assert_eq!(told("https://[::1]:443/?q"), one("1 × round 1: /?q None None true", Some("[::1]")));
        assert_eq!(
            told("http://h/a\nhttps://h/b\n/c"),
            one(
                "1 × round 1: /a Some(\"h\") Some(80) false; /b Some(\"h\") Some(443) true; /c None None false",
                None
            )
        );
        assert_eq!(
            told("3\t/a\n/b\n"),
            Ok((
                vec!["3 × /a: /a None None false".to_owned(), "1 × /b: /b None None false".to_owned()],
                None
            ))
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, want) in [
            ("/a\n ok\n", "4: this is neither a URL nor a path (write `http://ok` or `/ok`)"),
            ("/a b", "0: ' ' cannot stand in a URL (write %20)"),
            ("3 4 /a", "0: ' ' cannot stand in a URL (write %20)"),
            ("/ü", "0: 'ü' cannot stand in a URL (write %C3%BC)"),
            ("//a", "0: this is neither a URL nor a path (write `http:////a` or `///a`)"),
            ("ftp://h/", "0: the scheme `ftp` is not spoken (http or https)"),
            ("http:///a", "0: `` is no host (http://host:port/path)"),
            ("http://[zz]/a", "0: `[zz]` is no host (http://host:port/path)"),
            ("http://[::1/a", "0: `[` is no host (http://host:port/path)"),
            ("http://h:0/a", "0: `0` is no port (a number from 1 to 65535)"),
            ("http://h:+1/a", "0: `+1` is no port (a number from 1 to 65535)"),
            (
                "http://u@h/",
                "0: user and password in a URL are not sent (header = [\"Authorization: Basic …\"] in the plan)",
            ),
            (
                "unix:/s:/a",
                "0: a plan's servers have a host and a port (write the path alone, and name the server when it is run)",
            ),
            ("99999999999999999999 /", "0: `99999999999999999999` is too large a weight ()"),
            ("0 /a", "0: no URL has a weight above 0: nothing would be asked (1 /page)"),
        ] {
            assert_eq!(told(text), Err(vec![want.to_owned()]), "{text}");
        }
        let noise = "nothing\n".repeat(100_000);
        assert_eq!(told(&format!("/\n{noise}")).unwrap_err().len(), WRONG_MAX + 1);
    }

    #[test]
    fn lists_are_known() {
        for text in ["/a", "# paths\n\n/a\n", "http://h/", "5 /a", "5\thttps://h/a", "unix:/s", "localhost/a"]
        {
            assert!(is_list(text), "{text}");
        }
        for text in
            ["", "// a comment", "scenario {}", "1 50\n2 50", "Duration 30s", "[run]", "URL = \"/\"", "a/ b"]
        {
            assert!(!is_list(text), "{text}");
        }
    }
}
