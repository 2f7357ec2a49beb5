//! What holds in a location: its own directives, and of those around it what it does not say itself.
//!
//! Not here: which location takes a request (`order`).

use super::order::{self, Kind, Node};
use super::{Conf, cache, fields, guards, upstream, words};
use crate::note::{Consequence, Fate, Place};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{
    PathSet, Scope, Select, Settings, Site, Value, Wide, alternatives, everybody, is_whole, regex,
};

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

/// Which requests a location takes.
struct Tried {
    kind: Kind,
    /// `None`: no rule can select so.
    select: Option<Select>,
    /// What it takes at most, if it is an expression.
    wide: Option<Wide>,
    /// Whether the selection leaves something out.
    narrower: bool,
}

fn tried(d: &Directive) -> Tried {
    let plain = |kind: Kind, path: Option<PathSet>| Tried {
        kind,
        select: path.map(Select::path),
        wide: None,
        narrower: false,
    };
    let prefix = |path: &str| path.starts_with('/').then(|| PathSet::begins(path));
    let named = |path: &str, noregex: bool| Kind::Prefix { path: path.to_owned(), noregex };
    match (d.arg(0), d.arg(1)) {
        ("=", path) => plain(Kind::Exact, path.starts_with('/').then(|| PathSet::Exact(path.to_owned()))),
        ("^~", path) => plain(named(path, true), prefix(path)),
        ("~" | "~*", expression) => {
            let fold = d.arg(0) == "~*";
            let wide = Wide::of(expression, fold);
            // Paths are compared with their case, extensions without.
            let usual = regex(expression).filter(|s| !fold || s.path == PathSet::All);
            let narrower = usual.as_ref().is_some_and(|s| !is_whole(expression, s));
            let select = usual.or_else(|| wide.exact.then(|| Select::path(wide.paths())));
            Tried { kind: Kind::Regex, select, wide: Some(wide), narrower }
        }
        (path, "") => plain(named(path, false), prefix(path)),
        _ => plain(Kind::Exact, None),
    }
}

/// The same, with a `.` before a letter taken for a dot, which is what people mean by `^/.well-known/`.
fn by_letter(d: &Directive) -> Option<Select> {
    let plain = plain_dots(d.arg(1));
    (d.arg(0).starts_with('~') && plain != d.arg(1)).then(|| regex(&plain))?
}

fn plain_dots(expression: &str) -> String {
    let mut plain = String::new();
    let mut escaped = false;
    let mut chars = expression.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '.' && !escaped && chars.peek().is_some_and(char::is_ascii_alphanumeric) {
            plain.push('\\');
        }
        escaped = c == '\\' && !escaped;
        plain.push(c);
    }
    plain
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
        around: here.clone(),
        scripts: Vec::new(),
    };
    read.files(&here);
    let mut own = read.settings(&here);
    read.pass(&here, &Select::default(), false, &mut own);
    let place = read.site.place.clone();
    let whole = Scope { select: Select::default(), settings: own, place };
    // What a server returns is asked before any location.
    let mut scopes = if inner.iter().any(|d| d.name == "return") {
        vec![whole]
    } else {
        let nodes = read.nodes(inner, &here, root.as_deref(), true, false);
        order::in_order(nodes, whole, &read.scripts)
    };
    for d in inner.iter().filter(|d| guards::is_condition(d)) {
        match guards::condition_paths(d) {
            Some(path) => {
                let mut settings = Settings::default();
                conf.close(d, &mut settings, "a condition sent these paths elsewhere, or refused them");
                let scope = Scope { select: Select::path(path), settings, place: Some(d.place.clone()) };
                scopes.insert(scopes.len().min(1), scope);
            }
            None => {
                for scope in &mut scopes {
                    scope
                        .settings
                        .close(&d.place, "a condition refused some requests, and a rule cannot ask for it");
                }
            }
        }
    }
    shield(&mut scopes);
    site.scopes = scopes;
}

