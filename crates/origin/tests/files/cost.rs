//! What looking up and reading a small file costs:
//! `cargo test --release -p samovar-origin --test files -- --ignored --nocapture cost`.

use crate::scratch::Scratch;
use crate::settings;
use samovar_origin::{Files, Resolved};
use std::hint::black_box;
use std::time::Instant;

#[test]
#[ignore = "a measurement, for release builds"]
fn cost_of_a_small_file() {
    let s = Scratch::new("cost");
    s.file("sub/dir/a.html", &"x".repeat(1024));
    s.file("sub/dir/index.html", &"x".repeat(1024));
    s.link("sub", "link");
    let files = Files::new(settings(&s)).unwrap();
    let index = ["index.html".to_owned()];
    for (what, path) in [
        ("resolve + answer, 1 KiB", "/sub/dir/a.html"),
        ("the same as an index document", "/sub/dir/"),
        ("the same through a link", "/link/dir/a.html"),
    ] {
        best(what, || match files.resolve(path, None, &[".php"], &index) {
            Resolved::File(open) => drop(black_box(Files::answer(open))),
            _ => panic!("{path}"),
        });
    }
    best("resolve alone", || drop(black_box(files.resolve("/sub/dir/a.html", None, &[".php"], &index))));
    best("not found", || drop(black_box(files.resolve("/sub/dir/none.html", None, &[".php"], &index))));
    best("version", || {
        black_box(files.version("/sub/dir/a.html"));
    });
}

/// The best of several rounds: the others were disturbed.
fn best(what: &str, mut once: impl FnMut()) {
    let round = |once: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..20_000).for_each(|_| once());
        start.elapsed().as_secs_f64() / 20_000.0 * 1e6
    };
    let us = (0..7).map(|_| round(&mut once)).fold(f64::INFINITY, f64::min);
    println!("{what}: {us:.2} µs");
}
