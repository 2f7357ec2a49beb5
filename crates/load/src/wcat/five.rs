//! WCAT 5 files: the script (what is asked), the distribution (how often which), the configuration (how long, how many).
//!
//! Lines, one thing on each; names in any case. Not here: the command line that overrides them.

use super::scenario::{
    Field, Manner, Part, Request, Scenario, Settings, Step, Transaction, Value, is_method, joined,
};
use super::source::Note;
use std::ops::Range;

/// A class of the script, and the transactions of it: one of them is chosen, evenly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// In the order of the file.
    pub transactions: Vec<Class>,
}

/// A transaction and the class it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// `classId`.
    pub id: u64,
    /// Its requests, in their order.
    pub requests: Vec<Request>,
    /// Where it stands.
    pub span: Range<usize>,
}

/// The configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Times, ms.
    pub warmup_ms: Option<u64>,
    /// See `warmup_ms`.
    pub duration_ms: Option<u64>,
    /// See `warmup_ms`.
    pub cooldown_ms: Option<u64>,
    /// The rest.
    pub settings: Settings,
}

/// What lines of a configuration begin with.
pub(super) const KEYWORDS: [&str; 11] = [
    "Duration",
    "WarmupTime",
    "CooldownTime",
    "ThinkTime",
    "NumClientMachines",
    "NumClientThreads",
    "ClientMachinesMin",
    "ClientMachinesMax",
    "ClientMachinesIncrement",
    "MaxRecvBuffer",
    "Comment",
];

/// A line without its comment, and where it begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let begin = at;
        at += line.len();
        let code = without_comment(line);
        let indent = code.len() - code.trim_start().len();
        (begin + indent, code.trim())
    })
}

/// What stands before a `#` that is in no string.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let end = line.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == '#' && !quoted
    });
    end.and_then(|(at, _)| line.get(..at)).unwrap_or(line)
}

/// Reads a script.
pub fn script(text: &str, notes: &mut Vec<Note>) -> Script {
    let mut script = Script::default();
    let mut set = plain();
    let mut place = Place::Nowhere;
    for (at, line) in lines(text).filter(|(_, line)| !line.is_empty()) {
        let span = at..at + line.len();
        let words: Vec<String> = line.split_whitespace().map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["NEW", "TRANSACTION"] => {
                script.transactions.push(Class { id: 0, requests: Vec::new(), span });
                place = Place::Transaction;
            }
            ["NEW", "REQUEST", rest @ ..] => match (script.transactions.last_mut(), rest) {
                (None, _) => {
                    notes.push(Note::error(span, "a request outside of every transaction", "NEW TRANSACTION"))
                }
                (Some(class), ["HTTP"] | []) => {
                    class.requests.push(Request { span, ..set.clone() });
                    place = Place::Request;
                }
                (Some(_), [other, ..]) => {
                    notes.push(Note::error(
                        span,
                        format!("requests of {other} are not made"),
                        "NEW REQUEST HTTP",
                    ));
                }
            },
            ["SET"] | ["SET", "REQUEST", ..] => place = Place::Set,
            _ => {
                let given = Given::of(line, at, notes);
                let Some(given) = given else { continue };
                match (place, given.name.as_str(), script.transactions.last_mut()) {
                    (Place::Transaction, "classid", Some(class)) => match given.text.parse() {
                        Ok(id) => class.id = id,
                        Err(_) => notes.push(Note::error(span, "classId is a whole number", "classId = 1")),
                    },
                    (Place::Transaction, "weight", Some(_)) => {
                        let mend = "the distribution file says how often a class is asked";
                        notes.push(Note::warning(span, "a weight in the script does nothing", mend));
                    }
                    (Place::Request, _, Some(class)) => {
                        if let Some(request) = class.requests.last_mut() {
                            said(request, &given, notes);
                        }
                    }
                    (Place::Set, ..) => said(&mut set, &given, notes),
                    _ => {
                        let message = format!("`{}` stands where nothing is that could have it", given.name);
                        notes.push(Note::error(
                            span,
                            message,
                            "NEW TRANSACTION, classId = 1, NEW REQUEST HTTP, URL = \"…\"",
                        ));
                    }
                }
            }
        }
    }
    if script.transactions.is_empty() {
        notes.push(Note::error(0..0, "the script has no transaction", "begin with NEW TRANSACTION"));
    }
    for class in &script.transactions {
        if class.requests.is_empty() {
            notes.push(Note::error(
                class.span.clone(),
                "the transaction asks for nothing",
                "NEW REQUEST HTTP",
            ));
        }
        for request in class.requests.iter().filter(|request| request.url.is_empty()) {
            notes.push(Note::error(request.span.clone(), "the request has no URL", "URL = \"/\""));
        }
    }
    script
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Transaction,
    Request,
    Set,
}

