//! Two servers that differ in one setting, `[hot] enabled`, before one origin: the same bytes go to both, cut differently,
//! and what they answer must be the same.
//!
//! Shared by the test beside it and by the fuzz target `hot_and_engine`. Not here: which bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at its first surprise"
)]

mod origin;
mod said;

pub use origin::{CODED, CODINGS, PATHS};
pub use said::Said;

use samovar::front::Inside;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::LocalRuntime;

/// What is asked for at the end of every stream: it shows whether both still stand at the beginning of a request.
const LAST: &[u8] = b"GET /last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";

/// Longer than any time that the server allows a client that has said its last.
const PATIENCE: Duration = Duration::from_secs(20);

const CONFIG: &str = r#"
config = 1
[hot]
enabled = ENABLED
threshold = 1
# What is compressed on the way is cut wherever the origin paused, so its bytes are never twice the same.
[compression]
streams_max = 0
[[site]]
name = "a"
default = true
origin = "ORIGIN"
[[site.rule]]
path = "/cookie-any/**"
respect = true
ignore_cookies = ["*"]
[[site.rule]]
path = "/cookie-some/**"
respect = true
ignore_cookies = ["a", "b*"]
[[site.rule]]
path = "/cookie-key/**"
respect = true
vary_cookies = ["a"]
[[site.rule]]
path = "/language/**"
respect = true
vary_headers = [{ name = "Accept-Language", languages = ["en", "de"] }]
[[site.rule]]
path = "/reload/**"
respect = true
reload = "revalidate"
[[site.rule]]
path = "/query/**"
respect = true
vary_query = { keep = ["id"] }
[[site.rule]]
path = "/told/**"
respect = true
client_cache_control = "max-age=7"
[[site.rule]]
path = "/dressed/**"
respect = true
client_fields = [{ set = "X-Host", value = "{host}" }, { remove = "X-From" }, { append = "Link", value = "</d>" }]
[[site.rule]]
path = "/rewritten/*"
respect = true
rewrite = "/{1}"
response_fields = [{ set = "X-Stored", value = "{path}" }]
[[site.rule]]
path = "/for/**"
for = "1h"
"#;

/// The two servers and the thread they live in.
pub struct Pair {
    runtime: LocalRuntime,
    hot: Rc<Inside>,
    engine: Rc<Inside>,
    date: String,
}

/// Both sets of answers to the same bytes.
pub struct Answered {
    /// With the hot tier.
    pub hot: Vec<Said>,
    /// Without.
    pub engine: Vec<Said>,
    /// When a connection ends may depend on how the bytes are cut: see [`Answered::difference`].
    either_may_end: bool,
}

impl Pair {
    /// Both, with everything of [`PATHS`] asked for often enough to be hot.
    pub fn new() -> Pair {
        let (origin, date) = origin::start();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(Default::default())
            .unwrap();
        let start = |enabled: &str| {
            let text = CONFIG.replace("ORIGIN", &origin).replace("ENABLED", enabled);
            Rc::new(Inside::start(&text).unwrap())
        };
        let (hot, engine) = runtime.block_on(async { (start("true"), start("false")) });
        let pair = Pair { runtime, hot, engine, date };
        pair.warm();
        pair
    }

    /// Judges what fuzzing came up with: where both are cut, two bytes for each, and the bytes of a connection.
    ///
    /// # Panics
    /// If the two answer differently: that is what fuzzing looks for.
    pub fn judge_bytes(&self, data: &[u8]) {
        let Some((&[a, b, c, d], bytes)) = data.split_first_chunk() else { return };
        let cut = |high: u8, low: u8| u64::from(u16::from_be_bytes([high, low]));
        let answered = self.answers(bytes, cut(a, b), cut(c, d));
        if let Some(difference) = answered.difference() {
            panic!("{difference}\n--- asked ---\n{}", shown(bytes));
        }
        // What it did to what is stored must not come back to a later input.
        if !answered.ended_together() || answered.went_to_the_origin() {
            self.begin_anew();
        }
    }