/// What a site says and a location does not say is handed down to its rule; where nginx does not hand it down, the rule
/// says so.
fn shield(scopes: &mut [Scope]) {
    let Some((own, rules)) = scopes.split_first_mut() else { return };
    const STORES: [&str; 4] = ["respect", "when_silent", "for", "until_changed"];
    let text = "not handed down to here";
    let none = || Value::List(Vec::new());
    for rule in rules.iter_mut().filter(|rule| !rule.select.is_all()) {
        let said = |key: &str, rule: &Scope| rule.settings.get(key).is_some();
        for (key, value) in [
            ("deny", none()),
            ("allow", none()),
            ("client_fields", none()),
            ("request_fields", none()),
            ("drop_fields", none()),
            ("basic_auth", Value::Bool(false)),
            ("set_cookie", Value::text("refuse")),
            ("vary_query", Value::text("as-is")),
        ] {
            if said(key, own) && !said(key, rule) {
                rule.settings.set_by_itself(key, value, text);
            }
        }
        if STORES.iter().any(|key| said(key, own)) && !STORES.iter().any(|key| said(key, rule)) {
            rule.settings.set_by_itself("never", Value::Bool(true), text);
        }
    }
}

pub(super) struct Read<'r, 'd, 'o, 't> {
    pub(super) site: &'r mut Site,
    pub(super) conf: &'r mut Conf<'d, 'o>,
    named: Vec<&'t Directive>,
    /// What holds in the whole server.
    around: Vec<&'t Directive>,
    /// Where scripts are run: the extensions, and the location.
    scripts: Vec<(Vec<String>, Place)>,
}

