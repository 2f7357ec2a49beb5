//! The stop: of the connections that were there before the signal none loses a request, and the addresses are free at once.
//!
//! Not here: requests under way (`t10_files`), other protocols (`t51_upgrade`), a log that nobody reads (`t65_stderr`).

use samovar_tests::raw::connect;
use samovar_tests::server::{Folder, Server, run, soon};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const GET: &[u8] = b"GET /page.txt HTTP/1.1\r\nHost: x\r\n\r\n";

/// A server of files whose idle connections stay open at a stop for as long as the test takes.
fn patient(folder: &Folder, more: &str, args: &[&str]) -> Server {
    folder.write("files/page.txt", "page");
    let text = format!(
        "config = 1\n[limits]\nstop_grace = \"50s\"\nstop_timeout = \"50s\"\n[[site]]\nname = \"s\"\ndefault = true\n\
         files = \"files\"\n{more}"
    );
    let config = folder.write("samovar.toml", text);
    let mut all = vec!["--listen", "127.0.0.1:0"];
    all.extend_from_slice(args);
    Server::start_with(&["--config", config.to_str().unwrap(), "--access-log", "off"], &all)
}

/// A process that ends with the test, however that ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All until the end, which must be an end and no break.
fn to_end(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("an end, and no reset");
    String::from_utf8(all).unwrap()
}

/// One response, whole.
fn response(stream: &mut TcpStream) -> String {
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(b"\r\n\r\npage") {
        stream.read_exact(&mut byte).expect("a response, and no end before it");
        all.push(byte[0]);
    }
    String::from_utf8(all).unwrap()
}

fn is_last(response: &str) -> bool {
    response.starts_with("HTTP/1.1 200 ")
        && response.to_ascii_lowercase().contains("\r\nconnection: close\r\n")
        && response.ends_with("\r\n\r\npage")
}

#[test]
fn a_request_that_comes_after_the_signal_is_served() {
    let folder = Folder::new();
    let mut server = patient(&folder, "", &[]);
    let mut fresh: Vec<TcpStream> = (0..50).map(|_| connect(&server.address)).collect();
    let mut used: Vec<TcpStream> = (0..50).map(|_| connect(&server.address)).collect();
    for stream in &mut used {
        stream.write_all(GET).unwrap();
        assert!(!is_last(&response(stream)));
    }
    server.signal("TERM");
    soon("the stop", || server.said().contains("stopping").then_some(()));
    for stream in fresh.iter_mut().chain(&mut used) {
        stream.write_all(GET).unwrap();
        // A second one behind it does not break the first.
        stream.write_all(GET).unwrap();
    }
    for (n, stream) in fresh.iter_mut().chain(&mut used).enumerate() {
        let response = to_end(stream);
        assert!(is_last(&response), "connection {n}: {response:?}");
    }
    drop((fresh, used));
    assert_eq!(server.wait(), Some(0));
    assert!(!server.said().contains("are cut"), "{}", server.said());
}

