//! Behind a proxy that says for whom it speaks by the PROXY protocol: believed where it is trusted, and only there.

use samovar_tests::client::Client;
use samovar_tests::origin::Origin;
use samovar_tests::raw::{connect, read_head};
use samovar_tests::server::{Folder, Server, soon};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

const V1: &[u8] = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n";
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";

/// Says who it was told the client is.
fn telling() -> Origin {
    Origin::new(|asked| {
        let of = |name| asked.field(name).unwrap_or("-").to_owned();
        (
            200,
            vec![],
            format!("{} {} {}", of("x-forwarded-for"), of("forwarded"), of("x-real-ip")).into_bytes(),
        )
    })
}

fn site(origin: &Origin) -> String {
    format!("[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n", origin.url)
}

fn behind(origin: &Origin, trusted: &str, more: &str) -> Server {
    let text = format!("config = 1\n[server]\nproxy_protocol = [{trusted}]\n{more}\n{}", site(origin));
    Server::configured(&text, &[]).0
}

fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let len = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n", &[command, family][..], &len, rest].concat()
}

/// All that comes for these bytes.
fn answer_to(server: &Server, pieces: &[&[u8]]) -> String {
    let mut stream = connect(&server.address);
    for piece in pieces {
        let _closed_already = stream.write_all(piece);
    }
    let mut all = Vec::new();
    let _reset = stream.read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn the_named_client_is_the_client() {
    let origin = telling();
    let server = behind(&origin, "\"127.0.0.1\"", "");
    let four = [192, 0, 2, 8, 198, 51, 100, 1, 0xdc, 0x04, 0x01, 0xbb];
    let mut six = [0; 36];
    six[..16].copy_from_slice(&"2001:db8::9".parse::<std::net::Ipv6Addr>().unwrap().octets());
    let fields = [&four[..], &[0x01, 0, 2, b'h', b'2', 0xee, 0, 0, 0x04, 0, 1, 0]].concat();
    for (head, client) in [
        (V1.to_vec(), "192.0.2.7"),
        (b"PROXY TCP6 2001:db8::1 ::1 1 65535\r\n".to_vec(), "2001:db8::1"),
        (v2(0x21, 0x11, &four), "192.0.2.8"),
        (v2(0x21, 0x11, &fields), "192.0.2.8"),
        (v2(0x21, 0x21, &six), "2001:db8::9"),
        // For itself: a health check.
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1"),
        (v2(0x20, 0x00, &[]), "127.0.0.1"),
        (v2(0x20, 0x11, &four), "127.0.0.1"),
    ] {
        let answer = answer_to(&server, &[&head, GET]);
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.contains(&format!("\r\n\r\n{client} ")),
            "{answer}"
        );
        let shown =
            if client.contains(':') { format!("for=\"[{client}]\"") } else { format!("for={client};") };
        assert!(answer.contains(&shown), "{answer}");
        soon("its record", || {
            server.json(&["trace"]).to_string().contains(&format!("\"client\":\"{client}\"")).then_some(())
        });
        // Byte by byte.
        let pieces: Vec<&[u8]> = head.chunks(1).chain(GET.chunks(1)).collect();
        assert!(answer_to(&server, &pieces).contains(&format!("\r\n\r\n{client} ")));
    }
    // What the client itself claims is nobody's word.
    let claims = b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX-Forwarded-For: 6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\n\r\n";
    let answer = answer_to(&server, &[V1, claims]);
    assert!(answer.contains("\r\n\r\n192.0.2.7 ") && !answer.contains("6.6.6.6"), "{answer}");
    soon("its line in the log", || server.said().contains("192.0.2.7 - - [").then_some(()));
}

#[test]
fn one_connection_is_one_client_in_every_tier() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60")]);
    let server = behind(&origin, "\"127.0.0.1\"", "");
    let mut client = Client::connect(&server.address);
    client.send(V1);
    for _ in 0..5 {
        assert_eq!(client.get("/", &[]).text(), "answer 0");
    }
    assert_eq!(client.get("/", &[]).reason(), "fresh-hot");
    assert!(!server.said().contains("127.0.0.1 - - ["), "{}", server.said());
}

