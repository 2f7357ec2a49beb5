//! php-fpm as users have it, started for one test in a folder of its own and ended with it.

use samovar_origin::Address;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A running php-fpm.
pub struct Fpm {
    pub address: Address,
    pub folder: PathBuf,
    master: Child,
}

/// Where it listens.
pub enum On {
    Unix,
    Tcp,
}

impl Fpm {
    /// Starts php-fpm with so many children. `more` is appended to its pool's configuration.
    pub fn start(on: On, children: usize, more: &str) -> Fpm {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("samovar-fpm-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // Its children run as another user, who must be able to read the scripts.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        for (name, text) in SCRIPTS {
            fs::write(folder.join(name), text).unwrap();
        }
        let (address, listen) = match on {
            On::Unix => {
                let socket = folder.join("fpm.sock");
                (Address::Unix(socket.clone()), socket.display().to_string())
            }
            On::Tcp => {
                let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
                (Address::Tcp("127.0.0.1".to_owned(), free.port()), free.to_string())
            }
        };
        let root = rustix_is_root();
        let user = if root { "user = www-data\ngroup = www-data\nlisten.mode = 0666\n" } else { "" };
        let config = format!(
            "[global]\nerror_log = {folder}/fpm.log\ndaemonize = no\n[www]\nlisten = {listen}\npm = static\n\
             pm.max_children = {children}\ncatch_workers_output = no\nphp_admin_flag[log_errors] = on\n\
             php_admin_flag[display_errors] = off\n{user}{more}\n",
            folder = folder.display(),
        );
        let file = folder.join("fpm.conf");
        fs::write(&file, config).unwrap();
        // Ends php-fpm also when this test is killed.
        let mut command = Command::new("setpriv");
        command.arg("--pdeathsig=TERM").arg(binary());
        command.arg("-F").arg("-n").arg("-y").arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
        if root {
            command.arg("-R");
        }
        let master = command.spawn().expect("setpriv (util-linux) starts php-fpm");
        let mut fpm = Fpm { address, folder, master };
        fpm.wait();
        fpm
    }

    fn wait(&mut self) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            let ready = match &self.address {
                Address::Unix(path) => std::os::unix::net::UnixStream::connect(path).is_ok(),
                Address::Tcp(host, port) => std::net::TcpStream::connect((host.as_str(), *port)).is_ok(),
            };
            if ready {
                return;
            }
            assert!(self.master.try_wait().unwrap().is_none(), "php-fpm ended: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("php-fpm does not listen after 10 s: {}", self.log());
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("fpm.log")).unwrap_or_default()
    }
}

impl Drop for Fpm {
    fn drop(&mut self) {
        // The master ends its children; killed outright it would leave them.
        if let Ok(id) = i32::try_from(self.master.id())
            && let Some(id) = rustix::process::Pid::from_raw(id)
        {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.master.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn rustix_is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The newest php-fpm of this machine.
fn binary() -> PathBuf {
    let mut found: Vec<PathBuf> = ["/usr/sbin", "/usr/local/sbin", "/usr/bin"]
        .iter()
        .filter_map(|folder| fs::read_dir(Path::new(folder)).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("php-fpm")))
        .collect();
    found.sort();
    found.pop().expect(
        "these tests need php-fpm, and there is none in /usr/sbin: `apt-get install php-fpm` \
         (Debian, Ubuntu), `dnf install php-fpm` (Fedora), `apk add php-fpm` (Alpine)",
    )
}

const SCRIPTS: &[(&str, &str)] = &[
    (
        "echo.php",
        "<?php header('X-Length: ' . ($_SERVER['CONTENT_LENGTH'] ?? 'none')); echo file_get_contents('php://input');",
    ),
    (
        "server.php",
        "<?php header('Content-Type: application/json'); echo json_encode($_SERVER, JSON_UNESCAPED_SLASHES);",
    ),
    ("hello.php", "<?php echo 'hello ', $_GET['n'] ?? '';"),
    ("large.php", "<?php for ($i = 0; $i < 512; $i++) { echo str_repeat(chr(65 + $i % 26), 8192); }"),
    ("early.php", "<?php http_response_code(413); header('Content-Length: 4'); echo 'much'; flush();"),
    ("die.php", "<?php header('Content-Length: 100'); echo 'half'; flush(); exec('kill -9 ' . getmypid());"),
    ("die-unsized.php", "<?php echo 'half'; flush(); exec('kill -9 ' . getmypid());"),
    ("die-first.php", "<?php exec('kill -9 ' . getmypid());"),
    ("short.php", "<?php header('Content-Length: 100'); echo 'half';"),
    (
        "sleep.php",
        "<?php file_put_contents('begun', getmypid()); usleep((int) ($_GET['ms'] ?? 200) * 1000); echo getmypid();",
    ),
    (
        "forever.php",
        "<?php file_put_contents('begun', getmypid()); while (true) { echo str_repeat('x', 8192); flush(); usleep(1000); }",
    ),
    ("error.php", "<?php error_log('first line'); error_log(\"second \\x1b[31mline\"); echo 'said';"),
    ("fatal.php", "<?php undefined_function();"),
    ("exit.php", "<?php echo 'out'; exit(3);"),
    ("status.php", "<?php http_response_code((int) $_GET['code']); echo 'status';"),
    ("location.php", "<?php header('Location: /elsewhere');"),
    ("cookies.php", "<?php setcookie('a', '1'); setcookie('b', '2'); echo 'ok';"),
    ("busy.php", "<?php usleep(5000); echo 'done ', $_GET['n'];"),
];