/// The kernel has completed these connections, and the server has accepted none of them when the signal comes.
#[test]
fn what_waits_to_be_accepted_is_served() {
    let folder = Folder::new();
    for name in ["a.pem", "a.key"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/server/tests/tls").join(name);
        std::fs::copy(from, folder.path(name)).unwrap();
    }
    let tls = "certificate = \"a.pem\"\ncertificate_key = \"a.key\"\n";
    let mut server = patient(&folder, tls, &["--listen", "https://127.0.0.1:0"]);
    // Both take part from the first request on.
    assert_eq!(server.get("/page.txt", &[]).status, 200);
    server.signal("STOP");
    let mut waiting: Vec<TcpStream> = (0..200).map(|_| connect(&server.address)).collect();
    for stream in &mut waiting {
        stream.write_all(GET).unwrap();
    }
    let mut silent: Vec<TcpStream> = (0..20).map(|_| connect(&server.address)).collect();
    let https = server.listen[1].clone();
    let shaking: Vec<_> = (0..3)
        .map(|_| {
            Command::new("curl")
                .args(["-sSk", "--max-time", "40", &format!("{https}/page.txt")])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    // Each has its connection: in the table of the system, waiting for its handshake.
    let port = format!(":{:04X} ", https.rsplit(':').next().unwrap().parse::<u16>().unwrap());
    soon("curl's connections", || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let connected = table.lines().filter(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.get(2).is_some_and(|remote| format!("{remote} ").ends_with(&port)) && words[3] == "01"
        });
        (connected.count() >= 3).then_some(())
    });
    server.signal("TERM");
    server.signal("CONT");
    for stream in &mut waiting {
        // The server may meet the connection, and requests after the first, before it has taken notice of the signal.
        soon("the last response", || {
            let last = is_last(&response(stream));
            if !last {
                stream.write_all(GET).unwrap();
            }
            last.then_some(())
        });
        assert_eq!(to_end(stream), "");
    }
    for stream in &mut silent {
        stream.write_all(GET).unwrap();
        assert!(is_last(&to_end(stream)));
    }
    for curl in shaking {
        let output = curl.wait_with_output().unwrap();
        assert_eq!(output.stdout, b"page", "{}", String::from_utf8_lossy(&output.stderr));
    }
    drop((waiting, silent));
    assert_eq!(server.wait(), Some(0));
    assert!(!server.said().contains("are cut"), "{}", server.said());
}

/// Clients that ask all the time, on connections that are kept, while the signal comes: each request has its response.
#[test]
fn busy_clients_lose_nothing() {
    let folder = Folder::new();
    let mut server = patient(&folder, "", &[]);
    let address = server.address.clone();
    let busy = AtomicUsize::new(0);
    let lost: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let mut stream = connect(&address);
                let busy = &busy;
                scope.spawn(move || {
                    let mut served = 0;
                    let mut buffer = vec![0; 4096];
                    loop {
                        stream.write_all(GET).unwrap();
                        let mut response = String::new();
                        while !response.ends_with("\r\n\r\npage") {
                            match stream.read(&mut buffer) {
                                Ok(bytes @ 1..) => {
                                    response.push_str(std::str::from_utf8(&buffer[..bytes]).unwrap())
                                }
                                // Empty or reset: a lost request.
                                _ => return 1,
                            }
                        }
                        served += 1;
                        if served == 20 {
                            busy.fetch_add(1, Ordering::SeqCst);
                        }
                        if is_last(&response) {
                            return 0;
                        }
                    }
                })
            })
            .collect();
        // Whatever happens the signal comes, as the clients end with nothing else.
        let until = Instant::now() + Duration::from_secs(20);
        while busy.load(Ordering::SeqCst) < clients.len() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        server.signal("TERM");
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(lost, 0);
    assert_eq!(server.wait(), Some(0));
}

