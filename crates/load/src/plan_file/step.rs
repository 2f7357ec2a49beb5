//! The steps of a round: requests, pauses, jumps, connections that end.
//!
//! Not here: rounds and runs (`read`), how requests are sent.

use super::table::{Entry, Reader, cut, entries};
use crate::wcat::{Field, Manner, Part, Request, Step, Value, Version, constant, is_method, joined, name_of};
use std::collections::HashMap;
use std::ops::Range;
use toml::de::DeValue;

/// Methods that have a key of their own, with the URL as value.
pub(super) const METHODS: [&str; 8] = ["get", "head", "post", "put", "patch", "delete", "options", "trace"];
/// What becomes of a connection.
pub(super) const MANNERS: [(&str, Manner); 3] =
    [("keep", Manner::Keep), ("close", Manner::Graceful), ("reset", Manner::Reset)];
/// What can be said of all requests together.
pub(super) const COMMON: [&str; 9] =
    ["version", "expect", "server", "port", "tls", "cookies", "redirects", "connection", "header"];
/// What a step can do.
const DOES: &str = "a step has one of `get`, `head`, `post`, `put`, `patch`, `delete`, `options`, `trace`, `url`, `pause`, \
                    `goto`, `connection`";

/// A jump that was read, and is led to its steps when all of them are known.
pub(super) struct Jump<'t> {
    /// Of the step.
    at: usize,
    to: Vec<(To<'t>, u64, Range<usize>)>,
    /// What is wrong with it has been said.
    is_told: bool,
    span: Range<usize>,
}

enum To<'t> {
    Name(&'t str),
    /// From 1.
    Number(u64),
}

/// What has been read of a round's steps.
#[derive(Default)]
pub(super) struct Steps<'t> {
    pub steps: Vec<Step>,
    /// Names of steps that are no requests.
    names: Vec<(&'t str, usize)>,
    jumps: Vec<Jump<'t>>,
}

