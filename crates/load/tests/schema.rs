//! The published schema of the JSON report is that of the reports: a full sample and real runs are held against it.
//!
//! The checker knows the part of JSON Schema 2020-12 the schema uses, and stops at any word it does not know. It is
//! stricter than the schema says: a field the schema does not name is an error here, so that none is added without
//! being published.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::collections::BTreeSet;

use common::{Server, ok, run};
use serde_json::{Value, json};
use thirst::counters::{CounterSeries, Counters};
use thirst::report::bundle::{Bundle, Host};

use thirst::report::model::{
    Asked, Bytes, Cache, Connections, Connects, Cpu, Errors, Histogram, Latencies, Open, Point, Probe, Row,
    Run, SCHEMA, Search, Series, Server as Watched, Step, Thread, TypeBytes, Window,
};
use thirst::stats::Summary;
use thirst::verdict::{Finding, Grade, Verdict};

/// A value held against a schema: what is wrong with it, and which fields of the schema it has.
struct Checker {
    schema: Value,
    wrong: Vec<String>,
    seen: BTreeSet<String>,
}

impl Checker {
    fn published() -> Checker {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/thirst-run.schema.json");
        let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        Checker { schema, wrong: Vec::new(), seen: BTreeSet::new() }
    }

    fn hold(value: &Value) -> Checker {
        let mut checker = Checker::published();
        let schema = checker.schema.clone();
        checker.value(&schema, value, "", "Run");
        checker
    }

    fn value(&mut self, schema: &Value, value: &Value, at: &str, of: &str) {
        for (word, wanted) in schema.as_object().unwrap() {
            let right = match word.as_str() {
                "$schema" | "$id" | "$defs" | "$comment" | "title" | "description" => true,
                "$ref" => {
                    let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    let of_ref = self.schema["$defs"][name].clone();
                    assert!(of_ref.is_object(), "{name} is not defined");
                    self.value(&of_ref, value, at, name);
                    true
                }
                "type" => match wanted {
                    Value::String(one) => is(one, value),
                    many => many.as_array().unwrap().iter().any(|one| is(one.as_str().unwrap(), value)),
                },
                "const" => value == wanted,
                "enum" => wanted.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|n| n >= wanted.as_f64().unwrap()),
                "minItems" => value.as_array().is_none_or(|all| all.len() as u64 >= wanted.as_u64().unwrap()),
                "maxItems" => value.as_array().is_none_or(|all| all.len() as u64 <= wanted.as_u64().unwrap()),
                "anyOf" => self.any_of(wanted, value, at, of),
                "required" => {
                    let missing = wanted.as_array().unwrap().iter().filter(|name| {
                        value.as_object().is_some_and(|object| !object.contains_key(name.as_str().unwrap()))
                    });
                    self.wrong.extend(missing.map(|name| format!("{at}: no {name}")));
                    true
                }
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(wanted, item, &format!("{at}/{number}"), of);
                    }
                    true
                }
                "prefixItems" => {
                    let pairs = wanted.as_array().unwrap().iter().zip(value.as_array().into_iter().flatten());
                    for (number, (schema, item)) in pairs.enumerate() {
                        self.value(schema, item, &format!("{at}/{number}"), of);
                    }
                    true
                }
                "properties" => {
                    self.properties(wanted, value, at, of);
                    true
                }
                "additionalProperties" => {
                    for (name, item) in value.as_object().into_iter().flatten() {
                        self.value(wanted, item, &format!("{at}/{name}"), of);
                    }
                    true
                }
                other => panic!("the checker does not know `{other}`"),
            };
            if !right {
                self.wrong.push(format!("{at}: {value} is not {word} {wanted}"));
            }
        }
    }

    fn any_of(&mut self, schemas: &Value, value: &Value, at: &str, of: &str) -> bool {
        let mut held = schemas.as_array().unwrap().iter().map(|schema| {
            let mut one = Checker { schema: self.schema.clone(), wrong: Vec::new(), seen: BTreeSet::new() };
            one.value(schema, value, at, of);
            one
        });
        match held.find(|one| one.wrong.is_empty()) {
            Some(one) => {
                self.seen.extend(one.seen);
                true
            }
            None => false,
        }
    }

    fn properties(&mut self, properties: &Value, value: &Value, at: &str, of: &str) {
        for (name, item) in value.as_object().into_iter().flatten() {
            match properties.get(name) {
                Some(schema) => {
                    self.seen.insert(format!("{of}.{name}"));
                    self.value(schema, item, &format!("{at}/{name}"), of);
                }
                None => self.wrong.push(format!("{at}: {name} is not in the schema")),
            }
        }
    }

    /// All fields that are published.
    fn published_fields(&self) -> BTreeSet<String> {
        let defs = self.schema["$defs"].as_object().unwrap().iter();
        let all = defs.map(|(name, def)| (name.as_str(), def)).chain([("Run", &self.schema)]);
        let fields = all.flat_map(|(name, def)| {
            def["properties"].as_object().unwrap().keys().map(move |field| format!("{name}.{field}"))
        });
        fields.collect()
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("no such type: {other}"),
    }
}

