//! Every limit in force: its name in the configuration, its value, who says so, and how much of it is used.
//!
//! Not here: what happens to whoever reaches one.

mod fpm;
mod system;

use super::shapes::LimitShape;
use crate::config::{self, Budget, Settings};
use crate::front::{about, heads_max_bytes};
use crate::metrics::{CoreCounters, Counter};
use crate::state::{PER_CLIENT, Shared, WAIT_MAX, WAITING_PER_SITE};
use crate::upstream::Upstream;
use samovar_reason::{Gate, Reject};
use samovar_rules::HotWish;
use std::time::Duration;

/// A limit's value: a number, and whether people read it as bytes or as time.
#[derive(PartialEq)]
enum Value {
    Count(u64),
    Bytes(u64),
    Time(Duration),
    Percent(u8),
    None,
}

/// How much of a limit is used, and what that means.
#[derive(Clone, Copy, Default)]
struct Use {
    used: Option<u64>,
    refused: Option<u64>,
    binds: bool,
}

impl Use {
    fn of(used: Option<u64>) -> Use {
        Use { used, ..Use::default() }
    }

    /// Of a number of places: all taken means that it binds.
    fn places(taken: u64, of: u64, refused: Option<u64>) -> Use {
        Use { used: Some(taken), refused, binds: taken >= of }
    }
}

impl Value {
    /// As people read it, and as a number if it is one.
    fn told(&self) -> (String, Option<u64>) {
        match *self {
            Value::Count(n) => (n.to_string(), Some(n)),
            Value::Bytes(n) => (about(n), Some(n)),
            Value::Time(t) => (config::show_duration(u64::try_from(t.as_millis()).unwrap_or(u64::MAX)), None),
            Value::Percent(n) => (format!("{n} %"), Some(u64::from(n))),
            Value::None => ("unlimited".to_owned(), None),
        }
    }
}

/// Connections of clients that are open.
pub fn connections(app: &Shared) -> u64 {
    app.places.taken() as u64
}

