//! The scripts that measure, run in small with the programs under test: they come to their end and show what they say.

use samovar_tests::root;
use samovar_tests::server::{Folder, program};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs `bash scripts/SCRIPT ARGS` in small; its reports are in the folder that comes back.
fn walk(script: &str, args: &[&str]) -> (Folder, String) {
    let folder = Folder::new();
    let programs = program("samovar").parent().unwrap().to_path_buf();
    let output = Command::new("bash")
        .arg(Path::new("scripts").join(script))
        .args(args)
        .current_dir(root())
        .envs([
            ("SHORT", "1".as_ref()),
            ("PROGRAMS", programs.as_os_str()),
            ("WALK_OUT", folder.0.as_os_str()),
        ])
        .output()
        .unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script} {args:?}: {}\n{said}", output.status);
    (folder, said)
}

/// A run's JSON.
fn run(folder: &Folder, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.path(&format!("{name}.json")))
        .unwrap_or_else(|e| panic!("{name}.json: {e}"));
    serde_json::from_str(&text).unwrap()
}

/// Hits and answers of a run.
fn hits(run: &Value) -> (u64, u64) {
    (run["cache"]["hits"].as_u64().unwrap(), run["responses"].as_u64().unwrap())
}

#[test]
fn gallery() {
    let (folder, said) = walk("gallery.sh", &[]);
    let anew = run(&folder, "2-anew");
    assert!(hits(&anew).0 == 0 && hits(&anew).1 > 0, "{said}");
    for cached in ["3-memory", "4-hot"] {
        let (hits, all) = hits(&run(&folder, cached));
        // The first of each page may have been on its way when the window began.
        assert!(all > 100 && hits + 12 >= all, "{cached}: {hits} of {all}\n{said}");
    }
    for name in ["1-static", "2-anew", "3-memory", "4-hot"] {
        let run = run(&folder, name);
        assert_eq!(run["statuses"]["200"], run["responses"], "{name}\n{said}");
    }
    let list = std::fs::read_to_string(folder.path("list.txt")).unwrap();
    assert_eq!(
        list.lines().filter(|l| l.starts_with("hot ") && l.contains("Qwd=./landscapes")).count(),
        6,
        "{list}"
    );
    assert!(folder.path("report.html").is_file());
}

#[test]
fn slow_service() {
    let (folder, said) = walk("slow-service.sh", &[]);
    // The service's own limit: 250 at once, the others in its queue.
    let small = run(&folder, "2-small");
    assert_eq!(highest(&small, "slow_service_concurrent"), 250.0, "{said}");
    assert!(highest(&small, "slow_service_queue") > 100.0, "{said}");
    // Samovar's, as it is set if nobody sets it: said by the counters and by `samovar limits` alike.
    let default = run(&folder, "3-default");
    assert!(default["errors"]["kinds"]["status"].as_u64() > Some(0), "{said}");
    assert_eq!(highest(&default, "samovar_upstream_requests_busy"), 256.0, "{said}");
    let limits = std::fs::read_to_string(folder.path("limits.txt")).unwrap();
    let row = limits.lines().find(|l| l.starts_with("upstream.service.max_connections")).unwrap();
    assert_eq!(row.split_whitespace().filter(|w| *w == "256").count(), 2, "{limits}");
    // With more, none is refused.
    for name in ["1-long", "1-quick", "4-long", "4-quick", "5-cached"] {
        let run = run(&folder, name);
        assert_eq!(run["statuses"]["200"], run["responses"], "{name}\n{said}");
        assert!(run["responses"].as_u64() > Some(0), "{name}\n{said}");
    }
    // Of 1,500; some may be between two requests whenever somebody looks.
    assert!(highest(&run(&folder, "4-long"), "samovar_upstream_requests_busy") > 1400.0, "{said}");
    let (hits, all) = hits(&run(&folder, "5-cached"));
    assert!(hits > 0 && hits + 100 > all, "{hits} of {all}\n{said}");
    assert!(said.contains("new-key 200, partner-key 401"), "{said}");
}

/// The highest value of a counter in a run, over all its labels.
fn highest(run: &Value, name: &str) -> f64 {
    let all = run["counters"]["series"].as_array().unwrap_or_else(|| panic!("{}", run["counters"]));
    let of = all.iter().filter(|c| c["name"].as_str().unwrap_or("").starts_with(name));
    let points = of.flat_map(|c| c["points"].as_array().unwrap());
    points.filter_map(|p| p[1].as_f64()).fold(f64::MIN, f64::max)
}

#[test]
fn lettered_pictures() {
    let (folder, said) = walk("measure.sh", &["letters"]);
    assert_eq!(hits(&run(&folder, "1-anew")).0, 0, "{said}");
    for cached in ["2-memory", "3-hot"] {
        let (hits, all) = hits(&run(&folder, cached));
        assert!(all > 100 && hits + 100 > all, "{cached}: {hits} of {all}\n{said}");
    }
}

/// The measurements of docs/measurements: each comes to its end, with a report.
#[test]
fn measurements() {
    for what in ["images", "files", "gallery", "service", "tiles"] {
        let (folder, said) = walk("measure.sh", &[what]);
        assert!(folder.path("report.html").is_file(), "{said}");
    }
}
