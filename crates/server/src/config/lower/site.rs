//! `[[site]]`: its hosts, what its requests go to, its rules.

use super::rule::{self, Scope};
use super::upstream::FASTCGI_CONNECTIONS;
use super::{Around, Named, RuleSpan, Work, absolute, acts, advice, balance, tables};
use crate::config::diag::{Code, Diagnostic};
use crate::config::format::normal_extension;
use crate::config::net;
use crate::config::settings::{AccessLog, Certificate, TargetSettings};
use crate::config::tree::{Checked, Node, Span, Value};
use crate::config::upstreams::{FastCgiTarget, Place, Protocol, UpstreamSettings};
use samovar_origin::{FilesSettings, UpstreamLimits};
use samovar_rules::{Guards, Rule, Site, TargetId};
use std::path::PathBuf;
use std::sync::Arc;

/// What kinds of targets a site has; its defaults depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Takes {
    /// A folder of files takes what no handler takes.
    pub(super) files: bool,
    /// An HTTP upstream takes everything.
    pub(super) http: bool,
    /// FastCGI applications run some scripts.
    pub(super) handlers: bool,
}

/// A host that a site took, to find it taken twice.
struct Taken {
    host: String,
    ports: Vec<u16>,
    site: String,
    span: Span,
}

/// Reads all `[[site]]`; also the names of those with `cache = false`.
pub(super) fn sites(
    root: &Checked,
    index: &Option<Vec<String>>,
    work: &mut Work<'_>,
) -> (Vec<Site>, Vec<String>) {
    let mut sites: Vec<Site> = Vec::new();
    let mut uncached = Vec::new();
    let mut names: Vec<(String, Span)> = Vec::new();
    let mut taken: Vec<Taken> = Vec::new();
    for table in tables(root, "site") {
        let site = one(table, index, work);
        let name_span = table.get("name").map_or(table.span.clone(), |n| n.span.clone());
        if let Some((_, first)) = names.iter().find(|(n, _)| **n == *site.name) {
            let d = Diagnostic::error(
                Code::Duplicate,
                name_span.clone(),
                format!("two sites are named \"{}\"", site.name),
            )
            .also(first.clone(), "the first")
            .hint("give one of them another `name`");
            work.notes.push(d);
        }
        names.push((site.name.to_string(), name_span));
        take_hosts(table, &site, &mut taken, work);
        if table.bool("cache") == Some(false) {
            uncached.push(site.name.to_string());
        }
        sites.push(site);
    }
    if root.get("site").is_none_or(|n| n.list().is_empty() && n.value != Value::Invalid) {
        let hint = "add a site: `[[site]]`, `default = true`, `files = \"/srv/www\"`; `samovar init` writes a whole file";
        let span = root.get("site").map_or(0..0, |n| n.span.clone());
        work.error(Code::NoSite, &span, "there is nothing to serve: the file has no `[[site]]`", hint);
    }
    (sites, uncached)
}

