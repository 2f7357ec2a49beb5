//! The operator's files: a named pipe in the place of one is refused at once, and several processes may change one file.
//!
//! Not here: what the files mean, a log that is a pipe (`t65_stderr`).

use samovar_tests::server::{Folder, Server, program, run, soon};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

// What is looked for in messages is a single word: where they are longer than a line they are wrapped.

/// A named pipe that nobody writes to.
fn pipe(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.path(name);
    let _ = std::fs::remove_file(&path);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// `samovar ARGS`, which must end by itself.
fn ends(args: &[&str]) -> (Option<i32>, String) {
    let program = program("samovar");
    let mut child =
        Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("samovar {args:?} waits");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const SITE: &str = "config = 1\n[[site]]\nname = \"s\"\ndefault = true\nfiles = \"files\"\n";

#[test]
fn a_pipe_is_no_configuration() {
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    let fifo = pipe(&folder, "fifo");
    for args in [
        &["check", "--config", text(&fifo)][..],
        &["serve", "--listen", "127.0.0.1:0", "--admin", "off", "--config", text(&fifo)],
        &["import", "nginx", text(&fifo)],
        &["check", "--config", "/dev/zero"],
    ] {
        let (code, told) = ends(args);
        let device = args.contains(&"/dev/zero");
        assert!(told.contains(if device { "device," } else { "(FIFO)" }), "{args:?}: {told}");
        assert_eq!(code, Some(1), "{args:?}: {told}");
    }
    let config = folder.write("samovar.toml", SITE);
    let (server, said) = (Server::start(&["--config", text(&config)]), "(FIFO)");
    pipe(&folder, "samovar.toml");
    server.signal("HUP");
    soon("the refused reload", || server.said().contains(said).then_some(()));
    for args in [&["reload"][..], &["rule", "add", "path=/x", "never=true"]] {
        let refused = server.ask(args);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(said), "{args:?}: {told}");
    }
    // All goes on: it serves, it reloads, it ends.
    assert_eq!(server.get("/page.txt", &[]).text(), "page");
    std::fs::remove_file(&config).unwrap();
    folder.write("samovar.toml", format!("{SITE}client_fields = [{{ set = \"X-New\", value = \"yes\" }}]\n"));
    server.signal("HUP");
    soon("the new configuration", || server.get("/page.txt", &[]).field("x-new").map(drop));
}

#[test]
fn a_pipe_holds_no_users_and_no_certificate() {
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    let guarded = format!("{SITE}basic_auth = {{ realm = \"r\", users = \"users\" }}\n");
    let config = folder.write("samovar.toml", guarded);
    pipe(&folder, "users");
    let (code, told) = ends(&["check", "--config", text(&config)]);
    assert!(code == Some(0) && told.contains("(FIFO)"), "a warning: {told}");
    let server = Server::start(&["--config", text(&config)]);
    // ann:secret
    let get = || server.get("/page.txt", &[("Authorization", "Basic YW5uOnNlY3JldA==")]);
    assert_eq!(get().status, 500);
    std::fs::remove_file(folder.path("users")).unwrap();
    folder.write("users", "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n");
    soon("the right users", || (get().status == 200).then_some(()));
    let tls = "config = 1\n[server]\nlisten = [\"https://127.0.0.1:0\"]\n[[site]]\nname = \"s\"\nhosts = [\"x.example\"]\n\
               files = \"files\"\ncertificate = \"c.pem\"\ncertificate_key = \"users\"\n";
    pipe(&folder, "c.pem");
    let config = folder.write("tls.toml", tls);
    let (code, told) = ends(&["check", "--config", text(&config)]);
    assert!(code == Some(1) && told.contains("c.pem: it is a pipe"), "{told}");
}

/// Two servers run by one file, and both change it at once: nothing that was confirmed is lost.
#[test]
fn two_processes_change_one_file() {
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    let config = folder.write("samovar.toml", SITE);
    // A process that was killed while it changed the file left this.
    let left = folder.write(".samovar.toml.4711.new", "half");
    let other = folder.write(".samovar.toml.notes.new", "somebody's own");
    let servers = [0, 1].map(|_| Server::start(&["--config", text(&config)]));
    assert!(!left.exists(), "removed at the start");
    folder.write(".samovar.toml.4712.new", "half");
    std::thread::scope(|scope| {
        for (at, server) in servers.iter().enumerate() {
            for client in 0..2 {
                scope.spawn(move || {
                    for n in 0..5 {
                        let path = format!("path=/{at}-{client}-{n}");
                        server.tell(&["rule", "add", &path, "never=true"]);
                    }
                });
            }
        }
    });
    let now = std::fs::read_to_string(&config).unwrap();
    assert_eq!(now.matches("never = true").count(), 20, "{now}");
    assert_eq!(run(&["check", "--config", text(&config)]).status.code(), Some(0));
    let beside: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!beside.contains(&".samovar.toml.4712.new".into()), "removed by the next change: {beside:?}");
    assert!(other.exists(), "what others wrote is not touched");
}

