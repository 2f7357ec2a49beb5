//! Replays what fuzzing has found, and the seeds it began with (`fuzz/corpus/config`).

use std::path::Path;

#[test]
fn every_text_of_the_corpus_is_judged_without_a_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/config");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        match samovar::config::parse(text, "corpus.toml") {
            Ok(loaded) => assert!(samovar::config::parse(&loaded.text, "corpus.toml").is_ok()),
            Err(report) => assert!(report.to_string().contains("corpus.toml"), "{report}"),
        }
        seen += 1;
    }
    assert!(seen >= 5, "only {seen} texts");
}
