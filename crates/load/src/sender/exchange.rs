//! One request and its answer: written, read, counted, failed.
//!
//! Not here: what is asked next ([`super::course`]), the way to the server ([`super::desk`]).

use std::sync::atomic::Ordering;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::client::{Client, Exchange, State};
use super::desk::{Desk, told};
use super::tls::Broken;
use super::{Message, Sample, redirect, refusal, socket};
use crate::check;
use crate::pacer::Start;
use crate::plan::Request;
use crate::plan::request::Hand;
use crate::tally::{Answer, Failure};
use crate::visitor::{Habits, Visitor};
use crate::wcat::Manner;
use crate::wire::{Ending, Head, Progress, head};

/// Longest coded body that is decoded.
const SAMPLE_LIMIT_BYTES: usize = 4 * 1024 * 1024;
/// Coded bodies under way to the decoder at most, over all threads.
const SAMPLES_OUT: usize = 4;

impl Desk<'_> {
    /// Sends what is pending over the open connection.
    pub(super) fn begin(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        let Some(pending) = client.pending.take() else { return self.next(client, id, now_ns) };
        let at_ns = pending.intended_ns.filter(|_| self.arrivals.is_some()).unwrap_or(now_ns);
        let permit = client.permit.take().or_else(|| self.pacer.admit(at_ns));
        let Some(Start::Now(phase)) = permit.map(|permit| self.pacer.start(permit, at_ns)) else {
            return self.leave(client, id);
        };
        let plan = self.plan;
        let Some(request) = plan.requests.get(pending.request) else { return self.leave(client, id) };
        let own_bytes = if pending.hops > 0 {
            self.add_cookies(client, request, now_ns);
            true
        } else {
            self.fill(client, request, pending.request, now_ns)
        };
        client.reader.reset(request.is_head());
        client.probe.begin(&plan.manners.checks, client.answers);
        client.exchange = Exchange {
            pending,
            phase,
            started_ns: now_ns,
            first_byte_ns: None,
            own_bytes,
            length: if own_bytes { client.out.len() } else { request.bytes.len() },
            written: 0,
            read_bytes: 0,
            cut_off: false,
            looked_at: false,
        };
        client.round_started_ns.get_or_insert(pending.intended_ns.unwrap_or(now_ns));
        client.state = State::Busy;
        self.ledger.counts().all_requests += 1;
        if let Some(step) = phase.measured() {
            self.ledger.sent(step);
        }
        self.set_deadline(client, id, now_ns.saturating_add(plan.load.timeout_ns));
        if client.tls.is_some() {
            self.give(client, id, now_ns);
        } else {
            self.write(client, id);
        }
    }

    /// Makes the client's own bytes of a request, if they differ from the plan's.
    fn fill(&mut self, client: &mut Client, request: &Request, index: usize, now_ns: u64) -> bool {
        let plan = self.plan;
        let fields_end = match &request.form {
            None if client.visitor.is_none() => return false,
            None => {
                client.out.clear();
                client.out.extend_from_slice(&request.bytes);
                request.fields_end
            }
            Some(form) => {
                let server = plan.homes.get(client.home).map_or("", |home| home.server.as_str());
                let hand = Hand { server, client: client.index as u64 };
                form.fill(hand, &mut client.dice, &mut client.out)
            }
        };
        if let Some(visitor) = client.visitor.as_ref() {
            let mut fields = Vec::new();
            if request.cookies && !visitor.jar.is_empty() {
                let (host, secure) = self.host_of(client.origin);
                let path = redirect::path_of(&client.out);
                visitor.jar.send(&host, &path, secure, self.clock.unix_s(now_ns), &mut fields);
            }
            if let Some(kept) =
                visitor.kept.as_ref().filter(|_| request.method == "GET" && request.form.is_none())
            {
                kept.send(client.origin, index, &mut fields);
            }
            client.out.splice(fields_end..fields_end, fields);
        }
        true
    }

    /// Adds the cookies of the place a redirect led to.
    fn add_cookies(&self, client: &mut Client, request: &Request, now_ns: u64) {
        let Some(visitor) =
            client.visitor.as_ref().filter(|visitor| request.cookies && !visitor.jar.is_empty())
        else {
            return;
        };
        let (host, secure) = self.host_of(client.origin);
        let mut fields = Vec::new();
        let path = redirect::path_of(&client.out);
        visitor.jar.send(&host, &path, secure, self.clock.unix_s(now_ns), &mut fields);
        if let Some(end) = client.out.windows(4).position(|four| four == b"\r\n\r\n") {
            client.out.splice(end + 2..end + 2, fields);
        }
    }

    /// The host of an origin, as cookies know it, and whether it is reached by TLS.
    fn host_of(&self, origin: usize) -> (String, bool) {
        match self.plan.origins.get(origin) {
            Some(origin) => {
                let host = match &origin.place {
                    crate::plan::Place::Tcp { host, .. } => host.clone(),
                    crate::plan::Place::Unix(_) => "localhost".to_owned(),
                };
                (host, origin.secure)
            }
            None => (String::new(), false),
        }
    }

    /// Hands the whole request to the TLS session, and writes what fits.
    fn give(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        let plan = self.plan;
        let Client { tls, exchange, out, .. } = client;
        let own: &[u8] = out;
        let bytes = match exchange.own_bytes {
            true => own,
            false => plan.requests.get(exchange.pending.request).map_or(&[][..], |request| &request.bytes),
        };
        let given = tls.as_mut().map_or(Ok(()), |session| session.give(bytes));
        exchange.written = bytes.len();
        match given {
            Ok(()) => self.write(client, id),
            Err(broken) => {
                let why = told(broken);
                self.fail(client, id, Failure::Other, now_ns, || why);
            }
        }
    }

    /// Writes what is left of the request; waits for room only when there is none.
    pub(super) fn write(&mut self, client: &mut Client, id: u32) {
        let plan = self.plan;
        if let (Some(session), Some(socket)) = (client.tls.as_mut(), client.socket.as_ref()) {
            self.ledger.now(client.exchange.phase.measured()).socket_writes += 1;
            match session.push(socket) {
                Ok(true) => {}
                Ok(false) => return self.set_interest(client, id, EventFlags::IN | EventFlags::OUT),
                // An answer may already be here; reading will say what happened.
                Err(_) => client.exchange.cut_off = true,
            }
            return self.set_interest(client, id, EventFlags::IN);
        }
        let bytes = match client.exchange.own_bytes {
            true => client.out.as_slice(),
            false => {
                plan.requests.get(client.exchange.pending.request).map_or(&[][..], |request| &request.bytes)
            }
        };
        let mut full = false;
        while let Some(rest) = bytes.get(client.exchange.written..).filter(|rest| !rest.is_empty()) {
            let Some(socket) = client.socket.as_ref().filter(|_| !client.exchange.cut_off) else { break };
            match socket::write(socket, rest) {
                Ok(written) => {
                    client.exchange.written += written;
                    self.ledger.now(client.exchange.phase.measured()).socket_writes += 1;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    full = true;
                    break;
                }
                // An answer may already be here (413 and close); reading will say what happened.
                Err(_) => client.exchange.cut_off = true,
            }
        }
        self.set_interest(client, id, if full { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN });
    }

    /// So many bytes came in from a socket.
    pub(super) fn came(&mut self, count: usize, now_ns: u64) {
        let step = self.plan.load.schedule.phase_at(now_ns).measured();
        let counts = self.ledger.now(step);
        counts.socket_reads += 1;
        if step.is_some() {
            counts.window_read_bytes += count as u64;
        }
        self.slice.read_bytes += count as u64;
    }

    /// Takes bytes of the answer; whether the exchange goes on.
    pub(super) fn take(&mut self, client: &mut Client, id: u32, input: &[u8], now_ns: u64) -> bool {
        client.exchange.read_bytes += input.len() as u64;
        client.exchange.first_byte_ns.get_or_insert(now_ns);
        let checks = &self.plan.manners.checks;
        let Client { reader, probe, sample, exchange, .. } = client;
        let sampling = &mut self.sampling;
        let fed = reader.feed(input, &mut |head, piece| {
            probe.feed(checks, piece);
            if head.coding.is_decoded() && !exchange.looked_at {
                exchange.looked_at = true;
                *sample = sampling.is_due(&head.media).then(Vec::new);
            }
            if let Some(kept) = sample.as_mut()
                && kept.len() + piece.len() <= SAMPLE_LIMIT_BYTES
            {
                kept.extend_from_slice(piece);
            }
        });
        match fed {
            Ok(Progress::More) => return true,
            Ok(Progress::Done(used)) if used == input.len() => self.finish(client, id, now_ns),
            Ok(Progress::Done(used)) => {
                let more = input.len() - used;
                self.fail(client, id, Failure::Excess, now_ns, || {
                    format!("{more} bytes after the end of the answer")
                });
            }
            Err(malformed) => {
                self.fail(client, id, Failure::Parse, now_ns, || match refusal::secure(input) {
                    Some(why) => why.to_owned(),
                    None => {
                        let start =
                            String::from_utf8_lossy(input.get(..input.len().min(60)).unwrap_or_default());
                        format!("{}: {start:?}", malformed.text())
                    }
                })
            }
        }
        false
    }

    /// The server closed.
    pub(super) fn closed(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        match client.reader.end() {
            Ending::Whole => self.finish(client, id, now_ns),
            Ending::NoHead => {
                let read = client.exchange.read_bytes;
                self.fail(client, id, Failure::Closed, now_ns, || {
                    format!("closed after {read} bytes of the answer")
                });
            }
            Ending::ShortBody => {
                let body = client.reader.body_bytes();
                self.fail(client, id, Failure::ShortBody, now_ns, || {
                    format!("closed after {body} bytes of the body")
                });
            }
        }
    }

    fn finish(&mut self, client: &mut Client, id: u32, now_ns: u64) {
        let plan = self.plan;
        let Some(head) = client.reader.head().copied() else { return };
        let Some(request) = plan.requests.get(client.exchange.pending.request) else { return };
        self.remember(client, request, head, now_ns);
        let led = match request.follow && redirect::is_redirect(head.status) {
            true => redirect::follow(plan, client, request, head.status),
            false => Ok(None),
        };
        let judged = match &led {
            Err(why) => Err((Failure::Redirect, why.clone())),
            Ok(Some(_)) => Ok(()),
            Ok(None) => self.judge(client, request, head),
        };
        self.count(client, request, head, judged, now_ns);
        client.answers += 1;
        if let Some(body) = client.sample.take() {
            self.offer_sample(client, head, body);
        }
        let sent = client.exchange.length == client.exchange.written
            && client.tls.as_ref().is_none_or(|session| !session.wants_write());
        let stays = head.keep_alive && (!request.is_old || head.says_keep) && sent;
        match (stays, request.close) {
            (true, Manner::Keep) => client.state = State::Idle,
            (_, Manner::Reset) => self.part(client, Manner::Reset),
            _ => self.close(client),
        }
        match led {
            Ok(Some((origin, hops))) => {
                let mut pending = client.exchange.pending;
                (pending.hops, pending.intended_ns) = (hops, None);
                self.send(client, id, pending, origin, now_ns);
            }
            _ => self.next(client, id, now_ns),
        }
    }

    /// Whether the answer is what it has to be.
    fn judge(&mut self, client: &Client, request: &Request, head: Head) -> Result<(), (Failure, String)> {
        let checks = &self.plan.manners.checks;
        // What was not modified is what was asked for.
        let unchanged =
            head.status == 304 && client.visitor.as_ref().is_some_and(|visitor| visitor.kept.is_some());
        if !unchanged && !request.right.is(head.status) {
            return Err((Failure::Status, request.right.refusal(head.status)));
        }
        let seen = check::Seen {
            status: head.status,
            coding: head.coding,
            head: client.reader.head_text(),
            body_bytes: client.reader.body_bytes(),
        };
        client.probe.judge(checks, seen).map_err(|why| (Failure::Check, why))?;
        if request.form.is_none() && !unchanged {
            let same = self.first.is_same(client.exchange.pending.request, seen, client.probe.digest());
            if !same {
                if let Some(step) = client.exchange.phase.measured() {
                    self.ledger.step(step).counts.changed += 1;
                }
                if checks.same {
                    let why = format!("its {} bytes are not those of the first answer", seen.body_bytes);
                    return Err((Failure::Changed, why));
                }
            }
        }
        Ok(())
    }

    /// Writes down what came.
    fn count(
        &mut self,
        client: &mut Client,
        request: &Request,
        head: Head,
        judged: Result<(), (Failure, String)>,
        now_ns: u64,
    ) {
        let exchange = &client.exchange;
        let last_byte_ns = now_ns.saturating_sub(exchange.started_ns);
        let lag_ns = exchange.pending.intended_ns.map(|due_ns| exchange.started_ns.saturating_sub(due_ns));
        if judged.is_ok() {
            if let Some(step) = self.plan.load.schedule.phase_at(now_ns).measured() {
                self.ledger.step(step).counts.window_answers += 1;
            }
            self.slice.answers += 1;
            self.slice.times.record(last_byte_ns.saturating_add(lag_ns.unwrap_or(0)) / 1000);
        } else {
            self.slice.failures += 1;
        }
        let Some(step) = exchange.phase.measured() else {
            if judged.is_err() {
                client.round_failed = true;
                self.ledger.counts().unmeasured_failures += 1;
            }
            return;
        };
        let tally = self.ledger.done(step);
        let answer = Answer {
            status: head.status,
            cached: head.cached,
            coding: head.coding,
            media: head.media,
            first_byte_ns: exchange.first_byte_ns.unwrap_or(now_ns).saturating_sub(exchange.started_ns),
            last_byte_ns,
            lag_ns,
            head_bytes: client.reader.head_bytes(),
            body_bytes: client.reader.body_bytes(),
            wire_read_bytes: exchange.read_bytes,
            wire_written_bytes: exchange.written as u64,
        };
        if let Some(lag_ns) = lag_ns.filter(|_| exchange.pending.was_ready) {
            tally.record(crate::tally::Span::OwnLag, lag_ns);
        }
        let row = self.rows.row(request.row);
        match judged {
            Ok(()) => {
                tally.answer(&answer, now_ns);
                if let Some(row) = row {
                    row.answers += 1;
                    row.body_bytes += answer.body_bytes;
                    row.times.record(last_byte_ns / 1000);
                }
            }
            Err((failure, why)) => {
                client.round_failed = true;
                tally.wrong(&answer);
                tally.fail(failure, Some(last_byte_ns), now_ns, || format!("{}: {why}", request.url));
                if let Some(row) = row {
                    row.failures += 1;
                }
            }
        }
    }

    /// What the client keeps of the answer: cookies, validators.
    fn remember(&mut self, client: &mut Client, request: &Request, head: Head, now_ns: u64) {
        if client.visitor.is_none() {
            return;
        }
        let (host, _) = self.host_of(client.origin);
        let unix_s = self.clock.unix_s(now_ns);
        let bytes = match client.exchange.own_bytes {
            true => client.out.as_slice(),
            false => &request.bytes,
        };
        let path = redirect::path_of(bytes);
        let Client { visitor, reader, origin, exchange, .. } = client;
        let Some(visitor) = visitor.as_mut() else { return };
        if request.cookies {
            head::fields(reader.head_text(), &mut |name, value| {
                if name.eq_ignore_ascii_case("set-cookie") {
                    visitor.jar.take(&String::from_utf8_lossy(value), &host, &path, unix_s);
                }
            });
        }
        if let Some(kept) = visitor.kept.as_mut()
            && request.method == "GET"
            && request.form.is_none()
            && exchange.pending.hops == 0
        {
            kept.learn(*origin, exchange.pending.request, head.status, reader.head_text(), now_ns);
        }
    }

    fn offer_sample(&mut self, client: &Client, head: Head, body: Vec<u8>) {
        let whole = body.len() as u64 == client.reader.body_bytes() && !body.is_empty();
        if !whole || self.shared.samples_out.load(Ordering::Relaxed) >= SAMPLES_OUT {
            return self.sampling.missed(&head.media);
        }
        self.shared.samples_out.fetch_add(1, Ordering::Relaxed);
        // Nobody listens any more only when the run is being torn down.
        let _ = self.out.send(Message::Sample(Sample { coding: head.coding, media: head.media, body }));
    }

    /// The exchange failed; the connection is of no further use.
    pub(super) fn fail(
        &mut self,
        client: &mut Client,
        id: u32,
        failure: Failure,
        now_ns: u64,
        why: impl FnOnce() -> String,
    ) {
        self.slice.failures += 1;
        client.round_failed = true;
        let request = self.plan.requests.get(client.exchange.pending.request);
        if let Some(step) = client.exchange.phase.measured() {
            let url = request.map_or("", |request| request.url.as_str());
            let after_ns = now_ns.saturating_sub(client.exchange.started_ns);
            self.ledger.done(step).fail(failure, Some(after_ns), now_ns, || format!("{url}: {}", why()));
            if let Some(row) = request.and_then(|request| self.rows.row(request.row)) {
                row.failures += 1;
            }
        } else {
            self.ledger.counts().unmeasured_failures += 1;
        }
        client.sample = None;
        self.close(client);
        self.next(client, id, now_ns);
    }

    /// The memory of a client that has just begun.
    pub(super) fn equip(&self, client: &mut Client) {
        let plan = self.plan;
        client.reader.keep_head(plan.needs_heads());
        if plan.has_memory() {
            client.visitor =
                Some(Box::new(Visitor::new(Habits { cookies: true, keeps: plan.manners.keeps })));
        }
    }
}

/// Which failure a broken session is.
pub(super) fn broken(broken: Broken) -> (Failure, String) {
    match broken {
        Broken::Socket(error) => (socket::io_failure(error), socket::text(error)),
        Broken::Tls(why) => (Failure::Other, why),
    }
}