/// `name = value`.
struct Given {
    name: String,
    text: String,
    file: bool,
    span: Range<usize>,
}

impl Given {
    fn of(line: &str, at: usize, notes: &mut Vec<Note>) -> Option<Given> {
        let span = at..at + line.len();
        let Some((name, value)) = line.split_once('=') else {
            notes.push(Note::error(span, "neither NEW … nor `name = value`", "write `URL = \"/\"`"));
            return None;
        };
        let value = value.trim().trim_end_matches(';').trim_end();
        let (file, value) = match value.get(..4) {
            Some(word) if word.eq_ignore_ascii_case("FILE") => {
                (true, value.get(4..).unwrap_or_default().trim())
            }
            _ => (false, value),
        };
        let is_curly = |c: char| "“”„‟″＂".contains(c);
        if value.starts_with(is_curly) || value.ends_with(is_curly) {
            notes.push(Note::warning(span.clone(), "a typographic quote is taken for \"", "write \""));
        }
        let is_quote = |c: char| c == '"' || is_curly(c);
        // One at each side: what else there is of them belongs to the text.
        let bare = value.strip_prefix(is_quote).unwrap_or(value);
        let bare = bare.strip_suffix(is_quote).unwrap_or(bare);
        if value.starts_with(is_quote) != value.ends_with(is_quote) {
            notes.push(Note::warning(span.clone(), "the string has only one of its quotes", "write \"…\""));
        }
        let text = bare.replace("\\\"", "\"");
        Some(Given { name: name.trim().to_ascii_lowercase(), text, file, span })
    }

    fn value(&self) -> Value {
        joined([match self.file {
            true => Part::File(self.text.clone()),
            false => Part::Text(self.text.clone()),
        }])
    }
}

/// A request before anything is said of it.
pub(super) fn plain() -> Request {
    // As the first seed's table shows: as many connections as requests.
    Request { close: Manner::Graceful, ..Request::plain() }
}

fn said(request: &mut Request, given: &Given, notes: &mut Vec<Note>) {
    let span = || given.span.clone();
    let is_true = given.text.eq_ignore_ascii_case("true");
    match given.name.as_str() {
        "url" => {
            request.url = given.value();
            request.id.clone_from(&given.text);
        }
        "verb" => {
            request.verb = given.text.to_ascii_uppercase();
            if !is_method(&request.verb) {
                notes.push(Note::error(span(), "this is no method", "Verb = \"GET\""));
            }
        }
        "server" => request.server = Some(given.value()),
        "serverport" => match given.text.parse() {
            Ok(port @ 1..) => request.port = Some(port),
            _ => notes.push(Note::error(span(), "this is no port", "a number from 1 to 65535")),
        },
        "ssl" => request.secure = is_true,
        "keepalive" => request.close = if is_true { Manner::Keep } else { Manner::Graceful },
        "requestdata" => request.body = Some(given.value()),
        "cookie" => request.add(Field {
            name: vec![Part::Text("Cookie".to_owned())],
            value: given.value(),
            replaces: true,
        }),
        "requestheader" => {
            // Several lines in one, parted by CR and LF as they were written in C.
            for line in given.text.replace("\\r\\n", "\n").lines().filter(|line| !line.trim().is_empty()) {
                match line.split_once(':') {
                    Some((name, value)) if !name.trim().is_empty() => request.add(Field {
                        name: vec![Part::Text(name.trim().to_owned())],
                        value: joined([Part::Text(value.trim().to_owned())]),
                        replaces: true,
                    }),
                    _ => {
                        notes.push(Note::error(span(), "this is no field", "RequestHeader = \"Name: value\""))
                    }
                }
            }
        }
        "weight" => {
            let mend = "the distribution file says how often a class is asked";
            notes.push(Note::warning(span(), "a weight in the script does nothing", mend));
        }
        "responseheader" | "responsedata" | "saveresponsefile" => {
            let message = format!("`{}` is read, and answers are not compared with it", given.name);
            notes.push(Note::warning(span(), message, "`--expect` looks at answers"));
        }
        other => notes.push(Note::error(
            span(),
            format!("a request has no `{other}`"),
            "URL, Verb, Server, ServerPort, RequestHeader, RequestData, KeepAlive, SSL, Cookie",
        )),
    }
}

/// Reads a distribution: `classId weight` on each line.
pub fn distribution(text: &str, notes: &mut Vec<Note>) -> Vec<(u64, u64)> {
    let mut weights: Vec<(u64, u64)> = Vec::new();
    for (at, line) in lines(text).filter(|(_, line)| !line.is_empty()) {
        let span = at..at + line.len();
        let numbers: Vec<Option<u64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        match numbers.as_slice() {
            [Some(class), Some(_)] if weights.iter().any(|(known, _)| known == class) => {
                notes.push(Note::error(
                    span,
                    format!("class {class} has its weight already"),
                    "one line for each",
                ));
            }
            [Some(class), Some(weight)] => weights.push((*class, *weight)),
            _ => {
                notes.push(Note::error(span, "a class and its weight are two whole numbers", "write `1 50`"))
            }
        }
    }
    weights
}

