//! `thirst check`: files of both generations of WCAT, what they ask for, and what is wrong with them.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

mod common;

use common::{Scratch, output};
use std::fs;

/// Writes the files and checks them; what was said, where, and the exit code.
fn check(name: &str, files: &[(&str, &[u8])]) -> (String, String, i32) {
    let scratch = Scratch::new(name);
    let paths: Vec<String> = files.iter().map(|(name, _)| scratch.file(name)).collect();
    for (path, (_, bytes)) in paths.iter().zip(files) {
        fs::write(path, bytes).unwrap();
    }
    let given: Vec<&str> = ["check"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let output = output(&given);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

const SCENARIO: &str = "scenario\n{\n  name = \"Gallery\"; warmup = 30; duration = 120; cooldown = 10;\n  default { version = \
                        HTTP11; close = ka; setheader { name = \"Host\"; value = server(); } }\n  transaction { id = \"a \
                        page\"; weight = 3; request { url = \"/a?b=./c\"; statuscode = 200; } }\n  transaction { id = \
                        \"another\"; request { url = \"/\" + rand(\"1\", \"9\"); } sleep { delay = 50; } }\n}\n";

#[test]
fn a_scenario_with_settings_that_say_nothing() {
    let settings = "settings\n{\n// clients = 10;\n// virtualclients = 100;\n}\n";
    let (told, wrong, code) =
        check("check-63", &[("home.ubr", SCENARIO.as_bytes()), ("settings.ubr", settings.as_bytes())]);
    assert_eq!((wrong.as_str(), code), ("", 0));
    for line in [
        "Gallery: 30 s before, 120 s measured, 10 s after",
        "10 virtual clients: 1 × 10 (not said)",
        "a page (75.0 % of the rounds)",
        "   1  GET /a?b=./c HTTP/1.1, expects 200",
        "        Host: «server»",
        "   1  GET /«1 to 9» HTTP/1.1, expects 200",
        "   2  sleep 50 ms",
    ] {
        assert!(told.lines().any(|told| told == line), "{line}\nis not in\n{told}");
    }
}

#[test]
fn what_a_run_would_refuse_is_refused() {
    let plan =
        "[run]\nserver = \"h\"\n[[round]]\nsteps = [ { get = \"/a\", header = [\"A: b\\r\\nc: d\"] } ]\n";
    let (told, wrong, code) = check("check-break", &[("plan.toml", plan.as_bytes())]);
    assert_eq!((told.as_str(), code), ("", 1));
    assert!(wrong.starts_with("thirst: nothing would be sent\n"), "{wrong}");
    assert!(wrong.contains("'\\r' cannot stand in a header field"), "{wrong}");
    let plan = "[[round]]\nsteps = [ \"/a\\u001b[2J\" ]\n";
    let (_, wrong, code) = check("check-escape", &[("plan.toml", plan.as_bytes())]);
    assert!(code == 1 && wrong.contains("cannot stand in a URL") && !wrong.contains('\u{1b}'), "{wrong}");
    let config = b"Duration 30s\nNumClientMachines 1\nNumClientThreads 20\n";
    let (_, wrong, code) = check("check-nothing", &[("config.cfg", config), ("script.cfg", b"\n \n")]);
    assert!(code == 1 && wrong.contains("script.cfg:1:1: error: there is nothing in it"), "{wrong}");
}

#[test]
fn the_three_files_of_wcat_5_in_any_order_and_encoding() {
    let script = "NEW TRANSACTION\r\n    classId = 1\r\n    NEW REQUEST HTTP\r\n        Verb = \"GET\"\r\n        URL = \
                  \"http://localhost/pictures/a.JPG\"\r\n";
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(script.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let config = b"Warmuptime 5s\nDuration 30s\nCooldownTime 5s\nNumClientMachines 1\nNumClientThreads 20\n";
    let (told, wrong, code) = check("check-5", &[("c", config), ("d", b"1 100\n"), ("s", &wide)]);
    assert_eq!((wrong.as_str(), code), ("", 0));
    assert!(told.contains("5 s before, 30 s measured, 5 s after\n20 virtual clients: 1 × 20\n"), "{told}");
    assert!(told.contains("GET http://localhost/pictures/a.JPG HTTP/1.1, then closes"), "{told}");
}

#[test]
fn what_is_wrong_has_its_place_and_what_is_understood_is_said() {
    let (told, wrong, code) =
        check("check-bad", &[("home.ubr", SCENARIO.replace("statuscode", "statuscod").as_bytes())]);
    assert_eq!((told.as_str(), code), ("", 1));
    assert!(wrong.starts_with("thirst: nothing would be sent\n") && wrong.contains("home.ubr:5:"), "{wrong}");
    assert!(wrong.contains("^^^^^^^^^\n") && wrong.contains("mend: did you mean `statuscode`?"), "{wrong}");
    let pasted = SCENARIO.replace("./c\"; statuscode = 200;", "./c”; statuscode = 200");
    let (told, wrong, code) = check("check-pasted", &[("home.ubr", pasted.as_bytes())]);
    assert_eq!(code, 0, "{wrong}");
    assert!(told.contains("/a?b=./c HTTP/1.1, expects 200"), "{told}");
    assert!(
        wrong.contains("a typographic quote ends the string") && wrong.contains("the semicolon is missing"),
        "{wrong}"
    );
    for (name, files) in [
        ("check-none", &[("settings.ubr", &b"settings { }"[..])][..]),
        ("check-two", &[("a", &b"NEW TRANSACTION\nNEW REQUEST HTTP\nURL = \"/\"\n"[..]); 2]),
        ("check-empty", &[("a", &b""[..])]),
        ("check-noise", &[("a", &[0xffu8, 0xfe, 0x00, 0xd8, 0x7b][..])]),
    ] {
        let (told, wrong, code) = check(name, files);
        assert_eq!((told.as_str(), code), ("", 1), "{name}: {wrong}");
        assert!(wrong.contains("nothing would be sent"), "{name}: {wrong}");
    }
}
