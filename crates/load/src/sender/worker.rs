//! The loop of one thread: wait for sockets, hand each event to the desk, look at the clock.
//!
//! Not here: what an event leads to ([`super::desk`]).

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::conn::{Conn, State};
use super::desk::Desk;
use super::meter::Meter;
use super::wheel::{TICK_NS, Wheel};
use super::{Address, Clock, Message, Outcome, Shared, socket};
use crate::pacer::{Pacer, Phase};
use crate::plan::Plan;
use crate::tally::Tally;
use crate::tally::series::Slice;

/// One read buffer per thread, not per connection.
const BUFFER_BYTES: usize = 128 * 1024;
/// Events taken at once.
const EVENTS: usize = 256;
/// Reads of one socket in a row, so that a fast one does not starve the others.
const READS_IN_A_ROW: u32 = 8;

pub(super) struct Worker<'a> {
    conns: Vec<Conn>,
    desk: Desk<'a>,
    buffer: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        addresses: &'a [Vec<Address>],
        thread: u32,
        clock: Clock,
        shared: &'a Shared,
        out: Sender<Message>,
    ) -> io::Result<Worker<'a>> {
        let conns: Vec<Conn> =
            plan.connections_of(thread).map(|index| Conn::new(plan.origin_of(index))).collect();
        let desk = Desk {
            plan,
            addresses,
            shared,
            clock,
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            wheel: Wheel::new(),
            pacer: Pacer::new(plan.schedule, plan.budget_of(thread)),
            tally: Tally::default(),
            meter: Meter::default(),
            slice: Slice::default(),
            out,
            live: conns.len(),
            measuring: 0,
            turns: (0..plan.origins.len()).map(|origin| plan.first_of(thread, origin)).collect(),
            preferred: vec![0; plan.origins.len()],
            window_start_ns: plan.schedule.window_start_ns(),
            window_end_ns: plan.schedule.window_end_ns().unwrap_or(u64::MAX),
        };
        Ok(Worker { conns, desk, buffer: vec![0; BUFFER_BYTES] })
    }

    pub(super) fn run(mut self) -> io::Result<Outcome> {
        let blank = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [blank; EVENTS];
        let schedule = self.desk.plan.schedule;
        let start_ns = self.desk.clock.now_ns();
        self.desk.meter.pass(start_ns, schedule.window_start_ns(), schedule.window_end_ns());
        for (id, conn) in (0_u32..).zip(&mut self.conns) {
            self.desk.open(conn, id, start_ns);
        }
        let mut now_ns = self.desk.clock.now_ns();
        loop {
            let edge_ns = self.desk.meter.next_edge_ns(schedule.window_start_ns(), schedule.window_end_ns());
            let due_ns = self.desk.wheel.next_tick_ns().min(edge_ns);
            if now_ns >= due_ns {
                self.tick(now_ns);
                self.desk.meter.pass(now_ns, schedule.window_start_ns(), schedule.window_end_ns());
                if self.is_over(now_ns) {
                    break;
                }
                continue;
            }
            if self.desk.live == 0 && self.desk.measuring == 0 {
                break;
            }
            let count = match epoll::wait(&self.desk.epoll, &mut events, Some(&timeout(due_ns - now_ns))) {
                Ok(count) => count,
                Err(Errno::INTR) => 0,
                Err(error) => return Err(error.into()),
            };
            let woken_ns = self.desk.clock.now_ns();
            for event in events.iter().take(count) {
                let (flags, data) = (event.flags, event.data);
                self.event(flags, data.u64());
            }
            now_ns = self.desk.clock.now_ns();
            self.desk.meter.turn(now_ns.saturating_sub(woken_ns));
            self.desk.roll(now_ns, false);
        }
        Ok(self.close(now_ns))
    }

    fn is_over(&self, now_ns: u64) -> bool {
        let stopped = self.desk.shared.stop.load(Ordering::Relaxed);
        let over = self.desk.plan.schedule.phase_at(now_ns) == Phase::Over;
        stopped || ((over || self.desk.live == 0) && self.desk.measuring == 0)
    }

    fn tick(&mut self, now_ns: u64) {
        while let Some((tick, ids)) = self.desk.wheel.take(now_ns) {
            for id in ids {
                if let Some(conn) = self.conns.get_mut(id as usize) {
                    self.desk.wheel_came(conn, id, tick, now_ns);
                }
            }
        }
        self.desk.roll(now_ns, false);
    }

    fn event(&mut self, flags: EventFlags, token: u64) {
        let id = (token & u64::from(u32::MAX)) as u32;
        let Some(conn) = self.conns.get_mut(id as usize) else { return };
        if u64::from(conn.generation) != token >> 32 || conn.socket.is_none() {
            return;
        }
        if conn.state == State::Connecting {
            return self.desk.connected(conn, id);
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            let generation = conn.generation;
            read(&mut self.desk, conn, id, &mut self.buffer);
            if conn.generation != generation {
                return;
            }
        }
        if flags.contains(EventFlags::OUT) && conn.state == State::Busy {
            self.desk.write(conn, id);
        }
    }

    fn close(mut self, now_ns: u64) -> Outcome {
        self.desk.roll(now_ns, true);
        self.desk.tally.counts.unfinished =
            self.conns.iter().filter(|conn| conn.is_measuring()).count() as u64;
        let Desk { tally, meter, .. } = self.desk;
        Outcome { tally, usage: meter.finish(now_ns), ended_ns: now_ns }
    }
}

/// Reads what a socket has, answer by answer.
fn read(desk: &mut Desk<'_>, conn: &mut Conn, id: u32, buffer: &mut [u8]) {
    for _ in 0..READS_IN_A_ROW {
        let Some(socket) = conn.socket.as_ref() else { return };
        let result = socket::read(socket, buffer);
        if conn.state == State::Done {
            // Nothing is asked for any more: an end is no news, and bytes belong to no answer.
            if result != Err(Errno::AGAIN) {
                conn.socket = None;
                desk.tally.counts.connections_open = desk.tally.counts.connections_open.saturating_sub(1);
            }
            return;
        }
        let now_ns = desk.clock.now_ns();
        match result {
            Ok(0) => return desk.closed(conn, id, now_ns),
            Ok(count) => {
                let more = desk.take(conn, id, buffer.get(..count).unwrap_or_default(), now_ns);
                if !more || count < buffer.len() {
                    return;
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return,
            Err(error) => {
                return desk.fail(conn, id, socket::io_failure(error), now_ns, || socket::text(error));
            }
        }
    }
}

/// Whole milliseconds, rounded up: `epoll_pwait` takes no less, and nothing here is due more exactly.
fn timeout(wait_ns: u64) -> Timespec {
    let wait_ms = wait_ns.min(TICK_NS).div_ceil(1_000_000);
    Timespec { tv_sec: 0, tv_nsec: i64::try_from(wait_ms.min(999) * 1_000_000).unwrap_or(0) }
}
