//! The map of counters against what there is to be read: every series it names exists.

use super::*;
use crate::counters::CounterSeries;
use crate::counters::keep::{Keeper, Moment, gather};
use crate::counters::proc::{HostTexts, Tree, host};
use crate::counters::prometheus::parse;
use crate::counters::select::Selection;
use proptest::prelude::*;

fn host_names() -> Vec<String> {
    let texts = HostTexts {
        stat: "cpu 1 2 3 4\nintr 1\nctxt 1\n",
        meminfo: "MemAvailable: 1 kB",
        dev: "lo: 1 1 0 0 0 0 0 0 1 1",
        snmp: "Tcp: RetransSegs PassiveOpens\nTcp: 1 2\n",
    };
    host(texts).into_iter().map(|value| value.name).collect()
}

fn process_names() -> Vec<String> {
    let tree = Tree { files: Some(1), switches: Some((1, 1)), ..Tree::default() };
    tree.values(1).into_iter().map(|value| value.name).collect()
}

#[test]
fn every_way_leads_to_a_series_there_is() {
    let page = include_str!("../../../../../docs/watching.md");
    let (host, process) = (host_names(), process_names());
    for (object, counter, ways, said) in LINES {
        let answers: Vec<Answer> = ways.iter().filter_map(one_way).collect();
        assert_eq!(answers.len(), ways.len(), "{object}\\{counter}: a pattern does not parse");
        assert!(!ways.is_empty() || !said.is_empty(), "{object}\\{counter}: no equivalent, and not said why");
        for answer in answers {
            match answer.place {
                Place::Host => assert!(host.contains(&answer.series), "{}", answer.series),
                Place::Process => assert!(process.contains(&answer.series), "{}", answer.series),
                Place::Page => {
                    for pattern in &answer.pick.unwrap().of {
                        assert!(page.contains(&format!("\n| `{}` |", pattern.name())), "{pattern}");
                    }
                }
            }
        }
        assert_eq!(
            LINES.iter().filter(|line| (line.0, line.1) == (*object, *counter)).count(),
            1,
            "{object}\\{counter}"
        );
        assert_eq!((object.to_lowercase(), counter.to_lowercase()), ((*object).into(), (*counter).into()));
    }
}

#[test]
fn the_stock_counters_of_wcat() {
    for (path, series) in [
        (r"Processor(_Total)\% Processor Time", Some("host cpu")),
        (r"Processor(_Total)\% Privileged Time", Some("host cpu system")),
        (r"Processor(_Total)\% User Time", Some("host cpu user")),
        (r"Processor(_Total)\Interrupts/sec", Some("host interrupts")),
        (r"Memory\Available KBytes", Some("host memory available")),
        (r"Process(w3wp)\Working Set", Some("server memory")),
        (r"System\Context Switches/sec", Some("host context switches")),
        (r"System\System Calls/sec", None),
        (r"Web Service(_Total)\Bytes Sent/sec", Some("sum(samovar_body_bytes_total)")),
        (r"Web Service(_Total)\Bytes Received/sec", Some("host net received")),
        (r"Web Service(_Total)\Connection Attempts/sec", Some("sum(samovar_connections_accepted_total)")),
        (r"Web Service(_Total)\Get Requests/sec", Some("sum(samovar_requests_total)")),
        (r"Web Service Cache\Total URIs Cached", Some("sum(samovar_cache_stored_total)")),
        (r"Web Service Cache\Kernel: Uri Cache Hits/sec", Some("sum(samovar_requests_total{cache=\"hot\"})")),
        (r"Web Service Cache\Current Metadata Cached", None),
        (r"\\web1\Processor(_Total)\% Processor Time", Some("host cpu")),
        (r"\\web1\\Memory\\Available MBytes", Some("host memory available")),
        (r"\\Memory\\Available MBytes", Some("host memory available")),
        (r"\Memory\Available MBytes", Some("host memory available")),
        ("  \"processor( _total )\\%  processor time\" ", Some("host cpu")),
        (r"Process(w3wp#1)\% Processor Time", Some("server cpu")),
        (r"ASP.NET v2.0.50727\Requests Queued", Some("sum(samovar_upstream_requests_waiting)")),
        (r"W3SVC_W3WP(1234_DefaultAppPool)\Kernel: Current URIs Cached", Some("sum(samovar_hot_entries)")),
        (r"Processor(0)\% Processor Time", None),
        (r"Process(_Total)\Working Set", None),
        (r"Web Service(_Total)\Propfind Requests/sec", None),
        (r"PhysicalDisk(_Total)\Avg. Disk Queue Length", None),
        (r"Processor", None),
        (r"Processor(_Total", None),
        (r"a)\b", None),
        (r"(a)\b", None),
        (r"\\", None),
        ("", None),
    ] {
        let reading = read(path);
        assert_eq!(
            reading.answers.first().map(|answer| answer.series.as_str()),
            series,
            "{path}: {}",
            reading.said
        );
        assert!(series.is_some() || reading.said.len() > 20, "{path}: {}", reading.said);
    }
    assert!(read(r"Web Service(_Total)\Propfind Requests/sec").said.contains("get requests/sec"));
    assert!(read(r"PhysicalDisk\x").said.contains("web service cache"));
}

