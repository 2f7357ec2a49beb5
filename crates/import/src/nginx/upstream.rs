//! `upstream` blocks, `proxy_pass`, `fastcgi_pass`: where requests go, and how members share them.

use super::Conf;
use crate::note::Place;
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Select, Settings, Site, Upstream, Value};

/// What is spoken with the members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaks {
    Http,
    FastCgi,
}

/// `proxy_pass`: sets the rule's upstream; the selection changes where the path does.
pub(super) fn proxy_pass(
    d: &Directive,
    here: &[&Directive],
    select: &Select,
    out: &mut Settings,
    conf: &mut Conf<'_, '_>,
) -> Option<Select> {
    let url = d.arg(0);
    let Some(rest) = url.strip_prefix("http://").filter(|rest| !rest.contains('$')) else {
        let why = match url {
            _ if url.starts_with("https://") => {
                "Samovar does not speak TLS with upstreams yet: give the upstream an http:// address"
            }
            _ => "the address of an upstream has a variable: write it in full",
        };
        conf.close(d, out, why);
        return None;
    };
    // `http://unix:/socket:/path` or `http://name/path`.
    let (authority, path) = match rest.strip_prefix("unix:") {
        Some(socket) => match socket.split_once(':') {
            Some((socket, path)) => (format!("unix:{socket}"), Some(path.to_owned())),
            None => (format!("unix:{socket}"), None),
        },
        None => match rest.split_once('/') {
            Some((authority, path)) => (authority.to_owned(), Some(format!("/{path}"))),
            None => (rest.to_owned(), None),
        },
    };
    let host = host_told(here, &authority);
    let Some(name) = named(&authority, Speaks::Http, host, d, conf) else {
        conf.close(d, out, "its address cannot be read: write the upstream and name it in the rule");
        return None;
    };
    if let Some(upstream) = conf.draft.wanted.upstreams.iter_mut().find(|u| u.name == name) {
        bounds(here, "proxy_", &mut upstream.settings);
    }
    told(here, "proxy_", conf);
    out.set("upstream", Value::text(&name), &d.place);
    let location = match &select.path {
        PathSet::All => "/",
        PathSet::Under(path) | PathSet::Begins(path) | PathSet::Exact(path) => path.as_str(),
        PathSet::Globs(_) => "",
    };
    let path = match path {
        Some(path) if path != location => path,
        _ => {
            conf.carried(d, format!("upstream = \"{name}\""));
            return None;
        }
    };
    // The part of the path that the location names is put in place of.
    let literal = spell::literal(location);
    let clean = !path.contains(['{', '}', '?', '#']) && spell::field_value(&path).is_some();
    let (Some(_), true, true) = (literal, clean, select.extensions.is_empty() && location.ends_with('/'))
    else {
        conf.close(
            d,
            out,
            "the path that it puts in cannot be written: write `rewrite` into the rule and take `deny` out",
        );
        return None;
    };
    let rewritten = if path.ends_with('/') { format!("{path}{{1}}") } else { format!("{path}/{{1}}") };
    conf.carried(d, format!("upstream = \"{name}\", rewrite = \"{rewritten}\""));
    out.set("rewrite", Value::Text(rewritten), &d.place);
    Some(Select::path(PathSet::Under(location.to_owned())))
}

/// The host that members are told; `None`: that of the request.
fn host_told(here: &[&Directive], authority: &str) -> Option<String> {
    let own = || if authority.starts_with("unix:") { "localhost".to_owned() } else { authority.to_owned() };
    let set = here.iter().find(|i| i.name == "proxy_set_header" && i.is_about("Host"));
    let told = match set.map(|i| i.arg(1)) {
        None | Some("$proxy_host") => own(),
        Some(value) if value.contains('$') => return None,
        Some(value) => value.to_owned(),
    };
    // A name that no host can have is what nginx makes of an `upstream` block's; the members may take any.
    spell::authority(&told).map(|_| told)
}

impl Directive {
    /// Whether its first argument is this name.
    fn is_about(&self, name: &str) -> bool {
        self.arg(0).eq_ignore_ascii_case(name)
    }
}

