//! What pages are made of: default documents, listings, FastCGI handlers, static content, compression, headers, error pages.

use super::Work;
use super::xml::{Xml, child, children, number, switch};
use crate::draft::Draft;
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::wanted::{Select, Settings, Site, Upstream, Value};
use roxmltree::Node;
use samovar_rules::{FieldSide, refused_name};

/// A FastCGI application of the server: what it is, and its bounds.
pub(crate) struct FastCgi {
    program: String,
    settings: Settings,
    params: Vec<(String, Value)>,
}

/// `fastCgi` stands once, at the top.
pub(crate) fn fastcgi(xml: &Xml<'_>, node: Node<'_, '_>, all: &mut Vec<FastCgi>, draft: &mut Draft<'_>) {
    for application in child(node, "fastCgi").into_iter().flat_map(children) {
        let (place, tag) = (xml.place(application), xml.tag(application));
        let program = application.attribute("fullPath").unwrap_or("").to_owned();
        let mut settings = Settings::default();
        if let Some(n) = number(application, "maxInstances").filter(|n| (1..=100_000).contains(n)) {
            settings.set("max_connections", Value::Int(n), &place).remark =
                "php-fpm needs as many children".to_owned();
        }
        if let Some(n) = number(application, "queueLength").filter(|n| *n <= 1_000_000) {
            settings.set("queue_max", Value::Int(n), &place);
        }
        if let Some(seconds) = number(application, "requestTimeout").filter(|n| (1..=86_400).contains(n)) {
            settings.set("head_timeout", Value::duration(seconds * 1000), &place);
        }
        if let Some(seconds) = number(application, "activityTimeout").filter(|n| (1..=86_400).contains(n)) {
            settings.set("body_timeout", Value::duration(seconds * 1000), &place);
        }
        let mut params = Vec::new();
        for variable in child(application, "environmentVariables").into_iter().flat_map(children) {
            if let (Some(name), Some(value)) = (variable.attribute("name"), variable.attribute("value"))
                && !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && !value.is_empty()
            {
                params.push((name.to_owned(), Value::text(value)));
            }
        }
        draft.note(
            &place,
            &tag,
            Fate::Carried,
            "its bounds are those of the upstream; php-fpm itself has the rest",
        );
        all.push(FastCgi { program, settings, params });
    }
}

pub(crate) fn directory_browse(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let place = work.place(node);
    match switch(node, "enabled") {
        Some(on) if work.is_whole() => {
            work.site.head.set("listing", Value::Bool(on), &place);
            work.carried(node, format!("listing = {on}"));
        }
        Some(true) => {
            let path = work.path.clone();
            let text = format!(
                "a site lists its folders everywhere or nowhere: `listing = true` would list more than /{path}"
            );
            work.breaks(node, text);
        }
        _ => work.carried(node, "no listing, which is the default"),
    }
}

/// What IIS tries if nobody says otherwise, as far as it can be served here.
const DEFAULT_DOCUMENTS: [&str; 3] = ["Default.htm", "index.htm", "index.html"];

pub(crate) fn default_document(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let place = work.place(node);
    if !work.is_whole() {
        work.breaks(node, "index documents are of a whole site: write `index` into the site, or give the path a site of its own");
        return;
    }
    if switch(node, "enabled") == Some(false) {
        work.left(node, "a site always looks for index documents; `index` names them");
    }
    let known =
        work.site.head.get("index").map(|v| v.as_texts().into_iter().map(str::to_owned).collect::<Vec<_>>());
    let mut inherited = known.unwrap_or_else(|| DEFAULT_DOCUMENTS.map(str::to_owned).to_vec());
    let mut own = Vec::new();
    for entry in child(node, "files").into_iter().flat_map(children) {
        let value = entry.attribute("value").unwrap_or("").trim();
        match (entry.tag_name().name(), spell::file_name(value)) {
            ("clear", _) => {
                inherited.clear();
                own.clear();
                work.carried(entry, "the list begins anew here");
            }
            ("remove", Some(name)) => {
                inherited.retain(|known| !known.eq_ignore_ascii_case(&name));
                work.carried(entry, "taken out of index");
            }
            ("add", Some(name)) => {
                work.carried(entry, format!("index = {name}"));
                own.push(name);
            }
            _ => work.breaks(entry, "a file name is expected"),
        }
    }
    // What is added stands before what is handed down.
    inherited.retain(|known| !own.contains(known));
    own.extend(inherited);
    if !own.is_empty() {
        work.site.head.set("index", Value::texts(own), &place);
    }
}

