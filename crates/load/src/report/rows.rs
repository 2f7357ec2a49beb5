//! The tables of URLs, requests, rounds and types of content: which of many rows are shown, and in what order.
//!
//! Text and HTML draw the same cells. Not here: drawing.

use super::model::{Row, Run, TypeBytes};
use super::units;

/// Rows that are shown at most; the JSON has them all.
pub(super) const SHOWN: usize = 20;
/// Letters of a name that are shown at most.
const NAME: usize = 48;

/// The columns of both tables, but for the first.
const COLUMNS: [&str; 5] = ["answers", "failures", "p50", "p99", "bytes each"];

/// A table of rows: its columns, its cells, and what is said below it.
pub(super) struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub below: Option<String>,
}

/// What came of each URL or request, those that fail most and then the slowest first; `None` if there is but one.
pub(super) fn requests(run: &Run) -> Option<Table> {
    table(&run.rows, "request")
}

/// The same of rounds.
pub(super) fn rounds(run: &Run) -> Option<Table> {
    table(&run.rounds, "round")
}

/// Bytes of each type of content and what compression saved of it, those of most bytes first; `None` where it would say
/// no more than the line on bodies.
pub(super) fn types(run: &Run) -> Option<Table> {
    let mut order: Vec<&TypeBytes> = run.bytes.types.iter().collect();
    if order.len() < 2 && order.iter().all(|one| one.coded == 0) {
        return None;
    }
    order.sort_by_key(|one| std::cmp::Reverse(one.bodies));
    let left_out = order.len().saturating_sub(SHOWN);
    let below = (left_out > 0)
        .then(|| format!("{} more are left out; all are in the JSON", units::whole(left_out as u64)));
    let header = ["content type", "answers", "bytes", "coded", "decoded", "saved"].map(str::to_owned).into();
    let rows = order.into_iter().take(SHOWN).map(type_cells).collect();
    Some(Table { header, rows, below })
}

fn type_cells(one: &TypeBytes) -> Vec<String> {
    let share = |part: u64, whole: u64| format!("{:.0} %", part as f64 * 100.0 / whole.max(1) as f64);
    // Small bodies can grow in a coding; that is no saving, and has to be seen.
    let saved = |decoded: u64| {
        format!("{:.0} %", (decoded as f64 - one.bodies as f64) * 100.0 / decoded.max(1) as f64)
    };
    vec![
        if one.name.is_empty() { "(not said)".to_owned() } else { short(&one.name) },
        units::whole(one.answers),
        units::bytes(one.bodies as f64),
        share(one.coded, one.bodies),
        one.decoded.map_or_else(|| "not known".to_owned(), |decoded| units::bytes(decoded as f64)),
        one.decoded.filter(|_| one.coded > 0).map_or_else(|| "-".to_owned(), saved),
    ]
}

fn table(all: &[Row], thing: &str) -> Option<Table> {
    let mut order: Vec<&Row> = all.iter().collect();
    order.sort_by(|a, b| b.failures.cmp(&a.failures).then(b.p99_us.total_cmp(&a.p99_us)));
    let left_out = order.len().saturating_sub(SHOWN);
    let below = (left_out > 0).then(|| {
        let rest = order.iter().skip(SHOWN);
        let (answers, failures) = rest.fold((0, 0), |(a, f), row| (a + row.answers, f + row.failures));
        format!(
            "{} more with {} and {} are left out: those shown fail most, or else are slowest; all are in the JSON",
            units::whole(left_out as u64),
            units::many(answers, "answer"),
            units::many(failures, "failure")
        )
    });
    let header = [thing].into_iter().chain(COLUMNS).map(str::to_owned).collect();
    let rows = order.into_iter().take(SHOWN).map(cells).collect();
    (!all.is_empty()).then_some(Table { header, rows, below })
}

fn cells(row: &Row) -> Vec<String> {
    let time = |us: f64| if row.answers > 0 { units::time(us) } else { "-".to_owned() };
    let each = row.body_bytes as f64 / row.answers.max(1) as f64;
    vec![
        short(&row.name),
        units::whole(row.answers),
        units::whole(row.failures),
        time(row.p50_us),
        time(row.p99_us),
        if row.answers > 0 { units::bytes(each) } else { "-".to_owned() },
    ]
}

/// URLs of one server differ at their end: what is too long loses its middle.
fn short(name: &str) -> String {
    let letters: Vec<char> = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if letters.len() <= NAME {
        return letters.into_iter().collect();
    }
    let (head, tail) = (NAME / 3, NAME - NAME / 3 - 1);
    let end = letters.iter().skip(letters.len() - tail);
    letters.iter().take(head).chain(&['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::tests::sample;

    #[test]
    fn who_fails_comes_first_and_the_rest_is_counted() {
        let mut run = sample("a", 10.0);
        assert!(requests(&run).is_none());
        run.rows = (0_u32..50)
            .map(|at| Row {
                name: format!("http://a/{at}"),
                answers: 10,
                failures: u64::from(at == 7),
                p99_us: f64::from(at) * 1e3,
                body_bytes: 1_000,
                ..Row::default()
            })
            .collect();
        let table = requests(&run).unwrap();
        let names: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(
            (names.len(), &names[..3]),
            (SHOWN, ["http://a/7", "http://a/49", "http://a/48"].as_slice())
        );
        assert_eq!(table.rows[1][1..], ["10", "0", "0 µs", "49.0 ms", "100 B"]);
        assert!(table.below.unwrap().starts_with("30 more with 300 answers and 0 failures"));
    }

    #[test]
    fn types_say_what_compression_saved_where_there_is_something_to_say() {
        let mut run = sample("a", 10.0);
        let one = |name: &str, bodies: u64, coded: u64, decoded: Option<u64>| TypeBytes {
            name: name.to_owned(),
            answers: 10,
            bodies,
            coded,
            decoded,
            decoded_samples: 1,
        };
        assert!(types(&run).is_none());
        run.bytes.types = vec![one("text/html", 1_000, 0, Some(1_000))];
        assert!(types(&run).is_none());
        run.bytes.types = vec![
            one("", 10, 0, Some(10)),
            one("text/html", 1_000, 1_000, Some(4_000)),
            one("image/svg+xml", 500, 500, Some(400)),
            one("x/y", 100, 50, None),
        ];
        let rows = types(&run).unwrap().rows;
        assert_eq!(
            rows,
            [
                ["text/html", "10", "1.00 kB", "100 %", "4.00 kB", "75 %"],
                ["image/svg+xml", "10", "500 B", "100 %", "400 B", "-25 %"],
                ["x/y", "10", "100 B", "50 %", "not known", "-"],
                ["(not said)", "10", "10 B", "0 %", "10 B", "-"],
            ]
        );
    }

    #[test]
    fn long_names_keep_their_ends() {
        let name = format!("http://server.example/{}/the-end.jpg", "x".repeat(90));
        let short = short(&name);
        assert_eq!(short.chars().count(), NAME);
        assert!(short.starts_with("http://server.ex…") && short.ends_with("/the-end.jpg"), "{short}");
        assert_eq!(super::short("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
    }
}
