//! WCAT 6.3 files: a scenario, and its settings.
//!
//! Not here: reading them (`wcat::ubr`), whose rules decide what can be said.

use super::lost::{Lost, cut};
use crate::wcat::common::{common, own};
use crate::wcat::scenario::{
    Counter, Manner, Part, Request, Scenario, Settings, Step, Transaction, Value, Version, constant, name_of,
};
use crate::wcat::ubr::plain;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ubr {
    /// `scenario { … }`.
    pub scenario: String,
    /// `settings { … }`, if they say anything.
    pub settings: Option<String>,
    /// What could not be said.
    pub lost: Vec<String>,
}

/// Writes both.
pub fn ubr(scenario: &Scenario, settings: &Settings) -> Ubr {
    let mut writer = Writer { out: String::new(), depth: 0, lost: Lost::default() };
    writer.scenario(scenario);
    let told = std::mem::take(&mut writer.out);
    writer.settings(settings);
    let settings = Some(writer.out).filter(|text| !text.is_empty());
    Ubr { scenario: told, settings, lost: writer.lost.lines() }
}

struct Writer {
    out: String,
    depth: usize,
    lost: Lost,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let indent = 4 * self.depth;
        let _ = writeln!(self.out, "{:indent$}{line}", "");
    }

    fn open(&mut self, name: &str) {
        self.line(name);
        self.line("{");
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.line("}");
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.line(&format!("{name} = {value};"));
    }

    /// A text in quotes.
    fn text(&mut self, text: &str, whose: &str) -> String {
        if text.contains(['\r', '\n']) {
            self.lost.of("line breaks in texts", whose);
        }
        let mut out = String::from("\"");
        for c in text.chars().filter(|c| !['\r', '\n'].contains(c)) {
            if c == '"' || c == '\\' {
                out.push('\\');
            }
            out.push(c);
        }
        out.push('"');
        out
    }

    fn value(&mut self, value: &Value, whose: &str) -> String {
        let mut parts = Vec::new();
        for part in value {
            parts.push(match part {
                Part::Text(text) => self.text(text, whose),
                Part::Random(low, high) => format!("rand(\"{low}\", \"{high}\")"),
                Part::Server => "server()".to_owned(),
                Part::ClientName => "clientname()".to_owned(),
                Part::ClientCount => "clientcount()".to_owned(),
                Part::ClientIndex => "clientindex()".to_owned(),
                Part::VirtualClientCount => "vclientcount()".to_owned(),
                Part::VirtualClientIndex => "vclientindex()".to_owned(),
                Part::File(name) if is_file(name) => format!("<{name}>"),
                Part::File(name) => {
                    self.lost.of(format!("a file of the name `{}`", cut(name)), whose);
                    continue;
                }
            });
        }
        // Parts that are nothing are joined with the others, and alone they are the empty text.
        parts.retain(|part| part != "\"\"");
        match parts.is_empty() {
            true => "\"\"".to_owned(),
            false => parts.join(" + "),
        }
    }

    fn scenario(&mut self, scenario: &Scenario) {
        self.open("scenario");
        if !scenario.name.is_empty() {
            let name = self.text(&scenario.name, "the scenario's name");
            self.attribute("name", &name);
        }
        self.seconds("warmup", scenario.warmup_ms);
        self.seconds("duration", scenario.duration_ms);
        self.seconds("cooldown", scenario.cooldown_ms);
        if let Some(most) = scenario.throttle_per_s {
            self.attribute("throttlerps", &most.to_string());
        }
        let common = common(scenario, plain());
        // Where nothing is said of it, 200 is expected.
        let common = Request { status: common.status.or(plain().status), ..common };
        if common != plain() {
            self.open("default");
            self.items(&common, &plain(), "default");
            self.close();
        }
        for transaction in &scenario.transactions {
            self.out.push('\n');
            self.transaction(transaction, &common);
        }
        self.close();
    }

    fn seconds(&mut self, name: &str, ms: Option<u64>) {
        let Some(ms) = ms else { return };
        if !ms.is_multiple_of(1_000) {
            let message = format!("parts of a second (`{name}` is {} s and not {ms} ms)", ms.div_ceil(1_000));
            self.lost.all(message);
        }
        self.attribute(name, &ms.div_ceil(1_000).to_string());
    }

    fn transaction(&mut self, transaction: &Transaction, common: &Request) {
        let whose = transaction.id.as_str();
        self.open("transaction");
        let id = self.text(whose, whose);
        self.attribute("id", &id);
        self.attribute("weight", &transaction.weight.to_string());
        let places = places(&transaction.steps);
        let labels = self.labels(transaction, &places);
        let label = |at: usize| labels.get(&at).map(String::as_str);
        for (at, (step, place)) in transaction.steps.iter().zip(&places).enumerate() {
            match step {
                Step::Request(request) => self.request(request, common, label(at), *place),
                Step::Sleep(delay) => {
                    let delay = match delay.as_slice() {
                        [Part::Random(..)] => self.value(delay, whose),
                        _ => constant(delay).filter(|ms| !ms.is_empty()).unwrap_or_else(|| "0".to_owned()),
                    };
                    let id = label(at).map(|label| self.text(label, whose));
                    let id = id.map_or_else(String::new, |id| format!("id = {id}; "));
                    self.line(&format!("sleep {{ {id}delay = {delay}; }}"));
                }
                Step::Branch(targets) => {
                    let mut said = Vec::new();
                    for (to, weight) in targets {
                        match label(*to) {
                            Some(label) => said.push((self.text(label, whose), *weight)),
                            None => self.lost.of("jumps to a jump or to the end of a connection", whose),
                        }
                    }
                    if said.iter().all(|(_, weight)| *weight == 0) {
                        continue;
                    }
                    self.open("branch");
                    for (label, weight) in said {
                        self.line(&format!("goto {{ id = {label}; weight = {weight}; }}"));
                    }
                    self.close();
                }
                Step::Close(manner) => self.line(&format!("close {{ method = {}; }}", of_manner(*manner))),
            }
        }
        self.close();
    }

    /// The ids of what is jumped to, each its own.
    fn labels(&mut self, transaction: &Transaction, places: &[usize]) -> BTreeMap<usize, String> {
        let (steps, whose) = (&transaction.steps, transaction.id.as_str());
        let told = |text: &str| text.replace(['\r', '\n'], "");
        let of_jump = |step: &'_ Step| match step {
            Step::Branch(targets) => targets.clone(),
            _ => Vec::new(),
        };
        let targets: BTreeSet<usize> = steps.iter().flat_map(of_jump).map(|(at, _)| at).collect();
        let mut taken: HashMap<String, usize> = HashMap::new();
        for (at, (step, place)) in steps.iter().zip(places).enumerate() {
            if let Step::Request(request) = step
                && (request.id != name_of(&request.url, *place) || targets.contains(&at))
            {
                *taken.entry(told(&request.id)).or_default() += 1;
            }
        }
        let mut labels = BTreeMap::new();
        for at in targets {
            let own = match steps.get(at) {
                Some(Step::Request(request)) => told(&request.id),
                Some(Step::Sleep(_)) => String::new(),
                _ => continue,
            };
            let label = match !own.is_empty() && taken.get(&own) == Some(&1) {
                true => own,
                false => {
                    if !own.is_empty() {
                        self.lost.of(format!("a step called `{}`, as another is", cut(&own)), whose);
                    }
                    let begin = format!("step {}", at + 1);
                    let more = (2..).map(|n| format!("{begin} ({n})"));
                    let mut free = [begin.clone()].into_iter().chain(more);
                    let label = free.find(|name| !taken.contains_key(name)).unwrap_or(begin);
                    taken.insert(label.clone(), 1);
                    label
                }
            };
            labels.insert(at, label);
        }
        labels
    }

    fn request(&mut self, request: &Request, common: &Request, label: Option<&str>, at: usize) {
        let whose = request.id.as_str();
        self.open("request");
        let id = label.or_else(|| (whose != name_of(&request.url, at)).then_some(whose));
        if let Some(id) = id {
            let id = self.text(id, whose);
            self.attribute("id", &id);
        }
        let url = self.value(&request.url, whose);
        self.attribute("url", if url == "\"\"" { "\"/\"" } else { &url });
        self.items(request, common, whose);
        self.close();
    }

    /// What a request says beside what goes without saying.
    fn items(&mut self, request: &Request, common: &Request, whose: &str) {
        if request.verb != common.verb {
            if request.verb != request.verb.to_ascii_uppercase() {
                self.lost.of("small letters in methods", whose);
            }
            let verb = self.text(&request.verb, whose);
            let is_name = request.verb.bytes().all(|byte| byte.is_ascii_alphabetic());
            self.attribute("verb", if is_name { &request.verb } else { &verb });
        }
        if request.version != common.version {
            let version = if request.version == Version::Http10 { "HTTP10" } else { "HTTP11" };
            self.attribute("version", version);
        }
        match request.status {
            Some(status) if Some(status) != common.status => {
                self.attribute("statuscode", &status.to_string());
            }
            Some(_) => {}
            None => {
                self.lost.of("any status below 400 as right (200 is expected)", whose);
                if common.status != plain().status {
                    self.attribute("statuscode", "200");
                }
            }
        }
        if let Some(server) = request.server.as_ref().filter(|_| request.server != common.server) {
            let server = self.value(server, whose);
            self.attribute("server", &server);
        }
        if let Some(port) = request.port.filter(|_| request.port != common.port) {
            self.attribute("port", &port.to_string());
        }
        for (name, is, was) in [
            ("secure", request.secure, common.secure),
            ("cookies", request.cookies, common.cookies),
            ("redirect", request.redirect, common.redirect),
        ] {
            if is != was {
                self.attribute(name, &is.to_string());
            }
        }
        if request.close != common.close {
            self.attribute("close", of_manner(request.close));
        }
        if let Some(body) = &request.body {
            let body = self.value(body, whose);
            self.attribute("postdata", &body);
        }
        for field in own(&request.fields, &common.fields).unwrap_or_default() {
            let (name, value) = (self.value(&field.name, whose), self.value(&field.value, whose));
            if name == "\"\"" {
                continue;
            }
            let block = if field.replaces { "setheader" } else { "addheader" };
            self.line(&format!("{block} {{ name = {name}; value = {value}; }}"));
        }
    }

    fn settings(&mut self, settings: &Settings) {
        if settings.think_ms > 0 {
            self.lost.all("the pause before each page (`think`)");
        }
        if settings.steps.is_some() {
            self.lost.all("machines that come one after the other (`machine_steps`)");
        }
        let said = Settings { think_ms: 0, steps: None, ..settings.clone() };
        if said == Settings::default() {
            return;
        }
        self.open("settings");
        if !settings.comment.is_empty() {
            let comment = self.text(&settings.comment, "the comment");
            self.attribute("comment", &comment);
        }
        self.list("server", &settings.servers);
        self.list("bind", &settings.bind);
        if let Some(clients) = settings.clients {
            self.attribute("clients", &clients.to_string());
        }
        if let Some(clients) = settings.virtual_clients {
            self.attribute("virtualclients", &clients.to_string());
        }
        let counters = &settings.counters;
        for group in counters.chunk_by(|a, b| (&a.host, a.interval_s) == (&b.host, b.interval_s)) {
            self.counters(group);
        }
        self.close();
    }

    fn list(&mut self, name: &str, all: &[String]) {
        let can_be_said =
            |text: &&String| !text.contains([',', ';', '\r', '\n']) && text.trim() == text.as_str();
        let (said, lost): (Vec<&String>, Vec<&String>) =
            all.iter().partition(|text| !text.is_empty() && can_be_said(text));
        for name_lost in lost {
            self.lost.of(format!("a name in `{name}`"), name_lost);
        }
        if !said.is_empty() {
            let all: Vec<&str> = said.iter().map(|text| text.as_str()).collect();
            let text = self.text(&all.join(", "), name);
            self.attribute(name, &text);
        }
    }

    fn counters(&mut self, group: &[Counter]) {
        let Some(first) = group.first() else { return };
        self.open("counters");
        self.attribute("interval", &first.interval_s.to_string());
        if !first.host.is_empty() {
            let host = self.text(&first.host, "a counter's host");
            self.attribute("host", &host);
        }
        for counter in group {
            let path = self.text(&counter.path, "a counter");
            self.attribute("counter", &path);
        }
        self.close();
    }
}

/// Where each step stands in the file: jumps that lead to nothing that has an id are left out.
fn places(steps: &[Step]) -> Vec<usize> {
    let mut place = 0;
    let mut places = Vec::with_capacity(steps.len());
    for step in steps {
        places.push(place);
        let is_said = match step {
            Step::Branch(targets) => targets.iter().any(|(to, weight)| {
                *weight > 0 && matches!(steps.get(*to), Some(Step::Request(_) | Step::Sleep(_)))
            }),
            _ => true,
        };
        place += usize::from(is_said);
    }
    places
}

/// Whether this can stand between `<` and `>`.
fn is_file(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.contains(['>', '\r', '\n'])
}

fn of_manner(manner: Manner) -> &'static str {
    match manner {
        Manner::Keep => "ka",
        Manner::Graceful => "graceful",
        Manner::Reset => "reset",
    }
}