/// The parts of the memory that is bounded, and what each holds.
pub fn memory_parts(app: &Shared) -> [(&'static str, u64); 4] {
    let stats = app.cache.stats();
    [
        ("answers", stats.used_bytes - stats.hot_bytes.min(stats.used_bytes)),
        ("hot", stats.hot_bytes),
        ("connections", app.counters.iter().map(|core| core.connections_bytes.get()).sum()),
        ("traces", app.traces_bytes()),
    ]
}

/// All of them: ours, the system's, and those of php-fpm where its status page is named.
pub async fn limits(app: &Shared) -> Vec<LimitShape> {
    let mut rows = own(app);
    rows.extend(system::limits(app));
    rows.extend(fpm::limits(app).await);
    rows
}

fn shape(name: String, value: &Value, of: Use, from: String) -> LimitShape {
    let (shown, number) = value.told();
    LimitShape {
        name,
        value: shown,
        number,
        used: of.used,
        refused: of.refused,
        binds: of.binds && of.used.is_some(),
        from,
    }
}

fn own(app: &Shared) -> Vec<LimitShape> {
    let snapshot = app.snapshot();
    let settings = &snapshot.settings;
    let text = app.text();
    let file = app.file();
    let row = |table: &str, key: &str, value: Value, used: Option<u64>| {
        let line = config::line_of(&text, table, None, key);
        let name = format!("{table}.{key}");
        let from = whence(settings, &name, line, file.as_deref());
        shape(name, &value, Use::of(used), from)
    };
    let l = &settings.limits;
    let bounded = |n: Option<u64>, value: fn(u64) -> Value| n.map_or(Value::None, value);
    let parts = memory_parts(app);
    let most = |pick: fn(&CoreCounters) -> &Counter| app.counters.iter().map(|core| pick(core).get()).max();
    let traces = parts.iter().find(|(name, _)| *name == "traces").map(|(_, bytes)| *bytes);
    // Of the address with most.
    let busiest = l.connections_per_address.map(|_| app.places.most_of_one() as u64);
    let mut rows = vec![
        row(
            "limits",
            "learned_hosts",
            Value::Count(l.learned_hosts as u64),
            Some(app.learned_hosts().count() as u64),
        ),
        row("limits", "connections_max", Value::Count(l.connections_max as u64), Some(connections(app))),
        row("limits", "connections_per_address", bounded(l.connections_per_address, Value::Count), busiest),
        row("limits", "line_max_bytes", Value::Bytes(l.line_max_bytes as u64), None),
        row("limits", "head_max_bytes", Value::Bytes(l.head_max_bytes as u64), None),
        row("limits", "fields_max", Value::Count(l.fields_max as u64), None),
        row("limits", "body_max_bytes", bounded(l.body_max_bytes, Value::Bytes), None),
        row("limits", "head_timeout", Value::Time(l.head_timeout), None),
        row("limits", "body_timeout", Value::Time(l.body_timeout), None),
        row("limits", "idle_timeout", Value::Time(l.idle_timeout), None),
        row("limits", "send_timeout", Value::Time(l.send_timeout), None),
        row("limits", "rate_min", Value::Bytes(l.rate_min_bytes), None),
        row("limits", "requests_per_connection", bounded(l.requests_per_connection, Value::Count), None),
        row("limits", "connection_lifetime", l.connection_lifetime.map_or(Value::None, Value::Time), None),
        row(
            "limits",
            "upgraded_idle_timeout",
            l.upgraded_idle_timeout.map_or(Value::None, Value::Time),
            None,
        ),
        row("limits", "stop_timeout", Value::Time(l.stop_timeout), None),
        row("limits", "stop_grace", Value::Time(l.stop_grace), None),
        row(
            "memory",
            "size",
            Value::Bytes(settings.memory.size_bytes),
            Some(parts.iter().map(|p| p.1).sum()),
        ),
        row(
            "memory",
            "heads_max",
            Value::Bytes(heads_max_bytes(settings)),
            Some(app.counters.iter().map(|core| core.heads_bytes.get()).sum()),
        ),
        row("memory", "entry_max", Value::Bytes(settings.memory.entry_max_bytes), None),
        row("hot", "threshold", Value::Count(settings.hot.threshold.into()), None),
        row("hot", "period", Value::Time(Duration::from_millis(settings.hot.period_ms)), None),
        row("hot", "max_bytes", Value::Bytes(settings.hot.max_bytes), None),
        // Of the core with most.
        row(
            "hot",
            "entries_max",
            Value::Count(settings.hot_bounds.entries_max as u64),
            most(|c| &c.hot_entries),
        ),
        row(
            "hot",
            "heads_max",
            Value::Bytes(settings.hot_bounds.heads_max_bytes),
            most(|c| &c.hot_heads_bytes),
        ),
        row("hot", "idle", Value::Time(Duration::from_millis(settings.hot.idle_ms)), None),
        // Of the core with most.
        row(
            "compression",
            "streams_max",
            Value::Count(settings.compression.streams_max),
            most(|c| &c.coding_streams),
        ),
        row(
            "compression",
            "yield_at",
            Value::Percent(settings.compression.yield_at_percent),
            most(|c| &c.busy_percent),
        ),
        row("log", "traces", Value::Count(settings.log.traces as u64), Some(app.traces())),
        row("log", "traces_max_bytes", Value::Bytes(settings.traces_bytes() as u64), traces),
        row("log", "slow", Value::Time(Duration::from_micros(settings.log.slow_us)), None),
    ];
    rows.extend(sign_in(app));
    let refused = |why: Reject| Some(app.counters.iter().map(|core| core.by_reject.get(why)).sum());
    for (row, why) in rows.iter_mut().zip([Reject::TooManyConnections, Reject::TooManyFromAddress]) {
        (row.refused, row.binds) = (refused(why), row.number.is_some_and(|n| row.used >= Some(n)));
    }
    if let Some(row) = rows.iter_mut().find(|row| row.name == "memory.heads_max") {
        row.refused = refused(Reject::HeadGaveWay).zip(refused(Reject::HeadsFull)).map(|(a, b)| a + b);
        row.binds = row.used.zip(row.number).is_some_and(|(used, max)| used >= max);
    }
    for named in snapshot.gates().all() {
        let (g, stats) = (&named.settings, named.gate.stats());
        let line = config::line_of_rule(&text, &g.site, g.rule.as_deref(), "limits");
        let counts = [
            ("concurrent_max", stats.max, stats.busy, stats.full + stats.late),
            ("queue_max", g.queue_max, stats.waiting, stats.full),
        ];
        for (key, max, used, refused) in counts {
            let name = format!("{}.limits.{key}", named.shown());
            let binds = Use::places(used as u64, max as u64, Some(refused));
            // Nobody is held up by a queue that nobody needs.
            let of = Use { binds: binds.binds && stats.busy >= stats.max, ..binds };
            let from = whence(settings, &name, line, file.as_deref());
            rows.push(shape(name, &Value::Count(max as u64), of, from));
        }
        let name = format!("{}.limits.queue_timeout", named.shown());
        let of = Use { refused: Some(stats.late), ..Use::default() };
        let from = whence(settings, &name, line, file.as_deref());
        rows.push(shape(name, &Value::Time(g.queue_timeout), of, from));
    }
    if !settings.hot.enabled {
        rows.push(LimitShape { value: "off".to_owned(), ..row("hot", "enabled", Value::None, None) });
    }
    rows.extend(hot_of_rules(settings, &text, file.as_deref()));
    rows.extend(rates(&snapshot.settings, &text, file.as_deref()));
    for upstream in snapshot.upstreams() {
        rows.extend(of_upstream(upstream, settings, &text, file.as_deref()));
    }
    rows
}

/// What rules and sites say of the hot tier otherwise than `[hot]`.
fn hot_of_rules(settings: &Settings, text: &str, file: Option<&str>) -> Vec<LimitShape> {
    let values = |hot: &HotWish| {
        [
            ("threshold", Value::Count(hot.threshold.into())),
            ("period", Value::Time(Duration::from_millis(hot.period_ms))),
            ("max_bytes", Value::Bytes(hot.max_bytes)),
        ]
    };
    let mut rows = Vec::new();
    for site in &settings.sites.sites {
        let own = (None, &settings.hot, &site.otherwise.hot);
        let of_rules = site.rules.iter().map(|rule| (Some(&*rule.id), &site.otherwise.hot, &rule.hot));
        for (rule, around, hot) in std::iter::once(own).chain(of_rules) {
            let place = match rule {
                None => format!("site.{}.hot", site.name),
                Some(rule) => format!("site.{}.rule.{rule}.hot", site.name),
            };
            let line = config::line_of_rule(text, &site.name, rule, "hot");
            let from = |name: &str| whence(settings, name, line, file);
            if !hot.enabled {
                if around.enabled {
                    let from = from(&place);
                    rows.push(LimitShape {
                        value: "off".to_owned(),
                        ..shape(place, &Value::None, Use::default(), from)
                    });
                }
                continue;
            }
            for ((key, value), (_, other)) in values(hot).into_iter().zip(values(around)) {
                let name = format!("{place}.{key}");
                if value != other {
                    let from = from(&name);
                    rows.push(shape(name, &value, Use::default(), from));
                }
            }
        }
    }
    rows
}

/// How many passwords are checked at once, and how many wait. Those that are remembered are not checked again.
fn sign_in(app: &Shared) -> Vec<LimitShape> {
    let now = app.gates.doorkeeper.sign_ins();
    let refused = app.counters.iter().map(|core| core.by_gate.get(Gate::AuthBusy)).sum();
    let (helpers, most) = (now.helpers as u64, WAITING_PER_SITE as u64);
    let rows = [
        ("checks_max", Value::Count(helpers), Use::places(now.running as u64, helpers, None)),
        // Of the site where most wait.
        ("queue_max", Value::Count(most), Use::places(now.waiting as u64, most, Some(refused))),
        ("per_client_max", Value::Count(PER_CLIENT as u64), Use::default()),
        ("queue_timeout", Value::Time(WAIT_MAX), Use::default()),
    ];
    let shown = |(key, value, of)| {
        let whence = if key == "queue_max" { "built in, for each site" } else { "built in" };
        shape(format!("sign_in.{key}"), &value, of, whence.to_owned())
    };
    rows.into_iter().map(shown).collect()
}

/// How often one may ask. Each is counted by itself, so nobody can say how near they are in all; the answers with
/// `rate-limited` in the metrics are those who came too often.
fn rates(settings: &Settings, text: &str, file: Option<&str>) -> Vec<LimitShape> {
    let mut rows = Vec::new();
    for site in &settings.sites.sites {
        let own = site.otherwise.acts.as_ref().and_then(|acts| acts.rate.as_ref());
        let of_rules =
            site.rules.iter().filter_map(|rule| Some((Some(&*rule.id), rule.acts.as_ref()?.rate.as_ref()?)));
        let all = own.map(|rate| (None, rate)).into_iter().chain(of_rules.filter(|(_, rate)| !rate.of_site));
        for (rule, rate) in all {
            let name = match rule {
                None => format!("site.{}.rate", site.name),
                Some(rule) => format!("site.{}.rule.{rule}.rate", site.name),
            };
            let line = config::line_of_rule(text, &site.name, rule, "rate");
            let from = whence(settings, &name, line, file);
            let per = config::show_duration(rate.per_ms);
            let value = format!("{} per {per}, by {}", rate.requests, rate.by);
            rows.push(LimitShape { value, ..shape(name, &Value::None, Use::default(), from) });
        }
    }
    rows
}

fn of_upstream(upstream: &Upstream, settings: &Settings, text: &str, file: Option<&str>) -> Vec<LimitShape> {
    let (name, limits, stats) = (&upstream.settings().name, &upstream.settings().limits, upstream.stats());
    let count = |n: usize| Value::Count(n as u64);
    let full = stats.busy >= limits.max_connections;
    // A connection that lies idle is in nobody's way.
    let connections = Use { used: Some(stats.busy as u64), refused: Some(stats.refused), binds: full };
    let queue = Use {
        used: Some(stats.waiting as u64),
        refused: None,
        binds: full && stats.waiting >= limits.queue_max,
    };
    let mut rows = Vec::new();
    for (key, value, of) in [
        ("max_connections", count(limits.max_connections), connections),
        ("queue_max", count(limits.queue_max), queue),
        ("queue_timeout", Value::Time(limits.queue_timeout), Use::default()),
        ("connect_timeout", Value::Time(limits.connect_timeout), Use::default()),
        ("head_timeout", Value::Time(limits.head_timeout), Use::default()),
        ("body_timeout", Value::Time(limits.body_timeout), Use::default()),
        ("abandon_after", Value::Time(limits.abandon_after), Use::default()),
        ("idle_timeout", Value::Time(limits.idle_timeout), Use::default()),
        ("head_max_bytes", Value::Bytes(limits.head_max_bytes as u64), Use::default()),
    ] {
        let line = config::line_of(text, "upstream", Some(name), key);
        let named = format!("upstream.{name}.{key}");
        let from = whence(settings, &named, line, file);
        rows.push(shape(named, &value, of, from));
    }
    if let Some(now) = upstream.upgraded() {
        let named = format!("upstream.{name}.upgraded_max");
        let line = config::line_of(text, "upstream", Some(name), "upgraded_max");
        let each = limits.upgraded_max;
        let all = each.saturating_mul(upstream.settings().places.len());
        let from = match all == each {
            true => whence(settings, &named, line, file),
            false => format!("{}, {each} on each member", whence(settings, &named, line, file)),
        };
        rows.push(shape(named, &count(all), Use::places(now as u64, all as u64, None), from));
    }
    let members = upstream.view().members;
    if members.len() > 1 {
        for (at, member) in members.into_iter().enumerate() {
            let (max, busy) = (member.view.member.busy_max, member.view.busy);
            let named = format!("upstream.{name}.{}.max_connections", member.view.member.name);
            let from = match config::line_of_member(text, name, at, "max_connections") {
                None => "as the upstream's".to_owned(),
                line => whence(settings, &named, line, file),
            };
            rows.push(shape(named, &count(max), Use::places(busy as u64, max as u64, None), from));
        }
    }
    rows
}

/// Who says so.
fn whence(settings: &Settings, name: &str, line: Option<usize>, file: Option<&str>) -> String {
    let share = match settings.memory.from {
        Budget::Machine { percent, of_bytes } => {
            format!("{percent} % of the machine's {}", about(of_bytes))
        }
        Budget::ControlGroup { percent, of_bytes } => {
            format!("{percent} % of the control group's {}", about(of_bytes))
        }
        Budget::Guessed => "the machine's memory could not be found out".to_owned(),
        Budget::Written => String::new(),
        // Whatever a file says beside it.
        Budget::CommandLine if name == "memory.size" => return "command line".to_owned(),
        Budget::CommandLine => String::new(),
    };
    let derived = match name {
        "memory.size" if !share.is_empty() => Some(share),
        "log.traces_max_bytes" if settings.traces_bytes() < settings.log.traces_max_bytes => {
            Some("an eighth of memory.size at most".to_owned())
        }
        "memory.heads_max" => Some("an eighth of memory.size".to_owned()),
        "memory.entry_max" if line.is_none() => Some("an eighth of memory.size".to_owned()),
        _ => None,
    };
    let place = line.and_then(|line| file.map(|file| format!("{file}:{line}")));
    match (place, derived) {
        (Some(place), Some(derived)) => format!("{place}, {derived}"),
        (Some(place), None) => place,
        (None, Some(derived)) => derived,
        (None, None) => "default".to_owned(),
    }
}
