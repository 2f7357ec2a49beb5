//! What is believed of an answer is what hyper's client believes of the same bytes, however they are split: the same
//! status, fields and body, or neither believes it.
//!
//! hyper is asked over a socket made of the pieces. Not asked is what hyper takes and we do not, as others read it
//! otherwise (RFC 9112 §7.1): control characters within the extensions of chunks, more digits before a size than any
//! number has, trailer fields that are none.

use super::decode::Decoder;
use super::heard::{Heard, Listener};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Status, fields in order of their names, body.
type Answer = (u16, Vec<(String, Vec<u8>)>, Vec<u8>);

fn answer(status: StatusCode, headers: &HeaderMap, body: Vec<u8>) -> Answer {
    let mut fields: Vec<_> =
        headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect();
    fields.sort();
    (status.as_u16(), fields, body)
}

/// Ours: the answer, or `None` if it is refused, or breaks off.
fn ours(pieces: &[Vec<u8>], method: &Method) -> Option<Answer> {
    let (mut read, mut listener, mut pieces) = (BytesMut::new(), Listener::default(), pieces.iter());
    let head = loop {
        match listener.next(&mut read, method, 64 * 1024).ok()? {
            Some(Heard::Head(head)) => break head,
            Some(Heard::Interim(..)) => {}
            Some(Heard::Switched(..)) => panic!("nobody asked for another protocol"),
            None => read.extend_from_slice(pieces.next()?),
        }
    };
    let (mut decoder, mut body) = (Decoder::new(head.framing), Vec::new());
    while !decoder.is_done() {
        match decoder.next(&mut read).ok()? {
            Some(piece) => body.extend_from_slice(&piece),
            None if decoder.is_done() => {}
            None => match pieces.next() {
                Some(piece) => read.extend_from_slice(piece),
                None => {
                    decoder.at_close().ok()?;
                    break;
                }
            },
        }
    }
    Some(answer(head.status, &head.headers, body))
}

/// A socket that takes everything, and gives one piece for each reading once something was written.
struct Pieces {
    left: VecDeque<Vec<u8>>,
    asked: bool,
    reader: Option<std::task::Waker>,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if let Some(mut piece) = self.left.pop_front() {
            let rest = piece.split_off(piece.len().min(buf.remaining()));
            buf.put_slice(&piece);
            if !rest.is_empty() {
                self.left.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.asked = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// hyper's, with the rules about heads that were Samovar's own when it was the client.
async fn hypers(pieces: &[Vec<u8>], method: &Method) -> Option<Answer> {
    let socket = Pieces { left: pieces.iter().cloned().collect(), asked: false, reader: None };
    let mut builder = http1::Builder::new();
    builder.max_header_size(64 * 1024).max_buf_size(128 * 1024);
    let (mut sender, driver) = builder.handshake(TokioIo::new(socket)).await.ok()?;
    let driver = tokio::spawn(driver);
    let request = Request::builder().method(method.clone()).uri("/").body(Empty::<Bytes>::new()).ok()?;
    let came = sender.send_request(request).await;
    let believed = match came {
        Ok(response) => believed(response).await,
        Err(_) => None,
    };
    driver.abort();
    believed
}

async fn believed(response: Response<Incoming>) -> Option<Answer> {
    let (mut parts, incoming) = response.into_parts();
    let fields = &mut parts.headers;
    let codings: Vec<_> = fields.get_all(header::TRANSFER_ENCODING).iter().cloned().collect();
    let refused = parts.status == StatusCode::SWITCHING_PROTOCOLS
        || codings.len() > 1
        || codings.iter().any(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"))
        || (!codings.is_empty() && fields.contains_key(header::CONTENT_LENGTH));
    if refused {
        return None;
    }
    crate::fields::settle_length(fields).ok()?;
    if parts.status == StatusCode::NO_CONTENT {
        fields.remove(header::CONTENT_LENGTH);
    }
    samovar_policy::strip_hop_by_hop(fields);
    let body = incoming.collect().await.ok()?.to_bytes().to_vec();
    Some(answer(parts.status, &parts.headers, body))
}

fn field() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => "[A-Za-z-]{1,9}: ?[ -~]{0,12}\r\n".prop_map(String::into_bytes),
        1 => "[A-Za-z-]{1,9}:[ \t]?[a-z]{0,9} ?\n".prop_map(String::into_bytes),
        2 => (0u64..9).prop_map(|n| format!("Content-Length: {n}\r\n").into_bytes()),
        1 => "Content-Length:[ \t]?[0-9+, -]{0,5}\r\n".prop_map(String::into_bytes),
        4 => Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        1 => "Transfer-Encoding: ?(chunked|gzip|identity|Chunked ?|,chunked|gzip, ?chunked)\r\n".prop_map(String::into_bytes),
        1 => "Connection: (close|keep-alive|x-a|x-a, close|,)\r\n".prop_map(String::into_bytes),
        1 => "(Keep-Alive|Upgrade|TE|Trailer|X-A|Proxy-Connection): [a-z]{1,3}\r\n".prop_map(String::into_bytes),
        1 => "Set-Cookie: [a-z]=[a-z]\r\n".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 1..6),
    ]
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
        3 => "HTTP/1\\.[01] (200|204|206|304|404|500|599|999) [A-Za-z ]{0,9}\r\n".prop_map(String::into_bytes),
        2 => "HTTP/1\\.1 (100|101|102|103|199) x\r\n(A: b\r\n)?\r\nHTTP/1\\.1 200 OK\r\n".prop_map(String::into_bytes),
        1 => "(\r\n){0,2}HTTP/1\\.[0-2] [0-9]{2,4}( ?[ -~]{0,5})?\r?\n".prop_map(String::into_bytes),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let chunk = ("[a-zA-Z0-9]{1,20}", " {0,2}", "(;[a-z=]{1,5})?")
        .prop_map(|(data, pad, extension)| format!("{:X}{pad}{extension}\r\n{data}\r\n", data.len()));
    let chunked = (prop::collection::vec(chunk, 0..4), "0\r\n(X: [a-z]{1,3}\r\n){0,2}\r\n")
        .prop_map(|(chunks, end)| (chunks.concat() + &end).into_bytes());
    prop_oneof![
        4 => chunked,
        3 => "[a-z]{0,12}".prop_map(String::into_bytes),
        1 => "[0-9a-f]{0,3}[ ;]?\r?\n[a-z]{0,9}\r?\n0\r?\n\r?\n".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

fn split(bytes: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, more) = rest.split_at((*size).min(rest.len()));
        pieces.push(piece.to_vec());
        rest = more;
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn we_believe_what_hyper_believes(
        line in line(),
        fields in prop::collection::vec(field(), 0..4),
        body in body(),
        sizes in prop::collection::vec(1usize..40, 1..12),
        cut in prop_oneof![4 => Just(usize::MAX), 1 => 0usize..120],
        method in prop_oneof![6 => Just(Method::GET), 1 => Just(Method::HEAD), 1 => Just(Method::POST)],
    ) {
        let mut bytes = [line, fields.concat(), b"\r\n".to_vec(), body].concat();
        bytes.truncate(cut);
        let pieces = split(&bytes, &sizes);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let theirs = runtime.block_on(hypers(&pieces, &method));
        let ours = ours(&pieces, &method);
        prop_assert!(ours == theirs, "{}\nours   {ours:?}\nhyper's {theirs:?}", bytes.escape_ascii());
    }
}
