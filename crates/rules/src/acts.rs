//! What a rule does beside caching: whom it lets in, where it sends a request, what it changes.
//!
//! Values only, with what follows from them: whether the rule protects what it selects, whether the hot tier may
//! answer for it. A rule without any of it has none of this (`Rule::acts` is `None`), and pays for none. Not here: the
//! order in which it happens (`server::pipeline`, docs/rules.md).

use crate::access::Access;
use crate::fields::FieldEdit;
use crate::path::normalise_path;
use crate::rate::Rate;
use crate::readings::compared;
use crate::stars::Stars;
use crate::template::{Template, Var, Vars};
use http::{HeaderName, HeaderValue, StatusCode};
use std::path::PathBuf;

/// All a rule does beside caching.
#[derive(Clone, Debug, Default)]
pub struct Acts {
    /// `allow` and `deny`.
    pub access: Option<Access>,
    /// `rate`.
    pub rate: Option<Rate>,
    /// `basic_auth`.
    pub users: Option<BasicAuth>,
    /// `override` lists `protected`: what is protected may be shared among those let in.
    pub shares: bool,
    /// `redirect`.
    pub redirect: Option<Redirect>,
    /// `rewrite`.
    pub rewrite: Option<Template>,
    /// `request_fields`.
    pub request_fields: Vec<FieldEdit>,
    /// `response_fields`.
    pub response_fields: Vec<FieldEdit>,
    /// `client_fields`.
    pub client_fields: Vec<FieldEdit>,
    /// `error_pages`.
    pub error_pages: Vec<(Statuses, String)>,
    /// `map_cookie_path`, inner and outer.
    pub cookie_paths: Vec<(String, String)>,
    /// `map_cookie_domain`, inner and outer.
    pub cookie_domains: Vec<(String, String)>,
    /// How the stars of the rule's `path` are found, if any text names one.
    pub stars: Option<Stars>,
}

/// A rule's `basic_auth`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuth {
    /// What `WWW-Authenticate` says.
    pub challenge: HeaderValue,
    /// For people.
    pub realm: String,
    /// The file with the users.
    pub users: PathBuf,
    /// The origin is told the credentials, too.
    pub pass: bool,
}

/// A rule's `redirect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Where to.
    pub to: Template,
    /// 301, 302, 303, 307 or 308.
    pub status: StatusCode,
}

/// Statuses that an error page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// One.
    Exactly(StatusCode),
    /// 4 or 5: all of that class.
    Class(u16),
}

impl Statuses {
    /// Reads `404`, `4xx` or `5xx`.
    pub fn new(text: &str) -> Option<Statuses> {
        match text {
            "4xx" => Some(Statuses::Class(4)),
            "5xx" => Some(Statuses::Class(5)),
            _ if text.len() == 3 => {
                let status = text.parse().ok().and_then(|n| StatusCode::from_u16(n).ok())?;
                (400..600).contains(&status.as_u16()).then_some(Statuses::Exactly(status))
            }
            _ => None,
        }
    }
}

/// Where the origin is asked instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The path, normalised.
    pub path: String,
    /// The query.
    pub query: Option<String>,
}

impl Acts {
    /// Whether the rule lets in only some.
    pub fn protects(&self) -> bool {
        self.access.is_some() || self.users.is_some()
    }

    /// Whether it lets in only some, or only so often.
    pub fn guards(&self) -> bool {
        self.protects() || self.rate.is_some()
    }

    /// Whether nothing of it may be in shared caching.
    pub fn unshared(&self) -> bool {
        self.protects() && !self.shares
    }

    /// Whether each request is looked at, which the hot tier cannot do.
    pub fn gates(&self) -> bool {
        self.guards() || self.redirect.is_some()
    }

    /// Whether what clients get differs from request to request.
    pub fn client_fields_differ(&self) -> bool {
        // A query that the key leaves out, or the case of a path, may differ too.
        self.client_fields
            .iter()
            .filter_map(FieldEdit::value)
            .flat_map(Template::vars)
            .any(|var| !matches!(var, Var::Host | Var::Scheme))
    }

