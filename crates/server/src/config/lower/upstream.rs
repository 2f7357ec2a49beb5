//! `[[upstream]]`: declared once, turned into a target where a site or a handler refers to it.

use super::{Work, tables};
use crate::config::diag::{Code, Diagnostic};
use crate::config::net;
use crate::config::settings::TargetSettings;
use crate::config::suggest::nearest;
use crate::config::tree::{Checked, Node, Span};
use samovar_origin::{Address, HttpSettings, UpstreamLimits};
use samovar_rules::TargetId;

/// php-fpm gives each connection a process of its own.
pub(super) const FASTCGI_CONNECTIONS: usize = 64;

/// A declared upstream.
#[derive(Debug)]
pub(super) struct Declared {
    name: String,
    name_span: Span,
    what: What,
    used: bool,
}

/// What an upstream is.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// HTTP.
    Http(HttpSettings),
    /// FastCGI; the folder of scripts comes from the site.
    FastCgi(Address, UpstreamLimits),
    /// A message was noted.
    Broken,
}

/// Reads all `[[upstream]]`.
pub(super) fn declare(root: &Checked, work: &mut Work<'_>) {
    for table in tables(root, "upstream") {
        let Some(name) = table.get("name") else { continue };
        let Some(text) = name.text() else { continue };
        if let Some(first) = work.upstreams.iter().find(|u| u.name == text) {
            let d = Diagnostic::error(
                Code::Duplicate,
                name.span.clone(),
                format!("two upstreams are named \"{text}\""),
            )
            .also(first.name_span.clone(), "the first")
            .hint("give one of them another name");
            work.notes.push(d);
            continue;
        }
        let what = what(text, table, work);
        work.upstreams.push(Declared {
            name: text.to_owned(),
            name_span: name.span.clone(),
            what,
            used: false,
        });
    }
}

fn what(name: &str, table: &Checked, work: &mut Work<'_>) -> What {
    match (table.get("members"), table.get("fastcgi")) {
        (Some(members), Some(fastcgi)) => {
            let d = Diagnostic::error(
                Code::Contradiction,
                fastcgi.span.clone(),
                "an upstream speaks HTTP or FastCGI, not both",
            )
            .also(members.span.clone(), "HTTP")
            .label("FastCGI")
            .hint("make two upstreams of it");
            work.notes.push(d);
            What::Broken
        }
        (None, None) => {
            let hint = "`members = [{ url = \"http://127.0.0.1:3000\" }]`, or `fastcgi = \"unix:/run/php/php8.2-fpm.sock\"`";
            work.error(
                Code::MissingKey,
                &table.span,
                format!("the upstream \"{name}\" has no address"),
                hint,
            );
            What::Broken
        }
        (Some(members), None) => http(name, table, members, work),
        (None, Some(fastcgi)) => fastcgi_upstream(table, fastcgi, work),
    }
}

fn http(name: &str, table: &Checked, members: &Node, work: &mut Work<'_>) -> What {
    match members.list() {
        [] => {
            let hint = "`members = [{ url = \"http://127.0.0.1:3000\" }]`";
            work.error(
                Code::MissingKey,
                &members.span,
                format!("the upstream \"{name}\" has no member"),
                hint,
            );
            return What::Broken;
        }
        [_] => {}
        [_, second, ..] => {
            let message = "several members: balancing between them comes later";
            work.error(Code::NotYet, &second.span, message, "name one member for now");
            return What::Broken;
        }
    }
    let limits = limits(table, UpstreamLimits::default().max_connections);
    if let (Some(span), true) =
        (table.key_span("upgraded_max"), limits.upgraded_max >= limits.max_connections)
    {
        let message = "connections that have changed to another protocol could take all that there are to this upstream";
        let hint = "raise `max_connections` beyond `upgraded_max`, so that ordinary requests keep some";
        work.warning(Code::NoEffect, &span, message, hint);
    }
    let url = members.list().first().and_then(Node::table).and_then(|m| m.get("url"));
    let Some(Ok(url)) = url.and_then(Node::text).map(net::parse_origin_url) else { return What::Broken };
    What::Http(HttpSettings {
        name: name.to_owned(),
        address: url.address,
        host: table.get("host").and_then(Node::text).map(str::to_ascii_lowercase),
        base_path: url.base_path,
        limits,
    })
}

