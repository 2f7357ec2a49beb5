//! WCAT 5 files: script, distribution, configuration.
//!
//! Not here: reading them (`wcat::five`), whose rules decide what can be said.

use super::lost::Lost;
use crate::wcat::common::of;
use crate::wcat::scenario::{
    Field, Manner, Part, Request, Scenario, Settings, Step, Transaction, Value, Version, constant,
};
use std::fmt::Write as _;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Five {
    /// What is asked.
    pub script: String,
    /// How often which.
    pub distribution: String,
    /// How long, by how many.
    pub config: String,
    /// What could not be said.
    pub lost: Vec<String>,
}

/// Writes all three. Requests whose URL cannot be said are left out; where no class remains that is asked, the script is
/// empty.
pub fn five(scenario: &Scenario, settings: &Settings) -> Five {
    let mut lost = Lost::default();
    let (mut script, mut distribution, mut weights) = (String::new(), String::new(), 0);
    for (id, transaction) in classes(scenario).iter().zip(&scenario.transactions) {
        let whose = transaction.id.as_str();
        of_steps(transaction, &mut lost);
        let mut requests = String::new();
        for request in of(transaction) {
            of_request(request, &mut requests, &mut lost);
        }
        if requests.is_empty() {
            continue;
        }
        if whose != format!("class {id}") {
            lost.of("names of transactions (they stand in comments)", whose);
            let _ = writeln!(script, "# {}", whose.replace(|c: char| c.is_control(), " "));
        }
        let _ = write!(script, "NEW TRANSACTION\n    classId = {id}\n{requests}");
        let _ = writeln!(distribution, "{id} {}", transaction.weight);
        weights |= transaction.weight;
    }
    if weights == 0 {
        script.clear();
    }
    if !scenario.name.is_empty() {
        lost.all("the scenario's name");
    }
    if scenario.throttle_per_s.is_some() {
        lost.all("the most requests a second (`throttlerps`)");
    }
    let config = config(scenario, settings, &mut lost);
    Five { script, distribution, config, lost: lost.lines() }
}

/// The numbers of the transactions' classes: those that their names say, if all do and each another, else from 1.
fn classes(scenario: &Scenario) -> Vec<u64> {
    let own = |transaction: &Transaction| {
        let id = transaction.id.strip_prefix("class ")?.parse().ok()?;
        (transaction.id == format!("class {id}")).then_some(id)
    };
    let own: Option<Vec<u64>> = scenario.transactions.iter().map(own).collect();
    let is_each_another = |ids: &Vec<u64>| {
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair.first() != pair.last())
    };
    own.filter(is_each_another).unwrap_or_else(|| (1..).take(scenario.transactions.len()).collect())
}

fn of_steps(transaction: &Transaction, lost: &mut Lost) {
    for step in &transaction.steps {
        let what = match step {
            Step::Request(_) => continue,
            Step::Sleep(_) => "pauses between requests",
            Step::Branch(_) => "jumps",
            Step::Close(_) => "ends of connections that are steps of their own",
        };
        lost.of(what, &transaction.id);
    }
}

fn of_request(request: &Request, out: &mut String, lost: &mut Lost) {
    let whose = request.id.as_str();
    let url = match value(&request.url) {
        Ok(url) => url,
        Err(why) => return lost.of(format!("a request whose URL {why}"), whose),
    };
    let server = match request.server.as_ref().map(value).transpose() {
        Ok(server) => server,
        Err(why) => return lost.of(format!("a request whose server {why}"), whose),
    };
    let body = request.body.as_ref().map(value).transpose().unwrap_or_else(|why| {
        lost.of(format!("a body that {why}"), whose);
        None
    });
    let own_name = match request.url.as_slice() {
        [Part::Text(text) | Part::File(text)] => text.as_str(),
        _ => whose,
    };
    if whose != own_name {
        lost.of("names of requests", whose);
    }
    if request.verb != request.verb.to_ascii_uppercase() {
        lost.of("small letters in methods", whose);
    }
    let _ = writeln!(out, "    NEW REQUEST HTTP\n        Verb = \"{}\"\n        URL = {url}", request.verb);
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(out, "        {name} = {value}");
        }
    };
    say("Server", server);
    say("ServerPort", request.port.map(|port| port.to_string()));
    say("SSL", request.secure.then(|| "true".to_owned()));
    say("KeepAlive", (request.close == Manner::Keep).then(|| "true".to_owned()));
    say("RequestHeader", header(request, lost));
    say("RequestData", body);
    for (is_lost, what) in [
        (request.version == Version::Http10, "HTTP/1.0 (HTTP/1.1 is spoken)"),
        (request.status.is_some(), "the status that is right (any below 400 is)"),
        (request.cookies, "cookies that are sent and taken"),
        (request.redirect, "redirects that are followed"),
        (request.close == Manner::Reset, "a reset of the connection (it is closed)"),
    ] {
        if is_lost {
            lost.of(what, whose);
        }
    }
}

