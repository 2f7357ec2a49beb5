//! The response reader under random splits and garbage: the oracle is the generator, which knows what it wrote.

#![allow(clippy::indexing_slicing, reason = "a test may stop at its first surprise")]

use proptest::prelude::*;
use thirst::wire::{Cached, Ending, Malformed, Progress, Reader};

#[derive(Clone, Debug)]
enum Body {
    None,
    Length(Vec<u8>),
    Chunked(Vec<(Vec<u8>, bool)>, usize),
    UntilClose(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Model {
    interim: usize,
    status: u16,
    close: bool,
    hit: Option<bool>,
    body: Body,
}

impl Model {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..self.interim {
            out.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n");
        }
        out.extend_from_slice(format!("HTTP/1.1 {} Some Words\r\nServer: x\r\n", self.status).as_bytes());
        if self.close {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        match self.hit {
            Some(true) => out.extend_from_slice(b"Cache-Status: edge; hit; ttl=4\r\n"),
            Some(false) => out.extend_from_slice(b"X-Cache: MISS\r\n"),
            None => {}
        }
        match &self.body {
            Body::None => out.extend_from_slice(b"\r\n"),
            Body::Length(body) => {
                out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                out.extend_from_slice(body);
            }
            Body::Chunked(chunks, trailers) => {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for (chunk, extended) in chunks.iter().filter(|(chunk, _)| !chunk.is_empty()) {
                    let extension = if *extended { ";name=\"v\"" } else { "" };
                    out.extend_from_slice(format!("{:X}{extension}\r\n", chunk.len()).as_bytes());
                    out.extend_from_slice(chunk);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\n");
                (0..*trailers).for_each(|_| out.extend_from_slice(b"X-Trailer: t\r\n"));
                out.extend_from_slice(b"\r\n");
            }
            Body::UntilClose(body) => {
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(body);
            }
        }
        out
    }

    fn body(&self) -> Vec<u8> {
        match &self.body {
            Body::None => Vec::new(),
            Body::Length(body) | Body::UntilClose(body) => body.clone(),
            Body::Chunked(chunks, _) => chunks.iter().flat_map(|(chunk, _)| chunk.clone()).collect(),
        }
    }
}

fn model() -> impl Strategy<Value = Model> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    let body = prop_oneof![
        bytes().prop_map(Body::Length),
        (prop::collection::vec((bytes(), any::<bool>()), 0..5), 0_usize..3)
            .prop_map(|(c, t)| Body::Chunked(c, t)),
        bytes().prop_map(Body::UntilClose),
        Just(Body::None),
    ];
    (
        0_usize..3,
        prop_oneof![Just(200_u16), Just(404), 200_u16..600],
        any::<bool>(),
        any::<Option<bool>>(),
        body,
    )
        .prop_map(|(interim, status, close, hit, body)| {
            let status = match body {
                Body::None => 304,
                _ if status == 204 || status == 304 => 200,
                _ => status,
            };
            Model { interim, status, close, hit, body }
        })
}

/// Feeds the bytes in the given pieces; what is left of the last piece, and the body.
fn read(reader: &mut Reader, bytes: &[u8], cuts: &[usize]) -> Result<(bool, usize, Vec<u8>), Malformed> {
    let mut body = Vec::new();
    let mut edges: Vec<usize> =
        cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([0, bytes.len()]).collect();
    edges.sort_unstable();
    for pair in edges.windows(2).filter(|pair| pair[0] < pair[1]) {
        let progress =
            reader.feed(&bytes[pair[0]..pair[1]], &mut |_, piece| body.extend_from_slice(piece))?;
        if let Progress::Done(used) = progress {
            return Ok((true, pair[0] + used, body));
        }
    }
    Ok((false, bytes.len(), body))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_split_gives_the_same_answer(
        model in model(), cuts in prop::collection::vec(any::<usize>(), 0..40), tail in prop::collection::vec(any::<u8>(), 0..20)
    ) {
        let mut bytes = model.bytes();
        let length = bytes.len();
        let until_close = matches!(model.body, Body::UntilClose(_));
        if !until_close {
            bytes.extend_from_slice(&tail);
        }
        let mut reader = Reader::default();
        reader.reset(false);
        let (done, used, body) = read(&mut reader, &bytes, &cuts).unwrap();
        prop_assert_eq!(done, !until_close);
        prop_assert_eq!(used, length);
        prop_assert_eq!(&body, &model.body());
        prop_assert_eq!(reader.body_bytes(), body.len() as u64);
        let head = reader.head().unwrap();
        prop_assert_eq!(head.status, model.status);
        prop_assert_eq!(head.keep_alive, !model.close && !until_close);
        let cached = match model.hit { Some(true) => Cached::Hit, Some(false) => Cached::Miss, None => Cached::Unknown };
        prop_assert_eq!(head.cached, cached);
        prop_assert_eq!(reader.end(), Ending::Whole);
    }

    #[test]
    fn a_cut_answer_is_never_whole(model in model(), cut in any::<usize>(), cuts in prop::collection::vec(any::<usize>(), 0..5)) {
        let bytes = model.bytes();
        let cut = cut % bytes.len();
        let mut reader = Reader::default();
        reader.reset(false);
        let (done, _, _) = read(&mut reader, &bytes[..cut], &cuts).unwrap();
        prop_assert!(!done);
        let head_there = reader.head().is_some();
        let whole = head_there && matches!(model.body, Body::UntilClose(_));
        let want = match (head_there, whole) {
            (false, _) => Ending::NoHead,
            (true, true) => Ending::Whole,
            (true, false) => Ending::ShortBody,
        };
        prop_assert_eq!(reader.end(), want);
    }

    #[test]
    fn an_answer_to_head_has_no_body(model in model(), cuts in prop::collection::vec(any::<usize>(), 0..5)) {
        let bytes = model.bytes();
        let head_end = bytes.len() - match &model.body {
            Body::None => 0,
            Body::Length(body) | Body::UntilClose(body) => body.len(),
            Body::Chunked(..) => {
                let start = bytes.windows(11).position(|w| w == b"chunked\r\n\r\n").unwrap() + 11;
                bytes.len() - start
            }
        };
        let mut reader = Reader::default();
        reader.reset(true);
        let (done, used, body) = read(&mut reader, &bytes, &cuts).unwrap();
        prop_assert!(done && body.is_empty());
        prop_assert_eq!(used, head_end);
    }

    #[test]
    fn garbage_never_panics_and_mutations_stay_bounded(
        model in model(), changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..10),
        noise in prop::collection::vec(any::<u8>(), 0..300), cuts in prop::collection::vec(any::<usize>(), 0..20)
    ) {
        let mut bytes = model.bytes();
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        bytes.extend_from_slice(&noise);
        for input in [&bytes, &noise] {
            let mut reader = Reader::default();
            reader.reset(false);
            if let Ok((_, used, body)) = read(&mut reader, input, &cuts) {
                prop_assert!(used <= input.len() && body.len() <= input.len());
            }
            let _ = reader.end();
        }
    }
}

#[test]
fn an_endless_head_is_refused() {
    let mut reader = Reader::default();
    reader.reset(false);
    let mut fed = 0;
    let outcome = loop {
        let line: &[u8] = if fed == 0 {
            b"HTTP/1.1 200 OK\r\n"
        } else {
            b"X-Filler: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n"
        };
        fed += line.len();
        match reader.feed(line, &mut |_, _| {}) {
            Ok(Progress::More) if fed < 1_000_000 => {}
            other => break other,
        }
    };
    assert_eq!(outcome, Err(Malformed::HeadTooLong));
}

#[test]
fn one_reader_reads_many() {
    let mut reader = Reader::default();
    for round in 0..3_u64 {
        reader.reset(false);
        let text =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {round}\r\n\r\n{}", "x".repeat(round as usize));
        let (first, second) = text.as_bytes().split_at(9);
        assert_eq!(reader.feed(first, &mut |_, _| {}), Ok(Progress::More));
        assert_eq!(reader.feed(second, &mut |_, _| {}), Ok(Progress::Done(second.len())));
        assert_eq!((reader.body_bytes(), reader.head_bytes()), (round, text.len() as u64 - round));
    }
}
