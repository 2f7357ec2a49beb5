//! How the members of an upstream share its work: the tables `members`, `sticky`, `retry`, `eject`, `probe`, and `limits` of
//! sites and rules.

use super::Work;
use super::section;
use crate::config::diag::{Code, Diagnostic};
use crate::config::format::statuses;
use crate::config::keys::{EJECT, RETRY};
use crate::config::settings::TargetSettings;
use crate::config::tree::{Checked, Node, Span};
use crate::config::upstreams::{GateSettings, HashBy, ProbeSettings};
use samovar_balance::{Admin, Eject, Failures, Member, Method, Probe, Retries, Settings, Sticky};
use samovar_origin::UpstreamLimits;

/// A member as it was written.
pub(super) struct Named<'a> {
    pub(super) table: Option<&'a Checked>,
    /// What it is called if nobody names it.
    pub(super) shown: &'a str,
    pub(super) span: &'a Span,
}

/// What came out.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) hash_by: HashBy,
    pub(super) sticky: Option<Sticky>,
    pub(super) probe: Option<ProbeSettings>,
}

pub(super) fn balance(
    table: &Checked,
    named: &[Named<'_>],
    limits: &UpstreamLimits,
    work: &mut Work<'_>,
) -> Option<Shared> {
    let sticky = table.get("sticky").and_then(Node::table).and_then(|sticky| stickiness(sticky, work));
    let members = members(named, limits, sticky.is_some(), work)?;
    let word = table.value("balance").and_then(|v| v.text().map(str::to_owned));
    let method = Method::WORDS.iter().find(|(w, _)| Some(*w) == word.as_deref()).map(|(_, m)| *m);
    let method = method.unwrap_or(Method::Requests);
    let hash_by = table.get("hash_by");
    if let (Some(node), false) = (hash_by, method == Method::Hash) {
        work.warning(
            Code::NoEffect,
            &node.span,
            "`hash_by` is for `balance = \"hash\"`",
            "add that, or leave it out",
        );
    }
    let hash_by = hash_by.and_then(Node::text).and_then(|t| HashBy::parse(t).ok()).unwrap_or(HashBy::Url);
    let probe_table = table.get("probe").and_then(Node::table);
    let probe = probe_table.and_then(probe);
    let count = |table: &Checked, key| u32::try_from(table.count(key)).unwrap_or(u32::MAX);
    let settings = Settings {
        method,
        slow_start_ms: ms(table, "slow_start"),
        eject: eject(&section(table, "eject", &EJECT)),
        probe: probe_table.map(|p| Probe { rise: count(p, "rise"), fall: count(p, "fall") }),
        retries: retries(&section(table, "retry", &RETRY)),
        members,
    };
    if settings.members.len() == 1 {
        alone(table, work);
    }
    Some(Shared { settings, hash_by, sticky, probe })
}

/// What has no effect where there is one member only.
fn alone(table: &Checked, work: &mut Work<'_>) {
    for key in ["balance", "sticky", "retry", "eject", "slow_start"] {
        if let Some(node) = table.get(key) {
            let message = format!("`{key}` does nothing where there is only one member");
            work.warning(Code::NoEffect, &node.span, message, "add members, or leave it out");
        }
    }
}

fn members(
    named: &[Named<'_>],
    limits: &UpstreamLimits,
    sticky: bool,
    work: &mut Work<'_>,
) -> Option<Vec<Member>> {
    let mut all: Vec<Member> = Vec::new();
    let mut right = true;
    for (at, one) in named.iter().enumerate() {
        let text = |key: &str| one.table.and_then(|t| t.get(key)).and_then(Node::text);
        let amount = |key: &str| one.table.and_then(|t| t.value(key)).and_then(|v| v.amount());
        let small = |key: &str, or: u32| amount(key).and_then(|n| u32::try_from(n).ok()).unwrap_or(or);
        let route = match (text("route"), sticky) {
            (Some(route), _) => route.to_owned(),
            (None, true) => format!("m{}", at + 1),
            (None, false) => String::new(),
        };
        let name = text("name").unwrap_or(one.shown).to_owned();
        let twice = |what: &str, value: &str| {
            let message = format!("two members have the {what} \"{value}\"");
            Diagnostic::error(Code::Duplicate, one.span.clone(), message).hint("give one of them another")
        };
        if let Some(first) = all.iter().position(|m| m.name == name) {
            let note = twice("name", &name);
            work.notes.push(match named.get(first) {
                Some(first) => note.also(first.span.clone(), "the first"),
                None => note,
            });
            right = false;
        }
        if !route.is_empty() && all.iter().any(|m| m.route == route) {
            work.notes.push(twice("route", &route));
            right = false;
        }
        let admin = text("state").and_then(|word| Admin::WORDS.iter().find(|(w, _)| *w == word));
        let own = amount("max_connections").and_then(|n| usize::try_from(n).ok());
        if let (Some(node), false) = (one.table.and_then(|t| t.get("route")), sticky) {
            work.warning(
                Code::NoEffect,
                &node.span,
                "`route` is for sessions",
                "add `sticky` to the upstream",
            );
        }
        all.push(Member {
            name,
            weight: small("weight", 1),
            route,
            set: small("set", 0),
            standby: one.table.and_then(|t| t.bool("standby")).unwrap_or(false),
            admin: admin.map_or(Admin::Enabled, |(_, admin)| *admin),
            busy_max: own.unwrap_or(limits.max_connections),
        });
    }
    right.then_some(all)
}

fn stickiness(table: &Checked, work: &mut Work<'_>) -> Option<Sticky> {
    let text = |key: &str| table.get(key).and_then(Node::text).unwrap_or_default().to_owned();
    let (cookie, query) = (text("cookie"), text("query"));
    if !table.has("cookie") && !table.has("query") {
        let hint = "name the cookie or the variable: `sticky = { cookie = \"ROUTEID\", set = true }`";
        work.error(Code::MissingKey, &table.span, "sessions have to be named by something", hint);
        return None;
    }
    let set = table.bool("set").unwrap_or(false);
    if set && !table.has("cookie") {
        let hint = "add `cookie`";
        work.error(Code::MissingKey, &table.span, "there is no cookie that could be set", hint);
        return None;
    }
    let declared = |key: &str| table.value(key).and_then(|v| v.text().map(str::to_owned));
    Some(Sticky {
        cookie,
        query,
        set,
        path: declared("path").unwrap_or_else(|| "/".to_owned()),
        separator: declared("separator").and_then(|s| s.chars().next()).unwrap_or('.'),
    })
}

fn retries(table: &Checked) -> Retries {
    let mut on = Failures { connect: false, reset: false, timeout: false, status: Vec::new() };
    let words = table.value("on");
    for word in words.as_ref().map(|v| v.texts()).unwrap_or_default() {
        match word {
            "connect" => on.connect = true,
            "reset" => on.reset = true,
            "timeout" => on.timeout = true,
            other => on.status.extend(statuses(other).map(|(first, _)| first)),
        }
    }
    let tries = u32::try_from(table.count("tries")).unwrap_or(u32::MAX);
    Retries { tries, budget: table.number("budget"), on }
}

fn eject(table: &Checked) -> Eject {
    Eject {
        after: u32::try_from(table.count("after")).unwrap_or(u32::MAX),
        for_ms: ms(table, "for"),
        max_part: table.number("max_part"),
    }
}

fn probe(table: &Checked) -> Option<ProbeSettings> {
    let words = table.value("status");
    let listed = words.as_ref().map(|v| v.texts()).unwrap_or_default();
    Some(ProbeSettings {
        path: table.get("path")?.text()?.to_owned(),
        host: table.get("host").and_then(Node::text).map(str::to_ascii_lowercase),
        interval: table.duration("interval"),
        timeout: table.duration("timeout"),
        statuses: listed.into_iter().filter_map(statuses).collect(),
    })
}

/// The cookies that are ours, of the targets of a site: they say nothing of what is answered.
pub(super) fn own_cookies<'a>(targets: impl Iterator<Item = &'a TargetSettings>) -> Vec<String> {
    let sticky = targets.filter_map(|target| match target {
        TargetSettings::Files(_) => None,
        TargetSettings::Http(upstream) => upstream.sticky.as_ref(),
        TargetSettings::FastCgi(app) => app.upstream.sticky.as_ref(),
    });
    sticky.filter(|s| s.set).map(|s| s.cookie.clone()).collect()
}

/// `limits` of a site or a rule.
pub(super) fn gate(table: &Checked, site: &str, rule: Option<&str>, work: &mut Work<'_>) {
    let Some(limits) = table.get("limits").and_then(Node::table) else { return };
    let Some(concurrent_max) = limits.amount("concurrent_max").and_then(|n| usize::try_from(n).ok()) else {
        return;
    };
    work.gates.push(GateSettings {
        site: site.to_owned(),
        rule: rule.map(str::to_owned),
        concurrent_max,
        queue_max: limits.count("queue_max"),
        queue_timeout: limits.duration("queue_timeout"),
    });
}

fn ms(table: &Checked, key: &str) -> u64 {
    u64::try_from(table.duration(key).as_millis()).unwrap_or(u64::MAX)
}