/// The admin address and unix sockets are free while requests are under way, and the next process keeps what it took.
#[test]
fn the_next_process_starts_while_this_one_finishes() {
    let folder = Folder::new();
    let sockets = ["web.sock", "admin.sock"].map(|name| format!("unix:{}", folder.path(name).display()));
    let listen = ["--listen", &sockets[0]];
    let mut server = patient(&folder, "", &listen);
    let admin = server.admin.trim_start_matches("http://").to_owned();
    // A request under way, so that the old one stays.
    let mut slow = connect(&server.address);
    slow.write_all(b"POST /page.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12").unwrap();
    let mut idle = connect(&server.address);
    idle.write_all(&GET[..10]).unwrap();
    server.signal("TERM");
    soon("the admin address", || TcpStream::connect(&admin).is_err().then_some(()));
    soon("the socket", || (!folder.path("web.sock").exists()).then_some(()));
    let next = folder.path("next.json");
    let config = folder.path("samovar.toml");
    let mut args = vec!["serve", "--config", config.to_str().unwrap(), "--admin", &admin, "--ready-file"];
    args.push(next.to_str().unwrap());
    args.extend_from_slice(&listen);
    args.extend_from_slice(&["--access-log", "off", "--listen", &server.address]);
    let successor = Command::new(samovar_tests::server::program("samovar"))
        .args(&args)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.path("stderr")).unwrap())
        .spawn()
        .unwrap();
    let mut successor = Killed(successor);
    soon("the next process", || {
        let ended = successor.0.try_wait().unwrap();
        assert!(ended.is_none(), "{}", std::fs::read_to_string(folder.path("stderr")).unwrap());
        next.is_file().then_some(())
    });
    // The old one finishes what it had.
    idle.write_all(&GET[10..]).unwrap();
    assert!(is_last(&to_end(&mut idle)));
    drop((idle, slow));
    assert_eq!(server.wait(), Some(0));
    assert!(folder.path("web.sock").exists(), "the next one's socket stays");
    let status = run(&["status", "--json", "--admin", &admin]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["pid"].as_u64(), Some(successor.0.id().into()));
}

/// With connections that ask nothing the stop takes no longer than the grace.
#[test]
fn idle_connections_are_closed_after_the_grace() {
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    let text = "config = 1\n[limits]\nstop_grace = \"100ms\"\n[[site]]\nname = \"s\"\ndefault = true\nfiles = \"files\"\n";
    let config = folder.write("samovar.toml", text);
    let mut server = Server::start(&["--config", config.to_str().unwrap()]);
    let mut idle: Vec<TcpStream> = (0..20).map(|_| connect(&server.address)).collect();
    // Accepted, all of them.
    soon("the connections", || {
        let of = server.json(&["limits"]);
        let row = of.as_array().unwrap().iter().find(|row| row["name"] == "limits.connections_max")?.clone();
        (row["used"].as_u64()? >= 20).then_some(())
    });
    server.signal("TERM");
    for stream in &mut idle {
        assert_eq!(to_end(stream), "");
    }
    // Not after `stop_timeout`, with which busy ones are cut.
    assert_eq!(server.wait(), Some(0));
    assert!(!server.said().contains("are cut"), "{}", server.said());
}

/// Connections have taken all descriptors: the operator still gets in, and can read a configuration.
#[test]
fn the_admin_port_has_descriptors_of_its_own() {
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    let text = "config = 1\n[limits]\nidle_timeout = \"10m\"\n[[site]]\nname = \"s\"\ndefault = true\nfiles = \"files\"\n";
    let config = folder.write("samovar.toml", text);
    let ready = folder.path("ready.json");
    let child = Command::new("prlimit")
        .arg("--nofile=100:100")
        .arg(samovar_tests::server::program("samovar"))
        .args([
            "serve",
            "--config",
            config.to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
        ])
        .args(["--access-log", "off", "--ready-file", ready.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let child = Killed(child);
    soon("the server", || ready.is_file().then_some(()));
    let told: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&ready).unwrap()).unwrap();
    let web = told["listen"][0].as_str().unwrap().trim_start_matches("http://").to_owned();
    let admin = told["admin"].as_str().unwrap();
    let open = || std::fs::read_dir(format!("/proc/{}/fd", child.0.id())).unwrap().count();
    let all: Vec<TcpStream> = (0..150).map(|_| connect(&web)).collect();
    soon("no descriptors", || (open() >= 84).then_some(()));
    let before = open();
    for _ in 0..30 {
        for args in
            [&["status", "--admin", admin][..], &["limits", "--admin", admin], &["reload", "--admin", admin]]
        {
            let output = run(args);
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(open() <= before + 2, "what is kept back comes back: {before}, {}", open());
    drop(all);
    let mut late = connect(&web);
    late.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    late.write_all(b"GET /page.txt HTTP/1.0\r\nHost: x\r\n\r\n").unwrap();
    assert!(to_end(&mut late).ends_with("page"));
}
