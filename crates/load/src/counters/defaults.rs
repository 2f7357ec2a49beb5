//! Which series are kept of a server if nobody names any.
//!
//! Those of Samovar, of a host's exporter, or what all client libraries write of their process; then what grew
//! most. Not here: taking them.

use super::HOST_CPU;
use super::pattern::Pattern;
use super::prometheus::{Sample, Text};
use super::select::{How, PLACES, Pick};

/// Requests by what the cache did, what that takes, and what waits.
const SAMOVAR: [&str; PLACES] = [
    "sum(samovar_requests_total)",
    "samovar_requests_total{cache=\"hot\"}",
    "samovar_requests_total{cache=\"hit\"}",
    "samovar_requests_total{cache=\"joined\"}",
    "samovar_requests_total{cache=\"miss\"}",
    "samovar_requests_total{cache=\"pass\"}",
    "samovar_cache_fills",
    "sum(samovar_upstream_requests_waiting)",
    "sum(samovar_rejects_total)",
    "samovar_body_bytes_total",
    "samovar_connections",
    "sum(samovar_memory_bytes)",
];

/// An exporter beside the server tells of the host; what it writes of its own process is nobody's question.
const NODE: [&str; 11] = [
    "sum(node_cpu_seconds_total{mode=\"user\"})",
    "sum(node_cpu_seconds_total{mode=\"system\"})",
    "sum(node_cpu_seconds_total{mode=\"softirq\"})",
    "sum(node_cpu_seconds_total{mode=\"steal\"})",
    "node_memory_MemAvailable_bytes",
    "node_context_switches_total",
    "node_intr_total",
    "sum(node_network_receive_bytes_total{device!=\"lo\"})",
    "sum(node_network_transmit_bytes_total{device!=\"lo\"})",
    "node_load1",
    "node_procs_running",
];

/// What client libraries write of the process they are in.
const PROCESS: [&str; 5] = [
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "process_threads",
    "go_goroutines",
];

/// Metrics of libraries about themselves: never what a run is about.
const ASIDE: [&str; 6] = ["process_", "go_", "promhttp_", "python_", "nodejs_", "scrape_"];

/// What is kept of such a text, and whether that is all: else the counters that grow most take the places that are
/// left.
pub(super) fn picks(text: &Text<'_>) -> (Vec<Pick>, bool) {
    let has = |prefix: &str| text.samples.iter().any(|sample| sample.name.starts_with(prefix));
    if has("samovar_") {
        (read(&SAMOVAR), true)
    } else if has("node_cpu") {
        let mut picks: Vec<Pick> = busy().into_iter().collect();
        picks.extend(read(&NODE));
        (picks, true)
    } else {
        (read(&PROCESS), false)
    }
}

fn read(list: &[&str]) -> Vec<Pick> {
    let picks = list.iter().filter_map(|text| text.parse::<Pick>().ok());
    picks.map(|pick| Pick { expected: false, ..pick }).collect()
}

/// The CPU of the host as /proc/stat has it, under either name the exporter has given it.
fn busy() -> Option<Pick> {
    let of = |labels: &str| -> Option<Vec<Pattern>> {
        ["node_cpu_seconds_total", "node_cpu"]
            .iter()
            .map(|name| format!("{name}{labels}").parse().ok())
            .collect()
    };
    Some(Pick {
        title: Some(HOST_CPU.to_owned()),
        of: of("{mode!=\"idle\",mode!=\"iowait\",mode!=\"steal\"}")?,
        how: How::Percent(of("")?),
        expected: false,
    })
}

/// Whether a counter may be among those that grew most.
pub(super) fn may_rank(sample: &Sample<'_>) -> bool {
    sample.grows()
        && sample.value.is_finite()
        && !sample.name.ends_with("_bucket")
        && !ASIDE.iter().any(|prefix| sample.name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::prometheus::parse;
    use crate::counters::select::Selection;

    #[test]
    fn the_lists_are_read_whole_and_fill_no_more_than_their_places() {
        assert_eq!(read(&SAMOVAR).len(), SAMOVAR.len());
        assert_eq!(read(&PROCESS).len(), PROCESS.len());
        assert_eq!(read(&NODE).len(), NODE.len());
        assert!(NODE.len() + usize::from(busy().is_some()) == PLACES);
    }

    #[test]
    fn samovars_series_are_those_it_tells_of() {
        let page = include_str!("../../../../docs/watching.md");
        let row = |name: &str| page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        for pick in read(&SAMOVAR) {
            let row = row(pick.of[0].name()).unwrap_or_else(|| panic!("{pick} is not in docs/watching.md"));
            assert_eq!(row.contains("| counter |"), pick.of[0].name().ends_with("_total"), "{row}");
        }
        for kind in ["hot", "hit", "joined", "miss", "pass"] {
            assert!(
                page.contains(&format!("`{kind}` (")) || page.contains(&format!("`{kind}` and ")),
                "{kind}"
            );
        }
    }

    fn names(text: &str) -> Vec<String> {
        let values = Selection::new(Vec::new()).values(&parse(text).unwrap());
        values.into_iter().map(|value| format!("{} {}", value.name, value.unit)).collect()
    }

    #[test]
    fn a_dozen_of_samovar() {
        let text = "# TYPE samovar_requests counter
samovar_requests_total{cache=\"hot\"} 4
samovar_requests_total{cache=\"hit\"} 3
samovar_requests_total{cache=\"own\"} 1
# TYPE samovar_rejects counter
# TYPE samovar_memory_bytes gauge
samovar_memory_bytes{part=\"a\"} 1
samovar_memory_bytes{part=\"b\"} 2
# TYPE samovar_body_bytes counter
samovar_body_bytes_total 9
process_cpu_seconds_total 1
# EOF
";
        let wanted = [
            "sum(samovar_requests_total) /s",
            "samovar_requests_total{cache=\"hot\"} /s",
            "samovar_requests_total{cache=\"hit\"} /s",
            "samovar_body_bytes_total B/s",
            "sum(samovar_memory_bytes) B",
        ];
        assert_eq!(names(text), wanted);
    }

    #[test]
    fn a_host_is_told_by_its_exporter_and_not_the_exporter() {
        let text = "process_cpu_seconds_total 1
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 70
node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 20
node_cpu_seconds_total{cpu=\"1\",mode=\"user\"} 10
node_load1 0.5
";
        assert_eq!(
            names(text),
            ["host cpu %", "sum(node_cpu_seconds_total{mode=\"user\"}) cores", "node_load1 "]
        );
    }

    #[test]
    fn any_other_is_told_by_its_process_and_its_counters() {
        let text = "process_cpu_seconds_total 1
process_resident_memory_bytes 5
go_memstats_frees_total 1
http_requests_total{code=\"200\"} 5
http_seconds_sum 5
http_seconds_bucket 5
up 1
";
        let wanted = [
            "process_cpu_seconds_total cores",
            "process_resident_memory_bytes B",
            "http_requests_total{code=\"200\"} /s",
        ];
        assert_eq!(names(text), wanted);
    }
}
