//! Real servers of files, each as its own project ships it: for tests of what others make of a request's path.
//!
//! Not here: how they are started and ended (`real`).

use crate::real::{Real, free_port};
use crate::server::Folder;
use std::path::Path;
use std::process::Command;

const NODE: &str = "const fs = require('fs'), http = require('http'), path = require('path');
const server = http.createServer((request, response) => {
  let name;
  try {
    const url = process.argv[3] ? new URL(request.url, 'http://localhost').pathname : request.url.split('?')[0];
    name = path.normalize('/' + decodeURIComponent(url));
  }
  catch { response.statusCode = 400; return response.end(); }
  fs.readFile(process.argv[2] + name, (error, data) => {
    if (error) response.statusCode = 404;
    response.end(data);
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
";

const FLASK: &str = "import logging, sys
from flask import Flask, send_from_directory
from werkzeug.serving import make_server
logging.getLogger('werkzeug').disabled = True
app = Flask(__name__, static_folder=None)
@app.route('/<path:name>')
def serve(name): return send_from_directory(sys.argv[1], name)
server = make_server('127.0.0.1', 0, app, threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
";

const GO: &str = "package main
import (\"fmt\"; \"net\"; \"net/http\"; \"os\")
func main() {
  listener, err := net.Listen(\"tcp\", \"127.0.0.1:0\")
  if err != nil { panic(err) }
  fmt.Println(listener.Addr().(*net.TCPAddr).Port)
  panic(http.Serve(listener, http.FileServer(http.Dir(os.Args[2]))))
}
";

/// nginx.
pub fn nginx(root: &Path) -> Real {
    let (folder, port) = (Folder::new(), free_port());
    let text = format!(
        "daemon off; worker_processes 1; pid {0}/pid; error_log {0}/error crit; events {{}}\n\
         {user} http {{ access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f;\n\
         uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n\
         server {{ listen 127.0.0.1:{port}; root {1}; }} }}\n",
        folder.0.display(),
        root.display(),
        user = if is_root() { "user root;" } else { "" },
    );
    let file = folder.write("nginx.conf", text);
    let mut command = Command::new("nginx");
    command.arg("-p").arg(&folder.0).arg("-c").arg(file);
    Real::run(command, port, Some(folder))
}

/// node's `http`, with `decodeURIComponent` and `path.normalize`.
pub fn node(root: &Path) -> Real {
    node_with(root, "")
}

/// The same, with `new URL` before.
pub fn node_with_url(root: &Path) -> Real {
    node_with(root, "url")
}

fn node_with(root: &Path, how: &str) -> Real {
    let real = Real::script("node", &[], "server.js", NODE, &[root, Path::new(how)]);
    real.expect("node is needed: `bash scripts/need.sh node`")
}

/// Flask's `send_from_directory`, if Flask is here.
pub fn flask(root: &Path) -> Option<Real> {
    Real::script("python3", &["-u"], "app.py", FLASK, &[root])
}

/// Go's `http.FileServer`, if Go is here.
pub fn go(root: &Path) -> Option<Real> {
    // `go run` would leave its own child behind.
    let folder = Folder::new();
    let (source, program) = (folder.write("main.go", GO), folder.path("server"));
    let built = Command::new("go").arg("build").arg("-o").arg(&program).arg(source).output().ok()?;
    built.status.success().then_some(())?;
    Real::script(program.to_str()?, &[], "main.go", GO, &[root])
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}
