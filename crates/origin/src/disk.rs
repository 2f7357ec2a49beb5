//! Threads that wait for the disk in a core's place.
//!
//! They are of this alone: names are looked up elsewhere, and neither holds up the other. There are as many as a disk is
//! well served with; what comes meanwhile waits in line. Not here: what is read.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// At most so many threads. Each takes about a megabyte with what the allocator keeps for it (measured: 64 clients, files
/// that had left the system's memory).
const THREADS_MAX: usize = 16;

/// How long one stays without work.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

struct Line {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

struct Pool {
    line: Mutex<Line>,
    work: Condvar,
}

static POOL: Pool =
    Pool { line: Mutex::new(Line { jobs: VecDeque::new(), threads: 0, idle: 0 }), work: Condvar::new() };

/// Has `read` done by one of the threads. What comes of it is an error if `read` panicked.
///
/// # Errors
/// No thread could be made, and there is none.
pub(crate) fn read<T: Send + 'static>(
    read: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<oneshot::Receiver<T>> {
    let (tell, told) = oneshot::channel();
    let job: Job = Box::new(move || {
        // Whoever left meanwhile wants nothing.
        if !tell.is_closed() {
            let _gone = tell.send(read());
        }
    });
    POOL.take(job)?;
    Ok(told)
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&'static self, job: Job) -> std::io::Result<()> {
        let mut line = self.lock();
        if line.idle <= line.jobs.len() && line.threads < THREADS_MAX {
            match std::thread::Builder::new().name("samovar-disk".into()).spawn(|| self.serve()) {
                Ok(_) => line.threads += 1,
                Err(error) if line.threads == 0 => return Err(error),
                Err(_) => {}
            }
        }
        line.jobs.push_back(job);
        drop(line);
        self.work.notify_one();
        Ok(())
    }

    fn serve(&self) {
        let mut line = self.lock();
        loop {
            if let Some(job) = line.jobs.pop_front() {
                drop(line);
                // A panic is the reader's; it is told by what it does not get.
                let _panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                line = self.lock();
                continue;
            }
            line.idle += 1;
            let (woken, waited) = self.work.wait_timeout(line, IDLE).unwrap_or_else(PoisonError::into_inner);
            line = woken;
            line.idle -= 1;
            if waited.timed_out() && line.jobs.is_empty() {
                line.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn all_is_done_by_no_more_threads_than_there_may_be() {
        let (begin, begun) = mpsc::channel();
        let gate = std::sync::Arc::new(std::sync::RwLock::new(()));
        let shut = gate.write().unwrap();
        let told: Vec<_> = (0..100)
            .map(|n| {
                let (begin, gate) = (begin.clone(), gate.clone());
                read(move || {
                    begin.send(()).unwrap();
                    drop(gate.read());
                    n
                })
                .unwrap()
            })
            .collect();
        for _ in 0..THREADS_MAX {
            begun.recv().unwrap();
        }
        assert!(begun.try_recv().is_err(), "the others wait");
        drop(shut);
        let done: Vec<i32> = told.into_iter().map(|told| told.blocking_recv().unwrap()).collect();
        assert_eq!(done, (0..100).collect::<Vec<_>>());
        let panicked = read(|| -> i32 { panic!("as planned") }).unwrap();
        assert!(panicked.blocking_recv().is_err());
        assert_eq!(read(|| 7).unwrap().blocking_recv(), Ok(7), "and the threads go on");
    }
}
