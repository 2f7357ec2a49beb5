//! Many ask for the same at once: one fetch.

use samovar_tests::origin::{After, Origin};
use samovar_tests::server::{Server, soon};
use std::io::Write;
use std::time::{Duration, Instant};

#[test]
fn one_fetch_for_all_cores() {
    let origin = Origin::new(|_| {
        std::thread::sleep(Duration::from_millis(300));
        (200, vec![("Cache-Control".into(), "max-age=60".into())], vec![7; 100_000])
    });
    let server = Server::before(&origin.url, &["--workers", "2"]);
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                let answer = server.get("/", &[]);
                assert!(answer.whole && answer.body == vec![7; 100_000]);
            });
        }
    });
    assert_eq!(origin.count(), 1);
}

#[test]
fn waiters_are_released_by_the_head_and_read_while_it_grows() {
    let origin = Origin::raw(|_, stream| {
        let head = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 20\r\n\r\n0123456789";
        let _ = stream.write_all(head);
        std::thread::sleep(Duration::from_millis(1_500));
        let _ = stream.write_all(b"abcdefghij");
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    let began = Instant::now();
    let mut first = server.connect();
    first.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    soon("the first at the origin", || (origin.count() == 1).then_some(()));
    // A late one gets the head and the first half long before the origin is done.
    let mut late = std::net::TcpStream::connect(&server.address).unwrap();
    late.write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let mut got = Vec::new();
    while !got.ends_with(b"0123456789") {
        let mut buffer = [0; 1024];
        let n = std::io::Read::read(&mut late, &mut buffer).unwrap();
        got.extend_from_slice(&buffer[..n]);
    }
    assert!(began.elapsed() < Duration::from_millis(1_200), "{:?}", began.elapsed());
    assert_eq!(first.answer("GET").text(), "0123456789abcdefghij");
    assert_eq!(origin.count(), 1);
}

#[test]
fn a_dead_origin_fails_all_at_once() {
    let origin = Origin::raw(|_, _| {
        std::thread::sleep(Duration::from_millis(500));
        After::Close
    });
    let server = Server::before(&origin.url, &[]);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert_eq!(server.get("/", &[]).status, 502));
        }
    });
    // One after the other they would take ten seconds.
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn an_origin_that_dies_in_mid_body_stores_nothing() {
    let origin = Origin::raw(|asked, stream| {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 100\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        if asked.number == 0 {
            let _ = stream.write_all(&[1; 50]);
            return After::Close;
        }
        let _ = stream.write_all(&[2; 100]);
        After::Keep
    });
    let server = Server::before(&origin.url, &[]);
    let cut = server.get("/", &[]);
    assert!(!cut.whole, "the client must be able to tell");
    let next = server.get("/", &[]);
    assert!(next.whole && next.body == vec![2; 100]);
    assert_eq!(server.json(&["trace", "--reason", "incomplete"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_fetch_goes_on_when_its_client_leaves() {
    let origin = Origin::new(|_| {
        std::thread::sleep(Duration::from_millis(400));
        (200, vec![("Cache-Control".into(), "max-age=60".into())], b"kept".to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    let mut leaving = server.connect();
    leaving.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    soon("the request at the origin", || (origin.count() == 1).then_some(()));
    drop(leaving);
    let answer = soon("the stored answer", || {
        let answer = server.get("/", &[("Cache-Control", "only-if-cached")]);
        (answer.status == 200).then_some(answer)
    });
    assert_eq!(answer.text(), "kept");
    assert_eq!(origin.count(), 1);
}

#[test]
fn a_slow_reader_stalls_nobody() {
    let origin =
        Origin::new(|_| (200, vec![("Cache-Control".into(), "max-age=60".into())], vec![9; 20_000_000]));
    let server = Server::before(&origin.url, &["--workers", "1"]);
    let mut slow = std::net::TcpStream::connect(&server.address).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    soon("the request at the origin", || (origin.count() == 1).then_some(()));
    // It never reads; another gets everything, from the same fetch.
    let answer = server.get("/", &[]);
    assert!(answer.whole && answer.body.len() == 20_000_000);
    assert_eq!(origin.count(), 1);
}

#[test]
fn a_purge_overtakes_a_fetch() {
    let origin = Origin::new(|asked| {
        std::thread::sleep(Duration::from_millis(400));
        (200, vec![("Cache-Control".into(), "max-age=60".into())], format!("{}", asked.number).into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(server.get("/", &[]).text(), "0"));
        soon("the request at the origin", || (origin.count() == 1).then_some(()));
        server.tell(&["cache", "purge", "/"]);
        assert_eq!(server.get("/", &[]).text(), "1", "nobody joins a fetch older than the purge");
    });
    assert_eq!(server.get("/", &[]).text(), "1");
}

#[test]
fn a_change_of_files_leaves_other_fetches_alone() {
    let folder = samovar_tests::server::Folder::new();
    folder.write("www/index.html", "x");
    let origin = Origin::new(|_| {
        std::thread::sleep(Duration::from_millis(600));
        (200, vec![("Cache-Control".into(), "max-age=60".into())], b"slow".to_vec())
    });
    let text = format!(
        "config = 1\n[[site]]\nname = \"app\"\ndefault = true\norigin = \"{}\"\n\
         [[site]]\nname = \"files\"\nhosts = [\"files.example\"]\nfiles = \"{}/www\"\n",
        origin.url,
        folder.0.display()
    );
    let (server, _file) = Server::configured(&text, &[]);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(server.get("/", &[]).text(), "slow"));
        soon("the request at the origin", || (origin.count() == 1).then_some(()));
        folder.write("www/log.txt", "a line");
        std::thread::sleep(Duration::from_millis(200));
    });
    assert!(server.get("/", &[]).is_hit());
}
