//! Texts with names in braces: `/new/{1}`, `https://{host}{path}`, `{client}`.
//!
//! Read once, when the configuration is; filled in per request. What a name stands for is settled before it comes
//! here: paths are normalised, queries were refused if they held what could end a line. Not here: what is done with
//! the result.

use crate::path::push_spelled;
use std::net::IpAddr;

/// A name in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Var {
    /// What the n-th star of the rule's `path` stands for, from 1.
    Star(usize),
    /// The path that the client asked for, normalised.
    Path,
    /// The query that the client sent; nothing, with the `?` before it, if there was none.
    Query,
    /// The site's host, with the port where it is not the scheme's own.
    Host,
    /// `http` or `https`.
    Scheme,
    /// The client's address; `unix:` on a unix socket.
    Client,
    /// The request's id, as `samovar trace ID` takes it.
    Id,
    /// The name of the user who signed in; nothing if nobody did.
    User,
}

impl Var {
    /// Whether it differs between clients, or between two requests of one, that ask for the same URL.
    pub fn is_of_the_asker(self) -> bool {
        matches!(self, Var::Client | Var::Id | Var::User)
    }

    fn named(name: &str) -> Result<Var, String> {
        Ok(match name {
            "path" => Var::Path,
            "query" => Var::Query,
            "host" => Var::Host,
            "scheme" => Var::Scheme,
            "client" => Var::Client,
            "id" => Var::Id,
            "user" => Var::User,
            number if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
                match number.parse() {
                    Ok(n @ 1..=99) => Var::Star(n),
                    _ => return Err(format!("{{{number}}}: stars are counted from 1 to 99")),
                }
            }
            other => {
                return Err(format!(
                    "{{{other}}} is no name that is known here: there are {{1}}, {{2}}… for the stars of `path`, \
                     {{path}}, {{query}}, {{host}}, {{scheme}}, {{client}}, {{id}} and {{user}}; a brace itself is \
                     written twice"
                ));
            }
        })
    }
}

/// What the names stand for in one request.
#[derive(Clone, Debug, Default)]
pub struct Vars {
    /// What the stars of the rule's `path` stand for.
    pub stars: Vec<String>,
    /// See [`Var::Path`].
    pub path: String,
    /// See [`Var::Query`].
    pub query: Option<String>,
    /// See [`Var::Host`].
    pub host: String,
    /// See [`Var::Scheme`].
    pub scheme: &'static str,
    /// See [`Var::Client`].
    pub client: Option<IpAddr>,
    /// See [`Var::Id`].
    pub id: u64,
    /// See [`Var::User`].
    pub user: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Var(Var),
}

/// A text with names in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

impl Template {
    /// Reads it. `{{` and `}}` are braces.
    ///
    /// # Errors
    /// What is wrong, and what to write.
    pub fn new(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else if let Some((name, after)) = from.strip_prefix('{').and_then(|t| t.split_once('}')) {
                let var = Var::named(name)?;
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Var(var));
                rest = after;
            } else {
                return Err("a brace stands alone; write it twice if it is meant as it is".to_owned());
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template { text: text.to_owned(), parts })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it.
    pub fn vars(&self) -> impl Iterator<Item = Var> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Var(var) => Some(*var),
            Part::Text(_) => None,
        })
    }

    /// The highest star it names; 0 for none.
    pub fn stars(&self) -> usize {
        let numbers = self.vars().map(|var| match var {
            Var::Star(n) => n,
            _ => 0,
        });
        numbers.max().unwrap_or(0)
    }

    /// Whether the text before the first name holds this.
    pub fn begins_with_text(&self, text: &str) -> bool {
        matches!(self.parts.first(), Some(Part::Text(first)) if first.starts_with(text))
    }

    /// Fills it in.
    pub fn fill(&self, vars: &Vars) -> String {
        self.filled(vars, false)
    }

    /// Fills in a URL: behind its `?` what came from a path is a value, and neither ends one nor begins another.
    pub fn fill_url(&self, vars: &Vars) -> String {
        self.filled(vars, true)
    }

    fn filled(&self, vars: &Vars, is_url: bool) -> String {
        use std::fmt::Write as _;
        let mut out = String::with_capacity(self.text.len() + 32);
        let of_path = |out: &mut String, text: &str| match is_url && out.contains('?') {
            true => push_value(out, text),
            false => out.push_str(text),
        };
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Var(Var::Star(n)) => {
                    of_path(&mut out, vars.stars.get(n.saturating_sub(1)).map_or("", String::as_str));
                }
                Part::Var(Var::Path) => of_path(&mut out, &vars.path),
                Part::Var(Var::Query) => match &vars.query {
                    Some(query) => out.push_str(query),
                    // A question mark with nothing behind it is another URL.
                    None if out.ends_with('?') => drop(out.pop()),
                    None => {}
                },
                Part::Var(Var::Host) => out.push_str(&vars.host),
                Part::Var(Var::Scheme) => out.push_str(vars.scheme),
                // Writing to a String cannot fail.
                Part::Var(Var::Client) => match vars.client {
                    Some(ip) => drop(write!(out, "{}", ip.to_canonical())),
                    None => out.push_str("unix:"),
                },
                Part::Var(Var::Id) => drop(write!(out, "{:016x}", vars.id)),
                Part::Var(Var::User) => out.push_str(&vars.user),
            }
        }
        out
    }
}