fn one(table: &Checked, index: &Option<Vec<String>>, work: &mut Work<'_>) -> Site {
    let hosts = hosts(table);
    let default = table.bool("default") == Some(true);
    let first = hosts.iter().find(|h| !h.starts_with("*.")).or(hosts.first());
    let name = match table.get("name").and_then(Node::text) {
        Some(name) => name.to_owned(),
        None => first.cloned().unwrap_or_else(|| "default".to_owned()),
    };
    if hosts.is_empty() && !default && table.get("hosts").is_none_or(|n| n.list().is_empty()) {
        let hint = "add `hosts = [\"…\"]`, or `default = true` to take the hosts that no site names";
        work.error(Code::MissingKey, &table.span, format!("no request can reach the site \"{name}\""), hint);
    }
    let canonical = table.get("canonical_host").and_then(Node::text).map(canonical);
    let (fallback, handlers, takes) = targets(table, &name, work);
    let mut rules = rules(table, &name, takes, work);
    let mut otherwise = otherwise(table, &name, takes, work);
    let ids = handlers.iter().map(|(_, id)| id).chain([&fallback]);
    let own_cookies = balance::own_cookies(ids.filter_map(|id| work.targets.get(id.0)));
    for rule in rules.iter_mut().chain([&mut otherwise]) {
        let not_in_key = own_cookies.iter().filter(|own| !rule.vary_cookies.contains(own)).cloned();
        rule.ignore_cookies.extend(not_in_key.collect::<Vec<_>>());
    }
    balance::gate(table, &name, None, work);
    // A file is the same under every name, an application is told its own.
    let files_alone = !takes.http && !takes.handlers && rules.iter().all(|rule| rule.target.is_none());
    let named = || hosts.iter().find(|h| !h.starts_with("*.")).cloned();
    let canonical = match canonical {
        Some(written) => written,
        None if files_alone => named().unwrap_or_else(|| "localhost".to_owned()),
        None => String::new(),
    };
    let index = index_of(table, index, &handlers);
    let refuses = table.get("ambiguous_paths").and_then(Node::text) != Some("pass");
    let guards = Guards::new(&rules, &otherwise, refuses);
    let site = Site {
        name: name.into(),
        hosts,
        ports: ports(table),
        default,
        canonical_host: canonical,
        index,
        handlers,
        fallback,
        rules,
        otherwise: Arc::new(otherwise),
        cache_status: table.bool("cache_status").unwrap_or(true),
        guards,
    };
    advice::site(table, &site, takes, work);
    certificate(table, &site, work);
    site
}

/// The names of sites that leave `Location` as it comes.
pub(super) fn unmapped(root: &Checked, sites: &[Site]) -> Vec<Arc<str>> {
    let tables = tables(root, "site").zip(sites);
    tables
        .filter(|(table, _)| table.bool("map_location") == Some(false))
        .map(|(_, site)| Arc::clone(&site.name))
        .collect()
}

/// The files of all private keys and of users.
pub(super) fn secrets(root: &Checked, around: &Around) -> Vec<PathBuf> {
    let named = |table: &Checked| {
        let key = table.get("certificate_key").or_else(|| table.get("certificate"));
        key.and_then(Node::text).map(|text| absolute(&around.base, text))
    };
    let users = |table: &Checked| acts::users_file(table, &around.base);
    let sites = || tables(root, "site");
    let of_rules = sites().flat_map(|site| tables(site, "rule").filter_map(users));
    sites().filter_map(named).chain(sites().filter_map(users)).chain(of_rules).collect()
}

fn certificate(table: &Checked, site: &Site, work: &mut Work<'_>) {
    let path = |name| Some(absolute(&work.around.base, table.get(name)?.text()?));
    let (chain, key) = (path("certificate"), path("certificate_key"));
    let holder = table.get("certificate_key").map(|node| ("certificate_key", node));
    if let Some((name, node)) = holder.or_else(|| Some(("certificate", table.get("certificate")?)))
        && let Some(path) = path(name)
    {
        work.files.push(Named { path, span: node.span.clone(), key: name });
    }
    match (chain, key) {
        (Some(chain), key) => work.certificates.push(Certificate {
            site: site.name.to_string(),
            hosts: site.hosts.clone(),
            default: site.default,
            key: key.unwrap_or_else(|| chain.clone()),
            chain,
        }),
        (None, Some(_)) => {
            let span = table.get("certificate_key").map_or(0..0, |node| node.span.clone());
            let hint = "add `certificate`, the file with the certificate that belongs to it";
            work.error(Code::MissingKey, &span, "there is a key and no certificate", hint);
        }
        (None, None) => {}
    }
}

fn hosts(table: &Checked) -> Vec<String> {
    let written = table.get("hosts").map_or(Vec::new(), |n| n.value.texts());
    written.into_iter().map(normal_host).collect()
}

