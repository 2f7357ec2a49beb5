//! `log.xml` of WCAT 6.3: `/report/section/table/item/data`, each with a name.
//!
//! Known from scripts that read it: section `header` with `collection` (`virtualclients`), `summary` with
//! `summarydata` (`tps`, `rps`, `terrors`), `details` with `requeststats`, `transstats` (`requests`, `errors`) and
//! `histogram` (`response_time_50`, …). Such scripts take the first item of a table, so there is always one. Times
//! are milliseconds.
//!
//! Not here: WCAT 5 ([`super::five`]).

use super::decimal;
use super::write::Writer;
use crate::report::model::{Row, Run};
use crate::report::text;
use crate::stats::Summary;

/// The percentiles of the histogram.
const PERCENTILES: [(&str, f64); 9] = [
    ("response_time_50", 0.5),
    ("response_time_60", 0.6),
    ("response_time_70", 0.7),
    ("response_time_75", 0.75),
    ("response_time_80", 0.8),
    ("response_time_90", 0.9),
    ("response_time_95", 0.95),
    ("response_time_99", 0.99),
    ("response_time_999", 0.999),
];

/// The whole file.
pub fn six(run: &Run) -> String {
    let mut xml = Writer::new();
    xml.within("report", &[("name", "thirst"), ("version", run.thirst.as_str())], |xml| {
        header(run, xml);
        summary(run, xml);
        details(run, xml);
    });
    xml.end()
}

type Data<'a> = [(&'a str, String)];

fn section(xml: &mut Writer, name: &str, inside: impl FnOnce(&mut Writer)) {
    xml.within("section", &[("name", name)], inside);
}

fn table(xml: &mut Writer, name: &str, items: &[Vec<(&str, String)>]) {
    xml.within("table", &[("name", name)], |xml| items.iter().for_each(|data| item(xml, data)));
}

fn item(xml: &mut Writer, data: &Data<'_>) {
    xml.within("item", &[], |xml| {
        for (name, value) in data {
            xml.leaf("data", &[("name", *name)], value);
        }
    });
}

fn header(run: &Run, xml: &mut Writer) {
    let asked = &run.asked;
    let seconds = |s: f64| format!("{s:.0}");
    section(xml, "header", |xml| {
        let mut data = vec![
            ("comment", run.label.clone()),
            ("server", text::server_name(run)),
            ("clients", "1".to_owned()),
            ("virtualclients", asked.connections.to_string()),
            ("warmup", seconds(asked.warmup_s)),
            ("duration", seconds(run.elapsed_s)),
            ("cooldown", seconds(asked.cooldown_s)),
        ];
        data.extend([("verdict", run.verdict.grade.word().to_owned())]);
        table(xml, "collection", &[data]);
    });
}

/// Transactions of a run without rounds are its requests: each is one of a single request.
fn transactions_per_s(run: &Run) -> f64 {
    if run.rounds_done > 0 { run.in_window_per_s(run.rounds_done) } else { run.requests_per_s }
}

fn summary(run: &Run, xml: &mut Writer) {
    let of_server = run.cpu.servers.iter().map(|server| server.cores).sum::<f64>();
    section(xml, "summary", |xml| {
        let mut data = vec![
            ("tps", decimal(transactions_per_s(run))),
            ("rps", decimal(run.requests_per_s)),
            ("terrors", (run.errors.requests + run.errors.connects).to_string()),
            ("bytes", (run.bytes.read + run.bytes.written).to_string()),
            ("bps", decimal(run.read_bytes_per_s)),
        ];
        if !run.cpu.servers.is_empty() {
            data.push(("servercores", decimal(of_server)));
        }
        table(xml, "summarydata", &[data]);
    });
}

