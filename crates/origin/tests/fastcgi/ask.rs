//! Short ways to ask a FastCGI application. They share no code with what they judge.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use samovar_origin::{
    Address, Answer, AnswerBody, Asked, Client, Failure, FastCgi, FastCgiSettings, Script, UpstreamLimits,
};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An application under test, and what it wrote to its error stream.
pub struct Under {
    pub fastcgi: Arc<FastCgi>,
    pub said: Arc<Mutex<Vec<String>>>,
    root: PathBuf,
}

impl Under {
    pub fn new(address: Address, root: &Path, limits: UpstreamLimits) -> Under {
        let said = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&said);
        let settings = FastCgiSettings { name: "test".to_owned(), address, limits };
        let stderr = Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned()));
        Under { fastcgi: FastCgi::new(settings, stderr), said, root: root.to_owned() }
    }

    pub fn script(&self, name: &str) -> Script {
        Script {
            script_filename: self.root.join(name.trim_start_matches('/')),
            script_name: name.to_owned(),
            path_info: None,
            document_root: self.root.clone(),
            params: Arc::default(),
        }
    }

    pub async fn ask(&self, asked: Asked) -> Result<Answer, Failure> {
        let script = self.script(&asked.path);
        self.fastcgi.attempt(0, asked, script).await
    }

    /// The whole body of a GET.
    pub async fn text(&self, path: &str, query: &str) -> String {
        let answer = self.ask(get(path, query)).await.unwrap_or_else(|f| panic!("{path}?{query}: {f}"));
        whole(answer).await.unwrap_or_else(|f| panic!("{path}?{query}: {f}"))
    }

    pub fn said(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }
}

pub fn get(path: &str, query: &str) -> Asked {
    Asked {
        interim: None,
        method: Method::GET,
        path: path.to_owned(),
        query: (!query.is_empty()).then(|| query.to_owned()),
        host: "site.example".to_owned(),
        headers: HeaderMap::new(),
        body: None,
        body_bytes: None,
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

/// A POST of these bytes, with or without a length.
pub fn post(path: &str, query: &str, body: impl Into<Bytes>, sized: bool) -> Asked {
    let body = body.into();
    let bytes = sized.then_some(body.len() as u64);
    let body = Full::new(body).map_err(|never| match never {}).boxed();
    Asked { method: Method::POST, body: Some(body), body_bytes: bytes, ..get(path, query) }
}

/// A POST whose pieces the test sends when it likes.
pub fn slow_post(path: &str, query: &str, bytes: u64) -> (UnboundedSender<Bytes>, Asked) {
    let (sender, receiver) = unbounded_channel();
    let body = Received(receiver).boxed();
    let asked = Asked { method: Method::POST, body: Some(body), body_bytes: Some(bytes), ..get(path, query) };
    (sender, asked)
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

/// The next piece of a streamed answer; `None` at its end.
pub async fn next(answer: &mut Answer) -> Option<Result<Bytes, Failure>> {
    match &mut answer.body {
        AnswerBody::Stream { frames, .. } => {
            frames.frame().await.map(|frame| frame.map(|frame| frame.into_data().unwrap()))
        }
        _ => None,
    }
}

pub async fn bytes_of(mut answer: Answer) -> Result<Vec<u8>, Failure> {
    let mut all = match &answer.body {
        AnswerBody::Bytes(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    };
    while let Some(piece) = next(&mut answer).await {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

pub async fn whole(answer: Answer) -> Result<String, Failure> {
    bytes_of(answer).await.map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Waits until `condition` holds: for things another process does in its own time.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..2000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what} did not happen within 10 s");
}