/// The upstream of an authority: an `upstream` block, or a member by itself.
fn named(
    authority: &str,
    speaks: Speaks,
    host: Option<String>,
    d: &Directive,
    conf: &mut Conf<'_, '_>,
) -> Option<String> {
    if let (Speaks::FastCgi, Some(own)) = (speaks, &conf.draft.options.fastcgi) {
        return Some(own.clone());
    }
    let block = conf.upstreams.iter().find(|u| u.arg(0) == authority).cloned();
    let Some(block) = block else {
        let address = address(authority, if speaks == Speaks::Http { 80 } else { 9000 })?;
        return Some(match speaks {
            Speaks::Http if address.starts_with("unix:") => conf.draft.upstream_of(&address, host, &d.place),
            Speaks::Http => conf.draft.upstream_of(&format!("http://{authority}"), host, &d.place),
            Speaks::FastCgi => address,
        });
    };
    // One block may be spoken with in several ways; each is an upstream of its own.
    let wish = spell::name(authority);
    let told = host.clone().map(Value::Text);
    let kind = |u: &Upstream| {
        if u.settings.get("fastcgi").is_some() || is_fastcgi(u) { Speaks::FastCgi } else { Speaks::Http }
    };
    let known = conf.draft.wanted.upstreams.iter().find(|u| {
        u.place.as_ref() == Some(&block.place) && kind(u) == speaks && u.settings.get("host") == told.as_ref()
    });
    if let Some(known) = known {
        return Some(known.name.clone());
    }
    let name = conf.draft.free_name(&wish);
    let mut upstream =
        Upstream { name: name.clone(), place: Some(block.place.clone()), ..Upstream::default() };
    fill(&block, speaks, &mut upstream, conf);
    if upstream.members.is_empty() && upstream.settings.get("fastcgi").is_none() {
        return None;
    }
    if let (Some(host), Speaks::Http) = (told, speaks) {
        upstream.settings.set("host", host, &d.place);
    }
    conf.carried(&block, format!("[[upstream]] {name}"));
    conf.draft.wanted.upstreams.push(upstream);
    Some(name)
}

fn is_fastcgi(upstream: &Upstream) -> bool {
    upstream.members.iter().any(|(member, _)| member.iter().any(|(key, _)| key == "fastcgi"))
}

/// `unix:/path`, `host:port`.
fn address(text: &str, port: u16) -> Option<String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return (path.starts_with('/') && path.len() < 108 && !path.ends_with('/')).then(|| text.to_owned());
    }
    let (host, own) = spell::authority(text)?;
    Some(format!("{host}:{}", own.unwrap_or(port)))
}

