//! `[[upstream]]`: declared once, turned into a target where a site or a handler refers to it. The tables within are in
//! `balance.rs`.

use super::balance;
use super::{Work, tables};
use crate::config::diag::{Code, Diagnostic};
use crate::config::net;
use crate::config::settings::TargetSettings;
use crate::config::suggest::nearest;
use crate::config::tree::{Checked, Node, Span};
use crate::config::upstreams::{Place, Protocol, UpstreamSettings};
use samovar_origin::{ReuseAfterBody, UpstreamLimits};
use samovar_rules::TargetId;
use std::sync::Arc;

/// php-fpm gives each connection a process of its own.
pub(super) const FASTCGI_CONNECTIONS: usize = 64;

/// A declared upstream.
#[derive(Debug)]
pub(super) struct Declared {
    name: String,
    name_span: Span,
    /// `None`: a message was noted.
    what: Option<Arc<UpstreamSettings>>,
    used: bool,
}

/// Where a member listens, and what it is called if nobody names it.
struct Member<'a> {
    table: Option<&'a Checked>,
    place: Place,
    shown: String,
    protocol: Protocol,
    span: Span,
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
        let what = one(text, table, work).map(Arc::new);
        work.upstreams.push(Declared {
            name: text.to_owned(),
            name_span: name.span.clone(),
            what,
            used: false,
        });
    }
}

fn one(name: &str, table: &Checked, work: &mut Work<'_>) -> Option<UpstreamSettings> {
    let members = match (table.get("members"), table.get("fastcgi")) {
        (Some(members), Some(fastcgi)) => {
            let message = "an upstream has `members`, or is a single application by `fastcgi`, not both";
            let d = Diagnostic::error(Code::Contradiction, fastcgi.span.clone(), message)
                .also(members.span.clone(), "the members")
                .label("the application")
                .hint("make it a member: `members = [{ fastcgi = \"…\" }, …]`; or make two upstreams of it");
            work.notes.push(d);
            return None;
        }
        (None, None) => {
            let hint = "`members = [{ url = \"http://127.0.0.1:3000\" }]`, or `fastcgi = \"unix:/run/php/php8.2-fpm.sock\"`";
            let message = format!("the upstream \"{name}\" has no address");
            work.error(Code::MissingKey, &table.span, message, hint);
            return None;
        }
        (Some(members), None) => {
            if members.list().is_empty() {
                let hint = "`members = [{ url = \"http://127.0.0.1:3000\" }]`";
                let message = format!("the upstream \"{name}\" has no member");
                work.error(Code::MissingKey, &members.span, message, hint);
                return None;
            }
            let all: Vec<&Checked> = members.list().iter().filter_map(Node::table).collect();
            let count = all.len();
            let read: Vec<Member<'_>> = all.into_iter().filter_map(|table| member(table, work)).collect();
            if read.len() < count || read.is_empty() {
                return None;
            }
            read
        }
        (None, Some(fastcgi)) => {
            let address = net::parse_address(fastcgi.text()?).ok()?;
            vec![Member {
                table: None,
                place: Place { address, base_path: String::new() },
                shown: name.to_owned(),
                protocol: Protocol::FastCgi,
                span: fastcgi.span.clone(),
            }]
        }
    };
    let protocol = one_protocol(&members, work)?;
    if let (Some(host), Protocol::FastCgi) = (table.get("host"), protocol) {
        let hint = "a FastCGI application is told the host of the request in its parameters";
        work.warning(Code::NoEffect, &host.span, "`host` is for HTTP members", hint);
    }
    if let (Some(status), Protocol::Http) = (table.get("fpm_status"), protocol) {
        let hint = "leave it out";
        work.warning(Code::NoEffect, &status.span, "`fpm_status` is for FastCGI applications", hint);
    }
    let connections = match protocol {
        Protocol::Http => UpstreamLimits::default().max_connections,
        Protocol::FastCgi => FASTCGI_CONNECTIONS,
    };
    let limits = limits(table, connections);
    if let Some(span) = table.key_span("upgraded_max") {
        if protocol == Protocol::FastCgi {
            let message =
                "`upgraded_max` is for HTTP members: a FastCGI application cannot change the protocol";
            work.warning(Code::NoEffect, &span, message, "leave it out");
        } else if limits.upgraded_max >= limits.max_connections {
            let message = "connections that have changed to another protocol could take all that there are to this upstream";
            let hint = "raise `max_connections` beyond `upgraded_max`, so that ordinary requests keep some";
            work.warning(Code::NoEffect, &span, message, hint);
        }
    }
    let text = |key: &str| table.get(key).and_then(Node::text);
    let named: Vec<balance::Named<'_>> =
        members.iter().map(|m| balance::Named { table: m.table, shown: &m.shown, span: &m.span }).collect();
    let shared = balance::balance(table, &named, &limits, work)?;
    Some(UpstreamSettings {
        name: name.to_owned(),
        protocol,
        host: text("host").map(str::to_ascii_lowercase),
        fpm_status: text("fpm_status").map(str::to_owned),
        limits,
        balance: shared.settings,
        hash_by: shared.hash_by,
        sticky: shared.sticky,
        probe: shared.probe,
        places: members.into_iter().map(|m| m.place).collect(),
    })
}

