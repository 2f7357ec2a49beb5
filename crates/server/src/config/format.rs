//! What a text may look like, per kind of text: hosts, globs, field names, media types… Pure.
//!
//! Used by the check of a file and by the words of `samovar rule add`, so both say the same.

use super::format_acts as act;
use super::net;
use super::upstreams::HashBy;
use http::{HeaderName, HeaderValue, Method};
use samovar_rules::PathGlob;

/// No text of a configuration needs to be longer; bounds what globs cost to compile.
const TEXT_MAX_BYTES: usize = 2000;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Any text that is not empty.
    Any,
    /// The name of a site or an upstream.
    Name,
    /// The id of a rule.
    RuleId,
    /// Where to listen.
    Listen,
    /// An upstream's address.
    Address,
    /// An upstream's address, or the name of an upstream.
    AddressOrName,
    /// An HTTP upstream's URL.
    OriginUrl,
    /// An address or a network of addresses.
    Network,
    /// A host, or `*.` and a host.
    HostPattern,
    /// A host, with or without a port.
    Authority,
    /// A path glob of URLs.
    PathGlob,
    /// A glob of files.
    FileGlob,
    /// A field name of HTTP.
    FieldName,
    /// A field value of HTTP.
    FieldValue,
    /// A cookie's name.
    CookieName,
    /// A cookie's name, `*` stands for any characters.
    CookieGlob,
    /// A query variable's name, `*` stands for any characters.
    QueryGlob,
    /// A file extension.
    Extension,
    /// A method of HTTP.
    Method,
    /// A media type, `image/*` allowed.
    MediaRange,
    /// A media type with parameters.
    MediaType,
    /// A path in the file system.
    Path,
    /// The name of an index document.
    FileName,
    /// A language tag.
    Language,
    /// The name of a FastCGI parameter.
    Param,
    /// A path with names in braces.
    Rewrite,
    /// A URL or a path with names in braces.
    RedirectTo,
    /// A field value with names in braces.
    FieldTemplate,
    /// A path of URLs.
    PagePath,
    /// Statuses of errors.
    ErrorStatuses,
    /// By what requests are counted.
    RateBy,
    /// What a browser shows when it asks for a password.
    Realm,
    /// A path of a URL.
    UrlPath,
    /// What of a request is hashed.
    HashBy,
    /// One character.
    Separator,
    /// A status, or a range of them.
    Statuses,
    /// A kind of failure, or a status.
    RetryOn,
}

