//! How clients behave, seen from the server: cookies, redirects, kept answers, TLS, addresses, and what they look at.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{After, Scratch, Server, number, ok, output, run};

/// A server that answers by path, and keeps the heads it saw.
fn by_path(
    answer: impl Fn(&str, &str) -> String + Send + Sync + 'static,
) -> (Server, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let server = Server::start(move |stream, request| {
        let text = request.text();
        seen.lock().unwrap().push(text.clone());
        stream.write_all(answer(&request.path(), &text).as_bytes()).unwrap();
        After::Keep
    });
    (server, heads)
}

#[test]
fn each_connection_has_cookies_of_its_own() {
    let number_of = std::sync::atomic::AtomicU64::new(0);
    let (server, heads) = by_path(move |_, head| match head.contains("\r\nCookie: id=") {
        true => ok("x", ""),
        false => {
            let id = number_of.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            ok("x", &format!("Set-Cookie: id={id}; Path=/; HttpOnly\r\n"))
        }
    });
    let (json, code) = run(&[&server.url("/a"), "-n", "800", "-c", "4", "--cookies"]);
    assert_eq!((code, number(&json, "/responses")), (0, 800.0), "{json}");
    let heads = heads.lock().unwrap();
    let without = heads.iter().filter(|head| !head.contains("\r\nCookie: ")).count();
    assert_eq!(without, 4, "each asks once without");
    let mut ids: Vec<&str> =
        heads.iter().filter_map(|head| head.split("Cookie: id=").nth(1)?.lines().next()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids, ["0", "1", "2", "3"]);
}

#[test]
fn a_list_with_a_login_is_gone_through_by_each_connection() {
    let scratch = Scratch::new("clients-login");
    let list = scratch.file("urls.txt");
    std::fs::write(&list, "/login\n/one\n/two\n/logout\n").unwrap();
    let (server, _) = by_path(|path, head| {
        let is_in = head.contains("\r\nCookie: in=1");
        match (path, is_in) {
            ("/login", _) => ok("in", "Set-Cookie: in=1; Path=/\r\n"),
            ("/logout", true) => ok("out", "Set-Cookie: in=; Path=/; Max-Age=0\r\n"),
            (_, true) => ok("page", ""),
            _ => "HTTP/1.1 403 Who\r\nContent-Length: 0\r\n\r\n".into(),
        }
    });
    let url = server.url("/");
    let base = [url.as_str(), "--urls", &list, "-n", "90", "-c", "3", "-t", "1"];
    let (json, code) = run(&[&base[..], &["--cookies"]].concat());
    assert_eq!((code, number(&json, "/errors/requests")), (0, 0.0), "{json}");
    assert_eq!(number(&json, "/statuses/200"), 90.0);
    // Asked in turn by all together, most pages come to somebody who is not signed in.
    let (json, _) = run(&[&base[..], &["--cookies", "--pick", "turn"]].concat());
    assert!(number(&json, "/statuses/403") > 0.0, "{json}");
    // And each by itself where nobody keeps cookies, if that is asked for: all three begin where the list does. None goes on before
    // the others have begun.
    let (begun, all_begun) = (std::sync::atomic::AtomicU64::new(0), std::sync::Barrier::new(3));
    let (server, heads) = by_path(move |_, _| {
        if begun.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 3 {
            all_begun.wait();
        }
        ok("x", "")
    });
    let flags = ["--urls", &list, "-n", "30", "-c", "3", "-t", "1", "--pick", "each"];
    run(&[&[server.url("/").as_str()], &flags[..]].concat());
    let first: Vec<String> = heads.lock().unwrap().iter().take(3).cloned().collect();
    assert!(first.iter().all(|head| head.starts_with("GET /login ")), "{first:?}");
}

