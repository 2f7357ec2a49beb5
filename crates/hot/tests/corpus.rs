//! Replays what fuzzing has found, and the seeds it began with (`fuzz/corpus/request_head`).

use std::path::Path;

#[test]
fn every_head_of_the_corpus_is_judged_the_same_whole_and_in_pieces() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/request_head");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        samovar_hot::head::judge_bytes(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} heads");
}

#[test]
fn every_proxy_head_of_the_corpus_is_judged_the_same_whole_and_in_steps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/proxy_head");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        samovar_hot::proxy::judge_bytes(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} heads");
}
