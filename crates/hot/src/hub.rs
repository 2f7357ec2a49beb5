//! What one core's connections share: the map, the limits, the scratch buffers, the register that the sweep
//! walks; and the two handles between this crate and the server, [`CoreSide`] and [`ConnHandle`].
//!
//! Not here: the protocol (`layer`), clocks (the server's [`CoreSide::now_ns`]).

use crate::head::{Head, HeadLimits};
use crate::heads::{Heads, Share as HeadShare};
use crate::layer::Layer;
use crate::limits::{Allowance, Limits, Overdue, Pace, SHED_MS, Wait, overdue};
use crate::map::{Grant, HotMap, MapBounds};
use crate::prepared::Prepared;
use crate::share::Share;
use bytes::Bytes;
use samovar_reason::{Hot, Reject};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

/// What the server does for the connections of one core. Called on that core's thread.
pub trait CoreSide {
    /// The monotonic clock, in ns; [`crate::Lifetime`] counts on the same clock, in ms.
    fn now_ns(&self) -> u64;

    /// The configuration's epoch, loaded anew at each call.
    fn epoch(&self) -> u64;

    /// A hot answer was put in line. Must be cheap, and must not change the map (a grant made from here is
    /// refused).
    fn on_hot(&self, conn: &ConnHandle, hit: HotHit<'_>);

    /// A request was refused. Returns the whole answer to send before the connection closes, with
    /// `Connection: close`; empty for none. `head` is what came of the head, at most 8 KiB; empty for a refused
    /// body.
    fn on_reject(&self, conn: &ConnHandle, reject: Reject, head: &[u8]) -> Bytes;

    /// A connection was closed silently for [`Reject::IdleTimeout`] or [`Reject::SendTimeout`], or for
    /// [`Reject::BodyTimeout`] or a bad body when the answer had begun.
    fn on_dropped(&self, _conn: &ConnHandle, _why: Reject) {}
}

/// One hot answer.
pub struct HotHit<'a> {
    /// The answer.
    pub prepared: &'a Arc<Prepared>,
    /// The request's head.
    pub head: &'a Head<'a, 'a>,
    /// What the request got of it.
    pub share: Share,
    /// Bytes of the body put in line.
    pub body_bytes: u64,
    /// When its bytes had been read.
    pub now_ns: u64,
}

/// What is known of a connection when it is accepted.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// Whatever of the connection an answer may depend on, as a number of the server's choosing: listener, TLS,
    /// and whether the peer is a trusted proxy whose `X-Forwarded-*` count. Part of the hot key.
    pub listener: u32,
    /// The peer, `None` on a unix socket.
    pub peer: Option<SocketAddr>,
}

/// What a connection takes that waits between two requests, bytes: its task, the layer, its place in the register
/// (measured with 10,000 of them).
const CONNECTION_BYTES: u64 = 2_300;

/// What it takes more while it has an engine, bytes: hyper's buffers, a request and its answer (measured likewise).
const ENGINE_BYTES: u64 = 18_000;

/// Room for fields that an engine has at least.
const FIELDS_USUAL: usize = 100;

/// What one core's connections share.
pub struct Hub {
    pub(crate) side: Rc<dyn CoreSide>,
    pub(crate) map: RefCell<HotMap>,
    pub(crate) head_limits: Cell<HeadLimits>,
    limits: RefCell<Limits>,
    pub(crate) allowance: Cell<Allowance>,
    /// One reading and one writing buffer for all connections: a connection owns buffers only while something
    /// is left over.
    pub(crate) scratch_in: Cell<Vec<u8>>,
    pub(crate) scratch_out: Cell<Vec<u8>>,
    draining: Cell<bool>,
    closes_idle: Cell<bool>,
    /// Connections that have an engine.
    engines: Cell<u64>,
    /// Memory that single connections hold beside what each has, bytes.
    held_bytes: Cell<u64>,
    /// What of it heads of requests take.
    pub(crate) heads: Heads,
    conns: RefCell<Register>,
    cursor: Cell<usize>,
}

#[derive(Default)]
struct Register {
    places: Vec<Option<Rc<Conn>>>,
    free: Vec<usize>,
}

impl Hub {
    /// A core's hub with default limits and bounds.
    pub fn new(side: Rc<dyn CoreSide>) -> Rc<Hub> {
        Hub::with(side, Limits::default(), MapBounds::default())
    }