#[test]
fn all_counters_of_the_cache_are_known() {
    let groups = [
        (
            "",
            "current files cached,total files cached,total flushed files,active flushed entries,file cache hits,\
              file cache misses,file cache hits %,file cache flushes,current file cache memory usage,\
              maximum file cache memory usage,current uris cached,total uris cached,total flushed uris,\
              uri cache hits,\
              uri cache misses,uri cache hits %,uri cache flushes,current metadata cached,total metadata cached,\
              total flushed metadata,metadata cache hits,metadata cache misses,metadata cache hits %,\
              metadata cache flushes",
        ),
        (
            "kernel: ",
            "current uris cached,total uris cached,total flushed uris,uri cache hits,uri cache hits/sec,\
                      uri cache misses,uri cache hits %,uri cache flushes",
        ),
        (
            "output cache ",
            "current items,current memory usage,current hits %,total hits,total misses,total flushes,\
                           total flushed items,current flushed items",
        ),
    ];
    for (group, counters) in groups {
        for counter in counters.split(',') {
            let known = LINES
                .iter()
                .any(|line| line.0 == "web service cache" && line.1 == format!("{group}{counter}"));
            assert!(known, "{group}{counter}");
        }
    }
}

#[test]
fn a_file_of_wcat_5() {
    let text = "# counters\r\nProcessor(_Total)\\% Processor Time\r\n\r\n  System\\System Calls/sec\nnonsense\n\
                .NET CLR Memory(w3wp)\\# Bytes in all Heaps\n\\\\web1\\Memory\\Available KBytes";
    let mut notes = Vec::new();
    let counters = file(text, &mut notes);
    let paths: Vec<&str> = counters.iter().map(|counter| counter.path.as_str()).collect();
    let wanted = [
        r"Processor(_Total)\% Processor Time",
        r"System\System Calls/sec",
        r".NET CLR Memory(w3wp)\# Bytes in all Heaps",
        r"\\web1\Memory\Available KBytes",
    ];
    assert_eq!(paths, wanted);
    assert_eq!(
        (counters[3].host.as_str(), counters[0].host.as_str(), counters[0].interval_s),
        ("web1", "", 10)
    );
    assert_eq!(notes.len(), 1);
    assert_eq!(text.get(notes[0].span.clone()), Some("nonsense"));
    let many = "Memory\\Available KBytes\n".repeat(FILE_MAX + 3);
    let mut notes = Vec::new();
    assert_eq!((file(&many, &mut notes).len(), notes.len()), (FILE_MAX, 1));
    assert!(notes[0].message.contains("more than 50"));
}