/// One spelling, `*.` kept.
fn normal_host(text: &str) -> String {
    let (star, host) = match text.strip_prefix("*.") {
        Some(rest) => ("*.", rest),
        None => ("", text),
    };
    let normal =
        samovar_rules::normalise_host(host, "http").map_or_else(|| host.to_ascii_lowercase(), |(h, _)| h);
    format!("{star}{normal}")
}

fn canonical(text: &str) -> String {
    match samovar_rules::normalise_host(text, "http") {
        Some((host, Some(port))) => format!("{host}:{port}"),
        Some((host, None)) => host,
        None => text.to_ascii_lowercase(),
    }
}

fn ports(table: &Checked) -> Vec<u16> {
    let listed = table.get("ports").map_or(&[][..], Node::list).iter();
    listed.filter_map(|n| n.value.amount()).filter_map(|n| u16::try_from(n).ok()).collect()
}

/// Notes hosts that two sites claim on the same port, and a second default site.
fn take_hosts(table: &Checked, site: &Site, taken: &mut Vec<Taken>, work: &mut Work<'_>) {
    let nodes = table.get("hosts").map_or(&[][..], Node::list).iter();
    let mut claims: Vec<(String, Span)> =
        nodes.filter_map(|n| n.text().map(|t| (normal_host(t), n.span.clone()))).collect();
    if let (true, Some(node)) = (site.default, table.get("default")) {
        claims.push((String::new(), node.span.clone()));
    }
    for (host, span) in claims {
        let same = |t: &&Taken| t.host == host && overlap(&t.ports, &site.ports);
        if let Some(first) = taken.iter().find(same) {
            let message = match (host.is_empty(), *first.site == *site.name) {
                (true, _) => format!("two default sites: \"{}\" and \"{}\"", first.site, site.name),
                (false, true) => format!("the host \"{host}\" is listed twice"),
                (false, false) => format!(
                    "the host \"{host}\" belongs to two sites, \"{}\" and \"{}\"",
                    first.site, site.name
                ),
            };
            let hint = "keep one of them, or tell them apart by `ports`";
            work.notes.push(
                Diagnostic::error(Code::Duplicate, span.clone(), message)
                    .also(first.span.clone(), "the first")
                    .hint(hint),
            );
        }
        taken.push(Taken { host, ports: site.ports.clone(), site: site.name.to_string(), span });
    }
}

fn overlap(a: &[u16], b: &[u16]) -> bool {
    a.is_empty() || b.is_empty() || a.iter().any(|p| b.contains(p))
}

/// Index documents: the site's own, the server's, or the usual ones, with PHP's before them where it has a handler.
fn index_of(table: &Checked, server: &Option<Vec<String>>, handlers: &[(String, TargetId)]) -> Vec<String> {
    if let Some(own) = table.get("index") {
        return own.value.texts().into_iter().map(str::to_owned).collect();
    }
    if let Some(server) = server {
        return server.clone();
    }
    let php = handlers.iter().any(|(e, _)| e == ".php").then_some("index.php");
    php.into_iter().chain(["index.html", "index.htm"]).map(str::to_owned).collect()
}

type Targets = (TargetId, Vec<(String, TargetId)>, Takes);

