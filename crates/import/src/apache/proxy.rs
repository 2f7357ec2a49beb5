//! mod_proxy and mod_proxy_balancer: balancers become upstreams, `ProxyPass` a rule's `upstream`.

use super::directives::Conf;
use crate::draft::Draft;
use crate::note::{Fate, Place};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Scope, Select, Settings, Upstream, Value, regex};

/// A balancer: the upstream that stands for it.
#[derive(Clone, Debug)]
pub(crate) struct Balancer {
    /// As `balancer://` names it.
    name: String,
    /// The upstream's name.
    upstream: String,
}

/// All `<Proxy balancer://…>`, wherever they stand: their names are the whole server's.
pub(crate) fn balancers(tree: &[Directive], draft: &mut Draft<'_>, all: &mut Vec<Balancer>) {
    let recipe = sets_cookie(tree);
    gather(tree, draft, all);
    for name in all.iter().map(|b| b.upstream.clone()).collect::<Vec<_>>() {
        finish(&name, draft, recipe);
    }
}

fn sets_cookie(tree: &[Directive]) -> bool {
    tree.iter().any(|d| {
        let own = d.is("Header") && d.args.iter().any(|a| a.contains("BALANCER_WORKER_ROUTE"));
        own || d.inner.as_deref().is_some_and(sets_cookie)
    })
}

fn gather(tree: &[Directive], draft: &mut Draft<'_>, all: &mut Vec<Balancer>) {
    for d in tree {
        let Some(inner) = d.inner.as_deref() else {
            // The form outside of a section names its balancer first.
            if d.is("BalancerMember") && d.arg(0).starts_with("balancer://") {
                let upstream = declare(d.arg(0), &d.place, draft, all);
                member(&upstream, d, 1, draft);
            }
            continue;
        };
        if !(d.is("Proxy") && d.arg(0).starts_with("balancer://")) {
            gather(inner, draft, all);
            continue;
        }
        let upstream = declare(d.arg(0), &d.place, draft, all);
        draft.note(&d.place, &d.shown(), Fate::Carried, format!("[[upstream]] {upstream}"));
        for i in inner {
            if i.is("BalancerMember") {
                member(&upstream, i, 0, draft);
            } else if i.is("ProxySet") {
                let first = usize::from(i.arg(0).contains("://"));
                parameters(&upstream, i, i.args.get(first..).unwrap_or_default(), draft);
            } else if i.inner.is_some() {
                gather(std::slice::from_ref(i), draft, all);
            } else if !super::access::Access::is_guard(i) {
                draft.note(
                    &i.place,
                    &i.shown(),
                    Fate::LeftOut,
                    "this importer does not know the parameter: look up what it does to the balancer",
                );
            }
        }
    }
}

/// The upstream of a balancer.
fn declare(url: &str, place: &Place, draft: &mut Draft<'_>, all: &mut Vec<Balancer>) -> String {
    let name = balancer_name(url);
    if let Some(known) = all.iter().find(|b| b.name == name) {
        return known.upstream.clone();
    }
    let upstream = draft.free_name(&spell::name(&name));
    let declared = Upstream { name: upstream.clone(), place: Some(place.clone()), ..Upstream::default() };
    draft.wanted.upstreams.push(declared);
    all.push(Balancer { name, upstream: upstream.clone() });
    upstream
}

/// `balancer://name/path` → `name`.
fn balancer_name(url: &str) -> String {
    let bare = url.trim_start_matches("balancer://");
    bare.split('/').next().unwrap_or(bare).to_ascii_lowercase()
}

fn upstream<'w>(name: &str, draft: &'w mut Draft<'_>) -> Option<&'w mut Upstream> {
    draft.wanted.upstreams.iter_mut().find(|u| u.name == name)
}