impl Format {
    /// What it is, with an example: for "wants …" messages and the reference.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Format::Any => "a text",
            Format::Name => "a name like \"maps\"",
            Format::RuleId => "a name like \"thumbnails\"",
            Format::Listen => "an address like \"127.0.0.1:8080\", \"https://[::]:443\" or \"unix:/path\"",
            Format::Address => "\"unix:/path\" or \"host:port\"",
            Format::AddressOrName => "\"unix:/path\", \"host:port\" or the name of an upstream",
            Format::OriginUrl => "a URL like \"http://127.0.0.1:3000\" or \"unix:/path\"",
            Format::Network => "an address or a network like \"10.0.0.0/8\"",
            Format::HostPattern => "a host like \"maps.example\" or \"*.maps.example\"",
            Format::Authority => "a host like \"maps.example\"",
            Format::PathGlob => "a path glob like \"/admin/**\" or \"*.jpg\"",
            Format::FileGlob => "a file glob like \"/srv/data/**/*.json\"",
            Format::FieldName => "a field name like \"Accept-Language\"",
            Format::FieldValue => "a field value like \"max-age=60\"",
            Format::CookieName => "a cookie's name like \"theme\"",
            Format::CookieGlob => "a cookie's name or glob like \"_ga*\", or \"@analytics\"",
            Format::QueryGlob => "a query variable's name or glob like \"utm_*\"",
            Format::Extension => "an extension like \".jpg\"",
            Format::Method => "a method like \"GET\"",
            Format::MediaRange => "a media type like \"text/html\" or \"image/*\"",
            Format::MediaType => "a media type like \"text/html; charset=utf-8\"",
            Format::Path => "a path like \"/srv/gallery\"",
            Format::FileName => "a file name like \"index.html\"",
            Format::Language => "a language tag like \"de\" or \"pt-BR\"",
            Format::Param => "a parameter's name like \"APP_ENV\"",
            Format::Rewrite => "a path like \"/new/{1}\"",
            Format::RedirectTo => "a URL like \"https://new.example/{1}\", or a path",
            Format::FieldTemplate => "a field value like \"max-age=60\" or \"{client}\"",
            Format::PagePath => "a path like \"/errors/404.html\"",
            Format::ErrorStatuses => "\"404\", \"4xx\" or \"5xx\"",
            Format::RateBy => "\"client\", \"header:NAME\", \"query:NAME\", \"cookie:NAME\" or \"all\"",
            Format::Realm => "a text like \"Staff only\"",
            Format::UrlPath => "a path like \"/health\"",
            Format::HashBy => {
                "\"url\", \"path\", \"client\", \"header:NAME\", \"cookie:NAME\" or \"query:NAME\""
            }
            Format::Separator => "one character like \".\"",
            Format::Statuses => "a status like \"200\" or a range like \"200-399\"",
            Format::RetryOn => "\"connect\", \"reset\", \"timeout\" or a status like \"503\"",
        }
    }

    /// Says what is wrong with a text, and what to write instead where that is known.
    pub(crate) fn check(self, text: &str) -> Result<(), Complaint> {
        if text.is_empty() {
            return Err(Complaint::because("is empty"));
        }
        if text.contains('\0') {
            return Err(Complaint::because("holds a zero character"));
        }
        if text.len() > TEXT_MAX_BYTES {
            return Err(Complaint::because("is too long"));
        }
        match self {
            Format::Any | Format::Path => Ok(()),
            Format::Name => name(text),
            Format::RuleId => rule_id(text),
            Format::Listen => net::parse_listen(text).map(drop).map_err(Complaint::mend),
            Format::AddressOrName if !text.contains(':') => name(text),
            Format::Address | Format::AddressOrName => {
                net::parse_address(text).map(drop).map_err(Complaint::mend)
            }
            Format::OriginUrl => net::parse_origin_url(text).map(drop).map_err(Complaint::mend),
            Format::Network if text == "unix" => Ok(()),
            Format::Network => net::parse_network(text).map(drop).map_err(Complaint::mend),
            Format::HostPattern => host_pattern(text),
            Format::Authority => authority(text),
            Format::PathGlob => path_glob(text),
            Format::FileGlob => file_glob(text),
            Format::FieldName => field_name(text),
            Format::FieldValue => field_value(text),
            Format::CookieName => token(text, ""),
            Format::CookieGlob => cookie_glob(text),
            Format::QueryGlob => query_glob(text),
            Format::Extension => extension(text),
            Format::Method => method(text),
            Format::MediaRange => media_range(text),
            Format::MediaType => {
                media_range(text.split(';').next().unwrap_or("").trim_end()).and_then(|()| field_value(text))
            }
            Format::FileName => file_name(text),
            Format::Language => language(text),
            Format::Param => param(text),
            Format::Rewrite => act::rewrite(text),
            Format::RedirectTo => act::redirect_to(text),
            Format::FieldTemplate => act::field_template(text),
            Format::PagePath => act::url_path(text),
            Format::ErrorStatuses => act::statuses(text),
            Format::RateBy => act::rate_by(text),
            Format::Realm => act::realm(text),
            Format::UrlPath => url_path(text),
            Format::HashBy => HashBy::parse(text).map(drop).map_err(Complaint::mend),
            Format::Separator => separator(text),
            Format::Statuses => match statuses(text) {
                Some(_) => Ok(()),
                None => Err(Complaint::hint(
                    "is no status",
                    "write one like \"200\", or a range like \"200-399\"",
                )),
            },
            Format::RetryOn if matches!(text, "connect" | "reset" | "timeout") => Ok(()),
            Format::RetryOn => match statuses(text) {
                Some((first, last)) if first == last => Ok(()),
                _ => Err(Complaint::hint(
                    "is no failure that is known here",
                    "write \"connect\", \"reset\", \"timeout\" or a status like \"503\"",
                )),
            },
        }
    }
}

/// What is wrong with a text, to be read after "`text` …".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// "is empty", "is not a host name"…
    pub what: String,
    /// What to write.
    pub hint: Option<String>,
}

impl Complaint {
    pub(super) fn because(what: &str) -> Complaint {
        Complaint { what: what.to_owned(), hint: None }
    }

