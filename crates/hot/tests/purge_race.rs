//! Purge against full-rate hits, over real sockets on other threads: once the state is changed, no request sent
//! afterwards gets the old bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod common;

use bytes::Bytes;
use common::{Side, grant, prepared};
use http::Response;
use http_body_util::Full;
use samovar_hot::{Accepted, Hub, engine, serve};
use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// The generation the engine answers with; hot answers carry the one they were granted under.
#[derive(Default)]
struct Shared {
    generation: AtomicU64,
    clients_stop: AtomicBool,
    cores_stop: AtomicBool,
    /// Pipelines answered, per client.
    asked: [AtomicU64; 2],
}

/// One core: every cold answer grants the current generation again, under the state that belongs to it.
fn core(shared: Arc<Shared>, states: Arc<Vec<Arc<AtomicU8>>>, up: mpsc::Sender<SocketAddr>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        let side = Side::new();
        let hub = Hub::new(Rc::clone(&side) as _);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        up.send(listener.local_addr().unwrap()).unwrap();
        while !shared.cores_stop.load(Ordering::Acquire) {
            let accepted = tokio::time::timeout(Duration::from_millis(20), listener.accept()).await;
            let Ok(Ok((stream, peer))) = accepted else { continue };
            let layer = hub.accept(stream, Accepted { listener: 0, peer: Some(peer) });
            let (http, hub, shared, states) =
                (engine(&hub), Rc::clone(&hub), Arc::clone(&shared), Arc::clone(&states));
            tokio::task::spawn_local(async move {
                serve(layer, &http, |_, _| {
                    let now = shared.generation.load(Ordering::Acquire);
                    let state = &states[usize::try_from(now).unwrap()];
                    let _ = hub.grant(grant("a", "/", prepared(&format!("{now:08}"), state)));
                    let body = Full::new(Bytes::from(format!("{now:08}")));
                    async move { Ok::<_, Infallible>(Response::new(body)) }
                })
                .await
            });
        }
        assert!(side.hits.get() > 0, "nothing was hot");
    });
}

/// Sends a pipeline of `n` requests and returns the generations of the answers.
fn ask(stream: &mut TcpStream, n: usize) -> Vec<u64> {
    stream.write_all("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(n).as_bytes()).unwrap();
    let mut all = Vec::new();
    let mut piece = [0; 16_384];
    loop {
        let read = common::wire::answers(&all, &[]);
        if read.len() == n {
            return read.iter().map(|a| std::str::from_utf8(&a.body).unwrap().parse().unwrap()).collect();
        }
        let got = stream.read(&mut piece).unwrap();
        assert!(got > 0, "the connection closed");
        all.extend_from_slice(&piece[..got]);
    }
}

#[test]
fn after_a_purge_has_returned_nobody_gets_the_old_answer() {
    const PURGES: usize = 200;
    let shared = Arc::new(Shared::default());
    let states: Arc<Vec<_>> = Arc::new((0..=PURGES).map(|_| Arc::new(AtomicU8::new(0))).collect());
    let (up, addresses) = mpsc::channel();
    let cores: Vec<_> = (0..2)
        .map(|_| {
            let (shared, states, up) = (Arc::clone(&shared), Arc::clone(&states), up.clone());
            std::thread::spawn(move || core(shared, states, up))
        })
        .collect();
    let addresses: Vec<SocketAddr> = addresses.iter().take(2).collect();
    let clients: Vec<_> = addresses
        .iter()
        .enumerate()
        .map(|(client, &address)| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                while !shared.clients_stop.load(Ordering::Acquire) {
                    // What was purged before the request was sent must not come back.
                    let least = shared.generation.load(Ordering::Acquire);
                    let asked = shared.asked[client].fetch_add(1, Ordering::AcqRel);
                    for generation in ask(&mut stream, usize::try_from(1 + asked % 9).unwrap()) {
                        assert!(
                            generation >= least,
                            "generation {generation} after the purge of {}",
                            least - 1
                        );
                    }
                }
            })
        })
        .collect();
    let asked = |client: usize| shared.asked[client].load(Ordering::Acquire);
    for n in 0..PURGES {
        // Both go on meanwhile; how far is the scheduler's choice, and so differs from purge to purge.
        let before = (asked(0), asked(1));
        while (asked(0), asked(1)) == before && clients.iter().all(|c| !c.is_finished()) {
            std::thread::sleep(Duration::from_micros(100));
        }
        // The purge: mark, then make the new generation known. The order is the server's as well: the origin's new
        // answer exists before the purge that asks for it.
        states[n].store(1, Ordering::Release);
        shared.generation.store(n as u64 + 1, Ordering::Release);
    }
    shared.clients_stop.store(true, Ordering::Release);
    clients.into_iter().for_each(|c| c.join().unwrap());
    shared.cores_stop.store(true, Ordering::Release);
    cores.into_iter().for_each(|c| c.join().unwrap());
}
