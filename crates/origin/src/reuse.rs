//! Whether a connection to an origin may carry another request: what is believed of an origin. Pure.
//!
//! An origin that responds without reading a request's content looks for its next request where that content begins (RFC
//! 9112 §9.3). A client that writes a request into its content then decides what the next client gets, and the half of a
//! head at its end makes no byte that the look before reuse could see. So the connection is believed only where an origin
//! has a reason to read: the method gives content a meaning, and the status says that the content was acted upon. The other
//! way round, an application that sends the content of a response to HEAD all the same would begin the next client's
//! response with it, perhaps long after the head; none is believed that announces some (RFC 9110 §9.3.2).
//! Not here: the framing of the response (`http::heard`), the look at an idle connection (`pool`).

use http::{Method, StatusCode};
use samovar_reason::Reuse;

/// What an operator says of connections that have carried content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReuseAfterBody {
    /// As the method and the status of the response allow.
    #[default]
    Auto,
    /// Never.
    Never,
}

impl ReuseAfterBody {
    /// As it is written in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            ReuseAfterBody::Auto => "auto",
            ReuseAfterBody::Never => "never",
        }
    }
}

/// A request and the head that came back, as far as they concern the connection.
pub(crate) struct Carried<'a> {
    pub(crate) method: &'a Method,
    /// Content was announced, be it empty: the origin has to read its framing.
    pub(crate) has_content: bool,
    pub(crate) status: StatusCode,
    /// The head came before all of the content was sent.
    pub(crate) early: bool,
    /// The response announces content that must not follow, as to a HEAD.
    pub(crate) withheld: bool,
}

/// Why the connection carries no other request; `None` if nothing speaks against it.
pub(crate) fn last_use(carried: &Carried<'_>, after_body: ReuseAfterBody) -> Option<Reuse> {
    let of_content = if carried.has_content { after_content(carried, after_body) } else { None };
    of_content.or(carried.withheld.then_some(Reuse::ContentWithheld))
}

fn after_content(carried: &Carried<'_>, after_body: ReuseAfterBody) -> Option<Reuse> {
    if after_body == ReuseAfterBody::Never {
        return Some(Reuse::AfterBodyNever);
    }
    if !gives_content_a_meaning(carried.method) {
        return Some(Reuse::ContentUndefined);
    }
    if carried.early {
        return Some(Reuse::ContentUnfinished);
    }
    if !tells_of_content(carried.status) {
        return Some(Reuse::ContentRefused);
    }
    None
}

/// Methods whose definition makes use of content: RFC 9110 §9.3, RFC 5789, RFC 4918 §9, RFC 3253 §3.6, RFC 3744 §8.1,
/// RFC 4791 §5.3.1, RFC 5323 §2, and QUERY. Of any other method an origin may respond from the head alone.
fn gives_content_a_meaning(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
        || matches!(
            method.as_str(),
            "PROPFIND"
                | "PROPPATCH"
                | "MKCOL"
                | "LOCK"
                | "REPORT"
                | "ACL"
                | "MKCALENDAR"
                | "SEARCH"
                | "QUERY"
        )
}

/// Statuses of a response that rests on the content. An error, or a redirection that asks for the request to be sent
/// elsewhere, may be decided by the head alone; 303 says that the request was acted upon (RFC 9110 §15.4.4).
fn tells_of_content(status: StatusCode) -> bool {
    status.is_success() || status == StatusCode::SEE_OTHER
}

#[cfg(test)]
mod tests {
    use super::{Carried, ReuseAfterBody, last_use};
    use http::{Method, StatusCode};
    use samovar_reason::Reuse;

    fn after(method: &str, status: u16, early: bool, setting: ReuseAfterBody) -> Option<Reuse> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        last_use(&Carried { method: &method, has_content: true, status, early, withheld: false }, setting)
    }

    #[test]
    fn a_connection_is_believed_only_where_the_origin_had_a_reason_to_read() {
        let auto = |method, status| after(method, status, false, ReuseAfterBody::Auto);
        for method in ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "COPY", "MOVE", "PURGE", "post", "X"] {
            for status in [200, 204, 303, 404, 501] {
                assert_eq!(auto(method, status), Some(Reuse::ContentUndefined), "{method} {status}");
            }
        }
        for method in ["POST", "PUT", "PATCH", "PROPFIND", "LOCK", "REPORT", "QUERY"] {
            for status in [200, 201, 204, 206, 207, 303] {
                assert_eq!(auto(method, status), None, "{method} {status}");
            }
            for status in [300, 301, 302, 304, 307, 308, 400, 401, 404, 405, 413, 500, 501, 503, 599, 999] {
                assert_eq!(auto(method, status), Some(Reuse::ContentRefused), "{method} {status}");
            }
            let early = after(method, 200, true, ReuseAfterBody::Auto);
            assert_eq!(early, Some(Reuse::ContentUnfinished), "{method}");
            let never = after(method, 200, false, ReuseAfterBody::Never);
            assert_eq!(never, Some(Reuse::AfterBodyNever), "{method}");
        }
    }

    #[test]
    fn without_content_nothing_is_left_unread() {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            for status in [StatusCode::OK, StatusCode::NOT_FOUND] {
                for setting in [ReuseAfterBody::Auto, ReuseAfterBody::Never] {
                    let carried = Carried {
                        method: &method,
                        has_content: false,
                        status,
                        early: false,
                        withheld: false,
                    };
                    assert_eq!(last_use(&carried, setting), None, "{method} {status}");
                    let carried = Carried { withheld: true, ..carried };
                    assert_eq!(
                        last_use(&carried, setting),
                        Some(Reuse::ContentWithheld),
                        "{method} {status}"
                    );
                }
            }
        }
    }
}
