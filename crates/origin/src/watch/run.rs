//! The watch's thread: reads events, keeps the tree of watches up to date, reports changes in batches.

use super::batch::Batch;
use super::tree::Tree;
use super::{Shared, Sink};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How often the root's path is looked at: a link above it, or a mount, changes without an event.
const ROOT_LOOK: Duration = Duration::from_millis(250);

/// How long after a refusal watching is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// Room for the events of one read, bytes.
const EVENTS_BYTES: usize = 64 * 1024;

/// Reads before the clock is looked at again, so that a flood of events does not hold up reports.
const READS_MAX: usize = 16;

/// File systems that others write to unseen (`statfs(2)`), by the magic number: NFS, SMB, CIFS, SMB2, FUSE,
/// 9P, Ceph, AFS, Coda.
const REMOTE: [(u64, &str); 9] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x7375_7245, "Coda"),
];

const EVENTS: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW)
    .union(WatchFlags::EXCL_UNLINK);

/// Why not everything can be watched.
struct Trouble {
    text: String,
    /// Trying again later may help.
    retry: bool,
}

/// Device and inode.
type Identity = (u64, u64);

/// What the thread works with.
pub(super) struct Runner {
    root: PathBuf,
    /// Where the root really lies, for absolute links.
    real_root: PathBuf,
    identity: Option<Identity>,
    inotify: OwnedFd,
    tree: Tree,
    sink: Sink,
    shared: Arc<Shared>,
    batch: Batch,
    trouble: Option<Trouble>,
    /// The queue overflowed, or the root is another: everything is to be watched anew.
    anew: bool,
}

