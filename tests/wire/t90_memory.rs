//! Memory: what the process takes, beside what the cache accounts for.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::Server;

/// Resident memory of a process, KiB.
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The budget of the test.
const BUDGET_KIB: u64 = 32 * 1024;

/// What the process may take beside the budget, KiB: a body on its way in from the origin and out to the client, and the
/// pages the allocator keeps for sizes that come again.
const BESIDE_KIB: u64 = 12 * 1024;

/// Numbers that look like chance and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The size of a body by its name: from 100 bytes to 1 MiB, small ones more often; one in nine may not be stored.
fn size_of(name: u64) -> usize {
    let mut dice = Dice(name.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    dice.below(2);
    let magnitude = dice.below(14).min(dice.below(14));
    (100 + dice.below(100)) as usize * (1 << magnitude) / if magnitude == 13 { 2 } else { 1 }
}

/// Bodies of all sizes, more than fit several times over, replaced and purged in between.
#[test]
fn resident_memory_holds_to_the_budget_under_churn() {
    let origin = Origin::new(|asked| {
        let name: u64 = asked.target().trim_start_matches("/churn/").parse().unwrap_or(0);
        let lifetime = if name.is_multiple_of(9) { "no-store" } else { "max-age=600" };
        let fields = own(&[("Cache-Control", lifetime), ("X-Note", "some field of ordinary length")]);
        (200, fields, vec![b'x'; size_of(name)])
    });
    let text = format!(
        "config = 1\n[memory]\nsize = \"{} MiB\"\n[log]\naccess = \"off\"\ntraces = 100\n\
         [[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n",
        BUDGET_KIB / 1024,
        origin.url
    );
    let (server, _file) = Server::configured(&text, &["--workers", "1"]);
    let mut client = server.connect();
    client.get("/churn/0", &[]);
    let before = resident_kib(server.pid());
    let bound = before + BUDGET_KIB * 105 / 100 + BESIDE_KIB;
    let mut dice = Dice(77);
    let (mut sent, mut next) = (0_u64, 1);
    for step in 0_u64.. {
        // Two new ones for one that was there lately.
        let name = if step % 3 == 2 { next - 1 - dice.below(next.min(400)) } else { next };
        next += u64::from(name == next);
        let got = client.get(&format!("/churn/{name}"), &[]);
        assert_eq!((got.status, got.body.len()), (200, size_of(name)));
        sent += got.body.len() as u64;
        if step.is_multiple_of(50) {
            let now = resident_kib(server.pid());
            assert!(now <= bound, "{now} KiB after {} MiB, {before} at the start", sent >> 20);
        }
        // Purged and fetched anew; later, all that begins alike.
        if step % 400 == 399 {
            server.tell(&["cache", "purge", &format!("/churn/{}", next - dice.below(next.min(50)) - 1)]);
        }
        if step % 1_500 == 1_499 {
            server.tell(&["cache", "purge", "--prefix", &format!("/churn/{}", 1 + dice.below(9))]);
        }
        if sent > BUDGET_KIB * 1024 * 4 {
            break;
        }
    }
    let stats = server.json(&["cache", "stats"]);
    let charged = stats["used_bytes"].as_u64().unwrap() / 1024;
    assert!(stats["evictions"].as_u64() > Some(500), "more than fits: {stats}");
    assert!(charged > BUDGET_KIB / 2 && charged <= BUDGET_KIB, "the test must fill the cache: {stats}");
}

/// Small answers among large ones that cannot be stored: what is kept must not keep the buffers it came in.
#[test]
fn small_answers_do_not_keep_large_buffers() {
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
    assert!(charged > 6_000, "the test must fill the cache: {stats}");
    assert!(grown < charged * 3 / 2 + 40_000, "{grown} KiB taken for {charged} KiB accounted");
}

/// Tiles of a map: what the process grows by is hardly more than their bytes, and what is accounted beside them little.
#[test]
fn tiles_take_hardly_more_than_their_bytes() {
    const TILES: u64 = 6_000;
    const TILE_BYTES: u64 = 15 * 1024;
    let origin = Origin::new(|asked| {
        // Each its own, as what names one representation is.
        let number = asked
            .target()
            .bytes()
            .filter(u8::is_ascii_digit)
            .fold(0_u64, |n, b| n.wrapping_mul(10).wrapping_add(u64::from(b - b'0')));
        let tag = format!("\"3c00-{number:013x}\"");
        let fields = own(&[
            ("Content-Type", "image/png"),
            ("Last-Modified", "Tue, 04 Mar 2025 10:22:31 GMT"),
            ("ETag", &tag),
            ("Cache-Control", "public, max-age=86400"),
        ]);
        (200, fields, vec![b'x'; TILE_BYTES as usize])
    });
    let text = format!(
        "config = 1\n[memory]\nsize = \"512 MiB\"\n[log]\naccess = \"off\"\ntraces = 100\n\
         [[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &["--workers", "1"]);
    let mut client = server.connect();
    for number in 0..200 {
        client.get(&format!("/warm/{number}"), &[]);
    }
    let figures = || {
        (resident_kib(server.pid()) * 1024, server.json(&["cache", "stats"])["used_bytes"].as_u64().unwrap())
    };
    let (resident, used) = figures();
    for number in 0..TILES {
        client
            .get(&format!("/tiles/maps/standard/{:02}/{:05}/{number:05}.png", number % 20, number / 7), &[]);
    }
    let (resident, used) = (figures().0 - resident, figures().1 - used);
    let bodies = TILES * TILE_BYTES;
    assert!(used - bodies <= 283 * TILES, "{} bytes accounted beside a tile", (used - bodies) / TILES);
    assert!(resident <= bodies / 100 * 108, "{} bytes taken beside a tile", (resident - bodies) / TILES);
}
