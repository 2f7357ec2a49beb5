//! One request on one connection: the request's body goes out while the answer comes in.
//!
//! Both directions move on every poll, so an application that answers before it has read its input cannot
//! block us, nor we it. What has not been decoded is never more than one read; a reader who does not come back
//! stops both directions. Dropped in mid-request, the application is told to abort and the connection closed.
//! Not here: the answer's head, lengths, pooling.

use super::codec::{self, Decoder, Ended, Event, Outward};
use super::lines::Lines;
use crate::connect::Socket;
use crate::spare;
use crate::{AskedBody, Failure, Reached};
use bytes::{Buf, Bytes, BytesMut};
use http_body::Body as _;
use samovar_reason::Upstream;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, Sleep};

/// Room for one read, bytes.
const READ_BYTES: usize = 32 * 1024;
/// The most of the request's body that is turned into records at once, bytes.
const PIECE_BYTES: usize = 32 * 1024;

/// Receives the application's error lines.
pub(super) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// What an exchange yields.
#[derive(Debug)]
pub(super) enum Heard {
    /// A piece of the answer.
    Piece(Bytes),
    /// The request is over.
    End(Ended),
}

/// See the file's head.
pub(super) struct Exchange {
    socket: Option<Socket>,
    decoder: Decoder,
    read: BytesMut,
    /// Whole records on their way out.
    out: BytesMut,
    written_bytes: u64,
    input: Input,
    /// Why writing ended early. The answer may still come.
    write_error: Option<io::Error>,
    heard: bool,
    answered: bool,
    ended: bool,
    lines: Lines,
    say: Say,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    timer_runs: bool,
}

/// The request's body on its way out.
struct Input {
    body: Option<AskedBody>,
    /// A piece not yet turned into records.
    piece: Bytes,
    /// Still to come of the announced length, bytes.
    left: u64,
    /// Its last record was written to `out`.
    ended: bool,
    awaits_client: bool,
}

impl Exchange {
    /// `opening` holds the records up to the request's body; `left` is the body's length.
    pub(super) fn new(socket: Socket, opening: &[u8], body: Option<AskedBody>, left: u64, say: Say) -> Self {
        let mut out = BytesMut::with_capacity(opening.len() + codec::HEAD_BYTES);
        out.extend_from_slice(opening);
        // Nothing follows: its end goes out with the rest, in one write.
        let ended = body.is_none();
        if ended {
            codec::end_of_stream(&mut out, Outward::Stdin);
        }
        Exchange {
            socket: Some(socket),
            decoder: Decoder::new(),
            read: BytesMut::new(),
            out,
            written_bytes: 0,
            input: Input { body, piece: Bytes::new(), left, ended, awaits_client: false },
            write_error: None,
            heard: false,
            answered: false,
            ended: false,
            lines: Lines::default(),
            say,
            limit: Duration::MAX,
            timer: None,
            timer_runs: false,
        }
    }

    /// From now on the application may be silent for so long. `answered`: the head is here.
    pub(super) fn set_limit(&mut self, limit: Duration, answered: bool) {
        self.limit = limit;
        self.answered = answered;
        self.timer_runs = false;
    }

    /// The application has said something.
    pub(super) fn heard(&self) -> bool {
        self.heard
    }

    /// The request's body was taken in full.
    pub(super) fn input_is_over(&self) -> bool {
        self.input.ended && self.out.is_empty()
    }

    /// The last line of its error stream.
    pub(super) fn last_line(&self) -> Option<&str> {
        self.lines.last()
    }

    /// The socket, if it is at rest: the request over on both sides and nothing left of it.
    pub(super) fn into_socket(mut self) -> Option<Socket> {
        let sent = self.input.ended && self.out.is_empty() && self.write_error.is_none();
        let read = self.ended && self.read.is_empty() && self.decoder.is_between_records();
        if sent && read { self.socket.take() } else { None }
    }

    /// What has been received already, without asking the socket.
    pub(super) fn received(&mut self) -> Result<Option<Heard>, Failure> {
        loop {
            let event = self.decoder.next(&mut self.read).map_err(|wrong| {
                self.ended = true;
                self.failed(Upstream::NotFastCgi, wrong.to_string(), Reached::Answered)
            })?;
            match event {
                None => return Ok(None),
                Some(Event::Stdout(piece)) => return Ok(Some(Heard::Piece(piece))),
                Some(Event::Stderr(piece)) => self.lines.push(&piece, self.say.as_ref()),
                Some(Event::End { app_status, ended }) => {
                    self.ended = true;
                    self.lines.end(self.say.as_ref());
                    if app_status != 0 {
                        (self.say)(&format!("the script ended with status {app_status}"));
                    }
                    return Ok(Some(Heard::End(ended)));
                }
            }
        }
    }