fn member(name: &str, d: &Directive, first: usize, draft: &mut Draft<'_>) {
    let url = d.arg(first);
    let Some(url) = http_url(url) else {
        let why = if url.starts_with("https://") {
            "Samovar does not speak TLS with upstreams yet"
        } else {
            "members speak HTTP"
        };
        draft.note(&d.place, &d.shown(), Fate::LeftOut, why);
        return;
    };
    let mut table = vec![("url".to_owned(), Value::Text(url))];
    let mut settings = Settings::default();
    let mut lost = Vec::new();
    for parameter in d.args.iter().skip(first + 1) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let number = value.parse::<u64>().ok();
        let mut put = |key: &str, value: Value| table.push((key.to_owned(), value));
        match (key.to_ascii_lowercase().as_str(), number) {
            ("loadfactor", Some(n)) if (1..=1000).contains(&n) => put("weight", Value::Int(n)),
            ("route", _) if spell::name(value) == value => put("route", Value::text(value)),
            ("lbset", Some(n)) if n <= 99 => put("set", Value::Int(n)),
            ("max", Some(n)) if (1..=100_000).contains(&n) => put("max_connections", Value::Int(n)),
            ("status", _) => {
                let signs = value.trim_start_matches('+');
                if signs.contains(['H', 'R']) {
                    put("standby", Value::Bool(true));
                }
                if signs.contains(['D', 'S']) {
                    put("state", Value::text("disabled"));
                } else if signs.contains('N') {
                    put("state", Value::text("drain"));
                }
            }
            _ if worker(key, value, &d.place, &mut settings) => {}
            ("keepalive", _) => lost
                .push(format!("{parameter}: connections are kept and looked at before they are used again")),
            _ => lost.push(format!("{parameter} is not carried over")),
        }
    }
    if let Some(upstream) = upstream(name, draft) {
        upstream.members.push((table, d.place.clone()));
        upstream.settings.overlay(&settings);
    }
    let text = if lost.is_empty() { "a member".to_owned() } else { format!("a member; {}", lost.join("; ")) };
    draft.note(&d.place, &d.shown(), Fate::Carried, text);
}

/// Parameters that workers and balancers share, as settings of the whole upstream.
fn worker(key: &str, value: &str, place: &Place, settings: &mut Settings) -> bool {
    // httpd takes `5`, `5s`, `500ms`.
    let time = spell::nginx_time(value).filter(|ms| *ms > 0 && *ms <= 86_400_000);
    match (key.to_ascii_lowercase().as_str(), time) {
        ("timeout", Some(ms)) => {
            settings.set("head_timeout", Value::duration(ms), place);
            settings.set("body_timeout", Value::duration(ms), place);
        }
        ("connectiontimeout", Some(ms)) => {
            settings.set("connect_timeout", Value::duration(ms), place);
        }
        ("ttl", Some(ms)) => {
            settings.set("idle_timeout", Value::duration(ms), place);
        }
        ("retry", Some(ms)) => {
            let eject = [("after", Value::Int(1)), ("for", Value::duration(ms))];
            settings.set("eject", Value::table(eject), place);
        }
        _ => return false,
    }
    true
}

fn parameters(name: &str, d: &Directive, list: &[String], draft: &mut Draft<'_>) {
    let mut settings = Settings::default();
    let mut lost: Vec<&str> = Vec::new();
    for parameter in list {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match key.to_ascii_lowercase().as_str() {
            "lbmethod" => match value {
                "byrequests" => {
                    settings.set("balance", Value::text("requests"), &d.place);
                }
                "bytraffic" => {
                    settings.set("balance", Value::text("traffic"), &d.place);
                }
                "bybusyness" => {
                    settings.set("balance", Value::text("busyness"), &d.place);
                }
                _ => lost.push(parameter),
            },
            "stickysession" => {
                let (cookie, query) = value.split_once('|').unwrap_or((value, value));
                let ok = |n: &str| {
                    !n.is_empty() && n.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
                };
                if ok(cookie) && ok(query) {
                    let sticky = [("cookie", Value::text(cookie)), ("query", Value::text(query))];
                    settings.set("sticky", Value::table(sticky), &d.place);
                } else {
                    lost.push(parameter);
                }
            }
            "maxattempts" => match value.parse::<u64>() {
                Ok(n) if n < 20 => {
                    settings.set("retry", Value::table([("tries", Value::Int(n + 1))]), &d.place);
                }
                _ => lost.push(parameter),
            },
            "nofailover" if value.eq_ignore_ascii_case("on") => {
                settings.set("retry", Value::table([("tries", Value::Int(1))]), &d.place);
            }
            "timeout" => match spell::nginx_time(value).filter(|ms| *ms > 0) {
                Some(ms) => {
                    settings.set("queue_timeout", Value::duration(ms), &d.place);
                }
                None => lost.push(parameter),
            },
            _ => lost.push(parameter),
        }
    }
    let fate = if lost.len() == list.len() && !list.is_empty() { Fate::LeftOut } else { Fate::Carried };
    let text = match (lost.is_empty(), fate) {
        (true, _) => "settings of the upstream".to_owned(),
        (false, _) => format!("without {}, which Samovar does not know", lost.join(" ")),
    };
    if let Some(upstream) = upstream(name, draft) {
        upstream.settings.overlay(&settings);
    }
    draft.note(&d.place, &d.shown(), fate, text);
}