    /// A core's hub.
    pub fn with(side: Rc<dyn CoreSide>, limits: Limits, bounds: MapBounds) -> Rc<Hub> {
        Rc::new(Hub {
            side,
            map: RefCell::new(HotMap::new(bounds)),
            head_limits: Cell::new(HeadLimits::of(&limits)),
            allowance: Cell::new(Allowance::of(&limits)),
            heads: Heads::new(limits.heads_max_bytes),
            limits: RefCell::new(limits),
            scratch_in: Cell::default(),
            scratch_out: Cell::default(),
            draining: Cell::new(false),
            closes_idle: Cell::new(false),
            engines: Cell::new(0),
            held_bytes: Cell::new(0),
            conns: RefCell::default(),
            cursor: Cell::new(0),
        })
    }

    /// Begins a connection. The handle's place in the register is given up when the layer is dropped.
    pub fn accept<S>(self: &Rc<Self>, stream: S, accepted: Accepted) -> Layer<S> {
        let mut conns = self.conns.borrow_mut();
        let place = conns.free.pop().unwrap_or(conns.places.len());
        let conn = Rc::new(Conn::new(Rc::clone(self), accepted, place));
        match conns.places.get_mut(place) {
            Some(slot) => *slot = Some(Rc::clone(&conn)),
            None => conns.places.push(Some(Rc::clone(&conn))),
        }
        Layer::new(stream, ConnHandle(conn))
    }

    pub(crate) fn forget(&self, place: usize) {
        let mut conns = self.conns.borrow_mut();
        if let Some(slot) = conns.places.get_mut(place)
            && slot.take().is_some()
        {
            conns.free.push(place);
        }
    }

    /// For how many field lines the engine of a new connection makes room: it does so anew for each request, so for no
    /// more than are let through. Raised limits hold beyond that for connections that come later.
    pub(crate) fn engine_fields(&self) -> usize {
        self.head_limits.get().fields_max.max(FIELDS_USUAL)
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        let conns = self.conns.borrow();
        conns.places.len() - conns.free.len()
    }

    /// About how much memory the connections take, bytes: counted as they come, go and keep something back, so that asking
    /// costs nothing.
    pub fn connections_bytes(&self) -> u64 {
        let engines = self.engines.get() * ENGINE_BYTES;
        self.connections() as u64 * CONNECTION_BYTES + engines + self.held_bytes.get()
    }

    /// Memory that heads of requests take, bytes; see [`Limits::heads_max_bytes`].
    pub fn heads_bytes(&self) -> u64 {
        self.heads.bytes()
    }

    /// Has heads that were begun first give way until there is room for so many more bytes; `false` if there is none.
    pub(crate) fn make_room_for_heads(&self, more_bytes: u64) -> bool {
        while self.heads.is_beyond(more_bytes) {
            let conns = self.conns.borrow();
            let at = |place: usize| conns.places.get(place).and_then(Option::as_ref);
            let Some(conn) = self.heads.give_up_first(at, |conn| &conn.head) else { return false };
            conn.overdue.set(Some(Overdue::Limit(Reject::HeadGaveWay)));
            conn.wake();
        }
        true
    }

    /// Makes an answer hot on this core. `Err` says why not; nothing breaks.
    pub fn grant(&self, grant: Grant) -> Result<(), Hot> {
        let now_ms = self.now_ms();
        self.map.try_borrow_mut().map_err(|_| Hot::NotStored)?.insert(grant, now_ms)
    }

