//! TLS: certificates by name, the same answers above it, reload without a drop, and clients that do it wrong.

use samovar_tests::client::Client;
use samovar_tests::origin::{After, Origin, own};
use samovar_tests::server::{Folder, Server, run, soon};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

/// The certificates of the tests: `a` for a.example, `b` for b.example and all below it.
fn pem(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/server/tests/tls");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn write_pair(folder: &Folder, name: &str) {
    folder.write(&format!("{name}.pem"), pem(&format!("{name}.pem")));
    let key = folder.write(&format!("{name}.key"), pem(&format!("{name}.key")));
    std::fs::set_permissions(key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// Two sites before one origin, each with its certificate.
fn two_sites(folder: &Folder, origin: &Origin) -> Server {
    write_pair(folder, "a");
    write_pair(folder, "b");
    let site = |name: &str, hosts: &str| {
        format!(
            "[[site]]\nname = \"{name}\"\nhosts = [{hosts}]\norigin = \"{}\"\n\
             certificate = \"{name}.pem\"\ncertificate_key = \"{name}.key\"\n",
            origin.url
        )
    };
    let sites =
        [site("a", "\"a.example\", \"127.0.0.1\""), site("b", "\"b.example\", \"*.b.example\"")].concat();
    let text = format!("config = 1\n[server]\nlisten = [\"https://127.0.0.1:443\"]\n{sites}");
    let config = folder.write("samovar.toml", text);
    Server::start_with(
        &["--config", config.to_str().unwrap()],
        &["--listen", "https://127.0.0.1:0", "--listen", "127.0.0.1:0"],
    )
}

fn port(server: &Server) -> String {
    assert!(server.listen[0].starts_with("https://"), "{:?}", server.listen);
    server.listen[0].rsplit(':').next().unwrap().to_owned()
}

/// curl to a host that stands for the server's address, trusting one certificate.
fn curl(server: &Server, trusted: &Path, host: &str, more: &[&str]) -> Output {
    let resolve = format!("{host}:{}:127.0.0.1", port(server));
    Command::new("curl")
        .args(["-sS", "--max-time", "20", "--cacert"])
        .arg(trusted)
        .args(["--resolve", &resolve])
        .args(more)
        .arg(format!("https://{host}:{}/x", port(server)))
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn numbered() -> Origin {
    Origin::new(|asked| {
        let body = format!("{} {}", asked.number, asked.field("x-forwarded-proto").unwrap_or("?"));
        (200, own(&[("Cache-Control", "max-age=60")]), body.into_bytes())
    })
}

#[test]
fn each_name_has_its_certificate_and_its_cache() {
    let (folder, origin) = (Folder::new(), numbered());
    let server = two_sites(&folder, &origin);
    let (a, b) = (folder.path("a.pem"), folder.path("b.pem"));
    for (trusted, host, body) in
        [(&a, "a.example", "0 https"), (&b, "b.example", "1 https"), (&b, "deep.b.example", "2 https")]
    {
        for _ in 0..3 {
            let output = curl(&server, trusted, host, &[]);
            assert_eq!(text(&output), body, "{host}");
        }
        let head = text(&curl(&server, trusted, host, &["-i"]));
        assert!(head.contains("hit"), "{head}");
    }
    for (trusted, host) in [(&b, "a.example"), (&a, "b.example")] {
        assert!(!curl(&server, trusted, host, &[]).status.success(), "{host} shows its own");
    }
    for version in ["1.2", "1.3"] {
        let output = curl(&server, &a, "a.example", &[&format!("--tlsv{version}"), "--tls-max", version]);
        assert_eq!(text(&output), "0 https", "TLS {version}");
    }
    assert!(!curl(&server, &a, "a.example", &["--tlsv1.0", "--tls-max", "1.1"]).status.success());
    // What is stored under https answers nothing under http.
    let plain = server.listen[1].trim_start_matches("http://").to_owned();
    let answer = Client::connect(&plain).get("/x", &[("Host", "a.example")]);
    assert_eq!((answer.text().as_str(), answer.is_hit()), ("3 http", false));
    let url = format!("https://a.example:{}/x", port(&server));
    assert!(server.tell(&["explain", &url]).contains("would be a hit"));
    assert_eq!(server.json(&["cache", "purge", &url])["entries"], 1);
}

/// The prepared answers of the hot tier, a pipeline of them, and large bodies, byte for byte.
#[test]
fn the_hot_tier_and_large_bodies_above_it() {
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n * 7 + n / 251) as u8).collect();
    let body = large.clone();
    let origin = Origin::new(move |asked| {
        let body = if asked.target() == "/large" { body.clone() } else { b"small".to_vec() };
        (200, own(&[("Cache-Control", "max-age=60")]), body)
    });
    let folder = Folder::new();
    let server = two_sites(&folder, &origin);
    let a = folder.path("a.pem");
    let resolve = format!("a.example:{}:127.0.0.1", port(&server));
    let base = format!("https://a.example:{}", port(&server));
    let many: Vec<String> =
        (0..40).map(|n| format!("{base}/{}", if n % 10 == 9 { "large" } else { "x" })).collect();
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "60", "--cacert", a.to_str().unwrap(), "--resolve", &resolve])
        .args(&many)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let want: Vec<u8> =
        (0..40).flat_map(|n| if n % 10 == 9 { large.clone() } else { b"small".to_vec() }).collect();
    assert!(output.stdout == want, "{} bytes, not {}", output.stdout.len(), want.len());
    assert_eq!(origin.count(), 2);
    let told = server.tell(&["status"]);
    let hot = told.lines().find(|line| line.starts_with("hot")).unwrap();
    assert!(!hot.ends_with(" 0"), "{told}");
}