fn fill(block: &Directive, speaks: Speaks, upstream: &mut Upstream, conf: &mut Conf<'_, '_>) {
    let settings = &mut upstream.settings;
    let mut eject: Option<(u64, u64, Place)> = None;
    let mut members = Vec::new();
    for d in block.inner.as_deref().unwrap_or_default() {
        let place = &d.place;
        match d.name.as_str() {
            "server" => {
                let Some(member) = member(d, speaks, &mut eject, settings, conf) else { continue };
                members.push((member, d.place.clone()));
            }
            "least_conn" => balance("busyness", d, settings, conf),
            "ip_hash" => {
                balance("hash", d, settings, conf);
                settings.set("hash_by", Value::text("client"), place);
            }
            "random" => balance("two-choices", d, settings, conf),
            "least_time" => balance("latency", d, settings, conf),
            "hash" => match hash_by(d.arg(0)) {
                Some(by) => {
                    balance("hash", d, settings, conf);
                    settings.set("hash_by", Value::Text(by), place);
                }
                None => conf.left(d, "hash_by takes url, path, client, header:NAME, cookie:NAME or query:NAME: requests are shared evenly until then"),
            },
            "sticky" if d.arg(0) == "cookie" && spell::field_name(d.arg(1)).is_some() => {
                let sticky = [("cookie", Value::text(d.arg(1))), ("set", Value::Bool(true))];
                settings.set("sticky", Value::table(sticky), place);
                conf.carried(d, "sticky");
            }
            "queue" => match d.arg(0).parse::<u64>() {
                Ok(n) if n <= 1_000_000 => {
                    settings.set("queue_max", Value::Int(n), place);
                    let timeout =
                        d.arg(1).strip_prefix("timeout=").and_then(spell::nginx_time).filter(|ms| *ms > 0);
                    if let Some(ms) = timeout {
                        settings.set("queue_timeout", Value::duration(ms), place);
                    }
                    conf.carried(d, "queue_max, queue_timeout");
                }
                _ => conf.left(d, "this is no number; Samovar's default holds"),
            },
            "keepalive_timeout" => match spell::nginx_time(d.arg(0)).filter(|ms| *ms > 0) {
                Some(ms) => {
                    settings.set("idle_timeout", Value::duration(ms), place);
                    conf.carried(d, "idle_timeout");
                }
                None => conf.left(d, "this is no time; Samovar's default holds"),
            },
            "keepalive" | "keepalive_requests" | "keepalive_time" => {
                conf.carried(d, "Samovar keeps connections open and uses them again")
            }
            "zone" => conf.carried(d, "Samovar keeps health and counts for the whole process"),
            "resolver" | "resolver_timeout" => {
                conf.left(d, "names are resolved as the system does; `resolve_every` says how often")
            }
            _ => conf.left(d, "this importer does not know the directive: look up what it does to the upstream"),
        }
    }
    if let Some((after, for_ms, place)) = eject {
        let table = [("after", Value::Int(after)), ("for", Value::duration(for_ms))];
        settings.set("eject", Value::table(table), &place);
    }
    match (speaks, members.as_slice()) {
        (Speaks::FastCgi, [(member, place)]) => {
            // One application is spelt by itself.
            let place = place.clone();
            if let Some((_, address)) = member.iter().find(|(key, _)| key == "fastcgi") {
                settings.set("fastcgi", address.clone(), &place);
            }
        }
        _ => upstream.members = members,
    }
}

fn balance(method: &str, d: &Directive, settings: &mut Settings, conf: &mut Conf<'_, '_>) {
    settings.set("balance", Value::text(method), &d.place);
    conf.carried(d, format!("balance = \"{method}\""));
}

fn hash_by(key: &str) -> Option<String> {
    let name = key.strip_prefix('$')?;
    Some(match name {
        "request_uri" => "url".to_owned(),
        "uri" | "document_uri" => "path".to_owned(),
        "remote_addr" | "binary_remote_addr" => "client".to_owned(),
        _ => return super::guards::part_named(name),
    })
}

