//! What a scenario asks for, whichever WCAT its files are for: transactions with their weights, and in each the requests,
//! pauses and jumps in their order. Not here: how a file says it (`ubr`, `five`), and doing it.

use std::ops::Range;

/// A scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// Its name, if it has one.
    pub name: String,
    /// Load that is not measured, before, ms.
    pub warmup_ms: Option<u64>,
    /// Measured load, ms.
    pub duration_ms: Option<u64>,
    /// Load that is not measured, after, ms.
    pub cooldown_ms: Option<u64>,
    /// Requests a second, at most, over all clients.
    pub throttle_per_s: Option<u64>,
    /// What virtual clients do, one after the other, chosen by weight.
    pub transactions: Vec<Transaction>,
}

/// A round of a virtual client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Its name.
    pub id: String,
    /// How often it is chosen, beside the others.
    pub weight: u64,
    /// What it does, in this order.
    pub steps: Vec<Step>,
}

/// One thing a transaction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A request, and its answer awaited.
    Request(Box<Request>),
    /// A pause, ms.
    Sleep(Value),
    /// A jump to one of these steps, by weight.
    Branch(Vec<(usize, u64)>),
    /// The connection ends.
    Close(Manner),
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It does not: it is kept.
    Keep,
    /// As connections end.
    Graceful,
    /// By a reset: its port is free at once.
    Reset,
}

/// The version of HTTP that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: a connection for each request, unless `Connection: keep-alive` is said.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its name, for jumps and reports.
    pub id: String,
    /// What is asked for: a path, or with a server of its own a whole URL.
    pub url: Value,
    /// Method.
    pub verb: String,
    /// HTTP version.
    pub version: Version,
    /// The status that is right; another counts as an error. `None`: any below 400.
    pub status: Option<u16>,
    /// Another server than that of the run.
    pub server: Option<Value>,
    /// Another port than that of the run.
    pub port: Option<u16>,
    /// Over TLS.
    pub secure: bool,
    /// The virtual client's cookies are sent and taken.
    pub cookies: bool,
    /// Redirects are followed.
    pub redirect: bool,
    /// What is sent with it.
    pub body: Option<Value>,
    /// What becomes of the connection after the answer.
    pub close: Manner,
    /// Fields, in this order.
    pub fields: Vec<Field>,
    /// Where it stands in its file.
    pub span: Range<usize>,
}

impl Request {
    /// A request of which nothing is said: GET over HTTP/1.1, any status below 400, the connection kept.
    pub fn plain() -> Request {
        Request {
            id: String::new(),
            url: Value::new(),
            verb: "GET".to_owned(),
            version: Version::Http11,
            status: None,
            server: None,
            port: None,
            secure: false,
            cookies: false,
            redirect: false,
            body: None,
            close: Manner::Keep,
            fields: Vec::new(),
            span: 0..0,
        }
    }

    /// Takes a field on: beside those of its name, or in their place. Names that are known only when it is sent are
    /// compared then.
    pub fn add(&mut self, field: Field) {
        if let Some(new) = constant(&field.name).filter(|_| field.replaces) {
            let is_same = |f: &Field| constant(&f.name).is_some_and(|old| old.eq_ignore_ascii_case(&new));
            self.fields.retain(|field| !is_same(field));
        }
        self.fields.push(field);
    }
}

/// The name of a request that was given none: what it asks for, or else its place among the steps, from 0.
pub(crate) fn name_of(url: &Value, at: usize) -> String {
    constant(url).unwrap_or_else(|| format!("request {}", at + 1))
}

/// Whether this can be a method (RFC 9110 §9.1): another would break the request.
pub(crate) fn is_method(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token)
}

impl Scenario {
    /// Without the places where things stand in their files: what it asks for, to be compared with another.
    pub fn without_places(mut self) -> Scenario {
        for step in self.transactions.iter_mut().flat_map(|transaction| transaction.steps.iter_mut()) {
            if let Step::Request(request) = step {
                request.span = 0..0;
            }
        }
        self
    }
}

/// A header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name.
    pub name: Value,
    /// Value.
    pub value: Value,
    /// It takes the place of an earlier one of its name, instead of coming beside it.
    pub replaces: bool,
}

/// A text that may be another each time: its parts one after the other. No two texts follow each other, and none is empty,
/// so that what is the same is equal.
pub type Value = Vec<Part>;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Always the same.
    Text(String),
    /// A number between these two, both possible.
    Random(u64, u64),
    /// The server of the run, without its port.
    Server,
    /// The name of the machine that sends.
    ClientName,
    /// How many machines send.
    ClientCount,
    /// The number of this one among them.
    ClientIndex,
    /// How many virtual clients there are on this machine.
    VirtualClientCount,
    /// The number of this one among them.
    VirtualClientIndex,
    /// What is in a file.
    File(String),
}

/// What the settings of a run say beside its scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The servers to ask, in turn.
    pub servers: Vec<String>,
    /// Machines that send.
    pub clients: Option<u64>,
    /// Virtual clients on each.
    pub virtual_clients: Option<u64>,
    /// Their addresses.
    pub bind: Vec<String>,
    /// What is counted at the server while it is under load.
    pub counters: Vec<Counter>,
    /// The longest pause before each page, ms, of which a random part is made.
    pub think_ms: u64,
    /// Machines at first, at last, and how many come with each step.
    pub steps: Option<(u64, u64, u64)>,
    /// A word about it.
    pub comment: String,
}

/// A performance counter of Windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The machine.
    pub host: String,
    /// Every so many seconds.
    pub interval_s: u64,
    /// `Processor(_Total)\% Processor Time`.
    pub path: String,
}

/// A value of these parts.
pub(crate) fn joined(parts: impl IntoIterator<Item = Part>) -> Value {
    let mut value = Value::new();
    for part in parts {
        match (value.last_mut(), part) {
            (_, Part::Text(more)) if more.is_empty() => {}
            (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
            (_, part) => value.push(part),
        }
    }
    value
}

/// Text that is always the same, if it is.
pub fn constant(value: &Value) -> Option<String> {
    let mut all = String::new();
    for part in value {
        match part {
            Part::Text(text) => all.push_str(text),
            _ => return None,
        }
    }
    Some(all)
}
