//! `web.config` and `applicationHost.config`: sites, the paths that sections hold for, and each section in its own file.
//!
//! IIS hands settings down the path: what holds for `/` holds below, unless a section there says otherwise. Each place that
//! settings stand at is a layer; layers are read outer ones first. Not here: what a section means.

mod caching;
mod guards;
mod pages;
mod sites;
mod xml;

use crate::draft::Draft;
use crate::include::File;
use crate::note::{Consequence, Fate, Place, Refused};
use crate::wanted::{PathSet, Settings, Site, Value};
use roxmltree::Node;
use xml::{Xml, children};

/// Where settings stand: of which site (`None`: all), for which path.
struct Layer<'a, 'i> {
    site: Option<String>,
    path: String,
    node: Node<'a, 'i>,
}

/// A site being read: what a layer adds to.
struct Work<'w, 'x, 'o> {
    xml: &'w Xml<'x>,
    draft: &'w mut Draft<'o>,
    site: &'w mut Site,
    /// The path of the layer: empty for the whole site.
    path: String,
    profiles: &'w mut Vec<caching::Op>,
    fastcgi: &'w [pages::FastCgi],
    hidden: &'w mut guards::Hidden,
}

pub(crate) fn read(file: &File, draft: &mut Draft<'_>) -> Result<(), Refused> {
    let text = xml::text(file)?;
    let xml = xml::parse(file, &text)?;
    let root = xml.document.root_element();
    if root.tag_name().name() != "configuration" {
        let hint = "name a web.config or an applicationHost.config, which begin with <configuration>";
        let what = format!("the file begins with <{}>", crate::note::quotable(root.tag_name().name()));
        return Err(Refused { place: xml.place(root), what, hint: hint.to_owned() });
    }
    let mut layers = Vec::new();
    let mut declared = Vec::new();
    let mut fastcgi = Vec::new();
    for node in children(root) {
        match node.tag_name().name() {
            "system.webServer" => {
                pages::fastcgi(&xml, node, &mut fastcgi, draft);
                layers.push(Layer { site: None, path: String::new(), node });
            }
            "location" => {
                for inner in children(node) {
                    if ["system.webServer", "system.web"].contains(&inner.tag_name().name()) {
                        layers.push(Layer { site: None, path: location(node), node: inner });
                    } else {
                        foreign(&xml, inner, draft);
                    }
                }
            }
            "system.web" => layers.push(Layer { site: None, path: String::new(), node }),
            "system.applicationHost" => sites::declared(&xml, node, draft, &mut declared),
            _ => foreign(&xml, node, draft),
        }
        draft.bounded(&xml.place(node))?;
    }
    let is_server = !declared.is_empty();
    if !is_server {
        declared.push(one_site(&xml, draft));
    }
    // With several sites, locations begin with a site's name.
    for layer in layers.iter_mut().filter(|_| is_server) {
        let (first, rest) = layer.path.split_once('/').unwrap_or((&layer.path, ""));
        if let Some(site) = declared.iter().find(|site| site.name.eq_ignore_ascii_case(first)) {
            (layer.site, layer.path) = (Some(site.name.clone()), rest.to_owned());
        } else if !layer.path.is_empty() {
            let place = xml.place(layer.node);
            let as_what = (Fate::LeftOut, Consequence::BreaksSite);
            draft.note_as(&place, &format!("location {first}"), as_what, "no site has this name");
            layer.site = Some(String::new());
        }
    }
    layers.sort_by_key(|layer| layer.path.trim_matches('/').len());
    let count = declared.len();
    for (at, mut site) in declared.into_iter().enumerate() {
        let mut profiles = Vec::new();
        let mut hidden = guards::Hidden::default();
        let name = site.name.clone();
        for layer in layers.iter().filter(|l| l.site.as_ref().is_none_or(|of| *of == name)) {
            let path = layer.path.trim_matches('/').to_owned();
            // What holds for all sites is told once.
            let quiet = at > 0 && layer.site.is_none();
            let mut aside = Draft::new(draft.options);
            let onto = if quiet { &mut aside } else { &mut *draft };
            let fastcgi = &fastcgi;
            let mut work = Work {
                xml: &xml,
                draft: onto,
                site: &mut site,
                path,
                profiles: &mut profiles,
                fastcgi,
                hidden: &mut hidden,
            };
            match layer.node.tag_name().name() {
                "system.web" => {
                    guards::of_the_application(&mut work, layer.node);
                    for inner in children(layer.node).filter(|n| n.tag_name().name() == "caching") {
                        work.cached(inner, "it is of the application's own cache, which Samovar does not run: write a lifetime into a rule");
                    }
                    foreign(&xml, layer.node, work.draft);
                }
                _ => layer_of(&mut work, layer.node)?,
            }
            if quiet {
                // Upstreams that only this copy came upon.
                for upstream in aside.wanted.upstreams {
                    if !draft.wanted.upstreams.iter().any(|u| u.name == upstream.name) {
                        draft.wanted.upstreams.push(upstream);
                    }
                }
            }
        }
        caching::settle(&mut site, &profiles);
        pages::settle(&mut site);
        let place = site.place.clone().unwrap_or_else(|| xml.place(root));
        guards::settle(&mut site, &hidden, &place);
        // IIS compares paths without case, and so must what guards them.
        site.head.set_by_itself("ignore_case", Value::Bool(true), "IIS compares paths without case");
        site.name = crate::spell::name(&site.name);
        draft.wanted.sites.push(site);
    }
    if count > 200 {
        return Err(Refused {
            place: xml.place(root),
            what: format!("{count} sites"),
            hint: "import at most 200 at a time".to_owned(),
        });
    }
    Ok(())
}

