//! What the programs say of themselves: `-V` in one line, `--version` with the commit, the build and the libraries.

use samovar_tests::server::program;
use std::process::Command;

#[allow(dead_code, reason = "called by the build scripts; here only its own tests run")]
#[path = "../../scripts/build_info.rs"]
mod build_info;

fn says(name: &str, flag: &str) -> String {
    let out = Command::new(program(name)).arg(flag).output().unwrap();
    assert!(out.status.success(), "{name} {flag}");
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn programs_say_how_they_were_built() {
    for (name, library) in [("samovar", "hyper 1."), ("thirst", "hdrhistogram 7.")] {
        let short = says(name, "-V");
        assert_eq!(short, format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
        let long = says(name, "--version");
        let line = |start: &str| {
            let found = long.lines().find_map(|line| line.strip_prefix(start));
            found.unwrap_or_else(|| panic!("no {start:?} in {long}")).trim().to_owned()
        };
        assert_eq!(long.lines().next(), Some(short.trim_end()), "{long}");
        let build = line("build:");
        assert!(build.contains(std::env::consts::ARCH) && build.contains("rustc 1."), "{long}");
        let commit = line("commit:");
        let hash = commit.split(' ').next().unwrap_or_default();
        let is_hash = hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let profile = build.split(',').next().unwrap_or_default();
        let without = ["not recorded in debug builds", "unknown (built without git)"];
        assert!(is_hash || without.contains(&commit.as_str()), "{long}");
        assert!(profile != "debug" || commit == without[0], "{long}");
        assert!(line("libraries:").contains(library), "{long}");
    }
}
