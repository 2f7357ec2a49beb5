//! The operator's files (configuration, users, certificates, keys, logs): opened without ever waiting, replaced as a whole,
//! changed by one process at a time.
//!
//! A plain open of a named pipe waits until somebody writes to it, for ever if nobody does, and a device may never end. So
//! what is read must be a regular file of bounded size; a test holds that nothing else in this crate opens files. Not here:
//! what the files mean, and the folders that sites serve (`samovar_origin`).

use crate::descriptors;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A file of users has this much at most, bytes.
pub const USERS_MAX_BYTES: u64 = 16 << 20;

/// A file of certificates, or with a key, has this much at most, bytes.
pub const CERTIFICATE_MAX_BYTES: u64 = 4 << 20;

/// How long an edit waits for one of another process. An edit takes milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// How often it looks whether the other is done.
const LOCK_LOOK_EVERY: Duration = Duration::from_millis(2);

/// Reads a whole regular file of so many bytes at most.
///
/// # Errors
/// As the system says; [`io::ErrorKind::IsADirectory`] for a folder, [`io::ErrorKind::FileTooLarge`] beyond the bound, and
/// in words for what is no file.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // Before it is opened, as opening a device may do something; and once more what was opened.
    regular(std::fs::metadata(path)?.file_type())?;
    let open = || OpenOptions::new().read(true).custom_flags(at_once()).open(path);
    let file = descriptors::reserved(open)?;
    regular(file.metadata()?.file_type())?;
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let words = format!("it is larger than {}", crate::config::show_size(max_bytes));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}

/// Opens a log to be appended to, made if there is none. It may be a pipe or a terminal, whose writes wait: who writes must
/// be a thread that nobody waits for.
///
/// # Errors
/// As the system says, and at once for a named pipe that nobody reads.
pub fn append(path: &Path) -> io::Result<File> {
    use rustix::io::Errno;
    let open = || OpenOptions::new().create(true).append(true).custom_flags(at_once()).open(path);
    let file = descriptors::reserved(open).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => {
            io::Error::other("it is a named pipe (FIFO) that nobody reads\nhint: start its reader first")
        }
        _ => error,
    })?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Flags by which an open never waits.
fn at_once() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}

fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let what = match () {
        () if kind.is_fifo() => "a pipe (FIFO)",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

/// A file that is being changed. No other process changes it, nor another file in its folder, until this is dropped.
#[derive(Debug)]
pub struct Edit {
    /// What a link points to: a link stays a link.
    target: PathBuf,
    folder: Option<OwnedFd>,
    /// Why the folder is not locked, where the file system knows no locks or this user may not read the folder.
    unlocked: Option<io::Error>,
}

/// Begins to change a file; waits for a change that another process is at.
///
/// # Errors
/// In words.
pub fn edit(path: &Path) -> Result<Edit, String> {
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match try_edit(path) {
            Ok(Some(edit)) => return Ok(edit),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOCK_LOOK_EVERY),
            Ok(None) => {
                return Err(format!(
                    "change {}: another process has locked its folder for {} s\nhint: `fuser` or `lsof` on the folder \
                     names it; try again when it is done",
                    path.display(),
                    LOCK_PATIENCE.as_secs()
                ));
            }
            Err(error) => return Err(format!("change {}: {error}", path.display())),
        }
    }
}

/// The same without waiting; `None` if another process is at it.
fn try_edit(path: &Path) -> io::Result<Option<Edit>> {
    let target = std::fs::canonicalize(path)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    // The folder is locked and not the file: that is another one after each change.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = match descriptors::reserved(|| Ok(rustix::fs::open(folder, flags, Mode::empty())?)) {
        Ok(folder) => folder,
        Err(error) => return Ok(Some(Edit { target, folder: None, unlocked: Some(error) })),
    };
    let unlocked = match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => None,
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => Some(error.into()),
    };
    let edit = Edit { target, folder: Some(folder), unlocked };
    // Without a lock it may be another's that is in use.
    if edit.unlocked.is_none() {
        edit.remove_left_over();
    }
    Ok(Some(edit))
}

/// Removes what a process left beside the file that was killed while it changed it.
pub fn clean(path: &Path) {
    // Whoever holds the lock cleans up itself; what cannot be cleaned now is so at the next change.
    let _ = try_edit(path);
}

impl Edit {
    /// Why the folder could not be locked, if it could not.
    pub fn unlocked(&self) -> Option<&io::Error> {
        self.unlocked.as_ref()
    }

    /// What the file holds now.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self, max_bytes: u64) -> io::Result<Vec<u8>> {
        read(&self.target, max_bytes)
    }

    /// Replaces the file; mode and owner are kept as far as this user may.
    ///
    /// # Errors
    /// As the system says; then the file is as it was.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        let like = std::fs::metadata(&self.target)?;
        put(&self.target, text, |file| {
            file.set_permissions(like.permissions())?;
            let _ = std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()));
            Ok(())
        })?;
        // So that the new name is there after a crash, too.
        if let Some(folder) = &self.folder {
            let _ = rustix::fs::fsync(folder);
        }
        Ok(())
    }

    fn remove_left_over(&self) {
        let Some((folder, name)) = self.target.parent().zip(self.target.file_name()) else { return };
        let begins = format!(".{}.", name.to_string_lossy());
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let process = name.strip_prefix(&begins).and_then(|rest| rest.strip_suffix(".new"));
            if process.is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit())) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Writes a file whole: beside its place first, then there.
///
/// # Errors
/// As the system says; then nothing is left behind.
pub fn put(path: &Path, text: &str, prepare: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = folder.join(format!(".{name}.{}.new", std::process::id()));
    // Left by a process that had this number before.
    let _ = std::fs::remove_file(&beside);
    let open = || OpenOptions::new().write(true).create_new(true).open(&beside);
    let result = descriptors::reserved(open).and_then(|mut file| {
        prepare(&file)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    });
    if result.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    result
}
