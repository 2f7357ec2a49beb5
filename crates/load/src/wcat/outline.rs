//! What a scenario and its settings come to, in words: for whoever wants to know before anything is sent.
//!
//! Not here: reading them.

use super::gather::Gathered;
use super::scenario::{Manner, Part, Request, Step, Value, Version};
use std::fmt::Write as _;

/// Virtual clients where neither file says how many; the original stopped there.
pub const VIRTUAL_CLIENTS: u64 = 10;
/// How long it is measured where no file says so, ms.
pub const DURATION_MS: u64 = 30_000;

/// All of it.
pub fn outline(gathered: &Gathered) -> String {
    let (scenario, settings) = (&gathered.scenario, &gathered.settings);
    let mut out = String::new();
    let name = if scenario.name.is_empty() { "scenario" } else { &scenario.name };
    let not_said = |is: bool| if is { " (not said)" } else { "" };
    let _ = writeln!(
        out,
        "{name}: {} before, {} measured{}, {} after",
        time(scenario.warmup_ms.unwrap_or(0)),
        time(scenario.duration_ms.unwrap_or(DURATION_MS)),
        not_said(scenario.duration_ms.is_none()),
        time(scenario.cooldown_ms.unwrap_or(0)),
    );
    let (machines, clients) =
        (settings.clients.unwrap_or(1), settings.virtual_clients.unwrap_or(VIRTUAL_CLIENTS));
    let (no_machines, no_clients) = (settings.clients.is_none(), settings.virtual_clients.is_none());
    let _ = writeln!(
        out,
        "{} virtual clients: {machines}{} × {clients}{}",
        machines.saturating_mul(clients),
        not_said(no_machines && !no_clients),
        not_said(no_clients)
    );
    if let Some((first, last, step)) = settings.steps {
        let _ = writeln!(out, "machines: from {first} to {last}, {step} more with each step");
    }
    if !settings.servers.is_empty() {
        let _ = writeln!(out, "server: {}", settings.servers.join(", "));
    }
    if let Some(most) = scenario.throttle_per_s {
        let _ = writeln!(out, "at most {most} requests a second");
    }
    if settings.think_ms > 0 {
        let _ = writeln!(out, "before each page up to {} pass", time(settings.think_ms));
    }
    let all: u64 = scenario.transactions.iter().map(|t| t.weight).fold(0, u64::saturating_add);
    for transaction in &scenario.transactions {
        let share = 100.0 * transaction.weight as f64 / all.max(1) as f64;
        let _ = writeln!(out, "\n{} ({share:.1} % of the rounds)", transaction.id);
        for (at, step) in transaction.steps.iter().enumerate() {
            let _ = writeln!(out, "  {:>2}  {}", at + 1, told(step));
        }
    }
    for counter in &settings.counters {
        let _ =
            writeln!(out, "\ncounter of {} every {} s: {}", counter.host, counter.interval_s, counter.path);
    }
    out
}

fn told(step: &Step) -> String {
    match step {
        Step::Request(request) => of_request(request),
        Step::Sleep(delay) => format!("sleep {} ms", text(delay)),
        Step::Branch(targets) => {
            let all: u64 = targets.iter().map(|(_, weight)| *weight).fold(0, u64::saturating_add);
            let each = targets.iter().map(|(at, weight)| format!("{} ({weight} of {all})", at + 1));
            format!("go on at {}", each.collect::<Vec<_>>().join(" or "))
        }
        Step::Close(Manner::Keep) => "keep the connection".to_owned(),
        Step::Close(Manner::Graceful) => "close the connection".to_owned(),
        Step::Close(Manner::Reset) => "reset the connection".to_owned(),
    }
}

fn of_request(request: &Request) -> String {
    let version = match request.version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
    };
    let mut out = format!("{} {} {version}", request.verb, text(&request.url));
    if let Some(status) = request.status {
        let _ = write!(out, ", expects {status}");
    }
    if let Some(server) = &request.server {
        let _ = write!(out, ", of {}", text(server));
    }
    if let Some(port) = request.port {
        let _ = write!(out, ", port {port}");
    }
    let words = [
        (request.secure, "over TLS"),
        (request.redirect, "follows redirects"),
        (request.body.is_some(), "with a body"),
        (request.close == Manner::Graceful, "then closes"),
        (request.close == Manner::Reset, "then resets"),
    ];
    words.iter().filter(|(is, _)| *is).for_each(|(_, word)| out.push_str(&format!(", {word}")));
    for field in &request.fields {
        let _ = write!(out, "\n        {}: {}", text(&field.name), text(&field.value));
    }
    out
}

fn text(value: &Value) -> String {
    let told = value.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Random(low, high) => format!("«{low} to {high}»"),
        Part::Server => "«server»".to_owned(),
        Part::ClientName => "«client's name»".to_owned(),
        Part::ClientCount => "«number of clients»".to_owned(),
        Part::ClientIndex => "«client»".to_owned(),
        Part::VirtualClientCount => "«number of virtual clients»".to_owned(),
        Part::VirtualClientIndex => "«virtual client»".to_owned(),
        Part::File(name) => format!("«file {name}»"),
    });
    told.collect()
}

fn time(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{} s", ms / 1_000) } else { format!("{ms} ms") }
}
