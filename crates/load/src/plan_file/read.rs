//! A plan in TOML to its scenario and settings: `[run]`, `[request]`, `[[round]]`.
//!
//! Not here: single entries (`table`), steps (`step`), writing it (`write`).

use super::PlanFile;
use super::step::{COMMON, Steps};
use super::table::{Entry, Reader, entries};
use crate::wcat::{Counter, Note, Request, Step, Transaction};
use toml::de::{DeTable, DeValue};

/// Syntax errors that are told: what follows the first is often its echo.
const SYNTAX_MAX: usize = 5;

const RUN: [&str; 13] = [
    "name",
    "comment",
    "server",
    "machines",
    "machine_steps",
    "clients",
    "bind",
    "warmup",
    "duration",
    "cooldown",
    "most_per_second",
    "think",
    "counters",
];

/// Reads a plan. With an error among the notes nothing of it is to be used.
pub fn read(text: &str, notes: &mut Vec<Note>) -> PlanFile {
    let mut plan = PlanFile::default();
    let (tree, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return syntax(text, &errors, notes, plan);
    }
    let mut reader = Reader { text, notes };
    let top = entries(tree.get_ref());
    let mut common = Request::plain();
    for entry in &top {
        match entry.name {
            "run" => reader.run(entry, &mut plan),
            "request" => common = reader.common(entry),
            "round" => {}
            _ if [&RUN[..], &COMMON[..]].concat().contains(&entry.name) => {
                let table = if RUN.contains(&entry.name) { "[run]" } else { "[request]" };
                let message = format!("`{}` stands outside of every table", entry.name);
                reader.error(&entry.at, message, format!("put it below `{table}`"));
            }
            _ => reader.unknown(entry, "a plan", &["run", "request", "round"]),
        }
    }
    let round = top.iter().find(|entry| entry.name == "round");
    if let Some(entry) = round {
        reader.rounds(entry, &common, &mut plan);
    } else if let Some(request) = top.iter().find(|entry| entry.name == "request") {
        reader.error(&request.at, "the plan has no round that could ask for something", "add a `[[round]]`");
    }
    plan
}

/// Errors of TOML itself, one for each line.
fn syntax(text: &str, errors: &[toml::de::Error], notes: &mut Vec<Note>, plan: PlanFile) -> PlanFile {
    let place = |error: &toml::de::Error| {
        error.span().filter(|span| text.get(span.clone()).is_some()).unwrap_or(text.len()..text.len())
    };
    let mut errors: Vec<_> = errors.iter().map(|error| (place(error), error)).collect();
    errors.sort_by_key(|(span, _)| span.start);
    let (mut told, mut line_end) = (0, None);
    for (span, error) in errors {
        if line_end.is_some_and(|end| span.start <= end) || told == SYNTAX_MAX {
            continue;
        }
        told += 1;
        let rest = text.get(span.start..).unwrap_or_default();
        line_end = Some(rest.find('\n').map_or(text.len(), |len| span.start + len));
        let message = error.message();
        let mend = match message {
            "duplicate key" => "say it once; what comes several times is `[[…]]`",
            _ if message.contains("string values must be quoted") => "texts and times stand in \"…\"",
            _ if message.contains("key with no value") => "write `name = value`",
            _ if message.contains("unclosed") || message.contains("missing comma") => {
                "is a bracket, a brace or a comma missing here or above?"
            }
            _ => "",
        };
        let message = match message {
            "duplicate key" => format!("`{}` is said twice", text.get(span.clone()).unwrap_or_default()),
            other => format!("this is not TOML: {other}"),
        };
        notes.push(Note::error(span, message, mend));
    }
    plan
}