/// Exactly one of `files`, `upstream`, `origin`, and the handlers beside the first.
fn targets(table: &Checked, site: &str, work: &mut Work<'_>) -> Targets {
    let written: Vec<(&str, &Node)> =
        ["files", "upstream", "origin"].into_iter().filter_map(|k| table.get(k).map(|n| (k, n))).collect();
    let mut takes = Takes::default();
    let fallback = match written.as_slice() {
        [("files", node)] => {
            takes.files = true;
            node.text().map(|path| files(table, path, node, work))
        }
        [("upstream", node)] => {
            takes.http = true;
            node.text().and_then(|name| work.upstream_target(name, &node.span))
        }
        [(_, node)] => {
            takes.http = true;
            node.text().and_then(|url| net::parse_origin_url(url).ok()).map(|url| {
                let place = Place { address: url.address, base_path: url.base_path };
                let limits = UpstreamLimits::default();
                let settings = UpstreamSettings::of_one(url.authority, Protocol::Http, place, limits);
                work.target(TargetSettings::Http(Arc::new(settings)))
            })
        }
        [] => {
            let hint =
                "add `files = \"/srv/www\"`, `origin = \"http://127.0.0.1:3000\"`, or `upstream = \"NAME\"`";
            work.error(
                Code::MissingKey,
                &table.span,
                format!("the site \"{site}\" has nothing to serve"),
                hint,
            );
            None
        }
        [(one, first), (two, second), ..] => {
            let message = format!("the site \"{site}\" has both `{one}` and `{two}`");
            let d = Diagnostic::error(Code::Contradiction, second.span.clone(), message);
            work.notes.push(
                d.also(first.span.clone(), "the first").hint("keep one; a second site can have the other"),
            );
            None
        }
    };
    let handlers = handlers(table, takes.files, work);
    takes.handlers = !handlers.is_empty();
    // An id that is never used: where there is no target, an error was noted.
    (fallback.unwrap_or(TargetId(0)), handlers, takes)
}

fn files(table: &Checked, path: &str, node: &Node, work: &mut Work<'_>) -> TargetId {
    let root = absolute(&work.around.base, path);
    work.folders.push(Named { path: root.clone(), span: node.span.clone(), key: "files" });
    let types = match table.get("types").map(|n| &n.value) {
        Some(Value::Map(pairs)) => pairs
            .iter()
            .filter_map(|(k, _, v)| {
                Some((normal_extension(k).trim_start_matches('.').to_owned(), v.text()?.to_owned()))
            })
            .collect(),
        _ => Vec::new(),
    };
    let never: Vec<PathBuf> =
        work.around.file.iter().chain(&work.log_file).chain(&work.secrets).cloned().collect();
    work.target(TargetSettings::Files(FilesSettings {
        root,
        listing: table.bool("listing").unwrap_or(false),
        follow_links: table.bool("follow_links").unwrap_or(true),
        never,
        types,
    }))
}

fn handlers(table: &Checked, has_files: bool, work: &mut Work<'_>) -> Vec<(String, TargetId)> {
    let mut all: Vec<(String, TargetId)> = Vec::new();
    let Some(list) = table.get("handlers") else { return all };
    if !has_files && !list.list().is_empty() && !table.has("files") {
        let hint = "add `files`: the folder with the scripts";
        work.error(Code::Unmet, &list.span, "handlers run scripts among files, and this site has none", hint);
    }
    for handler in list.list().iter().filter_map(Node::table) {
        let target = fastcgi(table, handler, work);
        for node in handler.get("extension").map_or(&[][..], Node::list) {
            let Some(extension) = node.text().map(normal_extension) else { continue };
            if all.iter().any(|(e, _)| *e == extension) {
                let message = format!("\"{extension}\" has a handler already");
                work.error(Code::Duplicate, &node.span, message, "keep one of them");
            }
            if let Some(target) = target {
                all.push((extension, target));
            }
        }
    }
    all
}

fn fastcgi(site: &Checked, handler: &Checked, work: &mut Work<'_>) -> Option<TargetId> {
    let node = handler.get("fastcgi")?;
    let text = node.text()?;
    let upstream = if text.contains(':') {
        let limits = UpstreamLimits { max_connections: FASTCGI_CONNECTIONS, ..UpstreamLimits::default() };
        let place = Place { address: net::parse_address(text).ok()?, base_path: String::new() };
        Arc::new(UpstreamSettings::of_one(text.to_owned(), Protocol::FastCgi, place, limits))
    } else {
        let settings = work.upstream(text, &node.span)?;
        if settings.protocol == Protocol::Http {
            let message = format!("the upstream \"{text}\" speaks HTTP, not FastCGI");
            work.error(Code::Contradiction, &node.span, message, "name an upstream with `fastcgi`");
            return None;
        }
        settings
    };
    let root = handler.get("root").or(site.get("files")).and_then(Node::text)?;
    let params = match handler.get("params").map(|n| &n.value) {
        Some(Value::Map(pairs)) => {
            pairs.iter().filter_map(|(k, _, v)| Some((k.clone(), v.text()?.to_owned()))).collect()
        }
        _ => Arc::default(),
    };
    let root = absolute(&work.around.base, root);
    Some(work.target(TargetSettings::FastCgi(FastCgiTarget { upstream, root, params })))
}