fn member(
    d: &Directive,
    speaks: Speaks,
    eject: &mut Option<(u64, u64, Place)>,
    settings: &mut Settings,
    conf: &mut Conf<'_, '_>,
) -> Option<Vec<(String, Value)>> {
    let Some(address) = address(d.arg(0), if speaks == Speaks::Http { 80 } else { 9000 }) else {
        conf.left(d, "this is no address; it is left out");
        return None;
    };
    let mut table = match speaks {
        Speaks::Http if address.starts_with("unix:") => vec![("url".to_owned(), Value::Text(address))],
        Speaks::Http => {
            vec![("url".to_owned(), Value::Text(format!("http://{}", d.arg(0).to_ascii_lowercase())))]
        }
        Speaks::FastCgi => vec![("fastcgi".to_owned(), Value::Text(address))],
    };
    let mut lost = Vec::new();
    let (mut fails, mut timeout) = (None, None);
    for parameter in d.args.iter().skip(1) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let number = value.parse::<u64>().ok();
        match (key, number) {
            ("weight", Some(n)) if (1..=1000).contains(&n) => {
                table.push(("weight".to_owned(), Value::Int(n)))
            }
            ("max_conns", Some(n)) if (1..=100_000).contains(&n) => {
                table.push(("max_connections".to_owned(), Value::Int(n)))
            }
            ("max_conns", Some(0)) => {}
            ("backup", _) => table.push(("standby".to_owned(), Value::Bool(true))),
            ("down", _) => table.push(("state".to_owned(), Value::text("disabled"))),
            ("drain", _) => table.push(("state".to_owned(), Value::text("drain"))),
            ("route", _) if spell::name(value) == value => {
                table.push(("route".to_owned(), Value::text(value)))
            }
            ("max_fails", Some(n)) => fails = Some(n),
            ("fail_timeout", _) => timeout = spell::nginx_time(value).filter(|ms| *ms > 0),
            ("slow_start", _) => match spell::nginx_time(value).filter(|ms| *ms > 0) {
                Some(ms) => {
                    settings.set("slow_start", Value::duration(ms), &d.place);
                }
                None => lost.push(parameter.as_str()),
            },
            ("resolve", _) => {
                settings.set("resolve_every", Value::duration(10_000), &d.place);
            }
            _ => lost.push(parameter.as_str()),
        }
    }
    if fails != Some(0) && (fails.is_some() || timeout.is_some()) {
        let place = d.place.clone();
        // nginx: one failure, ten seconds. Of several members the most patient counts.
        let (own_fails, own_timeout) = (fails.unwrap_or(1), timeout.unwrap_or(10_000));
        *eject = Some(match eject.take() {
            Some((n, ms, place)) => (n.max(own_fails), ms.max(own_timeout), place),
            None => (own_fails.min(1000), own_timeout, place),
        });
    }
    let text = match lost.is_empty() {
        true => "a member".to_owned(),
        false => format!("a member, without {}", lost.join(" ")),
    };
    conf.carried(d, text);
    Some(table)
}

/// Waits and second tries, which are the upstream's.
fn bounds(here: &[&Directive], prefix: &str, settings: &mut Settings) {
    for d in here {
        let Some(name) = d.name.strip_prefix(prefix) else { continue };
        let time = || spell::nginx_time(d.arg(0)).filter(|ms| *ms > 0).map(Value::duration);
        match (name, time()) {
            ("connect_timeout", Some(value)) => {
                settings.set("connect_timeout", value, &d.place);
            }
            ("read_timeout", Some(value)) => {
                settings.set("head_timeout", value.clone(), &d.place);
                settings.set("body_timeout", value, &d.place);
            }
            ("next_upstream", _) => {
                let retry = retry_on(d);
                settings.set("retry", Value::Table(retry), &d.place);
            }
            ("next_upstream_tries", _) => {
                let tries = d.arg(0).parse::<u64>().ok().filter(|n| (1..=20).contains(n));
                if let Some(tries) = tries {
                    let mut pairs = match settings.get("retry") {
                        Some(Value::Table(pairs)) => pairs.clone(),
                        _ => Vec::new(),
                    };
                    pairs.retain(|(key, _)| key != "tries");
                    pairs.push(("tries".to_owned(), Value::Int(tries)));
                    settings.set("retry", Value::Table(pairs), &d.place);
                }
            }
            _ => {}
        }
    }
}

fn retry_on(d: &Directive) -> Vec<(String, Value)> {
    if d.args.iter().any(|a| a == "off") {
        return vec![("tries".to_owned(), Value::Int(1))];
    }
    let mut on: Vec<&str> = Vec::new();
    for word in &d.args {
        on.extend::<&[&str]>(match word.as_str() {
            "error" => &["connect", "reset"],
            "timeout" => &["timeout"],
            "http_502" => &["502"],
            "http_503" => &["503"],
            "http_504" => &["504"],
            _ => &[],
        });
    }
    vec![("on".to_owned(), Value::texts(on))]
}

fn told(here: &[&Directive], prefix: &str, conf: &mut Conf<'_, '_>) {
    for d in here {
        match d.name.strip_prefix(prefix) {
            Some("connect_timeout" | "read_timeout") => {
                conf.carried(d, "connect_timeout, head_timeout, body_timeout of the upstream")
            }
            Some("send_timeout") => {
                conf.left(d, "Samovar does not bound how long an upstream takes to accept a request body")
            }
            Some("next_upstream" | "next_upstream_tries") => {
                conf.carried(d, "retry of the upstream; a request that may not be sent twice is sent once")
            }
            Some("next_upstream_timeout") => {
                conf.left(d, "Samovar bounds tries by their number and a budget, not by time")
            }
            _ => {}
        }
    }
}