impl<'t> Reader<'t, '_> {
    /// What all requests have in common.
    pub fn common(&mut self, entry: &Entry<'t>) -> Request {
        let mut request = Request::plain();
        for entry in self.table(entry, "`[request]`").unwrap_or_default() {
            if !self.said(&mut request, &entry) {
                let own =
                    ["url", "name", "body", "method"].contains(&entry.name) || METHODS.contains(&entry.name);
                match own {
                    true => {
                        let message = format!("`{}` is each request's own", entry.name);
                        self.error(&entry.at, message, "say it in the steps");
                    }
                    false => self.unknown(&entry, "`[request]`", &COMMON),
                }
            }
        }
        request
    }

    /// What can be said of one request and of all; whether this is such an entry.
    fn said(&mut self, request: &mut Request, entry: &Entry<'t>) -> bool {
        match entry.name {
            "version" => {
                let words = [("1.1", Version::Http11), ("1.0", Version::Http10)];
                request.version = self.word(entry, &words).unwrap_or(request.version);
            }
            "expect" => match entry.value {
                DeValue::String(any) if any == "any" => request.status = None,
                DeValue::Integer(_) => {
                    let status = self.number(entry, 100..=599).and_then(|n| u16::try_from(n).ok());
                    request.status = status.or(request.status);
                }
                _ => self.wrong(entry, "a status", "a number from 100 to 599, or \"any\": any below 400"),
            },
            "server" => request.server = self.value(entry).or(request.server.take()),
            "port" => {
                request.port = self.number(entry, 1..=65_535).and_then(|n| u16::try_from(n).ok());
            }
            "tls" => request.secure = self.truth(entry).unwrap_or_default(),
            "cookies" => request.cookies = self.truth(entry).unwrap_or_default(),
            "redirects" => request.redirect = self.truth(entry).unwrap_or_default(),
            "connection" => request.close = self.word(entry, &MANNERS).unwrap_or(Manner::Keep),
            "header" => {
                for each in self.each(entry) {
                    if let Some(field) = self.field(&each) {
                        request.add(field);
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// `"Name: value"`, `{ add = "Name: value" }`, or `{ name = "…", value = "…", add = true }`.
    fn field(&mut self, entry: &Entry<'t>) -> Option<Field> {
        const HOW: &str =
            "\"Name: value\", or { add = \"Name: value\" } to have it beside another of its name";
        let table = match entry.value {
            DeValue::String(text) => return self.line(text, &entry.span, true),
            DeValue::Table(table) => entries(table),
            _ => {
                self.wrong(entry, "a field", HOW);
                return None;
            }
        };
        let (mut name, mut value, mut replaces) = (None, Value::new(), true);
        for entry in &table {
            match (entry.name, entry.value) {
                ("add", DeValue::String(text)) => {
                    if let Some(other) = table.iter().find(|other| other.name != "add") {
                        self.error(&other.at, "`add` has the whole field already", HOW);
                    }
                    return self.line(text, &entry.span, false);
                }
                ("add", _) => replaces = !self.truth(entry).unwrap_or_default(),
                ("name", _) => name = Some(self.value(entry)?),
                ("value", _) => value = self.value(entry)?,
                _ => self.unknown(entry, "a field", &["name", "value", "add"]),
            }
        }
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            self.error(&entry.span, "the field has no name", HOW);
            return None;
        };
        Some(Field { name, value, replaces })
    }

    fn line(&mut self, text: &str, span: &Range<usize>, replaces: bool) -> Option<Field> {
        let Some((name, value)) = split(&self.template(text, span)?) else {
            let message = format!("`{}` is no field", cut(text));
            self.error(span, message, "\"Name: value\"");
            return None;
        };
        Some(Field { name, value, replaces })
    }

    pub fn step(&mut self, entry: &Entry<'t>, common: &Request, into: &mut Steps<'t>) {
        let at = into.steps.len();
        let table = match entry.value {
            DeValue::String(text) => {
                let mut request = Request { span: entry.span.clone(), ..common.clone() };
                request.url = self.url(text, &entry.span).unwrap_or_default();
                request.id = name_of(&request.url, at);
                return into.steps.push(Step::Request(Box::new(request)));
            }
            DeValue::Table(table) => entries(table),
            _ => {
                self.error(&entry.span, "a step is a URL, or a table", DOES);
                return;
            }
        };
        let is_verb = |entry: &&Entry<'_>| {
            METHODS.contains(&entry.name) || ["url", "pause", "goto"].contains(&entry.name)
        };
        let mut does = table.iter().filter(is_verb);
        let (first, second) = (does.next(), does.next());
        if let (Some(first), Some(second)) = (first, second) {
            let message =
                format!("a step does one thing, and not both `{}` and `{}`", first.name, second.name);
            return self.error(&second.at, message, "make two steps of it");
        }
        let name = table.iter().find(|entry| entry.name == "name");
        let name = name.and_then(|entry| self.text(entry)).filter(|name| !name.is_empty());
        let step = match first {
            Some(entry) if entry.name == "pause" => {
                self.only(&table, "a pause", "pause");
                Step::Sleep(self.pause(entry).unwrap_or_default())
            }
            Some(entry) if entry.name == "goto" => {
                self.only(&table, "a jump", "goto");
                let jump = self.jump(entry, at);
                into.jumps.push(jump);
                Step::Branch(Vec::new())
            }
            Some(does) => return self.request(&table, does, &entry.span, common, name, into),
            None => match table.iter().find(|entry| entry.name == "connection") {
                Some(entry) => {
                    self.only(&table, "a connection's end", "connection");
                    Step::Close(self.word(entry, &MANNERS).unwrap_or(Manner::Keep))
                }
                None => match table.iter().find(|entry| entry.name != "name") {
                    Some(odd) if !COMMON.contains(&odd.name) && !["body", "method"].contains(&odd.name) => {
                        let known = [&METHODS[..], &["url", "pause", "goto", "connection"]].concat();
                        return self.unknown(odd, "a step", &known);
                    }
                    _ => return self.error(&entry.span, "the step does nothing", DOES),
                },
            },
        };
        into.names.extend(name.map(|name| (name, at)));
        into.steps.push(step);
    }

    /// Refuses what does not belong to a step that has but this, and perhaps a name.
    fn only(&mut self, table: &[Entry<'t>], what: &str, key: &str) {
        for entry in table.iter().filter(|entry| entry.name != key && entry.name != "name") {
            self.unknown(entry, what, &[key, "name"]);
        }
    }

    fn request(
        &mut self,
        table: &[Entry<'t>],
        does: &Entry<'t>,
        span: &Range<usize>,
        common: &Request,
        name: Option<&str>,
        into: &mut Steps<'t>,
    ) {
        let mut request = Request { span: span.clone(), ..common.clone() };
        if does.name != "url" {
            request.verb = does.name.to_ascii_uppercase();
        }
        for entry in table {
            match entry.name {
                "name" => {}
                "method" if does.name == "url" => match self.text(entry) {
                    Some(method) if is_method(method) => method.clone_into(&mut request.verb),
                    Some(_) => self.error(&entry.span, "this is no method", "GET, HEAD, POST …"),
                    None => {}
                },
                "method" => {
                    let message = format!("the method is `{}` already", does.name);
                    self.error(&entry.at, message, "{ method = \"PURGE\", url = \"/\" }");
                }
                "body" => request.body = self.value(entry),
                verb if verb == does.name => {
                    let text = self.text(entry);
                    request.url = text.and_then(|text| self.url(text, &entry.span)).unwrap_or_default();
                }
                _ => {
                    if !self.said(&mut request, entry) {
                        let known = [&COMMON[..], &["name", "method", "body"]].concat();
                        self.unknown(entry, "a request", &known);
                    }
                }
            }
        }
        request.id = name.map_or_else(|| name_of(&request.url, into.steps.len()), str::to_owned);
        into.steps.push(Step::Request(Box::new(request)));
    }

    fn url(&mut self, text: &str, span: &Range<usize>) -> Option<Value> {
        let url = self.template(text, span)?;
        if url.is_empty() {
            self.error(span, "the request has no URL", "\"/\" at least");
        }
        Some(url)
    }

    /// `"200ms"`, or `["100ms", "1s"]`: any time between the two.
    fn pause(&mut self, entry: &Entry<'t>) -> Option<Value> {
        if !matches!(entry.value, DeValue::Array(_)) {
            let ms = self.time(entry)?;
            return Some(joined([Part::Text(ms.to_string())]));
        }
        let each = self.each(entry);
        let times: Vec<u64> = each.iter().filter_map(|each| self.time(each)).collect();
        match times.as_slice() {
            [low, high] if each.len() == 2 && low <= high => Some(vec![Part::Random(*low, *high)]),
            all => {
                if all.len() == each.len() {
                    let mend = "[\"100ms\", \"1s\"]: two times, the shorter first";
                    self.error(&entry.span, "a pause that differs has two bounds", mend);
                }
                None
            }
        }
    }

    /// `"name"`, `3`, `{ name = 1, other = 2 }`, or a list of `{ to = …, weight = … }`.
    fn jump(&mut self, entry: &Entry<'t>, at: usize) -> Jump<'t> {
        const HOW: &str = "goto = \"name\", goto = { name = 1, other = 2 }, or [{ to = 3, weight = 1 }]";
        let before = self.notes.len();
        let mut jump = Jump { at, to: Vec::new(), is_told: false, span: entry.span.clone() };
        match entry.value {
            DeValue::Table(table) => {
                for target in entries(table) {
                    let weight = self.number(&target, 0..=u64::MAX).unwrap_or(1);
                    jump.to.push((To::Name(target.name), weight, target.at.clone()));
                }
            }
            DeValue::Array(_) => {
                for each in self.each(entry) {
                    let (mut to, mut weight) = (None, 1);
                    for entry in self.table(&each, HOW).unwrap_or_default() {
                        match entry.name {
                            "to" => to = self.target(&entry).map(|to| (to, entry.span.clone())),
                            "weight" => weight = self.number(&entry, 0..=u64::MAX).unwrap_or(1),
                            _ => self.unknown(&entry, "a jump", &["to", "weight"]),
                        }
                    }
                    match to {
                        Some((to, span)) => jump.to.push((to, weight, span)),
                        None if self.notes.len() > before => {}
                        None => self.error(&each.span, "the jump does not say where to", HOW),
                    }
                }
            }
            _ => jump.to.extend(self.target(entry).map(|to| (to, 1, entry.span.clone()))),
        }
        jump.is_told = self.notes.len() > before;
        jump
    }

    fn target(&mut self, entry: &Entry<'t>) -> Option<To<'t>> {
        match entry.value {
            DeValue::String(name) => Some(To::Name(name)),
            DeValue::Integer(_) => self.number(entry, 1..=u64::MAX).map(To::Number),
            _ => {
                self.wrong(entry, "a step", "its name in quotes, or its number, from 1");
                None
            }
        }
    }

    /// Leads the jumps to their steps.
    pub fn lead(&mut self, steps: Steps<'t>) -> Vec<Step> {
        let Steps { mut steps, names, jumps } = steps;
        let found = {
            let named = Named::new(&steps, &names);
            let targets = |jump: &Jump<'t>| self.targets(jump, &named, steps.len());
            jumps.iter().map(targets).collect::<Vec<_>>()
        };
        for (jump, targets) in jumps.iter().zip(found) {
            if let Some(step) = steps.get_mut(jump.at) {
                *step = Step::Branch(targets);
            }
        }
        steps
    }

    fn targets(&mut self, jump: &Jump<'t>, named: &Named<'_>, steps: usize) -> Vec<(usize, u64)> {
        let mut targets = Vec::new();
        for (to, weight, span) in &jump.to {
            let at = match to {
                To::Name(name) => self.find(name, span, named),
                To::Number(number) => {
                    let at = usize::try_from(*number - 1).ok().filter(|at| *at < steps);
                    if at.is_none() {
                        let mend = format!("a number from 1 to {steps}");
                        self.error(span, format!("there is no step {number}"), mend);
                    }
                    at
                }
            };
            targets.extend(at.map(|at| (at, *weight)));
        }
        let is_told = jump.is_told || targets.len() < jump.to.len();
        if !is_told && targets.iter().all(|(_, weight)| *weight == 0) {
            let mend = "goto = { \"name\" = 1 }, with a weight above 0";
            self.error(&jump.span, "the jump leads nowhere", mend);
        }
        targets
    }

    fn find(&mut self, name: &str, span: &Range<usize>, named: &Named<'_>) -> Option<usize> {
        match named.all.get(name) {
            Some((at, None)) => Some(*at),
            Some((first, Some(second))) => {
                let message =
                    format!("steps {} and {} are both called `{}`", first + 1, second + 1, cut(name));
                let mend = "give one of them another `name`, or say its number without quotes";
                self.error(span, message, mend);
                None
            }
            None => {
                let known: Vec<String> = named.first.iter().map(|name| format!("`{}`", cut(name))).collect();
                let message = format!("no step of this round is called `{}`", cut(name));
                self.error(span, message, format!("there are: {}", known.join(", ")));
                None
            }
        }
    }
}

/// What can be jumped to by name.
pub(super) struct Named<'s> {
    /// The step of each name, and the next that has it too.
    all: HashMap<&'s str, (usize, Option<usize>)>,
    /// As many as a message names.
    first: Vec<&'s str>,
}

impl<'s> Named<'s> {
    /// The names of requests, and those of other steps.
    pub fn new(steps: &'s [Step], names: &[(&'s str, usize)]) -> Named<'s> {
        let requests = steps.iter().enumerate().filter_map(|(at, step)| match step {
            Step::Request(request) => Some((request.id.as_str(), at)),
            _ => None,
        });
        let mut each: Vec<(&str, usize)> = requests.chain(names.iter().copied()).collect();
        each.sort_by_key(|(_, at)| *at);
        let mut all = HashMap::new();
        for (name, at) in &each {
            all.entry(*name)
                .and_modify(|(_, second): &mut (usize, Option<usize>)| {
                    second.get_or_insert(*at);
                })
                .or_insert((*at, None));
        }
        Named { all, first: each.iter().take(12).map(|(name, _)| *name).collect() }
    }

    /// Whether this name leads to one step alone.
    pub fn is_one(&self, name: &str) -> bool {
        matches!(self.all.get(name), Some((_, None)))
    }
}

/// A field's line at its first colon: the name, and the value without the spaces around it.
pub(super) fn split(line: &Value) -> Option<(Value, Value)> {
    let at = line.iter().position(|part| matches!(part, Part::Text(text) if text.contains(':')))?;
    let Some(Part::Text(text)) = line.get(at) else { return None };
    let (before, after) = text.split_once(':')?;
    let name = line.iter().take(at).cloned().chain([Part::Text(before.trim_end().to_owned())]);
    let value = [Part::Text(after.to_owned())].into_iter().chain(line.iter().skip(at + 1).cloned());
    let (mut name, mut value) = (joined(name), joined(value));
    if let Some(Part::Text(first)) = name.first_mut() {
        *first = first.trim_start().to_owned();
    }
    if let Some(Part::Text(first)) = value.first_mut() {
        *first = first.trim_start().to_owned();
    }
    if let Some(Part::Text(last)) = value.last_mut() {
        *last = last.trim_end().to_owned();
    }
    let (name, value) = (joined(name), joined(value));
    (!constant(&name).is_some_and(|name| name.is_empty())).then_some((name, value))
}