/// A `web.config` is of one site, in whose folder it lies.
fn one_site(xml: &Xml<'_>, draft: &mut Draft<'_>) -> Site {
    let mut site = Site { name: "main".to_owned(), default: true, ..Site::default() };
    if let Some(files) = draft.options.files.clone() {
        let place = xml.place(xml.document.root_element());
        site.head.set("files", Value::Text(files), &place).remark = "the folder of the site".to_owned();
    }
    site
}

/// The path of a `<location>`; `.` and nothing are the whole.
fn location(node: Node<'_, '_>) -> String {
    let path = node.attribute("path").unwrap_or("").trim().replace('\\', "/");
    if path == "." { String::new() } else { path.trim_matches('/').to_owned() }
}

fn layer_of(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) -> Result<(), Refused> {
    for section in children(node) {
        match section.tag_name().name() {
            "caching" => caching::section(work, section),
            "serverRuntime" => caching::server_runtime(work, section),
            "directoryBrowse" => pages::directory_browse(work, section),
            "defaultDocument" => pages::default_document(work, section),
            "handlers" => pages::handlers(work, section),
            "staticContent" => pages::static_content(work, section),
            "httpCompression" | "urlCompression" => pages::compression(work, section),
            "httpProtocol" => pages::http_protocol(work, section),
            "httpErrors" => pages::http_errors(work, section),
            "httpRedirect" => guards::http_redirect(work, section),
            "security" => guards::security(work, section),
            "fastCgi" => {}
            "rewrite" => rewrite(work, section),
            // All requests were the application's, and its folder holds its settings.
            "aspNetCore" | "httpPlatform" => guards::close(work, section, why_not(section.tag_name().name())),
            name => {
                let why = why_not(name);
                work.left(section, why);
            }
        }
        let place = work.xml.place(section);
        work.draft.bounded(&place)?;
    }
    Ok(())
}

