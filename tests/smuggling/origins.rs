//! The origins of the grid: servers that others wrote, each as it comes, none of which is told to be careful.
//!
//! To a GET each gives the path as the content, so that whoever got another's response can tell. The applications read no
//! content, as most do not unless they want it.

use crate::relay::To;
use samovar_tests::php::Fpm;
use samovar_tests::real::{Real, free_port};
use samovar_tests::server::Folder;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How many paths there are for those who are not the attacker.
pub const PATHS: usize = 16;

/// The names, in the order of the table.
pub const ALL: [&str; 9] =
    ["nginx", "httpd", "node", "gunicorn", "uvicorn", "aiohttp", "waitress", "http.server", "php-fpm"];
/// Those that need nothing but the system's packages, and are quick to start.
pub const PLAIN: [&str; 3] = ["nginx", "node", "http.server"];

/// A running origin.
pub struct Origin {
    /// Its version.
    pub version: String,
    /// Where it listens.
    pub to: To,
    /// The folder that Samovar is given for FastCGI.
    pub scripts: Option<Folder>,
    _held: Held,
}

enum Held {
    Real(#[allow(dead_code, reason = "held for its drop")] Real),
    Fpm(#[allow(dead_code, reason = "held for its drop")] Fpm),
    Program(
        #[allow(dead_code, reason = "held for its drop")] Program,
        #[allow(dead_code, reason = "held")] Folder,
    ),
}

/// A program whose children end with it, if it is asked to stop.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        for _ in 0..100 {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The paths as files.
fn files() -> Folder {
    let folder = Folder::new();
    folder.write("files/evil.txt", "/evil.txt");
    for at in 0..PATHS {
        folder.write(&format!("files/v/{at}.txt"), format!("/v/{at}.txt"));
    }
    folder
}

/// Starts one by its name. `python` is the interpreter that has the packages.
pub fn start(name: &str, python: &str) -> Origin {
    match name {
        "http.server" => {
            let folder = files();
            let real = Real::http_server(&folder.path("files"));
            // Its own files live as long as the process: the folder goes with it.
            let port = real.port;
            let version = told("python3", &["--version"]);
            let real = real.with(folder);
            Origin { version, to: To::Port(port), scripts: None, _held: Held::Real(real) }
        }
        "php-fpm" => {
            let folder = Folder::new();
            let script =
                "<?php header('Cache-Control: max-age=60'); echo strtok($_SERVER['REQUEST_URI'], '?');";
            folder.write("index.php", script);
            let fpm = Fpm::start(&folder.0, 4);
            let to = To::Socket(fpm.socket.clone());
            Origin { version: told("php", &["--version"]), to, scripts: Some(folder), _held: Held::Fpm(fpm) }
        }
        _ => program(name, python),
    }
}

/// Another program may take the port before this one does: then with another port.
fn program(name: &str, python: &str) -> Origin {
    (0..5)
        .find_map(|_| begun(name, python))
        .unwrap_or_else(|| panic!("{name} ended five times before it was ready"))
}

fn begun(name: &str, python: &str) -> Option<Origin> {
    let folder = files();
    let port = free_port();
    let here = |file: &str| folder.path(file).display().to_string();
    let root = here("files");
    let (program, args, version): (&str, Vec<String>, String) = match name {
        "nginx" => {
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map(|kind| format!("{kind}_temp_path {};", here(kind)))
                .join(" ");
            let text = format!(
                "daemon off; master_process off; pid {}; error_log /dev/null; events {{ }}\n\
                 http {{ access_log off; {temporary} keepalive_requests 100000; default_type text/plain;\n\
                 server {{ listen 127.0.0.1:{port}; root {root}; }} }}\n",
                here("pid")
            );
            folder.write("nginx.conf", text);
            let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
            let version = Command::new("nginx").env("PATH", &path).arg("-v").output().unwrap().stderr;
            let version = String::from_utf8_lossy(&version).trim().replace("nginx version: nginx/", "");
            ("nginx", vec!["-p".into(), here(""), "-c".into(), here("nginx.conf")], version)
        }
        "httpd" => {
            let modules = httpd_modules();
            let load = |name: &str| match modules.join(format!("mod_{name}.so")) {
                path if path.is_file() => format!("LoadModule {name}_module {}\n", path.display()),
                _ => String::new(),
            };
            let text = format!(
                "{}ServerRoot {}\nServerName x\nListen 127.0.0.1:{port}\nPidFile {}\nErrorLog /dev/null\n\
                 DocumentRoot {root}\nKeepAlive On\nMaxKeepAliveRequests 0\n<Directory {root}>\nRequire all granted\n\
                 </Directory>\n",
                ["mpm_event", "authz_core", "unixd"].map(load).concat(),
                folder.0.display(),
                here("pid")
            );
            folder.write("httpd.conf", text);
            let program = if Path::new("/usr/sbin/apache2").exists() { "apache2" } else { "httpd" };
            let version = told(program, &["-v"]).replace("Server version: Apache/", "");
            (program, vec!["-X".into(), "-f".into(), here("httpd.conf")], version)
        }
        "node" => {
            let text = "require('http').createServer((q, r) => { r.setHeader('Cache-Control', 'max-age=60');\n\
                        r.end(q.url.split('?')[0]); }).listen(+process.argv[2], '127.0.0.1');";
            folder.write("app.js", text);
            ("node", vec![here("app.js"), port.to_string()], told("node", &["--version"]))
        }
        "gunicorn" | "waitress" => {
            let text = "def app(e, start):\n    body = e['PATH_INFO'].encode()\n    start('200 OK', [('Cache-Control', 'max-age=60'), \
                        ('Content-Length', str(len(body)))])\n    return [body]\n";
            folder.write("app.py", text);
            let args: Vec<String> = match name {
                "gunicorn" => {
                    ["-m", "gunicorn", "-k", "gthread", "--threads", "8", "--keep-alive", "60", "--bind"]
                        .map(String::from)
                        .into_iter()
                        .chain([format!("127.0.0.1:{port}"), "app:app".into()])
                        .collect()
                }
                _ => vec![
                    "-m".into(),
                    "waitress".into(),
                    format!("--listen=127.0.0.1:{port}"),
                    "app:app".into(),
                ],
            };
            (python, args, package(python, name))
        }
        "uvicorn" => {
            let text = "async def app(scope, receive, send):\n    if scope['type'] != 'http': return\n    body = scope['path'].encode()\n    \
                        await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'cache-control', \
                        b'max-age=60'), (b'content-length', str(len(body)).encode())]})\n    await send({'type': \
                        'http.response.body', 'body': body})\n";
            folder.write("app.py", text);
            let args =
                ["-m", "uvicorn", "--timeout-keep-alive", "60", "--port"].map(String::from).into_iter();
            (python, args.chain([port.to_string(), "app:app".into()]).collect(), package(python, name))
        }
        "aiohttp" => {
            let text = format!(
                "from aiohttp import web\nasync def answer(request):\n    return web.Response(text=request.path, \
                 headers={{'Cache-Control': 'max-age=60'}})\napp = web.Application()\n\
                 app.router.add_route('*', '/{{all:.*}}', answer)\nweb.run_app(app, host='127.0.0.1', port={port}, print=None)\n"
            );
            folder.write("app.py", text);
            (python, vec![here("app.py")], package(python, name))
        }
        other => panic!("no origin is named {other}"),
    };
    let mut command = Command::new(program);
    command
        .args(&args)
        .current_dir(&folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.env("PATH", std::env::var("PATH").unwrap_or_default() + ":/usr/sbin");
    let child = command.spawn().unwrap_or_else(|e| panic!("{name}: {e}; `make grid` brings what is missing"));
    let mut program = Program(child);
    // Interpreters take their time to start where nine of them do at once.
    let until = Instant::now() + Duration::from_secs(90);
    let ready = loop {
        if program.0.try_wait().unwrap().is_some() {
            break false;
        }
        if answers(port) {
            break true;
        }
        assert!(Instant::now() < until, "{name} does not answer within 90 s");
        std::thread::sleep(Duration::from_millis(20));
    };
    let held = Held::Program(program, folder);
    ready.then_some(Origin { version, to: To::Port(port), scripts: None, _held: held })
}

/// Whether it is this origin that listens there: a connection alone may be anybody's.
fn answers(port: u16) -> bool {
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let _ = stream.write_all(b"GET /v/0.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut came = Vec::new();
    let _ = stream.read_to_end(&mut came);
    came.starts_with(b"HTTP/1.1 200") && came.ends_with(b"/v/0.txt")
}

fn httpd_modules() -> std::path::PathBuf {
    let known = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules"];
    known.iter().map(std::path::PathBuf::from).find(|path| path.is_dir()).unwrap_or_default()
}

/// The first line that a program says, without its own name.
fn told(program: &str, args: &[&str]) -> String {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let output = Command::new(program).env("PATH", path).args(args).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}; `make grid` brings what is missing"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("Python ")
        .trim_start_matches("PHP ")
        .split(" (")
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn package(python: &str, name: &str) -> String {
    let ask = format!("import importlib.metadata as m; print(m.version('{name}'))");
    told(python, &["-c", &ask])
}
