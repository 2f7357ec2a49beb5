//! Purges, rule changes and reloads while hot answers go out as fast as they can on two cores: whatever is asked for after
//! the command returned is of after the change.
//!
//! Each change raises a number that every answer shows.

use samovar_tests::client::{Answer, Client};
use samovar_tests::origin::{Origin, own};
use samovar_tests::server::{Server, soon};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Requests that go out in one write.
const PIPELINED: usize = 8;
/// How often something changes.
const CHANGES: u64 = 30;

/// Asks all the time for `/` on four connections, while `change` puts the numbers from 1 on in force; `shown` is the
/// number in an answer.
fn race(server: &Server, shown: impl Fn(&Answer) -> u64 + Sync, mut change: impl FnMut(u64)) {
    let in_force = AtomicU64::new(0);
    let hot = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // However this ends, the others do too.
        let _stop = StopAtEnd(&stop);
        for _ in 0..4 {
            scope.spawn(|| {
                let _stop = StopAtEnd(&stop);
                let mut client = server.connect();
                while !stop.load(Ordering::Relaxed) {
                    hot.fetch_add(ask(&mut client, &in_force, &shown), Ordering::Relaxed);
                }
            });
        }
        for number in 1..=CHANGES {
            let before = hot.load(Ordering::Relaxed);
            soon("hot answers between changes", || {
                assert!(!stop.load(Ordering::Relaxed), "a client has failed");
                (hot.load(Ordering::Relaxed) > before + 100).then_some(())
            });
            change(number);
            in_force.store(number, Ordering::SeqCst);
        }
    });
}

/// Some requests at once; how many were answered hot.
fn ask(client: &mut Client, in_force: &AtomicU64, shown: &impl Fn(&Answer) -> u64) -> u64 {
    let at_least = in_force.load(Ordering::SeqCst);
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n".repeat(PIPELINED));
    let mut hot = 0;
    for _ in 0..PIPELINED {
        let answer = client.answer("GET");
        let number = shown(&answer);
        assert!(
            number >= at_least,
            "{number} after the change to {at_least} was done: {}",
            answer.cache_status()
        );
        hot += u64::from(answer.cache_status().ends_with("-hot"));
    }
    hot
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The number that the rule put into Cache-Control.
fn told(answer: &Answer) -> u64 {
    answer.field("cache-control").unwrap().trim_start_matches("max-age=").parse().unwrap()
}

#[test]
fn purges() {
    let version = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&version);
    let origin = Origin::new(move |_| {
        (200, own(&[("Cache-Control", "max-age=600")]), seen.load(Ordering::SeqCst).to_string().into_bytes())
    });
    let server = Server::before(&origin.url, &["--workers", "2", "--access-log", "off"]);
    race(
        &server,
        |answer| answer.text().parse().unwrap(),
        |number| {
            version.store(number, Ordering::SeqCst);
            match number % 3 {
                0 => server.tell(&["cache", "purge", "--all"]),
                1 => server.tell(&["cache", "purge", "/"]),
                _ => server.tell(&["cache", "purge", "--prefix", "http://test/"]),
            };
        },
    );
}

#[test]
fn rule_changes() {
    let origin = Origin::counting(&[]);
    let server = Server::before(&origin.url, &["--workers", "2", "--access-log", "off"]);
    server.tell(&["rule", "add", "path=/**", "for=600s", "client_cache_control=max-age=0"]);
    race(&server, told, |number| {
        server.tell(&["rule", "set", "r1", &format!("client_cache_control=max-age={number}")]);
    });
}

#[test]
fn reloads() {
    let origin = Origin::counting(&[]);
    let text = |number: u64| {
        format!(
            "config = 1\n[hot]\nthreshold = 1\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n\
             for = \"600s\"\nclient_cache_control = \"max-age={number}\"\n",
            origin.url
        )
    };
    let (server, file) = Server::configured(&text(0), &["--workers", "2", "--access-log", "off"]);
    race(&server, told, |number| {
        std::fs::write(&file, text(number)).unwrap();
        server.tell(&["reload"]);
    });
}
