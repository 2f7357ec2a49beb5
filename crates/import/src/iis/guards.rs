//! What keeps people out: addresses, credentials, hidden names; and redirects.
//!
//! A guard that is not carried over would open what it kept closed. Where Samovar has no counterpart the paths are closed to
//! everybody, with a line that says so: safe until somebody decides.

use super::xml::{child, children, number, switch};
use super::{Work, path_set};
use crate::note::{Consequence, Fate, Place};
use crate::spell;
use crate::wanted::{PathSet, Select, Settings, Site, Value, Wide, everybody};
use roxmltree::Node;

pub(crate) fn security(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    for section in children(node) {
        match section.tag_name().name() {
            "ipSecurity" => addresses(work, section),
            "authentication" => authentication(work, section),
            "authorization" => authorization(work, section),
            "requestFiltering" => filtering(work, section),
            "access" => {
                let asked =
                    section.attribute("sslFlags").is_some_and(|flags| !flags.is_empty() && flags != "None");
                if asked {
                    close(work, section, "it asked for TLS: see docs/tls.md, then take `deny` out");
                }
            }
            "dynamicIpSecurity" => work.note(
                section,
                Fate::Unsafe,
                "nothing bounds how often one client may ask: write `rate = { requests = …, per = \"…\" }`",
            ),
            _ => close(work, section, "this importer does not know what it asked for"),
        }
    }
}

/// Closes the layer's paths to everybody.
pub(crate) fn close(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>, why: &str) {
    let place = work.place(node);
    work.here(node).close(&place, why);
    // Safe, and a part of the site is gone.
    work.note_as(node, (Fate::Unsafe, Consequence::BreaksSite), format!("closed to everybody: {why}"));
}

fn addresses(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let place = work.place(node);
    let mut lists: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for entry in children(node).filter(|n| n.tag_name().name() == "add") {
        let address = entry.attribute("ipAddress").unwrap_or("");
        let written = match entry.attribute("subnetMask") {
            Some(mask) => format!("{address}/{mask}"),
            None => address.to_owned(),
        };
        match (spell::network(&written), switch(entry, "allowed").unwrap_or(false)) {
            (Some(network), allowed) => {
                work.carried(entry, format!("{} {network}", if allowed { "allow" } else { "deny" }));
                let [allow, deny] = &mut lists;
                if allowed { allow.push(network) } else { deny.push(network) }
            }
            (None, false) => close(work, entry, "it denies an address that cannot be read"),
            (None, true) => work.left(entry, "the address cannot be read: its clients are not let in by it"),
        }
    }
    let [allow, deny] = lists;
    if switch(node, "allowUnlisted") == Some(false) {
        // A network that may not, inside one that may, may not here either: the narrower decides.
        let here = work.here(node);
        here.deny_others(&allow, &place);
        for network in deny {
            here.add("deny", Value::Text(network), &place);
        }
        work.carried(node, "deny: all that allow does not name");
        return;
    }
    let here = work.here(node);
    if !allow.is_empty() {
        here.set("allow", Value::texts(allow), &place);
    }
    if !deny.is_empty() {
        here.set("deny", Value::texts(deny), &place);
    }
}

fn authentication(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let anonymous = child(node, "anonymousAuthentication").and_then(|n| switch(n, "enabled"));
    let others: Vec<Node<'_, '_>> = children(node)
        .filter(|n| n.tag_name().name() != "anonymousAuthentication" && switch(*n, "enabled") == Some(true))
        .collect();
    let asks = anonymous == Some(false);
    for other in &others {
        let basic = other.tag_name().name() == "basicAuthentication";
        let text = if basic {
            "Samovar knows no users of Windows: `basic_auth = { realm = \"…\", users = \"FILE\" }` asks those of a file"
        } else {
            "Samovar knows no users of Windows"
        };
        work.left(*other, text);
    }
    if asks {
        let hint = "write `basic_auth = { realm = \"…\", users = \"FILE\" }`, or let the application ask, and take `deny` out";
        close(work, node, hint);
    }
}

fn authorization(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    // Users and roles are Windows'; everybody may, if every rule that stands here says so.
    let open = |n: Node<'_, '_>| {
        n.attribute("accessType") == Some("Allow") && n.attribute("users").is_some_and(|u| u.trim() == "*")
    };
    let rules: Vec<Node<'_, '_>> = children(node).filter(|n| n.tag_name().name() == "add").collect();
    if rules.iter().all(|n| open(*n)) && !rules.is_empty() {
        work.carried(node, "everybody may");
    } else if !rules.is_empty() || children(node).next().is_some() {
        close(work, node, "Samovar knows no users and roles of Windows");
    }
}

