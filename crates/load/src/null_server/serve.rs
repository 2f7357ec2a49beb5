//! The loop of the null server: accepts, reads, answers what is due, sleeps until more is.
//!
//! A timer of the kernel wakes it a little before an answer is due, and the rest is spent awake, so that answers are late by
//! microseconds and not by what a core needs to wake. Not here: when answers are due ([`super::due`]).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::due::{Owed, Who};
use super::heads::Heads;
use super::{Manner, Served};

/// Events of these are no connection's.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;
/// So long before an answer is due it is awake.
const AWAKE_NS: u64 = 100_000;
/// Of so many answers it is kept by how much they were late.
const LATE_KEPT: usize = 1 << 20;

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    heads: Heads,
    /// Answers to be written, and how much of the first of them is.
    to_write: u64,
    written: usize,
    /// Whether it waits for room to write.
    blocked: bool,
}

#[derive(Debug)]
struct Place {
    generation: u32,
    connection: Option<Connection>,
}

#[derive(Debug)]
pub(super) struct Worker {
    listener: TcpListener,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// Kept open for as long as it is waited for.
    _stop: Arc<OwnedFd>,
    clock: Instant,
    owed: Owed,
    answer: Vec<u8>,
    buffer: Vec<u8>,
    places: Vec<Place>,
    free: Vec<usize>,
    served: Served,
}

