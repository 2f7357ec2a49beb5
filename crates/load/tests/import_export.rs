//! `thirst import` and `thirst export` at the command line, with the files of those who wrote about WCAT.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at its first surprise"
)]

mod common;

use common::{Scratch, output};
use std::fs;
use std::path::Path;

/// What was said on stdout and stderr, and the exit code.
fn thirst(args: &[&str]) -> (String, String, i32) {
    let output = output(args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

/// What is said on stdout by a command that has nothing to complain of.
fn told(args: &[&str]) -> String {
    let (told, wrong, code) = thirst(args);
    assert_eq!((wrong.as_str(), code), ("", 0), "{args:?}");
    told
}

/// Files in a folder of their own.
fn files(name: &str, files: &[(&str, &str)]) -> (Scratch, Vec<String>) {
    let scratch = Scratch::new(name);
    let paths: Vec<String> = files.iter().map(|(name, _)| scratch.file(name)).collect();
    for (path, (_, text)) in paths.iter().zip(files) {
        fs::write(path, text).unwrap();
    }
    (scratch, paths)
}

/// `[words, files, more]` in one.
fn line<'a>(words: &[&'a str], files: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    words.iter().copied().chain(files.iter().map(String::as_str)).chain(more.iter().copied()).collect()
}

// A walkthrough of IIS 7 measures two pictures with these.
const SCRIPT: &str = r#"    NEW TRANSACTION
        classId = 1
        NEW REQUEST HTTP
            Verb = "GET"
            URL = "http://localhost/pictures/image.JPG"
    NEW TRANSACTION
        classId = 2
        NEW REQUEST HTTP
            Verb = "GET"
            URL = "http://localhost/pictures/image.JPG"
"#;
const DISTRIBUTION: &str = "    1 50\n    2 50\n";
const CONFIG: &str = "    Warmuptime 5s\n    Duration 30s\n    CooldownTime 5s\n    NumClientMachines 1\n    NumClientThreads 20\n";

// A picture gallery on IIS 7: three of its pages, the last with the quote that a blog made of it.
const HOME: &str = r#"scenario
{
name = "QDIG"; warmup = 30; duration = 30; cooldown = 10;
default
{
     setheader { name = "Connection"; value = "keep-alive"; }
     setheader { name = "Host"; value = server(); }
     version = HTTP11;
     close = ka;
}
transaction
{
id = "QDIG";
weight = 1;
request
{
     url         = "/index.php?Qwd=./Wallpaper&Qiv=none&Qis=M";
     statuscode  = 200;
}

request
{
     url         = "/index.php?Qwd=./Wallpaper&Qif=img7.jpg&Qiv=none&Qis=M";
     statuscode  = 200;
}

request
{
     url         = "/index.php?Qwd=./Wallpaper&Qif=img8.jpg&Qiv=none&Qis=M”;
     statuscode  = 200;
}
}
}
"#;
const SETTINGS: &str = "settings\n{\nclients        = 10;\nvirtualclients = 100;\ncounters { interval = 10; host = \
                        \"web\"; counter = \"Processor(_Total)\\\\% Processor Time\"; }\n}\n";

#[test]
fn the_three_files_of_wcat_5_are_a_plan_and_again_three_files() {
    let (scratch, paths) = files(
        "import-5",
        &[("script.cfg", SCRIPT), ("distribution.cfg", DISTRIBUTION), ("config.cfg", CONFIG)],
    );
    let plan = scratch.file("plan.toml");
    assert_eq!(told(&line(&["import"], &paths, &["-o", &plan])), "");
    assert_eq!(
        fs::read_to_string(&plan).unwrap(),
        r#"[run]
machines = 1
clients = 20
warmup = "5s"
duration = "30s"
cooldown = "5s"

[request]
connection = "close"

[[round]]
name = "class 1"
weight = 50
steps = [
  "http://localhost/pictures/image.JPG",
]

[[round]]
name = "class 2"
weight = 50
steps = [
  "http://localhost/pictures/image.JPG",
]
"#
    );
    let before = told(&line(&["check"], &paths, &[]));
    assert!(before.contains("20 virtual clients: 1 × 20\n"), "{before}");
    assert_eq!(told(&["check", &plan]), before);

    let name = scratch.file("again");
    let said = told(&["export", &plan, "--to", "cfg", "--strict", "-o", &name]);
    let again = ["script", "distribution", "config"].map(|part| format!("{name}.{part}.cfg"));
    assert_eq!(said, format!("`{}`, `{}`, `{}`\n", again[0], again[1], again[2]));
    assert_eq!(told(&line(&["check"], &again, &[])), before);
    assert_eq!(fs::read_to_string(&again[1]).unwrap(), "1 50\n2 50\n");
}

