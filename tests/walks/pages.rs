//! What stands in README's tour and on the pages of docs/ to be typed is typed: every ```sh block, in order, in one shell.
//!
//! Ports are exchanged for free ones and programs are those under test; building and installing are left out. Blocks with
//! another word than `sh` are shown, not run. Not here: whether what the pages say of the output is so; where it matters
//! the blocks look themselves (`grep -q`).

use samovar_tests::root;
use samovar_tests::server::{Folder, program};
use std::net::TcpListener;
use std::process::Command;

/// The ports that pages use; each is exchanged for a free one.
const PORTS: [&str; 6] = ["8080", "9900", "9083", "8090", "8081", "3000"];

/// A text with other ports. All are taken out before any is put in: a free port may hold the digits of another.
fn exchanged(text: &str, ports: &[String]) -> String {
    let mut text = text.to_owned();
    for (at, from) in PORTS.iter().enumerate() {
        text = text.replace(from, &format!("\u{1}{at}\u{1}"));
    }
    for (at, to) in ports.iter().enumerate() {
        text = text.replace(&format!("\u{1}{at}\u{1}"), to);
    }
    text
}

/// Runs a page to its end; `--nocapture` shows what it said.
fn follow(page: &str) {
    follow_text(page, &std::fs::read_to_string(root().join("docs").join(page)).unwrap(), 400);
}

/// Runs what is to be typed of a text, within so many seconds; nothing may be left running.
fn follow_text(page: &str, text: &str, patience_s: u32) {
    let mut script = String::from("set -euo pipefail\n");
    let mut in_shell = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_shell = line == "```sh";
        } else if in_shell && !line.starts_with("cargo build") && !line.starts_with("export PATH=") {
            script.push_str(line);
            script.push('\n');
        }
    }
    assert!(script.lines().count() > 8, "{page} has nothing to type:\n{script}");
    // Held until all are chosen, so that they differ.
    let taken: Vec<TcpListener> = PORTS.iter().map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<String> = taken.iter().map(|t| t.local_addr().unwrap().port().to_string()).collect();
    drop(taken);
    let folder = Folder::new();
    script = exchanged(&script, &ports);
    // The examples and pages are what is walked through: a copy of them, with the same ports.
    for part in ["examples", "docs"] {
        let copied = Command::new("cp").arg("-r").arg(root().join(part)).arg(folder.path(part)).status();
        assert!(copied.unwrap().success());
    }
    for file in ["gallery/samovar.toml", "gallery/php-fpm.conf", "slow-service/samovar.toml"] {
        let path = folder.path("examples").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, exchanged(&text, &ports)).unwrap();
    }
    let _ = std::fs::remove_dir_all(folder.path("examples/gallery/site/pictures"));
    // The admin address of commands is the default one on the page.
    let programs = program("samovar").parent().unwrap().display().to_string();
    let (listen, admin, application) = (&ports[0], &ports[1], &ports[5]);
    let shim = folder.path("bin");
    std::fs::create_dir_all(&shim).unwrap();
    std::fs::write(
        shim.join("samovar"),
        format!(
            "#!/bin/bash\n\
             case $1 in\n\
             serve)\n\
             [[ \" $* \" == *' --listen '* ]] || set -- \"$@\" --listen 127.0.0.1:{listen}\n\
             [[ \" $* \" == *' --admin '* ]] || set -- \"$@\" --admin 127.0.0.1:{admin}\n\
             exec {programs}/samovar \"$@\" ;;\n\
             init) {programs}/samovar \"$@\" | sed s/3000/{application}/ ;;\n\
             check|import|schema) exec {programs}/samovar \"$@\" ;;\n\
             *) exec {programs}/samovar \"$@\" --admin 127.0.0.1:{admin} ;;\n\
             esac\n"
        ),
    )
    .unwrap();
    // Measured shortly; a verdict of INVALID (3) says only that the machine was busy.
    std::fs::write(
        shim.join("thirst"),
        format!("#!/bin/bash\n{programs}/thirst \"${{@/#10s/1s}}\" || [[ $? == 3 ]]\n"),
    )
    .unwrap();
    for name in ["samovar", "thirst"] {
        let _ = Command::new("chmod").arg("+x").arg(shim.join(name)).status();
    }
    let path = format!("{}:{programs}:{}", shim.display(), std::env::var("PATH").unwrap());
    // What the page started it has stopped.
    script.push_str("for wait in $(seq 100); do [[ -n $(jobs -rp) ]] || break; sleep 0.1; done\n");
    script.push_str("[[ -z $(jobs -rp) ]] || { echo 'left running:'; jobs -r; exit 1; }\n");
    let script = format!(
        "trap 'status=$?; kill $(jobs -p) 2>/dev/null || true; wait; exit $status' EXIT\nset -x\n{script}"
    );
    let file = folder.write("page.sh", script);
    let output = Command::new("timeout")
        .args(["-k", "5", &patience_s.to_string(), "bash"])
        .arg(&file)
        .current_dir(&folder.0)
        .env("PATH", path)
        .env("TMPDIR", &folder.0)
        .output()
        .unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{page}: {}\n{said}", output.status);
    println!("{said}");
}

#[test]
fn php() {
    follow("php.md");
}

#[test]
fn gallery() {
    follow("gallery.md");
}

#[test]
fn slow_service() {
    follow("slow-service.md");
}

#[test]
fn upstreams() {
    follow("upstreams.md");
}

#[test]
fn import() {
    follow("import.md");
}

#[test]
fn watching() {
    follow("watching.md");
}

/// Each line as it stands, in order: none waits for ever, names a page that is not there, or leaves a server behind.
#[test]
fn the_tour_of_the_readme() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let tour = text.split("\n## ").find(|section| section.starts_with("A short tour")).unwrap();
    follow_text("README.md", tour, 120);
}

/// Pages that are not run here stop what they start, too.
#[test]
fn every_page_stops_its_servers() {
    for path in samovar_tests::files("docs", "md") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut in_shell = false;
        let typed: Vec<&str> = text
            .lines()
            .filter(|line| {
                if line.starts_with("```") {
                    in_shell = *line == "```sh";
                }
                in_shell
            })
            .map(|line| line.split(" #").next().unwrap_or(line).trim_end())
            .collect();
        let last_start = typed.iter().rposition(|line| line.ends_with(" &"));
        let stops = |line: &&str| line.starts_with("kill ") || *line == "wait";
        let last_stop = typed.iter().rposition(stops);
        assert!(last_start <= last_stop, "{}: what is started is not stopped", path.display());
    }
}
