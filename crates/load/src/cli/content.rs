//! `thirst content`: sets to files in a folder.
//!
//! Not here: what is in the files.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::args::ContentArgs;
use crate::content::Set;
use crate::report::units;

/// How often the line on the terminal moves.
const PROGRESS: Duration = Duration::from_millis(250);

pub(super) fn content(args: &ContentArgs) -> Result<(), String> {
    for (at, set) in args.sets.iter().enumerate() {
        if args.sets.iter().take(at).any(|before| before.folder() == set.folder()) {
            return Err(format!("`{set}` would go into the folder `{}` a second time", set.folder()));
        }
    }
    prepare(&args.dir, args.force)?;
    let mut list = args
        .list
        .as_deref()
        .map(|path| File::create(path).map(BufWriter::new).map_err(|error| cannot("write", path, &error)))
        .transpose()?;
    let began = Instant::now();
    let (mut files, mut bytes) = (0, 0);
    for set in &args.sets {
        bytes += write_set(args, set)?;
        files += set.count();
        if let (Some(list), Some(path)) = (list.as_mut(), args.list.as_deref()) {
            for index in 0..set.count() {
                writeln!(list, "/{}", set.path(index)).map_err(|error| cannot("write", path, &error))?;
            }
        }
    }
    if let (Some(mut list), Some(path)) = (list, args.list.as_deref()) {
        list.flush().map_err(|error| cannot("write", path, &error))?;
    }
    if !args.quiet {
        let (files, bytes) = (units::many(files, "file"), units::bytes(bytes as f64));
        let took = units::time(began.elapsed().as_micros() as f64);
        // A reader that went away (`| head`) is no error of ours.
        let _ =
            writeln!(stdout(), "{files}, {bytes}, in `{}`; seed {}, {took}", args.dir.display(), args.seed);
    }
    Ok(())
}

/// The folder, empty unless `force` says that it need not be.
fn prepare(dir: &Path, force: bool) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|error| cannot("make the folder", dir, &error))?;
    let mut inside = fs::read_dir(dir).map_err(|error| cannot("read the folder", dir, &error))?;
    if !force && inside.next().is_some() {
        return Err(format!(
            "`{}` is not empty; name a new folder, or give --force to write beside what is there",
            dir.display()
        ));
    }
    Ok(())
}

/// Writes one set, on all cores; its bytes.
fn write_set(args: &ContentArgs, set: &Set) -> Result<u64, String> {
    let (next, done, bytes, over) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let failed: Mutex<Option<String>> = Mutex::new(None);
    let work = || {
        while !over.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= set.count() {
                return;
            }
            match write_file(&args.dir, set, args.seed, index) {
                Ok(len) => {
                    bytes.fetch_add(len, Ordering::Relaxed);
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Err(message) => {
                    over.store(true, Ordering::Relaxed);
                    if let Ok(mut failed) = failed.lock() {
                        failed.get_or_insert(message);
                    }
                }
            }
        }
    };
    let progress = !args.quiet && stderr().is_terminal();
    let show = || {
        let (done, all) = (done.load(Ordering::Relaxed), set.count());
        let size = units::bytes(bytes.load(Ordering::Relaxed) as f64);
        let _ = write!(stderr(), "\r\x1b[2K  {set}: {} of {}, {size}", units::whole(done), units::whole(all));
        let _ = stderr().flush();
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        while progress && workers.iter().any(|worker| !worker.is_finished()) {
            show();
            thread::sleep(PROGRESS);
        }
    });
    if progress {
        let _ = write!(stderr(), "\r\x1b[2K");
    }
    match failed.into_inner() {
        Ok(Some(message)) => Err(message),
        _ => Ok(bytes.into_inner()),
    }
}

fn write_file(dir: &Path, set: &Set, seed: u64, index: u64) -> Result<u64, String> {
    let path = dir.join(set.path(index));
    let bytes = set.bytes(seed, index)?;
    let written = match fs::write(&path, &bytes) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, &bytes))
        }
        other => other,
    };
    written.map(|()| bytes.len() as u64).map_err(|error| cannot("write", &path, &error))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} `{}`: {error}", path.display())
}
