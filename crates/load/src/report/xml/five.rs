//! The XML log of WCAT 5: `/Webcat/Log/Statistics` with an element for each number, `/Webcat/Log/Counters/Counter`.
//!
//! Known from a script that reads it: `Http200`, a count; `BadStatusErrors`, which is there only if there were any; and of a
//! counter its `Object`, `Instance`, `Name` and `Average`. The other statistics have the names of the console's rows run
//! together. Counters are those of the server's processes; nothing is written of a machine nobody looked at.
//!
//! Not here: 6.3 ([`super::six`]).

use super::decimal;
use super::write::Writer;
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
    let counts = [
        ("TotalRequests", run.requests),
        ("TotalResponses", run.responses),
        ("TotalBytesRead", run.bytes.read),
        ("TotalBytesWritten", run.bytes.written),
        ("TotalConnectionAttempts", run.connections.attempts),
        ("TotalConnectErrors", run.errors.connects),
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
    if run.cpu.servers.is_empty() {
        return;
    }
    xml.within("Counters", &[], |xml| {
        for server in &run.cpu.servers {
            counter(xml, server, "% Processor Time", server.cores * 100.0);
            counter(xml, server, "Working Set", server.rss_bytes as f64);
        }
    });
}

fn counter(xml: &mut Writer, server: &Server, name: &str, average: f64) {
    xml.within("Counter", &[], |xml| {
        xml.leaf("Object", &[], "Process");
        xml.leaf("Instance", &[], &server.name);
        xml.leaf("Name", &[], name);
        xml.leaf("Average", &[], &decimal(average));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