/// What means something in a query (as forms write it) is escaped; escapes stay what they are.
fn push_value(out: &mut String, text: &str) {
    for letter in text.chars() {
        match u8::try_from(letter) {
            Ok(byte @ (b'&' | b';' | b'=' | b'+' | b'#' | b'[' | b']')) => push_spelled(out, byte, false),
            _ => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vars() -> Vars {
        Vars {
            stars: vec!["one".into(), "two/three".into()],
            path: "/a/b".into(),
            query: Some("x=1".into()),
            host: "h.example:8080".into(),
            scheme: "https",
            client: Some([10, 0, 0, 1].into()),
            id: 0xab,
            user: "ann".into(),
        }
    }

    #[test]
    fn what_came_from_a_path_is_one_value_of_a_query() {
        let vars = Vars { stars: vec!["1&admin=1;x+y%26".into()], path: "/a=b&c".into(), ..vars() };
        for (text, wanted) in [
            ("/index.php?article={1}", "/index.php?article=1%26admin%3D1%3Bx%2By%26"),
            ("/login?from={path}", "/login?from=/a%3Db%26c"),
            ("/{1}?{query}", "/1&admin=1;x+y%26?x=1"),
        ] {
            assert_eq!(Template::new(text).unwrap().fill_url(&vars), wanted, "{text}");
        }
        // A field is no URL.
        assert_eq!(Template::new("?{path}").unwrap().fill(&vars), "?/a=b&c");
    }

    #[test]
    fn names_are_filled_in() {
        for (text, want) in [
            ("", ""),
            ("/new/{1}/{2}", "/new/one/two/three"),
            ("{3}", ""),
            ("{scheme}://{host}{path}?{query}", "https://h.example:8080/a/b?x=1"),
            ("{client} {id} {user}", "10.0.0.1 00000000000000ab ann"),
            ("{{1}} }}{{", "{1} }{"),
        ] {
            assert_eq!(Template::new(text).unwrap().fill(&vars()), want, "{text}");
        }
        let none = Vars { query: None, client: None, ..vars() };
        assert_eq!(Template::new("/x?{query}").unwrap().fill(&none), "/x");
        assert_eq!(Template::new("/x?a&{query}").unwrap().fill(&none), "/x?a&");
        assert_eq!(Template::new("{client}").unwrap().fill(&none), "unix:");
    }

    #[test]
    fn what_is_no_template_is_explained() {
        for (text, want) in [
            ("{", "alone"),
            ("}", "alone"),
            ("{a", "alone"),
            ("{0}", "from 1"),
            ("{100}", "from 1"),
            ("{ip}", "{client}"),
            ("{}", "no name"),
        ] {
            let said = Template::new(text).unwrap_err();
            assert!(said.contains(want), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_has_no_braces_is_kept(text in "\\PC{0,40}") {
            if let Ok(template) = Template::new(&text) {
                let filled = template.fill(&vars());
                if !text.contains(['{', '}']) {
                    prop_assert_eq!(filled, text);
                }
            }
        }
    }
}
