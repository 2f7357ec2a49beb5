//! The client's side: a parser of answers that shares nothing with the layer, and writing in random pieces.

use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// One answer, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Splits a stream into answers; `heads` says which requests were HEAD. Interim answers are left out. Panics on
/// anything that is not an answer; an answer cut off by the end of the stream is left out.
pub(crate) fn answers(mut bytes: &[u8], heads: &[bool]) -> Vec<Answer> {
    let mut all = Vec::new();
    while let Some((mut answer, rest)) = head(bytes) {
        bytes = rest;
        if answer.status < 200 {
            continue;
        }
        let bodiless = heads.get(all.len()).copied().unwrap_or(false) || answer.status == 304;
        if !bodiless {
            let Some((body, rest)) = body(&answer, bytes) else { break };
            answer.body = body;
            bytes = rest;
        }
        all.push(answer);
    }
    all
}

fn head(bytes: &[u8]) -> Option<(Answer, &[u8])> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&bytes[..end]).expect("an answer's head is text");
    let mut lines = text.split("\r\n");
    let status_line = lines.next().unwrap();
    assert!(status_line.starts_with("HTTP/1."), "not a status line: {status_line:?}");
    let status = status_line[9..12].parse().unwrap();
    let field = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("not a field: {line:?}"));
        (name.to_ascii_lowercase(), value.to_owned())
    };
    Some((Answer { status, fields: lines.map(field).collect(), body: Vec::new() }, &bytes[end + 4..]))
}

fn body<'b>(answer: &Answer, mut bytes: &'b [u8]) -> Option<(Vec<u8>, &'b [u8])> {
    if answer.field("transfer-encoding").is_none() {
        let length: usize = answer.field("content-length").map_or(0, |v| v.parse().unwrap());
        return bytes.split_at_checked(length).map(|(body, rest)| (body.to_vec(), rest));
    }
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|w| w == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let chunk = bytes.get(end + 2..end + 2 + size + 2)?;
        assert!(chunk.ends_with(b"\r\n"), "a chunk that does not end where it says");
        body.extend_from_slice(&chunk[..size]);
        bytes = &bytes[end + 2 + size + 2..];
        if size == 0 {
            return Some((body, bytes));
        }
    }
}

/// A small generator, so that a failing case can be run again.
#[derive(Clone)]
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    }

    pub(crate) fn size(&mut self, below: u64) -> usize {
        usize::try_from(self.roll(below)).unwrap()
    }

    pub(crate) async fn pause(&mut self) {
        match self.roll(8) {
            0 => tokio::time::sleep(Duration::from_millis(self.roll(4))).await,
            1..=3 => tokio::task::yield_now().await,
            _ => {}
        }
    }
}

/// Writes everything in random pieces with random pauses; stops where the other side has closed.
pub(crate) async fn write_in_pieces(to: &mut (impl AsyncWrite + Unpin), mut bytes: &[u8], mut dice: Dice) {
    while !bytes.is_empty() {
        let most = [1, 4, 40, 400, 20_000][dice.size(5)];
        let (now, later) = bytes.split_at(bytes.len().min(1 + dice.size(most)));
        if to.write_all(now).await.is_err() {
            return;
        }
        bytes = later;
        dice.pause().await;
    }
}

/// Reads to the end in random pieces with random pauses.
pub(crate) async fn read_in_pieces(from: &mut (impl AsyncRead + Unpin), mut dice: Dice) -> Vec<u8> {
    let mut all = Vec::new();
    let mut piece = vec![0; 20_000];
    loop {
        let most = 1 + dice.size([10, 1_000, 20_000][dice.clone().size(3)]);
        match from.read(&mut piece[..most.min(20_000)]).await {
            Ok(0) | Err(_) => return all,
            Ok(n) => all.extend_from_slice(&piece[..n]),
        }
        dice.pause().await;
    }
}