    /// Asks for everything often enough that it is hot again, whatever was done to it.
    pub fn warm(&self) {
        let mut all = Vec::new();
        for path in PATHS {
            for _ in 0..3 {
                all.extend(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").into_bytes());
            }
        }
        self.answers(&all, 0, 0);
        self.warm_forms();
    }

    /// Asks for what is compressed until every form of it is there, on both sides, and hot.
    fn warm_forms(&self) {
        for path in CODED {
            for accept in CODINGS {
                let ask = format!("GET {path} HTTP/1.1\r\nHost: test\r\nAccept-Encoding: {accept}\r\n\r\n");
                let until = std::time::Instant::now() + PATIENCE;
                loop {
                    let answered = self.answers(ask.repeat(2).as_bytes(), 0, 0);
                    let coded = |said: &Vec<Said>| {
                        said.first().is_some_and(|said| {
                            said.fields.iter().any(|(name, _)| name == "content-encoding")
                        })
                    };
                    if coded(&answered.hot) && coded(&answered.engine) {
                        break;
                    }
                    assert!(std::time::Instant::now() < until, "{path} is not compressed: {accept}");
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    /// Begins anew with nothing but that: after a connection that ended earlier with the one than with the other, they
    /// may have stored different things.
    pub fn begin_anew(&self) {
        self.hot.purge();
        self.engine.purge();
        self.warm();
    }

    /// What both answer, the bytes cut for each by a seed of its own; 0 does not cut.
    pub fn answers(&self, bytes: &[u8], cut_hot: u64, cut_engine: u64) -> Answered {
        let all = [bytes, LAST].concat();
        let said = |server: &Rc<Inside>, cut| {
            let server = Rc::clone(server);
            let raw = self.runtime.block_on(async {
                let asked = tokio::time::timeout(PATIENCE, ask(server, &all, Cutter(cut)));
                asked.await.unwrap_or_else(|_| panic!("no end of it, cut by {cut}: {}", shown(&all)))
            });
            said::read(&raw, &self.date)
        };
        Answered {
            hot: said(&self.hot, cut_hot),
            engine: said(&self.engine, cut_engine),
            either_may_end: (cut_hot, cut_engine) != (0, 0) && may_have_body(bytes),
        }
    }
}

impl Answered {
    /// Whether the origin was asked: then something else may be stored now, or not any more.
    pub fn went_to_the_origin(&self) -> bool {
        self.hot.iter().chain(&self.engine).any(|said| said.is_of_the_origin() && !said.is_hit())
    }

    /// Whether both connections ended at the same request.
    pub fn ended_together(&self) -> bool {
        self.hot.len() == self.engine.len()
    }

    /// What differs, in words; `None` if nothing does.
    ///
    /// A request that is answered before its body has come ends the connection, and one whose body has come does not, so
    /// what follows such an answer depends on how it was cut, with the hot tier or without.
    pub fn difference(&self) -> Option<String> {
        let (hot, engine) = (self.hot.len(), self.engine.len());
        let ended = |at: usize| self.either_may_end && at + 1 >= hot.min(engine);
        for (at, (hot, engine)) in self.hot.iter().zip(&self.engine).enumerate() {
            if let Some(difference) = hot.difference(engine).filter(|_| !ended(at)) {
                return Some(format!("answer {at}: {difference}"));
            }
        }
        (hot != engine && !self.either_may_end)
            .then(|| format!("{hot} answers with the hot tier, {engine} without"))
    }
}

/// Whether any of it could be taken for the announcement of a body.
fn may_have_body(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    text.contains("transfer-encoding")
        || text.matches("content-length").count() > text.matches("content-length: 0\r").count()
}

/// Bytes as text, long ones shortened.
pub fn shown(bytes: &[u8]) -> String {
    let text = bytes.escape_ascii().to_string().replace("\\r\\n", "\\r\\n\n");
    text.lines()
        .map(
            |l| {
                if l.len() > 300 {
                    format!("{}… ({} characters)", &l[..200], l.len())
                } else {
                    l.to_string()
                }
            },
        )
        .collect::<Vec<_>>()
        .join("\n")
}

/// Sends everything and reads to the end.
async fn ask(server: Rc<Inside>, bytes: &[u8], mut cut: Cutter) -> Vec<u8> {
    let (client, theirs) = tokio::io::duplex(cut.room_bytes());
    let served = tokio::task::spawn_local(async move { server.converse(theirs).await });
    let (mut from, mut to) = tokio::io::split(client);
    let mut all = Vec::new();
    let (_, ()) = tokio::join!(from.read_to_end(&mut all), send(&mut to, bytes, &mut cut));
    drop((from, to));
    served.await.unwrap();
    all
}

async fn send(to: &mut tokio::io::WriteHalf<DuplexStream>, mut bytes: &[u8], cut: &mut Cutter) {
    let manner = cut.roll(6);
    while !bytes.is_empty() {
        let (now, later) = bytes.split_at(cut.piece(manner, bytes).clamp(1, bytes.len()));
        // A server may refuse and close before everything was sent; the answers tell.
        if to.write_all(now).await.is_err() {
            return;
        }
        bytes = later;
        for _ in 0..cut.roll(4) {
            tokio::task::yield_now().await;
        }
    }
    let _ = to.shutdown().await;
}

/// Where a stream is cut: a small generator, so that a failing case can be run again.
struct Cutter(u64);

impl Cutter {
    fn roll(&mut self, below: u64) -> u64 {
        if self.0 == 0 {
            return 0;
        }
        self.0 = (self.0 ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9).max(1);
        self.0 ^= self.0 >> 29;
        self.0 % below.max(1)
    }

    /// How much the stream holds between the two.
    fn room_bytes(&mut self) -> usize {
        [1 << 20, 1 << 16, 5_000, 700][self.roll(4) as usize]
    }

    fn piece(&mut self, manner: u64, bytes: &[u8]) -> usize {
        let upto = |end: &[u8]| bytes.windows(end.len()).position(|w| w == end).map(|at| at + end.len());
        match manner {
            0 => bytes.len(),
            1 if bytes.len() < 4_000 => 1,
            2 => upto(b"\r\n\r\n").unwrap_or(bytes.len()),
            // In the middle of an end of line.
            3 => upto(b"\r").unwrap_or(bytes.len()),
            4 => 1 + self.roll(8) as usize,
            _ => 1 + self.roll(400) as usize,
        }
    }
}
