//! What holds in a location: its own directives, and of those around it what it does not say itself.

use super::{Conf, cache, guards, upstream, words};
use crate::note::{Fate, Place};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Scope, Select, Settings, Site, Value, is_ours, regex};

/// Directives that are of one place and not handed down.
const OWN: [&str; 16] = [
    "location",
    "server",
    "listen",
    "server_name",
    "proxy_pass",
    "fastcgi_pass",
    "uwsgi_pass",
    "scgi_pass",
    "grpc_pass",
    "memcached_pass",
    "return",
    "rewrite",
    "try_files",
    "alias",
    "if",
    "internal",
];

/// Locations inside each other.
const DEPTH_MAX: usize = 8;

/// What is said together: one of them here, and none of those around is handed down.
fn group(name: &str) -> &str {
    match name {
        "allow" | "deny" => "allow",
        other => other,
    }
}

/// What holds inside: what is around, with what is said here in its place.
fn effective<'t>(around: &[&'t Directive], own: &'t [Directive]) -> Vec<&'t Directive> {
    let said = |d: &Directive| own.iter().any(|o| group(&o.name) == group(&d.name));
    let kept = around.iter().copied().filter(|d| !said(d) && !OWN.contains(&d.name.as_str()));
    kept.chain(own.iter()).collect()
}

/// Which requests a location takes, and in which order nginx tries it.
#[derive(Debug)]
struct Tried {
    select: Select,
    order: (u8, std::cmp::Reverse<usize>),
}

fn tried(d: &Directive) -> Option<Tried> {
    let exact = |path: &str| Select::path(PathSet::Exact(path.to_owned()));
    let prefix = |path: &str| path.starts_with('/').then(|| Select::path(PathSet::begins(path)));
    let longest = |path: &str| std::cmp::Reverse(path.len());
    let none = std::cmp::Reverse(0);
    Some(match (d.arg(0), d.arg(1)) {
        ("=", path) if path.starts_with('/') => Tried { select: exact(path), order: (0, none) },
        ("^~", path) => Tried { select: prefix(path)?, order: (1, longest(path)) },
        ("~" | "~*", expression) => Tried { select: regex(expression)?, order: (2, none) },
        (path, "") => Tried { select: prefix(path)?, order: (3, longest(path)) },
        _ => return None,
    })
}

/// A server: the site's own policy, and a scope for each location.
pub(super) fn server(inner: &[Directive], http: &[Directive], site: &mut Site, conf: &mut Conf<'_, '_>) {
    let around: Vec<&Directive> = http.iter().collect();
    let here = effective(&around, inner);
    for d in inner {
        whole(d, conf);
    }
    let root = here.iter().find(|d| d.name == "root").map(|d| d.arg(0).to_owned());
    let mut read = Read {
        site,
        conf,
        named: inner.iter().filter(|d| d.name == "location").collect(),
        scopes: Vec::new(),
    };
    read.files(&here);
    let mut own = read.settings(&here, &Select::default());
    read.pass(&here, &Select::default(), &mut own);
    let place = read.site.place.clone();
    read.locations(inner, &here, root.as_deref(), 0);
    let mut scopes = std::mem::take(&mut read.scopes);
    scopes.sort_by_key(|(order, _)| *order);
    let mut all: Vec<Scope> = vec![Scope { select: Select::default(), settings: own, place }];
    for (_, scope) in scopes {
        // Two blocks of one name are one too many.
        if !all.iter().skip(1).any(|known| known.select == scope.select && !scope.select.is_all()) {
            all.push(scope);
        }
    }
    shield(&mut all);
    site.scopes = all;
}

/// What a site says and a location does not say is handed down to its rule; where nginx does not hand it down, the rule
/// says so.
fn shield(scopes: &mut [Scope]) {
    let Some((own, rules)) = scopes.split_first_mut() else { return };
    for rule in rules.iter_mut().filter(|rule| !rule.select.is_all()) {
        for key in ["deny", "allow", "client_fields", "request_fields", "drop_fields"] {
            if own.settings.get(key).is_some() && rule.settings.get(key).is_none() {
                rule.settings.set_by_itself(key, Value::List(Vec::new()), "not handed down to here");
            }
        }
    }
}

struct Read<'r, 'd, 'o, 't> {
    site: &'r mut Site,
    conf: &'r mut Conf<'d, 'o>,
    named: Vec<&'t Directive>,
    scopes: Vec<((u8, std::cmp::Reverse<usize>), Scope)>,
}

