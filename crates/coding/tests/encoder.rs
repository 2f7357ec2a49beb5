//! What goes in comes out of independent decoders, however it is cut; what was flushed can be decoded at once; and the
//! answer of a large web service shrinks to an eighth.

#![allow(clippy::unwrap_used, reason = "a test may stop at its first surprise")]

use proptest::prelude::*;
use samovar_coding::{Coding, Encoder};
use std::io::{Read, Write};

fn is_send<T: Send>() {}

#[test]
fn an_encoder_can_be_handed_to_another_thread() {
    is_send::<Encoder>();
}

fn decoded(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match coding {
        Coding::Gzip => drop(flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap()),
        Coding::Br => drop(brotli::Decompressor::new(bytes, 4096).read_to_end(&mut out).unwrap()),
        Coding::Zstd => out = zstd::decode_all(bytes).unwrap(),
    }
    out
}

fn coded(coding: Coding, level: u32, body: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(coding, level, Some(body.len() as u64)).unwrap();
    encoder.write(body).unwrap();
    let mut out = encoder.take();
    out.extend(encoder.finish().unwrap());
    out
}

/// What a map service says of some thousands of points, as the fourth seed's did: every element named in full.
fn service_xml(features: u32) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<GetFeatureResponse xmlns=\"http://schemas.example/services/2009\">\n",
    );
    let mut seed = 42_u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    for id in 0..features {
        let (x, y) = (next() % 100_000, next() % 100_000);
        xml.push_str(&format!(
            "  <FeatureRecord>\n    <ObjectIdentifier>{id}</ObjectIdentifier>\n    <GeometryType>esriGeometryPoint</GeometryType>\n    \
             <CoordinateX>-117.{x:05}</CoordinateX>\n    <CoordinateY>34.{y:05}</CoordinateY>\n    \
             <AddressStatus>MATCHED_EXACTLY</AddressStatus>\n    <StreetName>North {} Street</StreetName>\n    \
             <LastModifiedDate>2009-03-{:02}T00:00:00</LastModifiedDate>\n  </FeatureRecord>\n",
            next() % 60,
            next() % 28 + 1
        ));
    }
    xml.push_str("</GetFeatureResponse>\n");
    xml
}

#[test]
fn xml_of_a_large_web_service_shrinks_to_an_eighth() {
    let xml = service_xml(3_000);
    assert!(xml.len() > 900_000, "{} bytes", xml.len());
    for (coding, level) in [(Coding::Gzip, 6), (Coding::Br, 5), (Coding::Zstd, 3)] {
        let out = coded(coding, level, xml.as_bytes());
        assert_eq!(decoded(coding, &out), xml.as_bytes());
        assert!(out.len() * 8 <= xml.len(), "{coding:?}: {} of {}", out.len(), xml.len());
    }
}

#[test]
fn what_was_flushed_can_be_decoded() {
    for coding in Coding::ALL {
        let mut encoder = Encoder::new(coding, 1, None).unwrap();
        encoder.write(b"data: the first event\n\n").unwrap();
        encoder.flush().unwrap();
        let out = encoder.take();
        let mut decoder: Box<dyn Write> = match coding {
            Coding::Gzip => Box::new(flate2::write::GzDecoder::new(Shared)),
            Coding::Br => Box::new(brotli::DecompressorWriter::new(Shared, 4096)),
            Coding::Zstd => Box::new(zstd::stream::write::Decoder::new(Shared).unwrap()),
        };
        SEEN.with(|seen| seen.borrow_mut().clear());
        decoder.write_all(&out).unwrap();
        decoder.flush().unwrap();
        SEEN.with(|seen| assert_eq!(&seen.borrow()[..], b"data: the first event\n\n", "{coding:?}"));
    }
}

thread_local! {
    static SEEN: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

struct Shared;

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        SEEN.with(|seen| seen.borrow_mut().extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn equal_bodies_make_equal_bytes_and_a_finished_encoder_says_so() {
    for coding in Coding::ALL {
        assert_eq!(coded(coding, 3, b"a body"), coded(coding, 3, b"a body"));
        let mut encoder = Encoder::new(coding, 3, None).unwrap();
        encoder.finish().unwrap();
        assert!(encoder.write(b"x").is_err() && encoder.flush().is_err() && encoder.finish().is_err());
        assert_eq!(encoder.take(), b"");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn pieces_and_flushes_change_nothing(
        pieces in proptest::collection::vec((proptest::collection::vec(0_u8..4, 0..3_000), any::<bool>()), 0..8),
        coding in proptest::sample::select(Coding::ALL.to_vec()),
        level in 1_u32..7,
    ) {
        let mut encoder = Encoder::new(coding, level, None).unwrap();
        let (mut out, mut body) = (Vec::new(), Vec::new());
        for (piece, flush) in pieces {
            encoder.write(&piece).unwrap();
            body.extend_from_slice(&piece);
            if flush {
                encoder.flush().unwrap();
                out.extend(encoder.take());
            }
        }
        out.extend(encoder.take());
        out.extend(encoder.finish().unwrap());
        prop_assert_eq!(decoded(coding, &out), body);
    }
}