    /// Moves both directions until there is something to hear.
    pub(super) fn poll_heard(&mut self, cx: &mut Context<'_>) -> Poll<Result<Heard, Failure>> {
        loop {
            self.poll_input(cx)?;
            if let Some(heard) = self.received()? {
                return Poll::Ready(Ok(heard));
            }
            match self.poll_read(cx) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(self.broken(None))),
                Poll::Ready(Ok(_)) => {
                    self.heard = true;
                    self.timer_runs = false;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.broken(Some(&error)))),
                Poll::Pending => return self.poll_silence(cx).map(Err),
            }
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(socket) = self.socket.as_mut() else { return Poll::Ready(Ok(0)) };
        if self.read.capacity() == 0 {
            self.read = spare::take();
        }
        // Everything before was handed out, so this is either the rest of that buffer or a new one.
        if self.read.capacity() - self.read.len() < READ_BYTES / 4 {
            self.read.reserve(READ_BYTES);
        }
        pin!(socket.read_buf(&mut self.read)).poll(cx)
    }

    /// The request's body out, as far as it goes.
    fn poll_input(&mut self, cx: &mut Context<'_>) -> Result<(), Failure> {
        while self.write_error.is_none() {
            if self.out.is_empty() {
                if self.input.ended || !self.input.poll_records(&mut self.out, cx)? {
                    return Ok(());
                }
                continue;
            }
            let Some(socket) = self.socket.as_mut() else { return Ok(()) };
            match Pin::new(socket).poll_write(cx, &self.out) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => self.write_error = Some(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(bytes)) => {
                    self.out.advance(bytes);
                    self.written_bytes += bytes as u64;
                    self.timer_runs = false;
                }
                Poll::Ready(Err(error)) if self.written_bytes == 0 => {
                    self.ended = true;
                    return Err(self.failed(Upstream::Reset, format!("send: {error}"), Reached::NotSent));
                }
                // An application may answer and close without reading its input; the answer counts.
                Poll::Ready(Err(error)) => self.write_error = Some(error),
            }
        }
        Ok(())
    }

    /// Nothing moves. Pending, unless it is the application that has owed us something for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        if self.input.awaits_client && self.out.is_empty() && self.write_error.is_none() {
            self.timer_runs = false;
            return Poll::Pending;
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        if !self.timer_runs {
            self.timer_runs = true;
            if let Some(deadline) = Instant::now().checked_add(limit) {
                timer.as_mut().reset(deadline);
            }
        }
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(if self.answered {
            self.failed(
                Upstream::BodyTimeout,
                format!("nothing for {limit:?} within the body"),
                Reached::Answered,
            )
        } else {
            self.failed(
                Upstream::HeadTimeout,
                format!("no head within {limit:?} of the request"),
                Reached::Sent,
            )
        })
    }

    /// The application closed the connection before it had ended the request.
    fn broken(&mut self, error: Option<&io::Error>) -> Failure {
        self.ended = true;
        self.lines.end(self.say.as_ref());
        let reset = self.write_error.as_ref().map(|error| format!(", sending had failed: {error}"));
        let how = match error {
            Some(error) => format!("receive: {error}"),
            None => format!("the application closed the connection{}", reset.unwrap_or_default()),
        };
        let (reason, when, reached) = match (self.answered, self.heard) {
            (true, _) => (Upstream::ShortBody, "in mid-body", Reached::Answered),
            (false, true) => (Upstream::Reset, "in mid-head", Reached::Answered),
            (false, false) => (Upstream::Reset, "before it answered", Reached::Sent),
        };
        self.failed(reason, format!("{how} {when}"), reached)
    }

    /// A failure, with the last line of the error stream: it often says what no status can.
    pub(super) fn failed(&self, reason: Upstream, mut detail: String, reached: Reached) -> Failure {
        if let Some(line) = self.last_line() {
            detail.push_str("; its last words: ");
            detail.push_str(line);
        }
        Failure { reason, detail, reached }
    }
}

impl Input {
    /// Turns the next piece of the body into records. False if there is nothing to send now.
    fn poll_records(&mut self, out: &mut BytesMut, cx: &mut Context<'_>) -> Result<bool, Failure> {
        if self.piece.is_empty() {
            match self.poll_piece(cx)? {
                Poll::Pending => return Ok(false),
                Poll::Ready(Some(piece)) => self.piece = piece,
                Poll::Ready(None) => {
                    self.ended = true;
                    self.awaits_client = false;
                    self.body = None;
                    codec::end_of_stream(out, Outward::Stdin);
                    return Ok(true);
                }
            }
        }
        let piece = self.piece.split_to(self.piece.len().min(PIECE_BYTES));
        codec::stream(out, Outward::Stdin, &piece);
        Ok(true)
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Result<Poll<Option<Bytes>>, Failure> {
        let gone = |detail: String| Failure { reason: Upstream::ClientGone, detail, reached: Reached::Sent };
        loop {
            // At the announced length there is nothing to wait for, whether the body says so or not.
            let Some(body) = self.body.as_mut().filter(|_| self.left > 0) else {
                return Ok(Poll::Ready(None));
            };
            let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) else {
                self.awaits_client = true;
                return Ok(Poll::Pending);
            };
            self.awaits_client = false;
            match frame {
                None => return Err(gone(format!("the client's body ended {} bytes early", self.left))),
                Some(Err(failure)) => return Err(failure),
                Some(Ok(frame)) => {
                    // CGI has no trailers.
                    let Ok(piece) = frame.into_data() else { continue };
                    let Some(left) = self.left.checked_sub(piece.len() as u64) else {
                        return Err(gone("the client's body is longer than announced".to_owned()));
                    };
                    self.left = left;
                    if !piece.is_empty() {
                        return Ok(Poll::Ready(Some(piece)));
                    }
                }
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.lines.end(self.say.as_ref());
        spare::give(std::mem::take(&mut self.read));
        let Some(socket) = self.socket.as_ref() else { return };
        // Within a record the bytes of an abort would be taken for its content.
        if !self.ended && self.out.is_empty() && self.write_error.is_none() && self.written_bytes > 0 {
            let _ = socket.try_write(&codec::abort());
        }
    }
}