/// A value that is one text or one file.
fn value(value: &Value) -> Result<String, &'static str> {
    let told = match value.as_slice() {
        [] => Some("\"\"".to_owned()),
        [Part::Text(text)] => quoted(text),
        [Part::File(name)] => quoted(name).map(|name| format!("FILE {name}")),
        _ => return Err("is another each time"),
    };
    told.ok_or("has line breaks, or both \" and #")
}

fn quoted(text: &str) -> Option<String> {
    (!is_lost(text)).then(|| format!("\"{}\"", text.replace('"', "\\\"")))
}

/// Whether no line can have this text: a `#` after quotes that belong to the text would begin a comment.
fn is_lost(text: &str) -> bool {
    text.contains(|c: char| c.is_control()) || (text.contains('"') && text.contains('#'))
}

/// All fields in one text, parted by CR and LF as they are written in C.
fn header(request: &Request, lost: &mut Lost) -> Option<String> {
    let whose = request.id.as_str();
    let mut all = String::new();
    for (at, field) in request.fields.iter().enumerate() {
        let Some((name, value)) = constant(&field.name).zip(constant(&field.value)) else {
            lost.of("fields that change, or come from a file", whose);
            continue;
        };
        let is_same =
            |other: &Field| constant(&other.name).is_some_and(|other| other.eq_ignore_ascii_case(&name));
        if !field.replaces && request.fields.iter().take(at).any(is_same) {
            lost.of(format!("a second field `{name}`"), whose);
            continue;
        }
        let can_be_said = !name.is_empty()
            && !name.contains(':')
            && [&name, &value].iter().all(|text| text.trim() == text.as_str() && !text.contains("\\r\\n"))
            && quoted(&format!("{name}{value}")).is_some();
        if !can_be_said {
            lost.of(format!("the field `{name}` as it is"), whose);
            continue;
        }
        let _ = write!(all, "{name}: {value}\\r\\n");
    }
    // Each could be said; together they could hold both marks.
    let told = quoted(&all);
    if told.is_none() {
        lost.of("fields, which have both \" and # among them", whose);
    }
    told.filter(|_| !all.is_empty())
}

fn config(scenario: &Scenario, settings: &Settings, lost: &mut Lost) -> String {
    let mut out = String::new();
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(out, "{name} {value}");
        }
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    say("WarmupTime", scenario.warmup_ms.map(time));
    say("Duration", scenario.duration_ms.map(time));
    say("CooldownTime", scenario.cooldown_ms.map(time));
    say("ThinkTime", Some(settings.think_ms).filter(|ms| *ms > 0).map(time));
    say("NumClientMachines", number(settings.clients));
    say("NumClientThreads", number(settings.virtual_clients));
    say("ClientMachinesMin", number(settings.steps.map(|(first, _, _)| first)));
    say("ClientMachinesMax", number(settings.steps.map(|(_, last, _)| last)));
    say("ClientMachinesIncrement", number(settings.steps.map(|(_, _, step)| step)));
    let comment = settings.comment.as_str();
    if is_lost(comment) {
        lost.all("the comment, which has line breaks, or both \" and #");
    } else {
        say("Comment", Some(format!("\"{comment}\"")).filter(|_| !comment.is_empty()));
    }
    if !settings.servers.is_empty() {
        lost.all(format!("the servers: {} (they are named when it is run)", settings.servers.join(", ")));
    }
    if !settings.bind.is_empty() {
        lost.all("the addresses of the clients (`bind`)");
    }
    if !settings.counters.is_empty() {
        lost.all("counters");
    }
    out
}

fn time(ms: u64) -> String {
    match ms.is_multiple_of(1_000) {
        true => format!("{}s", ms / 1_000),
        false => format!("{ms}ms"),
    }
}
