//! `system.applicationHost/sites`: sites, their bindings, applications and virtual directories.
//!
//! A site of Samovar has one folder; further applications and virtual directories are carried where their folder is the one
//! that their path names already.

use super::xml::{Xml, child, children};
use crate::draft::Draft;
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::wanted::{Site, Value};
use roxmltree::Node;

/// Not carried over, and pages are missing.
const BREAKS: (Fate, Consequence) = (Fate::LeftOut, Consequence::BreaksSite);

pub(crate) fn declared(xml: &Xml<'_>, node: Node<'_, '_>, draft: &mut Draft<'_>, sites: &mut Vec<Site>) {
    let mut tls = Vec::new();
    for section in children(node) {
        if section.tag_name().name() == "sites" {
            for site in children(section) {
                match site.tag_name().name() {
                    "site" => one(xml, site, draft, sites, &mut tls),
                    _ => draft.note(
                        &xml.place(site),
                        &xml.tag(site),
                        Fate::LeftOut,
                        "Samovar has no counterpart",
                    ),
                }
            }
        } else {
            let why = match section.tag_name().name() {
                "applicationPools" => "Samovar has no application pools: workers are `[server] workers`",
                "log" => "the access log is `[log]`",
                "webLimits" => "`[limits]` bounds what clients may use",
                _ => "Samovar has no counterpart",
            };
            draft.note(&xml.place(section), &xml.tag(section), Fate::LeftOut, why);
        }
    }
    ports(xml, node, draft, sites, &tls);
}

fn one(xml: &Xml<'_>, node: Node<'_, '_>, draft: &mut Draft<'_>, sites: &mut Vec<Site>, tls: &mut Vec<u16>) {
    let name = node.attribute("name").unwrap_or("site").to_owned();
    let place = xml.place(node);
    let mut site = Site { name, place: Some(place.clone()), ..Site::default() };
    let mut root = String::new();
    for part in children(node) {
        match part.tag_name().name() {
            "bindings" => bindings(xml, part, draft, &mut site, tls),
            "application" => application(xml, part, draft, &mut site, &mut root),
            "limits" => draft.note(
                &xml.place(part),
                &xml.tag(part),
                Fate::LeftOut,
                "Samovar's limits hold for the whole server: `[limits]`, `samovar limits`",
            ),
            "traceFailedRequestsLogging" => draft.note(
                &xml.place(part),
                &xml.tag(part),
                Fate::LeftOut,
                "every request is traced: `samovar trace`, `samovar explain`",
            ),
            _ => draft.note(&xml.place(part), &xml.tag(part), Fate::LeftOut, "Samovar has no counterpart"),
        }
    }
    sites.push(site);
}

/// `tls`: the ports of https, over all sites.
fn bindings(xml: &Xml<'_>, node: Node<'_, '_>, draft: &mut Draft<'_>, site: &mut Site, tls: &mut Vec<u16>) {
    let name = site.name.clone();
    for binding in children(node).filter(|n| n.tag_name().name() == "binding") {
        let (place, tag) = (xml.place(binding), xml.tag(binding));
        let information = binding.attribute("bindingInformation").unwrap_or("");
        // `address:port:host`; the address may be an IPv6 one in brackets.
        let mut parts = information.rsplitn(3, ':');
        let (host, port) = (parts.next().unwrap_or(""), parts.next().and_then(|p| p.parse::<u16>().ok()));
        match (binding.attribute("protocol"), port) {
            (Some("http"), Some(port)) => {
                if !site.ports.contains(&port) {
                    site.ports.push(port);
                }
                match spell::host(host) {
                    _ if host.is_empty() => {
                        site.default = true;
                        draft.note(
                            &place,
                            &tag,
                            Fate::Carried,
                            format!("port {port}; hosts that no site names"),
                        );
                    }
                    Some(host) => {
                        draft.note(&place, &tag, Fate::Carried, format!("port {port}, host {host}"));
                        if !site.hosts.contains(&host) {
                            site.hosts.push(host);
                        }
                    }
                    None => draft.note_as(
                        &place,
                        &tag,
                        BREAKS,
                        "a host name is expected; requests for it go to the default site",
                    ),
                }
            }
            (Some("https"), Some(port)) => {
                let named = spell::host(host);
                site.default |= host.is_empty();
                site.hosts.extend(named.filter(|h| !site.hosts.contains(h)));
                if !site.ports.contains(&port) {
                    site.ports.push(port);
                }
                if !tls.contains(&port) {
                    tls.push(port);
                }
                let mut filled = std::mem::take(site);
                filled.name = spell::name(&filled.name);
                draft.fill_certificate(&mut filled, &place, &tag);
                filled.name.clone_from(&name);
                *site = filled;
                let text = "export the certificate from Windows' store as PEM files";
                draft.note(&place, &tag, Fate::FillIn, text);
            }
            _ => draft.note_as(&place, &tag, BREAKS, "Samovar serves http and https only"),
        }
    }
}

fn application(xml: &Xml<'_>, node: Node<'_, '_>, draft: &mut Draft<'_>, site: &mut Site, root: &mut String) {
    let base = node.attribute("path").unwrap_or("/").trim_end_matches('/').to_owned();
    for directory in children(node).filter(|n| n.tag_name().name() == "virtualDirectory") {
        let (place, tag) = (xml.place(directory), xml.tag(directory));
        let path = format!("{base}{}", directory.attribute("path").unwrap_or("/").trim_end_matches('/'));
        let physical = directory.attribute("physicalPath").unwrap_or("").trim_end_matches('\\');
        if path.is_empty() {
            *root = physical.to_owned();
            let mut head = std::mem::take(&mut site.head);
            draft.files(&mut head, physical, &place, &tag);
            site.head = head;
        } else if physical.eq_ignore_ascii_case(&format!("{root}{}", path.replace('/', "\\"))) {
            draft.note(&place, &tag, Fate::Carried, "its folder is the one that its path leads to anyway");
        } else {
            let text = format!(
                "a site has one folder: move {physical} to {path} below it, or give it a site of its own"
            );
            draft.note_as(&place, &tag, BREAKS, text);
        }
    }
    if let Some(pool) = node.attribute("applicationPool") {
        let (place, tag) = (xml.place(node), format!("application applicationPool={pool:?}"));
        draft.note(&place, &tag, Fate::LeftOut, "Samovar has no application pools");
    }
    if child(node, "virtualDirectory").is_none() {
        draft.note_as(&xml.place(node), &xml.tag(node), BREAKS, "no virtualDirectory gives it a folder");
    }
}

/// Listeners; and where all sites are on the same ports, none of them needs to say so.
fn ports(xml: &Xml<'_>, node: Node<'_, '_>, draft: &mut Draft<'_>, sites: &mut [Site], tls: &[u16]) {
    let mut all: Vec<u16> = sites.iter().flat_map(|site| site.ports.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        return;
    }
    let scheme = |port: &u16| if tls.contains(port) { "https://" } else { "" };
    let listen = all
        .iter()
        .flat_map(|port| ["0.0.0.0", "[::]"].map(|address| format!("{}{address}:{port}", scheme(port))));
    draft.wanted.server.set("listen", Value::texts(listen), &xml.place(node));
    for site in sites.iter_mut() {
        site.ports.sort_unstable();
        if site.ports == all {
            site.ports.clear();
        }
    }
}
