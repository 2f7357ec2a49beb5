//! PHP at its worst: scripts that die, loop, shout or answer nonsense, and a php-fpm that goes away and comes back.

use samovar_tests::php::Fpm;
use samovar_tests::server::{Folder, Server, soon};
use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn site(folder: &Folder, address: &str, more: &str) -> Server {
    let text = format!(
        "config = 1\n[[site]]\nname = \"php\"\ndefault = true\nwhen_silent = \"60s\"\n\
         handlers = [{{ extension = \".php\", fastcgi = \"php\" }}]\nfiles = \"{}\"\n\
         [[upstream]]\nname = \"php\"\nfastcgi = \"{address}\"\nhead_max_bytes = 8192\n{more}\n",
        folder.0.display()
    );
    Server::configured(&text, &["--access-log", "off"]).0
}

fn listed(server: &Server, name: &str) -> usize {
    server.json(&["cache", "list", name]).as_array().unwrap().len()
}

#[test]
fn scripts_that_do_it_wrong() {
    let folder = Folder::new();
    let fine = "header('Cache-Control: max-age=60');";
    for (name, script) in [
        ("fatal", "nothing_of_that_name();".to_owned()),
        ("parse", "echo 'a".to_owned()),
        ("throws", "throw new Exception('no');".to_owned()),
        (
            "late",
            format!(
                "{fine} header('Content-Length: 100000'); echo str_repeat('x', 50000); flush(); nothing();"
            ),
        ),
        ("memory", "ini_set('memory_limit', '8M'); $a = str_repeat('x', 100000000);".to_owned()),
        ("killed", "exec('kill -9 ' . getmypid());".to_owned()),
        ("sleeps", "sleep(4);".to_owned()),
        ("pauses", format!("{fine} while (ob_get_level()) ob_end_flush(); echo 'some'; flush(); sleep(4);")),
        ("short", format!("{fine} header('Content-Length: 10'); echo 'hello';")),
        ("long", format!("{fine} header('Content-Length: 3'); echo 'hello';")),
        ("fields", "for ($i = 0; $i < 2000; $i++) header(\"X-$i: y\");".to_owned()),
        ("wide", "header('X: ' . str_repeat('y', 9000));".to_owned()),
        ("status", "header('Status: 299 Odd'); echo 'odd';".to_owned()),
        ("good", "echo 'good';".to_owned()),
    ] {
        folder.write(&format!("{name}.php"), format!("<?php {script}"));
    }
    // A script that sleeps does not hear that nobody waits any more.
    let fpm = Fpm::start(&folder.0, 8);
    let address = format!("unix:{}", fpm.socket.display());
    let server = site(&folder, &address, "head_timeout = \"2s\"\nbody_timeout = \"2s\"");
    for (name, status, reason, whole) in [
        // PHP itself answers 500 to these: that is an answer, and passed on.
        ("fatal", 500, "", true),
        ("parse", 500, "", true),
        ("throws", 500, "", true),
        ("memory", 500, "", true),
        ("late", 200, "upstream-short-body", false),
        ("killed", 502, "upstream-reset", true),
        ("sleeps", 504, "upstream-head-timeout", true),
        ("pauses", 200, "upstream-body-timeout", false),
        ("short", 200, "upstream-short-body", false),
        ("long", 502, "upstream-bad-framing", true),
        ("fields", 502, "upstream-head-too-large", true),
        ("wide", 502, "upstream-head-too-large", true),
        ("status", 299, "", true),
    ] {
        let path = format!("/{name}.php");
        for method in ["GET", "POST"] {
            let answer = server.connect().request(method, &path, &[], b"");
            // Whether what came of a short answer was still whole when its end was known is chance.
            let early = !whole && answer.status == 502;
            assert!(answer.status == status || early, "{method} {name}: {} {}", answer.status, answer.text());
            assert!(answer.whole == whole || early, "{method} {name}");
            if status >= 500 && !reason.is_empty() {
                assert_eq!(answer.reason(), reason, "{name}: {}", answer.text());
            } else if !reason.is_empty() {
                soon(reason, || {
                    server.json(&["trace", "--reason", reason]).to_string().contains(&path).then_some(())
                });
            }
        }
        assert_eq!(listed(&server, name), 0, "{name}: nothing of it is stored");
        for n in 0..3 {
            assert_eq!(server.get(&format!("/good.php?{name}{n}"), &[]).text(), "good", "after {name}");
        }
    }
}

