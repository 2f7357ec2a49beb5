//! What fuzzing has found in files of scenarios, in plans and in pages of metrics, and what it begins with, once more: read
//! or refused, without a panic; and what is read can be written.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

use thirst::counters::keep::{self, Keeper, Moment};
use thirst::counters::prometheus;
use thirst::counters::select::Selection;
use thirst::plan_file::{self, PlanFile};
use thirst::wcat::write::{five, ubr, urls};
use thirst::wcat::{Note, Severity, Source, gather, outline};

#[test]
fn the_corpus_is_read_or_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/scenario");
    let (mut read, mut refused) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let sources: Vec<Source> =
            bytes.split(|byte| *byte == 0x1e).map(|file| Source::decode("corpus", file)).collect();
        match gather(&sources) {
            Ok(gathered) => {
                assert!(outline(&gathered).contains("virtual clients"));
                read += 1;
            }
            Err(wrong) => {
                assert!(!wrong.is_empty());
                refused += 1;
            }
        }
    }
    assert!(read >= 3, "{read} read, {refused} refused");
}

#[test]
fn the_corpus_of_metrics_is_read_and_kept() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/prometheus");
    let (mut samples, mut malformed, mut points) = (0, 0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&text);
        let (pick, pages) = text.split_once('\n').unwrap_or((&text, ""));
        let mut selection = Selection::new(pick.parse().into_iter().collect());
        let mut keeper = Keeper::new(1);
        for (second, page) in (0..).zip(pages.split('\u{1e}')) {
            let page = prometheus::parse(page).unwrap();
            samples += page.samples.len();
            malformed += page.malformed;
            keeper.take(Moment { second, at_ns: second * 1_000_000_000 }, selection.values(&page));
        }
        keeper.leave_out(&selection.superfluous(&keeper.grown()));
        let counters = keep::gather(vec![("corpus".to_owned(), keeper, selection.notes())]);
        let all = counters.series.iter().flat_map(|series| &series.points);
        points += all.inspect(|(_, value)| assert!(value.is_finite())).count();
    }
    assert!(
        samples >= 50 && malformed >= 5 && points >= 20,
        "{samples} samples, {malformed} none, {points} points"
    );
}

#[test]
fn plans_are_read_or_refused_and_written_again() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/plan_file");
    let read = |text: &str| -> (PlanFile, Vec<Note>) {
        let mut notes = Vec::new();
        let plan = plan_file::read(text, &mut notes);
        (PlanFile { scenario: plan.scenario.without_places(), ..plan }, notes)
    };
    let put_together = |files: &[&str]| {
        let sources: Vec<Source> =
            files.iter().map(|text| Source { name: "written".into(), text: (*text).into() }).collect();
        gather(&sources).unwrap()
    };
    let (mut same, mut refused) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let source = Source::decode("corpus", &std::fs::read(entry.unwrap().path()).unwrap());
        let (plan, notes) = read(&source.text);
        if notes.iter().any(|note| note.severity == Severity::Error) {
            assert!(notes.iter().all(|note| source.render(note).starts_with("corpus:")));
            refused += 1;
            continue;
        }
        same += 1;
        assert_eq!(read(&plan_file::write(&plan.scenario, &plan.settings)), (plan.clone(), Vec::new()));
        if plan.scenario.transactions.is_empty() {
            continue;
        }
        let written = ubr(&plan.scenario, &plan.settings);
        let told = put_together(&[&written.scenario, written.settings.as_deref().unwrap_or("settings { }")]);
        let told = PlanFile { scenario: told.scenario.without_places(), settings: told.settings };
        assert_eq!(told == plan, written.lost.is_empty(), "{:?}", written.lost);
        let written = five(&plan.scenario, &plan.settings);
        if !written.script.is_empty() {
            put_together(&[&written.script, &written.distribution, &written.config]);
        }
        let written = urls(&plan.scenario, &plan.settings);
        assert!(written.text.is_empty() || !outline(&put_together(&[&written.text])).is_empty());
    }
    assert!(same >= 3 && refused >= 1, "{same} read, {refused} refused");
}
