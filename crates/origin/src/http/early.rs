//! An answer that comes while its request is still going out, which is rare: then a task moves both.
//!
//! Who reads the answer may be the same who sends the request, and read nothing before all of it is sent; were the
//! request moved by the reading alone, neither would go on. Not here: either of the two.

use super::coming::Coming;
use crate::Failure;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The answer's body. Dropped: the connection is closed.
pub(super) struct Early {
    pieces: Receiver<Piece>,
    /// Still to come of the announced length, bytes.
    left: Option<u64>,
    over: bool,
}

/// A piece or the failure, and whether nothing follows.
type Piece = (Option<Result<Bytes, Failure>>, bool);

impl Early {
    /// Must be called within the runtime of the core.
    pub(super) fn new(coming: Coming, len: Option<u64>) -> Early {
        let (sender, pieces) = channel(1);
        tokio::spawn(drive(coming, sender));
        Early { pieces, left: len, over: false }
    }
}

async fn drive(mut coming: Coming, sender: Sender<Piece>) {
    loop {
        let room = tokio::select! {
            room = sender.reserve() => room,
            failure = poll_fn(|cx| coming.poll_going(cx)) => {
                let _left = sender.send((Some(Err(failure)), true)).await;
                return;
            }
        };
        let Ok(room) = room else { return };
        let piece = tokio::select! {
            piece = poll_fn(|cx| coming.poll_piece(cx)) => piece,
            () = sender.closed() => return,
        };
        let over = piece.is_none() || coming.is_over();
        room.send((piece, over));
        if over {
            return;
        }
    }
}

impl Body for Early {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        let (piece, over) = std::task::ready!(this.pieces.poll_recv(cx)).unwrap_or((None, true));
        this.over = over;
        if let (Some(left), Some(Ok(piece))) = (this.left.as_mut(), &piece) {
            *left = left.saturating_sub(piece.len() as u64);
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.over
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
