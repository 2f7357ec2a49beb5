//! Who may, and how much: `allow`, `deny`, `auth_basic`, `limit_req`, `limit_conn`.
//!
//! A guard with no counterpart closes its paths to everybody, with a line that says so: what nginx kept closed must not be
//! opened by an import.

use super::Conf;
use crate::note::Fate;
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Settings, Value, Wide};

/// Whether a directive is about who may.
pub(super) fn is_guard(d: &Directive) -> bool {
    match d.name.as_str() {
        "auth_basic" => d.arg(0) != "off",
        // Whoever may by default may.
        "allow" => d.arg(0) != "all",
        "deny" => true,
        "if" => is_condition(d),
        _ => foreign(d).is_some(),
    }
}

/// Guards with no counterpart, and what they asked.
fn foreign(d: &Directive) -> Option<&'static str> {
    let off = d.arg(0) == "off";
    Some(match d.name.as_str() {
        "auth_basic" | "auth_basic_user_file" => return None,
        "auth_request" if !off => "an application decided who may, and Samovar cannot ask it",
        "auth_jwt" if !off => "a token decided who may, and Samovar does not read tokens",
        "secure_link" | "secure_link_md5" | "secure_link_secret" => {
            "the link decided who may, and Samovar does not check links"
        }
        "internal" => "only nginx itself could ask for it",
        "limit_except" => "single methods were refused, and a rule holds for all methods",
        "ssl_verify_client" if d.arg(0) == "on" => {
            "clients had to show a certificate, and Samovar asks for none"
        }
        "valid_referers" => return None,
        name if name.starts_with("access_by_lua") || name == "js_access" => {
            "a script decided who may, and Samovar runs none"
        }
        // Digest, LDAP, PAM and others; those that only say how are told beside them.
        "auth_digest" | "auth_ldap" | "auth_pam" | "auth_gss" | "auth_spnego" | "auth_token"
        | "auth_radius"
            if !off =>
        {
            "it asks for a password in a way that Samovar does not; `basic_auth` asks for one of a file"
        }
        _ => return None,
    })
}

/// An `if` that keeps requests away. One that only sends to another scheme or host keeps nobody out.
pub(super) fn is_condition(d: &Directive) -> bool {
    const WHERE: [&str; 7] = [
        "$scheme",
        "$host",
        "$http_host",
        "$server_port",
        "$https",
        "$http_x_forwarded_proto",
        "$server_name",
    ];
    if d.name != "if" {
        return false;
    }
    let Asked { variable, operator, .. } = Asked::of(d);
    // A client that names itself is sent where it finds its way; nobody is kept out by what everybody can write.
    let by_name = variable == "$http_user_agent" && operator.starts_with('~');
    let elsewhere = by_name || WHERE.contains(&variable.as_str());
    d.inside().iter().any(|i| match i.name.as_str() {
        "return" => !(elsewhere && is_redirect(i)),
        "rewrite" => !elsewhere && i.args.iter().any(|a| a == "redirect" || a == "permanent"),
        "break" | "set" => false,
        _ => is_guard(i),
    })
}

/// `return` to another place.
fn is_redirect(d: &Directive) -> bool {
    d.name == "return" && (301..=308).contains(&d.arg(0).parse::<u16>().unwrap_or(302))
}

/// What an `if` asks: a variable, how it is compared, and with what.
struct Asked {
    variable: String,
    operator: String,
    value: String,
}

