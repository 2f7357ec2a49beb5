//! A running `samovar`, and its command line.

use crate::client::Client;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Where cargo put the programs: beside this test's own folder.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join(name);
    assert!(path.is_file(), "{} is not built; run `cargo build --workspace --bins` first", path.display());
    path
}

/// A folder of a test's own, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder.
    pub fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("samovar-test-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file below it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A path below it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    /// `127.0.0.1:PORT` of the first listener.
    pub address: String,
    /// All listeners as printed.
    pub listen: Vec<String>,
    /// The admin address.
    pub admin: String,
    folder: Folder,
    /// Where its configuration is, if it has one; removed with the server.
    config: Option<Folder>,
}

impl Server {
    /// `samovar serve ARGS` on free ports.
    pub fn start(args: &[&str]) -> Server {
        Server::start_with(args, &["--listen", "127.0.0.1:0"])
    }

    /// The same with listeners of one's own.
    pub fn start_with(args: &[&str], listen: &[&str]) -> Server {
        let folder = Folder::new();
        let stderr = std::fs::File::create(folder.path("stderr")).unwrap();
        Server::launch(args, listen, folder, stderr.into())
    }

    /// The same as [`Server::start`], with a standard error of one's own.
    pub fn start_with_stderr(args: &[&str], stderr: impl Into<Stdio>) -> Server {
        Server::launch(args, &["--listen", "127.0.0.1:0"], Folder::new(), stderr.into())
    }

    fn launch(args: &[&str], listen: &[&str], folder: Folder, stderr: Stdio) -> Server {
        let ready = folder.path("ready.json");
        let mut child = Command::new(program("samovar"))
            .arg("serve")
            .args(crate::tiers::arguments(args, &folder.0))
            .args(listen)
            .args(["--admin", "127.0.0.1:0", "--ready-file"])
            .arg(&ready)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while !ready.is_file() {
            let said = || std::fs::read_to_string(folder.path("stderr")).unwrap_or_default();
            if let Some(status) = child.try_wait().unwrap() {
                panic!("samovar ended with {status} before it was ready:\n{}", said());
            }
            if Instant::now() > until {
                let _ = child.kill();
                panic!("samovar was not ready within 30 s:\n{}", said());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = std::fs::read_to_string(&ready).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let listen: Vec<String> =
            value["listen"].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_string()).collect();
        let address = listen[0].trim_start_matches("http://").to_string();
        let admin = value["admin"].as_str().unwrap_or_default().to_string();
        Server { child, address, listen, admin, folder, config: None }
    }

    /// In front of an origin.
    pub fn before(origin: &str, args: &[&str]) -> Server {
        let mut all = vec!["--origin", origin];
        all.extend_from_slice(args);
        Server::start(&all)
    }

    /// A configuration's text; `[server]` keys come from the command line.
    pub fn configured(text: &str, args: &[&str]) -> (Server, PathBuf) {
        let folder = Folder::new();
        let path = folder.write("samovar.toml", text);
        let mut all = vec!["--config", path.to_str().unwrap()];
        all.extend_from_slice(args);
        let mut server = Server::start(&all);
        let kept = path.clone();
        server.config = Some(folder);
        (server, kept)
    }

    /// A connection.
    pub fn connect(&self) -> Client {
        Client::connect(&self.address)
    }

    /// One GET on a connection of its own.
    pub fn get(&self, path: &str, fields: &[(&str, &str)]) -> crate::client::Answer {
        self.connect().get(path, fields)
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Runs a client command against it.
    pub fn ask(&self, args: &[&str]) -> Output {
        let mut all: Vec<&str> = args.to_vec();
        all.extend_from_slice(&["--admin", &self.admin]);
        run(&all)
    }

    /// The same; it must succeed, and its standard output comes back.
    pub fn tell(&self, args: &[&str]) -> String {
        let output = self.ask(args);
        assert!(output.status.success(), "samovar {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let mut all: Vec<&str> = args.to_vec();
        all.push("--json");
        serde_json::from_str(&self.tell(&all)).unwrap()
    }

    /// What it said on standard error so far.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path("stderr")).unwrap_or_default()
    }

    /// Sends a signal by its number.
    pub fn signal(&self, name: &str) {
        let status =
            Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end; the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "samovar did not end:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- samovar said ---\n{}", self.said());
        }
    }
}

/// Runs `samovar ARGS` to its end.
pub fn run(args: &[&str]) -> Output {
    Command::new(program("samovar")).args(args).stdin(Stdio::null()).output().unwrap()
}

/// Asks again until `check` gives something, for at most ten seconds: for what happens soon, not at once.
pub fn soon<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(Instant::now() < until, "not within 10 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
