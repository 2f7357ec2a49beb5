//! Pages of metrics and what is asked of them: any bytes must be read or refused without a panic, what is read must
//! read the same again, and what is kept of it must be numbers that JSON can hold.
//!
//! The first line is a pick, the rest are pages, parted by the byte 0x1e. What it finds goes to
//! `corpus/prometheus/`, which `cargo test` replays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thirst::counters::keep::{Keeper, Moment, gather};
use thirst::counters::prometheus::parse;
use thirst::counters::select::Selection;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (pick, pages) = text.split_once('\n').unwrap_or((&text, ""));
    let mut selection = Selection::new(pick.parse().into_iter().collect());
    let mut keeper = Keeper::new(1);
    for (second, page) in (0..).zip(pages.split('\u{1e}')) {
        let Ok(page) = parse(page) else { continue };
        for sample in &page.samples {
            let again = format!("{} {}", sample.series(), sample.value);
            let again = parse(&again).expect("one line is not too much");
            assert_eq!((again.samples.len(), again.malformed), (1, 0), "{sample:?}");
            assert_eq!(again.samples[0].series(), sample.series());
        }
        keeper.take(Moment { second, at_ns: second * 1_000_000_000 }, selection.values(&page));
    }
    keeper.leave_out(&selection.superfluous(&keeper.grown()));
    let counters = gather(vec![("fuzz".to_owned(), keeper, selection.notes())]);
    let points = counters.series.iter().flat_map(|series| &series.points);
    assert!(points.into_iter().all(|(_, value)| value.is_finite()));
});