impl Asked {
    fn of(d: &Directive) -> Asked {
        let text = d.args.join(" ");
        let text = text.trim();
        let text = text.strip_prefix('(').unwrap_or(text);
        let text = text.strip_suffix(')').unwrap_or(text).trim();
        let (variable, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (operator, value) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
        Asked { variable: variable.to_owned(), operator: operator.to_owned(), value: value.trim().to_owned() }
    }
}

/// The paths that a condition over the path keeps away, at most; `None`: it may be any.
pub(super) fn condition_paths(d: &Directive) -> Option<PathSet> {
    let Asked { variable, operator, value } = Asked::of(d);
    let with_query = variable == "$request_uri";
    if !(with_query || variable == "$uri" || variable == "$document_uri") || value.contains("\\?") {
        return None;
    }
    let paths = match operator.as_str() {
        "=" if value.starts_with('/') && !value.contains('?') => PathSet::Exact(value),
        "~" | "~*" => Wide::of(&value, operator == "~*").paths(),
        _ => return None,
    };
    // What is refused for its query is refused whatever the path: only what begins so can be told by the path.
    let only_redirects = d.inside().iter().all(|i| is_redirect(i) || i.name == "break" || i.name == "set");
    let begins = |globs: &Vec<String>| {
        let head = |glob: &str| glob.strip_suffix("/**").unwrap_or(glob).trim_end_matches('*').to_owned();
        globs.iter().all(|glob| !head(glob).contains('*'))
    };
    match &paths {
        PathSet::All => None,
        PathSet::Globs(globs) if with_query && !only_redirects && !begins(globs) => None,
        _ => Some(paths),
    }
}

pub(super) fn settings(here: &[&Directive], out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let mut closed: Option<(&Directive, String)> = None;
    let (mut allow, mut deny): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut last = None;
    let mut mixed = false;
    let mut list = None;
    for &d in here {
        match d.name.as_str() {
            "allow" | "deny" => {
                list.get_or_insert(d);
                let allows = d.name == "allow";
                if last.is_some() {
                    conf.left(d, "nginx takes the first that fits, and `all` before it fits everybody");
                    continue;
                }
                match (d.arg(0), spell::network(d.arg(0))) {
                    ("all", _) => {
                        last = Some(allows);
                        conf.carried(d, if allows { "all others may" } else { "deny: all others" });
                    }
                    (_, Some(network)) => {
                        // nginx takes the first that fits; two lists cannot say which came first.
                        mixed |= allows && !deny.is_empty();
                        conf.carried(d, format!("{} {network}", d.name));
                        if allows { allow.push(network) } else { deny.push(network) }
                    }
                    _ if allows => conf.breaks(d, "this is no address: its clients are not let in by it"),
                    _ => closed = Some((d, "it denies an address that cannot be read".to_owned())),
                }
            }
            "auth_basic" if d.arg(0) == "off" => {
                conf.carried(d, "no password is asked for here");
            }
            "auth_basic" => {
                let file = here.iter().find(|f| f.name == "auth_basic_user_file");
                match file {
                    Some(file) if !file.arg(0).contains('$') && !file.arg(0).is_empty() => {
                        let realm = spell::field_value(d.arg(0)).filter(|t| !t.contains(['"', '\\', '$']));
                        let realm = realm.unwrap_or_else(|| "restricted".to_owned());
                        let auth = [("realm", Value::Text(realm)), ("users", Value::text(file.arg(0)))];
                        let entry = out.set("basic_auth", Value::table(auth), &d.place);
                        if !file.arg(0).starts_with('/') {
                            entry.remark =
                                "FILL-IN: write the whole path; nginx takes it from its own folder"
                                    .to_owned();
                        }
                        conf.carried(d, "basic_auth");
                        conf.carried(file, "basic_auth.users");
                    }
                    _ => {
                        closed = Some((
                            d,
                            "it asks for a password, and the file of users is not known: write `basic_auth`"
                                .to_owned(),
                        ))
                    }
                }
            }
            "if" if is_condition(d) && condition_paths(d).is_none() => {
                closed =
                    Some((d, "a condition refused some requests, and a rule cannot ask for it".to_owned()));
            }
            "ssl_verify_client" if d.arg(0).starts_with("optional") => {
                let text = "Samovar asks no client for a certificate: an application that is told of one must not rely on it";
                conf.note(d, Fate::Unsafe, text);
            }
            "limit_req" => rate(d, out, conf),
            "limit_conn" => connections(d, out, conf),
            _ => {}
        }
        if let Some(why) = foreign(d) {
            // Each is told of, also where one is enough.
            conf.note(d, Fate::Unsafe, format!("closed to everybody: {why}"));
            closed = Some((d, why.to_owned()));
        }
    }
    let any = here.iter().find(|d| d.name == "satisfy");
    if let Some(d) = any {
        if d.arg(0) == "any" && list.is_some() && out.get("basic_auth").is_some() {
            closed = Some((
                d,
                "an address or a password was enough; Samovar asks for both where both are written"
                    .to_owned(),
            ));
        } else {
            conf.carried(d, "allow, deny and basic_auth all hold, as here");
        }
    }
    if let (true, Some(d)) = (mixed, list) {
        closed = Some((d, "the order of allow and deny matters: Samovar has one list of each, and the narrower network decides".to_owned()));
    }
    if let Some((d, why)) = closed {
        conf.close(d, out, &why);
        return;
    }
    let Some(d) = list else { return };
    match last {
        Some(false) => {
            out.deny_others(&allow, &d.place).remark = "all that allow does not name".to_owned();
        }
        // Who is not named may; so only those that may not count.
        _ if !deny.is_empty() => {
            out.set("deny", Value::texts(deny), &d.place);
        }
        _ => {}
    }
}

/// The zone of a name: its directive.
fn zone<'c>(kind: &str, name: &str, conf: &'c Conf<'_, '_>) -> Option<&'c Directive> {
    let is_named = |d: &&Directive| {
        d.name == kind
            && d.args
                .iter()
                .filter_map(|a| a.strip_prefix("zone="))
                .any(|z| z.split(':').next() == Some(name))
    };
    conf.zones.iter().find(is_named)
}