impl Runner {
    pub(super) fn new(root: &Path, sink: Sink, shared: Arc<Shared>) -> io::Result<Runner> {
        let told = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot watch the folder {}: {error}", root.display()))
        };
        let absolute = std::path::absolute(root).map_err(told)?;
        Ok(Runner {
            // A root that is not there yet is looked for like one that was replaced.
            real_root: root.canonicalize().unwrap_or_else(|_| absolute.clone()),
            root: absolute,
            identity: identity(root).ok(),
            inotify: instance()?,
            tree: Tree::default(),
            sink,
            shared,
            batch: Batch::default(),
            trouble: None,
            anew: false,
        })
    }

    /// Until the watch is dropped. `walked` hears when all folders are watched for the first time.
    pub(super) fn run(mut self, walked: &SyncSender<()>) {
        let _last = LastWord(self.shared.clone());
        self.walk(Vec::new());
        self.tell_health();
        // Nobody listens any more: answers may have been stored before all of it was watched.
        if walked.send(()).is_err() {
            self.batch.everything(Instant::now());
        }
        let mut look = Instant::now() + ROOT_LOOK;
        let mut retry = Instant::now() + RETRY;
        loop {
            self.wait(self.batch.due().map_or(look, |due| due.min(look)));
            if self.shared.stopped.load(Ordering::Acquire) {
                return;
            }
            self.read_events();
            let now = Instant::now();
            if now >= look {
                look = now + ROOT_LOOK;
                self.look_at_root();
            }
            if now >= retry {
                retry = now + RETRY;
                self.anew |= self.trouble.as_ref().is_some_and(|trouble| trouble.retry);
            }
            if self.anew {
                self.begin_anew();
            }
            self.tell_health();
            if self.batch.due().is_some_and(|due| Instant::now() >= due) {
                self.report();
            }
        }
    }

    fn wait(&self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(1),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds =
            [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(&self.shared.wake, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&timeout));
    }

    fn read_events(&mut self) {
        let mut room = vec![MaybeUninit::uninit(); EVENTS_BYTES];
        for _ in 0..READS_MAX {
            let mut events = Vec::new();
            let mut reader = Reader::new(&self.inotify, &mut room);
            loop {
                match reader.next() {
                    Ok(event) => {
                        let name = event.file_name().map(|name| name.to_bytes().to_vec());
                        events.push((event.wd(), event.events(), name));
                    }
                    Err(Errno::INTR) => continue,
                    Err(_) => break,
                }
                if reader.is_buffer_empty() {
                    break;
                }
            }
            if events.is_empty() {
                return;
            }
            for (watch, what, name) in events {
                self.event(watch, what, name.as_deref());
            }
        }
    }

    fn event(&mut self, watch: i32, what: ReadFlags, name: Option<&[u8]>) {
        if what.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            self.anew = true;
        }
        if what.contains(ReadFlags::IGNORED) {
            // A new root may have the old one's inode number, so that looking at it tells nothing.
            self.anew |= self.tree.paths(watch).iter().any(Vec::is_empty);
            self.tree.dropped(watch);
            return;
        }
        for folder in self.tree.paths(watch) {
            match name {
                Some(name) => self.child(&[&folder, b"/".as_slice(), name].concat(), what),
                // Of a folder itself; its parent tells the same by name. The root has no parent here.
                None if folder.is_empty() => self.batch.everything(Instant::now()),
                None => {}
            }
        }
    }

    /// Something happened to what is called `path`.
    fn child(&mut self, path: &[u8], what: ReadFlags) {
        let came = what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        let went = what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
        if went {
            for idle in self.tree.gone(path) {
                // Fails if the kernel dropped it first.
                let _ = inotify::remove_watch(&self.inotify, idle);
            }
        }
        let folder = what.contains(ReadFlags::ISDIR);
        // What went may be back already, and of another kind: exchanged in one step, or made anew before this
        // was read. A changed mode may let us into a folder.
        if went || (folder && (came || !self.tree.is_watched(path))) {
            self.walk(path.to_vec());
        }
        if went || (came && !folder) {
            self.note_link(path);
        }
        self.changed(path);
    }

    /// To be reported, under every path it is seen as. Called after the watches are in place.
    fn changed(&mut self, path: &[u8]) {
        match self.tree.seen_as(path) {
            Some(paths) => self.batch.add(paths, Instant::now()),
            None => self.batch.everything(Instant::now()),
        }
    }

    /// Watches `top` and all folders beneath. Each is watched first and read then, so that what is created in
    /// it meanwhile is either read or reported.
    fn walk(&mut self, top: Vec<u8>) {
        let mut todo = vec![(top, None)];
        while let Some((path, above)) = todo.pop() {
            let place = self.place(&path);
            match inotify::add_watch(&self.inotify, &place, self.flags(&path)) {
                Ok(watch) => self.tree.watched(&path, watch),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                // What may not be passed through is not served either.
                Err(Errno::ACCESS) if no_entry(&place) => continue,
                Err(error) => {
                    let trouble = refused(&place, error);
                    let full = error == Errno::NOSPC;
                    self.trouble = Some(trouble);
                    if full {
                        return;
                    }
                }
            }
            let device = identity(&place).ok().map(|(device, _)| device);
            if device != above {
                self.look_at_file_system(&place);
            }
            self.read_folder(&path, &place, |folder| todo.push((folder, device)));
        }
    }

    fn read_folder(&mut self, path: &[u8], place: &Path, mut folder: impl FnMut(Vec<u8>)) {
        let entries = match std::fs::read_dir(place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                let text = format!("cannot read the folder {}: {error}", place.display());
                self.trouble = Some(Trouble { text, retry: true });
                return;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let text = format!("cannot read the folder {}: {error}", place.display());
                    self.trouble = Some(Trouble { text, retry: true });
                    return;
                }
            };
            let Ok(kind) = entry.file_type() else { continue };
            let child = [path, b"/", entry.file_name().as_bytes()].concat();
            if kind.is_dir() {
                folder(child);
            } else if kind.is_symlink() {
                self.note_link(&child);
            }
        }
    }

    /// If there is a link at `path` that leads to something inside the root, remembers where to.
    fn note_link(&mut self, path: &[u8]) {
        let place = self.place(path);
        let mut targets = Vec::new();
        if let Ok(text) = std::fs::read_link(&place) {
            targets.extend(self.named_by(path, &text));
            targets.extend(place.canonicalize().ok().and_then(|end| self.named_by(path, &end)));
        }
        targets.dedup();
        self.tree.linked(path, targets);
    }

    /// What the text of a link at `link` names, relative to the root; `None` if it lies elsewhere. Dots are
    /// taken out by their letter; where that is wrong, the link's real end is known beside it.
    fn named_by(&self, link: &[u8], text: &Path) -> Option<Vec<u8>> {
        let mut parts: Vec<&[u8]> = Vec::new();
        let text = if text.is_absolute() {
            text.strip_prefix(&self.root).or_else(|_| text.strip_prefix(&self.real_root)).ok()?
        } else {
            parts.extend(link.split(|b| *b == b'/').skip(1));
            parts.pop();
            text
        };
        for part in text.components() {
            match part {
                Component::ParentDir => drop(parts.pop()?),
                Component::Normal(name) => parts.push(name.as_bytes()),
                _ => {}
            }
        }
        Some(parts.into_iter().flat_map(|part| [b"/", part].concat()).collect())
    }

    fn place(&self, path: &[u8]) -> PathBuf {
        let rest = path.strip_prefix(b"/").unwrap_or(path);
        if rest.is_empty() { self.root.clone() } else { self.root.join(OsStr::from_bytes(rest)) }
    }

    /// The root may be a link; whatever is in it may not.
    fn flags(&self, path: &[u8]) -> WatchFlags {
        if path.is_empty() {
            EVENTS.difference(WatchFlags::DONT_FOLLOW) | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF
        } else {
            EVENTS
        }
    }

    fn look_at_file_system(&mut self, place: &Path) {
        let Ok(facts) = rustix::fs::statfs(place) else { return };
        #[allow(clippy::cast_sign_loss, reason = "the kernel's magic numbers are 32 bits without sign")]
        let magic = facts.f_type as u64 & 0xffff_ffff;
        if let Some((_, name)) = REMOTE.iter().find(|(known, _)| *known == magic) {
            let text = format!(
                "{} lies on {name}, where others can change files unseen: files in use are looked at once a second",
                place.display()
            );
            self.trouble = Some(Trouble { text, retry: false });
        }
    }

    /// The root's path may name another folder now, or none.
    fn look_at_root(&mut self) {
        let identity = identity(&self.root).ok();
        if identity != self.identity {
            self.identity = identity;
            self.anew = true;
        }
    }

    /// Watches everything anew, and reports that anything may have changed.
    fn begin_anew(&mut self) {
        self.anew = false;
        self.shared.healthy.store(false, Ordering::Release);
        match instance() {
            Ok(inotify) => self.inotify = inotify,
            Err(error) => {
                let trouble = Trouble { text: error.to_string(), retry: true };
                self.trouble = Some(trouble);
                self.batch.everything(Instant::now());
                return;
            }
        }
        self.tree = Tree::default();
        self.trouble = None;
        self.identity = identity(&self.root).ok();
        if let Ok(real) = self.root.canonicalize() {
            self.real_root = real;
        }
        self.walk(Vec::new());
        self.batch.everything(Instant::now());
    }

    /// Tells whether all of it is watched. When that turns, anything may have changed.
    fn tell_health(&mut self) {
        let healthy = self.trouble.is_none();
        let text = self.trouble.as_ref().map(|trouble| trouble.text.clone());
        *self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner) = text;
        let before = self.shared.healthy.swap(healthy, Ordering::AcqRel);
        if before && !healthy {
            self.batch.everything(Instant::now());
        }
    }

    fn report(&mut self) {
        let changes = std::mem::take(&mut self.batch).changes();
        if !changes.is_empty() && !self.shared.stopped.load(Ordering::Acquire) {
            (self.sink)(changes);
        }
    }
}

