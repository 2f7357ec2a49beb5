//! WCAT 6.3 files: what their blocks and attributes mean. A file may hold a scenario, settings, or both.
//!
//! What is not understood is refused by name: a load that is not the one its author meant proves nothing. Not here: the
//! grammar (`tree`), sending.

use super::nearest;
use super::scenario::{
    Counter, Field, Manner, Part, Request, Scenario, Settings, Step, Transaction, Value, Version, constant,
    is_method, joined, name_of,
};
use super::source::Note;
use super::tree::{self, Attribute, Block, Item};
use std::ops::Range;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ubr {
    /// `scenario { … }`.
    pub scenario: Option<Scenario>,
    /// `settings { … }`.
    pub settings: Option<Settings>,
}

/// Reads a file. With an error among the notes nothing of it is to be used.
pub fn read(text: &str, notes: &mut Vec<Note>) -> Ubr {
    let mut ubr = Ubr::default();
    let mut reader = Reader { notes };
    for block in tree::blocks(text, reader.notes) {
        match block.name.as_str() {
            "scenario" if ubr.scenario.is_none() => ubr.scenario = Some(reader.scenario(&block)),
            "settings" if ubr.settings.is_none() => ubr.settings = Some(reader.settings(&block)),
            "scenario" | "settings" => {
                let message = format!("there is a `{}` already", block.name);
                reader.error(&block.span, message, "one of each in a file");
            }
            name => {
                let message = format!("`{name}` is neither `scenario` nor `settings`");
                reader.error(&block.span, message, "");
            }
        }
    }
    ubr
}

struct Reader<'n> {
    notes: &'n mut Vec<Note>,
}