impl<'t> Read<'_, '_, '_, 't> {
    fn locations(
        &mut self,
        list: &'t [Directive],
        around: &[&'t Directive],
        root: Option<&str>,
        depth: usize,
    ) {
        for d in list.iter().filter(|d| d.name == "location" && d.inner.is_some()) {
            let inner = d.inner.as_deref().unwrap_or_default();
            if d.arg(0).starts_with('@') {
                continue;
            }
            let here = effective(around, inner);
            let guarded = here.iter().any(|i| guards::is_guard(i));
            let Some(Tried { select, order }) = tried(d) else {
                let fate = if guarded { Fate::Unsafe } else { Fate::LeftOut };
                self.conf.note(d, fate, "a rule cannot select this: it takes path globs and extensions");
                continue;
            };
            if words::is_page(inner) {
                self.conf.left(d, "`samovar status`, `samovar limits` and /metrics say it, at an address of its own ([server] admin)");
                continue;
            }
            let whole = select.is_all();
            self.conf.carried(d, if whole { "what holds where no other rule matches" } else { "a rule" });
            for i in inner.iter().filter(|i| i.name != "location") {
                super::location::whole(i, self.conf);
            }
            self.folder(inner, d, root, whole);
            if whole {
                self.files(&here);
            }
            let mut settings = self.settings(&here, &select);
            let select = self.pass(&here, &select, &mut settings).unwrap_or(select);
            let place = Some(d.place.clone());
            self.scopes.push((order, Scope { select, settings, place }));
            if depth < DEPTH_MAX {
                self.locations(inner, &here, root, depth + 1);
            } else if inner.iter().any(|i| i.name == "location") {
                self.conf.note(d, Fate::LeftOut, "locations stand in each other too deep");
            }
        }
    }

    /// What a site has as a whole.
    fn files(&mut self, here: &[&Directive]) {
        for d in here {
            match d.name.as_str() {
                "root" if self.site.head.get("files").is_none() && !d.arg(0).contains('$') => {
                    let mut head = std::mem::take(&mut self.site.head);
                    self.conf.tell(d, Fate::Carried);
                    let (folder, remark) = self.conf.draft.folder(d.arg(0), &d.place, &d.shown());
                    let entry = head.set("files", Value::Text(folder.clone()), &d.place);
                    entry.remark = remark;
                    if !folder.starts_with('/') {
                        entry.remark =
                            "FILL IN: relative to this file; nginx began it at its own folder".to_owned();
                        self.conf.draft.note(
                            &d.place,
                            &d.shown(),
                            Fate::FillIn,
                            "files: write the whole path",
                        );
                    }
                    self.site.head = head;
                }
                "index" => {
                    let names: Vec<String> = d
                        .args
                        .iter()
                        .filter_map(|n| spell::file_name(n))
                        .filter(|n| !n.contains('$'))
                        .collect();
                    if !names.is_empty() {
                        self.conf.carried(d, "index");
                        self.site.head.set("index", Value::texts(names), &d.place);
                    } else {
                        self.conf.left(d, "names of files are wanted");
                    }
                }
                "fastcgi_index" => {
                    if let Some(name) =
                        spell::file_name(d.arg(0)).filter(|_| self.site.head.get("index").is_none())
                    {
                        self.site.head.set("index", Value::texts([name, "index.html".to_owned()]), &d.place);
                    }
                    self.conf.carried(d, "index");
                }
                "autoindex" => {
                    let on = d.arg(0) == "on";
                    self.site.head.set("listing", Value::Bool(on), &d.place);
                    self.conf.carried(d, format!("listing = {on}"));
                }
                "gzip_static" | "brotli_static" if d.arg(0) != "off" => {
                    self.site.head.set("precompressed", Value::Bool(true), &d.place);
                    self.conf.carried(d, "precompressed = true");
                }
                "disable_symlinks" => {
                    self.site.head.set("follow_links", Value::Bool(d.arg(0) == "off"), &d.place);
                    self.conf.carried(d, "follow_links; never out of the folder");
                }
                "types" if d.inner.is_some() => self.types(d),
                _ => {}
            }
        }
    }

    fn types(&mut self, d: &Directive) {
        let mut types = match self.site.head.get("types") {
            Some(Value::Table(pairs)) => pairs.clone(),
            _ => Vec::new(),
        };
        for i in d.inner.as_deref().unwrap_or_default() {
            for (extension, media) in
                i.args.iter().filter_map(|e| Some((spell::extension(e)?, spell::media_type(&i.name)?)))
            {
                types.retain(|(known, _)| *known != extension);
                types.push((extension, Value::Text(media)));
            }
        }
        self.conf.carried(d, "types");
        if !types.is_empty() && types.len() < 300 {
            self.site.head.set("types", Value::Table(types), &d.place);
        }
    }

    /// A folder of a location's own.
    fn folder(&mut self, inner: &[Directive], location: &Directive, root: Option<&str>, whole: bool) {
        for d in inner {
            let path = location.args.last().map_or("", String::as_str).trim_end_matches('/');
            let root = root.unwrap_or("").trim_end_matches('/');
            match d.name.as_str() {
                "root" if !whole && d.arg(0).trim_end_matches('/') != root => {
                    self.conf.left(
                        d,
                        format!(
                            "a site has one folder: move {}{path} below it",
                            d.arg(0).trim_end_matches('/')
                        ),
                    );
                }
                "alias" if d.arg(0).trim_end_matches('/') == format!("{root}{path}") => {
                    self.conf.carried(d, "its folder is where its path leads already");
                }
                "alias" => {
                    self.conf.left(d, format!("a site has one folder: move {} to {path} below it", d.arg(0)))
                }
                "index" | "autoindex" if !whole => {
                    self.conf.left(d, "index documents and lists are of a whole site: `index`, `listing`");
                }
                _ => {}
            }
        }
    }

    /// Settings of the directives that hold here.
    fn settings(&mut self, here: &[&Directive], select: &Select) -> Settings {
        let mut out = Settings::default();
        for d in here {
            fields(d, &mut out, self.conf);
        }
        cache::settings(here, &mut out, self.conf);
        guards::settings(here, &mut out, self.conf);
        for d in here.iter().filter(|d| d.name == "return") {
            returned(d, select, &mut out, self.conf);
        }
        out
    }

    /// Where requests go; another selection, where a path is rewritten.
    fn pass(&mut self, here: &[&'t Directive], select: &Select, out: &mut Settings) -> Option<Select> {
        let find = |name: &str| here.iter().copied().find(|d| d.name == name);
        if let Some(d) = find("proxy_pass") {
            return upstream::proxy_pass(d, here, select, out, self.conf);
        }
        if let Some(d) = find("fastcgi_pass") {
            upstream::fastcgi_pass(d, here, select, self.site, self.conf);
            return None;
        }
        for name in ["uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass"] {
            if let Some(d) = find(name) {
                self.conf.left(d, "upstreams speak HTTP, or FastCGI for scripts");
            }
        }
        if let Some(d) = find("try_files") {
            let last = d.args.last().map_or("", String::as_str);
            let named = self.named.iter().copied().find(|n| !last.is_empty() && n.arg(0) == last);
            match named.and_then(|n| n.inner.as_deref()) {
                Some(inner) if inner.iter().any(|i| i.name == "proxy_pass") => {
                    let behind = effective(here, inner);
                    let text = "all goes to the application: write rules above for paths of files that exist, such as \
                                `path = \"/static/**\"`";
                    self.conf.note(d, Fate::FillIn, text);
                    for i in inner {
                        whole(i, self.conf);
                    }
                    let found = behind.iter().copied().find(|i| i.name == "proxy_pass");
                    let passed = found.and_then(|p| upstream::proxy_pass(p, &behind, select, out, self.conf));
                    // Beside it the site keeps its files, for those rules.
                    return Some(passed.unwrap_or_else(|| match select.is_all() {
                        true => Select::path(PathSet::Glob("/**".to_owned())),
                        false => select.clone(),
                    }));
                }
                _ if last.starts_with('=') || last == "$uri" || last == "$uri/" => {
                    self.conf.carried(d, "what is no file is 404");
                }
                _ => self
                    .conf
                    .left(d, "files that do not exist are 404: no other page is tried in their place"),
            }
        }
        None
    }
}

/// Fields, compression, errors, lifetimes told to clients.
fn fields(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let place = &d.place;
    match d.name.as_str() {
        "add_header" => add_header(d, out, conf),
        "proxy_set_header" => set_header(d, out, conf),
        "proxy_hide_header" | "fastcgi_hide_header" => {
            match spell::field_name(d.arg(0)).filter(|f| !is_ours(f)) {
                Some(field) => {
                    out.add("drop_fields", Value::Text(field), place);
                    conf.carried(d, "drop_fields");
                }
                None => conf.left(d, "this is no field that could be dropped"),
            }
        }
        "expires" => expires(d, out, conf),
        "gzip" | "brotli" => {
            let on = d.arg(0) == "on";
            if !matches!(out.get("compress"), Some(Value::Table(_))) || !on {
                out.set("compress", Value::Bool(on), place);
            }
            conf.carried(d, format!("compress = {on}"));
        }
        "gzip_types" | "brotli_types" | "gzip_min_length" | "brotli_min_length" => compress(d, out, conf),
        "gzip_comp_level" | "brotli_comp_level" => {
            match d.arg(0).parse::<u64>().ok().filter(|n| (1..=11).contains(n)) {
                Some(level) => {
                    let (coding, most) = if d.name.starts_with("gzip") { ("gzip", 9) } else { ("br", 11) };
                    let levels = Value::table([(coding, Value::Int(level.min(most)))]);
                    conf.draft.wanted.compression.set("levels", levels, place);
                    conf.carried(d, "[compression] levels");
                }
                None => conf.left(d, "this is no level"),
            }
        }
        "error_page" => error_page(d, out, conf),
        _ => {}
    }
}

fn add_header(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let (name, value) = (d.arg(0), d.arg(1));
    let Some(field) = spell::field_name(name) else {
        conf.left(d, "this is no field name");
        return;
    };
    if value.contains("$upstream_cache_status") {
        conf.carried(d, "Cache-Status says it on every answer (RFC 9211)");
    } else if is_ours(&field) {
        conf.left(d, format!("{field} is Samovar's own to say"));
    } else if value.contains('$') {
        conf.left(d, "values with variables have no counterpart here");
    } else if let Some(value) = spell::field_value(value) {
        if field.eq_ignore_ascii_case("Cache-Control") {
            out.set("client_cache_control", Value::text(&value), &d.place);
            conf.carried(d, "client_cache_control, in place of the origin's word");
        } else {
            let edit = Value::table([("append", Value::Text(field)), ("value", Value::Text(value))]);
            out.add("client_fields", edit, &d.place);
            conf.carried(d, "client_fields, after the cache");
        }
    } else {
        conf.left(d, "an empty value adds nothing");
    }
}

fn set_header(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let (name, value) = (d.arg(0), d.arg(1));
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "host" => conf.carried(d, "the host of the request, or `host` of the upstream"),
        "x-forwarded-for" | "x-forwarded-proto" | "x-forwarded-host" | "forwarded" | "via" if value.contains('$') => {
            conf.carried(d, "origins are told it always");
        }
        "connection" | "upgrade" => conf.carried(d, "connections are kept, and upgrades pass"),
        "accept-encoding" if value.is_empty() => conf.left(d, "which codings the origin is asked for is settled by `compress`"),
        _ if value.is_empty() => match spell::field_name(name).filter(|f| !is_ours(f)) {
            Some(field) => {
                out.add("request_fields", Value::table([("remove", Value::Text(field))]), &d.place);
                conf.carried(d, "request_fields");
            }
            None => conf.left(d, "this is no field that could be taken away"),
        },
        _ if value.contains('$') => conf.left(d, "values with variables have no counterpart; X-Forwarded-For, -Proto, -Host and Forwarded are sent"),
        _ => match (spell::field_name(name).filter(|f| !is_ours(f)), spell::field_value(value)) {
            (Some(field), Some(value)) => {
                let edit = Value::table([("set", Value::Text(field)), ("value", Value::Text(value))]);
                out.add("request_fields", edit, &d.place);
                conf.carried(d, "request_fields");
            }
            _ => conf.left(d, "name or value cannot be spelt"),
        },
    }
}

