//! What keeps people out: addresses, credentials, hidden names; and redirects.
//!
//! A guard that is not carried over would open what it kept closed. Where Samovar has no counterpart the paths are closed to
//! everybody, with a line that says so: safe until somebody decides.

use super::xml::{child, children, number, switch};
use super::{Work, path_set};
use crate::note::Fate;
use crate::spell;
use crate::wanted::{PathSet, Select, Settings, Value};
use roxmltree::Node;

/// Everybody.
fn everybody() -> Value {
    Value::texts(["0.0.0.0/0", "::/0"])
}

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
                    close(work, section, "TLS was asked for: see docs/tls.md, and take `deny` out");
                }
            }
            _ => work.left(section, "Samovar has nothing of this kind"),
        }
    }
}

/// Closes the layer's paths to everybody.
fn close(work: &mut Work<'_, '_, '_>, node: Node<'_, '_>, why: &str) {
    let place = work.place(node);
    let entry = work.here(node).set("deny", everybody(), &place);
    entry.remark = format!("FILL IN: closed to everybody. {why}");
    work.note(
        node,
        Fate::Unsafe,
        format!("these paths were protected and are closed to everybody here: {why}"),
    );
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
            (None, false) => {
                work.note(entry, Fate::Unsafe, "the address cannot be read, and is not kept out here")
            }
            (None, true) => work.left(entry, "the address cannot be read"),
        }
    }
    let [allow, mut deny] = lists;
    if switch(node, "allowUnlisted") == Some(false) {
        deny = vec!["0.0.0.0/0".to_owned(), "::/0".to_owned()];
        work.carried(node, "deny: all that allow does not name");
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
            "users of Windows are not known here: `basic_auth = { realm = \"…\", users = \"FILE\" }` asks those of a file"
        } else {
            "Samovar asks for no credentials of Windows"
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
        close(work, node, "users and roles of Windows are not known here");
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
            "hiddenSegments" => {
                for entry in children(section).filter(|n| n.tag_name().name() == "add") {
                    let name = entry.attribute("segment").unwrap_or("").trim();
                    let literal = spell::literal(&format!("/{name}"))
                        .filter(|_| !name.is_empty() && !name.contains('/'));
                    let Some(literal) = literal else {
                        work.note(entry, Fate::Unsafe, "the name cannot be spelt, and is not hidden here");
                        continue;
                    };
                    let bare = literal.trim_start_matches('/');
                    let globs = vec![format!("/**/{bare}"), format!("/**/{bare}/**")];
                    let place = work.place(entry);
                    let select = Select::path(PathSet::Globs(globs));
                    work.site.scope(&select, &place).set("deny", everybody(), &place);
                    work.carried(entry, "deny: nobody may, 403 where IIS said 404");
                }
            }
            "fileExtensions" => {
                if switch(section, "allowUnlisted") == Some(false) {
                    work.note(section, Fate::Unsafe, "extensions that are not listed are not kept back here");
                }
                for entry in children(section).filter(|n| n.tag_name().name() == "add") {
                    let extension = entry.attribute("fileExtension").and_then(spell::extension);
                    match (extension, switch(entry, "allowed")) {
                        (Some(extension), Some(false)) => {
                            let select = Select { path: path_set(&work.path), extensions: vec![extension] };
                            let place = work.place(entry);
                            work.site.scope(&select, &place).set("deny", everybody(), &place);
                            work.carried(entry, "deny: nobody may, 403 where IIS said 404");
                        }
                        (_, Some(true)) => work.carried(entry, "what is not kept back is served"),
                        _ => work.left(entry, "it cannot be read"),
                    }
                }
            }
            "verbs" => {
                work.note(section, Fate::Unsafe, "methods are not kept back here; the application sees them")
            }
            _ => work.left(section, "Samovar has nothing of this kind"),
        }
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
        work.left(node, "the path cannot be spelt");
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
