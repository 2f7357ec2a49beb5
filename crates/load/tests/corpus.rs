//! What fuzzing has found in files of scenarios and in pages of metrics, and what it begins with, once more: read
//! or refused, without a panic.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

use thirst::counters::keep::{self, Keeper, Moment};
use thirst::counters::prometheus;
use thirst::counters::select::Selection;
use thirst::wcat::{Source, gather, outline};

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