    /// Reads the map, for listings and counts.
    pub fn map(&self) -> std::cell::Ref<'_, HotMap> {
        self.map.borrow()
    }

    /// New limits, for all connections from now on.
    pub fn set_limits(&self, limits: Limits) {
        self.head_limits.set(HeadLimits::of(&limits));
        self.allowance.set(Allowance::of(&limits));
        self.heads.set_max_bytes(limits.heads_max_bytes);
        self.limits.replace(limits);
    }

    /// New bounds of the map; `false` if called from [`CoreSide::on_hot`], which must not change it.
    pub fn set_bounds(&self, bounds: MapBounds) -> bool {
        self.map.try_borrow_mut().map(|mut map| map.set_bounds(bounds)).is_ok()
    }

    /// Begins to stop: nothing is hot any more, and responses say `Connection: close`. Idle connections stay, as a request
    /// may be on its way on each of them, until [`Hub::close_idle`].
    pub fn drain(&self) {
        self.draining.set(true);
        self.conns.borrow().places.iter().flatten().for_each(|conn| conn.wake());
    }

    /// Closes connections on which nothing has come, now and from now on.
    pub fn close_idle(&self) {
        self.drain();
        self.closes_idle.set(true);
    }

    /// Whether [`Hub::close_idle`] was called.
    pub fn closes_idle(&self) -> bool {
        self.closes_idle.get()
    }

    /// Whether [`Hub::drain`] was called.
    pub fn draining(&self) -> bool {
        self.draining.get()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.side.now_ns() / 1_000_000
    }

    pub(crate) fn half_close_ms(&self) -> u64 {
        self.limits.borrow().half_close_ms
    }

    /// Finds overdue connections and answers no longer wanted. Call it every 100 ms: each call looks at an
    /// eighth of the connections, at least 256, so that none takes long.
    pub fn sweep(&self) {
        let now_ms = self.now_ms();
        if let Ok(mut map) = self.map.try_borrow_mut() {
            map.sweep(now_ms, self.side.epoch(), 256);
        }
        let conns = self.conns.borrow();
        self.heads.tidy(|place, number| {
            conns.places.get(place).and_then(Option::as_ref).is_some_and(|conn| conn.head.is(number))
        });
        let limits = self.limits.borrow();
        let len = conns.places.len();
        for _ in 0..(len / 8).max(256).min(len) {
            let at = self.cursor.get() % len;
            self.cursor.set(at + 1);
            if let Some(conn) = conns.places.get(at).and_then(Option::as_ref) {
                conn.look_for_overdue(now_ms, &limits);
            }
        }
    }
}

/// What a connection and its requests share; lives in the register and in [`ConnHandle`]s.
pub(crate) struct Conn {
    pub(crate) hub: Rc<Hub>,
    accepted: Accepted,
    place: usize,
    /// What its engine has room for, whatever the limits become: see [`Hub::engine_fields`].
    pub(crate) fields_max: usize,
    waker: Cell<Option<Waker>>,
    pub(crate) wait: Cell<Wait>,
    since_ms: Cell<u64>,
    /// When a write was first refused without progress since; 0 if none is blocked.
    blocked_since_ms: Cell<u64>,
    /// How much the client had still to take of what was written then, if anybody can tell.
    blocked_unsent_bytes: Cell<Option<u64>>,
    pub(crate) overdue: Cell<Option<Overdue>>,
    /// The service has returned the answer's head.
    pub(crate) answering: Cell<bool>,
    /// hyper has dropped the answer's body: all of it is in hyper's buffer or further.
    pub(crate) body_dropped: Cell<bool>,
    /// Something waits in the layer for the end of the answer in flight.
    pub(crate) ahead: Cell<bool>,
    pub(crate) upgrade: Cell<bool>,
    accepted_ms: u64,
    /// Requests that were begun.
    pub(crate) requests: Cell<u64>,
    /// It has an engine; see [`crate::serve`].
    engine: Cell<bool>,
    /// The engine is to go for now.
    pub(crate) shed: Cell<bool>,
    /// The connection ends with the answer to the current request, unless more has come behind it.
    pub(crate) last: Cell<bool>,
    /// The answer in flight ends with the connection, and nothing else says that it is whole.
    pub(crate) until_close: Cell<bool>,
    pub(crate) arrival_ns: Cell<u64>,
    pub(crate) refusal: Cell<Option<Hot>>,
    pub(crate) of_the_server: Cell<bool>,
    pub(crate) rejected: Cell<Option<Reject>>,
    /// Memory it holds beside what every connection does, bytes.
    held_bytes: Cell<u64>,
    /// What of it heads of requests take.
    head: HeadShare,
    /// The head that is being answered, if it is a large one, bytes.
    pub(crate) answered_head_bytes: Cell<u64>,
    /// Interim answers to the request in the engine's hands, not yet in line.
    interim: RefCell<Vec<Bytes>>,
    /// How many bytes of them this request has had.
    interim_bytes: Cell<usize>,
}

/// Interim answers to one request beyond this are dropped, bytes: an origin must not fill our memory with hints.
const INTERIM_MAX_BYTES: usize = 64 << 10;

