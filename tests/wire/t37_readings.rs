//! However a path is spelt, what an origin reads it as is guarded: real origins, spellings by the thousand.

use samovar_tests::client::Client;
use samovar_tests::file_servers;
use samovar_tests::origin::{Origin, own};
use samovar_tests::real::Real;
use samovar_tests::server::{Folder, Server};
use samovar_tests::spellings::{Alphabet, FOUND, SHORT, WHOLE, spellings};

/// What stands in the file that is guarded, and nowhere else.
const SECRET: &str = "for the staff alone";

/// Sites by host in front of one origin: one open, the others with a guard that lets nobody to `/staff/secret.txt`.
const SITES: &str = "config = 1
[[site]]
name = \"open\"
hosts = [\"open.test\"]
origin = \"ORIGIN\"

[[site]]
name = \"rule\"
hosts = [\"rule.test\"]
origin = \"ORIGIN\"
[[site.rule]]
path = \"/staff/**\"
deny = [\"0.0.0.0/0\"]

[[site]]
name = \"whole\"
hosts = [\"whole.test\"]
origin = \"ORIGIN\"
deny = [\"0.0.0.0/0\"]
[[site.rule]]
path = \"/public/**\"
deny = []

[[site]]
name = \"beside\"
hosts = [\"beside.test\"]
origin = \"ORIGIN\"
[[site.rule]]
path = \"/api/**\"
rate = { requests = 1000000, per = \"1s\" }
[[site.rule]]
path = \"/members/**\"
basic_auth = { users = \"USERS\" }
[[site.rule]]
path = \"/staff/**\"
deny = [\"0.0.0.0/0\"]

[[site]]
name = \"pass\"
hosts = [\"pass.test\"]
origin = \"ORIGIN\"
ambiguous_paths = \"pass\"
[[site.rule]]
path = \"/staff/*.txt\"
deny = [\"0.0.0.0/0\"]
";

/// Basic credentials of `ann:myPassword`.
const ANN: &str = "Basic YW5uOm15UGFzc3dvcmQ=";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("www/staff/secret.txt", SECRET);
    for name in ["public", "api", "members", "x"] {
        folder.write(&format!("www/{name}/a.txt"), "for all");
    }
    folder
}

/// Every `nth` spelling that gives the file where nothing is guarded gives it nowhere else.
fn grid(alphabet: &Alphabet, nth: usize, folder: &Folder, origin: &str) -> usize {
    let users = folder.write("users", "ann:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=\n");
    let text = SITES.replace("ORIGIN", origin).replace("USERS", users.to_str().unwrap());
    let (server, _file) = Server::configured(&text, &[]);
    let mut client = server.connect();
    let mut gives = |path: &str, host: &str| ask(&server, &mut client, path, host);
    let (mut reaching, mut open) = (0, Vec::new());
    let found = FOUND.iter().map(|found| (*found).to_owned());
    for path in spellings(alphabet).step_by(nth).chain(found) {
        if !gives(&path, "open.test") {
            continue;
        }
        reaching += 1;
        for host in ["rule.test", "whole.test", "beside.test", "pass.test"] {
            if gives(&path, host) {
                open.push(format!("{path} at {host}"));
            }
        }
    }
    assert!(
        open.is_empty(),
        "{} ways around a guard, such as\n{}",
        open.len(),
        open[..open.len().min(20)].join("\n")
    );
    reaching
}

/// Whether the secret comes back.
fn ask(server: &Server, client: &mut Client, path: &str, host: &str) -> bool {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {ANN}\r\n\r\n");
    let answer = client.send(&head).try_answer("GET").unwrap_or_else(|| {
        *client = server.connect();
        client.send(&head).answer("GET")
    });
    answer.text().contains(SECRET)
}

#[test]
fn no_spelling_walks_around_a_guard_before_nginx() {
    let folder = folder();
    let origin = file_servers::nginx(&folder.path("www"));
    let reaching = grid(&SHORT, 7, &folder, &origin.url());
    assert!(reaching > 20, "only {reaching} spellings reach the file at all");
}

#[test]
fn nor_before_pythons_server() {
    let folder = folder();
    let origin = Real::http_server(&folder.path("www"));
    let reaching = grid(&SHORT, 7, &folder, &origin.url());
    assert!(reaching > 20, "only {reaching} spellings reach the file at all");
}

#[test]
fn nor_before_node() {
    let folder = folder();
    let origin = file_servers::node(&folder.path("www"));
    let reaching = grid(&SHORT, 7, &folder, &origin.url());
    assert!(reaching > 20, "only {reaching} spellings reach the file at all");
}

/// Here a path that begins with two slashes names another host.
#[test]
fn nor_before_node_that_parses_urls() {
    let folder = folder();
    let origin = file_servers::node_with_url(&folder.path("www"));
    let reaching = grid(&SHORT, 7, &folder, &origin.url());
    assert!(reaching > 20, "only {reaching} spellings reach the file at all");
}

#[test]
#[ignore = "minutes: tens of thousands of spellings at five origins"]
fn nor_any_spelling_before_any_origin() {
    let folder = folder();
    let www = folder.path("www");
    let nodes = [file_servers::node(&www), file_servers::node_with_url(&www)];
    let always = [file_servers::nginx(&www), Real::http_server(&www)].into_iter().chain(nodes);
    let origins = always.chain(file_servers::flask(&www)).chain(file_servers::go(&www));
    for origin in origins {
        for (alphabet, nth, least) in [(&WHOLE, 41, 20), (&SHORT, 1, 100)] {
            let reaching = grid(alphabet, nth, &folder, &origin.url());
            eprintln!("{reaching} spellings reach the file at {}", origin.url());
            assert!(reaching > least, "only {reaching}");
        }
    }
}

fn echo() -> Origin {
    Origin::new(|asked| {
        let told = |name: &str| asked.field(name).unwrap_or("-").to_owned();
        let fields = own(&[("Cache-Control", "max-age=60")]);
        let body = format!("{} {} {}", asked.target(), told("authorization"), told("x-user"));
        (200, fields, body.into_bytes())
    })
}

fn site(origin: &Origin, rules: &str) -> (Server, Folder) {
    let folder = Folder::new();
    let ann = folder.write("ann", "ann:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=\n");
    let eve = folder.write("eve", "eve:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=\n");
    let text = format!("config = 1\n[[site]]\ndefault = true\norigin = \"{}\"\n{rules}", origin.url);
    let text = text.replace("ANN", ann.to_str().unwrap()).replace("EVE", eve.to_str().unwrap());
    (Server::configured(&text, &[]).0, folder)
}

#[test]
fn ambiguous_paths_are_refused_and_the_reason_is_given() {
    let origin = echo();
    let (server, _folder) = site(&origin, "[[site.rule]]\npath = \"/staff/**\"\ndeny = [\"0.0.0.0/0\"]\n");
    let odd = [
        "/open/%2e%2e%2fx",
        "/%2e/x",
        "/a/..;/b",
        "/a\\..\\b",
        "/a%00",
        "/a%C0%AFb",
        "/a%FF",
        "/%252e%252e/a",
    ];
    for path in FOUND.iter().chain(&odd) {
        let answer = server.get(path, &[]);
        assert_eq!((answer.status, answer.reason().as_str()), (400, "ambiguous-path"), "{path}");
    }
    assert_eq!(origin.count(), 0, "the origin is asked for none of them");
    let output = server.ask(&["explain", "/open/..%2Fstaff/x"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && words.contains("ambiguous-path"), "{words}");
    let many = format!("/{}", "a.b/".repeat(200));
    assert_eq!(server.get(&many, &[]).reason(), "too-many-readings");
    for path in ["/a/../b", "/a%2Fb", "/a;b", "/...", "/100%25", "/%C3%A4"] {
        assert_eq!(server.get(path, &[]).status, 200, "{path}");
    }
}

#[test]
fn where_nothing_is_guarded_nothing_is_refused() {
    let origin = echo();
    let (server, _folder) = site(&origin, "[[site.rule]]\npath = \"/staff/**\"\nfor = \"1h\"\n");
    for path in FOUND {
        assert_eq!(server.get(path, &[]).status, 200, "{path}");
    }
}

/// Each guard that the path may be read under is asked, whatever the path's own rule asks.
#[test]
fn every_guard_that_a_path_may_be_read_under_is_asked() {
    let origin = echo();
    let rules = "ambiguous_paths = \"pass\"\n\
        [[site.rule]]\npath = \"/api/**\"\nrate = { requests = 1000, per = \"1s\" }\n\
        [[site.rule]]\npath = \"/members/**\"\nbasic_auth = { users = \"ANN\" }\n\
        [[site.rule]]\npath = \"/staff/**\"\nbasic_auth = { users = \"EVE\" }\n\
        request_fields = [{ set = \"X-User\", value = \"{user}\" }]\n\
        [[site.rule]]\npath = \"/login.php\"\nrate = { requests = 1, per = \"1h\" }\n";
    let (server, _folder) = site(&origin, rules);
    let ann = ("Authorization", ANN);
    let eve = ("Authorization", "Basic ZXZlOm15UGFzc3dvcmQ=");
    let asked = |path: &str, who| server.get(path, &[who, ("X-User", "root")]);
    assert_eq!(asked("/members/x", ann).status, 200);
    for path in ["/members/..%2Fstaff/x", "/members%2F..;%2F../staff/x"] {
        let answer = asked(path, ann);
        assert_eq!((answer.status, answer.reason().as_str()), (401, "credentials-wrong"), "{path}");
        assert_eq!(asked(path, eve).status, 401, "{path}: nor is the path's own guard left out");
    }
    let answer = asked("/api/..%2Fstaff/x", eve);
    assert_eq!((answer.status, answer.reason().as_str()), (200, "protected"));
    assert_eq!(
        answer.text(),
        "/api/..%2Fstaff/x - eve",
        "the credentials stay here, and who signed in is told"
    );
    assert_eq!(asked("/api/..%2Fstaff/x", ann).status, 401);
    assert_eq!(asked("/STAFF/x", ann).status, 401);
    assert_eq!(asked("/STAFF/x", eve).text(), "/STAFF/x - eve");
    let login = |path| server.get(path, &[]).status;
    assert_eq!(
        (login("/api;/..%2F..%2Flogin.php"), login("/LOGIN.php/x"), login("/login.php")),
        (200, 429, 429)
    );
    let words = server.tell(&["explain", "/api/..%2Fstaff/x"]);
    assert!(words.contains("rule-by-reading") && words.contains("r3, read as /staff/x"), "{words}");
    assert!(words.contains("checks-users") && words.contains("protected"), "{words}");
    assert!(server.json(&["trace"]).to_string().contains("read as /staff/x"));
}

/// What a rule excludes from the cache is excluded however it is asked for.
#[test]
fn what_is_never_stored_is_not_stored_by_another_name() {
    let origin = echo();
    let rules = "[[site.rule]]\npath = \"/basket/**\"\nnever = true\n\
        [[site.rule]]\npath = \"/static/**\"\nfor = \"1h\"\n";
    let (server, _folder) = site(&origin, rules);
    for path in ["/basket/a", "/basket%2Fa", "/Basket/a", "/basket;x/a", "/basket%5Ca"] {
        for _ in 0..2 {
            let answer = server.get(path, &[]);
            assert_eq!((answer.status, answer.reason().as_str()), (200, "rule-never"), "{path}");
        }
    }
    assert_eq!(server.get("/static/..%2Fbasket/a", &[]).reason(), "ambiguous-path");
    assert!(!server.get("/static/a%2Fb", &[]).is_hit() && server.get("/static/a%2Fb", &[]).is_hit());
    let words = server.tell(&["explain", "/Basket/a"]);
    assert!(words.contains("rule-never") && words.contains("r1, read as /basket/a"), "{words}");
}

/// Nothing that each request is asked for stands ready below the engine, by whatever name.
#[test]
fn what_is_counted_is_never_hot() {
    let origin = echo();
    let rules = "[[site.rule]]\npath = \"/slow\"\nrate = { requests = 3, per = \"1h\" }\n";
    let (server, _folder) = site(&origin, rules);
    let reasons: Vec<u16> = (0..5).map(|_| server.get("/SLOW", &[]).status).collect();
    assert_eq!(reasons, [200, 200, 200, 429, 429]);
}

#[test]
fn check_says_which_rules_hold_for_every_reading() {
    let folder = Folder::new();
    let check = |site: &str| {
        let text = format!("config = 1\n[[site]]\ndefault = true\norigin = \"http://127.0.0.1:1\"\n{site}");
        let file = folder.write("samovar.toml", text);
        let output = samovar_tests::server::run(&["check", "--config", file.to_str().unwrap()]);
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let guarded = "[[site.rule]]\nid = \"staff\"\npath = \"/staff/**\"\ndeny = [\"0.0.0.0/0\"]\n\
        [[site.rule]]\npath = \"/open/**\"\n[[site.rule]]\nid = \"basket\"\npath = \"/basket\"\nnever = true\n";
    let words = check(guarded);
    assert!(words.contains("held to staff, basket; ambiguous paths are refused"), "{words}");
    assert!(words.contains("no errors, 0 warnings"), "{words}");
    let words = check(&format!("ambiguous_paths = \"pass\"\n{guarded}"));
    assert!(words.contains("ambiguous paths are passed on") && words.contains("1 warning"), "{words}");
    let words = check("[[site.rule]]\npath = \"/staff/**\"\n");
    assert!(!words.contains("held to") && words.contains("0 warnings"), "{words}");
}

/// A front controller takes what follows its own name for the path, and a folder's document stands for the folder with and
/// without its last slash: what guards or excludes those holds.
#[test]
fn what_a_front_controller_is_handed_is_guarded() {
    let origin = Origin::new(|asked| {
        let path = asked.target().split('?').next().unwrap_or_default().to_owned();
        let route = path.strip_prefix("/index.php").unwrap_or(&path).replace("//", "/");
        match route.starts_with("/staff/") || route.starts_with("/folder/") || route.starts_with("/calls/") {
            true => (200, own(&[("Cache-Control", "max-age=60")]), SECRET.into()),
            false => (404, own(&[]), Vec::new()),
        }
    });
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\nhosts = [\"a.test\"]\norigin = \"{}\"\n\
         [[site.rule]]\npath = \"/staff/**\"\ndeny = [\"0.0.0.0/0\"]\n\
         [[site.rule]]\npath = \"/folder\"\ndeny = [\"0.0.0.0/0\"]\n\
         [[site.rule]]\npath = \"/never/**\"\nnever = true\n\
         [[site.rule]]\npath = \"/calls/**\"\nrate = {{ requests = 1, per = \"1h\", burst = 1 }}\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let mut client = server.connect();
    let mut status = |path: &str| client.get(path, &[("Host", "a.test")]).status;
    for path in
        ["/staff/x", "/index.php/staff/x", "/index.php//staff/x", "/index.php%2Fstaff/x", "/v/a.php/staff/x"]
    {
        assert_eq!(status(path), 403, "{path}");
    }
    for path in ["/folder", "/folder/", "/folder/index.html"] {
        assert_eq!(status(path), 403, "{path}");
    }
    assert_eq!((status("/calls/q"), status("/index.php/calls/q")), (200, 429));
    // A version in a folder's name is no script.
    assert_eq!(status("/v1.0/staff/x"), 404);
    let explained = server.tell(&["explain", "http://a.test/index.php/never/x"]);
    assert!(explained.contains("rule-by-reading") && explained.contains("/never/x"), "{explained}");
}
