//! What the texts of rewrites, redirects, field changes, rates and error pages may look like. Pure.
//!
//! A text with names is filled in with samples, so that what could never be a path or a field value is refused when the
//! configuration is read. Not here: the other kinds of texts (`format`), what the names stand for (`rules::template`).

use super::format::{Complaint, field_value};
use samovar_rules::{RateBy, Statuses, Template, Var, Vars, normalise_path};

/// The text as a template.
fn template(text: &str) -> Result<Template, Complaint> {
    Template::new(text).map_err(|why| Complaint::hint("cannot be read", why))
}

/// Something for each name.
fn samples() -> Vars {
    Vars {
        stars: vec!["x".to_owned(); 99],
        path: "/x".to_owned(),
        query: Some("x".to_owned()),
        host: "x.example".to_owned(),
        scheme: "http",
        client: None,
        id: 0,
        user: "x".to_owned(),
    }
}

/// The asker is not in the key, so what goes to the origin instead of the URL must not depend on it.
fn of_the_url(template: &Template) -> Result<(), Complaint> {
    match template.vars().find(|var| var.is_of_the_asker()) {
        None => Ok(()),
        Some(_) => Err(Complaint::hint(
            "names who asks",
            "{client}, {id} and {user} are for field values; here there are {1}…, {path}, {query}, {host}, {scheme}",
        )),
    }
}

pub(super) fn rewrite(text: &str) -> Result<(), Complaint> {
    let template = template(text)?;
    of_the_url(&template)?;
    let begins = text.starts_with('/') || text.starts_with("{path}");
    if !begins {
        return Err(Complaint::hint("is not a path", "it begins with a slash: \"/new/{1}\""));
    }
    url_text(&template.fill(&samples()))
}

/// What a path and a query can be made of.
fn url_text(text: &str) -> Result<(), Complaint> {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    if text.contains('#') {
        return Err(Complaint::hint(
            "has a fragment",
            "what follows `#` never leaves the browser; leave it out",
        ));
    }
    if normalise_path(path).is_err() || query.bytes().any(|b| b <= b' ' || b >= 0x7f) {
        return Err(Complaint::hint("is not a path", "write what is unusual in it as percent escapes"));
    }
    Ok(())
}

pub(super) fn redirect_to(text: &str) -> Result<(), Complaint> {
    let template = template(text)?;
    of_the_url(&template)?;
    let filled = template.fill(&samples());
    if text.starts_with('/') || text.starts_with("{path}") {
        if text.starts_with("//") {
            return Err(Complaint::hint(
                "begins with two slashes",
                "name the scheme, or begin with one slash",
            ));
        }
        return url_text(filled.split('#').next().unwrap_or(&filled));
    }
    let host = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
        .or_else(|| text.strip_prefix("{scheme}://"))
        .map(|rest| rest.split(['/', '?', '#']).next().unwrap_or(rest));
    let Some(host) = host else {
        return Err(Complaint::hint("is not a URL", "begin with `https://`, `http://` or a slash"));
    };
    // `{path}` ends the host, for it begins with a slash.
    let host = host.split("{path}").next().unwrap_or(host);
    if host.is_empty() || host.replace("{host}", "").contains(['{', '}', '@']) {
        return Err(Complaint::hint(
            "lets the client choose where it leads",
            "in the host only {host} is filled in: `https://{host}{path}`",
        ));
    }
    if filled.bytes().any(|b| b <= b' ' || b >= 0x7f) {
        return Err(Complaint::hint("is not a URL", "write what is unusual in it as percent escapes"));
    }
    Ok(())
}

pub(super) fn field_template(text: &str) -> Result<(), Complaint> {
    field_value(&template(text)?.fill(&samples()))
}

pub(super) fn url_path(text: &str) -> Result<(), Complaint> {
    if !text.starts_with('/') || text.contains(['{', '}']) {
        return Err(Complaint::hint("is not a path", "it begins with a slash: \"/errors/404.html\""));
    }
    url_text(text)
}

pub(super) fn statuses(text: &str) -> Result<(), Complaint> {
    match Statuses::new(text) {
        Some(_) => Ok(()),
        None => Err(Complaint::hint(
            "is not the status of an error",
            "\"404\", or \"4xx\" or \"5xx\" for all of a class",
        )),
    }
}

pub(super) fn rate_by(text: &str) -> Result<(), Complaint> {
    match RateBy::new(text) {
        Some(_) => Ok(()),
        None => Err(Complaint::hint(
            "is nothing to count by",
            "\"client\", \"header:NAME\", \"query:NAME\", \"cookie:NAME\" or \"all\"",
        )),
    }
}

/// A quoted string of RFC 9110 §5.6.4.
pub(super) fn realm(text: &str) -> Result<(), Complaint> {
    field_value(text)?;
    match text.contains(['"', '\\']) {
        true => {
            Err(Complaint::hint("holds a quote or a backslash", "plain letters, digits and spaces are best"))
        }
        false => Ok(()),
    }
}

/// The names of a template that stand for stars of the rule's path: the highest.
pub(super) fn stars_of(text: &str) -> usize {
    Template::new(text).map_or(0, |template| template.stars())
}

/// Whether a text names who asks.
pub(super) fn names_asker(template: &Template) -> bool {
    template.vars().any(Var::is_of_the_asker)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(result: Result<(), Complaint>) -> String {
        result.err().map_or(String::new(), |c| format!("{} {}", c.what, c.hint.unwrap_or_default()))
    }

    #[test]
    fn table() {
        type Check = fn(&str) -> Result<(), Complaint>;
        let rows: [(Check, &str, &str); 33] = [
            (rewrite, "/new/{1}", ""),
            (rewrite, "{path}?x=1&{query}", ""),
            (rewrite, "new/{1}", "begins with a slash"),
            (rewrite, "/new/{client}", "field values"),
            (rewrite, "/new/{ip}", "{client}"),
            (rewrite, "/new/#x", "fragment"),
            (rewrite, "/new/../..", "not a path"),
            (rewrite, "/new?a b", "escapes"),
            (redirect_to, "/new/{1}", ""),
            (redirect_to, "/new/{1}#top", ""),
            (redirect_to, "https://new.example/{1}", ""),
            (redirect_to, "https://{host}{path}?{query}", ""),
            (redirect_to, "{scheme}://www.{host}/", ""),
            (redirect_to, "https://{1}/", "choose"),
            (redirect_to, "https://{1}.example/", "choose"),
            (redirect_to, "https://good.example@{host}/", "choose"),
            (redirect_to, "//new.example/", "two slashes"),
            (redirect_to, "new.example/", "begin with"),
            (redirect_to, "javascript:alert(1)", "begin with"),
            (redirect_to, "https:///x", "choose"),
            (field_template, "{client} {{}}", ""),
            (field_template, "a\nb", "one line"),
            (url_path, "/errors/404.html?x", ""),
            (url_path, "errors", "slash"),
            (url_path, "/{1}", "not a path"),
            (statuses, "404", ""),
            (statuses, "5xx", ""),
            (statuses, "200", "of an error"),
            (rate_by, "header:X-Api-Key", ""),
            (rate_by, "ip", "client"),
            (realm, "Staff only", ""),
            (realm, "a\"b", "quote"),
            (realm, "ä", "visible ASCII"),
        ];
        for (check, text, want) in rows {
            let said = said(check(text));
            assert!(if want.is_empty() { said.is_empty() } else { said.contains(want) }, "{text}: {said}");
        }
    }
}