impl Reader<'_> {
    fn error(&mut self, span: &Range<usize>, message: impl Into<String>, mend: impl Into<String>) {
        self.notes.push(Note::error(span.clone(), message, mend));
    }

    fn warning(&mut self, span: &Range<usize>, message: impl Into<String>, mend: impl Into<String>) {
        self.notes.push(Note::warning(span.clone(), message, mend));
    }

    /// What `name` is not, in a block that has these.
    fn unknown(&mut self, name: &str, span: &Range<usize>, block: &str, known: &[&str]) {
        let message = format!("`{block}` has no `{name}`");
        self.error(span, message, nearest::mend(name, known));
    }

    fn scenario(&mut self, block: &Block) -> Scenario {
        const KNOWN: [&str; 8] = [
            "name",
            "warmup",
            "duration",
            "cooldown",
            "throttlerps",
            "throttlebps",
            "default",
            "transaction",
        ];
        let mut scenario = Scenario::default();
        let mut defaults = plain();
        // Wherever it stands it holds for all.
        for item in &block.items {
            if let Item::Block(inner) = item
                && inner.name == "default"
            {
                self.request_items(inner, &mut defaults, "default");
            }
        }
        for item in &block.items {
            match item {
                Item::Attribute(a) => match a.name.as_str() {
                    "name" => scenario.name = self.text(a),
                    "warmup" => scenario.warmup_ms = self.seconds(a),
                    "duration" => scenario.duration_ms = self.seconds(a),
                    "cooldown" => scenario.cooldown_ms = self.seconds(a),
                    "throttlerps" => scenario.throttle_per_s = self.number(a).filter(|n| *n > 0),
                    "throttlebps" => {
                        self.warning(&a.span, "`throttlebps` was read and did nothing", "take it out");
                    }
                    other => self.unknown(other, &a.span, "scenario", &KNOWN),
                },
                Item::Block(inner) => match inner.name.as_str() {
                    "default" => {}
                    "transaction" => {
                        let number = scenario.transactions.len() + 1;
                        scenario.transactions.push(self.transaction(inner, &defaults, number));
                    }
                    "library" | "function" | "handler" | "global" => {
                        let message = format!("`{}` loads code of Windows into the client", inner.name);
                        self.error(&inner.span, message, "there is nothing like it here; take it out");
                    }
                    other => self.unknown(other, &inner.span, "scenario", &KNOWN),
                },
            }
        }
        if scenario.transactions.iter().all(|transaction| transaction.weight == 0) {
            let mend = "add `transaction { request { url = \"/\"; } }`, with a weight above 0";
            self.error(&block.span, "the scenario has no transaction that could be chosen", mend);
        }
        scenario
    }

    fn transaction(&mut self, block: &Block, defaults: &Request, number: usize) -> Transaction {
        const KNOWN: [&str; 6] = ["id", "weight", "request", "sleep", "branch", "close"];
        let mut transaction =
            Transaction { id: format!("transaction {number}"), weight: 1, steps: Vec::new() };
        let mut ids: Vec<(String, usize)> = Vec::new();
        let mut branches = Vec::new();
        for item in &block.items {
            match item {
                Item::Attribute(a) => match a.name.as_str() {
                    "id" => transaction.id = self.text(a),
                    "weight" => transaction.weight = self.number(a).unwrap_or(1),
                    other => self.unknown(other, &a.span, "transaction", &KNOWN),
                },
                Item::Block(inner) => {
                    let at = transaction.steps.len();
                    let (id, step) = match inner.name.as_str() {
                        "request" => self.request(inner, defaults, at),
                        "sleep" => self.sleep(inner),
                        "branch" => {
                            branches.push((at, inner));
                            (String::new(), Step::Branch(Vec::new()))
                        }
                        "close" => (String::new(), Step::Close(self.close_block(inner))),
                        other => {
                            self.unknown(other, &inner.span, "transaction", &KNOWN);
                            continue;
                        }
                    };
                    if !id.is_empty() {
                        ids.push((id, at));
                    }
                    transaction.steps.push(step);
                }
            }
        }
        for (at, inner) in branches {
            let targets = self.branch(inner, &ids);
            if let Some(step) = transaction.steps.get_mut(at) {
                *step = Step::Branch(targets);
            }
        }
        if !transaction.steps.iter().any(|step| matches!(step, Step::Request(_))) {
            self.error(&block.span, "the transaction asks for nothing", "add `request { url = \"/\"; }`");
        }
        transaction
    }

    fn request(&mut self, block: &Block, defaults: &Request, at: usize) -> (String, Step) {
        let mut request = defaults.clone();
        request.span = block.span.clone();
        let id = self.request_items(block, &mut request, "request");
        if request.url.is_empty() {
            self.error(&block.span, "the request has no url", "add `url = \"/\";`");
        }
        request.id = match id.is_empty() {
            true => name_of(&request.url, at),
            false => id.clone(),
        };
        (id, Step::Request(Box::new(request)))
    }

    /// The attributes of a request, or of `default`; its id, if it has one.
    fn request_items(&mut self, block: &Block, request: &mut Request, of: &str) -> String {
        const KNOWN: [&str; 15] = [
            "id",
            "url",
            "verb",
            "version",
            "statuscode",
            "server",
            "port",
            "secure",
            "cookies",
            "redirect",
            "postdata",
            "close",
            "setheader",
            "addheader",
            "redirverb",
        ];
        let mut id = String::new();
        for item in &block.items {
            match item {
                Item::Attribute(a) => match a.name.as_str() {
                    "id" | "url" if of == "default" => {
                        self.error(
                            &a.span,
                            format!("`{}` is each request's own", a.name),
                            "put it into the request",
                        );
                    }
                    "id" => id = self.text(a),
                    "url" => request.url = self.value(&a.value),
                    "verb" => {
                        request.verb = self.text(a).to_ascii_uppercase();
                        if !is_method(&request.verb) {
                            self.error(&a.value_span, "this is no method", "GET, HEAD, POST …");
                        }
                    }
                    "version" => match self.text(a).to_ascii_uppercase().as_str() {
                        "HTTP10" => request.version = Version::Http10,
                        "HTTP11" => request.version = Version::Http11,
                        other => {
                            self.error(&a.value_span, format!("`{other}` is no version"), "HTTP10 or HTTP11")
                        }
                    },
                    "statuscode" => match self.number(a).and_then(|n| u16::try_from(n).ok()) {
                        Some(status @ 100..=599) => request.status = Some(status),
                        _ => self.error(&a.value_span, "this is no status", "a number from 100 to 599"),
                    },
                    "server" => request.server = Some(self.value(&a.value)),
                    "port" => match self.number(a).and_then(|n| u16::try_from(n).ok()) {
                        Some(port @ 1..) => request.port = Some(port),
                        _ => self.error(&a.value_span, "this is no port", "a number from 1 to 65535"),
                    },
                    "secure" => request.secure = self.truth(a),
                    "cookies" => request.cookies = self.truth(a),
                    "redirect" => request.redirect = self.truth(a),
                    "redirverb" => {
                        let message = "how a redirect is asked for is not said by its request here";
                        self.warning(&a.span, message, "it is as RFC 9110 says: 301, 302 and 303 by GET");
                    }
                    "postdata" => request.body = Some(self.value(&a.value)),
                    "close" => request.close = self.manner(a),
                    "username" | "password" | "authentication" => {
                        let message = format!("`{}`: NTLM, Kerberos and Basic are not spoken", a.name);
                        let mend = "for Basic, set the field: setheader { name = \"Authorization\"; value = \"Basic …\"; }";
                        self.error(&a.span, message, mend);
                    }
                    other => self.unknown(other, &a.span, of, &KNOWN),
                },
                Item::Block(inner) => match inner.name.as_str() {
                    "setheader" => self.field(inner, request, true),
                    "addheader" => self.field(inner, request, false),
                    "close" => request.close = self.close_block(inner),
                    "handler" | "library" => {
                        self.error(
                            &inner.span,
                            "handlers are code of Windows",
                            "there is nothing like it here",
                        );
                    }
                    other => self.unknown(other, &inner.span, of, &KNOWN),
                },
            }
        }
        id
    }

    fn field(&mut self, block: &Block, request: &mut Request, replaces: bool) {
        let (mut name, mut value) = (Value::new(), Value::new());
        for item in &block.items {
            match item {
                Item::Attribute(a) if a.name == "name" => name = self.value(&a.value),
                Item::Attribute(a) if a.name == "value" => value = self.value(&a.value),
                Item::Attribute(Attribute { name, span, .. }) | Item::Block(Block { name, span, .. }) => {
                    self.unknown(name, span, &block.name, &["name", "value"]);
                }
            }
        }
        if name.is_empty() {
            let mend = "add `name = \"…\";`";
            return self.error(&block.span, format!("`{}` has no name", block.name), mend);
        }
        request.add(Field { name, value, replaces });
    }

    fn sleep(&mut self, block: &Block) -> (String, Step) {
        let (mut id, mut delay) = (String::new(), Value::new());
        for item in &block.items {
            match item {
                Item::Attribute(a) if a.name == "id" => id = self.text(a),
                Item::Attribute(a) if a.name == "delay" => delay = self.value(&a.value),
                Item::Attribute(Attribute { name, span, .. }) | Item::Block(Block { name, span, .. }) => {
                    self.unknown(name, span, "sleep", &["id", "delay"]);
                }
            }
        }
        if !matches!(delay.as_slice(), [Part::Random(..)]) {
            match constant(&delay).and_then(|text| text.trim().parse::<u64>().ok()) {
                // In digits alone, however it was written.
                Some(ms) => delay = joined([Part::Text(ms.to_string())]),
                None => {
                    let mend = "add `delay = 1000;`";
                    self.error(&block.span, "`sleep` needs a delay in milliseconds", mend);
                }
            }
        }
        (id, Step::Sleep(delay))
    }

    fn branch(&mut self, block: &Block, ids: &[(String, usize)]) -> Vec<(usize, u64)> {
        let mut targets = Vec::new();
        for item in &block.items {
            let Item::Block(inner) = item else {
                self.error(
                    &block.span,
                    "`branch` holds `goto` blocks",
                    "branch { goto { id = \"…\"; weight = 1; } }",
                );
                continue;
            };
            if inner.name != "goto" {
                self.unknown(&inner.name, &inner.span, "branch", &["goto"]);
                continue;
            }
            let (mut id, mut weight) = (String::new(), 1);
            for item in &inner.items {
                match item {
                    Item::Attribute(a) if a.name == "id" => id = self.text(a),
                    Item::Attribute(a) if a.name == "weight" => weight = self.number(a).unwrap_or(1),
                    Item::Attribute(Attribute { name, span, .. }) | Item::Block(Block { name, span, .. }) => {
                        self.unknown(name, span, "goto", &["id", "weight"]);
                    }
                }
            }
            match ids.iter().find(|(known, _)| *known == id) {
                Some((_, at)) => targets.push((*at, weight)),
                None => {
                    let known: Vec<&str> = ids.iter().map(|(id, _)| id.as_str()).collect();
                    let mend = match known.is_empty() {
                        true => "give the request to jump to an `id`".to_owned(),
                        false => format!("there are: {}", known.join(", ")),
                    };
                    self.error(&inner.span, format!("nothing in this transaction has the id \"{id}\""), mend);
                }
            }
        }
        if targets.iter().all(|(_, weight)| *weight == 0) {
            self.error(&block.span, "the branch leads nowhere", "add `goto { id = \"…\"; weight = 1; }`");
        }
        targets
    }

    fn close_block(&mut self, block: &Block) -> Manner {
        let mut manner = Manner::Graceful;
        for item in &block.items {
            match item {
                Item::Attribute(a) if a.name == "method" => manner = self.manner(a),
                Item::Attribute(Attribute { name, span, .. }) | Item::Block(Block { name, span, .. }) => {
                    self.unknown(name, span, "close", &["method"]);
                }
            }
        }
        manner
    }

    fn manner(&mut self, a: &Attribute) -> Manner {
        match self.text(a).to_ascii_lowercase().as_str() {
            "ka" => Manner::Keep,
            "graceful" => Manner::Graceful,
            "reset" => Manner::Reset,
            other => {
                self.error(&a.value_span, format!("`{other}` is no way to close"), "ka, graceful or reset");
                Manner::Keep
            }
        }
    }

    fn settings(&mut self, block: &Block) -> Settings {
        const KNOWN: [&str; 8] =
            ["clientfile", "server", "clients", "virtualclients", "bind", "counters", "registry", "comment"];
        let mut settings = Settings::default();
        let list = |text: String| {
            let names = text.split([',', ';']).map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        for item in &block.items {
            match item {
                Item::Attribute(a) => match a.name.as_str() {
                    // Which file the scenario is in is said at the command line.
                    "clientfile" => {}
                    "server" => settings.servers = list(self.text(a)),
                    "clients" => settings.clients = self.number(a),
                    "virtualclients" => settings.virtual_clients = self.number(a),
                    "bind" => settings.bind = list(self.text(a)),
                    "comment" => settings.comment = self.text(a),
                    other => self.unknown(other, &a.span, "settings", &KNOWN),
                },
                Item::Block(inner) => match inner.name.as_str() {
                    "counters" => self.counters(inner, &mut settings.counters),
                    "registry" => {
                        let message = "there is no registry to read here";
                        self.warning(
                            &inner.span,
                            message,
                            "the run's bundle names system and versions instead",
                        );
                    }
                    other => self.unknown(other, &inner.span, "settings", &KNOWN),
                },
            }
        }
        settings
    }

    fn counters(&mut self, block: &Block, counters: &mut Vec<Counter>) {
        let (mut interval_s, mut host, mut paths) = (10, String::new(), Vec::new());
        for item in &block.items {
            match item {
                Item::Attribute(a) if a.name == "interval" => {
                    interval_s = self.number(a).unwrap_or(10).max(1)
                }
                Item::Attribute(a) if a.name == "host" => host = self.text(a),
                Item::Attribute(a) if a.name == "counter" => paths.push(self.text(a)),
                Item::Attribute(Attribute { name, span, .. }) | Item::Block(Block { name, span, .. }) => {
                    self.unknown(name, span, "counters", &["interval", "host", "counter"]);
                }
            }
        }
        counters.extend(paths.into_iter().map(|path| Counter { host: host.clone(), interval_s, path }));
    }

    /// A text that is the same each time; names stand for themselves.
    fn text(&mut self, a: &Attribute) -> String {
        let value = self.value(&a.value);
        constant(&value).unwrap_or_else(|| {
            self.error(
                &a.value_span,
                format!("`{}` must be the same each time", a.name),
                "write a \"string\"",
            );
            String::new()
        })
    }

    fn number(&mut self, a: &Attribute) -> Option<u64> {
        let text = self.text(a);
        let number = text.trim().parse().ok();
        if number.is_none() {
            self.error(&a.value_span, format!("`{}` is a whole number", a.name), "write it in digits");
        }
        number
    }

    fn seconds(&mut self, a: &Attribute) -> Option<u64> {
        self.number(a).map(|seconds| seconds.saturating_mul(1_000))
    }

    fn truth(&mut self, a: &Attribute) -> bool {
        match self.text(a).to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => true,
            "false" | "0" | "no" => false,
            other => {
                self.error(
                    &a.value_span,
                    format!("`{other}` is neither true nor false"),
                    "write true or false",
                );
                false
            }
        }
    }

    fn value(&mut self, value: &tree::Value) -> Value {
        joined(value.iter().filter_map(|part| self.part(part)))
    }

    fn part(&mut self, part: &tree::Part) -> Option<Part> {
        Some(match part {
            tree::Part::Text(text) | tree::Part::Name(text) => Part::Text(text.clone()),
            tree::Part::Number(number) => Part::Text(number.to_string()),
            tree::Part::File(name, _) => Part::File(name.clone()),
            tree::Part::Call(name, given, span) => match (name.as_str(), given.as_slice()) {
                ("server", []) => Part::Server,
                ("clientname", []) => Part::ClientName,
                ("clientcount", []) => Part::ClientCount,
                ("clientindex", []) => Part::ClientIndex,
                ("vclientcount", []) => Part::VirtualClientCount,
                ("vclientindex", []) => Part::VirtualClientIndex,
                ("rand", [low, high]) => {
                    let mut bound = |value: &tree::Value| {
                        let value = self.value(value);
                        constant(&value).and_then(|text| text.trim().parse::<u64>().ok())
                    };
                    match (bound(low), bound(high)) {
                        (Some(low), Some(high)) if low <= high => Part::Random(low, high),
                        _ => {
                            let mend = "rand(\"1\", \"10\"): two whole numbers, the lower first";
                            self.error(span, "`rand` needs its two bounds", mend);
                            return None;
                        }
                    }
                }
                (name, _) => {
                    const KNOWN: [&str; 7] = [
                        "rand",
                        "server",
                        "clientname",
                        "clientcount",
                        "clientindex",
                        "vclientcount",
                        "vclientindex",
                    ];
                    let mend = match nearest::nearest(name, &KNOWN) {
                        Some(near) if near != name => format!("did you mean `{near}`?"),
                        _ => format!("there are: {}(); only rand is given anything", KNOWN.join("(), ")),
                    };
                    self.error(span, format!("`{name}` cannot be called like this"), mend);
                    return None;
                }
            },
        })
    }
}

/// A request before anything is said of it.
pub(super) fn plain() -> Request {
    Request { version: Version::Http10, status: Some(200), cookies: true, ..Request::plain() }
}