fn details(run: &Run, xml: &mut Writer) {
    section(xml, "details", |xml| {
        table(xml, "requeststats", &stats(run, &run.rows));
        table(xml, "transstats", &stats(run, &run.rounds));
        let statuses = run.statuses.iter().map(|(status, n)| {
            vec![("status", status.to_string()), ("count", n.to_string()), ("rate", decimal(run.per_s(*n)))]
        });
        table(xml, "statuscodes", &statuses.collect::<Vec<_>>());
        if let Some(times) = run.times() {
            table(xml, "histogram", &[histogram(times)]);
        }
    });
}

/// An item for each row; where there are none, one for the whole.
fn stats<'a>(run: &Run, rows: &[Row]) -> Vec<Vec<(&'a str, String)>> {
    if rows.is_empty() {
        let bytes = run.bytes.bodies;
        let mut item = vec![
            ("id", run.label.clone()),
            ("requests", run.requests.to_string()),
            ("errors", run.errors.requests.to_string()),
            ("bytes", bytes.to_string()),
        ];
        item.extend(run.times().map(|times| ("response_time_avg", ms(times.avg))));
        return vec![item];
    }
    let item = |row: &Row| {
        vec![
            ("id", row.name.clone()),
            ("requests", (row.answers + row.failures).to_string()),
            ("errors", row.failures.to_string()),
            ("bytes", row.body_bytes.to_string()),
            ("response_time_50", ms(row.p50_us)),
            ("response_time_99", ms(row.p99_us)),
        ]
    };
    rows.iter().map(item).collect()
}

fn histogram(times: &Summary) -> Vec<(&'static str, String)> {
    let ends = [
        ("response_time_min", times.min),
        ("response_time_avg", times.avg),
        ("response_time_max", times.max),
    ];
    let percentiles = PERCENTILES.iter().map(|(name, q)| (*name, times.at(*q)));
    ends.into_iter().chain(percentiles).map(|(name, us)| (name, ms(us))).collect()
}

fn ms(us: f64) -> String {
    decimal(us / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::tests::sample;

    /// What stands after a name; the real parser is in the tests of the program.
    fn first<'a>(text: &'a str, table: &str, name: &str) -> &'a str {
        let rest = text.split(&format!("<table name=\"{table}\">")).nth(1).unwrap();
        let rest = rest.split("</table>").next().unwrap();
        rest.split(&format!("<data name=\"{name}\">")).nth(1).unwrap().split('<').next().unwrap()
    }

    #[test]
    fn what_scripts_read_is_there() {
        let mut run = sample("a", 436.0);
        run.errors.requests = 3;
        let text = six(&run);
        for (table, name, value) in [
            ("collection", "virtualclients", "20"),
            ("summarydata", "rps", "436.000"),
            ("summarydata", "tps", "436.000"),
            ("summarydata", "terrors", "3"),
            ("requeststats", "requests", "4360"),
            ("transstats", "requests", "4360"),
            ("transstats", "errors", "3"),
            ("histogram", "response_time_max", "5.000"),
        ] {
            assert_eq!(first(&text, table, name), value, "{table}/{name}");
        }
        for (name, near) in
            [("response_time_50", 2.5), ("response_time_95", 4.75), ("response_time_99", 4.95)]
        {
            let ms: f64 = first(&text, "histogram", name).parse().unwrap();
            assert!((ms - near).abs() < 0.01, "{name} {ms}");
        }
    }

    #[test]
    fn requests_and_transactions_have_an_item_each() {
        let mut run = sample("a", 436.0);
        let row = |name: &str| Row { name: name.to_owned(), answers: 5, failures: 1, ..Row::default() };
        run.rows = vec![row("one"), row("two"), row("three")];
        run.rounds = vec![row("first"), row("second")];
        run.rounds_done = 50;
        let text = six(&run);
        assert_eq!(text.matches("<item>").count(), 1 + 1 + 3 + 2 + 1 + 1);
        assert_eq!(first(&text, "summarydata", "tps"), "5.000");
        assert_eq!(
            (first(&text, "transstats", "id"), first(&text, "transstats", "requests")),
            ("first", "6")
        );
    }
}
