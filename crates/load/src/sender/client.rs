//! One virtual client: its connection, the exchange on it, and where it is in its round.
//!
//! Not here: any decision; [`super::desk`] makes them.

use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;

use super::tls::Session;
use crate::dice::Dice;
use crate::pacer::{Permit, Phase};
use crate::plan::Walk;
use crate::visitor::Visitor;
use crate::wire::Reader;

/// What a client is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No socket; will try again at the deadline.
    Resting,
    /// Waiting for the connect to be decided.
    Connecting,
    /// Waiting for the TLS handshake.
    Shaking,
    /// A request is on its way or its answer is.
    Busy,
    /// Nothing to do yet: a timer or an arrival will say. The socket may be open.
    Idle,
    /// Nothing more to send; the socket may still be open.
    Done,
}

/// What is to be sent next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// Index into the plan's requests.
    pub request: usize,
    /// When it was meant to be sent, if the clock says so.
    pub intended_ns: Option<u64>,
    /// Whether a connection stood ready when it became due.
    pub was_ready: bool,
    /// Redirects followed so far; then its bytes stand in [`Client::out`] already.
    pub hops: u32,
}

/// The request in flight.
#[derive(Debug)]
pub(super) struct Exchange {
    /// What was to be sent.
    pub pending: Pending,
    /// The phase it counts in.
    pub phase: Phase,
    pub started_ns: u64,
    pub first_byte_ns: Option<u64>,
    /// Whether its bytes are the client's own, not the plan's.
    pub own_bytes: bool,
    /// How many there are.
    pub length: usize,
    /// Bytes of the request written so far.
    pub written: usize,
    /// Bytes read since it was sent.
    pub read_bytes: u64,
    /// The peer takes no more bytes of this request.
    pub cut_off: bool,
    /// Whether it is known if the body is kept for the decoder.
    pub looked_at: bool,
}

/// One virtual client of a thread; sockets come and go in it.
#[derive(Debug)]
pub(super) struct Client {
    pub socket: Option<OwnedFd>,
    pub tls: Option<Box<Session>>,
    /// Grows with each socket, so that events of an earlier one are told apart.
    pub generation: u32,
    pub state: State,
    pub interest: EventFlags,
    pub reader: Reader,
    pub exchange: Exchange,
    /// Bytes of a request that is this client's own.
    pub out: Vec<u8>,
    /// Answers so far.
    pub answers: u64,
    /// The coded body that comes in now, if it is kept for the decoder.
    pub sample: Option<Vec<u8>>,
    pub permit: Option<Permit>,
    pub pending: Option<Pending>,
    /// It has a connection and waits for something to be due.
    pub stood_ready: bool,
    /// Its number, from 0, over all threads.
    pub index: usize,
    /// Where only some take part, those of low rank do.
    pub rank: u32,
    /// Which servers are its own.
    pub home: usize,
    pub dice: Dice,
    /// Which request of its home is next, where each client goes through them by itself.
    pub turn: usize,
    /// Its place in the round it is in.
    pub walk: Option<Walk>,
    /// When the round's first request was sent, and whether anything in it went wrong.
    pub round_started_ns: Option<u64>,
    pub round_failed: bool,
    /// Whether it has paused before its next round.
    pub has_thought: bool,
    /// Grows with each timer set, so that earlier ones are told apart.
    pub timer: u32,
    /// Cookies and kept answers, if the plan has clients that keep them.
    pub visitor: Option<Box<Visitor>>,
    /// What the answer in flight is checked for.
    pub probe: crate::check::Probe,
    /// The server it is connected to, or connecting.
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

impl Client {
    pub(super) fn new(index: usize, rank: u32, home: usize, seed: u64) -> Client {
        let pending = Pending { request: 0, intended_ns: None, was_ready: false, hops: 0 };
        Client {
            socket: None,
            tls: None,
            generation: 0,
            state: State::Idle,
            interest: EventFlags::empty(),
            reader: Reader::default(),
            exchange: Exchange {
                pending,
                phase: Phase::Over,
                started_ns: 0,
                first_byte_ns: None,
                own_bytes: false,
                length: 0,
                written: 0,
                read_bytes: 0,
                cut_off: false,
                looked_at: false,
            },
            out: Vec::new(),
            answers: 0,
            sample: None,
            permit: None,
            pending: None,
            stood_ready: false,
            index,
            rank,
            home,
            dice: Dice::of(seed, "client", index as u64),
            turn: 0,
            walk: None,
            round_started_ns: None,
            round_failed: false,
            has_thought: true,
            timer: 0,
            visitor: None,
            probe: crate::check::Probe::default(),
            origin: 0,
            address: 0,
            tried: 0,
            connect_started_ns: 0,
            failures_in_row: 0,
            failing_since_ns: 0,
            deadline_ns: None,
            wheel_tick: None,
        }
    }
}
