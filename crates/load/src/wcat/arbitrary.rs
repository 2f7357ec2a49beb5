//! Any scenario and any settings, for properties.
//!
//! Not here: which of them a format can say.

use super::scenario::{
    Counter, Field, Manner, Part, Request, Scenario, Settings, Step, Transaction, Value, Version, joined,
    name_of,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// Anything that could stand in a text, and most of all what means something somewhere.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z/?=&.]{1,8}",
        "[ -~]{0,10}",
        "[{}\"'\\\\#;,<>:+ =“”]{0,6}",
        "(\\PC|\n|\r|\t|\u{0}|\u{7f}|\u{85}|\u{2028}|\u{feff}){0,5}",
        Just("FILE \"x\"".to_owned()),
        Just("a\\r\\nb".to_owned()),
    ]
}

fn some_text() -> impl Strategy<Value = String> {
    text().prop_map(|text| if text.is_empty() { "x".to_owned() } else { text })
}

fn value() -> impl Strategy<Value = Value> {
    let part = prop_oneof![
        4 => text().prop_map(Part::Text),
        1 => (any::<u64>(), any::<u64>()).prop_map(|(a, b)| Part::Random(a.min(b), a.max(b))),
        1 => Just(Part::Server),
        1 => Just(Part::ClientName),
        1 => Just(Part::ClientCount),
        1 => Just(Part::ClientIndex),
        1 => Just(Part::VirtualClientCount),
        1 => Just(Part::VirtualClientIndex),
        1 => some_text().prop_map(Part::File),
    ];
    vec(part, 0..4).prop_map(joined)
}

fn some_value() -> impl Strategy<Value = Value> {
    value().prop_map(|value| if value.is_empty() { vec![Part::Text("/".to_owned())] } else { value })
}

fn manner() -> impl Strategy<Value = Manner> {
    prop_oneof![Just(Manner::Keep), Just(Manner::Graceful), Just(Manner::Reset)]
}

fn field() -> impl Strategy<Value = Field> {
    let name = prop_oneof![
        3 => "[A-C]-[a-c]".prop_map(|name| vec![Part::Text(name)]),
        1 => some_value(),
    ];
    (name, value(), any::<bool>()).prop_map(|(name, value, replaces)| Field { name, value, replaces })
}

fn request() -> impl Strategy<Value = Request> {
    let verb = prop_oneof!["GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE", "[A-Za-z!#$%&'*+.^_`|~-]{1,6}"];
    let version = prop_oneof![Just(Version::Http10), Just(Version::Http11)];
    let way = (of(value()), of(1..=u16::MAX), any::<bool>(), any::<bool>(), any::<bool>(), manner());
    let said = (some_value(), of(prop_oneof!["[ab]", some_text()]), of(value()), vec(field(), 0..4));
    (verb, version, of(100_u16..=599), way, said).prop_map(|(verb, version, status, way, said)| {
        let (server, port, secure, cookies, redirect, close) = way;
        let (url, id, body, fields) = said;
        let mut request = Request {
            id: id.unwrap_or_default(),
            url,
            verb,
            version,
            status,
            server,
            port,
            secure,
            cookies,
            redirect,
            body,
            close,
            ..Request::plain()
        };
        for field in fields {
            request.add(field);
        }
        request
    })
}

fn step() -> impl Strategy<Value = Step> {
    let delay = prop_oneof![
        any::<u64>().prop_map(|ms| vec![Part::Text(ms.to_string())]),
        (any::<u64>(), any::<u64>()).prop_map(|(a, b)| vec![Part::Random(a.min(b), a.max(b))]),
    ];
    prop_oneof![
        4 => request().prop_map(|request| Step::Request(Box::new(request))),
        1 => delay.prop_map(Step::Sleep),
        1 => vec((any::<usize>(), prop_oneof![0_u64..4, any::<u64>()]), 1..4).prop_map(Step::Branch),
        1 => manner().prop_map(Step::Close),
    ]
}

fn transaction() -> impl Strategy<Value = Transaction> {
    let id = prop_oneof![3 => text(), 1 => "(round|class) [1-3]"];
    (id, prop_oneof![0_u64..3, any::<u64>()], vec(step(), 0..5), request()).prop_map(
        |(id, weight, steps, last)| {
            let mut transaction = Transaction { id, weight, steps };
            if !transaction.steps.iter().any(|step| matches!(step, Step::Request(_))) {
                transaction.steps.push(Step::Request(Box::new(last)));
            }
            let len = transaction.steps.len();
            for (at, step) in transaction.steps.iter_mut().enumerate() {
                match step {
                    Step::Request(request) if request.id.is_empty() => request.id = name_of(&request.url, at),
                    Step::Branch(targets) => {
                        targets.iter_mut().for_each(|(to, _)| *to %= len);
                        if targets.iter().all(|(_, weight)| *weight == 0) {
                            targets.push((0, 1));
                        }
                    }
                    _ => {}
                }
            }
            // A URL that is no text but nothing gives no name.
            for step in &mut transaction.steps {
                if let Step::Request(request) = step
                    && request.id.is_empty()
                {
                    request.id = "x".to_owned();
                }
            }
            transaction
        },
    )
}

/// Any scenario in which something is asked.
pub(crate) fn scenario() -> impl Strategy<Value = Scenario> {
    let times = (of(time()), of(time()), of(time()), of(1..=u64::MAX));
    (text(), times, vec(transaction(), 1..4)).prop_map(|(name, times, mut transactions)| {
        let (warmup_ms, duration_ms, cooldown_ms, throttle_per_s) = times;
        if transactions.iter().all(|transaction| transaction.weight == 0)
            && let Some(first) = transactions.first_mut()
        {
            first.weight = 1;
        }
        Scenario { name, warmup_ms, duration_ms, cooldown_ms, throttle_per_s, transactions }
    })
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), (0_u64..9_000).prop_map(|seconds| seconds * 1_000)]
}

/// Any settings.
pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let counter = ("[ab]?|\\PC{0,3}", prop_oneof![1_u64..3, 1..=u64::MAX], text());
    let counter = counter.prop_map(|(host, interval_s, path)| Counter { host, interval_s, path });
    let steps = of((any::<u64>(), any::<u64>(), 1..=u64::MAX));
    let think_ms = prop_oneof![Just(0), any::<u64>()];
    let names = || vec(prop_oneof!["[a-z]{1,4}(:[1-9][0-9]{0,3})?", text()], 0..3);
    let clients = (of(any::<u64>()), of(any::<u64>()));
    (names(), clients, names(), vec(counter, 0..4), think_ms, steps, text()).prop_map(
        |(servers, (clients, virtual_clients), bind, counters, think_ms, steps, comment)| Settings {
            servers,
            clients,
            virtual_clients,
            bind,
            counters,
            think_ms,
            steps,
            comment,
        },
    )
}

/// Changes every text of a scenario.
pub(crate) fn texts(scenario: &mut Scenario, change: &dyn Fn(&mut String)) {
    change(&mut scenario.name);
    for transaction in &mut scenario.transactions {
        change(&mut transaction.id);
        for step in &mut transaction.steps {
            let Step::Request(request) = step else { continue };
            change(&mut request.id);
            let fields = request.fields.iter_mut().flat_map(|field| [&mut field.name, &mut field.value]);
            let other = [&mut request.url].into_iter().chain(&mut request.server).chain(&mut request.body);
            for value in fields.chain(other) {
                for part in value.iter_mut() {
                    if let Part::Text(text) | Part::File(text) = part {
                        change(text);
                    }
                }
                *value = joined(std::mem::take(value));
            }
        }
    }
}
