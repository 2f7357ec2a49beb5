//! What an import works on: what is wanted so far, and what became of each directive so far.
//!
//! Not here: what any directive means.

use crate::note::{Consequence, Fate, Note, Place, Refused, explained, shown};
use crate::wanted::{Settings, Site, Upstream, Value, Wanted, render};
use crate::windows;
use crate::{Imported, Source, spell};
use std::sync::Arc;

/// What the person at the command line said beside the file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder that takes the place of the source's document root.
    pub files: Option<String>,
    /// Where the FastCGI application listens that takes the place of a program the source would start itself.
    pub fastcgi: Option<String>,
    /// Write unsafe settings so that they hold, not as comments.
    pub with_unsafe: bool,
}

/// More directives than that are no configuration.
const NOTES_MAX: usize = 20_000;

/// Where the source had no cache on, and Samovar, which is one, has.
pub(crate) const STORES_MORE: &str = "where no cache was on, nothing was stored; Samovar stores what the origin allows \
    (RFC 9111). Write `never = true` into the rules, or `cache = false` into the site, to store nothing there";

/// See the module.
pub(crate) struct Draft<'o> {
    pub(crate) wanted: Wanted,
    pub(crate) options: &'o Options,
    notes: Vec<Note>,
}

impl<'o> Draft<'o> {
    pub(crate) fn new(options: &'o Options) -> Self {
        Draft { wanted: Wanted::default(), options, notes: Vec::new() }
    }

    /// Notes what became of a directive, with the usual consequence of its fate.
    pub(crate) fn note(&mut self, place: &Place, directive: &str, fate: Fate, text: impl Into<String>) {
        self.note_as(place, directive, (fate, Consequence::of(fate)), text);
    }

    /// Notes what became of a directive, and what that means for the site.
    pub(crate) fn note_as(
        &mut self,
        place: &Place,
        directive: &str,
        (fate, consequence): (Fate, Consequence),
        text: impl Into<String>,
    ) {
        // One more than are allowed, so that it is seen.
        if self.notes.len() <= NOTES_MAX {
            let (place, text) = (place.clone(), explained(&text.into()));
            self.notes.push(Note { place, directive: shown(directive), fate, consequence, text });
        }
    }

    /// The same, unless just that was noted already: what the main server says is read for each virtual host.
    pub(crate) fn note_once(
        &mut self,
        place: &Place,
        directive: &str,
        as_what: (Fate, Consequence),
        text: impl Into<String>,
    ) {
        let text = explained(&text.into());
        let known = |note: &Note| note.place == *place && note.fate == as_what.0 && note.text == text;
        if !self.notes.iter().any(known) {
            self.note_as(place, directive, as_what, text);
        }
    }

    /// Refuses what has more directives than anybody writes.
    pub(crate) fn bounded(&self, place: &Place) -> Result<(), Refused> {
        if self.notes.len() <= NOTES_MAX {
            return Ok(());
        }
        Err(Refused {
            place: place.clone(),
            what: format!("more than {NOTES_MAX} directives"),
            hint: "import the parts of it that matter".to_owned(),
        })
    }

    /// A folder of the source as one of this machine.
    pub(crate) fn folder(&mut self, path: &str, place: &Place, directive: &str) -> (String, String) {
        if let Some(files) = self.options.files.clone() {
            self.note(place, directive, Fate::Carried, format!("--files: {files}"));
            return (files, format!("--files, was {path}"));
        }
        if windows::is_windows(path) || path.contains("${") {
            let filled = windows::filled(path);
            self.note(place, directive, Fate::FillIn, format!("{filled}: the folder that was {path}"));
            return (filled, format!("FILL-IN: was {path}"));
        }
        self.note(place, directive, Fate::Carried, format!("files = \"{path}\""));
        (path.to_owned(), String::new())
    }

    /// Sets the folder of a site.
    pub(crate) fn files(&mut self, head: &mut Settings, path: &str, place: &Place, directive: &str) {
        let (folder, remark) = self.folder(path, place, directive);
        head.set("files", Value::Text(folder), place).remark = remark;
    }

    /// A site that is asked over TLS and whose certificate was not found: without it the redirects of its plain side would
    /// lead nowhere, or round in circles.
    pub(crate) fn fill_certificate(&mut self, site: &mut Site, place: &Place, directive: &str) {
        if site.head.get("certificate").is_some() {
            return;
        }
        for (key, ending) in [("certificate", "crt"), ("certificate_key", "key")] {
            let path = format!("/FILL-IN/{}.{ending}", site.name);
            site.head.set(key, Value::Text(path), place).remark =
                "FILL-IN: no certificate was read".to_owned();
        }
        let text = "no certificate was found for it, and Samovar does not start without one. Write the PEM files as \
                    `certificate` and `certificate_key` of the site. If TLS ends in front of Samovar, take this listener, \
                    `certificate` and the redirect to https out, and name that proxy in [server] trusted_proxies";
        self.note(place, directive, Fate::FillIn, text);
    }

