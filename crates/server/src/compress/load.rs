//! How busy a core is, and whether another answer may be compressed on it while it is sent.
//!
//! Looked at ten times a second: the part of the time that the core's thread spent on the processor. Not here: what is
//! then done instead (the answer goes out as it is, with its reason).

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// One core's load, and the answers that are being compressed on it.
#[derive(Debug, Default)]
pub struct Load {
    /// At the last look: processor time and time, µs.
    last_us: Cell<Option<(u64, u64)>>,
    busy_percent: Cell<u64>,
    streams: Rc<Cell<u64>>,
}

/// An answer that is being compressed, as long as it is held.
#[derive(Debug)]
pub struct Stream(Rc<Cell<u64>>);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Load {
    /// Looks: so much processor time the thread has had, and it is so late now, µs.
    pub fn look(&self, processor_us: u64, now_us: u64) {
        if let Some((processor_before, before)) = self.last_us.replace(Some((processor_us, now_us))) {
            let passed = now_us.saturating_sub(before);
            let used = processor_us.saturating_sub(processor_before);
            if let Some(percent) = (used * 100).checked_div(passed) {
                self.busy_percent.set(percent.min(100));
            }
        }
    }

    /// How busy the core was at the last look, in hundredths.
    pub fn busy_percent(&self) -> u64 {
        self.busy_percent.get()
    }

    /// Answers that are being compressed.
    pub fn streams(&self) -> u64 {
        self.streams.get()
    }

    /// Begins one; `None` if the core is too busy, or too many are under way.
    pub fn begin(&self, yield_at_percent: u8, streams_max: u64) -> Option<Stream> {
        let busy = yield_at_percent < 100 && self.busy_percent.get() > u64::from(yield_at_percent);
        if busy || self.streams.get() >= streams_max {
            return None;
        }
        self.streams.set(self.streams.get() + 1);
        Some(Stream(Rc::clone(&self.streams)))
    }
}

/// Processor time of this thread, µs.
pub fn processor_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0) * 1_000_000 + nanoseconds.unwrap_or(0) / 1_000
}

thread_local! {
    /// What the scheduler says of this thread; opened once.
    static SCHEDULED: Option<File> = File::open("/proc/thread-self/schedstat").ok();
}

/// Processor time of this thread as of the scheduler's last look at it (some milliseconds ago at most), µs. For who asks
/// ten times a second that is enough, and it goes where the exact clock does not: under an instruction counter.
pub fn scheduled_us() -> u64 {
    let mut text = [0_u8; 64];
    let read = SCHEDULED.with(|file| file.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()));
    let text = read.and_then(|bytes| std::str::from_utf8(text.get(..bytes)?).ok());
    let ns = text.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    ns.map_or_else(processor_us, |ns| ns / 1_000)
}

#[cfg(test)]
mod tests {
    use super::Load;

    #[test]
    fn a_busy_core_gives_way() {
        let load = Load::default();
        assert!(load.begin(85, 1).is_some(), "nothing is known yet");
        load.look(0, 1_000_000);
        load.look(90_000, 1_100_000);
        assert_eq!(load.busy_percent(), 90);
        assert!(load.begin(85, 1).is_none());
        assert!(load.begin(90, 1).is_some(), "no busier than it may be");
        assert!(load.begin(100, 1).is_some(), "for always");
        load.look(95_000, 1_200_000);
        assert_eq!(load.busy_percent(), 5);
        let stream = load.begin(85, 1);
        assert!(stream.is_some() && load.begin(85, 1).is_none(), "one at a time");
        drop(stream);
        assert!(load.begin(85, 1).is_some());
        assert!(load.begin(85, 0).is_none());
    }
}
