//! A plan: any bytes must be read or refused with their place, without a panic; what is read is the same once written and
//! read again, and can be written in every other format, which its reader then takes.
//!
//! What it finds goes to `corpus/plan_file/`, which `cargo test` replays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thirst::plan_file::{self, PlanFile};
use thirst::wcat::write::{five, ubr, urls};
use thirst::wcat::{Gathered, Note, Severity, Source, gather};

fuzz_target!(|data: &[u8]| {
    let source = Source::decode("fuzz", data);
    let (plan, notes) = read(&source.text);
    for note in &notes {
        assert!(source.text.get(note.span.clone()).is_some(), "{note:?}");
        assert!(!source.render(note).is_empty());
    }
    if notes.iter().any(|note| note.severity == Severity::Error) {
        return;
    }
    let (again, notes) = read(&plan_file::write(&plan.scenario, &plan.settings));
    assert_eq!((again, notes.as_slice()), (plan.clone(), &[][..]));
    if plan.scenario.transactions.is_empty() {
        return;
    }
    let written = ubr(&plan.scenario, &plan.settings);
    let told = put_together(&[&written.scenario, written.settings.as_deref().unwrap_or("settings { }")]);
    let is_same = (&told.scenario, &told.settings) == (&plan.scenario, &plan.settings);
    assert_eq!(is_same, written.lost.is_empty(), "{:?}", written.lost);
    let written = five(&plan.scenario, &plan.settings);
    if !written.script.is_empty() {
        put_together(&[&written.script, &written.distribution, &written.config]);
    }
    let written = urls(&plan.scenario, &plan.settings);
    if !written.text.is_empty() {
        put_together(&[&written.text]);
    }
});

fn read(text: &str) -> (PlanFile, Vec<Note>) {
    let mut notes = Vec::new();
    let plan = plan_file::read(text, &mut notes);
    (PlanFile { scenario: plan.scenario.without_places(), ..plan }, notes)
}

fn put_together(files: &[&str]) -> Gathered {
    let sources: Vec<Source> =
        files.iter().map(|text| Source { name: "written".to_owned(), text: (*text).to_owned() }).collect();
    let gathered = gather(&sources).expect("what was written is read");
    assert!(gathered.warnings.is_empty(), "{:?}", gathered.warnings);
    Gathered { scenario: gathered.scenario.without_places(), ..gathered }
}
