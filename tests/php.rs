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
    file: PathBuf,
    is_root: bool,
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
        let fpm = Fpm { master: launch(&file, is_root), socket, file, is_root, _folder: folder };
        fpm.listens();
        fpm
    }

    fn listens(&self) {
        soon("php-fpm's socket", || std::os::unix::net::UnixStream::connect(&self.socket).ok());
    }

    /// Lets it begin anew, as after an update of PHP: its children end with what they do.
    pub fn reload(&self) {
        let status = Command::new("kill").arg("-USR2").arg(self.master.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    /// Ends it, and starts another.
    pub fn restart(&mut self) {
        let _ = Command::new("kill").arg(self.master.id().to_string()).status();
        let _ = self.master.wait();
        self.master = launch(&self.file, self.is_root);
        self.listens();
    }
}

impl Drop for Fpm {
    fn drop(&mut self) {
        // The master ends its children; killed outright it would leave them.
        let _ = Command::new("kill").arg(self.master.id().to_string()).status();
        let _ = self.master.wait();
    }
}

fn launch(file: &Path, is_root: bool) -> Child {
    let mut command = Command::new(binary());
    command
        .args(["-F", "-n", "-y"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if is_root {
        command.arg("-R");
    }
    command.spawn().unwrap()
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
