//! Threads that make coded forms of stored bodies. They begin with the first order, run when nothing else wants the
//! processor (nice 10), and look between two pieces whether the form is still wanted.

use super::load::processor_us;
use super::tally::{AllForms, FormsMade, media_of};
use samovar_cache::{Cache, Entry, Making};
use samovar_coding::Encoder;
use samovar_policy::Coding;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Orders that may wait. Beyond that none is taken; the next request for the same asks again.
const QUEUE_MAX: usize = 1_024;

/// How much is coded before it is asked whether it is still wanted, bytes.
const PIECE_BYTES: usize = 256 << 10;

/// How much less important these threads are than those that serve.
const NICE: i32 = 10;

/// A form to be made.
#[derive(Debug)]
pub struct Order {
    /// Of this entry's body.
    pub entry: Arc<Entry>,
    /// The right to make it.
    pub making: Making,
    /// In this coding.
    pub coding: Coding,
    /// At this level.
    pub level: u32,
}

/// The threads and their queue.
#[derive(Debug)]
pub struct Workers {
    desk: Arc<Desk>,
    threads: usize,
    begun: OnceLock<()>,
}

#[derive(Debug)]
struct Desk {
    queue: Mutex<Queue>,
    come: Condvar,
    cache: Arc<Cache>,
    made: AllForms,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    orders: VecDeque<Order>,
    stop: bool,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workers {
    /// So many threads, once there is something to do.
    pub fn new(threads: usize, cache: &Arc<Cache>) -> Workers {
        let desk = Desk {
            queue: Mutex::default(),
            come: Condvar::new(),
            cache: Arc::clone(cache),
            made: AllForms::default(),
            refused: AtomicU64::new(0),
        };
        Workers { desk: Arc::new(desk), threads: threads.max(1), begun: OnceLock::new() }
    }

    /// Takes an order; where too many wait it is given up, and the form stays unmade.
    pub fn order(&self, order: Order) {
        self.begun.get_or_init(|| self.begin());
        let mut queue = self.desk.lock();
        if queue.orders.len() >= QUEUE_MAX {
            self.desk.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        queue.orders.push_back(order);
        drop(queue);
        self.desk.come.notify_one();
    }

    /// Orders that wait.
    pub fn waiting(&self) -> usize {
        self.desk.lock().orders.len()
    }

    /// Orders that were given up because too many waited.
    pub fn refused(&self) -> u64 {
        self.desk.refused.load(Ordering::Relaxed)
    }

    /// Threads there are, or will be.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// What was made, by media type and coding.
    pub fn made(&self) -> Vec<(Box<str>, Coding, FormsMade)> {
        self.desk.made.list()
    }

    fn begin(&self) {
        for number in 0..self.threads {
            let desk = Arc::clone(&self.desk);
            let thread = std::thread::Builder::new().name(format!("compress-{number}"));
            if let Err(error) = thread.spawn(move || work(&desk)) {
                crate::say!(
                    "samovar: start a thread for compression: {error}; stored answers stay as they are"
                );
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut queue = self.desk.lock();
        queue.stop = true;
        queue.orders.clear();
        drop(queue);
        self.desk.come.notify_all();
    }
}

fn work(desk: &Desk) {
    // Linux counts niceness by thread. Without it the forms come all the same.
    let _ = rustix::process::nice(NICE);
    loop {
        let mut queue = desk.lock();
        let order = loop {
            if queue.stop {
                return;
            }
            match queue.orders.pop_front() {
                Some(order) => break order,
                None => queue = desk.come.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(queue);
        make(desk, order);
        desk.cache.make_room();
    }
}

fn make(desk: &Desk, order: Order) {
    let Order { entry, making, coding, level } = order;
    let Some(pieces) = entry.whole() else { return };
    let headers = entry.headers();
    let plain: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    // From here on only those hold it who use it.
    drop(entry);
    let _room = desk.cache.budget().charge(samovar_coding::memory_bytes(coding, level));
    let begun_us = processor_us();
    let mut coded = Vec::new();
    let result = Encoder::new(coding, level, Some(plain)).and_then(|mut encoder| {
        for piece in pieces.iter().flat_map(|piece| piece.chunks(PIECE_BYTES)) {
            encoder.write(piece)?;
            if !making.is_wanted() {
                return Ok(false);
            }
        }
        coded = encoder.take();
        coded.append(&mut encoder.finish()?);
        Ok(true)
    });
    match result {
        Ok(true) => {}
        // Nobody wants it any more.
        Ok(false) => return,
        Err(error) => {
            crate::say!("samovar: compress a stored answer with {}: {error}", coding.name());
            return making.done(None);
        }
    }
    let kept = samovar_rules::pays(plain, coded.len() as u64).then_some(coded);
    let spent_us = processor_us().saturating_sub(begun_us);
    let after = kept.as_ref().map(|coded| coded.len() as u64);
    desk.made.add(media_of(&headers), coding, plain, after, spent_us);
    making.done(kept);
}