#[test]
fn a_scenario_of_wcat_6_3_is_a_plan_and_again_a_scenario() {
    let (scratch, paths) = files("import-63", &[("home.ubr", HOME), ("settings.ubr", SETTINGS)]);
    let (before, warned, _) = thirst(&line(&["check"], &paths, &[]));
    let plan = scratch.file("plan.toml");
    let (said, wrong, code) = thirst(&line(&["import"], &paths, &["-o", &plan]));
    assert_eq!((said.as_str(), code), ("", 0));
    assert_eq!(wrong, warned);
    assert!(wrong.contains("home.ubr:29:75: warning: a typographic quote ends the string"), "{wrong}");
    assert_eq!(
        fs::read_to_string(&plan).unwrap(),
        r#"[run]
name = "QDIG"
machines = 10
clients = 100
warmup = "30s"
duration = "30s"
cooldown = "10s"

[[run.counters]]
host = "web"
every = "10s"
paths = 'Processor(_Total)\% Processor Time'

[request]
expect = 200
cookies = true
header = ["Connection: keep-alive", "Host: {server}"]

[[round]]
name = "QDIG"
steps = [
  "/index.php?Qwd=./Wallpaper&Qiv=none&Qis=M",
  "/index.php?Qwd=./Wallpaper&Qif=img7.jpg&Qiv=none&Qis=M",
  "/index.php?Qwd=./Wallpaper&Qif=img8.jpg&Qiv=none&Qis=M",
]
"#
    );
    assert_eq!(told(&["check", &plan]), before);

    let name = scratch.file("again.ubr");
    let settings = scratch.file("again.settings.ubr");
    let said = told(&["export", &plan, "--to", "ubr", "--strict", "-o", &name]);
    assert_eq!(said, format!("`{name}`, `{settings}`\n"));
    assert_eq!(told(&["check", &name, &settings]), before);
    // One file may hold both.
    let both = scratch.file("both.ubr");
    fs::write(&both, told(&["export", &plan, "--to", "ubr"])).unwrap();
    assert_eq!(told(&["check", &both]), before);
    assert_eq!(told(&["export", &name, &settings, "--to", "toml"]), fs::read_to_string(&plan).unwrap());
}

#[test]
fn what_is_lost_is_said_and_with_strict_nothing_is_written() {
    let (scratch, paths) = files("export-lost", &[("home.ubr", HOME), ("settings.ubr", SETTINGS)]);
    let fixed = HOME.replace('”', "\"");
    fs::write(&paths[0], fixed).unwrap();
    let name = scratch.file("list");
    let (said, wrong, code) = thirst(&line(&["export"], &paths, &["--to", "urls", "--strict", "-o", &name]));
    assert_eq!((said.as_str(), code), ("", 1));
    assert!(wrong.starts_with("thirst: nothing was written; a list of URLs cannot say:\n  "), "{wrong}");
    assert!(wrong.contains("\n  header fields: `/index.php?Qwd=./Wallpaper&Qiv=none&Qis=M`"), "{wrong}");
    assert!(!Path::new(&name).exists());
    let (said, lax, code) = thirst(&line(&["export"], &paths, &["--to", "urls", "-o", &name]));
    assert_eq!((said, code), (format!("`{name}`\n"), 0));
    assert_eq!(format!("thirst: nothing was written; {lax}"), wrong);
    let list = "/index.php?Qwd=./Wallpaper&Qiv=none&Qis=M\n/index.php?Qwd=./Wallpaper&Qif=img7.jpg&Qiv=none&Qis=M\n\
                /index.php?Qwd=./Wallpaper&Qif=img8.jpg&Qiv=none&Qis=M\n";
    assert_eq!(fs::read_to_string(&name).unwrap(), list);
    let plan = "[[round]]\nsteps = [\n  \"/index.php?Qwd=./Wallpaper&Qiv=none&Qis=M\",\n";
    assert!(told(&["import", &name]).starts_with(plan));
    // All of its requests are another each time: there is no line to write.
    fs::write(&name, "[[round]]\nsteps = \"/{client}\"\n").unwrap();
    let (said, wrong, code) = thirst(&["export", &name, "--to", "urls"]);
    assert_eq!((said.as_str(), code), ("", 1));
    assert!(
        wrong.ends_with("thirst: nothing was written: a list of URLs can say none of the requests\n"),
        "{wrong}"
    );
}