impl Worker {
    pub(super) fn new(listener: TcpListener, stop: Arc<OwnedFd>, manner: &Manner) -> io::Result<Worker> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered: without files to accept with, a connection that waits must not keep the loop awake.
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN | EventFlags::ET)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        epoll::add(&epoll, &*stop, EventData::new_u64(STOP), EventFlags::IN)?;
        let mut answer =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", manner.body_bytes).into_bytes();
        answer.resize(answer.len() + manner.body_bytes, b'0');
        Ok(Worker {
            listener,
            epoll,
            timer,
            _stop: stop,
            clock: Instant::now(),
            owed: Owed::new(manner.delay, manner.stall),
            answer,
            buffer: vec![0; 64 * 1024],
            places: Vec::new(),
            free: Vec::new(),
            served: Served::default(),
        })
    }

    pub(super) fn run(&mut self) -> io::Result<Served> {
        let blank = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [blank; 256];
        loop {
            self.due();
            let count = self.wait(&mut events)?;
            for event in events.iter().take(count) {
                let (flags, token) = (event.flags, event.data.u64());
                match token {
                    STOP => return Ok(std::mem::take(&mut self.served)),
                    LISTENER => self.accept(),
                    TIMER => {}
                    token => {
                        let place = usize::try_from(token & u64::from(u32::MAX)).unwrap_or(usize::MAX);
                        self.event(Who { place, generation: (token >> 32) as u32 }, flags);
                    }
                }
            }
        }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Answers what is due.
    fn due(&mut self) {
        let Some(first_ns) = self.owed.next_ns() else { return };
        let now_ns = self.now_ns();
        if first_ns > now_ns {
            return;
        }
        while let Some((who, due_ns)) = self.owed.take(now_ns) {
            if self.served.late_ns.len() < LATE_KEPT {
                let late_ns = self.now_ns().saturating_sub(due_ns);
                self.served.late_ns.push(late_ns);
            }
            self.answer(who, 1);
        }
    }

    /// Waits for events until a little before the next answer is due, and not at all when that is now.
    fn wait(&mut self, events: &mut [Event]) -> io::Result<usize> {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut timeout = None;
        if let Some(due_ns) = self.owed.next_ns() {
            let left_ns = due_ns.saturating_sub(self.now_ns());
            if left_ns <= AWAKE_NS {
                timeout = Some(&zero);
            } else {
                let sleep_ns = left_ns - AWAKE_NS;
                let value = Timespec {
                    tv_sec: i64::try_from(sleep_ns / 1_000_000_000).unwrap_or(i64::MAX),
                    tv_nsec: i64::try_from(sleep_ns % 1_000_000_000).unwrap_or(0),
                };
                let spec = Itimerspec { it_interval: zero, it_value: value };
                timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec)?;
            }
        }
        match epoll::wait(&self.epoll, events, timeout) {
            Ok(count) => Ok(count),
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    fn accept(&mut self) {
        // Whatever is refused here is missed by who asked for it, and seen there.
        while let Ok((stream, _)) = self.listener.accept() {
            let place = self.free.pop().unwrap_or_else(|| {
                self.places.push(Place { generation: 0, connection: None });
                self.places.len() - 1
            });
            let Some(slot) = self.places.get_mut(place) else { continue };
            let token = u64::from(slot.generation) << 32 | place as u64;
            let ready = stream.set_nonblocking(true).is_ok()
                && stream.set_nodelay(true).is_ok()
                && epoll::add(&self.epoll, &stream, EventData::new_u64(token), EventFlags::IN).is_ok();
            if !ready {
                self.free.push(place);
                continue;
            }
            let heads = Heads::default();
            slot.connection = Some(Connection { stream, heads, to_write: 0, written: 0, blocked: false });
        }
    }

    fn connection(&mut self, who: Who) -> Option<&mut Connection> {
        let place = self.places.get_mut(who.place).filter(|place| place.generation == who.generation)?;
        place.connection.as_mut()
    }

    fn close(&mut self, who: Who) {
        if let Some(place) = self.places.get_mut(who.place) {
            place.connection = None;
            place.generation = place.generation.wrapping_add(1);
            self.free.push(who.place);
        }
    }

    fn event(&mut self, who: Who, flags: EventFlags) {
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            self.read(who);
        }
        if flags.contains(EventFlags::OUT) {
            self.answer(who, 0);
        }
    }

    fn read(&mut self, who: Who) {
        let mut buffer = std::mem::take(&mut self.buffer);
        if let Some(connection) = self.connection(who) {
            match connection.stream.read(&mut buffer) {
                Ok(0) => self.close(who),
                Ok(count) => {
                    let heads = connection.heads.ends(buffer.get(..count).unwrap_or_default());
                    let now_ns = self.now_ns();
                    let at_once = (0..heads).filter(|_| self.owed.came(who, now_ns)).count();
                    if at_once > 0 {
                        self.answer(who, at_once as u64);
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => self.close(who),
            }
        }
        self.buffer = buffer;
    }

    /// Writes so many answers more, as far as there is room.
    fn answer(&mut self, who: Who, more: u64) {
        let answer = std::mem::take(&mut self.answer);
        self.served.answers += more;
        let gone = self.connection(who).is_some_and(|connection| {
            connection.to_write += more;
            connection.write(&answer).is_err()
        });
        if gone {
            self.close(who);
        } else {
            self.ask_for_room(who);
        }
        self.answer = answer;
    }

    /// Wants to hear of room to write if there is something to be written, and not otherwise.
    fn ask_for_room(&mut self, who: Who) {
        let token = u64::from(who.generation) << 32 | who.place as u64;
        let Some(connection) = self.connection(who) else { return };
        let blocked = connection.to_write > 0;
        if blocked == connection.blocked {
            return;
        }
        connection.blocked = blocked;
        let flags = if blocked { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        if let Some(place) = self.places.get(who.place)
            && let Some(connection) = &place.connection
        {
            // If it is refused, the connection stays without its answer, and who asked sees that.
            let _ = epoll::modify(&self.epoll, &connection.stream, EventData::new_u64(token), flags);
        }
    }
}

impl Connection {
    fn write(&mut self, answer: &[u8]) -> io::Result<()> {
        while self.to_write > 0 {
            match self.stream.write(answer.get(self.written..).unwrap_or_default()) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.written == answer.len() {
                (self.to_write, self.written) = (self.to_write - 1, 0);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::null_server::{NullServer, Stall};

    const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    fn connect(server: &NullServer) -> TcpStream {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    fn take(stream: &mut TcpStream, bytes: usize) -> String {
        let mut answer = vec![0; bytes];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    const FIVE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n00000";

    #[test]
    fn answers_in_pieces_in_a_row_and_after_others_left() {
        let server = NullServer::start(Manner { body_bytes: 5, ..Manner::default() }).unwrap();
        let mut gone = connect(&server);
        gone.write_all(b"GET / HT").unwrap();
        drop(gone);
        let mut stream = connect(&server);
        for piece in ASK.chunks(7) {
            stream.write_all(piece).unwrap();
        }
        assert_eq!(take(&mut stream, FIVE.len()), FIVE);
        stream.write_all(&ASK.repeat(3)).unwrap();
        assert_eq!(take(&mut stream, FIVE.len() * 3), FIVE.repeat(3));
        assert_eq!(server.stop().unwrap(), Served { answers: 4, late_ns: Vec::new() });
    }

    #[test]
    fn answers_larger_than_any_buffer_are_whole() {
        let server = NullServer::start(Manner { body_bytes: 20_000_000, ..Manner::default() }).unwrap();
        let mut stream = connect(&server);
        stream.write_all(&ASK.repeat(2)).unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n";
        for _ in 0..2 {
            assert!(take(&mut stream, head.len() + 20_000_000).starts_with(head));
        }
    }

    #[test]
    fn delays_are_kept_and_their_lateness_is_told() {
        let delay = Duration::from_millis(3);
        let server = NullServer::start(Manner { delay, ..Manner::default() }).unwrap();
        let mut stream = connect(&server);
        let mut best = Duration::MAX;
        for _ in 0..50 {
            let asked = Instant::now();
            stream.write_all(ASK).unwrap();
            take(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".len());
            assert!(asked.elapsed() >= delay);
            best = best.min(asked.elapsed());
        }
        let served = server.stop().unwrap();
        assert_eq!((served.answers, served.late_ns.len()), (50, 50));
        // Others run on this machine; the best of fifty is what it can do.
        assert!(best < delay + Duration::from_millis(1), "{best:?}");
    }

    #[test]
    fn a_stall_holds_all_back_until_it_is_over() {
        let (after, lasts) = (Duration::from_millis(100), Duration::from_millis(400));
        let stall = Some(Stall { after, lasts });
        let server = NullServer::start(Manner { body_bytes: 5, stall, ..Manner::default() }).unwrap();
        let mut first = connect(&server);
        let began = Instant::now();
        let mut answered = Vec::new();
        // One asks as fast as it is answered, until the stall has been and gone.
        while began.elapsed() < Duration::from_millis(600) {
            let asked = began.elapsed();
            first.write_all(ASK).unwrap();
            take(&mut first, FIVE.len());
            answered.push((asked, began.elapsed()));
        }
        let slow: Vec<_> =
            answered.iter().filter(|(from, to)| *to - *from > Duration::from_millis(200)).collect();
        assert_eq!(slow.len(), 1, "{slow:?}");
        assert!(slow[0].1 >= after + lasts && *slow[0] != answered[0], "{slow:?}");
        assert!(answered.len() > 10, "answered before and after");
    }
}