/// Rules of the URL Rewrite module are not read; those that refuse close.
fn rewrite(work: &mut Work<'_, '_, '_>, section: Node<'_, '_>) {
    let refuses = |n: Node<'_, '_>| {
        let action = n.attribute("type").unwrap_or("").to_ascii_lowercase();
        n.tag_name().name() == "action" && (action == "abortrequest" || action == "customresponse")
    };
    if section.descendants().any(refuses) {
        guards::close(work, section, "a rule of the URL Rewrite module refused requests");
    } else {
        work.left(section, why_not("rewrite"));
    }
}

/// Why a section of `system.webServer` has no counterpart.
fn why_not(name: &str) -> &'static str {
    match name {
        "rewrite" => {
            "rules of the URL Rewrite module are not read: write `rewrite` or `redirect` into a rule"
        }
        "modules" | "globalModules" | "isapiFilters" => "Samovar has no modules",
        "asp" | "cgi" | "serverSideInclude" => {
            "Samovar runs no such pages; put the application behind FastCGI or HTTP"
        }
        "tracing" => "every request is traced: `samovar trace`, `samovar explain`",
        "httpLogging" => "the access log is `[log]`",
        "aspNetCore" | "httpPlatform" => {
            "Samovar starts no applications: run it on a port of its own and give the site `origin = \"http://127.0.0.1:PORT\"`"
        }
        "webSocket" => "WebSockets pass to HTTP upstreams",
        "validation" => "it is about IIS's own configuration",
        _ => "Samovar has no counterpart",
    }
}

/// What is not about the web server.
fn foreign(xml: &Xml<'_>, node: Node<'_, '_>, draft: &mut Draft<'_>) {
    let place = xml.place(node);
    let why = match node.tag_name().name() {
        "configSections" => return,
        "system.web"
        | "system.serviceModel"
        | "appSettings"
        | "connectionStrings"
        | "runtime"
        | "system.codedom" => "it is for the application, which Samovar does not run",
        _ => "Samovar has no counterpart",
    };
    draft.note(&place, &xml.tag(node), Fate::LeftOut, why);
}

impl Work<'_, '_, '_> {
    fn note(&mut self, node: Node<'_, '_>, fate: Fate, text: impl Into<String>) {
        let (place, tag) = (self.xml.place(node), self.xml.tag(node));
        self.draft.note(&place, &tag, fate, text);
    }

    /// Notes what became of an element, and what that means for the site.
    fn note_as(&mut self, node: Node<'_, '_>, as_what: (Fate, Consequence), text: impl Into<String>) {
        let (place, tag) = (self.xml.place(node), self.xml.tag(node));
        self.draft.note_as(&place, &tag, as_what, text);
    }

    /// Not carried over, and something is stored for another time, for other requests, or not at all.
    fn cached(&mut self, node: Node<'_, '_>, text: impl Into<String>) {
        self.note_as(node, (Fate::LeftOut, Consequence::CachedDifferently), text);
    }

    /// Not carried over, and pages are missing or not the same.
    fn breaks(&mut self, node: Node<'_, '_>, text: impl Into<String>) {
        self.note_as(node, (Fate::LeftOut, Consequence::BreaksSite), text);
    }

    fn carried(&mut self, node: Node<'_, '_>, text: impl Into<String>) {
        self.note(node, Fate::Carried, text);
    }

    fn left(&mut self, node: Node<'_, '_>, text: impl Into<String>) {
        self.note(node, Fate::LeftOut, text);
    }

    fn place(&self, node: Node<'_, '_>) -> Place {
        self.xml.place(node)
    }

    /// The settings of the layer's path.
    fn here(&mut self, node: Node<'_, '_>) -> &mut Settings {
        let place = self.xml.place(node);
        let select = crate::wanted::Select::path(path_set(&self.path));
        self.site.scope(&select, &place)
    }

    /// Whether the layer is the whole site.
    fn is_whole(&self) -> bool {
        self.path.is_empty()
    }
}

/// A location is a folder with all below it, or one document; which of them is not told by a dot.
fn path_set(path: &str) -> PathSet {
    if path.is_empty() { PathSet::All } else { PathSet::Under(format!("/{path}")) }
}
