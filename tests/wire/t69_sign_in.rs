//! Passwords under a flood of guesses: one site's keep nobody of another waiting, and what costs too much is refused.
//!
//! Not here: whether a password is right (`t36_protected`), whose turn it is (`rules::turns`).

use samovar_tests::client::Client;
use samovar_tests::origin::Origin;
use samovar_tests::server::{Folder, Server, run, soon};
use serde_json::Value;

/// `myPassword`.
const SHA: &str = "{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=";

/// A bcrypt hash of some password, of this cost.
fn hash(cost: u32) -> String {
    format!("$2y${cost:02}$6l/pXfn3eHMW9XQhYBXWQuzo3kH7DYRKsVl3b4lPbX0HgNSNnMIye")
}

/// `bob:myPassword`.
const BOB: &str = "Basic Ym9iOm15UGFzc3dvcmQ=";

/// `ann:00` to `ann:99`: another password each time, as the same one would be checked once for all.
fn guess(at: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = usize::from(b':') << 16 | (usize::from(b'0') + at / 10) << 8 | (usize::from(b'0') + at % 10);
    let last: String = [18, 12, 6, 0].iter().map(|shift| char::from(LETTERS[bits >> shift & 63])).collect();
    format!("Basic YW5u{last}")
}

fn limit(server: &Server, name: &str) -> Value {
    let all = server.json(&["limits"]);
    all.as_array().unwrap().iter().find(|l| l["name"] == name).unwrap().clone()
}

#[test]
fn guesses_on_one_site_keep_nobody_of_another_waiting() {
    let origin = Origin::counting(&[("Cache-Control", "no-store")]);
    let folder = Folder::new();
    let slow = folder.write("slow", format!("ann:{}\nbob:{SHA}\n", hash(12)));
    let quick = folder.write("quick", format!("bob:{SHA}\n"));
    let site = |name: &str, users: &std::path::Path| {
        format!(
            "[[site]]\nname = \"{name}\"\nhosts = [\"{name}.test\"]\norigin = \"{}\"\nbasic_auth = {{ users = \"{}\" }}\n",
            origin.url,
            users.display()
        )
    };
    let text = format!(
        "config = 1\n[server]\ntrusted_proxies = [\"127.0.0.1\"]\n{}{}",
        site("slow", &slow),
        site("quick", &quick)
    );
    let (server, _file) = Server::configured(&text, &[]);
    let signed = |host: &str, client: &str, user: &str| {
        let fields = [("Host", host), ("X-Forwarded-For", client), ("Authorization", user)];
        server.get("/", &fields)
    };
    assert_eq!(signed("slow.test", "10.0.1.1", BOB).status, 200);
    // More than may wait for a site, each from another address.
    let flood: Vec<Client> = (0..90)
        .map(|at| {
            let mut client = Client::connect(&server.address);
            client.send(format!(
                "GET / HTTP/1.1\r\nHost: slow.test\r\nX-Forwarded-For: 10.0.2.{at}\r\nAuthorization: {}\r\n\r\n",
                guess(at)
            ));
            client
        })
        .collect();
    soon("the queue is full", || {
        (limit(&server, "sign_in.queue_max")["refused"].as_u64()? > 0).then_some(())
    });
    // Nobody asked this before, so it is checked, in its own turn; what is remembered is not checked again.
    assert_eq!(signed("quick.test", "10.0.3.1", BOB).status, 200);
    assert_eq!(signed("slow.test", "10.0.1.1", BOB).status, 200);
    let queue = limit(&server, "sign_in.queue_max");
    assert_eq!(queue["number"], 64, "{queue}");
    assert!(limit(&server, "sign_in.checks_max")["used"].as_u64().unwrap() <= 3);
    drop(flood);
}

#[test]
fn a_hash_that_takes_longer_than_a_second_is_refused() {
    let folder = Folder::new();
    for (cost, ok, says) in [(12, true, ""), (13, true, "about 500 ms"), (15, false, "about 2 s")] {
        let users = folder.write("users", format!("bob:{SHA}\nann:{}\n", hash(cost)));
        let text = format!(
            "config = 1\n[[site]]\nname = \"one\"\ndefault = true\norigin = \"http://127.0.0.1:9\"\nbasic_auth = {{ users = \"{}\" }}\n",
            users.display()
        );
        let config = folder.write("samovar.toml", text);
        let output = run(&["check", "--config", config.to_str().unwrap()]);
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), ok, "{said}");
        assert!(said.contains(says) && said.contains("dear-hash") != says.is_empty(), "{said}");
    }
}
