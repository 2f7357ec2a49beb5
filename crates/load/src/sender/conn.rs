//! One connection and the exchange on it.
//!
//! Not here: any decision; [`super::desk`] makes them.

use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;

use crate::pacer::{Permit, Phase};
use crate::wire::Reader;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No socket; will try again at the deadline.
    Resting,
    /// Waiting for the connect to be decided.
    Connecting,
    /// A request is on its way or its answer is.
    Busy,
    /// Nothing more to send; the socket may still be open.
    Done,
}

/// The request in flight.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Index into the plan's requests.
    pub request: usize,
    /// The phase it was sent in.
    pub phase: Phase,
    pub started_ns: u64,
    pub first_byte_ns: Option<u64>,
    /// Bytes of the request written so far.
    pub written: usize,
    /// Bytes read since it was sent.
    pub read_bytes: u64,
    /// The peer takes no more bytes of this request.
    pub cut_off: bool,
}

/// One connection slot of a thread; sockets come and go in it.
#[derive(Debug)]
pub(super) struct Conn {
    pub socket: Option<OwnedFd>,
    /// Grows with each socket, so that events of an earlier one are told apart.
    pub generation: u32,
    pub state: State,
    pub interest: EventFlags,
    pub reader: Reader,
    pub exchange: Exchange,
    /// Answers so far; every so many, a body is kept for the decoder.
    pub answers: u64,
    pub sample: Option<Vec<u8>>,
    pub permit: Option<Permit>,
    /// The server it stays with.
    pub origin: usize,
    /// Which address of the origin is used.
    pub address: usize,
    /// Addresses tried in this attempt.
    pub tried: usize,
    pub connect_started_ns: u64,
    /// Attempts in a row that failed, and since when.
    pub failures_in_row: u32,
    pub failing_since_ns: u64,
    pub deadline_ns: Option<u64>,
    /// The earliest tick at which the wheel will look here.
    pub wheel_tick: Option<u64>,
}

impl Conn {
    pub(super) fn new(origin: usize) -> Conn {
        Conn {
            socket: None,
            generation: 0,
            state: State::Resting,
            interest: EventFlags::empty(),
            reader: Reader::default(),
            exchange: Exchange {
                request: 0,
                phase: Phase::Over,
                started_ns: 0,
                first_byte_ns: None,
                written: 0,
                read_bytes: 0,
                cut_off: false,
            },
            answers: 0,
            sample: None,
            permit: None,
            origin,
            address: 0,
            tried: 0,
            connect_started_ns: 0,
            failures_in_row: 0,
            failing_since_ns: 0,
            deadline_ns: None,
            wheel_tick: None,
        }
    }

    /// Whether a measured request is in flight.
    pub(super) fn is_measuring(&self) -> bool {
        self.state == State::Busy && self.exchange.phase == Phase::Measure
    }
}
