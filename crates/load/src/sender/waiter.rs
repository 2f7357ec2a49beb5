//! Waiting for sockets and for a moment, as exactly as the machine allows.
//!
//! The waits of epoll are whole milliseconds; an open loop needs microseconds. A timer of the kernel wakes the thread a
//! little before the moment, and the rest is spent looking at the sockets without sleeping: a core that sleeps needs tens
//! of microseconds to wake, more in a virtual machine. Where CPU matters more, moments are rounded up and slept for.
//!
//! Not here: what is due.

use std::io;

use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::wheel::TICK_NS;

/// What comes back with the timer's event: no client has this number.
pub(super) const TOKEN: u64 = u64::MAX;
/// So long before the moment the thread is awake. Waking from a sleep took 26 to 82 microseconds on the machine this was
/// measured on.
const AWAKE_NS: u64 = 100_000;
/// Without precision moments are rounded up to these.
const QUANTUM_NS: u64 = 500_000;

#[derive(Debug)]
pub(super) struct Waiter {
    timer: OwnedFd,
    precise: bool,
    armed_ns: u64,
}

/// What came of a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited {
    /// How many events there are.
    pub count: usize,
    /// Whether it did not sleep.
    pub awake: bool,
    /// When it was to end at the latest.
    pub until_ns: u64,
}

impl Waiter {
    pub(super) fn new(epoll: &OwnedFd, precise: bool) -> io::Result<Waiter> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered: arming it anew is all the answer it needs.
        epoll::add(epoll, &timer, EventData::new_u64(TOKEN), EventFlags::IN | EventFlags::ET)?;
        Ok(Waiter { timer, precise, armed_ns: u64::MAX })
    }

    /// Waits until sockets have something, or `exact_ns`, which is to be met as well as can be, or `coarse_ns`, which a
    /// millisecond does not matter to.
    pub(super) fn wait(
        &mut self,
        epoll: &OwnedFd,
        events: &mut [Event],
        now_ns: u64,
        exact_ns: u64,
        coarse_ns: u64,
    ) -> io::Result<Waited> {
        let mut awake = false;
        let mut wait = timeout(coarse_ns.saturating_sub(now_ns));
        if exact_ns < coarse_ns.saturating_add(TICK_NS) {
            let left_ns = exact_ns.saturating_sub(now_ns);
            if self.precise && left_ns <= AWAKE_NS {
                awake = true;
                wait = Timespec { tv_sec: 0, tv_nsec: 0 };
            } else if self.precise {
                self.arm(now_ns, exact_ns - AWAKE_NS)?;
            } else {
                self.arm(now_ns, exact_ns.div_ceil(QUANTUM_NS).saturating_mul(QUANTUM_NS))?;
            }
        }
        let until_ns = now_ns.saturating_add(u64::try_from(wait.tv_nsec).unwrap_or(0));
        match epoll::wait(epoll, events, Some(&wait)) {
            Ok(count) => Ok(Waited { count, awake, until_ns }),
            Err(Errno::INTR) => Ok(Waited { count: 0, awake, until_ns }),
            Err(error) => Err(error.into()),
        }
    }

    fn arm(&mut self, now_ns: u64, at_ns: u64) -> io::Result<()> {
        if self.armed_ns == at_ns {
            return Ok(());
        }
        self.armed_ns = at_ns;
        let left_ns = at_ns.saturating_sub(now_ns).max(1);
        let value = Timespec {
            tv_sec: i64::try_from(left_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(left_ns % 1_000_000_000).unwrap_or(0),
        };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: zero, it_value: value },
        )?;
        Ok(())
    }
}

/// Whole milliseconds, rounded up: `epoll_pwait` takes no less.
fn timeout(wait_ns: u64) -> Timespec {
    let wait_ms = wait_ns.min(TICK_NS).div_ceil(1_000_000);
    Timespec { tv_sec: 0, tv_nsec: i64::try_from(wait_ms.min(999) * 1_000_000).unwrap_or(0) }
}