/// A cookie that is asked for and that httpd's recipe sets.
fn finish(name: &str, draft: &mut Draft<'_>, recipe: bool) {
    let Some(upstream) = upstream(name, draft) else { return };
    if let (Some(Value::Table(pairs)), true) = (upstream.settings.get("sticky").cloned(), recipe) {
        let place = upstream.place.clone();
        let mut pairs = pairs;
        pairs.push(("set".to_owned(), Value::Bool(true)));
        if let Some(place) = place {
            upstream.settings.set("sticky", Value::Table(pairs), &place);
        }
    }
}

/// `http://host[:port]`, with a path if there is one; nothing else can be an upstream.
fn http_url(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = spell::authority(authority)?;
    let port = port.map_or(String::new(), |port| format!(":{port}"));
    let clean = path.bytes().all(|b| b.is_ascii_graphic() && !b"?#@\"<>\\^`{|}$".contains(&b));
    let path = path.trim_end_matches('/');
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    clean.then(|| format!("http://{host}{port}{path}"))
}

/// A directive of the proxy, if it is one.
pub(crate) fn directive(conf: &mut Conf<'_, '_>, d: &Directive, name: &str, select: &Select) -> bool {
    match name {
        "proxypass" => pass(conf, d, select),
        "proxypassmatch" => pass_match(conf, d, select),
        "proxypassreverse" => conf.carried(d, "map_location, which is on by default"),
        "proxypassreversecookiepath" | "proxypassreversecookiedomain" => {
            let path = name.ends_with("path");
            let key = if path { "map_cookie_path" } else { "map_cookie_domain" };
            let ok = |text: &str| if path { text.starts_with('/') } else { spell::host(text).is_some() };
            if ok(d.arg(0)) && ok(d.arg(1)) {
                let map = Value::Table(vec![(d.arg(0).to_owned(), Value::text(d.arg(1)))]);
                conf.site.head.set(key, map, &d.place);
                conf.carried(d, key);
            } else {
                conf.left(d, "two paths, or two domains, are expected");
            }
        }
        "proxypreservehost" => {
            conf.preserve_host = d.arg(0).eq_ignore_ascii_case("on");
            conf.carried(d, "the host of the request, or `host` of the upstream");
        }
        "proxyrequests" if d.arg(0).eq_ignore_ascii_case("off") => {
            conf.carried(d, "Samovar is no forward proxy")
        }
        "proxyrequests" => conf.left(d, "Samovar is no forward proxy"),
        "proxytimeout" => {
            let mut settings = Settings::default();
            if worker("timeout", d.arg(0), &d.place, &mut settings) {
                for upstream in &mut conf.draft.wanted.upstreams {
                    let mut all = settings.clone();
                    all.overlay(&upstream.settings);
                    upstream.settings = all;
                }
                conf.carried(d, "head_timeout and body_timeout of the balancers");
            } else {
                conf.left(d, "this is no time; Samovar's default holds");
            }
        }
        "balancermember" if d.arg(0).starts_with("balancer://") => {}
        "sethandler" | "addhandler" if d.arg(0).starts_with("proxy:") => fcgi(conf, d, d.arg(0), select),
        "proxyvia" => conf.left(d, "Samovar writes Via as RFC 9110 says"),
        "proxyerroroverride" => conf.left(d, "`error_pages` holds for errors of the origin too"),
        _ if name.starts_with("proxy") || name.starts_with("balancer") || name == "noproxy" => {
            conf.left(d, "Samovar has no counterpart");
        }
        _ => return false,
    }
    true
}

