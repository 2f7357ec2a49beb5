//! The XML log of WCAT 5: `/Webcat/Log/Statistics` with an element for each number, `/Webcat/Log/Counters/Counter`.
//!
//! Known from a script that reads it: `Http200`, a count; `BadStatusErrors`, which is there only if there were any;
//! and of a counter its `Object`, `Instance`, `Name` and `Average`. The other statistics have the names of the
//! console's rows run together. Counters are those that were asked for, where something here answers to them, else those of
//! the server's processes; nothing is written of a machine nobody looked at.
//!
//! Not here: 6.3 ([`super::six`]).

use super::decimal;
use super::write::Writer;
use crate::counters::windows;
use crate::report::model::{Run, Server};
use crate::report::text;

/// The whole file.
pub fn five(run: &Run) -> String {
    let mut xml = Writer::new();
    xml.within("Webcat", &[], |xml| {
        xml.within("Log", &[], |xml| {
            header(run, xml);
            statistics(run, xml);
            counters(run, xml);
        });
    });
    xml.end()
}

fn header(run: &Run, xml: &mut Writer) {
    let asked = &run.asked;
    xml.within("Header", &[], |xml| {
        xml.leaf("Version", &[], &format!("thirst {}", run.thirst));
        xml.leaf("Server", &[], &text::server_name(run));
        xml.leaf("Comment", &[], &run.label);
        xml.leaf("Clients", &[], &asked.connections.to_string());
        xml.leaf("Threads", &[], &asked.threads.to_string());
        xml.leaf("WarmupTime", &[], &decimal(asked.warmup_s));
        xml.leaf("Duration", &[], &decimal(run.elapsed_s));
        xml.leaf("CooldownTime", &[], &decimal(asked.cooldown_s));
    });
}

fn statistics(run: &Run, xml: &mut Writer) {
    let status = |wanted: &dyn Fn(u16) -> bool| {
        run.statuses.iter().filter(|(status, _)| wanted(**status)).map(|(_, n)| n).sum::<u64>()
    };
    // Of the measured window, as all its counts are; stored runs may know those of the whole run only.
    let window = run.connections.window;
    let counts = [
        ("TotalRequests", run.requests),
        ("TotalResponses", run.whole_responses()),
        ("TotalBytesRead", run.bytes.read),
        ("TotalBytesWritten", run.bytes.written),
        ("TotalConnectionAttempts", window.map_or(run.connections.attempts, |window| window.attempts)),
        ("TotalConnectErrors", window.map_or(run.errors.connects, |window| window.failed)),
        ("Http200", status(&|s| s == 200)),
        ("Http304", status(&|s| s == 304)),
        ("Http404", status(&|s| s == 404)),
        ("Http500", status(&|s| s == 500)),
    ];
    let bad = status(&text::is_bad);
    xml.within("Statistics", &[], |xml| {
        for (name, n) in counts {
            xml.leaf(name, &[], &n.to_string());
        }
        // Who reads it takes its presence for an error.
        if bad > 0 {
            xml.leaf("BadStatusErrors", &[], &bad.to_string());
        }
        xml.leaf("RequestsPerSecond", &[], &decimal(run.requests_per_s));
        let times = [
            ("ConnectTime", &run.latency_us.connect),
            ("FirstByteTime", &run.latency_us.first_byte),
            ("LastByteTime", &run.latency_us.last_byte),
        ];
        for (name, summary) in times {
            let Some(summary) = summary else { continue };
            xml.within(name, &[("unit", "ms")], |xml| {
                xml.leaf("Minimum", &[], &decimal(summary.min / 1e3));
                xml.leaf("Average", &[], &decimal(summary.avg / 1e3));
                xml.leaf("Maximum", &[], &decimal(summary.max / 1e3));
            });
        }
    });
}

fn counters(run: &Run, xml: &mut Writer) {
    let asked = asked_for(run);
    let of_servers = run.cpu.servers.iter().flat_map(of_server);
    let all: Vec<Counter> = if run.asked.counters.is_empty() { of_servers.collect() } else { asked };
    if all.is_empty() {
        return;
    }
    xml.within("Counters", &[], |xml| {
        for ([object, instance, name], average) in &all {
            xml.within("Counter", &[], |xml| {
                xml.leaf("Object", &[], object);
                xml.leaf("Instance", &[], instance);
                xml.leaf("Name", &[], name);
                xml.leaf("Average", &[], &decimal(*average));
            });
        }
    });
}

/// Object, instance and name of a counter, and what it was on average.
type Counter = ([String; 3], f64);

fn of_server(server: &Server) -> [Counter; 2] {
    let of = |name: &str| ["Process".to_owned(), server.name.clone(), name.to_owned()];
    [(of("% Processor Time"), server.cores * 100.0), (of("Working Set"), server.rss_bytes as f64)]
}

/// The counters that were asked for and answered.
fn asked_for(run: &Run) -> Vec<Counter> {
    let Some(counters) = &run.counters else { return Vec::new() };
    let readings: Vec<windows::Reading> = run.asked.counters.iter().map(|path| windows::read(path)).collect();
    let window = run.series.window_start_s..run.series.window_end_s;
    let answered = windows::rows(&readings, counters, &window).into_iter();
    answered
        .filter_map(|found| {
            let (object, instance, name) = windows::names(&found.path)?;
            Some(([object, instance, name], found.row?.avg))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{CounterSeries, Counters, HOST_CPU};
    use crate::report::table::tests::sample;

    #[test]
    fn what_scripts_read_is_there_and_errors_only_if_there_are_any() {
        let mut run = sample("a & b", 436.0);
        let text = five(&run);
        assert!(
            text.contains("<Http200>4360</Http200>") && text.contains("<Comment>a &amp; b</Comment>"),
            "{text}"
        );
        assert!(!text.contains("BadStatusErrors") && !text.contains("<Counters>"));
        run.statuses.insert(503, 4);
        run.cpu.servers =
            vec![Server { name: "w3wp".into(), cores: 0.5, rss_bytes: 1_000, ..Server::default() }];
        let text = five(&run);
        assert!(text.contains("<BadStatusErrors>4</BadStatusErrors>"), "{text}");
        let line: String = text.split("<Counter>").nth(1).unwrap().split_whitespace().collect();
        assert!(
            line.starts_with("<Object>Process</Object><Instance>w3wp</Instance><Name>%ProcessorTime</Name>")
        );
        assert!(line.contains("<Average>50.000</Average>"));
    }

    #[test]
    fn counters_that_were_asked_for_have_their_own_names() {
        let mut run = sample("a", 436.0);
        run.asked.counters =
            ["Processor(_Total)\\% Processor Time", "No Such Object\\X"].map(str::to_owned).into();
        run.cpu.servers = vec![Server { name: "w3wp".into(), ..Server::default() }];
        run.series.window_end_s = 10.0;
        let points = (0..10).map(|second| (second, 40.0)).collect();
        let host = CounterSeries {
            name: HOST_CPU.to_owned(),
            unit: "%".to_owned(),
            points,
            ..CounterSeries::default()
        };
        run.counters = Some(Counters { interval_s: 1, series: vec![host], notes: Vec::new() });
        let text = five(&run);
        assert_eq!(text.matches("<Counter>").count(), 1, "{text}");
        for leaf in [
            "<Object>Processor</Object>",
            "<Instance>_Total</Instance>",
            "<Name>% Processor Time</Name>",
            "<Average>40.000</Average>",
        ] {
            assert!(text.contains(leaf), "{leaf} in {text}");
        }
    }
}