/// A private key that everybody can read works, and is told of.
#[test]
fn a_private_key_for_everybody_to_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    for name in ["a.pem", "a.key"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/server/tests/tls").join(name);
        std::fs::copy(from, folder.path(name)).unwrap();
    }
    let config = folder.write(
        "samovar.toml",
        "config = 1\n[server]\nlisten = [\"https://127.0.0.1:0\"]\n[[site]]\nname = \"s\"\nhosts = [\"a.example\"]\n\
         files = \"files\"\ncertificate = \"a.pem\"\ncertificate_key = \"a.key\"\n",
    );
    let check = |mode: u32| {
        std::fs::set_permissions(folder.path("a.key"), std::fs::Permissions::from_mode(mode)).unwrap();
        let (code, told) = ends(&["check", "--config", text(&config)]);
        assert_eq!(code, Some(0), "{told}");
        (told.contains("exposure") && told.contains("samovar.toml:9:"), told)
    };
    for (mode, open) in [(0o644, true), (0o640, false), (0o600, false), (0o602, true)] {
        let (told_of, told) = check(mode);
        assert_eq!(told_of, open, "{mode:03o}: {told}");
    }
}

/// Without a configuration file a change is in memory: that is told, and no line of a file is shown.
#[test]
fn a_change_without_a_file_is_told_to_be_in_memory_only() {
    let folder = Folder::new();
    folder.write("page.txt", "page");
    let server = Server::start(&[text(&folder.0)]);
    let output = server.ask(&["rule", "add", "path=/x", "never=true"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains("in memory only, and gone at the next start"), "{told}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let row: Vec<&str> = shown.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[2], "-", "{shown}");
    let listed = server.json(&["rule", "list"]);
    assert!(listed[0]["line"].is_null(), "{listed}");
    let changed = server.json(&["rule", "add", "path=/y", "never=true"]);
    assert_eq!(changed["kept"], false, "{changed}");
    // With a file there is nothing to tell.
    folder.write("files/page.txt", "page");
    let config = folder.write("samovar.toml", SITE);
    let server = Server::start(&["--config", text(&config)]);
    let changed = server.json(&["rule", "add", "path=/x", "never=true"]);
    assert_eq!(
        (changed["kept"].as_bool(), changed["warnings"].as_array().map(Vec::len)),
        (Some(true), Some(0))
    );
    assert!(changed["rules"][0]["line"].as_u64() >= Some(6), "{changed}");
}

/// What an error page repeats of the path is taken for nothing but what it is.
#[test]
fn error_pages_are_not_sniffed() {
    let folder = Folder::new();
    let server = Server::start(&[text(&folder.0)]);
    for accept in ["text/html", "application/json", "text/plain", "*/*"] {
        for path in ["/none/<script>", "/%00", "/"] {
            let answer = server.get(path, &[("Accept", accept)]);
            assert!(answer.status >= 400, "{path}: {}", answer.line);
            assert_eq!(answer.field("x-content-type-options"), Some("nosniff"), "{accept} {path}");
        }
    }
    let mut refused = server.connect();
    refused.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    let answer = refused.answer("GET");
    assert_eq!((answer.status, answer.field("x-content-type-options")), (400, Some("nosniff")));
}

/// Somebody else holds the lock: a change waits for it, and so does a reload behind it, but the stop does not.
#[test]
fn a_lock_of_another_holds_up_no_stop() {
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    let config = folder.write("samovar.toml", SITE);
    let mut server = Server::start(&["--config", text(&config)]);
    let locked = folder.path("locked");
    let mut holder = Command::new("flock")
        .arg("--no-fork")
        .arg(&folder.0)
        .args(["sh", "-c", &format!("touch {}; exec sleep 40", text(&locked))])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    soon("the lock", || locked.is_file().then_some(()));
    let mut change = Command::new(program("samovar"))
        .args(["rule", "add", "path=/x", "never=true", "--admin", &server.admin])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It waits, with the configuration in its hands.
    std::thread::sleep(Duration::from_millis(300));
    assert!(change.try_wait().unwrap().is_none(), "the change waits for the lock");
    server.signal("HUP");
    let begun = Instant::now();
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    // The change gives up after ten seconds.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    holder.kill().unwrap();
    holder.wait().unwrap();
    change.wait().unwrap();
}
