//! Every limit in force: its name in the configuration, its value, who says so, and how much of it is used.
//!
//! Not here: what happens to whoever reaches one.

use super::shapes::LimitShape;
use crate::config::{self, Budget, Settings};
use crate::front::about;
use crate::metrics::{CoreCounters, Counter};
use crate::state::Shared;
use std::time::Duration;

/// A limit's value: a number, and whether people read it as bytes or as time.
enum Value {
    Count(u64),
    Bytes(u64),
    Time(Duration),
    None,
}

impl Value {
    /// As people read it, and as a number if it is one.
    fn told(&self) -> (String, Option<u64>) {
        match *self {
            Value::Count(n) => (n.to_string(), Some(n)),
            Value::Bytes(n) => (about(n), Some(n)),
            Value::Time(t) => (config::show_duration(u64::try_from(t.as_millis()).unwrap_or(u64::MAX)), None),
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

/// All of them.
pub fn limits(app: &Shared) -> Vec<LimitShape> {
    let snapshot = app.snapshot();
    let settings = &snapshot.settings;
    let text = app.text();
    let file = app.file();
    let row = |table: &str, key: &str, value: Value, used: Option<u64>| {
        let line = config::line_of(&text, table, None, key);
        let (shown, number) = value.told();
        LimitShape {
            name: format!("{table}.{key}"),
            value: shown,
            number,
            used,
            from: whence(settings, &format!("{table}.{key}"), line, file.as_deref()),
        }
    };
    let l = &settings.limits;
    let bounded = |n: Option<u64>, value: fn(u64) -> Value| n.map_or(Value::None, value);
    let parts = memory_parts(app);
    let most = |pick: fn(&CoreCounters) -> &Counter| app.counters.iter().map(|core| pick(core).get()).max();
    let traces = parts.iter().find(|(name, _)| *name == "traces").map(|(_, bytes)| *bytes);
    // Of the address with most.
    let busiest = l.connections_per_address.map(|_| app.places.most_of_one() as u64);
    let mut rows = vec![
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
        row("limits", "stop_timeout", Value::Time(l.stop_timeout), None),
        row(
            "memory",
            "size",
            Value::Bytes(settings.memory.size_bytes),
            Some(parts.iter().map(|p| p.1).sum()),
        ),
        row("memory", "entry_max", Value::Bytes(settings.memory.entry_max_bytes), None),
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
        row("log", "traces", Value::Count(settings.log.traces as u64), Some(app.traces())),
        row("log", "traces_max_bytes", Value::Bytes(settings.traces_bytes() as u64), traces),
    ];
    for upstream in snapshot.upstreams() {
        let (name, limits, stats) =
            (&upstream.settings().name, &upstream.settings().limits, upstream.stats());
        let count = |n: usize| Value::Count(n as u64);
        for (key, value, used) in [
            ("max_connections", count(limits.max_connections), Some(stats.open)),
            ("queue_max", count(limits.queue_max), Some(stats.waiting)),
            ("queue_timeout", Value::Time(limits.queue_timeout), None),
            ("connect_timeout", Value::Time(limits.connect_timeout), None),
            ("head_timeout", Value::Time(limits.head_timeout), None),
            ("body_timeout", Value::Time(limits.body_timeout), None),
            ("abandon_after", Value::Time(limits.abandon_after), None),
            ("idle_timeout", Value::Time(limits.idle_timeout), None),
            ("head_max_bytes", Value::Bytes(limits.head_max_bytes as u64), None),
        ] {
            let line = config::line_of(&text, "upstream", Some(name), key);
            let full = format!("upstream.{name}.{key}");
            let (shown, number) = value.told();
            rows.push(LimitShape {
                value: shown,
                number,
                used: used.map(|n| n as u64),
                from: whence(settings, &full, line, file.as_deref()),
                name: full,
            });
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