fn pass(conf: &mut Conf<'_, '_>, d: &Directive, select: &Select) {
    // In a section its path is the section's.
    let here = match (&select.path, select.extensions.is_empty()) {
        (PathSet::All, true) => None,
        (PathSet::Under(path), true) => Some(path.clone()),
        _ => {
            conf.left(d, "the path of an upstream cannot hold this: write `rewrite` into the rule");
            return;
        }
    };
    let in_section = here.is_some() || !d.arg(0).starts_with('/');
    let (path, url, rest) = match (here, in_section) {
        (Some(path), _) => (path, d.arg(0), 1),
        (None, true) => ("/".to_owned(), d.arg(0), 1),
        (None, false) => (d.arg(0).to_owned(), d.arg(1), 2),
    };
    let select = Select::path(PathSet::under(&path));
    if url == "!" {
        let mut settings = Settings::default();
        settings.set("upstream", Value::Bool(false), &d.place);
        conf.pass(d, select, settings, in_section);
        conf.carried(d, "paths that are not passed on are files");
        return;
    }
    if url.starts_with("fcgi://") || url.starts_with("unix:") {
        fcgi(conf, d, url, &select);
        return;
    }
    let parameters_of = d.args.get(rest..).unwrap_or_default().to_vec();
    let Some((name, suffix)) = target(conf, d, url) else {
        // Files must not show where something else was.
        conf.close(d, &select, "it was passed on, and its address cannot be used: write `upstream` into the rule and take `deny` out");
        return;
    };
    if !parameters_of.is_empty() {
        if url.starts_with("balancer://") {
            parameters(&name, d, &parameters_of, conf.draft);
        } else {
            let mut settings = Settings::default();
            for parameter in &parameters_of {
                let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                if !worker(key, value, &d.place, &mut settings) {
                    conf.left(d, format!("{parameter} is not carried over"));
                }
            }
            if let Some(upstream) = upstream(&name, conf.draft) {
                upstream.settings.overlay(&settings);
            }
        }
    }
    // `/app/` to `…/app/` says nothing of the path; `/app` to `…/inner` changes it.
    let same = suffix.trim_end_matches('/') == path.trim_end_matches('/');
    let mut settings = Settings::default();
    settings.set("upstream", Value::text(&name), &d.place);
    // httpd tells each member its own name unless told otherwise.
    let told = match url.starts_with("balancer://") && !conf.preserve_host {
        true => "; its members are told the host of the request, where httpd told each its own name",
        false => "",
    };
    if same || (path == "/" && suffix.trim_end_matches('/').is_empty()) {
        conf.pass(d, select, settings, in_section);
        conf.carried(d, format!("upstream = \"{name}\"{told}"));
        return;
    }
    let base = path.trim_end_matches('/').to_owned();
    if spell::literal(&format!("{base}/")).is_none()
        || suffix.contains(['{', '}'])
        || spell::field_value(&format!("/{suffix}")).is_none()
    {
        conf.left(d, "the path cannot be written as a glob");
        return;
    }
    let rewritten = format!("{}/{{1}}", suffix.trim_end_matches('/'));
    settings.set("rewrite", Value::text(&rewritten), &d.place);
    let below = Select::path(PathSet::Under(format!("{base}/")));
    conf.pass(d, below, settings, in_section);
    conf.carried(d, format!("upstream = \"{name}\"{told}, rewrite = \"{rewritten}\""));
}

/// The upstream that a URL names, and the path in it.
fn target(conf: &mut Conf<'_, '_>, d: &Directive, url: &str) -> Option<(String, String)> {
    if url.starts_with("balancer://") {
        let bare = url.trim_start_matches("balancer://");
        let suffix = bare.split_once('/').map_or(String::new(), |(_, path)| format!("/{path}"));
        let name = balancer_name(url);
        let known = conf.balancers.iter().find(|b| b.name == name).map(|b| b.upstream.clone());
        let members = known.as_deref().and_then(|n| upstream(n, conf.draft)).map_or(0, |u| u.members.len());
        return match known {
            Some(known) if members > 0 => Some((known, suffix)),
            _ => {
                conf.left(d, format!("no member of the balancer {name} could be read"));
                None
            }
        };
    }
    let Some(whole) = http_url(url) else {
        let why = match url.split("://").next() {
            Some("https") => {
                "Samovar does not speak TLS with upstreams yet: give the upstream an http:// address"
            }
            _ => "Samovar speaks HTTP with upstreams, and FastCGI for scripts",
        };
        conf.left(d, why);
        return None;
    };
    let rest = whole.trim_start_matches("http://");
    let (authority, path) = rest.split_once('/').map_or((rest, String::new()), |(a, p)| (a, format!("/{p}")));
    // httpd tells the origin its own name unless told otherwise.
    let host = (!conf.preserve_host).then(|| authority.to_owned());
    let name = conf.draft.upstream_of(&format!("http://{authority}"), host, &d.place);
    Some((name, path))
}