fn expires(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let told = match d.arg(0) {
        "off" => {
            conf.carried(d, "the default");
            return;
        }
        "max" => Some("max-age=315360000".to_owned()),
        "epoch" => Some("no-cache".to_owned()),
        text if text.starts_with('-') => Some("no-cache".to_owned()),
        text => spell::nginx_time(text).map(|ms| format!("max-age={}", ms / 1000)),
    };
    match told.filter(|_| d.args.len() == 1) {
        Some(told) => {
            conf.carried(d, format!("client_cache_control = \"{told}\""));
            out.set("client_cache_control", Value::Text(told), &d.place);
        }
        None => conf.left(d, "a lifetime counted from the request is wanted"),
    }
}

fn compress(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    if out.get("compress") == Some(&Value::Bool(false)) {
        conf.left(d, "compression is off");
        return;
    }
    let mut pairs = match out.get("compress") {
        Some(Value::Table(pairs)) => pairs.clone(),
        _ => Vec::new(),
    };
    if d.name.ends_with("types") {
        let mut types: Vec<String> = match d.args.iter().any(|t| t == "*") {
            true => vec!["text/*".to_owned(), "application/*".to_owned()],
            // nginx always has text/html among them.
            false => std::iter::once("text/html".to_owned())
                .chain(d.args.iter().filter_map(|t| spell::media_type(t)))
                .collect(),
        };
        types.retain(|t| !t.contains(';'));
        let mut seen = std::collections::HashSet::new();
        types.retain(|t| seen.insert(t.clone()));
        pairs.retain(|(key, _)| key != "types");
        pairs.push(("types".to_owned(), Value::texts(types)));
        conf.carried(d, "compress.types");
    } else if let Some(bytes) = spell::nginx_size(d.arg(0)) {
        pairs.retain(|(key, _)| key != "min_bytes");
        pairs.push(("min_bytes".to_owned(), Value::size(bytes)));
        conf.carried(d, "compress.min_bytes");
    } else {
        conf.left(d, "this is no size");
        return;
    }
    out.set("compress", Value::Table(pairs), &d.place);
}