    pub(super) fn hint(what: &str, hint: impl Into<String>) -> Complaint {
        Complaint { what: what.to_owned(), hint: Some(hint.into()) }
    }

    fn mend(hint: String) -> Complaint {
        Complaint { what: "cannot be used".to_owned(), hint: Some(hint) }
    }
}

/// An extension as rules compare it: lower case, with its dot.
pub(crate) fn normal_extension(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    if text.starts_with('.') { text } else { format!(".{text}") }
}

/// A status or a range of them, first and last.
pub(crate) fn statuses(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| {
        let digits = text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u16>().ok().filter(|n| digits && (100..600).contains(n))
    };
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some((first, last))
}

fn url_path(text: &str) -> Result<(), Complaint> {
    if !text.starts_with('/') {
        return Err(Complaint::hint("is no path of a URL", "begin it with a slash"));
    }
    if !text.bytes().all(|b| b.is_ascii_graphic() && b != b'#' && b != b'"' && b != b';') {
        return Err(Complaint::hint("cannot stand in a URL as it is", "write such characters as %XX"));
    }
    Ok(())
}

fn separator(text: &str) -> Result<(), Complaint> {
    let mut all = text.chars();
    match (all.next(), all.next()) {
        (Some(c), None) if c.is_ascii_graphic() && !"=;,&\"\\".contains(c) => Ok(()),
        _ => Err(Complaint::hint("is not one character that can stand in a cookie", "write one like \".\"")),
    }
}

fn name(text: &str) -> Result<(), Complaint> {
    let ok = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.len() > 100 || !text.chars().all(ok) {
        return Err(Complaint::hint(
            "is not a name",
            "use up to 100 letters, digits, dots, dashes and underscores",
        ));
    }
    Ok(())
}

fn rule_id(text: &str) -> Result<(), Complaint> {
    name(text)?;
    let by_position = text.strip_prefix('r').is_some_and(|n| n.parse::<u32>().is_ok());
    if by_position || text == "default" {
        return Err(Complaint::hint(
            "is a name that Samovar gives itself",
            "r1, r2… are rules by their position, `default` is what holds where no rule matches; take a word",
        ));
    }
    Ok(())
}

fn host_pattern(text: &str) -> Result<(), Complaint> {
    if text.contains("://") {
        return Err(Complaint::hint("is a URL", "write the host alone"));
    }
    let host = text.strip_prefix("*.").unwrap_or(text);
    if host.contains('*') {
        return Err(Complaint::hint(
            "has `*` in the middle",
            "a wildcard stands in front: \"*.maps.example\"",
        ));
    }
    if host.starts_with('[') || host.parse::<std::net::IpAddr>().is_ok() {
        return ip_host(host);
    }
    if host.rsplit_once(':').is_some_and(|(_, p)| p.parse::<u16>().is_ok()) {
        return Err(Complaint::hint(
            "has a port",
            "write the host alone, and the port in the site's `ports`",
        ));
    }
    net::host_name(host).map(drop).map_err(Complaint::mend)
}

fn ip_host(text: &str) -> Result<(), Complaint> {
    let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    match (inner, text.parse::<std::net::IpAddr>()) {
        (Some(v6), _) if v6.parse::<std::net::Ipv6Addr>().is_ok() => Ok(()),
        (None, Ok(std::net::IpAddr::V4(_))) => Ok(()),
        (None, Ok(_)) => Err(Complaint::hint("is IPv6 without brackets", format!("write \"[{text}]\""))),
        _ => Err(Complaint::because("is not an address")),
    }
}

fn authority(text: &str) -> Result<(), Complaint> {
    let bare = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            if port.parse::<u16>().is_err() {
                return Err(Complaint::because("has a port that is no number"));
            }
            host
        }
        _ => text,
    };
    if bare.contains('*') {
        return Err(Complaint::hint("has a wildcard", "one host is wanted here"));
    }
    host_pattern(bare)
}

fn path_glob(text: &str) -> Result<(), Complaint> {
    if text.contains("://") {
        return Err(Complaint::hint("is a URL", "write the path alone, like \"/maps/**\""));
    }
    if text.contains('?') && text.contains('=') {
        return Err(Complaint::hint(
            "has a query",
            "rules select by path; what the query does to the key is said with `vary_query`",
        ));
    }
    if text.contains('/') && !text.starts_with(['/', '*', '{']) {
        return Err(Complaint::hint("can match no path", format!("paths begin with a slash: \"/{text}\"")));
    }
    path_glob_text(text)
}

