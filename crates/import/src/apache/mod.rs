//! `httpd.conf` of Apache, 2.2 and 2.4: the main server, virtual hosts, and what holds for which path.
//!
//! All sections that match a request hold together, the later before the earlier. A virtual host takes what the main server
//! says. Not here: the grammar (`lex`), and single subjects (`sections`, `cache`, `proxy`,
//! `fields`, `access`, `refused`).

mod access;
mod cache;
mod cache_words;
mod directives;
mod effects;
mod expires;
mod fields;
mod lex;
mod proxy;
mod refused;
mod sections;
mod words;

use crate::draft::Draft;
use crate::include::{File, Includes};
use crate::note::{Fate, Refused};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Select, Site, Value};
use directives::Conf;

pub(crate) fn read(file: &File, draft: &mut Draft<'_>, includes: &mut Includes<'_>) -> Result<(), Refused> {
    let tree = lex::read(file, includes)?;
    let mut flat = Vec::new();
    flatten(tree, draft, &mut flat);
    let mut balancers = Vec::new();
    proxy::balancers(&flat, draft, &mut balancers);
    let (hosts, main): (Vec<Directive>, Vec<Directive>) =
        flat.into_iter().partition(|d| d.is("VirtualHost") && d.inner.is_some());
    let mut sites = Vec::new();
    let mut listeners = Vec::new();
    let mut conf = Conf::new(draft, &mut balancers);
    conf.site.name = "main".to_owned();
    conf.root = root_of(&main, None);
    conf.all(&main, &Select::default())?;
    listeners.append(&mut conf.listen);
    let is_main = hosts.is_empty();
    let https_ports: Vec<u16> =
        listeners.iter().filter(|listen| listen.https).map(|listen| listen.port).collect();
    // What the main server says of lifetimes is noted with the virtual hosts it holds for, if there are some.
    let site = conf.finish(is_main);
    if is_main {
        sites.push((site, false));
    }
    for host in &hosts {
        let inner = host.inner.as_deref().unwrap_or_default();
        // What the main server says holds here too; it was told already.
        let options = draft.options;
        let mut aside = Draft::new(options);
        aside.wanted.upstreams = std::mem::take(&mut draft.wanted.upstreams);
        let mut conf = Conf::new(&mut aside, &mut balancers);
        conf.root = root_of(&main, Some(inner));
        conf.all(&main, &Select::default())?;
        conf.site.hosts.clear();
        let inherited = conf.pause();
        draft.wanted.upstreams = aside.wanted.upstreams;
        let mut conf = Conf::resume(draft, &mut balancers, inherited);
        conf.site.name = "host".to_owned();
        conf.site.place = Some(host.place.clone());
        conf.all(inner, &Select::default())?;
        listeners.append(&mut conf.listen);
        let tls = conf.tls;
        let mut site = conf.finish(true);
        if let Some(first) = site.hosts.first() {
            site.name = spell::name(first.trim_start_matches("*."));
        }
        for address in &host.args {
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            site.ports.extend(port.filter(|port| *port > 0 && !site.ports.contains(port)));
        }
        draft.note(&host.place, &host.shown(), Fate::Carried, format!("the site {}", site.name));
        let tls = tls || site.ports.iter().any(|port| *port == 443 || https_ports.contains(port));
        if tls {
            draft.fill_certificate(&mut site, &host.place, &host.shown());
        }
        sites.push((site, tls));
        draft.bounded(&host.place)?;
    }
    settle(draft, sites, &listeners);
    Ok(())
}

/// The folder of a server's pages: its own, else that of the main server, below `ServerRoot` if it is relative.
fn root_of(main: &[Directive], host: Option<&[Directive]>) -> Option<String> {
    let last =
        |list: &[Directive], name: &str| list.iter().rfind(|d| d.is(name)).map(|d| d.arg(0).to_owned());
    let root = host.and_then(|host| last(host, "DocumentRoot")).or_else(|| last(main, "DocumentRoot"))?;
    let relative = !root.starts_with('/') && !crate::windows::is_windows(&root);
    match last(main, "ServerRoot").filter(|_| relative) {
        Some(base) => Some(format!("{}/{root}", base.trim_end_matches('/'))),
        None => Some(root),
    }
}

/// Sections that only ask whether a module is there are taken; those that ask for anything else are not.
fn flatten(tree: Vec<Directive>, draft: &mut Draft<'_>, flat: &mut Vec<Directive>) {
    for mut directive in tree {
        let Some(inner) = directive.inner.take() else {
            flat.push(directive);
            continue;
        };
        let negated = directive.arg(0).starts_with('!');
        let asks = |name: &str| directive.is(name);
        if asks("IfModule") || asks("IfDefine") || asks("IfVersion") || asks("IfDirective") || asks("IfFile")
        {
            if asks("IfDefine") != negated {
                directive.inner = Some(Vec::new());
                let shown = directive.shown();
                let guards = sections::guards(&inner, draft.options);
                let (fate, why) = match guards {
                    true => (
                        Fate::Unsafe,
                        "the import takes the condition as not met: what stands in it guards nothing here",
                    ),
                    false => (Fate::LeftOut, "the import takes the condition as not met"),
                };
                draft.note(&directive.place, &shown, fate, why);
                sections::dropped(&inner, draft);
            } else {
                directive.inner = Some(Vec::new());
                let shown = directive.shown();
                draft.note(&directive.place, &shown, Fate::Carried, "the import takes the condition as met");
                flatten(inner, draft, flat);
            }
            continue;
        }
        let mut kept = Vec::new();
        flatten(inner, draft, &mut kept);
        directive.inner = Some(kept);
        flat.push(directive);
    }
}

/// Listeners and ports, and which site takes hosts that none names.
fn settle(draft: &mut Draft<'_>, sites: Vec<(Site, bool)>, listeners: &[directives::Listen]) {
    let ports: Vec<Vec<u16>> = sites.iter().map(|(site, _)| site.ports.clone()).collect();
    let same = ports.windows(2).all(|pair| pair.first() == pair.last());
    let tls_ports: Vec<u16> =
        sites.iter().filter(|(_, tls)| *tls).flat_map(|(site, _)| site.ports.clone()).collect();
    let mut listen: Vec<String> = Vec::new();
    let mut place = None;
    for listener in listeners {
        let tls = tls_ports.contains(&listener.port);
        if !tls && (listener.https || listener.port == 443) {
            let text = "no virtual host that was read is for this port, so nothing is served there; import where all files are \
                        if httpd had one";
            draft.note(&listener.place, &listener.shown, Fate::LeftOut, text);
            continue;
        }
        let scheme = if tls { "https://" } else { "" };
        let all = match &listener.address {
            Some(address) => vec![format!("{scheme}{address}:{}", listener.port)],
            None => {
                vec![format!("{scheme}0.0.0.0:{}", listener.port), format!("{scheme}[::]:{}", listener.port)]
            }
        };
        draft.note(&listener.place, &listener.shown, Fate::Carried, "[server] listen");
        listen.extend(all.into_iter().filter(|a| !listen.contains(a)).collect::<Vec<_>>());
        place.get_or_insert_with(|| listener.place.clone());
    }
    if let (Some(place), false) = (place, listen.is_empty()) {
        draft.wanted.server.set("listen", Value::texts(listen), &place);
    }
    for (mut site, _) in sites {
        if same {
            site.ports.clear();
        }
        draft.wanted.sites.push(site);
    }
    // The first virtual host takes what none names.
    if let Some(first) = draft.wanted.sites.first_mut() {
        first.default = true;
    }
}