#[test]
fn what_is_there_already_is_kept() {
    let (scratch, paths) =
        files("export-there", &[("urls", "3\thttp://h:81/a\n1\thttp://h:81/b\n"), ("x.config.cfg", "keep")]);
    let (list, plan, name) = (&paths[0], scratch.file("plan.toml"), scratch.file("x"));
    assert_eq!(told(&["import", list, "-o", &plan]), "");
    let (_, wrong, code) = thirst(&["import", list, "-o", &plan]);
    assert_eq!(
        (wrong, code),
        (format!("thirst: `{plan}` is there already; name another file, or give --force to replace it\n"), 1)
    );
    fs::write(&plan, "x").unwrap();
    assert_eq!(told(&["import", list, "-o", &plan, "--force"]), "");
    assert_eq!(
        fs::read_to_string(&plan).unwrap(),
        "[run]\nserver = \"h:81\"\n\n[[round]]\nname = \"/a\"\nweight = 3\nsteps = [\n  \"/a\",\n]\n\n[[round]]\nname = \
         \"/b\"\nsteps = [\n  \"/b\",\n]\n"
    );
    // One of the three is there: none is written.
    let (_, wrong, code) = thirst(&["export", &plan, "--to", "cfg", "-o", &name]);
    assert_eq!(code, 1);
    assert!(wrong.contains("x.config.cfg` is there already"), "{wrong}");
    assert!(!Path::new(&format!("{name}.script.cfg")).exists());
    let (_, _, code) = thirst(&["export", &plan, "--to", "cfg", "-o", &name, "--force"]);
    assert_eq!((code, fs::read_to_string(&paths[1]).unwrap().as_str()), (0, ""));
}

#[test]
fn what_is_wrong_is_said() {
    let (scratch, paths) =
        files("export-wrong", &[("plan.toml", "[run]\nclients = 10\n[[round]]\nsteps = [\"/{x}\"]\n")]);
    let (said, wrong, code) = thirst(&["check", &paths[0]]);
    assert_eq!((said.as_str(), code), ("", 1));
    let note = format!(
        "{}:4:12: error: there is no placeholder `x`\n 4 | steps = [\"/{{x}}\"]\n   |            ^^^\n",
        paths[0]
    );
    assert!(wrong.starts_with("thirst: nothing would be sent\n") && wrong.contains(&note), "{wrong}");
    let out = scratch.file("out");
    for (args, want) in [
        (&["import", &paths[0], "-o", &out][..], "thirst: nothing was imported\n"),
        (&["export", &paths[0], "--to", "ubr", "-o", &out], "thirst: nothing was exported\n"),
        (&["import", &out], "thirst: nothing was imported\ncannot read"),
    ] {
        let (said, wrong, code) = thirst(args);
        assert_eq!((said.as_str(), code), ("", 1), "{args:?}");
        assert!(wrong.starts_with(want), "{args:?}: {wrong}");
    }
    fs::write(&paths[0], "[[round]]\nsteps = \"/\"\n").unwrap();
    let (_, wrong, code) = thirst(&["export", &paths[0], "--to", "cfg"]);
    assert_eq!(code, 1);
    assert!(wrong.contains("-o NAME"), "{wrong}");
    let (_, wrong, code) = thirst(&["export", &paths[0], "--to", "har"]);
    assert_eq!(code, 1);
    assert!(wrong.contains("ubr, cfg, urls, toml"), "{wrong}");
    let (_, wrong, code) = thirst(&["import", &paths[0], "-o", &scratch.file("no/such/folder")]);
    assert_eq!(code, 1);
    assert!(wrong.contains("cannot write"), "{wrong}");
}
