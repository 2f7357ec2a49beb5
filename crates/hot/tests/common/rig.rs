//! One connection to a served layer on a paused clock, with short limits and a service that does as the path says.

use super::wire::answers;
use super::{Side, grant, prepared};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use samovar_hot::{Accepted, BodyRejected, ConnHandle, End, Hub, Limits, MapBounds, engine, serve};
use samovar_reason::Reject;
use std::cell::RefCell;
use std::convert::Infallible;
use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::sleep;

/// One connection to a served layer.
pub(crate) struct Rig {
    pub(crate) side: Rc<Side>,
    pub(crate) hub: Rc<Hub>,
    pub(crate) client: DuplexStream,
    pub(crate) server: JoinHandle<End<DuplexStream>>,
    /// Paths the service was called for, with the outcome of their bodies.
    pub(crate) called: Rc<RefCell<Vec<String>>>,
}

pub(crate) fn limits() -> Limits {
    Limits {
        head_max_bytes: 4_000,
        line_max_bytes: 1_000,
        fields_max: 20,
        body_max_bytes: Some(100_000),
        head_timeout_ms: 1_000,
        body_timeout_ms: 2_000,
        idle_timeout_ms: 3_000,
        send_timeout_ms: 4_000,
        rate_min_bytes: 0,
        half_close_ms: 500,
        ..Limits::default()
    }
}

pub(crate) fn rig(pipe: usize) -> Rig {
    rig_with(pipe, limits())
}

pub(crate) fn rig_with(pipe: usize, limits: Limits) -> Rig {
    let side = Side::new();
    let hub = Hub::with(Rc::clone(&side) as _, limits, MapBounds::default());
    let live = Arc::new(AtomicU8::new(0));
    hub.grant(grant("a", "/hot", prepared("hot", &live))).unwrap();
    hub.grant(grant("a", "/large", prepared(&"x".repeat(200_000), &live))).unwrap();
    let (client, theirs) = tokio::io::duplex(pipe);
    let layer = hub.accept(theirs, Accepted { listener: 0, peer: None });
    let called: Rc<RefCell<Vec<String>>> = Rc::default();
    let (http, calls) = (engine(&hub), Rc::clone(&called));
    let server = spawn_local(async move {
        serve(layer, &http, |request, conn| answer(request, conn, Rc::clone(&calls))).await
    });
    let sweeper = Rc::downgrade(&hub);
    spawn_local(async move {
        while let Some(hub) = sweeper.upgrade() {
            hub.sweep();
            drop(hub);
            sleep(Duration::from_millis(100)).await;
        }
    });
    Rig { side, hub, client, server, called }
}

pub(crate) async fn answer(
    request: Request<Incoming>,
    conn: ConnHandle,
    calls: Rc<RefCell<Vec<String>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let mut response = Response::new(Full::new(Bytes::from(format!("cold {path}"))));
    let mut outcome = String::new();
    match path.as_str() {
        "/slow" => sleep(Duration::from_millis(300)).await,
        "/very-slow" => sleep(Duration::from_secs(60)).await,
        "/unread" => {}
        "/upgrade" => {
            conn.accept_upgrade();
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            *response.body_mut() = Full::default();
        }
        _ => match request.into_body().collect().await {
            Ok(body) => outcome = format!(" {}", body.to_bytes().len()),
            Err(error) => {
                let io = error.source().and_then(|e| e.downcast_ref::<std::io::Error>());
                let why = io.and_then(|e| e.get_ref()).and_then(|e| e.downcast_ref::<BodyRejected>());
                outcome = format!(" {:?}", why.map(|r| r.0));
            }
        },
    }
    calls.borrow_mut().push(path + &outcome);
    Ok(response)
}

impl Rig {
    pub(crate) async fn send(&mut self, bytes: &str) {
        self.client.write_all(bytes.as_bytes()).await.unwrap();
    }

    /// Everything until the connection closes; then the client closes too.
    pub(crate) async fn read_all(&mut self) -> String {
        let mut all = Vec::new();
        self.client.read_to_end(&mut all).await.unwrap();
        self.client.shutdown().await.unwrap();
        String::from_utf8(all).unwrap()
    }

    /// Reads until `end` has come.
    pub(crate) async fn read_until(&mut self, end: &str) -> String {
        let mut all = Vec::new();
        let mut piece = [0; 1_000];
        while !all.ends_with(end.as_bytes()) {
            let n = self.client.read(&mut piece).await.unwrap();
            assert!(n > 0, "closed after {:?}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&piece[..n]);
        }
        String::from_utf8(all).unwrap()
    }

    pub(crate) async fn end(self) -> End<DuplexStream> {
        drop(self.client);
        let end =
            tokio::time::timeout(Duration::from_secs(1_000), self.server).await.expect("it ends").unwrap();
        assert_eq!(self.hub.connections(), 0);
        end
    }

    pub(crate) fn called(&self) -> Vec<String> {
        self.called.borrow().clone()
    }

    pub(crate) fn rejects(&self) -> Vec<Reject> {
        self.side.rejects.borrow().clone()
    }
}

pub(crate) fn on_local<F: Future<Output = ()>>(test: F) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

pub(crate) fn statuses(read: &str) -> Vec<u16> {
    answers(read.as_bytes(), &[]).iter().map(|a| a.status).collect()
}