fn summary() -> Option<Summary> {
    Some(Summary {
        count: 1,
        min: 1.0,
        avg: 1.0,
        p50: 1.0,
        p75: 1.0,
        p90: 1.0,
        p95: 1.0,
        p99: 1.0,
        p999: 1.0,
        max: 1.0,
        curve: vec![(0.0, 1.0), (1.0, 1.0)],
    })
}

fn verdict() -> Verdict {
    let finding = Finding { grade: Grade::Note, code: "x".into(), text: "y".into(), mend: "z".into() };
    Verdict { grade: Grade::Suspect, at_least: true, findings: vec![finding] }
}

fn row() -> Row {
    Row { name: "a".into(), answers: 1, failures: 1, body_bytes: 1, p50_us: 1.0, p99_us: 1.0 }
}

/// A run with everything in it. No `..Default`: who adds a field to the model meets this, and then the schema.
fn full() -> Run {
    Run {
        schema: SCHEMA.into(),
        thirst: "1".into(),
        label: "a".into(),
        started_unix_ms: 1,
        asked: asked(),
        verdict: verdict(),
        requests: 1,
        responses: 1,
        unfinished: 1,
        interrupted: true,
        all_requests: 1,
        elapsed_s: 1.0,
        requests_per_s: 1.0,
        read_bytes_per_s: 1.0,
        statuses: [(200, 1)].into(),
        status_classes: [("2xx".into(), 1)].into(),
        errors: Errors {
            requests: 1,
            connects: 1,
            unmeasured: 1,
            kinds: [("reset".into(), 1)].into(),
            samples: [("reset".into(), "why".into())].into(),
        },
        latency_us: latencies(),
        bytes: Bytes {
            read: 1,
            written: 1,
            heads: 1,
            bodies: 1,
            decoded: Some(1),
            gzip_bodies: 1,
            opaque_bodies: 1,
            decoded_samples: 1,
            types: vec![TypeBytes {
                name: "text/html".into(),
                answers: 1,
                bodies: 1,
                coded: 1,
                decoded: Some(1),
                decoded_samples: 1,
            }],
        },
        cache: Cache {
            hits: 1,
            misses: 1,
            unknown: 1,
            stale: 1,
            revalidated: 1,
            hit_ratio: Some(0.5),
            hit_body_bytes: 1,
        },
        connections: connections(),
        cpu: cpu(),
        series: Series {
            interval_s: 1,
            window_start_s: 0.0,
            window_end_s: 1.0,
            points: vec![Point { at_s: 0, responses: 1, errors: 1, read_bytes: 1, p50_us: 1.0, p99_us: 1.0 }],
        },
        steps: vec![step()],
        rows: vec![row()],
        rounds: vec![row()],
        unsent: 1,
        rounds_done: 1,
        kept: 1,
        changed: 1,
        histograms: vec![Histogram {
            times: "last-byte".into(),
            step: Some(0),
            start_s: 0.0,
            length_s: 1.0,
            cells_us: vec![(1, 1)],
        }],
        ended: Some("why".into()),
        calibrated_per_s: Some(1.0),
        search: Some(Search {
            rules: vec!["p99<1s".into()],
            probes: vec![Probe { rate: 1.0, outcome: "failed".into(), why: "why".into() }],
            capacity_per_s: Some(1.0),
            at_least: true,
            result: "a".into(),
        }),
        counters: Some(Counters {
            interval_s: 1,
            series: vec![CounterSeries {
                name: "host cpu".into(),
                unit: "%".into(),
                source: "/proc".into(),
                points: vec![(0, 1.0)],
                extremes: vec![(0.5, 1.5)],
            }],
            notes: vec!["why".into()],
        }),
        bundle: Some(Bundle {
            words: vec!["run".into()],
            files: [("a".into(), "b".into())].into(),
            too_large: vec!["c".into()],
            job: Some(Box::default()),
            host: Host {
                name: "a".into(),
                system: "Linux 6".into(),
                processor: "p".into(),
                cores: 2,
                memory_bytes: 1,
            },
        }),
    }
}

fn asked() -> Asked {
    Asked {
        urls: vec!["http://a/".into()],
        servers: vec!["a:80".into()],
        method: "GET".into(),
        load: "open".into(),
        open: Some(Open { rate: 1.0, spacing: "poisson".into(), when_full: "drop".into() }),
        counters: vec!["a".into()],
        seed: 1,
        think_s: Some((0.5, 1.0)),
        most_per_s: Some(1.0),
        expect: vec!["status=200".into()],
        until: vec!["p99>1s".into()],
        fail_if: vec!["errors>0".into()],
        connections: 1,
        threads: 1,
        count: Some(1),
        warmup_s: 1.0,
        duration_s: Some(1.0),
        cooldown_s: 1.0,
        timeout_s: 1.0,
        keep_alive: true,
        same_host: true,
    }
}

