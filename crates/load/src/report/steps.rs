//! What is said of the levels of a stepped run: a row for each, the knee, and the law they follow.
//!
//! Text and HTML draw the same cells and sentences. Not here: drawing.

use super::model::{Run, Step};
use super::units;
use crate::stats::usl::Usl;
use crate::stats::{self, Knee, usl};
use crate::verdict::{Finding, Grade};

/// Beyond so many times the highest level, where the law has its peak is a guess.
const PEAK_WITHIN: f64 = 2.0;

/// What levels are numbers of.
pub(super) fn unit(run: &Run) -> &'static str {
    if run.is_open() { "asked/s" } else { "clients" }
}

/// The table: its columns, and a row for each level. Columns nothing stands in are left out.
pub(super) fn table(run: &Run) -> (Vec<String>, Vec<Vec<String>>) {
    let columns = columns(run);
    let knee = knee(run).map(|knee| knee.step);
    let mut header: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    // What there is to notice stands beside the level, where no page cuts it off.
    let second = 1.min(header.len());
    header.insert(second, String::new());
    let row = |(number, step): (usize, &Step)| {
        let mut cells: Vec<String> = columns.iter().map(|(_, cell)| cell(step)).collect();
        cells.insert(second, mark(step, knee == Some(number)));
        cells
    };
    (header, run.steps.iter().enumerate().map(row).collect())
}

type Cell = fn(&Step) -> String;

fn columns(run: &Run) -> Vec<(&'static str, Cell)> {
    fn time(step: &Step, of: fn(&stats::Summary) -> f64) -> String {
        step.times().map_or_else(|| "-".to_owned(), |times| units::time(of(times)))
    }
    /// With a mark where it rests on too few.
    fn tail(step: &Step, q: f64) -> String {
        let Some(times) = step.times() else { return "-".to_owned() };
        let mark = if times.is_thin(q) { "~" } else { "" };
        format!("{mark}{}", units::time(times.at(q)))
    }
    let mut columns: Vec<(&'static str, Cell)> = vec![
        (unit(run), |step| units::level(step.level)),
        ("req/s", rate),
        ("avg", |step| time(step, |times| times.avg)),
        ("p50", |step| time(step, |times| times.p50)),
        ("p95", |step| tail(step, 0.95)),
        ("p99", |step| tail(step, 0.99)),
        ("max", |step| time(step, |times| times.max)),
        ("errors", |step| units::whole(step.errors)),
    ];
    if run.is_open() {
        columns.push(("lag p99", |step| {
            step.send_lag.as_ref().map_or_else(|| "-".to_owned(), |lag| units::time(lag.p99))
        }));
    }
    if run.steps.iter().any(|step| step.unsent > 0) {
        columns.push(("unsent", |step| units::whole(step.unsent)));
    }
    if run.steps.iter().any(|step| step.server_cores.is_some()) {
        columns.push(("server CPU", |step| {
            step.server_cores.map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}"))
        }));
    }
    columns.push(("thirst", |step| format!("{:.0} %", step.generator_busy * 100.0)));
    columns
}

fn rate(step: &Step) -> String {
    let at_least = if step.verdict.at_least { "≥ " } else { "" };
    format!("{at_least}{}", units::rate(step.requests_per_s))
}

fn mark(step: &Step, is_knee: bool) -> String {
    let grade = (step.verdict.grade > Grade::Valid).then(|| step.verdict.grade.word());
    [is_knee.then_some("knee"), grade].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The knee of a run, if it went beyond it.
pub(super) fn knee(run: &Run) -> Option<Knee> {
    stats::knee(&run.levels())
}

/// The law its steps follow, if they do: only of clients that always wait for answers, and only of steps in which we
/// were not the limit ourselves.
pub(super) fn law(run: &Run) -> Option<Usl> {
    let pauses = run.asked.think_s.is_some() || run.asked.most_per_s.is_some();
    if run.is_open() || pauses {
        return None;
    }
    let honest = run.steps.iter().filter(|step| !step.verdict.at_least);
    usl::fit(&honest.map(|step| (step.level, step.requests_per_s)).collect::<Vec<_>>())
}

/// What there is to say below the table.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let mut said = Vec::new();
    if run.steps.iter().filter_map(Step::times).any(|times| times.is_thin(0.99)) {
        said.push("~ fewer than ten values lie above it: little more than chance".to_owned());
    }
    let unit = if run.is_open() { "requests per second" } else { "clients" };
    said.extend(doubts(run, unit));
    match knee(run).and_then(|knee| Some((knee, run.steps.get(knee.step)?))) {
        Some((knee, step)) => said.push(format!(
            "Knee at {} {unit}: {} more of them brought {} {} answers per second, and the 99th percentile is {} that of the \
             first steps.",
            units::level(step.level),
            units::percent(knee.added),
            units::percent(knee.gain.abs()),
            if knee.gain < 0.0 { "fewer" } else { "more" },
            units::times(knee.slower)
        )),
        None if run.steps.len() > 2 => said.push(
            "No knee: at no step did answers per second stop growing while the 99th percentile rose by half.".to_owned(),
        ),
        None => {}
    }
    if let Some(law) = law(run) {
        let highest = run.steps.iter().map(|step| step.level).fold(0.0, f64::max);
        let peak =
            law.peak().filter(|peak| *peak <= highest * PEAK_WITHIN).map_or_else(String::new, |peak| {
                format!(
                    ", most answers at about {} clients ({}/s)",
                    units::rate(peak),
                    units::rate(law.at(peak))
                )
            });
        said.push(format!(
            "Scalability (USL): {}/s of one client alone, contention {}, coherency {}{peak}; off by {} on average.",
            units::rate(law.alone_per_s),
            units::percent(law.contention),
            short(law.coherency),
            units::percent(law.error)
        ));
    }
    said
}

