//! Memory: what the process takes, beside what the cache accounts for.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::Server;

/// Resident memory of a process, KiB.
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Small answers among large ones that cannot be stored: what is kept must not keep the buffers it came in.
#[test]
fn resident_memory_follows_the_budget_under_churn() {
    let origin = Origin::new(|asked| {
        if asked.target().starts_with("/large") {
            return (200, own(&[("Cache-Control", "no-store")]), vec![b'x'; 20_000]);
        }
        (
            200,
            own(&[("Cache-Control", "max-age=600"), ("X-Note", "some field of ordinary length")]),
            b"tiny".to_vec(),
        )
    });
    let server =
        Server::before(&origin.url, &["--memory", "16 MiB", "--access-log", "off", "--workers", "1"]);
    let mut client = server.connect();
    for i in 0..50 {
        client.get(&format!("/warm{i}"), &[]);
    }
    let before = resident_kib(server.pid());
    for i in 0..30_000 {
        if i % 8 == 0 {
            client.get(&format!("/large{i}"), &[]);
        }
        client.get(&format!("/tiny{i}"), &[]);
    }
    let grown = resident_kib(server.pid()).saturating_sub(before);
    let stats = server.json(&["cache", "stats"]);
    let charged = stats["used_bytes"].as_u64().unwrap() / 1024;
    // The records of the last requests have a bound of their own; half as much again is the allocator's.
    assert!(charged > 8_000, "the test must fill the cache: {stats}");
    assert!(grown < charged * 3 / 2 + 40_000, "{grown} KiB taken for {charged} KiB accounted");
}
