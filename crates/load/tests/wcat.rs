//! WCAT's own command lines, with the files of those who wrote about it: controller and client in two processes, the script
//! that does all at once, and what goes wrong on the way.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{After, Scratch, Server, number, ok, output};

/// The first seed's three files, with shorter times.
fn five(scratch: &Scratch, machines: u32) -> [String; 3] {
    let script = "NEW TRANSACTION\n    classId = 1\n    NEW REQUEST HTTP\n        Verb = \"GET\"\n        URL = \"http://localhost/pictures/one.JPG\"\n\
        NEW TRANSACTION\n    classId = 2\n    NEW REQUEST HTTP\n        Verb = \"GET\"\n        URL = \"http://localhost/pictures/two.JPG\"\n";
    let config = format!(
        "Warmuptime 100ms\nDuration 1s\nCooldownTime 100ms\nNumClientMachines {machines}\nNumClientThreads 20\n"
    );
    let files =
        [("config.cfg", config.as_str()), ("script.cfg", script), ("distribution.cfg", "1 50\n2 50\n")];
    files.map(|(name, text)| {
        let path = scratch.file(name);
        std::fs::write(&path, text).unwrap();
        path
    })
}

/// A controller at a free port, and what it says on stderr until it waits.
struct Controller {
    child: Child,
    port: u16,
    said: Arc<Mutex<String>>,
}

impl Controller {
    fn start(args: &[&str]) -> Controller {
        // The port is chosen here: WCAT 5 has no flag for it, so it is the system's to say which is free.
        let mut child = Command::new(env!("CARGO_BIN_EXE_thirst"))
            .arg("wcctl")
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut port = None;
        let said = Arc::new(Mutex::new(String::new()));
        while port.is_none() {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {}", said.lock().unwrap());
            said.lock().unwrap().push_str(&line);
            let at = line.strip_prefix("waiting at 127.0.0.1:");
            port = at.and_then(|rest| rest.split(' ').next()?.parse().ok());
        }
        let heard = said.clone();
        thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|n| n > 0) {
                heard.lock().unwrap().push_str(&line);
                line.clear();
            }
        });
        Controller { child, port: port.unwrap(), said }
    }

    fn client(&self, more: &[&str]) -> Child {
        let port = self.port.to_string();
        Command::new(env!("CARGO_BIN_EXE_thirst"))
            .args(["wcclient", "localhost", "-p", &port])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn end(self) -> (Output, String) {
        let output = self.child.wait_with_output().unwrap();
        (output, self.said.lock().unwrap().clone())
    }
}

