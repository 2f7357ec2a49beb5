//! Connections, and which request gets which answer.
//!
//! One task for each connection, all on one thread: a request that waits costs memory and nothing else. Not here: the
//! limit (`gate`), what is answered (`catalogue`), who may ask (`keys`).

use crate::ask::ask;
use crate::catalogue::catalogue;
use crate::counters::Counters;
use crate::gate::Gate;
use crate::keyring::Keyring;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, VARY, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// How long a connection may say nothing. Longer than proxies keep idle sockets, so that they close first.
const IDLE: Duration = Duration::from_secs(75);
/// Connections at once; those beyond wait in the system's queue.
const CONNECTIONS_MAX: usize = 50_000;
/// Where the key stands.
const KEY_FIELD: &str = "x-api-key";

/// What all requests share.
pub(crate) struct Service {
    /// The limit.
    pub(crate) gate: Gate,
    /// Who may ask, unless everybody may.
    pub(crate) keyring: Option<Arc<Keyring>>,
    /// The longest delay.
    pub(crate) delay_max: Duration,
}

type Reply = Response<Full<Bytes>>;

/// Serves for ever.
pub(crate) async fn serve(listener: &TcpListener, service: Service) {
    let service = Arc::new(service);
    let counters = Arc::new(Counters::default());
    let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, or the client left already: the next one may do better.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (service, counters) = (Arc::clone(&service), Arc::clone(&counters));
        tokio::spawn(async move {
            let answer = service_fn(|request| {
                let (service, counters) = (Arc::clone(&service), Arc::clone(&counters));
                async move { Ok::<_, Infallible>(answer(&request, &service, &counters).await) }
            });
            // A client that breaks off is its own affair.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(IDLE)
                .serve_connection(TokioIo::new(stream), answer)
                .await;
            drop(seat);
        });
    }
}

async fn answer(request: &Request<Incoming>, service: &Service, counters: &Counters) -> Reply {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut reply = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served here");
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return reply;
    }
    match request.uri().path() {
        "/catalogue" => {
            let mut reply = asked(request, service).await;
            if service.keyring.is_some() {
                // What is answered depends on who asks (RFC 9110 §12.5.5).
                reply.headers_mut().insert(VARY, HeaderValue::from_static("X-Api-Key"));
            }
            counters.count(reply.status().as_u16());
            reply
        }
        "/counters" => {
            let loads = service.keyring.as_ref().map_or(0, |k| k.loads());
            text(StatusCode::OK, &counters.page(&service.gate, loads))
        }
        "/healthz" => text(StatusCode::OK, "ok"),
        "/" => {
            text(StatusCode::OK, "GET /catalogue?delay=20ms&items=50 for XML, /counters for how it stands")
        }
        _ => text(StatusCode::NOT_FOUND, "no such page"),
    }
}

async fn asked(request: &Request<Incoming>, service: &Service) -> Reply {
    let ask = match ask(request.uri().query().unwrap_or(""), service.delay_max) {
        Ok(ask) => ask,
        Err(why) => return text(StatusCode::BAD_REQUEST, &why),
    };
    if let Some(keyring) = &service.keyring {
        // Taken once: a request is judged by one state of the file.
        let keys = keyring.now();
        let key = request.headers().get(KEY_FIELD).and_then(|v| v.to_str().ok()).unwrap_or("");
        match keys.items_max(key) {
            None => {
                let mut reply = text(StatusCode::UNAUTHORIZED, "X-Api-Key is missing or unknown");
                let challenge = HeaderValue::from_static("ApiKey realm=\"catalogue\"");
                reply.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                return reply;
            }
            Some(most) if ask.items > most => {
                return text(StatusCode::FORBIDDEN, &format!("this key may ask for {most} items at once"));
            }
            Some(_) => {}
        }
    }
    let Ok(turn) = service.gate.turn().await else {
        let mut reply = text(StatusCode::SERVICE_UNAVAILABLE, "too many are waiting already");
        reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        return reply;
    };
    tokio::time::sleep(ask.delay).await;
    let xml = catalogue(ask.items);
    drop(turn);
    let mut reply = Response::new(Full::new(Bytes::from(xml)));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml; charset=utf-8"));
    reply
}

fn text(status: StatusCode, words: &str) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(format!("{}\n", words.trim_end()))));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    reply
}
