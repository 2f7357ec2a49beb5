//! The access log: lines are formatted on the serving core and written by one thread.
//!
//! The thread may have to wait for whoever reads the log; nobody else ever does. Not here: the lines' form (`trace`), and what is worth a line (`pipeline::finish`).

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Nowhere.
    Off,
    /// Standard error.
    Stderr,
    /// A file, appended to.
    File(PathBuf),
}

/// A core's buffer is handed to the writer when it holds this much, or after a tenth of a second.
const WAKE_BYTES: usize = 64 * 1024;

/// Beyond this the writer is stuck (a full disk, a stopped terminal) and lines are dropped, counted.
const BUFFER_MAX_BYTES: usize = 4 * 1024 * 1024;

/// The access log.
#[derive(Debug)]
pub struct AccessLog {
    buffers: Vec<Mutex<Vec<u8>>>,
    on: AtomicBool,
    dropped: AtomicU64,
    control: Mutex<Control>,
    wake: Condvar,
}

#[derive(Debug)]
struct Control {
    destination: Destination,
    reopen: bool,
    stop: bool,
    stopped: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AccessLog {
    /// Starts the writer.
    ///
    /// # Errors
    /// If the file cannot be opened, or the thread not started.
    pub fn start(cores: usize, destination: Destination) -> Result<Arc<AccessLog>, String> {
        let file = open(&destination)?;
        let log = Arc::new(AccessLog {
            buffers: (0..cores).map(|_| Mutex::default()).collect(),
            on: AtomicBool::new(destination != Destination::Off),
            dropped: AtomicU64::new(0),
            control: Mutex::new(Control { destination, reopen: false, stop: false, stopped: false }),
            wake: Condvar::new(),
        });
        let writer = Arc::clone(&log);
        std::thread::Builder::new()
            .name("access-log".into())
            .spawn(move || writer.run(file))
            .map_err(|e| format!("start the access log's thread: {e}"))?;
        Ok(log)
    }

    /// Whether lines are wanted at all.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Lines lost because the writer could not keep up.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Lets `write` append one line to the core's buffer.
    pub fn line(&self, core: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let Some(buffer) = self.buffers.get(core) else { return };
        let mut buffer = lock(buffer);
        if buffer.len() > BUFFER_MAX_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = buffer.len();
        write(&mut buffer);
        if before < WAKE_BYTES && buffer.len() >= WAKE_BYTES {
            self.wake.notify_one();
        }
    }

    /// Opens the file again (after it was moved away).
    pub fn reopen(&self) {
        lock(&self.control).reopen = true;
        self.wake.notify_one();
    }

    /// Changes the destination.
    ///
    /// # Errors
    /// If the new file cannot be opened; the old destination stays.
    pub fn redirect(&self, destination: Destination) -> Result<(), String> {
        open(&destination)?;
        let mut control = lock(&self.control);
        if control.destination != destination {
            self.on.store(destination != Destination::Off, Ordering::Relaxed);
            control.destination = destination;
            control.reopen = true;
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Writes what is left and ends the writer; waits for so long at most, as whoever reads the log may have stopped.
    pub fn stop(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let mut control = lock(&self.control);
        control.stop = true;
        self.wake.notify_all();
        while !control.stopped {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            control = self.wake.wait_timeout(control, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn run(&self, mut file: Option<File>) {
        let mut batch = Vec::new();
        loop {
            let stop = {
                let control = lock(&self.control);
                let (mut control, _) = if control.stop || control.reopen {
                    (control, None)
                } else {
                    let (guard, timeout) = self
                        .wake
                        .wait_timeout(control, Duration::from_millis(100))
                        .unwrap_or_else(PoisonError::into_inner);
                    (guard, Some(timeout))
                };
                if std::mem::take(&mut control.reopen) {
                    match open(&control.destination) {
                        Ok(reopened) => file = reopened,
                        // Keep writing where we can: a log in the old file is better than none.
                        Err(message) => crate::say!("samovar: access log: {message}"),
                    }
                }
                control.stop
            };
            for buffer in &self.buffers {
                std::mem::swap(&mut batch, &mut *lock(buffer));
                self.write(&mut file, &batch);
                batch.clear();
            }
            if stop {
                lock(&self.control).stopped = true;
                self.wake.notify_all();
                return;
            }
        }
    }

    fn write(&self, file: &mut Option<File>, batch: &[u8]) {
        if batch.is_empty() {
            return;
        }
        let result = match file {
            Some(file) => file.write_all(batch),
            None => crate::stderr::write(batch),
        };
        if let Err(error) = result {
            if self.dropped.load(Ordering::Relaxed) == 0 {
                crate::say!(
                    "samovar: the access log cannot be written: {error}; lines are dropped and counted in /metrics"
                );
            }
            let lines = batch.iter().filter(|b| **b == b'\n').count();
            self.dropped.fetch_add(lines as u64, Ordering::Relaxed);
        }
    }
}

fn open(destination: &Destination) -> Result<Option<File>, String> {
    match destination {
        Destination::Off | Destination::Stderr => Ok(None),
        Destination::File(path) => crate::operator_files::append(path)
            .map(Some)
            .map_err(|error| format!("open {}: {error}", path.display())),
    }
}