/// Where php-fpm usually listens, until somebody says.
const USUAL_FASTCGI: &str = "unix:/run/php/php-fpm.sock";

pub(crate) fn handlers(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    for handler in children(node) {
        let modules = handler.attribute("modules").unwrap_or("");
        let extension =
            handler.attribute("path").and_then(|p| p.trim().strip_prefix('*')).and_then(spell::extension);
        match (handler.tag_name().name(), extension) {
            ("add", Some(extension)) if modules.eq_ignore_ascii_case("FastCgiModule") => {
                fastcgi_handler(work, handler, extension);
            }
            ("add", _) if modules.eq_ignore_ascii_case("FastCgiModule") => {
                not_shown(work, handler, "a FastCGI handler here is of one extension, path=\"*.php\"");
            }
            ("add", _) if modules.contains("StaticFile") || modules.contains("DefaultDocument") => {
                work.carried(handler, "what no handler takes is a file");
            }
            ("add", _) if handler.attribute("type").is_some() => not_shown(
                work,
                handler,
                "Samovar runs no .NET: put the application behind HTTP and give the site `origin`, or a rule `upstream`",
            ),
            ("add", _) => not_shown(work, handler, "Samovar has no module of this kind"),
            _ => work.left(handler, "Samovar has no such handler to begin with"),
        }
    }
}

/// What a handler ran that is not there must not be shown as it is.
fn not_shown(work: &mut Work<'_, '_, '_>, handler: Node<'_, '_>, why: &str) {
    const HARMLESS: [&str; 5] =
        ["ProtocolSupport", "WebDAV", "DirectoryListing", "TransferRequestHandler", "Tracing"];
    let of = |name: &str| handler.attribute(name).unwrap_or("");
    let harmless = HARMLESS.iter().any(|name| of("modules").contains(name) || of("type").contains(name));
    let (path, place) = (of("path").trim(), work.place(handler));
    let extension = path.strip_prefix('*').and_then(spell::extension);
    let select = match extension {
        Some(extension) => Select { path: super::path_set(&work.path), extensions: vec![extension] },
        None if path == "*" => Select::path(super::path_set(&work.path)),
        None if path.contains(['*', ',']) || path.is_empty() => return work.left(handler, why),
        None => {
            let whole = format!("{}/{}", work.path, path.trim_matches('/'));
            Select::path(super::path_set(whole.trim_matches('/')))
        }
    };
    if harmless {
        return work.left(handler, why);
    }
    work.site.scope(&select, &place).close(&place, why);
    work.note_as(handler, (Fate::Unsafe, Consequence::BreaksSite), format!("closed to everybody: {why}"));
}

fn fastcgi_handler(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>, extension: String) {
    let place = work.place(node);
    let program = node.attribute("scriptProcessor").unwrap_or("").split('|').next().unwrap_or("").to_owned();
    let address = work.draft.options.fastcgi.clone();
    let filled = address.is_none();
    let address = address.unwrap_or_else(|| USUAL_FASTCGI.to_owned());
    let known = work.fastcgi.iter().find(|f| f.program.eq_ignore_ascii_case(&program));
    let mut pairs = vec![("extension".to_owned(), Value::text(&extension))];
    match known.filter(|f| !f.settings.is_empty()) {
        Some(known) => {
            let mut settings = Settings::default();
            settings.set("fastcgi", Value::text(&address), &place);
            settings.overlay(&known.settings);
            let name = "fastcgi".to_owned();
            if !work.draft.wanted.upstreams.iter().any(|u| u.name == name) {
                let place = Some(place.clone());
                work.draft.wanted.upstreams.push(Upstream {
                    name: name.clone(),
                    place,
                    members: Vec::new(),
                    settings,
                });
            }
            pairs.push(("fastcgi".to_owned(), Value::Text(name)));
        }
        None => pairs.push(("fastcgi".to_owned(), Value::text(&address))),
    }
    if let Some(known) = known.filter(|f| !f.params.is_empty()) {
        pairs.push(("params".to_owned(), Value::Table(known.params.clone())));
    }
    let twice =
        work.site.head.get("handlers").is_some_and(|v| v.toml().contains(&Value::text(&extension).toml()));
    if twice {
        work.left(node, "the extension has a handler already, and a site has one for each");
        return;
    }
    work.site.head.add("handlers", Value::Table(pairs), &place);
    if filled {
        let text = format!(
            "fastcgi = \"{address}\": where php-fpm listens in the place of {program}, or --fastcgi ADDRESS"
        );
        work.note(node, Fate::FillIn, text);
    } else {
        work.carried(node, format!("handlers: {extension} at {address}"));
    }
}