#[test]
fn redirects_are_followed_with_the_cookies_they_set() {
    let (server, heads) = by_path(|path, _| match path {
        "/login" => {
            "HTTP/1.1 303 See Other\r\nSet-Cookie: in=1\r\nLocation: home?a\r\nContent-Length: 0\r\n\r\n"
                .into()
        }
        "/home?a" => ok("home", ""),
        "/round" => "HTTP/1.1 302 Found\r\nLocation: /round\r\nContent-Length: 0\r\n\r\n".into(),
        "/out" => {
            "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n".into()
        }
        _ => "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".into(),
    });
    let (json, _) = run(&[&server.url("/login"), "-n", "4", "-c", "1", "-L", "--cookies", "-b", "user=x"]);
    assert_eq!(json["statuses"].to_string(), r#"{"200":2,"303":2}"#, "{json}");
    let head = heads.lock().unwrap()[1].clone();
    assert!(head.starts_with("GET /home?a HTTP/1.1\r\n") && head.contains("\r\nCookie: in=1\r\n"), "{head}");
    assert!(!head.contains("Content-Length") && !head.ends_with("user=x"), "{head}");
    let (json, _) = run(&[&server.url("/round"), "-n", "22", "-c", "1", "-L"]);
    assert_eq!(number(&json, "/errors/kinds/redirect"), 2.0, "{json}");
    let (json, _) = run(&[&server.url("/out"), "-n", "3", "-c", "1", "-L"]);
    assert_eq!(number(&json, "/errors/kinds/redirect"), 3.0, "{json}");
    assert!(json["errors"]["samples"]["redirect"].as_str().unwrap().contains("elsewhere.invalid"));
}

#[test]
fn a_browser_asks_whether_it_has_changed_and_does_not_ask_for_what_is_fresh() {
    let (server, heads) = by_path(|path, head| match path {
        "/fresh" => ok("fresh", "Cache-Control: max-age=60\r\n"),
        _ if head.contains("If-None-Match: \"v1\"") => {
            "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n".into()
        }
        _ => ok("tile", "ETag: \"v1\"\r\nCache-Control: no-cache\r\n"),
    });
    let (json, code) = run(&[
        &server.url("/tile"),
        &server.url("/fresh"),
        "-n",
        "20",
        "-c",
        "2",
        "-t",
        "1",
        "--browser-cache",
    ]);
    assert_eq!(code, 0, "{json}");
    // Each of two clients gets the tile once, and then that it has not changed; and the fresh one at most once.
    assert_eq!(json["statuses"]["304"].as_f64().unwrap() + json["statuses"]["200"].as_f64().unwrap(), 20.0);
    let heads = heads.lock().unwrap();
    let fresh = heads.iter().filter(|head| head.starts_with("GET /fresh ")).count();
    assert!((1..=2).contains(&fresh), "{fresh}");
    assert!(number(&json, "/kept") > 0.0, "{json}");
    let asked = heads.iter().filter(|head| head.contains("If-None-Match: \"v1\"")).count();
    let plain = heads.iter().filter(|head| head.starts_with("GET /tile ")).count() - asked;
    assert_eq!(plain, 2, "{json}");
}

#[test]
fn a_fast_wrong_answer_is_an_error() {
    let turn = std::sync::atomic::AtomicU64::new(0);
    let (server, _) = by_path(move |path, _| match path {
        "/odd" => {
            let number = turn.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            ok(if number % 10 == 9 { "somebody else's" } else { "mine" }, "")
        }
        "/error" => ok("an error occurred", "X-Cache: MISS\r\n"),
        _ => "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".into(),
    });
    let (json, code) = run(&[&server.url("/odd"), "-n", "100", "-c", "1"]);
    assert_eq!(
        (code, number(&json, "/changed"), number(&json, "/errors/requests")),
        (0, 10.0, 0.0),
        "{json}"
    );
    assert!(json["verdict"]["findings"].to_string().contains("bodies-changed"));
    let (json, _) = run(&[&server.url("/odd"), "-n", "100", "-c", "1", "--expect", "body=first"]);
    assert_eq!(number(&json, "/errors/kinds/changed"), 10.0, "{json}");
    assert_eq!(number(&json, "/latency_us/last_byte/count"), 90.0, "wrong answers have no part in the times");
    for (check, says) in [
        ("body~welcome", "the body has no `welcome`"),
        ("body!~error", "the body has `error`"),
        ("header:x-cache~HIT", "x-cache is `MISS`"),
        ("size>100", "the body has 17 bytes"),
    ] {
        let (json, code) = run(&[&server.url("/error"), "-n", "10", "-c", "1", "--expect", check]);
        assert_eq!((number(&json, "/errors/kinds/check"), code), (10.0, 3), "{check}: {json}");
        assert!(json["errors"]["samples"]["check"].as_str().unwrap().contains(says), "{check}: {json}");
    }
    let (json, _) = run(&[
        &server.url("/error"),
        "-n",
        "10",
        "-c",
        "1",
        "--expect",
        "body~error",
        "--expect",
        "status=200",
    ]);
    assert_eq!(number(&json, "/errors/requests"), 0.0, "{json}");
    let (json, _) = run(&[&server.url("/broken"), "-n", "10", "-c", "1", "--expect", "size=0"]);
    assert_eq!(number(&json, "/errors/kinds/status"), 10.0, "{json}");
}

#[test]
fn urls_by_popularity() {
    let scratch = Scratch::new("clients-zipf");
    let (server, _) = by_path(|_, _| ok("x", ""));
    let list = scratch.file("urls");
    std::fs::write(&list, (1..=100).map(|n| format!("/{n}\n")).collect::<String>()).unwrap();
    let count =
        |server: &Server, path: &str| server.paths.lock().unwrap().iter().filter(|p| *p == path).count();
    run(&[&server.url("/"), "--urls", &list, "--pick", "zipf", "-n", "2000", "-c", "4"]);
    // 1 of the sum of 1/k up to 100, which is 5.19.
    let first = count(&server, "/1") as f64;
    assert!((first - 385.0).abs() < 5.0 * 18.0, "{first}");
    server.paths.lock().unwrap().clear();
    run(&[&server.url("/"), "--urls", &list, "--pick", "random", "-n", "2000", "-c", "4"]);
    assert!((3..=50).contains(&count(&server, "/1")), "{}", count(&server, "/1"));
    server.paths.lock().unwrap().clear();
    std::fs::write(&list, "9 /often\n1 /seldom\n0 /never\n").unwrap();
    run(&[&server.url("/"), "--urls", &list, "--pick", "weights", "-n", "1000", "-c", "4"]);
    assert!((840..=955).contains(&count(&server, "/often")), "{}", count(&server, "/often"));
    assert_eq!(count(&server, "/never"), 0);
}

#[test]
fn clients_connect_from_the_addresses_they_are_given() {
    let from = Arc::new(Mutex::new(Vec::new()));
    let seen = from.clone();
    let server = Server::start(move |stream, _| {
        seen.lock().unwrap().push(stream.peer_addr().unwrap().ip().to_string());
        stream.write_all(ok("x", "").as_bytes()).unwrap();
        After::Keep
    });
    let (json, code) = run(&[&server.url("/"), "-n", "20", "-c", "4", "--source-ip", "127.0.0.2,127.0.0.3"]);
    assert_eq!(code, 0, "{json}");
    let from = from.lock().unwrap();
    let of = |ip: &str| from.iter().filter(|from| *from == ip).count();
    assert!(
        of("127.0.0.2") > 0 && of("127.0.0.3") > 0 && of("127.0.0.2") + of("127.0.0.3") == 20,
        "{from:?}"
    );
}

/// Python's own TLS and HTTP, which share nothing with ours.
struct Tls(Child, u16, Scratch);

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tls() -> Tls {
    let scratch = Scratch::new("clients-tls");
    let (key, certificate) = (scratch.file("key.pem"), scratch.file("cert.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=test", "-addext", "subjectAltName=DNS:www.example.org,IP:127.0.0.1"])
        .args(["-keyout", &key, "-out", &certificate])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success());
    let script = scratch.file("server.py");
    std::fs::write(
        &script,
        "import http.server, ssl, sys\n\
         class H(http.server.BaseHTTPRequestHandler):\n\
         \x20   protocol_version = 'HTTP/1.1'\n\
         \x20   def do_GET(self):\n\
         \x20       body = b'y' * 300000 if self.path == '/large' else b'x'\n\
         \x20       self.send_response(200)\n\
         \x20       self.send_header('Content-Length', str(len(body)))\n\
         \x20       self.end_headers()\n\
         \x20       self.wfile.write(body)\n\
         \x20   def log_message(self, *a): pass\n\
         s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)\n\
         c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
         c.load_cert_chain(sys.argv[2], sys.argv[1])\n\
         s.socket = c.wrap_socket(s.socket, server_side=True)\n\
         print(s.server_address[1], flush=True)\n\
         s.serve_forever()\n",
    )
    .unwrap();
    let mut child = Command::new("python3")
        .args([&script, &key, &certificate])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    Tls(child, line.trim().parse().unwrap(), scratch)
}