fn member<'a>(table: &'a Checked, work: &mut Work<'_>) -> Option<Member<'a>> {
    let span = table.span.clone();
    match (table.get("url"), table.get("fastcgi")) {
        (Some(url), None) => {
            let url = net::parse_origin_url(url.text()?).ok()?;
            let place = Place { address: url.address, base_path: url.base_path };
            Some(Member { table: Some(table), place, shown: url.authority, protocol: Protocol::Http, span })
        }
        (None, Some(fastcgi)) => {
            let text = fastcgi.text()?;
            let place = Place { address: net::parse_address(text).ok()?, base_path: String::new() };
            let shown = text.to_owned();
            Some(Member { table: Some(table), place, shown, protocol: Protocol::FastCgi, span })
        }
        (Some(_), Some(fastcgi)) => {
            let message = "a member has `url` or `fastcgi`, not both";
            work.error(Code::Contradiction, &fastcgi.span, message, "make two members of it");
            None
        }
        (None, None) => {
            let hint = "`url = \"http://127.0.0.1:3000\"`, or `fastcgi = \"unix:/run/php/php8.2-fpm.sock\"`";
            work.error(Code::MissingKey, &span, "this member has no address", hint);
            None
        }
    }
}

/// The protocol that all members speak.
fn one_protocol(members: &[Member<'_>], work: &mut Work<'_>) -> Option<Protocol> {
    let first = members.first()?;
    let other = members.iter().find(|m| m.protocol != first.protocol);
    let Some(other) = other else { return Some(first.protocol) };
    let message = "the members of an upstream speak all HTTP or all FastCGI";
    let d = Diagnostic::error(Code::Contradiction, other.span.clone(), message)
        .also(first.span.clone(), "this one speaks another protocol")
        .hint("make two upstreams of it");
    work.notes.push(d);
    None
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
        resolve_every: table.duration("resolve_every"),
        reuse_after_body: reuse_after_body(table),
    }
}

fn reuse_after_body(table: &Checked) -> ReuseAfterBody {
    match table.value("reuse_after_body").and_then(|word| word.text().map(str::to_owned)).as_deref() {
        Some("never") => ReuseAfterBody::Never,
        _ => ReuseAfterBody::Auto,
    }
}

impl Work<'_> {
    /// What an upstream is that a site or a handler names; an unknown name is noted, what is wrong with it was.
    pub(super) fn upstream(&mut self, name: &str, span: &Span) -> Option<Arc<UpstreamSettings>> {
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
        None
    }

    /// The target of a site's `upstream`.
    pub(super) fn upstream_target(&mut self, name: &str, span: &Span) -> Option<TargetId> {
        let settings = self.upstream(name, span)?;
        match settings.protocol {
            Protocol::Http => Some(self.target(TargetSettings::Http(settings))),
            Protocol::FastCgi => {
                let message = format!("\"{name}\" is a FastCGI application, which runs scripts among files");
                let hint =
                    "give the site `files`, and `handlers = [{ extension = \".php\", fastcgi = \"…\" }]`";
                self.error(Code::Contradiction, span, message, hint);
                None
            }
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