pub(crate) fn static_content(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    for entry in children(node) {
        let place = work.place(entry);
        match entry.tag_name().name() {
            "mimeMap" => {
                let extension = entry.attribute("fileExtension").and_then(spell::extension);
                let media = entry.attribute("mimeType").and_then(spell::media_type);
                match (extension, media) {
                    (Some(extension), Some(media)) => {
                        let mut types = match work.site.head.get("types") {
                            Some(Value::Table(pairs)) => pairs.clone(),
                            _ => Vec::new(),
                        };
                        types.retain(|(known, _)| *known != extension);
                        work.carried(entry, format!("types: {extension} = {media}"));
                        types.push((extension, Value::Text(media)));
                        work.site.head.set("types", Value::Table(types), &place);
                    }
                    _ => work.breaks(
                        entry,
                        "an extension and a media type are expected, such as .png and image/png",
                    ),
                }
            }
            "clientCache" => client_cache(work, entry),
            "remove" => work.carried(entry, "`types` goes before the types that Samovar knows"),
            _ => work.left(entry, "Samovar keeps the types that it knows"),
        }
    }
}

fn client_cache(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let place = work.place(node);
    let custom = node.attribute("cacheControlCustom").and_then(spell::field_value);
    if switch(node, "setEtag") == Some(false) {
        work.cached(node, "setEtag: files have an ETag; clients and caches revalidate by it");
    }
    let mut words: Vec<String> = custom.into_iter().collect();
    match node.attribute("cacheControlMode").unwrap_or("NoControl") {
        "UseMaxAge" => {
            let age = node.attribute("cacheControlMaxAge").unwrap_or("1.00:00:00");
            let Some(ms) = spell::time_span(age) else {
                work.cached(
                    node,
                    "cacheControlMaxAge is no time like 7.00:00:00: clients are told no lifetime",
                );
                return;
            };
            words.push(format!("max-age={}", ms / 1000));
        }
        "DisableCache" => words.push("no-cache".to_owned()),
        "NoControl" if words.is_empty() => {
            work.carried(node, "Samovar tells clients no lifetime of files by default");
            return;
        }
        "UseExpires" => {
            work.cached(
                node,
                "a fixed date of expiry cannot be written: clients are told no lifetime. Write `client_cache_control = \"max-age=…\"`",
            );
            return;
        }
        _ => {}
    }
    if !words.is_empty() {
        let told = words.join(", ");
        work.carried(node, format!("client_cache_control = \"{told}\", of files"));
        // Of files alone; taken apart from scripts when all handlers are known.
        work.here(node).set(FILES_ONLY, Value::Text(told), &place);
    }
}

/// Stands for `client_cache_control` until the handlers are known.
const FILES_ONLY: &str = "client_cache_control (files)";

/// What IIS told of files alone would be told of scripts too: where there are handlers somebody must decide.
pub(crate) fn settle(site: &mut Site) {
    let scripts = site.head.get("handlers").is_some();
    for scope in &mut site.scopes {
        let Some(mut entry) = scope.settings.remove(FILES_ONLY) else { continue };
        entry.key = "client_cache_control";
        if scripts {
            entry.remark =
                "IIS told it of files only; a rule would tell it of scripts too: decide".to_owned();
            entry.off = true;
        }
        if scope.settings.get("client_cache_control").is_none() {
            scope.settings.overlay(&Settings::from_entry(entry));
        }
    }
}

pub(crate) fn compression(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let place = work.place(node);
    if node.tag_name().name() == "urlCompression" {
        let fixed = switch(node, "doStaticCompression").unwrap_or(true);
        let made = switch(node, "doDynamicCompression").unwrap_or(true);
        let on = fixed || made;
        work.here(node).set("compress", Value::Bool(on), &place);
        let text = if fixed == made { "" } else { ", of files and of what is made alike" };
        work.carried(node, format!("compress = {on}{text}"));
        return;
    }
    let mut types: Vec<String> = Vec::new();
    for part in children(node) {
        match part.tag_name().name() {
            "staticTypes" | "dynamicTypes" => {
                for entry in children(part) {
                    let media =
                        entry.attribute("mimeType").and_then(spell::media_type).filter(|m| !m.contains(';'));
                    match (entry.tag_name().name(), switch(entry, "enabled"), media) {
                        ("add", Some(false), _) => work.carried(entry, "not among compress.types"),
                        ("add", _, Some(media)) => {
                            work.carried(entry, format!("compress.types: {media}"));
                            if !types.contains(&media) {
                                types.push(media);
                            }
                        }
                        _ => work.left(entry, "compress.types has only the types that are listed here"),
                    }
                }
            }
            "scheme" => work.left(
                part,
                "`[compression]` says codings and levels: br, zstd and gzip, made once per stored response",
            ),
            _ => work.left(part, "Samovar has no counterpart"),
        }
    }
    if !types.is_empty() {
        let compress = Value::table([("types", Value::texts(types))]);
        work.here(node).set("compress", compress, &place);
    } else {
        work.left(
            node,
            "Samovar compresses text, scripts and the like by default: `compress`, `[compression]`",
        );
    }
}

