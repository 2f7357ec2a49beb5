//! `proxy_cache_key`: which requests share a stored response.
//!
//! What keeps responses apart in nginx and cannot be said here is unsafe: one visitor's could be shown to another.

use super::Conf;
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Settings, Value};

pub(super) fn key(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let text = d.args.join("");
    let mut names = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, after)) = rest.split_once('$') {
        let after = after.strip_prefix('{').unwrap_or(after);
        let length = after.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (name, tail) = after.split_at(length);
        names.push(name);
        rest = tail;
    }
    let has = |name: &str| names.contains(&name);
    let mut lost = Vec::new();
    let mut kept: Vec<String> = Vec::new();
    for name in &names {
        if let Some(field) =
            name.strip_prefix("http_").map(|f| f.replace('_', "-")).filter(|f| spell::field_name(f).is_some())
        {
            out.add("vary_headers", Value::Text(field), &d.place);
        } else if let Some(cookie) = name.strip_prefix("cookie_").filter(|c| !c.is_empty()) {
            out.add("vary_cookies", Value::text(cookie), &d.place);
        } else if let Some(variable) = name.strip_prefix("arg_").filter(|v| !v.is_empty()) {
            kept.push(variable.to_owned());
        } else if ![
            "scheme",
            "host",
            "http_host",
            "proxy_host",
            "server_name",
            "request_method",
            "request_uri",
            "uri",
            "args",
            "is_args",
            "query_string",
            "document_uri",
            "upstream_http_host",
            "server_port",
            "proxy_port",
        ]
        .contains(name)
        {
            lost.push(format!("${name}"));
        }
    }
    let query = has("request_uri") || has("args") || has("query_string");
    if !kept.is_empty() && !query {
        out.set("vary_query", Value::table([("keep", Value::texts(kept))]), &d.place);
    } else if !query && (has("uri") || has("document_uri")) {
        out.set("vary_query", Value::text("ignore"), &d.place).remark = "the key had no query".to_owned();
    }
    let host =
        ["host", "http_host", "server_name", "proxy_host", "upstream_http_host"].iter().any(|name| has(name));
    let path = ["request_uri", "uri", "document_uri"].iter().any(|name| has(name));
    if lost.is_empty() && host && path {
        conf.carried(
            d,
            "scheme, host, path and query are the key; vary_query, vary_headers and vary_cookies change it",
        );
    } else if lost.is_empty() {
        let text = "scheme, host and path are always in the key: what nginx shared between hosts or paths is stored once for each";
        conf.note_as(d, (Fate::Carried, Consequence::CachedDifferently), text);
    } else {
        // What kept responses apart and no longer does would show one visitor's to another.
        let text = format!(
            "nginx kept responses apart by {}, and Samovar does not: write vary_headers or vary_cookies, or `never = true`",
            lost.join(", ")
        );
        conf.note(d, Fate::Unsafe, text);
    }
}
