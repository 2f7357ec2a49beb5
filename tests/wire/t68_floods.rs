//! Floods that no rule foresees: heads that are never finished, heads that are large, fields of very many parts.
//!
//! Not here: what each parser costs (`scripts/field-work.sh`), passwords (`t69_sign_in`).

use samovar_tests::client::Client;
use samovar_tests::origin::{After, Origin};
use samovar_tests::server::{Server, soon};
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Of a server with the smallest budget; heads get an eighth of it.
const BUDGET_KIB: u64 = 16 * 1024;

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn heads(server: &Server) -> Value {
    let all = server.json(&["limits"]);
    all.as_array().unwrap().iter().find(|l| l["name"] == "memory.heads_max").unwrap().clone()
}

fn number(row: &Value, what: &str) -> u64 {
    row[what].as_u64().unwrap_or_else(|| panic!("{what}: {row}"))
}

fn small_server(origin: &Origin) -> Server {
    let text = format!(
        "config = 1\n[memory]\nsize = \"16 MiB\"\n[log]\naccess = \"off\"\n[[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    Server::configured(&text, &["--workers", "2"]).0
}

/// 36 MiB of heads, none of which is ever finished, against 2 MiB that heads may have. Those begun first give way and are
/// told so; whoever sends a head at once is served all the while.
#[test]
fn unfinished_heads_have_a_bound_in_all() {
    const FLOOD: usize = 600;
    let origin = Origin::counting(&[("Cache-Control", "no-store")]);
    let server = small_server(&origin);
    assert_eq!(server.get("/before", &[]).status, 200);
    assert_eq!(number(&heads(&server), "number"), BUDGET_KIB * 1024 / 8);
    let before_kib = resident_kib(server.pid());
    let unfinished = format!("GET /flood HTTP/1.1\r\nHost: test\r\nX-Long: {}", "x".repeat(60 << 10));
    let mut flood = Vec::with_capacity(FLOOD);
    for at in 0..FLOOD {
        let mut client = Client::connect(&server.address);
        client.send(&unfinished);
        flood.push(client);
        if at % 100 == 0 {
            assert_eq!(server.get("/meanwhile", &[]).status, 200);
        }
    }
    // As many heads as fit twice over may be left.
    let fit = 2 * BUDGET_KIB * 1024 / 8 / (60 << 10);
    let row = soon("heads gave way", || {
        let row = heads(&server);
        (number(&row, "refused") + fit >= FLOOD as u64).then_some(row)
    });
    assert!(number(&row, "used") <= 2 * BUDGET_KIB * 1024 / 8, "{row}");
    let grown_kib = resident_kib(server.pid()).saturating_sub(before_kib);
    assert!(grown_kib < 14 * 1024, "{FLOOD} unfinished heads: {grown_kib} KiB more");
    let answer = flood[0].answer("GET");
    assert_eq!((answer.status, answer.reason().as_str()), (408, "head-gave-way"));
    // The one that came last still has its time.
    let last = flood.last_mut().unwrap().send("\r\n\r\n").answer("GET");
    assert_eq!(last.status, 200, "{}", last.reason());
    assert_eq!(server.get("/after", &[]).status, 200);
    drop(flood);
    soon("all is given back", || (number(&heads(&server), "used") == 0).then_some(()));
}

/// Large heads stay in memory while their requests are answered: beyond the bound the next is refused, small ones go on.
#[test]
fn large_heads_of_requests_under_way_have_the_same_bound() {
    let gate = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&gate);
    let origin = Origin::raw(move |asked, stream| {
        while asked.target().starts_with("/slow") && !open.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok");
        After::Keep
    });
    let server = small_server(&origin);
    let large = |at: usize| {
        format!("GET /slow{at} HTTP/1.1\r\nHost: test\r\nX-Long: {}\r\n\r\n", "x".repeat(60 << 10))
    };
    // 4.7 MiB of them.
    let mut clients: Vec<Client> = (0..80).map(|_| Client::connect(&server.address)).collect();
    for (at, client) in clients.iter_mut().enumerate() {
        client.send(large(at));
    }
    let most = BUDGET_KIB * 1024 / 8;
    let row = soon("some are refused and some under way", || {
        let row = heads(&server);
        (number(&row, "refused") + number(&row, "used") / (60 << 10) >= 80).then_some(row)
    });
    assert!(number(&row, "used") <= most && number(&row, "refused") > 0, "{row}");
    assert_eq!(server.get("/quick", &[]).status, 200);
    gate.store(true, Ordering::Relaxed);
    let answers: Vec<_> = clients.iter_mut().map(|client| client.answer("GET")).collect();
    for answer in &answers {
        let reason = answer.reason();
        assert!(answer.status == 200 || (answer.status, &*reason) == (503, "heads-full"), "{reason}");
    }
    assert!(answers.iter().filter(|a| a.status == 200).count() >= 16, "those that came first are answered");
    soon("all is given back", || (number(&heads(&server), "used") == 0).then_some(()));
    assert_eq!(clients[0].get("/slow-no-more", &[("X-Long", &"x".repeat(40 << 10))]).status, 200);
}