#[test]
fn tls_is_spoken_with_those_who_can_be_believed() {
    let server = tls();
    let certificate = server.2.file("cert.pem");
    let url = format!("https://127.0.0.1:{}/", server.1);
    let (json, code) = run(&[&url, "-n", "50", "-c", "3", "--cacert", &certificate]);
    assert_eq!((code, number(&json, "/responses")), (0, 50.0), "{json}");
    assert_eq!(number(&json, "/connections/made"), 3.0, "kept");
    assert_eq!(number(&json, "/latency_us/tls/count"), 3.0, "{json}");
    let (json, _) = run(&[&format!("{url}large"), "-n", "20", "-c", "3", "-k"]);
    assert_eq!((number(&json, "/responses"), number(&json, "/bytes/bodies")), (20.0, 6_000_000.0), "{json}");
    // A name that is not on it, and one that is.
    let named = |name: &str| {
        let url = format!("https://{name}:{}/", server.1);
        output(&["run", &url, "-n", "4", "--resolve", &format!("{name}=127.0.0.1"), "--cacert", &certificate])
    };
    assert!(named("www.example.org").status.success());
    // What is wrong is said in words, with what to do, and not by the names the library has for it.
    for (refused, says, mend) in [
        (
            named("other.example.org"),
            "its certificate is for www.example.org, 127.0.0.1, and not for other.example.org",
            "--resolve NAME=IP",
        ),
        (
            output(&["run", &url, "-n", "4"]),
            "its certificate vouches for itself (self-signed)",
            "name it with --cacert FILE, or go unchecked with -k",
        ),
    ] {
        assert_eq!(refused.status.code(), Some(1));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(says) && said.contains(mend), "{said}");
        assert!(!said.contains("Error") && !said.contains("EndEntity"), "{said}");
    }
}