pub(crate) fn http_protocol(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    if switch(node, "allowKeepAlive") == Some(false) {
        work.left(
            node,
            "Samovar keeps connections open: `[limits] requests_per_connection = 1` ends each after one response",
        );
    }
    for part in children(node) {
        if part.tag_name().name() != "customHeaders" {
            work.breaks(part, "it is not carried over: write `redirect` or `response_fields` into a rule");
            continue;
        }
        for entry in children(part) {
            let place = work.place(entry);
            let name = entry.attribute("name").and_then(|n| spell::field_name(n.trim()));
            let value = entry.attribute("value").and_then(|v| spell::field_value(v.trim()));
            match (entry.tag_name().name(), name, value) {
                ("clear", ..) => work.carried(entry, "Samovar adds no such fields of its own"),
                ("remove", Some(name), _) => {
                    work.carried(entry, format!("drop_fields: {name}"));
                    work.here(entry).add("drop_fields", Value::Text(name), &place);
                }
                ("add", Some(name), Some(value)) if name.eq_ignore_ascii_case("Cache-Control") => {
                    work.carried(entry, format!("client_cache_control = \"{value}\""));
                    work.here(entry).set("client_cache_control", Value::Text(value), &place);
                }
                ("add", Some(name), _) if crate::wanted::is_ours(&name) => {
                    work.left(entry, format!("Samovar writes {name} itself"));
                }
                ("add", Some(name), Some(value)) if name.eq_ignore_ascii_case("Vary") => {
                    work.carried(entry, "response_fields, added to what the origin names");
                    let edit = Value::table([("append", Value::Text(name)), ("value", Value::Text(value))]);
                    work.here(entry).add("response_fields", edit, &place);
                }
                // What only steers caches is told to clients.
                ("add", Some(name), Some(value))
                    if refused_name(FieldSide::Response, "set", &name).is_some() =>
                {
                    match refused_name(FieldSide::Client, "set", &name) {
                        Some(why) => work.cached(entry, format!("a rule cannot change {name}: {why}")),
                        None => {
                            work.carried(entry, format!("client_fields: {name}"));
                            let edit =
                                Value::table([("set", Value::Text(name)), ("value", Value::Text(value))]);
                            work.here(entry).add("client_fields", edit, &place);
                        }
                    }
                }
                ("add", Some(name), Some(value)) => {
                    work.carried(entry, format!("response_fields: {name}"));
                    let edit = Value::table([("set", Value::Text(name)), ("value", Value::Text(value))]);
                    work.here(entry).add("response_fields", edit, &place);
                }
                _ => work.breaks(entry, "a field name, and a value on one line of ASCII, are expected"),
            }
        }
    }
}

pub(crate) fn http_errors(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let place = work.place(node);
    let mut pages = Vec::new();
    for entry in children(node) {
        let status = number(entry, "statusCode").filter(|n| (400..=599).contains(n));
        let path = entry.attribute("path").unwrap_or("").trim();
        let mode = entry.attribute("responseMode").unwrap_or("File");
        match (entry.tag_name().name(), status) {
            ("add" | "error", Some(status)) if mode == "ExecuteURL" && path.starts_with('/') => {
                work.carried(entry, format!("error_pages: {status} = {path}"));
                pages.retain(|(known, _): &(String, Value)| *known != status.to_string());
                pages.push((status.to_string(), Value::text(path)));
            }
            ("add" | "error", Some(_)) => {
                work.breaks(entry, "a page of the same site is expected, responseMode=\"ExecuteURL\": visitors get Samovar's own error page");
            }
            _ => work.left(entry, "error_pages has only the pages that are listed here"),
        }
    }
    if !pages.is_empty() {
        work.here(node).set("error_pages", Value::Table(pages), &place);
    }
}
