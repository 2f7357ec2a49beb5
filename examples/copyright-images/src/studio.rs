//! The workers: as many image jobs at once as there are cores, however many connections ask.
//!
//! Not here: HTTP (`serve`), what a job does to a picture (`picture`).

use crate::language::Language;
use crate::picture::Picture;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Jobs that may wait; more are refused, so that memory stays bounded.
const QUEUE: usize = 2048;

struct Job {
    picture: usize,
    language: Language,
    reply: SyncSender<Result<Vec<u8>, String>>,
}

/// All pictures and the threads that letter them.
pub(crate) struct Studio {
    pictures: Arc<Vec<Picture>>,
    jobs: SyncSender<Job>,
}

impl Studio {
    /// Generates `count` pictures on `threads` threads, then keeps as many threads for the work.
    pub(crate) fn open(count: usize, threads: usize) -> Result<Studio, String> {
        let pictures = Arc::new(generate(count, threads)?);
        let (jobs, queue) = sync_channel::<Job>(QUEUE);
        let queue = Arc::new(Mutex::new(queue));
        for n in 0..threads {
            let (pictures, queue) = (Arc::clone(&pictures), Arc::clone(&queue));
            thread::Builder::new()
                .name(format!("image-{n}"))
                .spawn(move || work(&pictures, &queue))
                .map_err(|e| format!("cannot start worker {n}: {e}"))?;
        }
        Ok(Studio { pictures, jobs })
    }

    /// All pictures, in the order they are listed.
    pub(crate) fn pictures(&self) -> &[Picture] {
        &self.pictures
    }

    /// A lettered picture, or `None` where no picture has this name.
    pub(crate) fn lettered(&self, name: &str, language: Language) -> Option<Result<Vec<u8>, String>> {
        let picture = self.pictures.iter().position(|p| p.name == name)?;
        let (reply, answer) = sync_channel(1);
        if self.jobs.try_send(Job { picture, language, reply }).is_err() {
            return Some(Err(format!("more than {QUEUE} pictures are waiting to be drawn")));
        }
        Some(answer.recv().unwrap_or_else(|_| Err("the worker gave up".into())))
    }
}

fn work(pictures: &[Picture], queue: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is held only while waiting for a job, never while doing one.
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let Some(picture) = pictures.get(job.picture) else { continue };
        // Whoever asked may be gone; that is no matter to the worker.
        let _ = job.reply.send(picture.lettered(job.language).map(|l| l.jpeg));
    }
}

fn generate(count: usize, threads: usize) -> Result<Vec<Picture>, String> {
    let threads = threads.max(1);
    let shares = thread::scope(|scope| {
        let painters: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || {
                    (first..count).step_by(threads).map(|n| (n, Picture::generate(n))).collect::<Vec<_>>()
                })
            })
            .collect();
        painters
            .into_iter()
            .map(|p| p.join().map_err(|_| "a painter panicked".to_string()))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let mut numbered: Vec<_> = shares.into_iter().flatten().collect();
    numbered.sort_by_key(|(n, _)| *n);
    numbered.into_iter().map(|(_, picture)| picture).collect()
}