/// Says this to whoever connects and says something, and goes.
fn answering(bytes: &'static [u8]) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
            let _ = stream.write_all(bytes);
        }
    });
    address
}

#[test]
fn http_and_https_at_the_wrong_port_are_told_apart_from_certificates() {
    let plain = answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let silent = answering(b"");
    let other = answering(b"SSH-2.0-OpenSSH_9.2\r\n");
    for (address, says) in [
        (plain, "the server speaks plain HTTP at this port: write http:// in the place of https://"),
        (silent, "in the handshake; does the server speak TLS at this port?"),
        (other, "what the server sent is no TLS; does the server speak TLS at this port?"),
    ] {
        let refused = output(&["run", &format!("https://{address}/"), "-n", "2", "-k"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(says) && !said.contains("certificate"), "{said}");
    }
    // The alert of a server of TLS that was spoken to in plain HTTP.
    let secure = answering(b"\x15\x03\x01\x00\x02\x02\x46");
    let (json, code) = run(&[&format!("http://{secure}/"), "-n", "2"]);
    assert_eq!(code, 3, "{json}");
    let said = json["errors"]["samples"]["parse"].as_str().unwrap();
    assert!(said.contains("the server speaks TLS at this port: write https://"), "{said}");
}

#[test]
fn a_server_that_speaks_no_tls_is_no_hang() {
    let server = Server::start(|stream, _| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
        After::Close
    });
    let url = format!("https://{}/", server.address);
    let out = output(&["run", &url, "-n", "2", "-k", "--timeout", "1s"]);
    assert_eq!(out.status.code(), Some(1));
    // And one that says nothing at all.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    let holder = thread::spawn(move || {
        let held: Vec<_> = silent.incoming().take(1).collect();
        thread::sleep(Duration::from_secs(6));
        drop(held);
    });
    let began = std::time::Instant::now();
    let out = output(&["run", &url, "-d", "1s", "-c", "1", "-k", "--timeout", "1s"]);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    holder.join().unwrap();
}