fn path_glob_text(text: &str) -> Result<(), Complaint> {
    let Err(why) = PathGlob::new(text) else { return Ok(()) };
    // The message names the text already, and so does ours.
    let bare = why
        .strip_prefix(&format!("`{text}` "))
        .map_or_else(|| format!("cannot be used: {why}"), str::to_owned);
    Err(not_a_glob(bare))
}

fn not_a_glob(what: String) -> Complaint {
    let hint = "`*` stands for any characters but a slash, `**` for any, `?` for one, `{a,b}` for either";
    Complaint { what, hint: Some(hint.to_owned()) }
}

fn file_glob(text: &str) -> Result<(), Complaint> {
    globset::Glob::new(text).map(drop).map_err(|e| not_a_glob(format!("is not a file glob: {}", e.kind())))
}

/// A pattern, or the name of a list that the cookie rules know.
fn cookie_glob(text: &str) -> Result<(), Complaint> {
    if !text.starts_with('@') {
        return token(text, "*");
    }
    if samovar_rules::cookie_preset(text).is_some() {
        return Ok(());
    }
    let known: Vec<_> = samovar_rules::COOKIE_PRESETS.iter().map(|(name, _)| *name).collect();
    Err(Complaint::hint("is no list that is known", format!("known lists: {}", known.join(", "))))
}

fn field_name(text: &str) -> Result<(), Complaint> {
    if text.ends_with(':') {
        return Err(Complaint::hint("has a colon", format!("write \"{}\"", text.trim_end_matches(':'))));
    }
    HeaderName::from_bytes(text.as_bytes()).map(drop).map_err(|_| {
        Complaint::hint("is not a field name", "letters, digits and dashes only, like \"Accept-Language\"")
    })
}

pub(super) fn field_value(text: &str) -> Result<(), Complaint> {
    let visible = text.bytes().all(|b| b == b'\t' || (b' '..=b'~').contains(&b));
    if !visible || HeaderValue::from_str(text).is_err() {
        return Err(Complaint::hint(
            "cannot be a field's value",
            "visible ASCII characters on one line only",
        ));
    }
    Ok(())
}

/// A token of RFC 9110 §5.6.2, which includes `*` already.
fn token(text: &str, globs: &str) -> Result<(), Complaint> {
    let ok = |c: char| c.is_ascii_alphanumeric() || "!#$%&'+-.^_`|~".contains(c) || globs.contains(c);
    match text.chars().find(|c| !ok(*c)) {
        None => Ok(()),
        Some('*') => Err(Complaint::hint("has a wildcard", "each cookie in the key is named in full")),
        Some(c) => Err(Complaint { what: format!("holds {c:?}, which no cookie's name can"), hint: None }),
    }
}

fn query_glob(text: &str) -> Result<(), Complaint> {
    match text.chars().find(|c| "&=?#,".contains(*c) || c.is_whitespace()) {
        None => Ok(()),
        Some(c) => Err(Complaint {
            what: format!("holds {c:?}"),
            hint: Some("write the variable's name alone, like \"id\" or \"utm_*\"".to_owned()),
        }),
    }
}

fn extension(text: &str) -> Result<(), Complaint> {
    if let Some(rest) = text.strip_prefix('*') {
        return Err(Complaint::hint("is a glob", format!("write \"{rest}\", or use `path`")));
    }
    let bare = text.strip_prefix('.').unwrap_or(text);
    let ok = |c: char| c.is_ascii_alphanumeric() || "_-+~".contains(c);
    if bare.is_empty() || !bare.chars().all(ok) {
        return Err(Complaint::hint("is not an extension", "write it like \".jpg\""));
    }
    Ok(())
}

fn method(text: &str) -> Result<(), Complaint> {
    if text != text.to_ascii_uppercase() {
        return Err(Complaint::hint(
            "is in lower case",
            format!("methods are written \"{}\"", text.to_ascii_uppercase()),
        ));
    }
    Method::from_bytes(text.as_bytes()).map(drop).map_err(|_| Complaint::because("is not a method"))
}