/// Why steps are in doubt, as far as the verdict on the whole run does not say it: a sentence for each reason, in the words
/// of the first step that has it.
fn doubts(run: &Run, unit: &str) -> Vec<String> {
    let mut doubts: Vec<(&Finding, Vec<String>)> = Vec::new();
    for step in &run.steps {
        for finding in step.verdict.findings.iter().filter(|finding| finding.grade > Grade::Valid) {
            let level = units::level(step.level);
            match doubts.iter_mut().find(|(first, _)| first.code == finding.code) {
                Some((_, levels)) => levels.push(level),
                None => doubts.push((finding, vec![level])),
            }
        }
    }
    let is_said = |finding: &Finding| run.verdict.findings.iter().any(|known| known.code == finding.code);
    doubts.retain(|(first, _)| !is_said(first));
    let sentence = |(first, levels): (&Finding, Vec<String>)| {
        format!("{} at {} {unit}: {}.", first.grade.word(), levels.join(", "), first.text)
    };
    doubts.into_iter().map(sentence).collect()
}

/// Three digits of a number far below one.
fn short(number: f64) -> String {
    if number < 1e-9 { "none".to_owned() } else { format!("{number:.2e}") }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::table::tests::sample;
    use crate::stats::Summary;
    use crate::tally::Latency;

    #[test]
    fn a_step_in_doubt_says_why() {
        let mut run = stepped("a", &FULL);
        let finding = |text: &str| Finding {
            grade: Grade::Suspect,
            code: "send-lag".to_owned(),
            text: text.to_owned(),
            mend: String::new(),
        };
        for (at, text) in [(0, "late by 1"), (2, "late by 2")] {
            run.steps[at].verdict.findings.push(finding(text));
        }
        let said = "SUSPECT at 1, 11 clients: late by 1.";
        assert!(sentences(&run).iter().any(|sentence| sentence == said), "{:?}", sentences(&run));
        run.verdict.findings.push(finding("late by 3"));
        assert!(!sentences(&run).iter().any(|sentence| sentence.contains("late")), "it is said already");
    }

    /// A run of levels: load, answers per second, typical time.
    pub(in crate::report) fn stepped(label: &str, table: &[(f64, f64, u64)]) -> Run {
        let mut run = sample(label, 436.0);
        for (at, &(level, requests_per_s, time_us)) in (0_u32..).zip(table) {
            let mut latency = Latency::default();
            (0..2_000_u64).for_each(|i| latency.record(time_us * (500 + i / 2)));
            run.steps.push(Step {
                level,
                start_s: 2.0 + f64::from(at) * 10.0,
                elapsed_s: 8.0,
                requests: 2_000,
                responses: 2_000,
                requests_per_s,
                last_byte: Summary::of(&latency),
                server_cores: Some(requests_per_s / 1_000.0),
                generator_busy: 0.25,
                ..Step::default()
            });
        }
        run
    }

    pub(in crate::report) const FULL: [(f64, f64, u64); 7] = [
        (1.0, 100.0, 10_000),
        (6.0, 580.0, 10_300),
        (11.0, 960.0, 11_400),
        (16.0, 1_000.0, 16_000),
        (21.0, 1_001.0, 21_000),
        (26.0, 1_000.0, 26_000),
        (31.0, 999.0, 31_000),
    ];

    #[test]
    fn a_row_for_each_level_and_the_knee_marked() {
        let mut run = stepped("a", &FULL);
        run.steps[5].verdict.grade = Grade::Suspect;
        run.steps[5].verdict.at_least = true;
        run.steps[6].unsent = 1_234;
        let (header, rows) = table(&run);
        let names = "clients||req/s|avg|p50|p95|p99|max|errors|unsent|server CPU|thirst";
        assert_eq!(header.join("|"), names);
        assert_eq!(rows[0][..5], ["1", "", "100", "10.0 ms", "9.99 ms"]);
        assert_eq!((rows[5][2].as_str(), rows[5][1].as_str()), ("≥ 1,000", "SUSPECT"));
        assert_eq!((rows[3][1].as_str(), rows[6][9].as_str()), ("", "1,234"));
        assert_eq!((rows[4][1].as_str(), knee(&run).unwrap().step), ("knee", 4));
        let said = sentences(&run).join("\n");
        assert!(said.contains("Knee at 21 clients: 31.2 % more of them brought 0.1 % more"), "{said}");
    }

    #[test]
    fn the_law_is_said_only_where_it_holds() {
        let lawful: Vec<(f64, f64, u64)> = [1.0, 5.0, 10.0, 20.0, 40.0, 80.0]
            .map(|n: f64| (n, 100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0)), 1_000))
            .to_vec();
        let mut run = stepped("a", &lawful);
        let said = sentences(&run).join("\n");
        assert!(said.contains("100/s of one client alone, contention 5.0 %, coherency 1.00e-3"), "{said}");
        assert!(said.contains("most answers at about 31 clients"), "{said}");
        run.asked.think_s = Some((0.5, 1.0));
        assert!(law(&run).is_none(), "who pauses is not always there");
        run.asked.think_s = None;
        run.steps[2].verdict.at_least = true;
        run.steps[3].verdict.at_least = true;
        assert!(law(&run).is_none(), "four honest steps are too few");
    }
}