fn filtering(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    for section in children(node) {
        let place = work.place(section);
        match section.tag_name().name() {
            "requestLimits" => {
                if let Some(bytes) =
                    number(section, "maxAllowedContentLength").filter(|n| *n > 0 && *n < 1 << 45)
                {
                    work.draft.wanted.limits.set("body_max_bytes", Value::size(bytes), &place);
                    work.carried(section, format!("[limits] body_max_bytes = {bytes}, for all"));
                }
                if let Some(bytes) = number(section, "maxUrl").filter(|n| (256..1 << 20).contains(n)) {
                    work.draft.wanted.limits.set("line_max_bytes", Value::size(bytes), &place);
                    work.carried(section, format!("[limits] line_max_bytes = {bytes}, for all"));
                }
            }
            "hiddenSegments" => hidden_segments(work, section),
            "fileExtensions" => file_extensions(work, section),
            "denyUrlSequences" => {
                for entry in children(section).filter(|n| n.tag_name().name() == "add") {
                    // A piece of text as an expression that means itself.
                    let text = entry.attribute("sequence").unwrap_or("");
                    let quoted: String = text
                        .chars()
                        .flat_map(|c| (!c.is_ascii_alphanumeric()).then_some('\\').into_iter().chain([c]))
                        .collect();
                    let base = format!("/{}", work.path);
                    let inside = Wide::of(&quoted, true).below(base.trim_end_matches('/'));
                    let Some(inside) = inside.filter(|_| !text.is_empty()) else { continue };
                    let select = Select::path(below(&base, inside));
                    let place = work.place(entry);
                    work.site.scope(&select, &place).close(&place, "IIS refused this sequence");
                    work.carried(entry, "deny: nobody may, 403 where IIS said 404");
                }
            }
            "verbs" | "filteringRules" => {
                let refuses = switch(section, "allowUnlisted") == Some(false)
                    || children(section).any(|n| switch(n, "allowed") != Some(true));
                match refuses {
                    true => close(work, section, "it refused requests by their method or by what is in them"),
                    false => work.carried(section, "nothing is refused by it"),
                }
            }
            _ => work.left(section, "Samovar has no counterpart"),
        }
    }
}

/// Globs below a folder.
fn below(base: &str, inside: PathSet) -> PathSet {
    let head = spell::literal(base.trim_end_matches('/')).unwrap_or_default();
    match inside {
        PathSet::Globs(globs) => PathSet::Globs(globs.iter().map(|glob| format!("{head}{glob}")).collect()),
        _ => path_set(base.trim_matches('/')),
    }
}

fn hidden_segments(work: &mut Work<'_, '_, '_>, section: Node<'_, '_>) {
    for entry in children(section) {
        let name = entry.attribute("segment").unwrap_or("").trim().to_ascii_lowercase();
        match entry.tag_name().name() {
            "clear" if work.is_whole() => {
                work.hidden.segments.clear();
                work.carried(entry, "names that IIS hides by itself are not hidden");
            }
            "remove" if work.is_whole() => {
                work.hidden.segments.retain(|known| *known != name);
                work.carried(entry, "shown");
            }
            "add"
                if name.is_empty() || name.contains('/') || spell::literal(&format!("/{name}")).is_none() =>
            {
                close(work, entry, "it hid a name that cannot be written");
            }
            "add" if work.is_whole() => {
                work.hidden.segments.push(name);
                work.carried(entry, "deny: nobody may, 403 where IIS said 404");
            }
            "add" => {
                let base = format!("/{}", work.path);
                let select = Select::path(below(&base, segments(&[name])));
                let place = work.place(entry);
                work.site.scope(&select, &place).close(&place, "IIS hid this name");
                work.carried(entry, "deny: nobody may, 403 where IIS said 404");
            }
            _ => work.left(entry, "what is hidden in the whole site stays hidden here"),
        }
    }
}

/// Folders and files of these names, wherever they are.
fn segments(names: &[String]) -> PathSet {
    let literal =
        |name: &String| Some(spell::literal(&format!("/{name}"))?.trim_start_matches('/').to_owned());
    let all: Vec<String> = names.iter().filter_map(literal).collect();
    let glob = match all.as_slice() {
        [] => return PathSet::Globs(Vec::new()),
        [one] => format!("/**/{one}"),
        several => format!("/**/{{{}}}", several.join(",")),
    };
    PathSet::Globs(vec![glob.clone(), format!("{glob}/**")])
}