fn media_range(text: &str) -> Result<(), Complaint> {
    let part =
        |p: &str| !p.is_empty() && p.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&^_.+-".contains(c));
    match text.split_once('/') {
        Some((kind, sub)) if part(kind) && (part(sub) || sub == "*") => Ok(()),
        Some(("*", "*")) => Err(Complaint::hint("takes every type", "leave the key out")),
        _ => Err(Complaint::hint("is not a media type", "write it like \"text/html\" or \"image/*\"")),
    }
}

fn file_name(text: &str) -> Result<(), Complaint> {
    if text.contains('/') || text == "." || text == ".." {
        return Err(Complaint::hint("is not a file's name", "write the name alone, without a folder"));
    }
    Ok(())
}

/// The shape of RFC 5646 tags: letters and digits in parts of one to eight.
fn language(text: &str) -> Result<(), Complaint> {
    let part = |p: &str| (1..=8).contains(&p.len()) && p.chars().all(|c| c.is_ascii_alphanumeric());
    if text.split('-').all(part) && text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(());
    }
    Err(Complaint::hint("is not a language tag", "write it like \"de\" or \"pt-BR\""))
}

fn param(text: &str) -> Result<(), Complaint> {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(Complaint::hint("is not a parameter's name", "letters, digits and underscores only"))
}

#[cfg(test)]
mod tests {
    use super::Format::*;
    use super::*;

    #[test]
    fn texts_that_are_taken() {
        let rows: &[(Format, &[&str])] = &[
            (Name, &["maps", "a.b-c_d"]),
            (RuleId, &["thumbs", "rule1", "r"]),
            (
                HostPattern,
                &["maps.example", "*.maps.example", "10.0.0.1", "[::1]", "localhost", "Maps.Example."],
            ),
            (Authority, &["a.example", "a.example:8080", "[::1]:80"]),
            (PathGlob, &["/admin/**", "*.jpg", "/a/{b,c}", "**/x"]),
            (FieldName, &["Accept-Language", "x"]),
            (FieldValue, &["max-age=60, public"]),
            (CookieGlob, &["_ga*", "*", "theme", "@analytics"]),
            (QueryGlob, &["id", "utm_*"]),
            (Extension, &[".jpg", "php", ".PHP5"]),
            (Method, &["GET", "PROPFIND"]),
            (MediaRange, &["text/html", "image/*", "image/svg+xml"]),
            (MediaType, &["text/html; charset=utf-8", "application/wasm"]),
            (Language, &["de", "pt-BR", "zh-Hans-CN"]),
            (AddressOrName, &["unix:/a", "127.0.0.1:9000", "php"]),
            (Network, &["unix", "::1"]),
        ];
        for (format, texts) in rows {
            for text in *texts {
                assert_eq!(format.check(text), Ok(()), "{format:?} {text}");
            }
        }
    }

    #[test]
    fn texts_that_are_refused() {
        let rows: &[(Format, &[&str])] = &[
            (Any, &["", "a\0b"]),
            (Name, &["a b", "ä", "a/b"]),
            (RuleId, &["r1", "r02", "default", "a b"]),
            (
                HostPattern,
                &["http://a", "a.*.b", "*", "a.example:80", "::1", "a..b", "-a", "mäps.example", "[x]"],
            ),
            (Authority, &["*.a", "a:b"]),
            (PathGlob, &["http://a/b", "admin/x", "/a[", "/a?b=c"]),
            (FieldName, &["Accept:", "a b", "é"]),
            (FieldValue, &["a\nb", "é"]),
            (CookieName, &["a*", "a;b"]),
            (CookieGlob, &["a b", "a,b", "@none"]),
            (QueryGlob, &["a=b", "a&b", "?a"]),
            (Extension, &["*.jpg", ".", "a/b", ".a.b", ".a,.b"]),
            (Method, &["get", "A B"]),
            (MediaRange, &["html", "*/*", "text/", "text/html; q=1"]),
            (FileName, &["a/b", ".."]),
            (Language, &["", "deutschland", "de_DE", "*", "1"]),
            (Param, &["A-B", "A B"]),
        ];
        for (format, texts) in rows {
            for text in *texts {
                assert!(format.check(text).is_err(), "{format:?} {text:?}");
            }
        }
    }

    #[test]
    fn extensions_are_compared_in_lower_case_with_a_dot() {
        assert_eq!(normal_extension("PHP"), ".php");
        assert_eq!(normal_extension(".Jpg"), ".jpg");
    }
}