/// Megabytes of complaints: the answer is not hurt, and the log gets a part of them.
#[test]
fn a_script_that_shouts() {
    let folder = Folder::new();
    folder.write(
        "shouts.php",
        "<?php for ($i = 0; $i < 4000; $i++) error_log(\"complaint $i \" . str_repeat('x', 900)); echo 'fine';",
    );
    folder.write(
        "dies.php",
        "<?php for ($i = 0; $i < 4000; $i++) error_log(\"complaint $i \" . str_repeat('x', 900)); nothing_of_that_name();",
    );
    let fpm = Fpm::start(&folder.0, 2);
    let server = site(&folder, &format!("unix:{}", fpm.socket.display()), "");
    for n in 0..3 {
        assert_eq!(server.get(&format!("/shouts.php?{n}"), &[]).text(), "fine");
    }
    assert_eq!(server.get("/dies.php", &[]).status, 500);
    let said = soon("what is left out", || {
        let said = server.said();
        (said.matches("are left out").count() == 4).then_some(said)
    });
    assert!(said.contains("complaint 0 ") && said.len() < 1 << 20, "{} bytes", said.len());
    assert!(
        said.contains("the last:   thrown in ") || said.contains("the last: thrown in "),
        "the last words are among them"
    );
}

#[test]
fn what_is_no_fastcgi_application() {
    let folder = Folder::new();
    folder.write("a.php", "<?php");
    let http = samovar_tests::raw::Upstream::new(|_, _| {});
    let socket = folder.path("silent.sock");
    let _nobody_accepts = UnixListener::bind(&socket).unwrap();
    let missing = folder.path("missing.sock");
    for (address, status, reason) in [
        (format!("unix:{}", missing.display()), 502, "upstream-socket-missing"),
        (format!("unix:{}", socket.display()), 504, "upstream-head-timeout"),
        ("127.0.0.1:1".to_owned(), 502, "upstream-refused"),
        (http.url.trim_start_matches("http://").to_owned(), 504, "upstream-head-timeout"),
        (talks("HTTP/1.1 400 Bad Request\r\n\r\n"), 502, "upstream-not-fastcgi"),
        (talks("SSH-2.0-OpenSSH_9.2\r\n"), 502, "upstream-not-fastcgi"),
        (talks(""), 502, "upstream-reset"),
    ] {
        let server = site(&folder, &address, "head_timeout = \"500ms\"");
        let answer = server.get("/a.php", &[]);
        assert_eq!(
            (answer.status, answer.reason().as_str()),
            (status, reason),
            "{address}: {}",
            answer.text()
        );
        assert_eq!(listed(&server, "a.php"), 0);
    }
}

/// A server that says this as soon as it has heard anything, and closes.
fn talks(text: &'static str) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(text.as_bytes());
        }
    });
    address
}

/// Restarts under load, gracefully and not: every answer is right or an error with its reason, and soon all are right.
#[test]
fn php_fpm_comes_and_goes() {
    let folder = Folder::new();
    folder.write("n.php", "<?php header('Cache-Control: no-store'); usleep(2000); echo 'n=', $_GET['n'];");
    folder.write("kept.php", "<?php header('Cache-Control: max-age=1'); echo 'kept ', $_GET['n'];");
    let mut fpm = Fpm::start(&folder.0, 4);
    let server = site(&folder, &format!("unix:{}", fpm.socket.display()), "head_timeout = \"5s\"");
    let (stop, came) = (AtomicBool::new(false), Mutex::new(BTreeMap::<String, u64>::new()));
    std::thread::scope(|scope| {
        for client in 0..6 {
            let (server, stop, came) = (&server, &stop, &came);
            scope.spawn(move || {
                let mut connection = server.connect();
                let mut n = client * 1_000_000;
                while !stop.load(Ordering::SeqCst) {
                    n += 1;
                    let kept = n % 5 == 0;
                    let (path, want) = match kept {
                        true => (format!("/kept.php?n={}", n % 50), format!("kept {}", n % 50)),
                        false => (format!("/n.php?n={n}"), format!("n={n}")),
                    };
                    let answer = connection.get(&path, &[]);
                    let reason = match answer.status {
                        200 => {
                            assert_eq!(answer.text(), want);
                            "fine".to_owned()
                        }
                        502..=504 => {
                            assert!(answer.reason() != "upstream-unreachable", "{}", answer.text());
                            answer.reason()
                        }
                        status => panic!("{status}: {}", answer.text()),
                    };
                    *came.lock().unwrap().entry(reason).or_default() += 1;
                }
            });
        }
        for round in 0..6 {
            std::thread::sleep(Duration::from_millis(250));
            if round % 2 == 0 { fpm.reload() } else { fpm.restart() }
        }
        std::thread::sleep(Duration::from_millis(250));
        stop.store(true, Ordering::SeqCst);
    });
    let came = came.into_inner().unwrap();
    let known = [
        "fine",
        "upstream-reset",
        "upstream-refused",
        "upstream-socket-missing",
        "upstream-short-body",
        "upstream-socket-denied",
        "upstream-overloaded",
    ];
    assert!(came.keys().all(|reason| known.contains(&reason.as_str())), "{came:?}");
    assert!(came["fine"] > 100, "{came:?}");
    for n in 0..40 {
        assert_eq!(
            server.get(&format!("/n.php?n={n}"), &[]).text(),
            format!("n={n}"),
            "afterwards all is well"
        );
    }
    eprintln!("{came:?}");
}