fn json(path: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_first_seeds_measurement_with_controller_and_client() {
    let scratch = Scratch::new("wcat-five");
    let server = Server::canned(ok(&"x".repeat(1000), "Connection: close\r\n"));
    let [config, script, distribution] = five(&scratch, 1);
    let report = scratch.file("report.json");
    let address = server.address.to_string();
    let controller = Controller::start(&[
        "-c",
        &config,
        "-s",
        &script,
        "-d",
        &distribution,
        "-a",
        &address,
        "-json",
        &report,
        "-listen",
        "127.0.0.1:0",
    ]);
    let client = controller.client(&[]).wait_with_output().unwrap();
    assert!(client.status.success(), "{}", String::from_utf8_lossy(&client.stderr));
    let (output, said) = controller.end();
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nTotal Async Sockets         :             20 "), "{text}");
    let run = json(&report);
    // A connection for each request, as the seed's table shows; both pictures, evenly.
    let (requests, made) = (number(&run, "/all_requests"), number(&run, "/connections/made"));
    assert!(requests > 20.0 && made >= requests, "{requests} over {made}");
    assert_eq!(requests as u64, server.seen());
    let paths = server.paths.lock().unwrap();
    let one = paths.iter().filter(|path| *path == "/pictures/one.JPG").count() as f64;
    let share = one / paths.len() as f64;
    let allowed = 5.0 * (0.25 / paths.len() as f64).sqrt();
    assert!((share - 0.5).abs() < allowed, "{share} of {} ± {allowed}", paths.len());
    assert!(paths.iter().all(|path| path.starts_with("/pictures/")));
}

#[test]
fn two_machines_are_one_result() {
    let scratch = Scratch::new("wcat-two");
    let server = Server::start(|stream, _| {
        thread::sleep(Duration::from_millis(10));
        stream.write_all(ok("x", "Connection: close\r\n").as_bytes()).unwrap();
        After::Close
    });
    let [config, script, distribution] = five(&scratch, 2);
    let report = scratch.file("report.json");
    let address = server.address.to_string();
    let controller = Controller::start(&[
        "-c",
        &config,
        "-s",
        &script,
        "-d",
        &distribution,
        "-a",
        &address,
        "-json",
        &report,
        "-listen",
        "127.0.0.1:0",
    ]);
    let (one, two) = (controller.client(&[]), controller.client(&[]));
    for client in [one, two] {
        assert!(client.wait_with_output().unwrap().status.success());
    }
    let (output, said) = controller.end();
    assert!(output.status.success(), "{said}");
    let run = json(&report);
    assert_eq!(number(&run, "/asked/connections"), 40.0);
    assert_eq!(number(&run, "/all_requests") as u64, server.seen(), "{said}");
    let sum = number(&run, "/responses") + number(&run, "/errors/requests") + number(&run, "/unfinished");
    assert_eq!(number(&run, "/requests"), sum);
    assert_eq!(number(&run, "/latency_us/last_byte/count"), number(&run, "/responses"));
    assert_eq!(run["cpu"]["generator"].as_array().unwrap().len(), 2, "{run}");
}

#[test]
fn counters_are_read_by_the_clients_and_stand_in_the_log() {
    let scratch = Scratch::new("wcat-counters");
    let server = Server::canned(ok("x", ""));
    let page = Server::canned(ok("samovar_requests_total 7\n", "Content-Type: text/plain\r\n"));
    let [config, script, distribution] = five(&scratch, 2);
    let (file, log, report) =
        (scratch.file("counters.cfg"), scratch.file("log.xml"), scratch.file("run.json"));
    std::fs::write(&file, "# of the host\nProcessor(_Total)\\% Processor Time\n").unwrap();
    let (address, metrics) = (server.address.to_string(), page.url("/metrics"));
    let controller = Controller::start(&[
        "-c",
        &config,
        "-s",
        &script,
        "-d",
        &distribution,
        "-a",
        &address,
        "-p",
        &file,
        "-x",
        &log,
        "-json",
        &report,
        "-metrics",
        &metrics,
        "-listen",
        "127.0.0.1:0",
        "-u",
        "3s",
    ]);
    let (one, two) = (controller.client(&[]), controller.client(&[]));
    for client in [one, two] {
        assert!(client.wait_with_output().unwrap().status.success());
    }
    let (output, said) = controller.end();
    assert!(output.status.success(), "{said}");
    let run = json(&report);
    let series = run["counters"]["series"].as_array().unwrap();
    assert!(series.iter().any(|one| one["name"] == "host cpu"), "{run}");
    assert!(series.iter().any(|one| one["source"] == metrics.as_str()), "{run}");
    // One of the two machines reads the page, each second once.
    assert!((2..=6).contains(&page.seen()), "{}", page.seen());
    let log = std::fs::read_to_string(&log).unwrap();
    let log: String = log.split_whitespace().collect();
    assert!(log.contains("<Object>Processor</Object><Instance>_Total</Instance><Name>%ProcessorTime</Name>"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("  Processor(_Total)\\% Processor Time\n"), "{text}");
}

#[test]
fn who_does_not_know_the_token_is_sent_away_and_the_run_goes_on() {
    let scratch = Scratch::new("wcat-token");
    let server = Server::canned(ok("x", ""));
    let [config, script, distribution] = five(&scratch, 1);
    let address = server.address.to_string();
    let controller = Controller::start(&[
        "-c",
        &config,
        "-s",
        &script,
        "-d",
        &distribution,
        "-a",
        &address,
        "-listen",
        "127.0.0.1:0",
    ]);
    let wrong = controller.client(&["-token", "guess"]).wait_with_output().unwrap();
    assert!(!wrong.status.success());
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("the token is wrong"), "{said}");
    // A stranger who speaks something else, and one who says nothing and leaves.
    let mut stranger = TcpStream::connect(("127.0.0.1", controller.port)).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stranger.read_to_end(&mut answer);
    drop(TcpStream::connect(("127.0.0.1", controller.port)).unwrap());
    assert!(controller.client(&[]).wait_with_output().unwrap().status.success());
    let (output, said) = controller.end();
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("was sent away").count(), 3, "{said}");
}