fn fastcgi_upstream(table: &Checked, fastcgi: &Node, work: &mut Work<'_>) -> What {
    if let Some(host) = table.get("host") {
        let hint = "a FastCGI application is told the host of the request in its parameters";
        work.warning(Code::NoEffect, &host.span, "`host` is for HTTP members", hint);
    }
    if let Some(span) = table.key_span("upgraded_max") {
        let message = "`upgraded_max` is for HTTP members: a FastCGI application cannot change the protocol";
        work.warning(Code::NoEffect, &span, message, "leave it out");
    }
    match fastcgi.text().map(net::parse_address) {
        Some(Ok(address)) => What::FastCgi(address, limits(table, FASTCGI_CONNECTIONS)),
        _ => What::Broken,
    }
}

fn limits(table: &Checked, connections: usize) -> UpstreamLimits {
    let own = table.amount("max_connections").and_then(|n| usize::try_from(n).ok());
    let upgraded = table.amount("upgraded_max").and_then(|n| usize::try_from(n).ok());
    UpstreamLimits {
        max_connections: own.unwrap_or(connections),
        upgraded_max: upgraded.unwrap_or(own.unwrap_or(connections).div_ceil(2)),
        queue_max: table.count("queue_max"),
        queue_timeout: table.duration("queue_timeout"),
        connect_timeout: table.duration("connect_timeout"),
        head_timeout: table.duration("head_timeout"),
        body_timeout: table.duration("body_timeout"),
        abandon_after: table.duration("abandon_after"),
        idle_timeout: table.duration("idle_timeout"),
        head_max_bytes: table.count("head_max_bytes"),
    }
}

impl Work<'_> {
    /// What an upstream is that a site or a handler names; an unknown name is noted.
    pub(super) fn upstream(&mut self, name: &str, span: &Span) -> What {
        if let Some(found) = self.upstreams.iter_mut().find(|u| u.name == name) {
            found.used = true;
            return found.what.clone();
        }
        let known: Vec<&str> = self.upstreams.iter().map(|u| u.name.as_str()).collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if known.is_empty() => {
                format!(
                    "declare it: `[[upstream]]`, `name = \"{name}\"`, `members = [{{ url = \"http://…\" }}]`"
                )
            }
            None => format!("declared are: {}", known.join(", ")),
        };
        self.error(Code::UnknownUpstream, span, format!("no upstream is named \"{name}\""), hint);
        What::Broken
    }

    /// The target of a site's `upstream`.
    pub(super) fn upstream_target(&mut self, name: &str, span: &Span) -> Option<TargetId> {
        match self.upstream(name, span) {
            What::Http(settings) => Some(self.target(TargetSettings::Http(settings))),
            What::FastCgi(..) => {
                let message = format!("\"{name}\" is a FastCGI application, which runs scripts among files");
                let hint =
                    "give the site `files`, and `handlers = [{ extension = \".php\", fastcgi = \"…\" }]`";
                self.error(Code::Contradiction, span, message, hint);
                None
            }
            What::Broken => None,
        }
    }
}

/// Warns of upstreams that nothing refers to.
pub(super) fn unused(work: &mut Work<'_>) {
    for upstream in &work.upstreams {
        if !upstream.used {
            let message = format!("nothing refers to the upstream \"{}\"", upstream.name);
            let d = Diagnostic::warning(Code::Unused, upstream.name_span.clone(), message);
            work.notes.push(d.hint(format!("a site takes it with `upstream = \"{}\"`", upstream.name)));
        }
    }
}
