//! Standard error, written by one thread, so that nobody else ever waits for who reads it.
//!
//! A terminal that was stopped, a full pipe, a log collector that hangs: a write to standard error may take for ever.
//! While a server runs, each line goes into a bounded queue instead, and a thread of its own writes it. What finds no room
//! is dropped and counted; how many lines were lost is written as soon as there is room again. Commands that end by
//! themselves start no such thread: their lines are written at once. Not here: the access log's queue (`log`), which shares
//! [`write`], so that lines of both stay whole.

use std::fmt;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What waits to be written at most, bytes.
const WAITING_MAX_BYTES: usize = 1 << 20;

/// How long the end of the process waits for lines to be written.
pub const FLUSH_AT_END: Duration = Duration::from_secs(1);

static QUEUE: OnceLock<Arc<Queue>> = OnceLock::new();

/// Lines that wait for the thread.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    /// There is something to write.
    filled: Condvar,
    /// All of it is written.
    emptied: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    writing: bool,
    /// Lines dropped since the last time that this was written.
    lost: u64,
}

/// From now on lines are queued, and a thread writes them. The messages of panics, too: the standard library writes them
/// on the thread that panics, which may serve clients.
///
/// # Errors
/// If the thread cannot be started.
pub fn start() -> Result<(), String> {
    let queue = Arc::new(Queue::default());
    let own = Arc::clone(&queue);
    std::thread::Builder::new()
        .name("stderr".into())
        .spawn(move || own.run(write))
        .map_err(|e| format!("start the thread that writes standard error: {e}"))?;
    if QUEUE.set(queue).is_ok() {
        std::panic::set_hook(Box::new(|info| {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("without a name");
            let trace = std::backtrace::Backtrace::capture();
            line(format_args!("samovar: thread {name}: {info}"));
            if trace.status() == std::backtrace::BacktraceStatus::Captured {
                line(format_args!("{trace}"));
            }
            // The process ends with its main thread.
            if name == "main" {
                flush(FLUSH_AT_END);
            }
        }));
    }
    Ok(())
}

/// Writes a line, or puts it in the queue if the thread runs.
pub fn line(words: fmt::Arguments<'_>) {
    match QUEUE.get() {
        Some(queue) => queue.push(&format!("{words}\n")),
        None => {
            // Unlike `eprintln!` it does not panic when nobody reads any more.
            let _nobody_reads = write(format!("{words}\n").as_bytes());
        }
    }
}

/// Lines lost because nobody read them in time.
pub fn dropped() -> u64 {
    QUEUE.get().map_or(0, |queue| queue.dropped.load(Ordering::Relaxed))
}

/// Waits until all lines are written, for so long at most.
pub fn flush(at_most: Duration) {
    if let Some(queue) = QUEUE.get() {
        queue.flush(at_most);
    }
}

/// Writes to standard error and waits for it: only for threads on which nobody waits. A write of another thread does not
/// come in between.
///
/// # Errors
/// If standard error cannot be written.
pub fn write(mut bytes: &[u8]) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    // Not the standard library's own lock: others might wait for that one.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let stderr = io::stderr();
    let stderr = stderr.as_fd();
    while !bytes.is_empty() {
        match rustix::io::write(stderr, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            // Whoever shares the other end may have made it non-blocking.
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, text: &str) {
        let mut state = self.lock();
        if state.waiting.len() + text.len() > WAITING_MAX_BYTES {
            let lines = lines(text.as_bytes());
            state.lost += lines;
            self.dropped.fetch_add(lines, Ordering::Relaxed);
            return;
        }
        state.waiting.extend_from_slice(text.as_bytes());
        drop(state);
        self.filled.notify_one();
    }

    fn flush(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let mut state = self.lock();
        while state.writing || !state.waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.emptied.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The thread's life.
    fn run(&self, mut write: impl FnMut(&[u8]) -> io::Result<()>) {
        let mut state = self.lock();
        loop {
            while state.waiting.is_empty() {
                state.writing = false;
                self.emptied.notify_all();
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.writing = true;
            let mut batch = std::mem::take(&mut state.waiting);
            let lost = std::mem::take(&mut state.lost);
            drop(state);
            if lost > 0 {
                let told = format!(
                    "samovar: {lost} lines are missing here: standard error was not read, and they were dropped\n"
                );
                batch.extend_from_slice(told.as_bytes());
            }
            if write(&batch).is_err() {
                self.dropped.fetch_add(lines(&batch), Ordering::Relaxed);
            }
            state = self.lock();
        }
    }
}

fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A thread whose writes wait until they are let through; what they wrote.
    fn started(queue: &Arc<Queue>) -> (mpsc::Sender<()>, mpsc::Receiver<String>) {
        let (go, may) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let own = Arc::clone(queue);
        std::thread::spawn(move || {
            own.run(|bytes| {
                let through = may.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
                tell.send(String::from_utf8_lossy(bytes).into_owned()).unwrap();
                through
            });
        });
        (go, told)
    }

    #[test]
    fn nobody_waits_for_a_reader_that_does_not_read() {
        let queue = Arc::new(Queue::default());
        let (go, told) = started(&queue);
        let line = format!("{}\n", "x".repeat(1023));
        // All of it returns, though nothing is written: what is too much is counted.
        for _ in 0..5_000 {
            queue.push(&line);
        }
        let dropped = queue.dropped.load(Ordering::Relaxed);
        assert!((5_000 - 2 * 1024..=5_000 - 1024).contains(&dropped), "{dropped}");
        queue.flush(Duration::from_millis(20));
        assert!(queue.lock().writing || !queue.lock().waiting.is_empty(), "a flush ends all the same");
        // Somebody reads again: what waited comes, and how much is missing.
        go.send(()).unwrap();
        go.send(()).unwrap();
        go.send(()).unwrap();
        queue.flush(Duration::from_secs(60));
        let all: String = told.try_iter().collect();
        let missing = all.lines().filter_map(|line| {
            line.strip_prefix("samovar: ")?.split_once(" lines are missing here")?.0.parse::<u64>().ok()
        });
        assert_eq!(missing.sum::<u64>(), dropped);
        assert_eq!(all.matches('x').count() as u64, (5_000 - dropped) * 1023);
        queue.push("after\n");
        queue.flush(Duration::from_secs(60));
        assert_eq!(told.try_iter().collect::<String>(), "after\n");
        // Nobody will ever read again: counted, and no panic.
        drop(go);
        queue.push("one\ntwo\n");
        queue.flush(Duration::from_secs(60));
        assert_eq!(queue.dropped.load(Ordering::Relaxed), dropped + 2);
    }
}
