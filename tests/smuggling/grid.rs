//! One origin's part of the grid: each payload is sent, then others ask, and what left Samovar is read strictly.
//!
//! Not here: the payloads, the origins, the reading.

use crate::origins::{Origin, PATHS};
use crate::payloads::Payload;
use crate::relay::Relay;
use crate::strict;
use samovar_tests::server::Server;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a payload that may be half a request is given to be answered. What comes later is missed by the attacker
/// alone: the verdict does not hang on it.
const PATIENCE: Duration = Duration::from_millis(60);

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Payloads sent.
    pub payloads: usize,
    /// Of them, those of which not a byte went on to the origin.
    pub refused: usize,
    /// Connections to the origin.
    pub connections: usize,
    /// Requests on them, read strictly.
    pub left: usize,
    /// Requests of others, each of which got what it asked for unless `wrong` says otherwise.
    pub others: usize,
    /// Others that got something else, by payload.
    pub wrong: Vec<String>,
    /// Connections to the origin that cannot be read strictly.
    pub odd: Vec<String>,
}

/// Plays all payloads against one origin.
pub fn play(origin: &Origin, payloads: &[Payload]) -> Outcome {
    let relay = Relay::new(origin.to.clone());
    let (server, _file) = before(origin, &relay);
    let mut outcome = Outcome { payloads: payloads.len(), ..Outcome::default() };
    for (number, payload) in payloads.iter().enumerate() {
        let before = relay.bytes();
        let attacker = attack(&server.address, &payload.bytes);
        outcome.refused += usize::from(relay.bytes() == before);
        let mut ask = |what: &str| {
            let path = format!("/v/{}.txt", (number * 5 + what.len()) % PATHS);
            let answer = server.get(&format!("{path}?{number}{what}"), &[("Cookie", "session=secret")]);
            outcome.others += 1;
            if (answer.status, &*answer.text()) != (200, &*path) {
                let got = format!("{} {:?}", answer.status, answer.text());
                outcome.wrong.push(format!("{what} {}: {path} got {got}", payload.name));
            }
        };
        ask("after");
        ask("then");
        drop(attacker);
        ask("gone");
        // Had the wrong response been stored, it would be here still.
        ask("after");
    }
    for bytes in relay.recorded() {
        outcome.connections += 1;
        let read = if origin.scripts.is_some() { strict::fastcgi(&bytes) } else { strict::http(&bytes) };
        match read {
            Ok(targets) => outcome.left += targets.len(),
            Err(why) => outcome.odd.push(format!("{why}\n    in {}", bytes.escape_ascii())),
        }
    }
    outcome
}

/// Samovar as it comes, with one core, so that all share its connections.
fn before(origin: &Origin, relay: &Relay) -> (Server, Option<std::path::PathBuf>) {
    let quiet = ["--workers", "1", "--access-log", "off"];
    let Some(folder) = &origin.scripts else {
        return (Server::before(&format!("http://127.0.0.1:{}", relay.port), &quiet), None);
    };
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\ndefault = true\nfiles = {:?}\nhandlers = [{{ extension = \".php\", fastcgi = \
         \"127.0.0.1:{}\" }}]\n[[site.rule]]\npath = \"/**\"\nrewrite = \"/index.php\"\n",
        folder.0, relay.port
    );
    let (server, file) = Server::configured(&text, &quiet);
    (server, Some(file))
}

/// Sends a payload, and waits for one response if there is one. The connection stays until it is dropped.
fn attack(address: &str, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Samovar may refuse and close before all is sent.
    let _ = stream.write_all(bytes);
    let mut came = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    while !is_whole(&came) {
        match stream.read(&mut buffer) {
            Ok(bytes @ 1..) => came.extend_from_slice(&buffer[..bytes]),
            _ => break,
        }
    }
    stream
}

/// Whether a response is here, as far as the attacker needs to know.
fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    if head.starts_with("http/1.1 100") {
        return is_whole(&bytes[end + 4..]);
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    length.is_none_or(|length: usize| bytes.len() >= end + 4 + length)
}