fn file_extensions(work: &mut Work<'_, '_, '_>, section: Node<'_, '_>) {
    if switch(section, "allowUnlisted") == Some(false) {
        close(work, section, "it refused all extensions that are not listed");
    }
    for entry in children(section) {
        let extension = entry.attribute("fileExtension").and_then(spell::extension);
        match (entry.tag_name().name(), extension, switch(entry, "allowed")) {
            ("clear", _, _) if work.is_whole() => {
                work.hidden.extensions.clear();
                work.carried(entry, "extensions that IIS refuses by itself are not refused");
            }
            ("remove", Some(extension), _) | ("add", Some(extension), Some(true)) if work.is_whole() => {
                work.hidden.extensions.retain(|known| *known != extension);
                work.carried(entry, "Samovar serves what nothing refuses");
            }
            ("add", _, Some(true)) => work.carried(entry, "Samovar serves what nothing refuses"),
            ("add", Some(extension), _) => {
                let select = Select { path: path_set(&work.path), extensions: vec![extension] };
                let place = work.place(entry);
                work.site.scope(&select, &place).set("deny", everybody(), &place);
                work.carried(entry, "deny: nobody may, 403 where IIS said 404");
            }
            ("add", None, _) => close(work, entry, "it refused an extension that cannot be written"),
            _ => work.left(entry, "what the whole site refuses stays refused here"),
        }
    }
}

/// What IIS refuses by itself: segments it hides, extensions it keeps back, and scripts that it would run, not show.
pub(crate) struct Hidden {
    pub(crate) segments: Vec<String>,
    pub(crate) extensions: Vec<String>,
}

impl Default for Hidden {
    fn default() -> Hidden {
        const SEGMENTS: &str = "web.config bin app_code app_globalresources app_localresources app_webreferences \
                                app_data app_browsers";
        const EXTENSIONS: &str = ".asa .asax .ascx .master .skin .browser .sitemap .config .cs .csproj .vb .vbproj \
                                  .webinfo .licx .resx .resources .mdb .vjsproj .java .jsl .ldb .dsdgm .ssdgm .lsad \
                                  .ssmap .cd .dsprototype .lsaprototype .sdm .sdmdocument .mdf .ldf .ad .dd .ldd .sd \
                                  .adprototype .lddprototype .exclude .refresh .compiled .msgx .vsdisco .rules .cshtm \
                                  .cshtml .vbhtm .vbhtml .razor .asp .aspx .ashx .asmx .axd .svc .rem .soap .xamlx .cer \
                                  .cdx .shtml .shtm .stm .php .phtml .dll";
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Hidden { segments: list(SEGMENTS), extensions: list(EXTENSIONS) }
    }
}

/// Closes what IIS refuses by itself, but for scripts that a handler runs.
pub(crate) fn settle(site: &mut Site, hidden: &Hidden, place: &Place) {
    let handled = site.head.get("handlers").map(Value::toml).unwrap_or_default();
    let runs = |extension: &String| handled.contains(&Value::text(extension).toml());
    let extensions: Vec<String> = hidden.extensions.iter().filter(|e| !runs(e)).cloned().collect();
    if !extensions.is_empty() {
        site.scope(&Select::extensions(extensions), place).hide(place, "IIS serves no such files");
    }
    if !hidden.segments.is_empty() {
        site.scope(&Select::path(segments(&hidden.segments)), place).hide(place, "IIS hides these names");
    }
}

/// `<authorization>` of ASP.NET: who is not denied may.
pub(crate) fn of_the_application(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let Some(authorization) = child(node, "authorization") else { return };
    if children(authorization).any(|n| n.tag_name().name() == "deny") {
        close(work, authorization, "the application let in some users only");
    }
}

pub(crate) fn http_redirect(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>) {
    let place = work.place(node);
    if switch(node, "enabled") != Some(true) {
        work.left(node, "it is off");
        return;
    }
    let status = match node.attribute("httpResponseStatus") {
        Some("Permanent") => 301,
        Some("Temporary") => 307,
        Some("PermRedirect") => 308,
        _ => 302,
    };
    let to = node.attribute("destination").unwrap_or("").trim();
    if to.is_empty() || to.contains(['$', '{', '}']) || spell::field_value(to).is_none() {
        work.left(
            node,
            "write `redirect = { to = \"…\", status = … }` into a rule: its variables are others",
        );
        return;
    }
    let exact = switch(node, "exactDestination") == Some(true);
    let base = if work.path.is_empty() { String::new() } else { format!("/{}", work.path) };
    if spell::literal(&format!("{base}/")).is_none() {
        work.left(node, "the path cannot be written as a glob");
        return;
    }
    let to = if exact { to.to_owned() } else { format!("{}/{{1}}", to.trim_end_matches('/')) };
    let redirect = Value::table([("to", Value::text(&to)), ("status", Value::Int(status))]);
    let select = Select::path(PathSet::Under(format!("{base}/")));
    let mut settings = Settings::default();
    settings.set("redirect", redirect, &place);
    work.site.scope(&select, &place).overlay(&settings);
    work.carried(node, format!("redirect to {to}, {status}"));
}
