//! A scripted origin on a raw socket, and short ways to ask it. It shares no code with what it judges.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use samovar_origin::{
    Address, Answer, AnswerBody, Asked, AskedBody, Client, Failure, HttpSettings, HttpUpstream,
    UpstreamLimits,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A listening origin; `connections` counts those it accepted.
pub struct Origin {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
}

impl Origin {
    /// Runs `script` on a thread for each connection, with the connection's number from 0.
    pub fn scripted(script: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let number = counter.fetch_add(1, Ordering::SeqCst);
                // A broken test ends by itself instead of hanging.
                stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                let script = Arc::clone(&script);
                std::thread::spawn(move || script(stream, number));
            }
        });
        Origin { address, connections }
    }

    /// Answers every request with the same bytes, then closes if `close`.
    pub fn answering(bytes: impl Into<Vec<u8>>, close: bool) -> Origin {
        let bytes = bytes.into();
        Origin::scripted(move |mut stream, _| {
            while read_head(&mut stream).is_some() {
                if stream.write_all(&bytes).is_err() || close {
                    return;
                }
            }
        })
    }

    pub fn accepted(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn settings(&self, limits: UpstreamLimits) -> HttpSettings {
        HttpSettings {
            name: "test".to_owned(),
            address: Address::Tcp("127.0.0.1".to_owned(), self.address.port()),
            host: None,
            base_path: String::new(),
            limits,
        }
    }

    pub fn upstream(&self, limits: UpstreamLimits) -> Arc<HttpUpstream> {
        HttpUpstream::new(self.settings(limits))
    }
}

/// Reads up to and including the empty line; `None` at the end of the stream.
pub fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0_u8; 1];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    Some(String::from_utf8(head).unwrap())
}

/// Reads exactly so many bytes.
pub fn read_exactly(stream: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut body = vec![0; bytes];
    stream.read_exact(&mut body).unwrap();
    body
}

/// Waits for the peer to close; false if it sent something or kept the connection.
pub fn sees_close(stream: &mut TcpStream) -> bool {
    let mut byte = [0_u8; 1];
    match stream.read(&mut byte) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

pub fn get(path: &str) -> Asked {
    ask(Method::GET, path)
}

pub fn ask(method: Method, path: &str) -> Asked {
    Asked {
        method,
        path: path.to_owned(),
        query: None,
        host: "site.example".to_owned(),
        headers: HeaderMap::new(),
        body: None,
        body_bytes: None,
        interim: None,
        client_target: None,
        upgrade: None,
        client: Client {
            remote: Some("192.0.2.7:4711".parse().unwrap()),
            local: Some("192.0.2.1:80".parse().unwrap()),
            scheme: "http",
            version: "HTTP/1.1",
        },
    }
}

pub fn with(mut asked: Asked, name: &'static str, value: &str) -> Asked {
    asked.headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    asked
}

/// A body of these pieces; `None` announces no length.
pub fn with_body(mut asked: Asked, pieces: Vec<Result<&'static str, Failure>>, bytes: Option<u64>) -> Asked {
    asked.body = Some(body_of(pieces));
    asked.body_bytes = bytes;
    asked
}

fn body_of(pieces: Vec<Result<&'static str, Failure>>) -> AskedBody {
    BodyExt::boxed(Pieces(pieces.into_iter()))
}

/// A body whose pieces the test sends when it likes.
pub fn channel_body() -> (UnboundedSender<Bytes>, AskedBody) {
    let (sender, receiver) = unbounded_channel();
    (sender, BodyExt::boxed(Received(receiver)))
}

struct Pieces(std::vec::IntoIter<Result<&'static str, Failure>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Failure;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        Poll::Ready(
            self.0.next().map(|piece| piece.map(|text| Frame::data(Bytes::from_static(text.as_bytes())))),
        )
    }
}

struct Received(UnboundedReceiver<Bytes>);

impl Body for Received {
    type Data = Bytes;
    type Error = Failure;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The next piece of an answer; `None` at its end. What came with the head is there already.
pub async fn next(answer: &mut Answer) -> Option<Result<Frame<Bytes>, Failure>> {
    match std::mem::replace(&mut answer.body, AnswerBody::Empty) {
        AnswerBody::Stream { len, mut frames } => {
            let frame = frames.frame().await;
            answer.body = AnswerBody::Stream { len, frames };
            frame
        }
        AnswerBody::Bytes(bytes) => Some(Ok(Frame::data(bytes))),
        AnswerBody::Empty => None,
        AnswerBody::File { .. } => panic!("an upstream has no files"),
        AnswerBody::Switched(_) => panic!("nobody asked for another protocol"),
    }
}

/// The whole body, or what ended it.
pub async fn whole(mut answer: Answer) -> Result<String, Failure> {
    let mut text = Vec::new();
    while let Some(frame) = next(&mut answer).await {
        if let Ok(data) = frame?.into_data() {
            text.extend_from_slice(&data);
        }
    }
    Ok(String::from_utf8(text).unwrap())
}

/// Waits until `condition` holds: for things another thread does in its own time.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..2000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what} did not happen within 10 s");
}