fn rules(table: &Checked, site: &str, takes: Takes, work: &mut Work<'_>) -> Vec<Rule> {
    let mut all: Vec<Rule> = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    for (at, own) in tables(table, "rule").enumerate() {
        let id_node = own.get("id");
        let id = id_node.and_then(Node::text).map_or_else(|| format!("r{}", at + 1), str::to_owned);
        if let (Some(node), true) = (id_node, all.iter().any(|r| *r.id == *id)) {
            let message = format!("two rules of this site have the id \"{id}\"");
            work.error(Code::Duplicate, &node.span, message, "give one of them another `id`");
        }
        let scope = Scope { own, site: Some(table), id: &id, site_name: site };
        let target = own.get("upstream").and_then(|node| work.upstream_target(node.text()?, &node.span));
        // What holds without a lifetime policy depends on where its requests go.
        let takes = if own.has("upstream") { Takes { http: true, ..Takes::default() } } else { takes };
        let mut rule = rule::rule(&scope, takes, work);
        rule.target = target;
        advice::rule(&scope, &rule, work);
        acts::advice(&scope, &rule, takes, work);
        balance::gate(own, site, Some(&id), work);
        work.rule_spans.push(RuleSpan { site: site.to_owned(), id: id.clone(), span: own.span.clone() });
        spans.push(own.span.clone());
        all.push(rule);
    }
    hidden(site, &all, &spans, work);
    all
}

fn hidden(site: &str, rules: &[Rule], spans: &[Span], work: &mut Work<'_>) {
    let probe = Site {
        name: site.into(),
        hosts: Vec::new(),
        ports: Vec::new(),
        default: false,
        canonical_host: String::new(),
        handlers: Vec::new(),
        fallback: TargetId(0),
        index: Vec::new(),
        rules: rules.to_vec(),
        otherwise: Arc::default(),
        cache_status: true,
        guards: Guards::default(),
    };
    for (id, by) in samovar_rules::hidden_rules(&probe) {
        let span_of = |id: &str| rules.iter().position(|r| *r.id == *id).and_then(|i| spans.get(i)).cloned();
        let (Some(span), Some(by_span)) = (span_of(&id), span_of(&by)) else { continue };
        let message = format!("the rule {id} can never be chosen: {by} takes all its requests");
        let d = Diagnostic::warning(Code::HiddenRule, span, message)
            .label("never chosen")
            .also(by_span, "takes all its requests");
        work.notes
            .push(d.hint(format!("the first rule that matches holds: move {id} before {by}, or remove it")));
    }
}

/// What holds where no rule matches.
fn otherwise(table: &Checked, site: &str, takes: Takes, work: &mut Work<'_>) -> Rule {
    let scope = Scope { own: table, site: None, id: "default", site_name: site };
    let mut rule = rule::policy(&scope, takes, work);
    rule.acts = acts::acts(&scope, None, work);
    advice::rule(&scope, &rule, work);
    acts::advice(&scope, &rule, takes, work);
    rule
}

/// The access log, which must not be served if it lies among the files.
pub(super) fn log_file(access: &AccessLog) -> Option<PathBuf> {
    match access {
        AccessLog::File(path) => Some(path.clone()),
        _ => None,
    }
}