fn error_page(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let path = d.args.last().map_or("", String::as_str);
    let statuses: Vec<u16> =
        d.args.iter().filter_map(|s| s.parse().ok()).filter(|n| (400..=599).contains(n)).collect();
    let changes = d.args.iter().any(|a| a.starts_with('='));
    if !path.starts_with('/') || path.contains('$') || statuses.is_empty() || changes {
        conf.left(d, "a page of the same site, with the status kept, is what `error_pages` can say");
        return;
    }
    let mut pages = match out.get("error_pages") {
        Some(Value::Table(pages)) => pages.clone(),
        _ => Vec::new(),
    };
    for status in statuses.iter().map(u16::to_string) {
        pages.retain(|(known, _)| *known != status);
        pages.push((status, Value::text(path)));
    }
    out.set("error_pages", Value::Table(pages), &d.place);
    conf.carried(d, "error_pages");
}

fn returned(d: &Directive, select: &Select, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let (status, to) = match d.arg(0).parse::<u64>() {
        Ok(status) => (status, d.arg(1)),
        Err(_) => (302, d.arg(0)),
    };
    match status {
        403 | 404 | 410 | 444 => {
            out.set("deny", guards::everybody(), &d.place).remark =
                format!("answered with 403, where nginx said {status}");
            conf.carried(d, format!("deny: nobody may, 403 where nginx said {status}"));
        }
        301 | 302 | 303 | 307 | 308 => {
            let known = [
                ("$host", "{host}"),
                ("$server_name", "{host}"),
                ("$request_uri", "{path}"),
                ("$uri", "{path}"),
            ];
            let clean = !to.contains(['{', '}']);
            let scheme =
                if to.starts_with("$scheme://") { to.replacen("$scheme", "http", 1) } else { to.to_owned() };
            let target = known.iter().fold(scheme, |text, (name, ours)| text.replace(name, ours));
            if to.is_empty() || target.contains('$') || !clean || spell::field_value(&target).is_none() {
                conf.left(
                    d,
                    "write `redirect = { to = \"…\", status = … }` into a rule: its variables are others",
                );
                return;
            }
            let _ = select;
            let redirect = Value::table([("to", Value::text(&target)), ("status", Value::Int(status))]);
            out.set("redirect", redirect, &d.place);
            conf.carried(d, format!("redirect to {target}, {status}"));
        }
        _ => conf.left(d, "a page of a status and a text of its own is not there"),
    }
}

/// Directives that hold for the whole server wherever they stand, and those with no counterpart; each is told once.
pub(super) fn whole(d: &Directive, conf: &mut Conf<'_, '_>) {
    words::whole(d, conf);
}

/// Sets a key of the whole server, told at its directive.
pub(super) fn limit(d: &Directive, key: &'static str, value: Value, conf: &mut Conf<'_, '_>) {
    conf.carried(d, format!("[limits] {key} = {}, for all", value.toml()));
    let place: &Place = &d.place;
    conf.draft.wanted.limits.set(key, value, place);
}