/// The part of a request that a variable names: `header:NAME`, `cookie:NAME` or `query:NAME`.
pub(super) fn part_named(name: &str) -> Option<String> {
    match (name.strip_prefix("http_"), name.strip_prefix("cookie_"), name.strip_prefix("arg_")) {
        (Some(field), _, _) if spell::field_name(field).is_some() => {
            Some(format!("header:{}", field.replace('_', "-")))
        }
        (_, Some(cookie), _) if spell::field_name(cookie).is_some() => Some(format!("cookie:{cookie}")),
        (_, _, Some(query)) if spell::field_name(query).is_some() => Some(format!("query:{query}")),
        _ => None,
    }
}

/// Whom a zone tells apart.
fn by(key: &str) -> Option<String> {
    let name = key.strip_prefix('$')?;
    Some(match name {
        "binary_remote_addr" | "remote_addr" => "client".to_owned(),
        "server_name" | "host" | "server_port" => "all".to_owned(),
        _ => return part_named(name),
    })
}

fn rate(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let parameter = |name: &str| d.args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='));
    let found = parameter("zone").and_then(|name| zone("limit_req_zone", name, conf));
    let said = found.and_then(|zone| {
        let rate = zone.args.iter().find_map(|a| a.strip_prefix("rate="))?;
        let (number, per) = rate
            .strip_suffix("r/s")
            .map(|n| (n, 1_000))
            .or_else(|| Some((rate.strip_suffix("r/m")?, 60_000)))?;
        Some((number.parse::<u64>().ok().filter(|n| (1..=1_000_000).contains(n))?, per, by(zone.arg(0))?))
    });
    let Some((requests, per, by)) = said else {
        conf.note(d, Fate::Unsafe, "its zone is not known, or its key is one that `rate` cannot count by: no rate is limited here. Write `rate = { requests = …, per = \"…\" }`");
        return;
    };
    let burst = parameter("burst").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0).min(1_000_000);
    // nginx counts those beyond the first, and without a burst lets no two through at once.
    let pairs = vec![
        ("requests", Value::Int(requests)),
        ("per", Value::duration(per)),
        ("burst", Value::Int(burst + 1)),
        ("by", Value::Text(by)),
    ];
    if out.get("rate").is_some() {
        conf.note(
            d,
            Fate::Unsafe,
            "a rule has one rate, and an earlier one is written: this one does not hold",
        );
        return;
    }
    out.set("rate", Value::table(pairs), &d.place);
    conf.carried(d, "rate; a request too many gets 429 at once, and is not delayed");
}

fn connections(d: &Directive, out: &mut Settings, conf: &mut Conf<'_, '_>) {
    let key = zone("limit_conn_zone", d.arg(0), conf).map(|zone| zone.arg(0).to_owned());
    let number = d.arg(1).parse::<u64>().ok().filter(|n| (1..=1_000_000).contains(n));
    match (key.as_deref().and_then(by).as_deref(), number) {
        (Some("all"), Some(n)) => {
            out.set("limits", Value::table([("concurrent_max", Value::Int(n))]), &d.place);
            conf.carried(d, "limits: requests at once");
        }
        (Some("client"), Some(n)) => {
            conf.draft.wanted.limits.set("connections_per_address", Value::Int(n), &d.place);
            conf.carried(d, "[limits] connections_per_address, for all");
        }
        _ => conf.note(d, Fate::Unsafe, "its zone is not known, or its key is one that cannot be counted by: nothing is limited here. Write `limits = { concurrent_max = … }`"),
    }
}