impl Conn {
    fn new(hub: Rc<Hub>, accepted: Accepted, place: usize) -> Conn {
        let now_ms = hub.now_ms();
        Conn {
            fields_max: hub.engine_fields(),
            hub,
            accepted,
            place,
            waker: Cell::new(None),
            wait: Cell::new(Wait::Idle),
            since_ms: Cell::new(now_ms),
            blocked_since_ms: Cell::new(0),
            blocked_unsent_bytes: Cell::new(None),
            overdue: Cell::new(None),
            answering: Cell::new(false),
            body_dropped: Cell::new(false),
            ahead: Cell::new(false),
            upgrade: Cell::new(false),
            accepted_ms: now_ms,
            requests: Cell::new(0),
            engine: Cell::new(false),
            shed: Cell::new(false),
            last: Cell::new(false),
            until_close: Cell::new(false),
            arrival_ns: Cell::new(now_ms * 1_000_000),
            refusal: Cell::new(None),
            of_the_server: Cell::new(false),
            rejected: Cell::new(None),
            held_bytes: Cell::new(0),
            head: HeadShare::default(),
            answered_head_bytes: Cell::new(0),
            interim: RefCell::default(),
            interim_bytes: Cell::new(0),
        }
    }

    pub(crate) fn listener(&self) -> u32 {
        self.accepted.listener
    }

    pub(crate) fn forget(&self) {
        self.has_engine(false);
        self.holds(0);
        self.hub.heads.hold(&self.head, self.place, 0, false);
        self.hub.forget(self.place);
    }

    /// An engine comes, or goes.
    pub(crate) fn has_engine(&self, comes: bool) {
        let engines = &self.hub.engines;
        match (self.engine.replace(comes), comes) {
            (false, true) => engines.set(engines.get() + 1),
            (true, false) => engines.set(engines.get().saturating_sub(1)),
            _ => {}
        }
    }

    /// So much memory it holds now beside what every connection does, bytes.
    pub(crate) fn holds(&self, bytes: u64) {
        let before = self.held_bytes.get();
        if before != bytes {
            self.held_bytes.set(bytes);
            let all = &self.hub.held_bytes;
            all.set((all.get() + bytes).saturating_sub(before));
        }
    }

    /// So much it holds of heads now, beside the one being answered; `unfinished`: one that is not whole yet. Where that is
    /// too much for the core, those begun first give way.
    pub(crate) fn holds_heads(&self, bytes: u64, unfinished: bool) {
        let bytes = bytes + self.answered_head_bytes.get();
        if bytes == 0 && self.head.bytes() == 0 {
            return;
        }
        let grown = bytes > self.head.bytes();
        self.hub.heads.hold(&self.head, self.place, bytes, unfinished);
        if grown {
            self.hub.make_room_for_heads(0);
        }
    }

