//! Which member a client's session is on, as httpd's `stickysession` reads it: a cookie or a variable of the URL, whose
//! value ends in a separator and the member's route (`ROUTEID=.w1`, `JSESSIONID=8F3A….w1`, `;jsessionid=8F3A….w1`).
//!
//! Not here: whether that member can be used.

/// Where the route stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// The cookie's name; empty for none.
    pub cookie: String,
    /// The name of the variable in the query, or in the path after `;`; empty for none.
    pub query: String,
    /// What stands before the route.
    pub separator: char,
    /// Whether the cookie is ours to set when there is none, or it names another member.
    pub set: bool,
    /// The path it is set for.
    pub path: String,
}

/// The route a request names. The URL's word is taken before the cookie's, but a word that names a member (`is_one`) before
/// any that does not: httpd takes the URL's whatever it says, so that any link with such a variable costs a visitor their
/// session. `cookies` are the values of all `Cookie` fields.
pub fn route_of<'a>(
    sticky: &Sticky,
    path: &'a str,
    query: Option<&'a str>,
    cookies: impl Iterator<Item = &'a str>,
    is_one: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let named = |pair: &'a str, name: &str| {
        let (key, value) = pair.split_once('=')?;
        (!name.is_empty() && key.trim() == name).then(|| value.trim().trim_matches('"'))
    };
    let of_path = path.split(';').skip(1).filter_map(|pair| {
        let pair = pair.split('/').next().unwrap_or(pair);
        named(pair, &sticky.query)
    });
    let pairs = query.into_iter().flat_map(|query| query.split('&'));
    let of_query = pairs.filter_map(|pair| named(pair, &sticky.query));
    let pairs = cookies.flat_map(|field| field.split(';'));
    let of_cookie = pairs.filter_map(|pair| named(pair, &sticky.cookie));
    let mut first = None;
    for value in of_path.chain(of_query).chain(of_cookie) {
        // httpd reads from the first separator, as a route may hold one; but so may what stands before it.
        for (at, separator) in value.match_indices(sticky.separator) {
            let route = value.get(at + separator.len()..).filter(|route| !route.is_empty());
            if route.is_some_and(&is_one) {
                return route;
            }
            first = first.or(route);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_read_as_httpd_does() {
        let sticky = Sticky {
            cookie: "JSESSIONID".into(),
            query: "jsessionid".into(),
            separator: '.',
            set: false,
            path: "/".into(),
        };
        let routes = ["w1", "w2", "w3", "w4", "w5.eu"];
        for (path, query, cookie, want) in [
            ("/a", None, "JSESSIONID=8F3A.w5.eu", Some("w5.eu")),
            ("/a", None, "JSESSIONID=8F3A.w1", Some("w1")),
            ("/a", None, "x=1; JSESSIONID=8F.3A.w2; y=2", Some("w2")),
            ("/a", None, "JSESSIONID=\"8F3A.w1\"", Some("w1")),
            ("/a", None, "JSESSIONID=.w1", Some("w1")),
            ("/a", None, "JSESSIONID=8F3A", None),
            ("/a", None, "JSESSIONID=8F3A.", None),
            ("/a", None, "XJSESSIONID=8F3A.w1", None),
            ("/a", Some("q=1&jsessionid=8.w3"), "JSESSIONID=8F3A.w1", Some("w3")),
            ("/a;jsessionid=8.w4", Some("jsessionid=8.w3"), "JSESSIONID=8F3A.w1", Some("w4")),
            ("/a;jsessionid=8.w4/b", None, "", Some("w4")),
            ("/jsessionid=8.w4", None, "", None),
            ("/a", Some("JSESSIONID=8.w3"), "", None),
        ] {
            assert_eq!(
                route_of(&sticky, path, query, [cookie].into_iter(), |route| routes.contains(&route)),
                want,
                "{path} {query:?} {cookie}"
            );
        }
    }

    #[test]
    fn a_name_that_is_not_set_names_nothing() {
        let sticky =
            Sticky { cookie: "R".into(), query: String::new(), separator: '.', set: true, path: "/".into() };
        assert_eq!(route_of(&sticky, "/a;=x.w1", Some("=x.w1"), [""].into_iter(), |_| true), None);
    }

    #[test]
    fn a_word_that_names_nobody_costs_nobody_their_session() {
        let sticky =
            Sticky { cookie: "R".into(), query: "rid".into(), separator: '.', set: true, path: "/".into() };
        for (path, query, cookies, want) in [
            ("/a", "rid=x", &["R=.w1"][..], Some("w1")),
            ("/a", "rid=x.y", &["R=.w1"], Some("w1")),
            ("/a", "rid=x.y&rid=x.w2", &["R=.w1"], Some("w2")),
            ("/a;rid=x.y", "rid=x.w2", &["R=.w1"], Some("w2")),
            ("/a", "rid=x.w2", &["R=.w1"], Some("w2")),
            ("/a", "q=1", &["R=.old; R=.w1"], Some("w1")),
            ("/a", "q=1", &["R=.old", "R=.w1"], Some("w1")),
            // Where nothing names a member, it is said that the session moves.
            ("/a", "rid=x.y", &["R=.old"], Some("y")),
            ("/a", "q=1", &["R=.old"], Some("old")),
        ] {
            let is_one = |route: &str| ["w1", "w2"].contains(&route);
            let got = route_of(&sticky, path, Some(query), cookies.iter().copied(), is_one);
            assert_eq!(got, want, "{path} {query} {cookies:?}");
        }
    }
}
