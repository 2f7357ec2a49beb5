//! Bounds of sites, rules and upstreams, and their queues: what a request occupies, and that it comes back.

use super::t63_balance::{before_with, member, members};
use samovar_tests::client::Client;
use samovar_tests::origin::{After, Origin};
use samovar_tests::server::{Server, soon};
use serde_json::Value;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// As many as may be are under way, one waits, the next is told so at once; who waits too long is told that.
#[test]
fn a_site_and_a_rule_have_bounds_and_queues() {
    let gate = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&gate);
    let slow = Origin::raw(move |asked, stream| {
        while asked.target().starts_with("/slow") && !open.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok");
        After::Keep
    });
    let text = format!(
        "config = 1\n[[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\nlimits = {{ concurrent_max = 3 }}\n\
         [[site.rule]]\nid = \"slow\"\npath = \"/slow*\"\nlimits = {{ concurrent_max = 2, queue_max = 1, queue_timeout = \"4s\" }}\n",
        slow.url
    );
    let (server, file) = Server::configured(&text, &[]);
    let ask = |path: &'static str| {
        let mut client = server.connect();
        std::thread::spawn(move || client.get(path, &[]))
    };
    let limit = |name: &str| -> Value {
        let all = server.json(&["limits"]);
        all.as_array()
            .unwrap()
            .iter()
            .find(|l| l["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {all}"))
            .clone()
    };
    let (one, two) = (ask("/slow1"), ask("/slow2"));
    soon("both are under way", || {
        (limit("site.one.rule.slow.limits.concurrent_max")["used"] == 2).then_some(())
    });
    let late = ask("/slow3");
    soon("one waits", || (limit("site.one.rule.slow.limits.queue_max")["used"] == 1).then_some(()));
    let begun = Instant::now();
    let full = server.get("/slow4", &[]);
    assert_eq!((full.status, full.reason().as_str()), (503, "queue-full"));
    assert!(full.field("retry-after").is_some() && begun.elapsed() < Duration::from_secs(3));
    assert!(full.text().contains("site.one.rule.slow.limits"), "{}", full.text());
    // Others of the site still have a place.
    assert_eq!(server.get("/quick", &[]).status, 200);
    let late = late.join().unwrap();
    assert_eq!((late.status, late.reason().as_str()), (503, "queue-timeout"));
    let bound = limit("site.one.rule.slow.limits.concurrent_max");
    assert_eq!((bound["number"].as_u64(), bound["refused"].as_u64()), (Some(2), Some(2)), "{bound}");
    assert_eq!(bound["from"], format!("{}:10", file.display()));
    assert_eq!(bound["binds"], true);
    assert!(server.tell(&["limits"]).contains("binds now"), "{}", server.tell(&["limits"]));
    gate.store(true, Ordering::Relaxed);
    assert_eq!((one.join().unwrap().status, two.join().unwrap().status), (200, 200));
    assert_eq!(server.get("/slow5", &[]).status, 200, "places come back");
    soon("nothing is held", || (limit("site.one.limits.concurrent_max")["used"] == 0).then_some(()));
}

/// A client that leaves gives its place back, whether it was waiting or under way.
#[test]
fn places_of_clients_that_left_come_back() {
    let stuck = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", stuck.local_addr().unwrap());
    let text = format!(
        "config = 1\n[[site]]\nname = \"one\"\ndefault = true\nupstream = \"app\"\nlimits = {{ concurrent_max = 1, queue_max = 2, queue_timeout = \"60s\" }}\n\
         [[site.rule]]\nnever = true\n[[upstream]]\nname = \"app\"\nmembers = [{{ url = \"{url}\" }}, {{ url = \"{url}\", name = \"b\" }}]\n"
    );
    let (server, _) = Server::configured(&text, &[]);
    let used = |what: &str| {
        let all = server.json(&["limits"]);
        let name = format!("site.one.limits.{what}");
        all.as_array().unwrap().iter().find(|l| l["name"] == name).unwrap()["used"].as_u64().unwrap()
    };
    let busy = || {
        let all = server.json(&["upstream", "list"]);
        member(&all, "b")["busy"].as_u64().unwrap() + all[0]["members"][0]["busy"].as_u64().unwrap()
    };
    let state = || (used("concurrent_max"), used("queue_max"), busy());
    let asks = || {
        let mut client: Client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        client
    };
    let first = asks();
    soon("it is under way", || (state() == (1, 0, 1)).then_some(()));
    let second = asks();
    soon("the second waits", || (state() == (1, 1, 1)).then_some(()));
    let _third = asks();
    soon("the third waits, too", || (state() == (1, 2, 1)).then_some(()));
    drop(second);
    soon("the second's place is free", || (state() == (1, 1, 1)).then_some(()));
    drop(first);
    soon("the first's place is the third's", || (state() == (1, 0, 1)).then_some(()));
}

/// A connection that has changed to another protocol occupies its member and its site's place for as long as it lasts.
#[test]
fn a_websocket_keeps_its_places() {
    let origin = Origin::raw(|_, stream| {
        let _ = stream.write_all(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
        );
        After::Keep
    });
    let server = before_with(
        "limits = { concurrent_max = 1, queue_max = 0 }",
        &members(&[&origin.url, &origin.url.replace("127.0.0.1", "localhost")]),
    );
    let used = || {
        let all = server.json(&["limits"]);
        let name = "site.one.limits.concurrent_max";
        let gate =
            all.as_array().unwrap().iter().find(|l| l["name"] == name).unwrap()["used"].as_u64().unwrap();
        let all = server.json(&["upstream", "list"]);
        (gate, member(&all, "a")["busy"].as_u64().unwrap() + member(&all, "b")["busy"].as_u64().unwrap())
    };
    let mut client = server.connect();
    client.send(
        "GET /ws HTTP/1.1\r\nHost: test\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    assert_eq!(client.one("GET").unwrap().status, 101);
    assert_eq!(used(), (1, 1));
    assert_eq!(server.get("/", &[]).reason(), "queue-full");
    drop(client);
    soon("its places are free", || (used() == (0, 0)).then_some(()));
}
