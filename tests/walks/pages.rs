//! What stands on the pages of docs/ to be typed is typed: every ```sh block, in order, in one shell.
//!
//! Ports are exchanged for free ones and programs are those under test; building and installing are left out. Blocks with
//! another word than `sh` are shown, not run. Not here: whether what the pages say of the output is so; where it matters
//! the blocks look themselves (`grep -q`).

use samovar_tests::root;
use samovar_tests::server::{Folder, program};
use std::net::TcpListener;
use std::process::Command;

/// Runs a page to its end; `--nocapture` shows what it said.
fn follow(page: &str) {
    let text = std::fs::read_to_string(root().join("docs").join(page)).unwrap();
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
    let taken: Vec<TcpListener> = (0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<String> = taken.iter().map(|t| t.local_addr().unwrap().port().to_string()).collect();
    drop(taken);
    let folder = Folder::new();
    for (from, to) in ["8080", "9900", "9083", "8090"].iter().zip(&ports) {
        script = script.replace(from, to);
    }
    // The examples are what the page walks through: a copy of them, with the same ports.
    let copied =
        Command::new("cp").arg("-r").arg(root().join("examples")).arg(folder.path("examples")).status();
    assert!(copied.unwrap().success());
    for file in ["gallery/samovar.toml", "gallery/php-fpm.conf", "slow-service/samovar.toml"] {
        let path = folder.path("examples").join(file);
        let mut text = std::fs::read_to_string(&path).unwrap();
        for (from, to) in ["8080", "9900", "9083", "8090"].iter().zip(&ports) {
            text = text.replace(from, to);
        }
        std::fs::write(path, text).unwrap();
    }
    let _ = std::fs::remove_dir_all(folder.path("examples/gallery/site/pictures"));
    // The admin address of commands is the default one on the page.
    let programs = program("samovar").parent().unwrap().display().to_string();
    let admin = &ports[1];
    let shim = folder.path("bin");
    std::fs::create_dir_all(&shim).unwrap();
    std::fs::write(
        shim.join("samovar"),
        format!(
            "#!/bin/bash\ncase $1 in serve|check|init|import|schema) exec {programs}/samovar \"$@\" ;; *) exec {programs}/samovar \"$@\" --admin 127.0.0.1:{admin} ;; esac\n"
        ),
    )
    .unwrap();
    let _ = Command::new("chmod").arg("+x").arg(shim.join("samovar")).status();
    let path = format!("{}:{programs}:{}", shim.display(), std::env::var("PATH").unwrap());
    let script = format!(
        "trap 'status=$?; kill $(jobs -p) 2>/dev/null || true; wait; exit $status' EXIT\nset -x\n{script}"
    );
    let file = folder.write("page.sh", script);
    let output = Command::new("timeout")
        .args(["-k", "5", "400", "bash"])
        .arg(&file)
        .current_dir(&folder.0)
        .env("PATH", path)
        .env("TMPDIR", &folder.0)
        .output()
        .unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "docs/{page}: {}\n{said}", output.status);
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