impl<'t> Read<'_, '_, '_, 't> {
    /// Locations with what is in them. `lost`: no rule selects what they stand in.
    fn nodes(
        &mut self,
        list: &'t [Directive],
        around: &[&'t Directive],
        root: Option<&str>,
        top: bool,
        lost: bool,
    ) -> Vec<Node> {
        let mut nodes = Vec::new();
        for d in list.iter().filter(|d| d.name == "location" && !d.arg(0).starts_with('@')) {
            nodes.push(self.node(d, around, root, top, lost));
        }
        nodes
    }

    fn node(
        &mut self,
        d: &'t Directive,
        around: &[&'t Directive],
        root: Option<&str>,
        top: bool,
        lost: bool,
    ) -> Node {
        let inner = d.inside();
        let here = effective(around, inner);
        let Tried { kind, select, wide, narrower } = tried(d);
        let place = d.place.clone();
        let mut scopes = Vec::new();
        // What the whole server guards is guarded without it.
        let own = |i: &&Directive| guards::is_guard(i) && !self.around.iter().any(|a| a.place == i.place);
        let guarded = here.iter().any(own);
        let named = || select.as_ref().map_or(PathSet::All, |select| select.path.clone());
        let at_most = wide.as_ref().map_or_else(named, Wide::paths);
        let closer = |conf: &mut Conf<'_, '_>, why: &str| {
            let mut settings = Settings::default();
            settings.close(&d.place, why);
            let as_what = (Fate::Unsafe, Consequence::BreaksSite);
            conf.note_as(d, as_what, format!("closed to everybody: {why}"));
            Scope { select: Select::path(at_most.clone()), settings, place: Some(d.place.clone()) }
        };
        // Extensions are compared without case, which opens more than it should.
        let blind = select.as_ref().is_some_and(|select| !select.extensions.is_empty());
        let runs = inner.iter().any(|i| i.name == "fastcgi_pass");
        // `\.php$|^/update.php`: scripts by their extension, and paths with a script's name in the middle.
        let (select, narrower, beside) = match (select, d.args.get(1)) {
            (None, Some(expression)) if runs && kind == Kind::Regex => scripts_of(expression),
            (select, _) => (select, narrower, Vec::new()),
        };
        let select = match &wide {
            Some(wide) if (narrower || d.arg(0) == "~") && blind && !runs => {
                wide.exact.then(|| Select::path(wide.paths()))
            }
            _ => select,
        };
        let opens = !guarded && !inner.iter().any(shows_programs);
        let select = select.or_else(|| by_letter(d).filter(|_| opens));
        let is_lost = select.is_none() || lost;
        match select.filter(|_| !lost) {
            _ if words::is_page(inner) => {
                scopes.push(closer(self.conf, "`samovar status`, `samovar limits` and /metrics say it, at an address of its own ([server] admin)"));
            }
            None if guarded || inner.iter().any(shows_programs) => {
                let why = match guarded {
                    true => {
                        "a rule selects by path globs and extensions, so what it guarded cannot be selected exactly"
                    }
                    false => {
                        "a rule selects by path globs and extensions, and what ran here would be shown as it is"
                    }
                };
                // What nginx closes to everybody is closed here too, with what else the globs take.
                if at_most != PathSet::All && !lost && self.settings(&here).is_closed() {
                    let mut settings = Settings::default();
                    settings.hide(&d.place, "as in nginx; the glob may take some more");
                    scopes.push(Scope {
                        select: Select::path(at_most.clone()),
                        settings,
                        place: Some(place),
                    });
                    self.conf.carried(d, "rules that close at least these paths");
                } else {
                    scopes.push(closer(self.conf, why));
                    self.closed_with(inner);
                }
            }
            None => {
                let text = "a rule selects by path globs and extensions, not by this expression: write one for the paths that it \
                            takes";
                self.conf.note_as(d, (Fate::LeftOut, weight(inner)), text);
            }
            Some(select) => {
                let whole = top && select.is_all() && kind != Kind::Regex;
                self.conf.carried(d, if whole { "what holds where no other rule matches" } else { "a rule" });
                for i in inner.iter().filter(|i| i.name != "location") {
                    super::location::whole(i, self.conf);
                }
                if whole {
                    self.files(&here);
                }
                let mut settings = self.settings(&here);
                let select = self.pass(&here, &select, !top, &mut settings).unwrap_or(select);
                self.folder(inner, d, root, whole, &mut settings);
                for i in
                    inner.iter().filter(|i| guards::is_condition(i) && guards::condition_paths(i).is_some())
                {
                    self.conf.close(
                        i,
                        &mut settings,
                        "a condition refused some requests, and a rule cannot ask for it",
                    );
                }
                let guards = settings.guards();
                scopes.push(Scope { select, settings, place: Some(place.clone()) });
                if narrower && guards {
                    scopes.push(closer(self.conf, "what lies behind a script's name cannot be selected"));
                }
                for path in beside {
                    let mut settings = Settings::default();
                    self.conf.close(d, &mut settings, "scripts ran here that have no extension of their own");
                    scopes.push(Scope { select: Select::path(path), settings, place: Some(place.clone()) });
                }
            }
        }
        let nested = self.nodes(inner, &here, root, false, is_lost);
        Node { kind, scopes, wide, nested }
    }

    /// What stands in a location that is closed: nothing of it needs to be done, unless the location is opened.
    fn closed_with(&mut self, inner: &[Directive]) {
        for i in inner.iter().filter(|i| i.name != "location") {
            self.conf.left(i, "the location around it is closed to everybody");
            self.closed_with(i.inside());
        }
    }

    /// Settings of the directives that hold here.
    fn settings(&mut self, here: &[&Directive]) -> Settings {
        let mut out = Settings::default();
        for d in here {
            fields::fields(d, &mut out, self.conf);
        }
        cache::settings(here, &mut out, self.conf);
        guards::settings(here, &mut out, self.conf);
        for d in here.iter().filter(|d| d.name == "return") {
            returned(d, &mut out, self.conf);
        }
        out
    }

    /// Where requests go; another selection, where a path is rewritten. What cannot go there is closed: files of the site
    /// must not be shown in its place.
    fn pass(
        &mut self,
        here: &[&'t Directive],
        select: &Select,
        nested: bool,
        out: &mut Settings,
    ) -> Option<Select> {
        let find = |name: &str| here.iter().copied().find(|d| d.name == name);
        if let Some(d) = find("proxy_pass") {
            if let Some(tried) = find("try_files") {
                let text = "no file is tried before the application: write rules above for paths of files that exist, such as \
                            `path = \"/static/**\"`";
                self.conf.breaks(tried, text);
            }
            return upstream::proxy_pass(d, here, select, out, self.conf);
        }
        if let Some(d) = find("fastcgi_pass") {
            if let Some(tried) = find("try_files") {
                self.conf.carried(tried, "a missing script gets 404");
            }
            match upstream::fastcgi_pass(d, here, select, nested, self.site, self.conf) {
                Ok(extensions) => self.scripts.push((extensions, d.place.clone())),
                Err(why) => self.conf.close(d, out, why),
            }
            return None;
        }
        for &d in here {
            match d.name.as_str() {
                "uwsgi_pass" | "scgi_pass" | "grpc_pass" | "memcached_pass" => {
                    self.conf.close(d, out, "Samovar speaks HTTP with upstreams, and FastCGI for scripts");
                }
                "perl" | "js_content" => self.conf.close(
                    d,
                    out,
                    "Samovar runs no scripts: put them into an application behind HTTP or FastCGI",
                ),
                name if name.starts_with("content_by_lua") => {
                    self.conf.close(
                        d,
                        out,
                        "Samovar runs no scripts: put them into an application behind HTTP or FastCGI",
                    );
                }
                _ => {}
            }
        }
        let d = find("try_files")?;
        let last = d.args.last().map_or("", String::as_str);
        let named = self.named.iter().copied().find(|n| !last.is_empty() && n.arg(0) == last);
        match named {
            Some(named) => return self.behind(d, named, here, select, out),
            None if last.starts_with('=') || last == "$uri" || last == "$uri/" => {
                self.conf.carried(d, "a path that is no file gets 404");
            }
            None => self.front_controller(d, last, out),
        }
        None
    }

    /// What is no file was given to one page, which made all pages: they are missing until somebody says which paths they have.
    fn front_controller(&mut self, d: &Directive, page: &str, out: &mut Settings) {
        let (path, query) = page.split_once('?').unwrap_or((page, ""));
        let path = path.split('$').next().unwrap_or_default();
        let adds = !query.is_empty() && !["$args", "$query_string", "$is_args$args"].contains(&query);
        let text = format!(
            "a path that is no file gets 404, where nginx gave it to {page}. Write rules for the paths of pages, such as \
             `path = \"/blog/**\"`, with `rewrite = \"{path}\"`"
        );
        if path.starts_with('/') && !adds && spell::field_value(path).is_some() && !path.contains(['{', '}'])
        {
            // For somebody who wants all of it to go there, files too.
            let entry = out.set("rewrite", Value::text(path), &d.place);
            entry.off = true;
            entry.remark = format!("FILL-IN: for the paths of pages; nginx gave what is no file to {page}");
        }
        self.conf.note(d, Fate::FillIn, text);
    }

    /// `try_files … @name`: all goes where the named location goes, under its guards and those of here.
    fn behind(
        &mut self,
        d: &Directive,
        named: &'t Directive,
        here: &[&'t Directive],
        select: &Select,
        out: &mut Settings,
    ) -> Option<Select> {
        let inner = named.inside();
        let behind = effective(&self.around, inner);
        let passed = behind.iter().copied().find(|i| i.name == "proxy_pass");
        for i in inner {
            match i.name == "rewrite" && passed.is_none() {
                true => self
                    .conf
                    .left(i, "Samovar cannot route what is no file; see the `try_files` that leads here"),
                false => whole(i, self.conf),
            }
        }
        let own = inner.iter().any(guards::is_guard);
        let both =
            here.iter().any(|i| guards::is_guard(i) && !self.around.iter().any(|a| a.place == i.place));
        let settings = self.settings(&behind);
        let Some(passed) = passed else {
            self.conf.left(named, "Samovar cannot route what is no file; see `try_files`");
            if own {
                self.conf.close(named, out, "what nginx showed where no file was found was guarded");
            }
            let page = inner.iter().find(|i| i.name == "rewrite").map(|i| i.arg(1).to_owned());
            let page = page.filter(|page| page.starts_with('/'));
            self.front_controller(d, page.as_deref().unwrap_or_else(|| named.arg(0)), out);
            return None;
        };
        self.conf.carried(named, "where files are tried before it");
        let text = "all goes to the application: write rules above for paths of files that exist, such as \
                    `path = \"/static/**\"`";
        self.conf.note(d, Fate::FillIn, text);
        if own && both {
            self.conf.close(
                named,
                out,
                "its guards and those in front of it held both, and a rule has one set",
            );
        } else if !both {
            *out = settings;
        }
        let found = upstream::proxy_pass(passed, &behind, select, out, self.conf);
        // Beside it the site keeps its files, for those rules.
        Some(found.unwrap_or_else(|| match select.is_all() {
            true => Select::path(PathSet::Under("/".to_owned())),
            false => select.clone(),
        }))
    }
}

/// What shows what it runs where it does not run it.
fn shows_programs(d: &Directive) -> bool {
    ["fastcgi_pass", "uwsgi_pass", "scgi_pass", "perl", "js_content"].contains(&d.name.as_str())
        || d.name.starts_with("content_by_lua")
}

/// Scripts of an expression of several alternatives: their extensions, whether that leaves something out, and paths that it
/// takes beside them.
fn scripts_of(expression: &str) -> (Option<Select>, bool, Vec<PathSet>) {
    let parts = alternatives(expression);
    let read: Vec<Option<Select>> =
        parts.iter().map(|part| regex(part).or_else(|| regex(&plain_dots(part)))).collect();
    let by_extension = |select: &&Select| select.path == PathSet::All && !select.extensions.is_empty();
    let mut extensions: Vec<String> = Vec::new();
    for select in read.iter().flatten().filter(by_extension) {
        extensions.extend(select.extensions.iter().cloned());
    }
    if extensions.is_empty() {
        return (None, false, Vec::new());
    }
    let (mut narrower, mut beside) = (false, Vec::new());
    for (part, select) in parts.iter().zip(&read) {
        match select {
            Some(select) if by_extension(&select) => narrower |= !is_whole(part, select),
            Some(Select { path: PathSet::Begins(path) | PathSet::Exact(path), extensions: none })
                if none.is_empty() && extensions.iter().any(|e| path.ends_with(e.as_str())) => {}
            _ => beside.push(Wide::of(part, false).paths()),
        }
    }
    (Some(Select::extensions(extensions)), narrower, beside)
}

/// What it means that none of these directives holds.
fn weight(inner: &[Directive]) -> Consequence {
    let shows = |d: &Directive| {
        ["return", "rewrite", "try_files", "root", "alias", "error_page", "add_header"]
            .contains(&d.name.as_str())
            || d.name.ends_with("_pass")
    };
    let keeps = |d: &Directive| d.name == "expires" || cache::is_of_cache(&d.name);
    match () {
        () if inner.iter().any(shows) => Consequence::BreaksSite,
        () if inner.iter().any(keeps) => Consequence::CachedDifferently,
        () => Consequence::Nothing,
    }
}

fn returned(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let (status, to) = match d.arg(0).parse::<u64>() {
        Ok(status) => (status, d.arg(1)),
        Err(_) => (302, d.arg(0)),
    };
    match status {
        403 | 404 | 410 | 444 => {
            out.set("deny", everybody(), &d.place).remark = format!("403 here, where nginx sent {status}");
            conf.carried(d, format!("deny: nobody may, 403 here, where nginx sent {status}"));
        }
        301 | 302 | 303 | 307 | 308 => {
            let known = [
                ("$host", "{host}"),
                ("$server_name", "{host}"),
                (
                    "$request_uri",
                    if to.ends_with("$request_uri") && !to.contains('?') {
                        "{path}?{query}"
                    } else {
                        "{path}"
                    },
                ),
                ("$uri", "{path}"),
            ];
            let clean = !to.contains(['{', '}']);
            let scheme =
                if to.starts_with("$scheme://") { to.replacen("$scheme", "http", 1) } else { to.to_owned() };
            let target = known.iter().fold(scheme, |text, (name, ours)| text.replace(name, ours));
            if to.is_empty() || target.contains('$') || !clean || spell::field_value(&target).is_none() {
                let why = "the target has a variable of nginx: write `redirect = { to = \"…\", status = … }` into the rule, and take `deny` out";
                conf.close(d, out, why);
                return;
            }
            let redirect = Value::table([("to", Value::text(&target)), ("status", Value::Int(status))]);
            out.set("redirect", redirect, &d.place);
            conf.carried(d, format!("redirect to {target}, {status}"));
        }
        _ => {
            conf.close(d, out, "Samovar sends no text of a rule's own: put a file there, and take `deny` out")
        }
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