fn pass_match(conf: &mut Conf<'_, '_>, d: &Directive, select: &Select) {
    let (expression, url) = (d.arg(0), d.arg(1));
    let Some(inner) = regex(expression).and_then(|inner| super::sections::within(select, inner)) else {
        conf.left(d, "a rule selects by path globs and extensions, not by this expression");
        return;
    };
    let in_section = !select.is_all();
    let mut settings = Settings::default();
    if url == "!" {
        settings.set("upstream", Value::Bool(false), &d.place);
        conf.pass(d, inner, settings, in_section);
        conf.carried(d, "paths that are not passed on are files");
    } else if url.starts_with("fcgi://") || url.starts_with("unix:") {
        fcgi(conf, d, url, &inner);
    } else if url.contains("/$1") && !expression.contains("^/(") || url.matches('$').count() > 1 {
        conf.left(d, "what the expression captures cannot be put in: write `rewrite` into a rule");
    } else if let Some((name, path)) = target(conf, d, url.split('$').next().unwrap_or(url)) {
        if !path.is_empty() {
            conf.left(d, "what the expression captures cannot be put in: write `rewrite` into a rule");
            return;
        }
        settings.set("upstream", Value::text(&name), &d.place);
        conf.pass(d, inner, settings, in_section);
        conf.carried(d, format!("upstream = \"{name}\""));
    }
}

impl Conf<'_, '_> {
    /// Where requests go: of those at the top the first that fits holds, and before them the last of those in sections.
    fn pass(&mut self, d: &Directive, select: Select, settings: Settings, in_section: bool) {
        let scope = Scope { select, settings, place: Some(d.place.clone()) };
        if in_section {
            self.site.passes.insert(0, scope);
        } else {
            self.site.passes.push(scope);
        }
    }
}

/// `fcgi://host:port/folder`, `unix:/socket|fcgi://…`: a handler of an extension.
fn fcgi(conf: &mut Conf<'_, '_>, d: &Directive, url: &str, select: &Select) {
    let url = url.trim_start_matches("proxy:");
    let address = match url.strip_prefix("unix:") {
        Some(rest) => rest
            .split('|')
            .next()
            .filter(|p| p.starts_with('/') && p.len() < 108)
            .map(|p| format!("unix:{p}")),
        None => url.strip_prefix("fcgi://").and_then(|rest| {
            let (host, port) = spell::authority(rest.split('/').next().unwrap_or(rest))?;
            Some(format!("{host}:{}", port.unwrap_or(9000)))
        }),
    };
    let extensions = match (d.is("AddHandler"), select.extensions.is_empty()) {
        (true, _) => d.args.iter().skip(1).filter_map(|e| spell::extension(e)).collect(),
        (false, false) => select.extensions.clone(),
        (false, true) => Vec::new(),
    };
    match (address, extensions.as_slice()) {
        (Some(address), [_, ..]) => {
            let list = Value::texts(extensions.clone());
            let handler = Value::table([("extension", list), ("fastcgi", Value::text(&address))]);
            conf.site.head.add("handlers", handler, &d.place);
            conf.carried(d, format!("handlers: {} at {address}", extensions.join(" ")));
        }
        (None, _) => conf.left(d, "its address cannot be read: write `handlers = [{ extension = …, fastcgi = \"ADDRESS\" }]`, or import with --fastcgi ADDRESS"),
        (_, []) => conf.left(
            d,
            "FastCGI applications run scripts of an extension: `handlers = [{ extension = \".php\", … }]`",
        ),
    }
}