    /// An upstream with one HTTP member, found again by its URL; its name.
    pub(crate) fn upstream_of(&mut self, url: &str, host: Option<String>, place: &Place) -> String {
        let member = vec![("url".to_owned(), Value::text(url))];
        let told = host.clone().map(Value::Text);
        let same = |u: &&Upstream| {
            u.members.iter().map(|(m, _)| m).eq([&member]) && u.settings.get("host") == told.as_ref()
        };
        if let Some(known) = self.wanted.upstreams.iter().find(same) {
            return known.name.clone();
        }
        let bare = url.strip_prefix("http://").unwrap_or(url);
        let name = self.free_name(&spell::name(bare.trim_end_matches('/')));
        let mut settings = Settings::default();
        if let Some(host) = told {
            settings.set("host", host, place);
        }
        let place = place.clone();
        let members = vec![(member, place.clone())];
        self.wanted.upstreams.push(Upstream { name: name.clone(), place: Some(place), members, settings });
        name
    }

    /// A name that no upstream has yet.
    pub(crate) fn free_name(&self, wish: &str) -> String {
        let mut name = wish.to_owned();
        let mut n = 2;
        while self.wanted.upstreams.iter().any(|u| u.name == name) {
            name = format!("{wish}-{n}");
            n += 1;
        }
        name
    }

    /// The result.
    pub(crate) fn finish(mut self, source: Source, name: &str) -> Result<Imported, Refused> {
        let place = Place { file: name.into(), line: 1, column: 1 };
        self.bounded(&place)?;
        self.settle_hosts(&place);
        self.settle_places(&place);
        self.drop_unused_upstreams();
        // Files as they were met, lines in order.
        let mut files: Vec<Arc<str>> = Vec::new();
        for note in &self.notes {
            if !files.contains(&note.place.file) {
                files.push(Arc::clone(&note.place.file));
            }
        }
        self.notes.sort_by_key(|note| {
            let at = files.iter().position(|file| *file == note.place.file);
            (at, note.place.line, note.place.column)
        });
        let toml = render::toml(&self.wanted, &self.notes, source, name).map_err(|site| Refused {
            place,
            what: format!("the site {site} would have more than 500 rules"),
            hint: "import the parts of it that matter".to_owned(),
        })?;
        Ok(Imported { toml, notes: self.notes })
    }

    /// Every site can be reached, no host belongs to two, one takes the rest.
    fn settle_hosts(&mut self, place: &Place) {
        let mut sites = std::mem::take(&mut self.wanted.sites);
        let overlap = |a: &[u16], b: &[u16]| a.is_empty() || b.is_empty() || a.iter().any(|p| b.contains(p));
        let mut taken: Vec<(String, Vec<u16>)> = Vec::new();
        let mut defaults: Vec<Vec<u16>> = Vec::new();
        let alone = sites.len() == 1;
        for site in &mut sites {
            let at = site.place.clone().unwrap_or_else(|| place.clone());
            let mut hosts = Vec::new();
            for host in std::mem::take(&mut site.hosts) {
                if taken.iter().any(|(h, ports)| *h == host && overlap(ports, &site.ports)) {
                    let as_what = (Fate::LeftOut, Consequence::BreaksSite);
                    let text =
                        "an earlier site on the same port has this host already, and takes its requests";
                    self.note_as(&at, &host, as_what, text);
                } else {
                    taken.push((host.clone(), site.ports.clone()));
                    hosts.push(host);
                }
            }
            site.hosts = hosts;
            let free = !defaults.iter().any(|ports| overlap(ports, &site.ports));
            site.default = free && (site.default || alone || site.hosts.is_empty());
            if site.default {
                defaults.push(site.ports.clone());
            }
        }
        sites.retain(|site| {
            let reached = site.default || !site.hosts.is_empty();
            if !reached {
                let at = site.place.clone().unwrap_or_else(|| place.clone());
                let as_what = (Fate::LeftOut, Consequence::BreaksSite);
                let text = "the whole site is left out: earlier sites take all of its requests. Give it a host or a port of its own";
                self.note_as(&at, &site.name, as_what, text);
            }
            reached
        });
        self.wanted.sites = sites;
    }

