//! `nginx.conf`: `http`, its servers, their locations.
//!
//! One location holds for a request, with all that it takes from around it and does not say itself. Not here: the grammar
//! (`lex`), and single subjects (`location`, `order`, `fields`, `files`, `cache`, `upstream`, `guards`, `words`).

mod cache;
mod cache_key;
mod fields;
mod files;
mod guards;
mod lex;
mod location;
mod order;
mod upstream;
mod words;

use crate::draft::Draft;
use crate::include::{File, Includes};
use crate::note::{Consequence, Fate, Place, Refused};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{LIFETIMES, Settings, Site, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// All that is read once for the whole server.
pub(crate) struct Conf<'d, 'o> {
    pub(crate) draft: &'d mut Draft<'o>,
    /// `upstream` blocks.
    pub(crate) upstreams: Vec<Directive>,
    /// `limit_req_zone`, `limit_conn_zone`, `proxy_cache_path`.
    pub(crate) zones: Vec<Directive>,
    /// Directives that were told of: what is handed down is met again.
    told: HashSet<(Arc<str>, u32, u32, Fate, Consequence)>,
    /// `listen`, over all servers: address, port, TLS.
    listen: Vec<Listen>,
}

struct Listen {
    address: String,
    port: u16,
    tls: bool,
    place: Place,
}

impl Conf<'_, '_> {
    /// Notes what became of a directive, once: what is handed down is met again.
    pub(crate) fn note(&mut self, d: &Directive, fate: Fate, text: impl Into<String>) {
        self.note_as(d, (fate, Consequence::of(fate)), text);
    }

    /// The same, with what it means for the site.
    pub(crate) fn note_as(&mut self, d: &Directive, as_what: (Fate, Consequence), text: impl Into<String>) {
        if self.tell(d, as_what) {
            self.draft.note_as(&d.place, &d.shown(), as_what, text);
        }
    }

    /// Whether this is to be told, and was not yet.
    pub(crate) fn tell(&mut self, d: &Directive, (fate, consequence): (Fate, Consequence)) -> bool {
        let Place { file, line, column } = &d.place;
        self.told.insert((Arc::clone(file), *line, *column, fate, consequence))
    }

    /// Whether it was told of.
    fn is_told(&self, d: &Directive) -> bool {
        let Place { file, line, column } = &d.place;
        let fates = [Fate::Carried, Fate::LeftOut, Fate::Unsafe, Fate::FillIn];
        fates.iter().any(|fate| {
            Consequence::ALL.iter().any(|consequence| {
                self.told.contains(&(Arc::clone(file), *line, *column, *fate, *consequence))
            })
        })
    }

    /// How long a zone stores what nobody asks for, ms: ten minutes unless it says so.
    pub(crate) fn unused_ms(&self, zone: &str) -> u64 {
        let is_it = |d: &&Directive| {
            let named = d.args.iter().filter_map(|a| a.strip_prefix("keys_zone="));
            d.name.ends_with("_cache_path")
                && named.map(|z| z.split(':').next()).any(|name| name == Some(zone))
        };
        let said = self.zones.iter().find(is_it);
        let time = said.and_then(|d| d.args.iter().find_map(|a| a.strip_prefix("inactive=")));
        time.and_then(spell::nginx_time).filter(|ms| *ms >= 1000).unwrap_or(600_000)
    }

    /// Tells of all that no room has told of, also inside of what was left out.
    fn rest(&mut self, list: &[Directive]) {
        for d in list {
            if !self.is_told(d) {
                self.unused(d);
            }
            // What these hold are no directives.
            if !["types", "map", "geo", "split_clients"].contains(&d.name.as_str()) {
                self.rest(d.inside());
            }
        }
    }

    /// Tells of a directive that nothing took up.
    fn unused(&mut self, d: &Directive) {
        let not_reached = "what it stands in is not carried over, and neither is this";
        match cache::unused(d) {
            Some((consequence, text)) => self.note_as(d, (Fate::LeftOut, consequence), text),
            None if guards::is_guard(d) => self.note(
                d,
                Fate::Unsafe,
                "what it guarded is not carried over; if you write a rule for it, write this guard into it",
            ),
            None => self.left(d, not_reached),
        }
    }

    /// Closes paths to everybody, as something that kept people away has no counterpart.
    pub(crate) fn close(&mut self, d: &Directive, out: &mut Settings, why: &str) {
        out.close(&d.place, why);
        // Safe, and a part of the site is gone.
        let as_what = (Fate::Unsafe, Consequence::BreaksSite);
        self.note_as(d, as_what, format!("closed to everybody: {why}"));
    }

    pub(crate) fn carried(&mut self, d: &Directive, text: impl Into<String>) {
        self.note(d, Fate::Carried, text);
    }

    pub(crate) fn left(&mut self, d: &Directive, text: impl Into<String>) {
        self.note(d, Fate::LeftOut, text);
    }

    /// Not carried over, and something is stored for another time, for other requests, or not at all.
    pub(crate) fn cached(&mut self, d: &Directive, text: impl Into<String>) {
        self.note_as(d, (Fate::LeftOut, Consequence::CachedDifferently), text);
    }

    /// Not carried over, and pages are missing or not the same.
    pub(crate) fn breaks(&mut self, d: &Directive, text: impl Into<String>) {
        self.note_as(d, (Fate::LeftOut, Consequence::BreaksSite), text);
    }
}

pub(crate) fn read(file: &File, draft: &mut Draft<'_>, includes: &mut Includes<'_>) -> Result<(), Refused> {
    let tree = lex::read(file, includes)?;
    let mut conf =
        Conf { draft, upstreams: Vec::new(), zones: Vec::new(), told: HashSet::new(), listen: Vec::new() };
    let mut http = Vec::new();
    let mut servers = Vec::new();
    let mut loose = Vec::new();
    // Without `http` it is a fragment, which nginx includes there.
    let whole = tree.iter().any(|d| d.name == "http" && d.inner.is_some());
    for d in tree {
        match (d.name.as_str(), d.inner.is_some()) {
            ("http", true) => of_http(d.inner.unwrap_or_default(), &mut conf, &mut http, &mut servers),
            ("stream" | "mail" | "rtmp", true) => {
                conf.breaks(&d, "Samovar speaks HTTP only: keep nginx for it");
                conf.rest(d.inside());
            }
            ("events", true) => {
                let why = "one thread per core serves all connections; `[limits] connections_max` bounds their number";
                conf.left(&d, why);
                for i in d.inside() {
                    conf.left(i, words::of_main(&i.name).unwrap_or(why));
                }
            }
            // A fragment: what stands in `http` otherwise, or in a server.
            ("server" | "upstream" | "map" | "geo" | "split_clients", true) => {
                of_http(vec![d], &mut conf, &mut http, &mut servers);
            }
            ("location", true) => loose.push(d),
            ("worker_processes", _) => workers(&d, &mut conf),
            (name, _) if words::of_main(name).is_some() => {
                conf.left(&d, words::of_main(name).unwrap_or_default());
            }
            _ if !whole && (words::is_zone(&d) || words::is_of_http(&d)) => {
                of_http(vec![d], &mut conf, &mut http, &mut servers)
            }
            _ => loose.push(d),
        }
    }
    if servers.is_empty() && !loose.is_empty() {
        let place = loose.first().map(|d| d.place.clone());
        if let Some(place) = place {
            let args = Vec::new();
            servers.push(Directive {
                name: "server".to_owned(),
                args,
                place,
                inner: Some(std::mem::take(&mut loose)),
            });
        }
    }
    for d in loose {
        match (whole, words::is_known(&d)) {
            _ if d.name == "include" => words::whole(&d, &mut conf),
            // Said for all servers of the fragment.
            (false, true) if d.name != "location" => http.push(d),
            (_, known) => {
                let text = match known {
                    true => {
                        "nginx takes it inside of `http`, `server` or `location` only, and it stands outside of them: move it \
                             there, and import again"
                    }
                    false => {
                        "this importer does not know the directive: look up what it does, and whether you need it"
                    }
                };
                conf.breaks(&d, text);
                conf.rest(d.inside());
            }
        }
    }
    for d in &http {
        location::whole(d, &mut conf);
    }
    let mut sites = Vec::new();
    for d in &servers {
        conf.draft.bounded(&d.place)?;
        sites.push(server(d, &http, &mut conf));
    }
    conf.rest(&http);
    let upstreams = std::mem::take(&mut conf.upstreams);
    conf.rest(&upstreams);
    for d in &servers {
        conf.rest(d.inner.as_deref().unwrap_or_default());
    }
    settle(conf, sites);
    Ok(())
}

/// What stands in `http`.
fn of_http(
    list: Vec<Directive>,
    conf: &mut Conf<'_, '_>,
    http: &mut Vec<Directive>,
    servers: &mut Vec<Directive>,
) {
    for d in list {
        match (d.name.as_str(), d.inner.is_some()) {
            ("server", true) => servers.push(d),
            ("upstream", true) => conf.upstreams.push(d),
            ("map" | "geo" | "split_clients", true) => conf.left(
                &d,
                "Samovar has no variables; a directive that used this one is listed where it stands",
            ),
            ("types", true) => {
                conf.carried(&d, "Samovar knows the usual media types; `types` of a site adds some")
            }
            ("if", true) => {
                conf.left(&d, "nginx takes no `if` here");
                conf.rest(d.inside());
            }
            _ if words::is_zone(&d) => {
                words::zone(&d, conf);
                conf.zones.push(d);
            }
            _ => http.push(d),
        }
    }
}

fn workers(d: &Directive, conf: &mut Conf<'_, '_>) {
    match d.arg(0).parse::<u64>() {
        Ok(n) if (1..=1024).contains(&n) => {
            conf.draft.wanted.server.set("workers", Value::Int(n), &d.place);
            conf.carried(d, format!("[server] workers = {n}"));
        }
        _ => conf.carried(d, "Samovar runs one worker per core by default"),
    }
}

fn server(d: &Directive, http: &[Directive], conf: &mut Conf<'_, '_>) -> Site {
    let overlap = crate::wanted::Overlap::First;
    let mut site =
        Site { name: "server".to_owned(), place: Some(d.place.clone()), overlap, ..Site::default() };
    let inner = d.inner.as_deref().unwrap_or_default();
    let ssl_on = inner.iter().any(|i| i.name == "ssl" && i.arg(0) == "on");
    for i in inner {
        match i.name.as_str() {
            "listen" => listen(i, &mut site, ssl_on, conf),
            "server_name" => names(i, &mut site, conf),
            "ssl_certificate" => path(i, "certificate", &mut site, conf),
            "ssl_certificate_key" => path(i, "certificate_key", &mut site, conf),
            _ => {}
        }
    }
    // Certificates may stand around all servers.
    for i in http {
        let key = match i.name.as_str() {
            "ssl_certificate" => "certificate",
            "ssl_certificate_key" => "certificate_key",
            _ => continue,
        };
        if site.head.get(key).is_none() {
            path(i, key, &mut site, conf);
        }
    }
    if let Some(first) = site.hosts.first() {
        site.name = spell::name(first.trim_start_matches("*."));
    }
    if !inner.iter().any(|i| i.name == "listen") {
        site.ports.push(80);
    }
    let over_tls = |i: &&Directive| {
        i.name == "listen" && (ssl_on || i.args.iter().any(|a| a == "ssl")) && !i.arg(0).starts_with("unix:")
    };
    if let Some(i) = inner.iter().find(over_tls) {
        conf.draft.fill_certificate(&mut site, &i.place, &i.shown());
    }
    location::server(inner, http, &mut site, conf);
    conf.note(d, Fate::Carried, format!("the site {}", site.name));
    if stores_more(&site) {
        let as_what = (Fate::Carried, Consequence::CachedDifferently);
        conf.note_as(d, as_what, crate::draft::STORES_MORE);
    }
    site
}

/// Whether something is passed on from which nginx stored nothing, and a response of which may be stored here.
fn stores_more(site: &Site) -> bool {
    let says = |settings: &Settings| LIFETIMES.iter().any(|key| settings.get(key).is_some());
    let own = site.scopes.iter().find(|scope| scope.select.is_all());
    let inherits = |key: &str| own.is_some_and(|own| own.settings.get(key).is_some());
    if own.is_some_and(|own| says(&own.settings)) {
        return false;
    }
    site.scopes.iter().any(|scope| {
        let settings = &scope.settings;
        let passed = settings.get("upstream").is_some() || inherits("upstream") && scope.select.is_all();
        let handled = site.head.get("handlers").is_some() && !scope.select.extensions.is_empty();
        (passed || handled) && !says(settings) && !settings.is_closed() && settings.get("redirect").is_none()
    })
}

fn listen(d: &Directive, site: &mut Site, ssl_on: bool, conf: &mut Conf<'_, '_>) {
    let text = d.arg(0);
    let has = |word: &str| d.args.iter().any(|a| a == word);
    if text.starts_with("unix:") {
        if !has("ssl") && text.len() < 108 && text.starts_with("unix:/") {
            let address = Value::text(text);
            conf.draft.wanted.server.add("listen", address, &d.place);
            conf.carried(d, "[server] listen");
        } else {
            conf.breaks(
                d,
                "Samovar listens on a Unix socket without TLS only, by its whole path: nothing listens here",
            );
        }
        return;
    }
    let (address, port) = match text.rsplit_once(':') {
        Some((address, port)) if !port.ends_with(']') => (address, port.parse::<u16>().ok()),
        _ if text.starts_with('[') => (text, Some(80)),
        _ => match text.parse::<u16>() {
            Ok(port) => ("*", Some(port)),
            Err(_) => (text, Some(80)),
        },
    };
    let address = match address {
        "*" => Some("0.0.0.0".to_owned()),
        address => {
            let bare = address.trim_matches(['[', ']']);
            bare.parse::<std::net::IpAddr>().ok().map(|_| address.to_owned())
        }
    };
    let (Some(address), Some(port)) = (address, port.filter(|p| *p > 0)) else {
        conf.breaks(d, "an address or a port is expected: nothing listens here");
        return;
    };
    if has("quic") {
        conf.left(d, "Samovar does not speak HTTP/3 yet; clients use HTTP/1.1");
        return;
    }
    if has("default_server") || has("default") {
        site.default = true;
    }
    if has("proxy_protocol") {
        let text =
            "say whose it is: [server] proxy_protocol = [\"10.0.0.0/8\"]; set_real_ip_from is taken for it";
        conf.note(d, Fate::FillIn, text);
    }
    let tls = has("ssl") || ssl_on;
    if !site.ports.contains(&port) {
        site.ports.push(port);
    }
    let http2 =
        if has("http2") { "; clients use HTTP/1.1, as Samovar does not speak HTTP/2 yet" } else { "" };
    conf.carried(d, format!("[server] listen{http2}"));
    conf.listen.push(Listen { address, port, tls, place: d.place.clone() });
}

fn names(d: &Directive, site: &mut Site, conf: &mut Conf<'_, '_>) {
    let mut bad = Vec::new();
    for text in &d.args {
        let wild = text.strip_prefix('.').and_then(spell::host);
        match (wild, spell::host(text)) {
            // `.a.example` is `a.example` and all below it.
            (Some(host), _) => site.hosts.extend([host.clone(), format!("*.{host}")]),
            // The names that nobody has, by custom.
            _ if text == "_" || text.is_empty() || text == "\"\"" => {}
            (None, Some(host)) if text != "_" => site.hosts.push(host),
            _ => bad.push(text.clone()),
        }
    }
    let mut seen = HashSet::new();
    site.hosts.retain(|host| seen.insert(host.clone()));
    if bad.is_empty() {
        conf.carried(d, "hosts");
    } else {
        conf.breaks(
            d,
            format!(
                "{}: a host, or *. and a host, is expected; requests for it go to the default site",
                bad.join(", ")
            ),
        );
    }
}

fn path(d: &Directive, key: &'static str, site: &mut Site, conf: &mut Conf<'_, '_>) {
    let path = d.arg(0);
    if path.contains('$') || path.contains("://") || path.starts_with("data:") {
        conf.breaks(d, "the path of a PEM file is expected: write it into the site");
    } else if site.head.get(key).is_some() {
        conf.breaks(d, "a site shows one certificate, and another is written already");
    } else {
        // nginx begins relative names at its prefix, which is not the new file's folder.
        let entry = site.head.set(key, Value::text(path), &d.place);
        if !path.starts_with('/') {
            entry.remark = "FILL-IN: write the whole path; nginx takes it from its own folder".to_owned();
            conf.note(d, Fate::FillIn, format!("{key}: write the whole path"));
        } else {
            conf.carried(d, key);
        }
    }
}

/// Listeners, ports and default sites.
fn settle(conf: Conf<'_, '_>, mut sites: Vec<Site>) {
    let Conf { draft, listen, .. } = conf;
    let certified: Vec<u16> =
        sites.iter().filter(|s| s.head.get("certificate").is_some()).flat_map(|s| s.ports.clone()).collect();
    let mut place = None;
    let mut all: Vec<String> = Vec::new();
    let mut ports: Vec<u16> = Vec::new();
    for listener in &listen {
        let tls = listen.iter().any(|l| l.port == listener.port && l.tls);
        if tls && !certified.contains(&listener.port) {
            let as_what = (Fate::LeftOut, Consequence::BreaksSite);
            let text = "no server that listens here has a certificate: nothing listens on this port";
            draft.note_as(&listener.place, &format!("listen {}", listener.port), as_what, text);
            continue;
        }
        let scheme = if tls { "https://" } else { "" };
        let address = format!("{scheme}{}:{}", listener.address, listener.port);
        if !all.contains(&address) {
            all.push(address);
        }
        if !ports.contains(&listener.port) {
            ports.push(listener.port);
        }
        place.get_or_insert_with(|| listener.place.clone());
    }
    if let Some(place) = place {
        for address in all {
            draft.wanted.server.add("listen", Value::Text(address), &place);
        }
    }
    ports.sort_unstable();
    for site in &mut sites {
        site.ports.sort_unstable();
        site.ports.dedup();
        if ports.iter().all(|port| site.ports.contains(port)) || ports.is_empty() {
            site.ports.clear();
        }
    }
    // Of those that share a port, the one that says so, else the first, takes hosts that none names.
    let shared = |a: &[u16], b: &[u16]| a.is_empty() || b.is_empty() || a.iter().any(|p| b.contains(p));
    for at in 0..sites.len() {
        let Some(site) = sites.get(at) else { continue };
        let others = || sites.iter().enumerate().filter(|(n, s)| *n != at && shared(&s.ports, &site.ports));
        let first = !others().any(|(n, s)| s.default || n < at);
        if let Some(site) = sites.get_mut(at) {
            site.default |= first;
        }
    }
    draft.wanted.sites = sites;
}