/// Puts a script and its distribution together. Several transactions of a class share its weight evenly.
pub fn scenario(script: &Script, weights: &[(u64, u64)], notes: &mut Vec<Note>) -> Scenario {
    let mut scenario = Scenario::default();
    let of_class = |id: u64| script.transactions.iter().filter(|class| class.id == id).count() as u64;
    // So that a share of a weight is a whole number.
    let common = script.transactions.iter().map(|class| of_class(class.id)).fold(1, lcm);
    for class in &script.transactions {
        let weight = match weights.iter().find(|(id, _)| *id == class.id) {
            Some((_, weight)) => *weight,
            None if weights.is_empty() => 1,
            None => {
                let message =
                    format!("class {} has no weight in the distribution, so it is never asked", class.id);
                notes.push(Note::warning(
                    class.span.clone(),
                    message,
                    format!("add the line `{} 50`", class.id),
                ));
                0
            }
        };
        let mut requests = class.requests.clone();
        if let Some(last) = requests.len().checked_sub(1).and_then(|at| requests.get_mut(at)) {
            last.id = if last.id.is_empty() { format!("class {}", class.id) } else { last.id.clone() };
        }
        scenario.transactions.push(Transaction {
            id: format!("class {}", class.id),
            weight: weight.saturating_mul(common / of_class(class.id).max(1)),
            steps: requests.into_iter().map(|request| Step::Request(Box::new(request))).collect(),
        });
    }
    for (id, _) in weights.iter().filter(|(id, _)| of_class(*id) == 0) {
        let message = format!("the distribution has class {id}, and the script has not");
        notes.push(Note::warning(0..0, message, "add a transaction with this classId, or take the line out"));
    }
    if scenario.transactions.iter().all(|transaction| transaction.weight == 0) {
        notes.push(Note::error(0..0, "no class has a weight above 0: nothing would be asked", "add `1 100`"));
    }
    scenario
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

/// Reads a configuration: `Keyword value` on each line.
pub fn config(text: &str, notes: &mut Vec<Note>) -> Config {
    let mut config = Config::default();
    let (mut first, mut last, mut step) = (None, None, None);
    for (at, line) in lines(text).filter(|(_, line)| !line.is_empty()) {
        let span = at..at + line.len();
        let (name, value) = line.split_once(|c: char| c.is_whitespace() || c == '=').unwrap_or((line, ""));
        let value = value.trim_start_matches(|c: char| c.is_whitespace() || c == '=').trim();
        let mut number = || match value.parse::<u64>() {
            Ok(number) => Some(number),
            Err(_) => {
                let message = format!("`{name}` is followed by a whole number");
                notes.push(Note::error(span.clone(), message, format!("write `{name} 1`")));
                None
            }
        };
        match name.to_ascii_lowercase().as_str() {
            "duration" => config.duration_ms = time(value, &span, notes),
            "warmuptime" => config.warmup_ms = time(value, &span, notes),
            "cooldowntime" => config.cooldown_ms = time(value, &span, notes),
            "thinktime" => config.settings.think_ms = time(value, &span, notes).unwrap_or(0),
            "numclientmachines" => config.settings.clients = number(),
            "numclientthreads" => config.settings.virtual_clients = number(),
            "clientmachinesmin" => first = number(),
            "clientmachinesmax" => last = number(),
            "clientmachinesincrement" => step = number(),
            "comment" => {
                let bare = value.strip_prefix('"').unwrap_or(value);
                config.settings.comment = bare.strip_suffix('"').unwrap_or(bare).to_owned();
            }
            // Ours grow as they have to.
            "maxrecvbuffer" => {}
            _ => {
                let mend = format!("there are: {}", KEYWORDS.join(", "));
                notes.push(Note::error(span, format!("there is no `{name}`"), mend));
            }
        }
    }
    if let (Some(first), Some(last)) = (first, last) {
        config.settings.steps = Some((first, last, step.unwrap_or(1).max(1)));
    }
    config
}

/// `30s`, `5m`, `1h`, `500ms`; a bare number is seconds.
pub fn time(value: &str, span: &Range<usize>, notes: &mut Vec<Note>) -> Option<u64> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let ms = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    if ms.is_none() {
        notes.push(Note::error(span.clone(), format!("`{value}` is no time"), "write `30s` or `5m`"));
    }
    ms
}