#[test]
fn a_trusted_peer_that_sends_none_is_closed_and_counted() {
    let origin = telling();
    let server = behind(&origin, "\"127.0.0.0/8\"", "[limits]\nhead_timeout = \"300ms\"");
    let rejects = |why: &str| server.json(&["status"])["rejects"][why].as_u64().unwrap_or(0);
    let mut garbage = 0;
    for bytes in [
        GET,
        b"PROXY TCP4 1.2.3.4\r\n",
        b"PROXY TCP4 1.2.3.4 5.6.7.8 1 99999\r\n",
        b"\r\n\r\n\0\r\nQUIT\r\x21\x11\0\0",
        b"\x16\x03\x01\x02\0",
    ] {
        assert_eq!(answer_to(&server, &[bytes]), "", "{bytes:?}");
        garbage += 1;
        soon("its count", || (rejects("bad-proxy-head") == garbage).then_some(()));
    }
    for bytes in [&b""[..], b"PROX", b"PROXY TCP4 192.0.2.7 "] {
        assert_eq!(answer_to(&server, &[bytes]), "", "{bytes:?}");
    }
    soon("their count", || (rejects("no-proxy-head") == 3).then_some(()));
    // Who only looks whether anybody is here is no trouble.
    drop(connect(&server.address));
    assert!(answer_to(&server, &[V1, GET]).starts_with("HTTP/1.1 200 "));
    assert_eq!((rejects("bad-proxy-head"), rejects("no-proxy-head")), (garbage, 3));
    assert_eq!(origin.count(), 1);
}

#[test]
fn from_anybody_else_it_is_a_bad_request() {
    let origin = telling();
    let server = behind(&origin, "\"10.0.0.0/8\", \"unix\"", "");
    let four = v2(0x21, 0x11, &[192, 0, 2, 8, 198, 51, 100, 1, 0xdc, 0x04, 0x01, 0xbb]);
    for head in [V1, &four] {
        let answer = answer_to(&server, &[head, GET]);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    assert!(answer_to(&server, &[GET]).contains("\r\n\r\n127.0.0.1 "));
    assert_eq!(origin.count(), 1);
}

#[test]
fn limits_by_address_count_the_named_one() {
    let origin = telling();
    let server = behind(&origin, "\"127.0.0.1\"", "[limits]\nconnections_per_address = 1");
    let mut first = connect(&server.address);
    first.write_all(V1).unwrap();
    first.write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    assert!(read_head(&mut first).starts_with("HTTP/1.1 200 "));
    let again = answer_to(&server, &[V1, GET]);
    assert!(again.starts_with("HTTP/1.1 503 ") && again.contains("too-many-from-address"), "{again}");
    let other = b"PROXY TCP4 192.0.2.99 198.51.100.1 56324 443\r\n";
    assert!(answer_to(&server, &[other, GET]).starts_with("HTTP/1.1 200 "));
    drop(first);
    soon("its place", || answer_to(&server, &[V1, GET]).starts_with("HTTP/1.1 200 ").then_some(()));
}

#[test]
fn on_a_unix_socket() {
    let (origin, folder) = (telling(), Folder::new());
    let socket = folder.path("s.sock");
    let text = format!("config = 1\n[server]\nproxy_protocol = [\"unix\"]\n{}", site(&origin));
    let config = folder.write("samovar.toml", text);
    let listen = format!("unix:{}", socket.display());
    let _server = Server::start_with(&["--config", config.to_str().unwrap()], &["--listen", &listen]);
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&[V1, GET].concat()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.contains("\r\n\r\n192.0.2.7 "), "{all}");
}

/// It comes before the handshake.
#[test]
fn below_tls() {
    let (origin, folder) = (telling(), Folder::new());
    let pem = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/server/tests/tls").join(name);
        folder.write(name, std::fs::read(path).unwrap())
    };
    let (chain, _key) = (pem("a.pem"), pem("a.key"));
    let text = format!(
        "config = 1\n[server]\nlisten = [\"https://127.0.0.1:443\"]\nproxy_protocol = [\"127.0.0.1\"]\n{}\
         certificate = \"a.pem\"\ncertificate_key = \"a.key\"\n",
        site(&origin)
    );
    let config = folder.write("samovar.toml", text);
    let server =
        Server::start_with(&["--config", config.to_str().unwrap()], &["--listen", "https://127.0.0.1:0"]);
    let port = server.listen[0].rsplit(':').next().unwrap();
    let curl = |more: &[&str]| {
        let output = Command::new("curl")
            .args(["-sS", "--max-time", "20", "--cacert"])
            .arg(&chain)
            .args(["--resolve", &format!("a.example:{port}:127.0.0.1")])
            .args(more)
            .arg(format!("https://a.example:{port}/"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // curl names its own address.
    assert!(curl(&["--haproxy-protocol"]).starts_with("127.0.0.1 for="), "{}", curl(&["--haproxy-protocol"]));
    assert_eq!(curl(&[]), "", "a handshake is no head");
    assert_eq!(server.json(&["status"])["rejects"]["bad-proxy-head"].as_u64(), Some(1));
}