/// Whatever ends the thread (a sink that panics): nobody may go on trusting it.
struct LastWord(Arc<Shared>);

impl Drop for LastWord {
    fn drop(&mut self) {
        let text = "the watch has stopped".to_owned();
        *self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        self.0.healthy.store(false, Ordering::Release);
    }
}

fn instance() -> io::Result<OwnedFd> {
    inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|error| {
        let error = io::Error::from(error);
        let text = format!(
            "cannot watch folders: inotify gives no instance ({error}); \
             raise the sysctl fs.inotify.max_user_instances or the limit of open files"
        );
        io::Error::new(error.kind(), text)
    })
}

fn refused(place: &Path, error: Errno) -> Trouble {
    let mend = match error {
        Errno::NOSPC => "; raise the sysctl fs.inotify.max_user_watches",
        Errno::ACCESS => "; let this user read the folder",
        _ => "",
    };
    let error = io::Error::from(error);
    Trouble { text: format!("cannot watch the folder {}: {error}{mend}", place.display()), retry: true }
}

/// This process may not pass through `place`.
fn no_entry(place: &Path) -> bool {
    rustix::fs::accessat(CWD, place, Access::EXEC_OK, AtFlags::EACCESS).is_err()
}

fn identity(place: &Path) -> rustix::io::Result<Identity> {
    rustix::fs::stat(place).map(|stat| (stat.st_dev, stat.st_ino))
}