/// Beyond each bound nothing is shared: the request goes past the cache, or the response is not stored.
#[test]
fn fields_of_many_parts_pass_the_cache_by() {
    let list = |n: usize, separator: &str, part: &dyn Fn(usize) -> String| {
        (0..n).map(part).collect::<Vec<_>>().join(separator)
    };
    let names = move |n: usize| list(n, ",", &|at| format!("x-{at}"));
    let tags = move |n: usize| list(n, " ", &|at| format!("t{at}"));
    let origin = Origin::new(move |asked| {
        let mut fields = vec![("Cache-Control".to_owned(), "public, max-age=600".to_owned())];
        match asked.target() {
            "/vary64" => fields.push(("Vary".to_owned(), names(64))),
            "/vary65" => fields.push(("Vary".to_owned(), names(65))),
            "/tags1024" => fields.push(("Surrogate-Key".to_owned(), tags(1_024))),
            "/tags1025" => fields.push(("Surrogate-Key".to_owned(), tags(1_025))),
            _ => {}
        }
        (200, fields, b"body".to_vec())
    });
    let text = format!(
        "config = 1\n[[site]]\nname = \"one\"\ndefault = true\norigin = \"{}\"\n[[site.rule]]\npath = \"/kept\"\nvary_query = {{ keep = [\"v1\"] }}\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let twice = |path: &str, fields: &[(&str, &str)]| {
        server.get(path, fields);
        server.get(path, fields)
    };
    for (path, hit) in [("/vary64", true), ("/vary65", false), ("/tags1024", true), ("/tags1025", false)] {
        let answer = twice(path, &[]);
        assert_eq!((answer.status, answer.is_hit()), (200, hit), "{path}: {}", answer.cache_status());
    }
    let cookies = |n: usize| list(n, "; ", &|at| format!("c{at}=1"));
    let (most, more) = (cookies(256), cookies(257));
    assert!(twice("/cookies", &[("Cookie", &most)]).is_hit(), "the origin says that it is for all");
    let answer = twice("/cookies", &[("Cookie", &more)]);
    assert_eq!((answer.status, answer.reason().as_str()), (200, "too-many-cookies"));
    let query = |n: usize| format!("/kept?{}", list(n, "&", &|at| format!("v{at}")));
    assert!(twice(&query(1_000), &[]).is_hit());
    let answer = twice(&query(1_001), &[]);
    assert_eq!((answer.status, answer.reason().as_str()), (200, "too-many-variables"));
    let answer = server.get("/connection", &[("Connection", &list(65, ",", &|_| "a".to_owned()))]);
    assert_eq!((answer.status, answer.reason().as_str()), (431, "too-many-options"));
}
