//! Random pipelines of hot, cold, slow and streamed answers, bodies of every framing and a malformed head at the
//! end, in random splits over an in-memory stream of random size: every answer comes whole and in order, and is
//! what plain hyper alone gives.
//!
//! The clock is paused, so a lost wake-up is found at once: nothing is left to do and the deadline strikes.
//!
//! Seen to fail, each by taking one line out of the layer:
//! - `Layer::answered` without `wake_by_ref`: hangs;
//! - `poll_flush` going idle without `body_dropped`: a later answer in the middle of an earlier one;
//! - `take_head` handing hyper all of the input: answers missing or out of order.
//!
//! The server runs in a task of its own: in one task with the client, each step of the client would wake the layer
//! too, and the first mutation would pass.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use bytes::Bytes;
use common::wire::{Answer, Dice, answers, read_in_pieces, write_in_pieces};
use common::{Side, grant, prepared};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use samovar_hot::{Accepted, End, Hub, engine, serve};
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::task::LocalSet;

#[derive(Clone, Debug)]
enum Kind {
    Hot(usize),
    /// Of HTTP/1.0, and the connection goes on.
    HotOld(usize),
    Cold(u16),
    Slow(u16),
    Stream(u16),
    Head(u16),
    PostLength(Vec<u8>),
    PostChunked(Vec<Vec<u8>>),
    PostExpect(Vec<u8>),
    /// A hot target asked for in a way that only the engine answers.
    HotButCold(usize),
    EmptyLine,
}

const HOT_SIZES: [usize; 5] = [0, 100, 8_192, 20_000, 120_000];

fn hot_body(i: usize) -> String {
    format!("{i}").repeat(HOT_SIZES[i])
}

fn kind() -> impl Strategy<Value = Kind> {
    let body = || prop::collection::vec(any::<u8>(), 0..3_000);
    prop_oneof![
        6 => (0..HOT_SIZES.len() - 1).prop_map(Kind::Hot),
        1 => Just(Kind::Hot(HOT_SIZES.len() - 1)),
        1 => (0..HOT_SIZES.len()).prop_map(Kind::HotOld),
        3 => any::<u16>().prop_map(Kind::Cold),
        2 => any::<u16>().prop_map(Kind::Slow),
        2 => any::<u16>().prop_map(Kind::Stream),
        1 => any::<u16>().prop_map(Kind::Head),
        2 => body().prop_map(Kind::PostLength),
        2 => prop::collection::vec(prop::collection::vec(any::<u8>(), 1..900), 0..4).prop_map(Kind::PostChunked),
        1 => body().prop_map(Kind::PostExpect),
        1 => (0..HOT_SIZES.len()).prop_map(Kind::HotButCold),
        1 => Just(Kind::EmptyLine),
    ]
}

impl Kind {
    fn write(&self, to: &mut Vec<u8>) {
        if let Kind::HotOld(i) = self {
            let head = format!("GET /hot/{i} HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
            return to.extend(head.bytes());
        }
        let mut put = |line: String, fields: &str, body: &[u8]| {
            to.extend(format!("{line} HTTP/1.1\r\nHost: a\r\nUser-Agent: stress\r\n{fields}\r\n").bytes());
            to.extend(body);
        };
        match self {
            Kind::HotOld(_) => {}
            Kind::Hot(i) => put(format!("GET /hot/{i}"), "", b""),
            Kind::HotButCold(i) => put(format!("GET /hot/{i}"), "Cookie: a=b\r\n", b""),
            Kind::Cold(n) => put(format!("GET /cold/{n}"), "", b""),
            Kind::Slow(n) => put(format!("GET /slow/{n}"), "Connection: keep-alive\r\n", b""),
            Kind::Stream(n) => put(format!("GET /stream/{n}"), "", b""),
            Kind::Head(n) => put(format!("HEAD /cold/{n}"), "", b""),
            Kind::PostLength(body) => {
                put("POST /echo".into(), &format!("Content-Length: {}\r\n", body.len()), body)
            }
            Kind::PostExpect(body) => {
                let fields = format!("Content-Length: {}\r\nExpect: 100-continue\r\n", body.len());
                put("POST /echo".into(), &fields, body);
            }
            Kind::PostChunked(chunks) => {
                let mut body = Vec::new();
                for chunk in chunks {
                    body.extend(format!("{:X};a=b\r\n", chunk.len()).bytes());
                    body.extend(chunk);
                    body.extend(b"\r\n");
                }
                body.extend(b"0\r\nX-Trailer: t\r\n\r\n");
                put("POST /echo".into(), "Transfer-Encoding: chunked\r\n", &body);
            }
            Kind::EmptyLine => to.extend(b"\r\n"),
        }
    }
}

type Body = BoxBody<Bytes, Infallible>;

/// A stream of chunks with a gap before each: some end without another poll of the connection.
struct Gaps {
    left: u16,
    gap: bool,
}

impl futures_core::Stream for Gaps {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.gap = !self.gap;
        if self.gap {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(format!("chunk {};", self.left))))))
    }
}

