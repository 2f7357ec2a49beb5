//! The tables about the whole server: `[server]`, `[limits]`, `[memory]`, `[log]`, `[hot]`.

use super::{Around, absolute, section};
use crate::config::diag::{Code, Diagnostic, Notes};
use crate::config::keys;
use crate::config::memory::{Memory, budget};
use crate::config::net::{self, Listen, TrustedProxies};
use crate::config::settings::{
    AccessLog, Budget, ErrorDetail, HotBounds, LimitSettings, LogFormat, LogSettings, MemorySettings,
    ServerSettings,
};
use crate::config::tree::{Checked, Node, Value};
use samovar_rules::HotWish;
use std::time::Duration;

/// `[server]`, and the index documents where a site names none.
pub(super) fn server(root: &Checked, notes: &mut Notes) -> (ServerSettings, Option<Vec<String>>) {
    let table = section(root, "server", &keys::SERVER);
    let listen = listen(&table, notes);
    let index = table.get("default_index").map(|n| n.value.texts().into_iter().map(str::to_owned).collect());
    let settings = ServerSettings {
        listen,
        admin: admin(&table, notes),
        workers: table.amount("workers").and_then(|n| usize::try_from(n).ok()),
        error_detail: error_detail(&table, notes),
        trusted_proxies: trusted(&table, "trusted_proxies", notes),
        proxy_protocol: proxy_protocol(&table, notes),
    };
    (settings, index)
}

fn listen(table: &Checked, notes: &mut Notes) -> Vec<Listen> {
    let mut all: Vec<Listen> = Vec::new();
    for node in table.get("listen").map_or(&[][..], Node::list) {
        let Some(Ok(listen)) = node.text().map(net::parse_listen) else { continue };
        let any_port = matches!(&listen, Listen::Tcp(a) if a.port() == 0);
        if all.contains(&listen) && !any_port {
            let d =
                Diagnostic::error(Code::Duplicate, node.span.clone(), format!("{listen} is listed twice"));
            notes.push(d.hint("keep one"));
        }
        all.push(listen);
    }
    if let (Some(node), true) = (table.get("listen"), all.is_empty())
        && node.list().is_empty()
    {
        let d = Diagnostic::error(Code::BadValue, node.span.clone(), "the server would listen nowhere");
        notes.push(d.hint("name an address, or leave `listen` out"));
    }
    if !table.has("listen") {
        let default = table.declared("listen");
        all = default.iter().flat_map(|v| v.texts()).filter_map(|t| net::parse_listen(t).ok()).collect();
    }
    all
}

/// Beyond this machine the server demands a token at start (`admin::bind`); here somebody is told before.
fn admin(table: &Checked, notes: &mut Notes) -> Option<Listen> {
    let value = table.value("admin")?;
    let listen = match value.text()? {
        "off" => return None,
        text => net::parse_listen(text).ok()?,
    };
    let open = matches!(&listen, Listen::Tcp(a) if !a.ip().to_canonical().is_loopback());
    if let (true, Some(node)) = (open, table.get("admin")) {
        let message = format!("the admin interface can be reached from other machines on {listen}");
        let hint = "the server starts only with a token in SAMOVAR_ADMIN_TOKEN; safer is a loopback address and \
                    `ssh -L 9900:127.0.0.1:9900 HOST`";
        notes.push(Diagnostic::warning(Code::Exposure, node.span.clone(), message).hint(hint));
    }
    Some(listen)
}

fn error_detail(table: &Checked, notes: &mut Notes) -> ErrorDetail {
    match table.value("error_detail").as_ref().and_then(Value::text) {
        Some("always") => {
            let span = table.get("error_detail").map(|n| n.span.clone()).unwrap_or_default();
            let d = Diagnostic::warning(
                Code::Exposure,
                span,
                "error pages show paths and addresses of the inside to everybody",
            );
            notes.push(d.hint(
                "\"loopback\" shows them on this machine only; `samovar trace ID` shows them for any request",
            ));
            ErrorDetail::Always
        }
        Some("never") => ErrorDetail::Never,
        _ => ErrorDetail::Loopback,
    }
}

/// Whoever is listed here names the client of each connection.
fn proxy_protocol(table: &Checked, notes: &mut Notes) -> TrustedProxies {
    let trusted = trusted(table, "proxy_protocol", notes);
    let unix = |listen: &Listen| matches!(listen, Listen::Unix(_));
    let node = table.get("proxy_protocol").map_or(&[][..], Node::list).iter();
    if let Some(node) = node.clone().find(|node| node.text() == Some("unix"))
        && table.has("listen")
        && !table.get("listen").map_or(&[][..], Node::list).iter().any(|listen| {
            listen.text().and_then(|text| net::parse_listen(text).ok()).is_some_and(|listen| unix(&listen))
        })
    {
        let d = Diagnostic::warning(Code::NoEffect, node.span.clone(), "no listener is a unix socket");
        notes.push(d.hint("add one to `listen`, here or on the command line, or leave it out"));
    }
    trusted
}

fn trusted(table: &Checked, key: &str, notes: &mut Notes) -> TrustedProxies {
    let mut trusted = TrustedProxies::default();
    for node in table.get(key).map_or(&[][..], Node::list) {
        match node.text() {
            Some("unix") => trusted.unix = true,
            Some(text) => {
                let Ok(network) = net::parse_network(text) else { continue };
                if network.prefix == 0 {
                    let message = "every client may claim any address and scheme";
                    let d = Diagnostic::warning(Code::Exposure, node.span.clone(), message);
                    notes.push(d.hint("list the addresses of your own proxies only"));
                }
                trusted.networks.push(network);
            }
            None => {}
        }
    }
    trusted
}