#[test]
fn a_client_that_is_lost_makes_the_run_invalid() {
    let scratch = Scratch::new("wcat-lost");
    let server = Server::canned(ok("x", ""));
    let [config, script, distribution] = five(&scratch, 2);
    let address = server.address.to_string();
    let controller = Controller::start(&[
        "-c",
        &config,
        "-s",
        &script,
        "-d",
        &distribution,
        "-a",
        &address,
        "-u",
        "2s",
        "-listen",
        "127.0.0.1:0",
    ]);
    let mut lost = controller.client(&[]);
    let good = controller.client(&[]);
    while server.seen() < 10 {
        thread::sleep(Duration::from_millis(10));
    }
    lost.kill().unwrap();
    lost.wait().unwrap();
    assert!(good.wait_with_output().unwrap().status.success());
    let (output, said) = controller.end();
    assert_eq!(output.status.code(), Some(3), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("INVALID") && text.contains("was lost"), "{text}");
}

#[test]
fn a_controller_that_is_lost_stops_its_clients() {
    let scratch = Scratch::new("wcat-orphan");
    let server = Server::canned(ok("x", ""));
    let [config, script, distribution] = five(&scratch, 1);
    let address = server.address.to_string();
    let mut controller = Controller::start(&[
        "-c",
        &config,
        "-s",
        &script,
        "-d",
        &distribution,
        "-a",
        &address,
        "-u",
        "60s",
        "-listen",
        "127.0.0.1:0",
    ]);
    let client = controller.client(&[]);
    while server.seen() < 10 {
        thread::sleep(Duration::from_millis(10));
    }
    controller.child.kill().unwrap();
    controller.child.wait().unwrap();
    let began = std::time::Instant::now();
    let ended = client.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(!ended.status.success());
}

/// The third seed's scenario and settings, with shorter times; the settings as they come, all commented out.
fn six(scratch: &Scratch) -> [String; 2] {
    let scenario = r#"scenario
{
    name    = "IIS Home Page";
    warmup      = 1;
    duration    = 120;
    cooldown    = 1;
    default
    {
        setheader { name = "Connection"; value = "keep-alive"; }
        setheader { name = "Host"; value = server(); }
        version = HTTP11;
        close = ka;
    }
    transaction
    {
        id = "Default Web Site Homepage";
        weight = 1;
        request { url = "/iisstart.htm"; statuscode = 200; }
        request { url = "/welcome.png"; statuscode = 200; }
        close { method = reset; }
    }
}
"#;
    let settings = "settings\n{\n    clientfile = \"home.ubr\";\n    server = \"localhost\";\n    //clients = 10;\n    //virtualclients = 100;\n}\n";
    [("home.ubr", scenario), ("settings.ubr", settings)].map(|(name, text)| {
        let path = scratch.file(name);
        std::fs::write(&path, text).unwrap();
        path
    })
}

#[test]
fn the_third_seeds_measurement_all_at_once() {
    let scratch = Scratch::new("wcat-six");
    let server = Server::canned(ok("x", ""));
    let [scenario, settings] = six(&scratch);
    let (report, log) = (scratch.file("report.json"), scratch.file("log.xml"));
    let address = server.address.to_string();
    let run = output(&[
        "wcat.wsf",
        "-terminate",
        "-run",
        "-clients",
        "localhost",
        "-t",
        &scenario,
        "-f",
        &settings,
        "-s",
        &address,
        "-singleip",
        "–x",
        "-o",
        &log,
        "-w",
        "0",
        "-u",
        "1",
        "-n",
        "0",
        "-json",
        &report,
    ]);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{said}");
    assert!(said.contains("taken as `-x`"), "{said}");
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("Default Web Site Homepage") || text.contains("IIS Home Page"), "{text}");
    let run = json(&report);
    // Ten clients where none is named; each round asks twice over a connection that then ends.
    assert_eq!(number(&run, "/asked/connections"), 10.0);
    let (requests, made) = (number(&run, "/all_requests"), number(&run, "/connections/made"));
    assert!((requests / made - 2.0).abs() < 0.2, "{requests} over {made}");
    assert_eq!(requests as u64, server.seen());
    assert!(number(&run, "/rounds_done") > 10.0);
    let rows = run["rows"].as_array().unwrap();
    assert_eq!((rows.len(), rows[1]["name"].as_str()), (2, Some("/welcome.png")));
}

