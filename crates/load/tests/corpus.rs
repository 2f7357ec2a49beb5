//! What fuzzing has found in files of scenarios, and what it begins with, once more: read or refused, without a panic.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

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