/// `[limits]`.
pub(super) fn limits(root: &Checked) -> LimitSettings {
    let t = section(root, "limits", &keys::LIMITS);
    LimitSettings {
        line_max_bytes: t.count("line_max_bytes"),
        head_max_bytes: t.count("head_max_bytes"),
        fields_max: t.count("fields_max"),
        body_max_bytes: t.amount("body_max_bytes"),
        head_timeout: t.duration("head_timeout"),
        body_timeout: t.duration("body_timeout"),
        idle_timeout: t.duration("idle_timeout"),
        send_timeout: t.duration("send_timeout"),
        rate_min_bytes: t.amount("rate_min").unwrap_or(0),
        learned_hosts: t.count("learned_hosts"),
        connections_max: t.count("connections_max"),
        connections_per_address: t.amount("connections_per_address"),
        requests_per_connection: t.amount("requests_per_connection"),
        connection_lifetime: t.amount("connection_lifetime").map(Duration::from_millis),
        upgraded_idle_timeout: t.amount("upgraded_idle_timeout").map(Duration::from_millis),
        stop_timeout: t.duration("stop_timeout"),
        stop_grace: t.duration("stop_grace"),
    }
}

/// `[memory]`.
pub(super) fn memory(root: &Checked, there: Memory, notes: &mut Notes) -> MemorySettings {
    let table = section(root, "memory", &keys::MEMORY);
    let (size_bytes, from) = match table.value("size") {
        Some(Value::Bytes(n)) => (n, Budget::Written),
        Some(Value::Percent(p)) => budget(p, there),
        _ => budget(25, there),
    };
    let entry_max_bytes = table.amount("entry_max").unwrap_or(size_bytes / 8);
    if let (true, Some(node)) = (entry_max_bytes > size_bytes, table.get("entry_max")) {
        let message = "one answer could be larger than the whole memory tier";
        let mut d = Diagnostic::error(Code::Contradiction, node.span.clone(), message)
            .hint("lower `entry_max` or raise `size`");
        if let Some(size) = table.get("size") {
            d = d.also(size.span.clone(), "the whole");
        }
        notes.push(d);
    }
    let entry_max_follows = table.amount("entry_max").is_none();
    MemorySettings { size_bytes, from, entry_max_bytes, entry_max_follows }
}

/// `[log]`.
pub(super) fn log(root: &Checked, around: &Around) -> LogSettings {
    let table = section(root, "log", &keys::LOG);
    let access = match table.value("access") {
        Some(Value::Word("off")) => AccessLog::Off,
        Some(Value::Text(path)) => AccessLog::File(absolute(&around.base, &path)),
        _ => AccessLog::Stderr,
    };
    let json = table.value("format").as_ref().and_then(Value::text) == Some("json");
    LogSettings {
        access,
        format: if json { LogFormat::Json } else { LogFormat::Combined },
        traces: table.count("traces"),
        slow_us: u64::try_from(table.duration("slow").as_micros()).unwrap_or(u64::MAX),
        traces_max_bytes: table.count("traces_max_bytes"),
    }
}

/// `[hot]`.
pub(super) fn hot(root: &Checked) -> HotWish {
    hot_from(&section(root, "hot", &keys::HOT), HotWish::default())
}

/// How much a core prepares at most.
pub(super) fn hot_bounds(root: &Checked) -> HotBounds {
    let table = section(root, "hot", &keys::HOT);
    HotBounds {
        entries_max: table.count("entries_max"),
        heads_max_bytes: table.amount("heads_max").unwrap_or(u64::MAX),
    }
}

/// Hot settings with what a table says changed; it may be `[hot]` or a rule's own.
pub(super) fn hot_from(table: &Checked, base: HotWish) -> HotWish {
    let amount = |name: &str, base: u64| table.amount(name).unwrap_or(base);
    HotWish {
        enabled: table.bool("enabled").unwrap_or(true),
        threshold: u32::try_from(amount("threshold", base.threshold.into())).unwrap_or(u32::MAX),
        period_ms: amount("period", base.period_ms),
        max_bytes: amount("max_bytes", base.max_bytes),
        idle_ms: amount("idle", base.idle_ms),
    }
}

impl Checked {
    /// A number, a duration in ms or a size in bytes; what is declared where nothing is written.
    pub(super) fn amount(&self, name: &str) -> Option<u64> {
        self.value(name).as_ref().and_then(Value::amount)
    }

    /// The same for what is counted; every such key has a default.
    pub(super) fn count(&self, name: &str) -> usize {
        let amount = self.amount(name);
        debug_assert!(amount.is_some(), "{name} has no default");
        usize::try_from(amount.unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// A number that may be broken; every such key has a default.
    pub(super) fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Number(n)) => n,
            Some(Value::Int(n)) => n as f64,
            other => {
                debug_assert!(other.is_none() || other == Some(Value::Invalid), "{name} is no number");
                0.0
            }
        }
    }

    /// A duration; every such key has a default.
    pub(super) fn duration(&self, name: &str) -> Duration {
        let amount = self.amount(name);
        debug_assert!(amount.is_some(), "{name} has no default");
        Duration::from_millis(amount.unwrap_or(0))
    }

    /// `true` or `false`.
    pub(super) fn bool(&self, name: &str) -> Option<bool> {
        self.value(name).as_ref().and_then(Value::bool)
    }
}