#[test]
fn what_a_scenario_does_is_seen_at_the_server() {
    let scratch = Scratch::new("wcat-steps");
    let server = Server::start(|stream, seen| {
        let path = seen.path();
        let answer = match path.as_str() {
            "/login" => ok("in", "Set-Cookie: id=7; Path=/\r\n"),
            "/away" => "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "/wrong" => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
            _ => ok("x", ""),
        };
        stream.write_all(answer.as_bytes()).unwrap();
        After::Keep
    });
    let scenario = scratch.file("steps.ubr");
    std::fs::write(
        &scenario,
        r#"scenario { name = "steps"; duration = 1;
            default { version = HTTP11; close = ka; }
            transaction { id = "t";
                request { url = "/login"; verb = POST; postdata = "user=" + vclientcount(); }
                request { url = "/in?n=" + rand("3", "3"); addheader { name = "X-A"; value = "1"; } }
                sleep { delay = 20; }
                request { url = "/away"; redirect = true; }
                branch { goto { id = "end"; weight = 1; } }
                request { url = "/never"; }
                request { id = "end"; url = "/wrong"; }
            } }"#,
    )
    .unwrap();
    let report = scratch.file("report.json");
    let run = output(&[
        "run",
        &scenario,
        "-s",
        &server.address.to_string(),
        "-c",
        "1",
        "-d",
        "1s",
        "--json",
        &report,
    ]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let paths = server.paths.lock().unwrap().clone();
    let round: Vec<&str> = paths.iter().take(5).map(String::as_str).collect();
    assert_eq!(round, ["/login", "/in?n=3", "/away", "/there", "/wrong"]);
    assert!(!paths.iter().any(|path| path == "/never"));
    let run = json(&report);
    let kinds = &run["errors"]["kinds"];
    let wrong = paths.iter().filter(|path| *path == "/wrong").count() as f64;
    let status = kinds["status"].as_f64().unwrap();
    assert!((status - wrong).abs() <= 1.0, "{status} of {wrong}: {run}");
    // Every round has an error in it, so none is right.
    assert_eq!(number(&run, "/rounds_done"), 0.0);
    // 20 ms of each round are its pause.
    assert!(paths.len() as f64 / 5.0 < 51.0, "{}", paths.len());
    assert_eq!(number(&run, "/connections/made"), 1.0);
}

#[test]
fn nothing_is_sent_of_a_scenario_that_is_wrong() {
    let scratch = Scratch::new("wcat-wrong");
    let server = Server::canned(ok("x", ""));
    let address = server.address.to_string();
    let scenario = scratch.file("wrong.ubr");
    for (text, say) in [
        (
            "scenario { transaction { request { url = \"/\"; verb = GET; colour = \"red\"; } } }",
            "has no `colour`",
        ),
        ("scenario { transaction { request { url = \"/\"; authentication = NTLM; } } }", "NTLM"),
        ("scenario { transaction { request { url = \"/\"; postdata = <none.txt>; } } }", "none.txt"),
        ("scenario {", ""),
    ] {
        std::fs::write(&scenario, text).unwrap();
        for args in [
            vec!["run", &scenario, "-s", &address],
            vec!["wcat.wsf", "-run", "-t", &scenario, "-s", &address],
        ] {
            let run = output(&args);
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            assert_eq!(run.status.code(), Some(1), "{said}");
            assert!(said.contains(say), "{said}");
        }
    }
    assert_eq!(server.seen(), 0);
}

#[test]
fn the_second_seeds_command_line_leaves_its_log_where_the_original_did() {
    let scratch = Scratch::new("wcat-log");
    let server = Server::canned(ok("x", ""));
    let scenario = "scenario { name = \"n\"; warmup = 0; duration = 1; cooldown = 0;\n\
        transaction { id = \"t\"; request { url = \"/\"; statuscode = 200; } } }";
    std::fs::write(scratch.file("home.ubr"), scenario).unwrap();
    std::fs::write(scratch.file("settings.ubr"), "settings { clients = 1; virtualclients = 2; }").unwrap();
    let run = |more: &[&str]| {
        let address = server.address.to_string();
        let output = Command::new(env!("CARGO_BIN_EXE_thirst"))
            .current_dir(&scratch.0)
            .args(["wcat.wsf", "-terminate", "-run", "-clients", "localhost", "-t", ".\\home.ubr", "-f"])
            .args([".\\settings.ubr", "-s", &address, "-singleip"])
            .args(more)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    };
    run(&[]);
    assert!(!scratch.0.join("log.xml").exists(), "nobody asked for it");
    let said = run(&["-x"]);
    assert!(said.contains("the log goes to log.xml"), "{said}");
    let log = std::fs::read_to_string(scratch.file("log.xml")).unwrap();
    assert!(log.contains("<section name=\"summary\">"), "{log}");
    run(&["-x", "-o", "other.xml"]);
    assert!(std::fs::read_to_string(scratch.file("other.xml")).unwrap().contains("<report"));
}

