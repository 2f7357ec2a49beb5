//! The codec against records built by hand: every split, every padding, and garbage.

use super::*;
use proptest::prelude::*;

/// A record as §3.3 draws it, written without the codec.
fn record_of(kind: u8, id: u16, content: &[u8], padding: u8) -> Vec<u8> {
    let mut bytes = vec![1, kind, (id >> 8) as u8, id as u8];
    bytes.push((content.len() >> 8) as u8);
    bytes.push(content.len() as u8);
    bytes.extend([padding, 0]);
    bytes.extend(content);
    bytes.extend(vec![0xEE; usize::from(padding)]);
    bytes
}

fn end_of(app_status: u32, status: u8, padding: u8) -> Vec<u8> {
    let mut content = app_status.to_be_bytes().to_vec();
    content.extend([status, 9, 9, 9]);
    record_of(3, 1, &content, padding)
}

/// What a decoder made of some bytes.
#[derive(Debug, Default)]
struct Decoded {
    out: Vec<u8>,
    err: Vec<u8>,
    ends: Vec<(u32, Ended)>,
    /// The most that stayed undecoded, bytes.
    kept: usize,
    wrong: Option<NotFastCgi>,
}

/// Feeds `bytes` in pieces of the given lengths (repeated), and joins adjacent pieces of a stream.
fn decoded(bytes: &[u8], lengths: &[usize]) -> Decoded {
    let mut got = Decoded::default();
    let mut decoder = Decoder::new();
    let mut buf = BytesMut::new();
    let mut rest = bytes;
    let mut lengths = lengths.iter().cycle();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((*lengths.next().unwrap()).clamp(1, rest.len()));
        rest = after;
        buf.extend_from_slice(piece);
        loop {
            match decoder.next(&mut buf) {
                Ok(None) => break,
                Ok(Some(Event::Stdout(piece))) => got.out.extend(piece),
                Ok(Some(Event::Stderr(piece))) => got.err.extend(piece),
                Ok(Some(Event::End { app_status, ended })) => got.ends.push((app_status, ended)),
                Err(wrong) => {
                    got.wrong = Some(wrong);
                    return got;
                }
            }
        }
        got.kept = got.kept.max(buf.len());
    }
    got
}

/// One record's part in an answer.
#[derive(Clone, Debug)]
enum Said {
    Out(Vec<u8>, u8),
    Err(Vec<u8>, u8),
    Management(u8, Vec<u8>, u8),
}

fn said() -> impl Strategy<Value = Said> {
    let content = || prop::collection::vec(any::<u8>(), 0..600);
    prop_oneof![
        4 => (content(), any::<u8>()).prop_map(|(c, p)| Said::Out(c, p)),
        2 => (content(), any::<u8>()).prop_map(|(c, p)| Said::Err(c, p)),
        1 => (any::<u8>(), content(), any::<u8>()).prop_map(|(k, c, p)| Said::Management(k, c, p)),
    ]
}

proptest! {
    #[test]
    fn an_answer_is_the_same_however_it_is_split(
        records in prop::collection::vec(said(), 0..12),
        app_status in any::<u32>(),
        padding in any::<u8>(),
        lengths in prop::collection::vec(1_usize..900, 1..8),
    ) {
        let (mut bytes, mut out, mut err) = (Vec::new(), Vec::new(), Vec::new());
        for record in &records {
            match record {
                Said::Out(content, padding) => {
                    bytes.extend(record_of(6, 1, content, *padding));
                    out.extend(content);
                }
                Said::Err(content, padding) => {
                    bytes.extend(record_of(7, 1, content, *padding));
                    err.extend(content);
                }
                Said::Management(kind, content, padding) => bytes.extend(record_of(*kind, 0, content, *padding)),
            }
        }
        bytes.extend(end_of(app_status, 0, padding));
        let ends = vec![(app_status, Ended::Complete)];
        let got = decoded(&bytes, &lengths);
        prop_assert_eq!(got.wrong, None);
        prop_assert_eq!((got.out, got.err, got.ends), (out, err, ends));
        prop_assert!(got.kept <= 263, "{} bytes were kept", got.kept);
    }

    #[test]
    fn garbage_ends_in_an_error_or_in_silence(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        lengths in prop::collection::vec(1_usize..300, 1..8),
        plausible in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if plausible {
            // Past the first checks, so that lengths and paddings are garbage too.
            for (at, byte) in [1, 6, 0, 1].into_iter().enumerate() {
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
        }
        let got = decoded(&bytes, &lengths);
        prop_assert!(got.kept <= 263, "{} bytes were kept", got.kept);
    }

    #[test]
    fn what_we_write_can_be_read(content in prop::collection::vec(any::<u8>(), 0..200_000), params in any::<bool>()) {
        let which = if params { Outward::Params } else { Outward::Stdin };
        let mut out = BytesMut::new();
        stream(&mut out, which, &content);
        end_of_stream(&mut out, which);
        let (mut read, mut rest, mut ended) = (Vec::<u8>::new(), &out[..], false);
        while let [1, kind, 0, 1, high, low, padding, 0, after @ ..] = rest {
            prop_assert_eq!(*kind, if params { 4 } else { 5 });
            prop_assert!(!ended);
            let length = usize::from(*high) << 8 | usize::from(*low);
            prop_assert_eq!((length + usize::from(*padding)) % 8, 0);
            read.extend(&after[..length]);
            ended = length == 0;
            rest = &after[length + usize::from(*padding)..];
        }
        prop_assert!(rest.is_empty() && ended);
        prop_assert_eq!(read, content);
    }
}

#[test]
fn a_request_opens_as_the_specification_draws_it() {
    let mut out = BytesMut::new();
    begin(&mut out);
    assert_eq!(&out[..], [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
    assert_eq!(abort(), [1, 2, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn records_that_are_not_for_us_are_refused() {
    let table = [
        (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), NotFastCgi::Version(b'H')),
        (record_of(6, 2, b"x", 0), NotFastCgi::Id(2)),
        (record_of(5, 1, b"x", 0), NotFastCgi::Kind(5)),
        (record_of(200, 1, b"x", 0), NotFastCgi::Kind(200)),
        (record_of(3, 1, b"short", 0), NotFastCgi::EndLength(5)),
        (record_of(3, 1, &[0; 16], 0), NotFastCgi::EndLength(16)),
        (end_of(0, 4, 0), NotFastCgi::EndStatus(4)),
    ];
    for (bytes, wrong) in table {
        for split in [1, 7, 1000] {
            assert_eq!(decoded(&bytes, &[split]).wrong, Some(wrong.clone()), "{bytes:?}");
        }
    }
}

#[test]
fn every_way_to_end_is_told() {
    for (status, ended) in
        [(0, Ended::Complete), (1, Ended::CannotMultiplex), (2, Ended::Overloaded), (3, Ended::UnknownRole)]
    {
        assert_eq!(decoded(&end_of(255, status, 3), &[1]).ends, [(255, ended)]);
    }
}

#[test]
fn an_end_is_not_told_before_its_padding_came() {
    let bytes = end_of(0, 0, 5);
    let mut decoder = Decoder::new();
    let mut buf = BytesMut::from(&bytes[..bytes.len() - 1]);
    assert_eq!(decoder.next(&mut buf), Ok(None));
    assert!(!decoder.is_between_records());
    buf.extend_from_slice(&bytes[bytes.len() - 1..]);
    assert!(decoder.next(&mut buf).unwrap().is_some());
    assert!(decoder.is_between_records() && buf.is_empty());
}