fn latencies() -> Latencies {
    Latencies {
        connect: summary(),
        first_byte: summary(),
        last_byte: summary(),
        hit_first_byte: summary(),
        hit_last_byte: summary(),
        miss_first_byte: summary(),
        miss_last_byte: summary(),
        failed: summary(),
        tls: summary(),
        response: summary(),
        send_lag: summary(),
        own_lag: summary(),
        stale_first_byte: summary(),
        stale_last_byte: summary(),
        revalidated_first_byte: summary(),
        revalidated_last_byte: summary(),
        round: summary(),
    }
}

fn connections() -> Connections {
    Connections {
        attempts: 1,
        made: 1,
        peak: 1,
        open_at_end: 1,
        socket_reads: 1,
        socket_writes: 1,
        connects: Some(Connects {
            asynchronous: 1,
            in_flight_at_end: 1,
            in_flight_peak: 1,
            failed_in_a_row: 1,
            given_up: 1,
        }),
        window: Some(Window {
            attempts: 1,
            made: 1,
            failed: 1,
            failed_for_want: 1,
            failed_in_a_row: 1,
            asynchronous: 1,
            given_up: 1,
            socket_reads: 1,
            socket_writes: 1,
        }),
    }
}

fn cpu() -> Cpu {
    Cpu {
        generator: vec![Thread {
            busy: 0.5,
            starved: Some(0.1),
            mean_wait_us: Some(1.0),
            longest_turn_us: 1.0,
            spun: 0.1,
        }],
        generator_us_per_request: 1.0,
        servers: vec![Watched {
            name: "a".into(),
            pid: 1,
            processes: 1,
            found: true,
            cpu_us: 1,
            cores: 1.0,
            us_per_request: 1.0,
            rss_bytes: 1,
        }],
        server_us_per_request: Some(1.0),
    }
}

fn step() -> Step {
    Step {
        level: 1.0,
        start_s: 1.0,
        elapsed_s: 1.0,
        requests: 1,
        responses: 1,
        errors: 1,
        unsent: 1,
        requests_per_s: 1.0,
        read_bytes_per_s: 1.0,
        first_byte: summary(),
        last_byte: summary(),
        response: summary(),
        send_lag: summary(),
        server_cores: Some(1.0),
        generator_busy: 0.5,
        verdict: verdict(),
    }
}

#[test]
fn every_field_of_a_report_is_published_and_every_published_field_is_there() {
    let checker = Checker::hold(&serde_json::to_value(full()).unwrap());
    assert!(checker.wrong.is_empty(), "{:#?}", checker.wrong);
    let published = checker.published_fields();
    let stale: Vec<&String> = published.difference(&checker.seen).collect();
    assert!(stale.is_empty() && published.len() > 130, "published and not written: {stale:?}");
}

#[test]
fn what_is_no_report_is_not_taken_for_one() {
    let sample = serde_json::to_value(full()).unwrap();
    for (pointer, wrong) in [
        ("/schema", json!("thirst.run/2")),
        ("/requests", json!(-1)),
        ("/requests", json!(1.5)),
        ("/elapsed_s", json!(null)),
        ("/asked/urls/0", json!(7)),
        ("/asked/think_s", json!([1.0])),
        ("/statuses/200", json!("many")),
        ("/latency_us/response/p99", json!("slow")),
        ("/steps/0/verdict/grade", json!("FINE")),
        ("/steps/0/last_byte/curve/0", json!([0.0, 1.0, 2.0])),
        ("/cpu/servers/0", json!({})),
    ] {
        let mut damaged = sample.clone();
        *damaged.pointer_mut(pointer).unwrap() = wrong.clone();
        assert!(!Checker::hold(&damaged).wrong.is_empty(), "{pointer} = {wrong}");
    }
    let mut more = sample;
    more["surprise"] = json!(1);
    assert_eq!(Checker::hold(&more).wrong, [": surprise is not in the schema"]);
}

#[test]
fn real_runs_are_as_published() {
    let server = Server::canned(ok("x", "X-Cache: HIT\r\n"));
    let (a, b) = (server.url("/a"), server.url("/b"));
    for args in [
        vec![a.as_str(), "-n", "5"],
        vec![&a, &b, "-d", "300ms", "-c", "3", "--fail-if", "errors>50%", "--expect", "status=200"],
        vec![
            &a,
            "--steps",
            "50,100@400ms",
            "--settle",
            "100ms",
            "--poisson",
            "-c",
            "9",
            "--until",
            "errors>90%",
        ],
        vec![&a, "--ramp", "1..3:+1@300ms", "--settle", "100ms", "--think", "1ms..2ms", "--no-keepalive"],
        vec![&a, "-n", "3", "--expect", "body~never"],
    ] {
        let (json, _) = run(&args);
        let checker = Checker::hold(&json);
        assert!(checker.wrong.is_empty(), "{args:?}: {:#?}", checker.wrong);
        assert!(checker.seen.len() > 90, "{} fields", checker.seen.len());
    }
}