async fn service(request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let n: u16 = path.rsplit('/').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let full = |text: String| Full::new(Bytes::from(text)).boxed();
    let body = match path.split('/').nth(1) {
        Some("hot") => full(hot_body(usize::from(n))),
        Some("slow") => {
            tokio::time::sleep(Duration::from_millis(2)).await;
            full(format!("slow {n}"))
        }
        Some("stream") => StreamBody::new(Gaps { left: n % 5, gap: false }).boxed(),
        Some("echo") if request.method() == Method::POST => {
            let read = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
            Full::new(read.unwrap_or_default()).boxed()
        }
        _ => full(format!("cold {n} ").repeat(usize::from(n % 700))),
    };
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    Ok(response)
}

/// What is compared: not Age, Cache-Status and Date.
fn essence(answer: &Answer) -> (u16, Option<&str>, Option<&str>, &[u8]) {
    (answer.status, answer.field("content-type"), answer.field("connection"), &answer.body)
}

async fn talk(stream: tokio::io::DuplexStream, bytes: &[u8], dice: Dice) -> Vec<u8> {
    let (mut from, mut to) = tokio::io::split(stream);
    let write = async {
        write_in_pieces(&mut to, bytes, dice.clone()).await;
        let _ = to.shutdown().await;
    };
    let ((), read) = tokio::join!(write, read_in_pieces(&mut from, Dice(dice.0 ^ 0xabcd)));
    read
}

async fn through_plain_hyper(bytes: &[u8], heads: &[bool]) -> Vec<Answer> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let http = async {
        let mut builder = hyper::server::conn::http1::Builder::new();
        // So that the end of the stream does not cut the last answers off.
        let _ = builder.half_close(true).serve_connection(TokioIo::new(theirs), service_fn(service)).await;
    };
    let ((), read) = tokio::join!(http, talk(ours, bytes, Dice(1)));
    answers(&read, heads)
}

async fn through_the_layer(bytes: &[u8], heads: &[bool], pipe: usize, seed: u64) -> (Vec<Answer>, Rc<Side>) {
    let side = Side::new();
    let hub = Hub::new(Rc::clone(&side) as _);
    let live = Arc::new(AtomicU8::new(0));
    for i in 0..HOT_SIZES.len() {
        hub.grant(grant("a", &format!("/hot/{i}"), prepared(&hot_body(i), &live))).unwrap();
    }
    let (ours, theirs) = tokio::io::duplex(pipe);
    let layer = hub.accept(theirs, Accepted { listener: 0, peer: None });
    let http = engine(&hub);
    // A task of its own: in one task with the client, each step of the client would wake the layer as well.
    let server =
        tokio::task::spawn_local(async move { serve(layer, &http, |request, _conn| service(request)).await });
    let read = talk(ours, bytes, Dice(seed)).await;
    assert!(matches!(server.await.unwrap(), End::Closed), "the connection ended in disorder");
    assert_eq!(hub.connections(), 0);
    (answers(&read, heads), side)
}

fn check(kinds: &[Kind], malformed: bool, pipe: usize, seed: u64) {
    let mut bytes = Vec::new();
    kinds.iter().for_each(|kind| kind.write(&mut bytes));
    let heads: Vec<bool> =
        kinds.iter().filter(|k| !matches!(k, Kind::EmptyLine)).map(|k| matches!(k, Kind::Head(_))).collect();
    if malformed {
        bytes.extend(b"GET /bad HTTP/1.1\r\nHost: a\r\nBroken Field: x\r\n\r\n");
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (got, plain, side) = LocalSet::new().block_on(&runtime, async {
        let layered = through_the_layer(&bytes, &heads, pipe, seed);
        let (got, side) =
            tokio::time::timeout(Duration::from_secs(3_600), layered).await.expect("a lost wake-up");
        (got, through_plain_hyper(&bytes, &heads).await, side)
    });
    assert_eq!(plain.len(), heads.len() + usize::from(malformed), "the oracle itself");
    assert_eq!(got.len(), plain.len(), "answers are missing");
    for (i, (got, plain)) in got.iter().zip(&plain).enumerate().take(heads.len()) {
        assert_eq!(essence(got), essence(plain), "answer {i}");
    }
    if malformed {
        assert_eq!(got.last().map(|a| a.status), Some(400));
    }
    let hot = kinds.iter().filter(|k| matches!(k, Kind::Hot(_) | Kind::HotOld(_))).count();
    assert_eq!(side.hits.get(), hot as u64, "every hot request was answered below hyper, no other");
    assert_eq!(side.rejects.borrow().len(), usize::from(malformed));
    assert!(got.iter().all(|a| a.status == StatusCode::OK || malformed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_whole_and_in_order(
        kinds in prop::collection::vec(kind(), 1..120),
        malformed in any::<bool>(),
        pipe in prop_oneof![20usize..300, 1_000usize..100_000],
        seed in any::<u64>(),
    ) {
        check(&kinds, malformed, pipe, seed);
    }
}
