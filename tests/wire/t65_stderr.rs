//! Standard error that nobody reads: what the server has to say is dropped and counted, and nothing waits for it.
//!
//! Not here: the access log in a file (`t60_admin`).

use samovar_tests::php::Fpm;
use samovar_tests::server::{Folder, Server, soon};
use std::io::{PipeReader, Write as _};
use std::time::{Duration, Instant};

/// A server whose standard error is a pipe that is full before it starts. The other end is never read.
fn unread(args: &[&str]) -> (Server, PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    // Blocks as soon as the pipe is full, and ends with the reader.
    std::thread::spawn(move || while filler.write_all(&[b'.'; 4096]).is_ok() {});
    (Server::start_with_stderr(args, writer), reader)
}

fn ends_soon(mut server: Server) {
    server.signal("TERM");
    let begun = Instant::now();
    assert_eq!(server.wait(), Some(0));
    // Two seconds are what it may wait for its logs; the rest is for a busy machine.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn the_server_starts_serves_reloads_and_stops() {
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    let text = |n: u32| {
        let files = folder.path("files");
        format!(
            "config = 1\n[[site]]\nname = \"s\"\ndefault = true\nfiles = \"{}\"\n[[site.rule]]\npath = \"/**\"\n\
             client_fields = [{{ set = \"X-N\", value = \"{n}\" }}]\n",
            files.display()
        )
    };
    let config = folder.write("samovar.toml", text(0));
    let (server, _reader) = unread(&["--config", config.to_str().unwrap(), "--access-log", "stderr"]);
    // More lines than all buffers together hold, on connections that stay.
    let mut client = server.connect();
    for n in 1..=4 {
        for _ in 0..50 {
            assert_eq!(client.get("/page.txt", &[]).status, 200);
        }
        folder.write("samovar.toml", text(n));
        // A reload warns and says that it was done: the second is heard as the first is.
        server.signal("HUP");
        soon("the new configuration", || {
            (server.get("/page.txt", &[]).field("x-n") == Some(n.to_string().as_str())).then_some(())
        });
    }
    ends_soon(server);
}

#[test]
fn what_an_application_complains_of_stops_nothing() {
    let folder = Folder::new();
    folder.write(
        "loud.php",
        "<?php for ($i = 0; $i < 60; $i++) error_log(str_repeat('x', 1000)); echo 'done';",
    );
    let fpm = Fpm::start(&folder.0, 2);
    let config = folder.write(
        "samovar.toml",
        format!(
            "config = 1\n[[site]]\nname = \"php\"\ndefault = true\nfiles = \"{}\"\n\
             handlers = [{{ extension = \".php\", fastcgi = \"unix:{}\" }}]\n",
            folder.0.display(),
            fpm.socket.display()
        ),
    );
    let (server, reader) = unread(&["--config", config.to_str().unwrap(), "--access-log", "off"]);
    let mut client = server.connect();
    let lost = || server.json(&["status"])["dropped_lines"]["notices"].as_u64().unwrap();
    for n in 0..60 {
        let answer = client.get("/loud.php", &[]);
        assert_eq!((answer.status, answer.text()), (200, "done".into()), "request {n}");
    }
    // 60 times 60 kB are more than what may wait.
    assert!(lost() > 0);
    let lost = lost();
    let shown = server.tell(&["status"]);
    assert!(
        shown.lines().any(|l| l.contains("lines to stderr lost") && l.ends_with(&lost.to_string())),
        "{shown}"
    );
    // Somebody reads again: the log says what is missing.
    let read = std::thread::spawn(move || {
        use std::io::{BufRead as _, BufReader};
        BufReader::new(reader)
            .lines()
            .map_while(Result::ok)
            .find(|line| line.contains("lines are missing here"))
    });
    soon("the line about lines", || {
        client.get("/loud.php", &[]);
        read.is_finished().then_some(())
    });
    let line = read.join().unwrap();
    assert!(line.is_some());
    ends_soon(server);
}

/// The same for an access log that is a named pipe: without a reader it is an error at once, not a reload that never ends.
#[test]
fn an_access_log_that_is_a_pipe() {
    let folder = Folder::new();
    folder.write("files/page.txt", "page");
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let text = |access: &str| {
        let files = folder.path("files");
        format!(
            "config = 1\n[log]\naccess = \"{access}\"\n[[site]]\nname = \"s\"\ndefault = true\nfiles = \"{}\"\n",
            files.display()
        )
    };
    let config = folder.write("samovar.toml", text("off"));
    let server = Server::start(&["--config", config.to_str().unwrap()]);
    folder.write("samovar.toml", text(pipe.to_str().unwrap()));
    let refused = server.ask(&["reload"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("named pipe"), "{told}");
    // With a reader, which then reads nothing more: all goes on.
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::File::open(pipe).unwrap())
    };
    soon("the reload", || server.ask(&["reload"]).status.success().then_some(()));
    let reader = reader.join().unwrap();
    let mut client = server.connect();
    let agent = "x".repeat(1000);
    for _ in 0..200 {
        assert_eq!(client.get("/page.txt", &[("User-Agent", &agent)]).status, 200);
    }
    ends_soon(server);
    drop(reader);
}