impl<'t> Reader<'t, '_> {
    fn run(&mut self, entry: &Entry<'t>, plan: &mut PlanFile) {
        let (scenario, settings) = (&mut plan.scenario, &mut plan.settings);
        for entry in self.table(entry, "`[run]`").unwrap_or_default() {
            let any = 0..=u64::MAX;
            match entry.name {
                "name" => scenario.name = self.text(&entry).unwrap_or_default().to_owned(),
                "comment" => settings.comment = self.text(&entry).unwrap_or_default().to_owned(),
                "server" => settings.servers = self.texts(&entry),
                "bind" => settings.bind = self.texts(&entry),
                "machines" => settings.clients = self.number(&entry, any),
                "clients" => settings.virtual_clients = self.number(&entry, any),
                "machine_steps" => settings.steps = self.machine_steps(&entry),
                "warmup" => scenario.warmup_ms = self.time(&entry),
                "duration" => scenario.duration_ms = self.time(&entry),
                "cooldown" => scenario.cooldown_ms = self.time(&entry),
                "most_per_second" => scenario.throttle_per_s = self.number(&entry, 1..=u64::MAX),
                "think" => settings.think_ms = self.time(&entry).unwrap_or_default(),
                "counters" => {
                    for each in self.each(&entry) {
                        let counters = self.counters(&each);
                        settings.counters.extend(counters);
                    }
                }
                _ => self.unknown(&entry, "`[run]`", &RUN),
            }
        }
    }

    fn machine_steps(&mut self, entry: &Entry<'t>) -> Option<(u64, u64, u64)> {
        const HOW: &str = "machine_steps = { from = 1, to = 10, by = 1 }";
        let (mut from, mut to, mut by) = (None, None, 1);
        for entry in self.table(entry, HOW)? {
            match entry.name {
                "from" => from = self.number(&entry, 0..=u64::MAX),
                "to" => to = self.number(&entry, 0..=u64::MAX),
                "by" => by = self.number(&entry, 1..=u64::MAX).unwrap_or(1),
                _ => self.unknown(&entry, "`machine_steps`", &["from", "to", "by"]),
            }
        }
        let steps = from.zip(to).map(|(from, to)| (from, to, by));
        if steps.is_none() {
            self.error(&entry.span, "`machine_steps` needs `from` and `to`", HOW);
        }
        steps
    }

    fn counters(&mut self, entry: &Entry<'t>) -> Vec<Counter> {
        let (mut host, mut interval_s, mut paths) = (String::new(), 10, Vec::new());
        for entry in self.table(entry, "`[[run.counters]]`").unwrap_or_default() {
            match entry.name {
                "host" => host = self.text(&entry).unwrap_or_default().to_owned(),
                "every" => match self.seconds(&entry) {
                    Some(0) => self.error(&entry.span, "`every` cannot be 0", "one second at least"),
                    Some(seconds) => interval_s = seconds,
                    None => {}
                },
                "paths" => paths = self.texts(&entry),
                _ => self.unknown(&entry, "`[[run.counters]]`", &["host", "every", "paths"]),
            }
        }
        if paths.is_empty() {
            let mend = "paths = ['Processor(_Total)\\% Processor Time']";
            self.error(&entry.span, "nothing is counted", mend);
        }
        paths.into_iter().map(|path| Counter { host: host.clone(), interval_s, path }).collect()
    }

    fn rounds(&mut self, entry: &Entry<'t>, common: &Request, plan: &mut PlanFile) {
        if !matches!(entry.value, DeValue::Array(_)) {
            return self.wrong(entry, "a list", "write two brackets: `[[round]]`");
        }
        for each in self.each(entry) {
            let number = plan.scenario.transactions.len() + 1;
            let round = self.round(&each, common, number);
            plan.scenario.transactions.push(round);
        }
        if plan.scenario.transactions.iter().all(|round| round.weight == 0) {
            self.error(&entry.span, "there is no round that could be chosen", "a weight above 0");
        }
    }

    fn round(&mut self, entry: &Entry<'t>, common: &Request, number: usize) -> Transaction {
        let mut round = Transaction { id: format!("round {number}"), weight: 1, steps: Vec::new() };
        let (mut steps, before) = (Steps::default(), self.notes.len());
        for inner in self.table(entry, "`[[round]]`").unwrap_or_default() {
            match inner.name {
                "name" => round.id = self.text(&inner).unwrap_or_default().to_owned(),
                "weight" => round.weight = self.number(&inner, 0..=u64::MAX).unwrap_or(1),
                "steps" => {
                    for each in self.each(&inner) {
                        self.step(&each, common, &mut steps);
                    }
                }
                _ => self.unknown(&inner, "`[[round]]`", &["name", "weight", "steps"]),
            }
        }
        round.steps = self.lead(steps);
        let asks = round.steps.iter().any(|step| matches!(step, Step::Request(_)));
        // Where a step is wrong that has been said.
        if !asks && self.notes.len() == before {
            self.error(&entry.span, "the round asks for nothing", "steps = [\"/\"]");
        }
        round
    }
}