    /// Whether an answer that varies by these fields varies by who asks: by what the rule tells the origin of that, and no
    /// later request shows (RFC 9110 §12.5.5).
    pub fn varies_by_asker(&self, varies_by: &[HeaderName]) -> bool {
        let told = self
            .request_fields
            .iter()
            .filter(|edit| edit.value().is_some_and(|value| value.vars().any(Var::is_of_the_asker)));
        told.map(FieldEdit::name).any(|name| varies_by.contains(name))
    }

    /// The page for a status: the one for exactly it before the one for its class.
    pub fn error_page(&self, status: StatusCode) -> Option<&str> {
        let exactly = |of: &Statuses| *of == Statuses::Exactly(status);
        let class = |of: &Statuses| *of == Statuses::Class(status.as_u16() / 100);
        let find = |fits: &dyn Fn(&Statuses) -> bool| self.error_pages.iter().find(|(of, _)| fits(of));
        find(&exactly).or_else(|| find(&class)).map(|(_, path)| path.as_str())
    }

    /// What the stars of the rule's path stand for, if any text needs them.
    pub fn stars_in(&self, path: &str) -> Vec<String> {
        self.stars.as_ref().map_or(Vec::new(), |stars| stars.in_path(&compared(path)))
    }

    /// Where the origin is asked instead of where the client asked. Without a `?` in the rule's text the query stays.
    ///
    /// # Errors
    /// What it came to, if that is no path.
    pub fn rewritten(&self, vars: &Vars) -> Result<Option<Rewritten>, String> {
        let Some(template) = &self.rewrite else { return Ok(None) };
        let filled = template.fill_url(vars);
        let (path, query) = match filled.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned()).filter(|query| !query.is_empty())),
            None if template.text().contains('?') => (filled.as_str(), None),
            None => (filled.as_str(), vars.query.clone()),
        };
        let path = normalise_path(path)
            .map_err(|why| format!("the rule makes {path:?} of it: {}", why_text(why)))?;
        Ok(Some(Rewritten { path, query }))
    }
}

fn why_text(why: samovar_reason::Reject) -> &'static str {
    samovar_reason::Explain::text(why)
}