#[test]
fn after_a_run_they_are_told_in_their_own_units() {
    let readings: Vec<Reading> = [
        r"Memory\Available KBytes",
        r"Process(w3wp)\% Processor Time",
        r"Web Service(_Total)\Bytes Sent/sec",
        r"Web Service Cache\URI Cache Hits %",
        r"Web Service(_Total)\Get Requests/sec",
        r"System\System Calls/sec",
        r"Web Service Cache\Current URIs Cached",
    ]
    .map(read)
    .into();
    let page = |hits: u64| {
        format!(
            "# TYPE samovar_requests counter\nsamovar_requests_total{{cache=\"hit\"}} {hits}\n\
             samovar_requests_total{{cache=\"miss\"}} {}\nsamovar_requests_total{{cache=\"own\"}} 1\n",
            hits / 3
        )
    };
    let mut selection = Selection::new(picks(&readings));
    let mut keeper = Keeper::new(1);
    for second in 0..4 {
        let values = selection.values(&parse(&page(second * 300)).unwrap());
        keeper.take(Moment { second, at_ns: second * 1_000_000_000 }, values);
    }
    let mut counters = gather(vec![("page".into(), keeper, Vec::new())]);
    let series = |name: &str, unit: &str, points: &[(u64, f64)]| CounterSeries {
        name: name.into(),
        unit: unit.into(),
        points: points.to_vec(),
        ..CounterSeries::default()
    };
    counters.series.push(series("host memory available", "B", &[(0, 2_048.0), (1, 4_096.0)]));
    counters.series.push(series("server cpu", "cores", &[(0, 1.5)]));
    counters.series.push(series("host net sent", "B/s", &[(0, 7.0)]));
    let found = rows(&readings, &counters, &(0.0..3.0));
    let seen: Vec<_> = found
        .iter()
        .map(|one| one.row.as_ref().map(|row| (row.unit.as_str(), row.avg, row.min, row.max)))
        .collect();
    let wanted = [
        Some(("KiB", 3.0, 2.0, 4.0)),
        Some(("%", 150.0, 150.0, 150.0)),
        Some(("B/s", 7.0, 7.0, 7.0)),
        Some(("%", 75.0, 75.0, 75.0)),
        Some(("/s", 400.0, 400.0, 400.0)),
        None,
        None,
    ];
    assert_eq!(seen, wanted);
    assert!(found[5].said.contains("Linux does not count them"), "{}", found[5].said);
    assert_eq!(found[6].said, "it was not read: it is in the page of Samovar's metrics");
    let table = text(&found);
    assert!(
        table.contains(
            "  Memory\\Available KBytes\n    3 KiB on average, 2 KiB to 4 KiB  (host memory available)\n"
        ),
        "{table}"
    );
}

#[test]
fn names_are_as_they_are_written() {
    let of = |path: &str| names(path).map(|(object, instance, name)| [object, instance, name]);
    for (path, want) in [
        (r"Processor(_Total)\% Processor Time", ["Processor", "_Total", "% Processor Time"]),
        (r"\\web\Memory\Available KBytes", ["Memory", "", "Available KBytes"]),
        ("Process(w3wp)\\\\Working Set", ["Process", "w3wp", "Working Set"]),
        (r"Web  Service(_Total)\Get Requests/sec", ["web service", "_Total", "Get Requests/sec"]),
    ] {
        assert_eq!(of(path), Some(want.map(str::to_owned)), "{path}");
    }
    assert_eq!(of("no counter"), None);
}

#[test]
fn counters_of_other_machines_are_said() {
    let known = |host: &str| host == "web";
    assert_eq!(elsewhere(["", "web", ""].into_iter(), &known), None);
    let said = elsewhere(["db2", "web", "db1", "db2"].into_iter(), &known).unwrap();
    assert!(said.starts_with("counters of db1, db2: of other machines nothing is read"), "{said}");
}

proptest! {
    #[test]
    fn any_path_and_any_file_are_read(text in "[\\\\\\\\()#%a-c \n]{0,40}|\\PC{0,60}") {
        let reading = read(&text);
        prop_assert!(!reading.answers.is_empty() || !reading.said.is_empty());
        let mut notes = Vec::new();
        let counters = file(&text, &mut notes);
        prop_assert!(counters.len() + notes.len() <= text.split('\n').count());
        prop_assert!(notes.iter().all(|note| text.get(note.span.clone()).is_some()));
    }
}
