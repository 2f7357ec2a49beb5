//! Asking a running server: one request to its admin interface.

use super::{Failed, Server};
use crate::admin::TOKEN_VARIABLE;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// A live explanation may have to wait for a slow origin.
const ANSWER_MAX: Duration = Duration::from_secs(150);

/// Sends one request and gives the JSON that came back.
pub fn ask(server: &Server, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("start a runtime: {e}"))?;
    runtime.block_on(async {
        match tokio::time::timeout(ANSWER_MAX, send(server, method, path, body)).await {
            Ok(result) => result,
            Err(_) => Err(Failed::from(format!(
                "{} gave no answer within {} s",
                server.admin,
                ANSWER_MAX.as_secs()
            ))),
        }
    })
}

async fn send(server: &Server, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failed> {
    let address = server.admin.trim_start_matches("http://").trim_end_matches('/');
    let nobody = |e: std::io::Error| {
        Failed::no_server(format!(
            "no server answers at {address}: {e}\nhint: is `samovar serve` running? Its banner says `admin`; name it with --admin"
        ))
    };
    match address.strip_prefix("unix:") {
        Some(path_of) => {
            let stream = UnixStream::connect(path_of).await.map_err(nobody)?;
            exchange(stream, "localhost", method, path, body).await
        }
        None => {
            let stream = TcpStream::connect(address).await.map_err(nobody)?;
            exchange(stream, address, method, path, body).await
        }
    }
}

async fn exchange<S>(
    stream: S,
    host: &str,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Failed>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let not_ours = |e: &dyn std::fmt::Display| {
        format!(
            "{host} does not answer like a Samovar admin interface: {e}\nhint: is it the `admin` address of the banner, and not `listening`?"
        )
    };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| not_ours(&e))?;
    tokio::spawn(connection);
    let bytes = body.map_or_else(Bytes::new, |b| Bytes::from(b.to_string()));
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, host);
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    if let Ok(token) = std::env::var(TOKEN_VARIABLE) {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Full::new(bytes)).map_err(|e| format!("ask {path}: {e}"))?;
    let response = sender.send_request(request).await.map_err(|e| not_ours(&e))?;
    let status = response.status();
    let bytes = response.into_body().collect().await.map_err(|e| not_ours(&e))?.to_bytes();
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
        not_ours(&format!(
            "{status}, {}",
            String::from_utf8_lossy(bytes.get(..bytes.len().min(200)).unwrap_or(&bytes))
        ))
    })?;
    if status == StatusCode::OK {
        return Ok(value);
    }
    let message = value.get("error").and_then(Value::as_str);
    Err(Failed::from(message.map_or_else(|| not_ours(&status), str::to_string)))
}

/// A value for a query.
pub fn quote(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