/// A slow reader of a large answer: what TLS holds back goes out when there is room, to the last byte.
#[test]
fn what_the_stream_holds_back_goes_out() {
    let body: Vec<u8> = (0..8_000_000_u32).map(|n| (n / 3) as u8).collect();
    let sent = body.clone();
    let origin = Origin::new(move |_| (200, own(&[("Cache-Control", "max-age=60")]), sent.clone()));
    let folder = Folder::new();
    let server = two_sites(&folder, &origin);
    for _ in 0..3 {
        let output = curl(&server, &folder.path("a.pem"), "a.example", &["--limit-rate", "6M"]);
        assert!(
            output.stdout == body,
            "{} bytes: {}",
            output.stdout.len(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert_eq!(origin.count(), 1);
}

/// A reload puts new certificates in force for new connections; those that are there go on.
#[test]
fn a_reload_changes_certificates_without_a_drop() {
    let (folder, origin) = (Folder::new(), numbered());
    let server = two_sites(&folder, &origin);
    let old = folder.write("old.pem", pem("a.pem"));
    // A connection that is held over the reload by openssl, which asks again after it.
    let mut held = Command::new("openssl")
        .args(["s_client", "-quiet", "-servername", "a.example", "-connect"])
        .arg(format!("127.0.0.1:{}", port(&server)))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut to = held.stdin.take().unwrap();
    let mut from = held.stdout.take().unwrap();
    let mut ask = || {
        to.write_all(b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"0 https") {
            let mut byte = [0];
            from.read_exact(&mut byte).unwrap();
            seen.push(byte[0]);
        }
    };
    ask();
    // curl names the port in Host, so that this is another key.
    assert_eq!(text(&curl(&server, &old, "a.example", &[])), "1 https");
    // The names change their certificates.
    folder.write("a.pem", pem("b.pem"));
    folder.write("a.key", pem("b.key"));
    server.tell(&["reload"]);
    ask();
    assert!(!curl(&server, &old, "a.example", &[]).status.success(), "the old one is shown no more");
    let new = folder.path("b.pem");
    assert_eq!(text(&curl(&server, &new, "a.example", &["--insecure"])), "1 https");
    let shown = text(&curl(&server, &new, "a.example", &["-v", "--insecure"]));
    assert!(shown.contains("Samovar test b"), "{shown}");
    // One that cannot be read leaves everything as it is.
    folder.write("a.key", pem("a.key"));
    let refused = server.ask(&["reload"]);
    assert!(text(&refused).contains("the key is not that of"), "{}", text(&refused));
    ask();
    assert_eq!(text(&curl(&server, &new, "a.example", &["--insecure"])), "1 https");
    let _ = held.kill();
    let _ = held.wait();
}

/// Where only the connection's end says that an answer is whole, TLS vouches for it: not for one that broke off.
#[test]
fn an_answer_that_breaks_off_is_not_vouched_for() {
    let origin = Origin::raw(|asked, stream| {
        let end = if asked.field("x-whole").is_some() { "0\r\n\r\n" } else { "" };
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n{end}");
        let _ = stream.write_all(answer.as_bytes());
        After::Close
    });
    let folder = Folder::new();
    let server = two_sites(&folder, &origin);
    let trusted = folder.path("a.pem");
    let whole = curl(&server, &trusted, "a.example", &["--http1.0", "-H", "X-Whole: 1"]);
    assert_eq!((whole.status.code(), text(&whole).as_str()), (Some(0), "hello"), "{whole:?}");
    for version in ["--http1.0", "--http1.1"] {
        let cut = curl(&server, &trusted, "a.example", &[version]);
        assert!(!cut.status.success(), "{version}: {cut:?}");
    }
}

#[test]
fn clients_that_do_it_wrong_are_told_or_dropped() {
    let (folder, origin) = (Folder::new(), numbered());
    let server = two_sites(&folder, &origin);
    let address = format!("127.0.0.1:{}", port(&server));
    let answer = Client::connect(&address).get("/x", &[]);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("plain-http"), "{}", answer.text());
    let rejects = server.json(&["status"])["rejects"].clone();
    assert_eq!(rejects["plain-http"].as_u64(), Some(1), "{rejects}");
    // Without a certificate there is nothing to listen with, whoever says so.
    let bare = run(&[
        "serve",
        "--origin",
        "http://127.0.0.1:1",
        "--listen",
        "https://127.0.0.1:0",
        "--admin",
        "off",
    ]);
    let said = String::from_utf8_lossy(&bare.stderr).into_owned();
    assert!(bare.status.code() == Some(1) && said.contains("no site has a certificate"), "{said}");
    for rubbish in [&b"\x16\x03\x01\xff\xff"[..], b"\x80\x2e\x01", b"\0\0\0\0", b""] {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(rubbish).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut end = Vec::new();
        let _ = stream.read_to_end(&mut end);
        assert!(end.len() < 64, "an alert at most");
    }
    // Places of those that failed are free again.
    soon("the connections to be gone", || {
        let open = server.json(&["status"])["connections"]["open"].as_u64();
        (open.unwrap_or(0) == 0).then_some(())
    });
    assert_eq!(text(&curl(&server, &folder.path("a.pem"), "a.example", &[])), "0 https");
}

/// What a configuration can get wrong is said with the file and what to do.
#[test]
fn certificates_that_cannot_be_used_are_named() {
    let folder = Folder::new();
    write_pair(&folder, "a");
    write_pair(&folder, "b");
    folder.write("empty.pem", "");
    folder.write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let check = |listen: &str, lines: &str| {
        let text = format!(
            "config = 1\n[server]\nlisten = [\"{listen}\"]\n[[site]]\ndefault = true\nfiles = \"www\"\n{lines}\n"
        );
        let config = folder.write("samovar.toml", text);
        let output = run(&["check", "--config", config.to_str().unwrap()]);
        (output.status.success(), text_of(&output))
    };
    folder.write("www/x", "x");
    let https = "https://127.0.0.1:8443";
    for (listen, lines, ok, said) in [
        (https, "certificate = \"a.pem\"\ncertificate_key = \"a.key\"", true, "no errors, 0 warnings"),
        (https, "", false, "no site has a certificate to show on https://127.0.0.1:8443"),
        (https, "certificate_key = \"a.key\"", false, "there is a key and no certificate"),
        (https, "certificate = \"none.pem\"", false, "none.pem"),
        (
            https,
            "certificate = \"empty.pem\"\ncertificate_key = \"a.key\"",
            false,
            "it holds no certificate in PEM",
        ),
        (https, "certificate = \"broken.pem\"\ncertificate_key = \"a.key\"", false, "broken.pem"),
        (https, "certificate = \"a.pem\"", false, "it holds no private key in PEM"),
        (https, "certificate = \"a.pem\"\ncertificate_key = \"b.key\"", false, "the key is not that of"),
        ("127.0.0.1:8080", "certificate = \"a.pem\"\ncertificate_key = \"a.key\"", true, "is shown nowhere"),
        ("https://:8443", "", false, "https://0.0.0.0:8443"),
    ] {
        let (passed, told) = check(listen, lines);
        assert_eq!(passed, ok, "{listen} {lines}: {told}");
        assert!(told.contains(said), "{listen} {lines}: {told}");
    }
    // A private key in a served folder is not served.
    folder.write("www/a.pem", pem("a.pem"));
    folder.write("www/a.key", pem("a.key"));
    let text = "config = 1\n[server]\nlisten = [\"https://127.0.0.1:443\"]\n[[site]]\ndefault = true\nfiles = \"www\"\n\
                certificate = \"www/a.pem\"\ncertificate_key = \"www/a.key\"\n";
    let config = folder.write("samovar.toml", text);
    let server = Server::start(&["--config", config.to_str().unwrap()]);
    assert_eq!((server.get("/a.pem", &[]).status, server.get("/a.key", &[]).status), (200, 404));
}

fn text_of(output: &Output) -> String {
    text(output)
}
