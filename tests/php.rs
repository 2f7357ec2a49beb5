//! A real php-fpm, for tests of applications behind FastCGI.

use crate::server::{Folder, soon};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running php-fpm on a unix socket; ended when dropped.
pub struct Fpm {
    master: Child,
    /// The socket.
    pub socket: PathBuf,
    _folder: Folder,
}

impl Fpm {
    /// Starts one with so many children; `root` must be readable by its user.
    pub fn start(root: &Path, children: usize) -> Fpm {
        let folder = Folder::new();
        for path in [folder.0.as_path(), root] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let socket = folder.path("fpm.sock");
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0\n");
        let user = if is_root { "user = www-data\ngroup = www-data\nlisten.mode = 0666\n" } else { "" };
        let config = format!(
            "[global]\nerror_log = {0}/fpm.log\ndaemonize = no\n[www]\nlisten = {1}\npm = static\n\
             pm.max_children = {children}\nphp_admin_flag[log_errors] = on\nphp_admin_flag[display_errors] = off\n{user}",
            folder.0.display(),
            socket.display()
        );
        let file = folder.write("fpm.conf", config);
        let mut command = Command::new(binary());
        command.args(["-F", "-n", "-y"]).arg(&file);
        Fpm::run(command, socket, folder, is_root)
    }

    /// Starts one with a configuration of its own, whose relative paths begin at `prefix`, and with the extensions that
    /// the system loads. It listens on a socket of the test's instead of where it says.
    pub fn of(prefix: &Path, config: &str) -> Fpm {
        let folder = Folder::new();
        let socket = folder.path("fpm.sock");
        let listen = format!("listen = {}", socket.display());
        let lines = config.lines().filter(|l| !l.starts_with("listen.allowed_clients"));
        let lines = lines.map(|l| if l.starts_with("listen = ") { listen.as_str() } else { l });
        let file = folder.write("fpm.conf", lines.collect::<Vec<_>>().join("\n") + "\n");
        std::fs::create_dir_all(prefix.join("run")).unwrap();
        let mut command = Command::new(binary());
        command.args(["-F", "-p"]).arg(prefix).arg("-y").arg(&file);
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout.starts_with(b"0\n");
        Fpm::run(command, socket, folder, is_root)
    }

    fn run(mut command: Command, socket: PathBuf, folder: Folder, is_root: bool) -> Fpm {
        if is_root {
            command.arg("-R");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let master = command.spawn().unwrap();
        let fpm = Fpm { master, socket, _folder: folder };
        soon("php-fpm's socket", || std::os::unix::net::UnixStream::connect(&fpm.socket).ok());
        fpm
    }
}

impl Drop for Fpm {
    fn drop(&mut self) {
        // The master ends its children; killed outright it would leave them.
        let _ = Command::new("kill").arg(self.master.id().to_string()).status();
        let _ = self.master.wait();
    }
}

fn binary() -> PathBuf {
    let folders = ["/usr/sbin", "/usr/local/sbin", "/usr/bin"];
    let mut found: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("php-fpm")))
        .collect();
    found.sort();
    found.pop().expect("php-fpm is needed: `apt-get install php-fpm`, or your system's name for it")
}
