//! The root folder, and opening beneath it.
//!
//! Every open is one `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS` relative to
//! a descriptor of the root: the kernel itself keeps the path inside, whatever happens to the tree meanwhile.
//! A path through links costs a second step: its real place is looked up, must lie inside the root (links may
//! be absolute, which `RESOLVE_BENEATH` alone would refuse), and is then opened by the same flags, so that a
//! link swapped in between leads nowhere. Not here: names that are hidden, and what is done with the file.

use super::No;
use crate::FilesSettings;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use samovar_reason::Files as Reason;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// How often an open is tried again when a link or folder was swapped under it.
const TRIES: u32 = 4;

/// For reading. Not blocking, so that a FIFO cannot hold a serving core; never a controlling terminal.
pub(super) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// For a look only: opens what may not be read, and has no effect on devices.
pub(super) const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A folder to be read.
pub(super) const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The root, reopened whenever its path names another folder.
pub(super) struct Root {
    path: PathBuf,
    follow_links: bool,
    /// As the operator wrote them.
    never: Vec<PathBuf>,
    /// `None` as long as there was none.
    held: RwLock<Option<Arc<Held>>>,
}

/// The root as it was opened.
pub(super) struct Held {
    fd: OwnedFd,
    device: u64,
    inode: u64,
    /// What is never served, relative to this root; where it really lies may differ from root to root.
    never: Vec<PathBuf>,
}

/// Something that was opened, and what it is.
pub(super) struct Found {
    /// The descriptor.
    pub(super) fd: OwnedFd,
    /// Its facts.
    pub(super) stat: Stat,
}

impl Found {
    /// What it is.
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

impl Root {
    /// Opens the root. One that is not there, or not now, is looked for again with every request.
    pub(super) fn new(settings: &FilesSettings) -> io::Result<Root> {
        let path = &settings.root;
        let held = Held::open(path, &settings.never).ok();
        let probe = match &held {
            Some(held) => held.open_at(b"", LOOK),
            None => Held::open(Path::new("/"), &[]).and_then(|root| root.open_at(b"", LOOK)),
        };
        if let Err(error @ (Errno::NOSYS | Errno::PERM)) = probe {
            let text = format!(
                "the system refuses openat2 ({error}): files need Linux 5.6 or newer, and a container runtime \
                 whose seccomp profile allows openat2"
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(Root {
            path: path.clone(),
            follow_links: settings.follow_links,
            never: settings.never.clone(),
            held: RwLock::new(held.map(Arc::new)),
        })
    }

    /// The root as its path names it now. One `stat`: a folder renamed into its place must not be missed, or
    /// an answer from the old one would be stored after the change was reported.
    pub(super) fn now(&self) -> Result<Arc<Held>, No> {
        let stat = rustix::fs::stat(&self.path).map_err(|error| self.gone(error))?;
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(held) = held.filter(|held| (held.device, held.inode) == (stat.st_dev, stat.st_ino)) {
            return Ok(held);
        }
        let fresh = Arc::new(Held::open(&self.path, &self.never).map_err(|error| self.gone(error))?);
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(fresh.clone());
        Ok(fresh)
    }

    /// Opens `rel` (decoded, no leading slash, no dot segments) beneath the root.
    pub(super) fn open(&self, held: &Held, rel: &[u8], flags: OFlags) -> Result<Found, No> {
        if held.is_never(rel) {
            return Err(No(Reason::Hidden, "this path is listed as never to be served".to_owned()));
        }
        let fd = match held.open_at(rel, flags) {
            Ok(fd) => fd,
            Err(Errno::LOOP) if self.follow_links => self.open_through_links(held, rel, flags)?,
            Err(error) => return Err(self.refuse(rel, error)),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| self.refuse(rel, error))?;
        Ok(Found { fd, stat })
    }

    /// The root's path joined with `rel`.
    pub(super) fn place(&self, rel: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(rel))
    }

    fn open_through_links(&self, held: &Held, rel: &[u8], flags: OFlags) -> Result<OwnedFd, No> {
        let refuse = |error: io::Error| match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => {
                No(Reason::NotFound, format!("{}: its links go in a circle", self.place(rel).display()))
            }
            Some(error) => self.refuse(rel, error),
            None => No(Reason::IoError, format!("{}: {error}", self.place(rel).display())),
        };
        let base = self.path.canonicalize().map_err(refuse)?;
        for _ in 0..TRIES {
            let real = self.place(rel).canonicalize().map_err(refuse)?;
            let Ok(inside) = real.strip_prefix(&base) else {
                let detail = format!("{} leads to {}", self.place(rel).display(), real.display());
                return Err(No(Reason::OutsideRoot, detail));
            };
            if held.is_never(inside.as_os_str().as_bytes()) {
                return Err(No(
                    Reason::Hidden,
                    "the link leads to a path that is never to be served".to_owned(),
                ));
            }
            match held.open_at(inside.as_os_str().as_bytes(), flags) {
                Ok(fd) => return Ok(fd),
                // A link again: the tree changed after its real place was looked up.
                Err(Errno::LOOP) => {}
                Err(error) => return Err(self.refuse(rel, error)),
            }
        }
        Err(No(Reason::NotFound, format!("{}: its links keep changing", self.place(rel).display())))
    }

    fn refuse(&self, rel: &[u8], error: Errno) -> No {
        let reason = match error {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => Reason::NotFound,
            Errno::LOOP => Reason::LinkRefused,
            Errno::XDEV => Reason::OutsideRoot,
            Errno::ACCESS | Errno::PERM => Reason::Unreadable,
            // A socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Reason::NotAFile,
            _ => Reason::IoError,
        };
        No(reason, format!("{}: {}", self.place(rel).display(), io::Error::from(error)))
    }

    fn gone(&self, error: Errno) -> No {
        let reason = match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Reason::RootGone,
            Errno::ACCESS | Errno::PERM => Reason::Unreadable,
            _ => Reason::IoError,
        };
        No(reason, format!("{}: {}", self.path.display(), io::Error::from(error)))
    }
}

impl Held {
    fn open(path: &Path, never: &[PathBuf]) -> Result<Held, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Held { fd, device: stat.st_dev, inode: stat.st_ino, never: never_inside(path, never) })
    }

    /// The operator listed `rel`, or a folder it is in, as never to be served.
    pub(super) fn is_never(&self, rel: &[u8]) -> bool {
        let rel = Path::new(OsStr::from_bytes(rel));
        self.never.iter().any(|never| rel.starts_with(never))
    }

    /// Fails with `LOOP` if any part of the path is a link.
    fn open_at(&self, rel: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let name: &[u8] = if rel.is_empty() { b"." } else { rel };
        let mut tries = 0;
        loop {
            match rustix::fs::openat2(self.fd.as_fd(), name, flags, Mode::empty(), resolve) {
                // AGAIN: a rename elsewhere made the kernel unsure of where it was (openat2(2)).
                Err(Errno::AGAIN | Errno::INTR) if tries < TRIES => tries += 1,
                done => return done,
            }
        }
    }
}

/// What is never served, relative to the root: as written, and where it really lies.
fn never_inside(root: &Path, never: &[PathBuf]) -> Vec<PathBuf> {
    let real_root = root.canonicalize();
    let mut inside = Vec::new();
    for path in never {
        inside.extend(path.strip_prefix(root).map(Path::to_path_buf));
        if let (Ok(real_root), Ok(real)) = (&real_root, path.canonicalize()) {
            inside.extend(real.strip_prefix(real_root).map(Path::to_path_buf));
        }
    }
    inside.sort();
    inside.dedup();
    inside
}
