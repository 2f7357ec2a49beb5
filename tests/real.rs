//! Origins that others wrote, started on free ports of loopback: what is believed of an origin is tried on real ones.
//!
//! Not here: origins that do as they are told (`origin`, `raw`), php-fpm (`php`).

use crate::server::{Folder, soon};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running origin; killed when dropped.
pub struct Real {
    child: Child,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// What it was started with, if that is on disk.
    _folder: Option<Folder>,
}

impl Real {
    /// As `python3 -m http.server --protocol HTTP/1.1` over a folder, but that its small writes leave at once. It does not
    /// read a request's content.
    pub fn http_server(folder: &Path) -> Real {
        const PROGRAM: &str = "import http.server as h\nH = h.SimpleHTTPRequestHandler\nH.disable_nagle_algorithm = True\n\
                               h.test(H, h.ThreadingHTTPServer, 'HTTP/1.1', 0, '127.0.0.1')";
        let mut child = Command::new("python3")
            .args(["-u", "-c", PROGRAM])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 is needed: `bash scripts/need.sh python3`");
        // "Serving HTTP on 127.0.0.1 port 41234 (http://127.0.0.1:41234/) ..."
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.split(' ').skip_while(|word| *word != "port").nth(1).and_then(|p| p.parse().ok());
        let port = port.unwrap_or_else(|| panic!("http.server began with {line:?}"));
        Real { child, port, _folder: None }
    }

    /// The same, with a folder that goes when it does.
    pub fn with(mut self, folder: Folder) -> Real {
        self._folder = Some(folder);
        self
    }

    /// Any program that is told its port; ready when it accepts connections.
    pub fn run(mut command: Command, port: u16, folder: Option<Folder>) -> Real {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        soon(&format!("{command:?} accepts connections"), || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("{command:?} ended with {status}");
            }
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Real { child, port, _folder: folder }
    }

    /// A script that takes these arguments and prints the port it listens on; `None` if it ends without.
    pub fn script(program: &str, args: &[&str], name: &str, text: &str, more: &[&Path]) -> Option<Real> {
        let folder = Folder::new();
        let file = folder.write(name, text);
        let mut command = Command::new(program);
        command.args(args).arg(file).args(more);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
        let port = line.trim().parse().ok()?;
        Some(Real { child, port, _folder: Some(folder) })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on now, for programs that cannot be asked which one the system gave them.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