#[test]
fn the_names_are_those_of_the_articles_in_any_case() {
    let scratch = Scratch::new("wcat-link");
    let server = Server::canned(ok("x", ""));
    let bin = scratch.file("bin");
    let linked = output(&["link", &bin]);
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    // A second time, they are replaced.
    assert!(output(&["link", &bin]).status.success());
    let scenario = "scenario { name = \"n\"; warmup = 0; duration = 1; cooldown = 0;\n\
        transaction { id = \"t\"; request { url = \"/\"; statuscode = 200; } } }";
    std::fs::create_dir_all(scratch.file("samples/scripts")).unwrap();
    std::fs::write(scratch.file("samples/scripts/home.ubr"), scenario).unwrap();
    let address = server.address.to_string();
    let wcat = |name: &str, file: &str| {
        let mut command = Command::new(format!("{bin}/{name}"));
        command.current_dir(&scratch.0).stdin(Stdio::null());
        let made = command.args(["-run", "-t", file, "-s", &address, "-quiet"]).output().unwrap();
        (made.status.code(), String::from_utf8_lossy(&made.stderr).into_owned())
    };
    // The third seed's own spelling, and its path as a shell leaves it in quotes.
    assert_eq!(wcat("Wcat.wsf", ".\\samples\\scripts\\home.ubr"), (Some(0), String::new()));
    for tool in ["wcctl", "wcclient", "wcclient.exe", "wcat.wsf"] {
        let help = Command::new(format!("{bin}/{tool}")).arg("-?").output().unwrap();
        let text = String::from_utf8_lossy(&help.stdout).into_owned();
        assert!(text.starts_with(tool.trim_end_matches(".exe")), "{tool}: {text}");
    }
    for word in ["Wcctl", "WCAT.WSF", "WcClient.exe"] {
        let help = String::from_utf8_lossy(&output(&[word, "-?"]).stdout).into_owned();
        assert!(help.starts_with(word.to_ascii_lowercase().trim_end_matches(".exe")), "{word}: {help}");
    }
    // And without quotes: what the shell took is said, with what may be meant.
    let (code, said) = wcat("Wcat.wsf", ".samplesscriptshome.ubr");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot read `.samplesscriptshome.ubr`"), "{said}");
    assert!(said.contains("takes backslashes away: if ./samples/scripts/home.ubr is meant"), "{said}");
    let (_, said) = wcat("Wcat.wsf", "C:wcathome.ubr");
    assert!(said.contains("the shell took them away: write slashes, or put it in quotes"), "{said}");
    let (_, said) = wcat("Wcat.wsf", "none.ubr");
    assert!(said.contains("cannot read `none.ubr`") && !said.contains("shell"), "{said}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_thirst"));
    let run = command.current_dir(&scratch.0).args(["run", ".samplesscriptshome.ubr"]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.contains("if ./samples/scripts/home.ubr is meant"), "{said}");
}

#[test]
fn no_warm_up_is_none_though_the_scenario_has_one() {
    let server = Server::start(|stream, _| {
        stream.write_all(ok("x", "").as_bytes()).unwrap();
        After::Keep
    });
    let scratch = Scratch::new("no-warm-up");
    let path = scratch.file("home.ubr");
    let text = "scenario { name = \"s\"; warmup = 1; duration = 30; cooldown = 1; \
                transaction { id = \"t\"; request { url = \"/\"; statuscode = 200; } } }\n";
    std::fs::write(&path, text).unwrap();
    let address = server.url("").replace("http://", "");
    let times = |flags: &[&str]| {
        let (json, _) =
            common::run(&[&[path.as_str(), "-s", &address, "-c", "1", "-d", "200ms"], flags].concat());
        (number(&json, "/asked/warmup_s"), number(&json, "/asked/cooldown_s"))
    };
    assert_eq!(times(&["--warmup", "0s", "--cooldown", "0s"]), (0.0, 0.0));
    assert_eq!(times(&[]), (1.0, 1.0));
}