/// `fastcgi_pass`: a handler of the site, by extension: these, or why not.
pub(super) fn fastcgi_pass(
    d: &Directive,
    here: &[&Directive],
    select: &Select,
    nested: bool,
    site: &mut Site,
    conf: &mut Conf<'_, '_>,
) -> Result<Vec<String>, &'static str> {
    told(here, "fastcgi_", conf);
    if select.extensions.is_empty() || select.path != PathSet::All || nested {
        for i in here.iter().filter(|i| i.name == "fastcgi_param") {
            conf.left(i, "the application that it is for is not carried over");
        }
        return Err(
            "a handler runs scripts of an extension, in a whole site, and what ran here has none: `handlers = [{ extension = \".php\", … }]`",
        );
    }
    let is_said = conf.draft.options.fastcgi.is_some() || !d.arg(0).contains('$');
    let name = named(d.arg(0), Speaks::FastCgi, None, d, conf).filter(|_| is_said);
    let Some(name) = name else {
        return Err(
            "its address cannot be read: write `handlers = [{ extension = …, fastcgi = \"ADDRESS\" }]`, or import with --fastcgi ADDRESS",
        );
    };
    if let Some(upstream) = conf.draft.wanted.upstreams.iter_mut().find(|u| u.name == name) {
        bounds(here, "fastcgi_", &mut upstream.settings);
    }
    let mut params = Vec::new();
    for i in here.iter().filter(|i| i.name == "fastcgi_param") {
        let (key, value) = (i.arg(0), i.arg(1));
        let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        const KNOWN: [&str; 22] = [
            "SCRIPT_FILENAME",
            "SCRIPT_NAME",
            "PATH_INFO",
            "PATH_TRANSLATED",
            "QUERY_STRING",
            "REQUEST_METHOD",
            "CONTENT_TYPE",
            "CONTENT_LENGTH",
            "REQUEST_URI",
            "DOCUMENT_URI",
            "DOCUMENT_ROOT",
            "SERVER_PROTOCOL",
            "REQUEST_SCHEME",
            "HTTPS",
            "GATEWAY_INTERFACE",
            "SERVER_SOFTWARE",
            "REMOTE_ADDR",
            "REMOTE_PORT",
            "SERVER_ADDR",
            "SERVER_PORT",
            "SERVER_NAME",
            "REDIRECT_STATUS",
        ];
        if KNOWN.contains(&key) {
            conf.carried(i, "Samovar always passes it");
        } else if key == "HTTP_PROXY" {
            conf.carried(i, "Samovar never passes it");
        } else if value.is_empty() {
            conf.left(i, "its value is empty, and nothing is passed");
        } else if plain && !value.contains('$') && !value.is_empty() && key != "HTTP_PROXY" {
            conf.carried(i, "handlers.params");
            params.retain(|(known, _): &(String, Value)| known != key);
            params.push((key.to_owned(), Value::text(value)));
        } else {
            conf.breaks(i, "its value has a variable of nginx: write it into `handlers.params` without");
        }
    }
    let taken = site.head.get("handlers").map(Value::toml).unwrap_or_default();
    let free: Vec<&String> =
        select.extensions.iter().filter(|e| !taken.contains(&Value::text(*e).toml())).collect();
    if free.is_empty() {
        let text = "the extension has a handler already, and a site has one for each";
        conf.left(d, text);
        return Ok(select.extensions.clone());
    }
    let mut handler = vec![
        ("extension".to_owned(), Value::texts(free.iter().map(|e| e.as_str()))),
        ("fastcgi".to_owned(), Value::text(&name)),
    ];
    if !params.is_empty() {
        handler.push(("params".to_owned(), Value::Table(params)));
    }
    site.head.add("handlers", Value::Table(handler), &d.place);
    conf.carried(d, format!("handlers: {} at {name}", select.extensions.join(" ")));
    Ok(select.extensions.clone())
}