    /// Every site takes its pages from somewhere.
    fn settle_places(&mut self, place: &Place) {
        if self.wanted.sites.is_empty() {
            let site = crate::wanted::Site { name: "main".to_owned(), default: true, ..Default::default() };
            self.wanted.sites.push(site);
        }
        let mut sites = std::mem::take(&mut self.wanted.sites);
        // Where another site takes its pages from, for one that has none.
        let beside =
            sites.iter().find_map(|site| Some(("files", site.head.get("files")?.clone()))).or_else(|| {
                let mut scopes = sites.iter().flat_map(|site| site.scopes.iter().chain(&site.passes));
                scopes.find_map(|scope| match scope.settings.get("upstream") {
                    Some(Value::Text(name)) => Some(("upstream", Value::text(name))),
                    _ => None,
                })
            });
        for site in &mut sites {
            // What takes all takes what the site takes; beside handlers and exceptions it is a rule behind theirs.
            let (scopes, passes) = (&mut site.scopes, &mut site.passes);
            let excepted = scopes
                .iter()
                .chain(passes.iter())
                .any(|s| s.settings.get("upstream") == Some(&Value::Bool(false)));
            // In nginx what says nothing of where it goes is a file.
            let first = site.overlap == crate::wanted::Overlap::First;
            let a_file = |s: &crate::wanted::Scope| {
                let elsewhere = s.settings.get("upstream").is_some() || s.settings.get("redirect").is_some();
                !s.select.is_all() && !elsewhere && !s.settings.is_closed()
            };
            let excepted = excepted || (first && scopes.iter().any(a_file));
            // Behind the first that takes all nothing is asked any more.
            if let Some(at) = passes.iter().position(|pass| pass.select.is_all()) {
                passes.truncate(at + 1);
            }
            if site.head.get("handlers").is_none() && !excepted {
                for scope in scopes.iter_mut().chain(passes).filter(|scope| scope.select.is_all()) {
                    if let Some(entry) = scope.settings.remove("upstream") {
                        site.head.overlay(&Settings::from_entry(entry));
                    }
                }
            }
            if site.head.get("upstream").is_some() {
                // Files would stand beside it, and a site takes what is left from one place.
                site.head.remove("files");
                for key in ["index", "listing", "types", "handlers"] {
                    site.head.remove(key);
                }
            } else if site.head.get("files").is_none() && is_redirected(site) && beside.is_some() {
                // Nothing is served from it, but a site has some place.
                if let Some((key, value)) = &beside {
                    site.head.set_by_itself(key, value.clone(), "nothing comes from it: all is redirected");
                }
            } else if site.head.get("files").is_none() {
                let at = site.place.clone().unwrap_or_else(|| place.clone());
                let (folder, remark) = match &self.options.files {
                    Some(files) => (files.clone(), "--files".to_owned()),
                    None => {
                        ("/FILL-IN/files".to_owned(), "FILL-IN: what was read names no folder".to_owned())
                    }
                };
                if self.options.files.is_none() {
                    self.note(
                        &at,
                        &site.name,
                        Fate::FillIn,
                        "no folder is named for what goes to no upstream: write `files`, or import with --files DIR",
                    );
                }
                site.head.set_by_itself("files", Value::Text(folder), &remark);
            }
        }
        self.wanted.sites = sites;
    }

    fn drop_unused_upstreams(&mut self) {
        let Wanted { sites, upstreams, .. } = &mut self.wanted;
        let mut used: Vec<String> = Vec::new();
        for site in sites.iter() {
            let all = site.scopes.iter().chain(&site.passes).map(|scope| &scope.settings).chain([&site.head]);
            for settings in all {
                used.extend(
                    settings.get("upstream").map(Value::as_texts).into_iter().flatten().map(str::to_owned),
                );
                if let Some(Value::List(handlers)) = settings.get("handlers") {
                    for handler in handlers {
                        let Value::Table(pairs) = handler else { continue };
                        let fastcgi = pairs.iter().filter(|(key, _)| key == "fastcgi");
                        used.extend(fastcgi.flat_map(|(_, v)| v.as_texts()).map(str::to_owned));
                    }
                }
            }
        }
        upstreams.retain(|upstream| used.contains(&upstream.name));
    }
}

/// Whether all requests to a site are sent elsewhere.
fn is_redirected(site: &Site) -> bool {
    site.scopes.iter().any(|scope| scope.select.is_all() && scope.settings.get("redirect").is_some())
        && site
            .scopes
            .iter()
            .all(|scope| scope.settings.get("redirect").is_some() || scope.settings.is_closed())
}