impl Redirect {
    /// The Location. What begins with one slash still does: a path with an empty first part (`//evil.example`) would name
    /// another host.
    pub fn location(&self, vars: &Vars) -> Option<HeaderValue> {
        let filled = self.to.fill_url(vars);
        let own = self.to.text().starts_with('/') || self.to.text().starts_with("{path}");
        let mut safe = String::with_capacity(filled.len());
        if own {
            safe.push('/');
        }
        let rest = if own { filled.trim_start_matches(['/', '\\']) } else { &filled };
        for letter in rest.chars() {
            match letter {
                '!'..='~' => safe.push(letter),
                other => {
                    let mut bytes = [0; 4];
                    for byte in other.encode_utf8(&mut bytes).bytes() {
                        safe.push_str(&format!("%{byte:02X}"));
                    }
                }
            }
        }
        HeaderValue::from_str(&safe).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::PathGlob;
    use proptest::prelude::*;

    fn vars(glob: &str, path: &str, query: Option<&str>) -> Vars {
        let glob = PathGlob::new(glob).unwrap();
        assert!(glob.matches(path), "{path}");
        Vars {
            stars: Stars::of(&glob).unwrap().in_path(path),
            path: path.into(),
            query: query.map(str::to_owned),
            host: "h".into(),
            scheme: "http",
            ..Vars::default()
        }
    }

    #[test]
    fn rewrites() {
        for (glob, path, query, to, want) in [
            ("/old/**", "/old/a/b", Some("x=1"), "/new/{1}", "/new/a/b?x=1"),
            ("/old/**", "/old/a/b", None, "/new/{1}", "/new/a/b"),
            ("/old/**", "/old/a", Some("x=1"), "/new/{1}?", "/new/a"),
            ("/old/**", "/old/a", Some("x=1"), "/new?p={1}&{query}", "/new?p=a&x=1"),
            ("/old/**", "/old/a", None, "/new?{query}", "/new"),
            ("/**", "/a b", None, "/index.php?q={path}", "/index.php?q=/a b"),
            ("/a/*", "/a/..", None, "/x/{1}", "/"),
            ("/a/*", "/a/x", None, "/straße", "/stra%C3%9Fe"),
        ] {
            let acts = Acts { rewrite: Some(Template::new(to).unwrap()), ..Acts::default() };
            let got = acts.rewritten(&vars(glob, path, query)).unwrap().unwrap();
            let shown = format!("{}{}", got.path, got.query.map(|q| format!("?{q}")).unwrap_or_default());
            assert_eq!(shown, want, "{glob} {path} {to}");
        }
        let above = Acts { rewrite: Some(Template::new("/{1}/{1}").unwrap()), ..Acts::default() };
        assert!(above.rewritten(&vars("/a/*", "/a/..", None)).unwrap_err().contains("/../.."));
        assert_eq!(Acts::default().rewritten(&Vars::default()), Ok(None));
    }

    #[test]
    fn redirects_stay_where_they_are_meant_to_go() {
        let to = |text: &str, vars: &Vars| {
            let redirect = Redirect { to: Template::new(text).unwrap(), status: StatusCode::FOUND };
            redirect.location(vars).unwrap().to_str().unwrap().to_owned()
        };
        for path in ["//evil.example/", "/\\evil.example/", "/\\/evil.example/", "/\t/evil.example/"] {
            let evil = vars("/**", path, None);
            for text in ["/{1}", "{path}", "//{1}", "/\\{1}"] {
                let location = to(text, &evil);
                // Browsers take a backslash for a slash.
                let second = location.chars().nth(1);
                assert!(
                    location.starts_with('/') && !matches!(second, Some('/' | '\\')),
                    "{text}: {location}"
                );
            }
        }
        let plain = vars("/old/**", "/old/a", Some("ü=\u{7f}"));
        assert_eq!(to("https://{host}/n/{1}?{query}", &plain), "https://h/n/a?%C3%BC=%7F");
        assert_eq!(to("https://x.example{path}", &plain), "https://x.example/old/a");
    }

    #[test]
    fn pages_by_status() {
        for (text, want) in [
            ("404", Some(Statuses::Exactly(StatusCode::NOT_FOUND))),
            ("4xx", Some(Statuses::Class(4))),
            ("5xx", Some(Statuses::Class(5))),
            ("3xx", None),
            ("200", None),
            ("600", None),
            ("", None),
        ] {
            assert_eq!(Statuses::new(text), want, "{text}");
        }
        let pages = [("5xx", "/5"), ("404", "/4"), ("4xx", "/c")];
        let acts = Acts {
            error_pages: pages.map(|(of, path)| (Statuses::new(of).unwrap(), path.to_owned())).to_vec(),
            ..Acts::default()
        };
        let page = |n: u16| acts.error_page(StatusCode::from_u16(n).unwrap());
        assert_eq!((page(404), page(403), page(503), page(200)), (Some("/4"), Some("/c"), Some("/5"), None));
    }

    proptest! {
        #[test]
        fn rewriting_gives_a_path_or_a_reason(
            to in "/([a-z/.]|\\{1\\}|\\{path\\}|\\{query\\}|\\?){0,8}",
            path in "/[a-z/.%]{0,12}",
            query in prop::option::of("[!-~]{0,9}"),
        ) {
            let Ok(path) = crate::normalise_path(&path) else { return Ok(()) };
            let acts = Acts { rewrite: Some(Template::new(&to).unwrap()), ..Acts::default() };
            let vars = Vars { query, ..vars("/**", &path, None) };
            if let Ok(Some(rewritten)) = acts.rewritten(&vars) {
                prop_assert_eq!(crate::normalise_path(&rewritten.path), Ok(rewritten.path.clone()));
                prop_assert!(!rewritten.path.contains('?'));
            }
        }
    }
}