    /// Remembers the task, for the sweep and for [`Hub::drain`].
    pub(crate) fn watch(&self, cx: &Context<'_>) {
        let waker = match self.waker.take() {
            Some(known) if known.will_wake(cx.waker()) => known,
            _ => cx.waker().clone(),
        };
        self.waker.set(Some(waker));
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Whether the request that has come now is to be the connection's last.
    pub(crate) fn is_used_up(&self, now_ms: u64) -> bool {
        self.hub.allowance.get().is_used_up(self.requests.get(), now_ms.saturating_sub(self.accepted_ms))
    }

    /// Whether the connection has had its time.
    pub(crate) fn is_too_old(&self, now_ms: u64) -> bool {
        self.hub.allowance.get().is_too_old(now_ms.saturating_sub(self.accepted_ms))
    }

    /// The interim answers that wait.
    pub(crate) fn take_interim(&self) -> Vec<Bytes> {
        self.interim.try_borrow_mut().map(|mut waiting| std::mem::take(&mut *waiting)).unwrap_or_default()
    }

    /// The answer is on the wire: interim ones would belong to the next.
    pub(crate) fn end_interim(&self) {
        self.interim_bytes.set(0);
        self.take_interim();
    }

    /// Begins a wait, or goes on with the same one unless `restart`.
    pub(crate) fn wait_for(&self, wait: Wait, restart: bool, now_ms: u64) {
        if restart || self.wait.get() != wait {
            self.wait.set(wait);
            self.since_ms.set(now_ms);
        }
    }

    /// Begins to wait for more of a body, or goes on: what was waited before counts, until enough has come.
    pub(crate) fn wait_for_body(&self, pace: &Pace) {
        if self.wait.get() != Wait::Body {
            self.wait_for(Wait::Body, true, self.hub.now_ms().saturating_sub(pace.waited_ms()));
        }
    }

    /// So many bytes of a body came.
    pub(crate) fn body_came(&self, pace: &mut Pace, bytes: usize) {
        let waited_ms = match self.wait.get() {
            Wait::Body => {
                let in_all_ms = self.hub.now_ms().saturating_sub(self.since_ms.get());
                in_all_ms.saturating_sub(pace.waited_ms())
            }
            _ => 0,
        };
        pace.came(waited_ms, bytes as u64, self.hub.limits.borrow().body_min_bytes());
    }

    /// A write was refused for now.
    pub(crate) fn write_blocked(&self, progress: bool, unsent_bytes: impl FnOnce() -> Option<u64>) {
        if progress || self.blocked_since_ms.get() == 0 {
            self.blocked_since_ms.set(self.hub.now_ms().max(1));
            self.blocked_unsent_bytes.set(unsent_bytes());
        }
    }

    /// Whether the client took as much as it must while the write was refused; if so it has its time anew.
    pub(crate) fn took_enough(&self, unsent_bytes: Option<u64>) -> bool {
        let enough = self.hub.limits.borrow().send_min_bytes();
        let took =
            self.blocked_unsent_bytes.get().zip(unsent_bytes).map(|(then, now)| then.saturating_sub(now));
        let on = took.is_some_and(|bytes| bytes >= enough);
        if on {
            self.blocked_since_ms.set(self.hub.now_ms().max(1));
            self.blocked_unsent_bytes.set(unsent_bytes);
        }
        on
    }

    pub(crate) fn write_went_on(&self) {
        self.blocked_since_ms.set(0);
    }

    fn look_for_overdue(&self, now_ms: u64, limits: &Limits) {
        let found =
            overdue(self.wait.get(), self.since_ms.get(), self.blocked_since_ms.get(), now_ms, limits);
        if found.is_some() {
            self.overdue.set(found);
        }
        // hyper can end an answer without coming by again: when its queue of body chunks is full at the very end of
        // the body, it flushes and yields with the body still in hand. Whoever waits behind must not wait for ever.
        let stuck = self.body_dropped.get() || (self.answering.get() && self.ahead.get());
        let too_old = self.wait.get() == Wait::Idle && self.is_too_old(now_ms);
        let idle = self.wait.get() == Wait::Idle && self.engine.get();
        if idle && now_ms.saturating_sub(self.since_ms.get()) >= SHED_MS {
            self.shed.set(true);
        }
        if found.is_some() || stuck || too_old || self.shed.get() {
            self.wake();
        }
    }
}

/// A connection, as its service sees it.
#[derive(Clone)]
pub struct ConnHandle(pub(crate) Rc<Conn>);

impl ConnHandle {
    /// What was known when it was accepted.
    pub fn accepted(&self) -> Accepted {
        self.0.accepted
    }

    /// When the head of the current request was complete, on the clock of [`CoreSide::now_ns`].
    pub fn arrival_ns(&self) -> u64 {
        self.0.arrival_ns.get()
    }

    /// Why the hot tier stood aside for the current request.
    pub fn refusal(&self) -> Option<Hot> {
        self.0.refusal.get()
    }

    /// Whether the current request is about the server itself; see [`crate::head::Head::is_of_the_server`].
    pub fn of_the_server(&self) -> bool {
        self.0.of_the_server.get()
    }

    /// Why the layer has ended this connection's last request by itself, if it has.
    pub fn rejected(&self) -> Option<Reject> {
        self.0.rejected.get()
    }

    /// Puts an interim answer (RFC 9110 §15.2), a whole head, in line before the answer to the current request. `false`
    /// if it comes too late, or after too many.
    pub fn send_interim(&self, head: Bytes) -> bool {
        let had = self.0.interim_bytes.get() + head.len();
        if self.0.answering.get() || had > INTERIM_MAX_BYTES {
            return false;
        }
        self.0.interim_bytes.set(had);
        let put = self.0.interim.try_borrow_mut().map(|mut waiting| waiting.push(head)).is_ok();
        self.0.wake();
        put
    }

    /// Makes the connection a plain pipe once the answer to the current request, a 101, is on the wire;
    /// [`crate::serve`] then returns [`crate::End::Upgraded`].
    pub fn accept_upgrade(&self) {
        self.0.upgrade.set(true);
    }

    /// Whether the answer to the current request is to say that the connection ends with it.
    pub(crate) fn ends(&self) -> bool {
        // What has come behind the request is answered first.
        self.0.last.set(self.0.last.get() && !self.0.ahead.get());
        self.0.last.get() || self.0.hub.draining()
    }

    /// Whether the server is stopping.
    pub fn draining(&self) -> bool {
        self.0.hub.draining()
    }
}

/// Held by an answer's body; its drop says that hyper has taken the last byte.
pub(crate) struct AnswerGuard(pub(crate) Rc<Conn>);

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.body_dropped.set(true);
    }
}
