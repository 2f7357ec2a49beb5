//! What compressing costs: bytes and processor time by coding and level, on the answer of a web service in XML as that of
//! the fourth seed, and how long one piece holds a core when it is compressed while it is sent.
//!
//! `cargo run --release -p samovar-coding --example cost`. docs/compression.md has its table.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "it measures, and prints"
)]

use samovar_coding::{Coding, Encoder};
use std::time::Instant;

fn xml(features: u32) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<GetFeatureResponse>\n");
    let mut seed = 42_u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    for id in 0..features {
        let (x, y, street, day) = (next() % 100_000, next() % 100_000, next() % 60, next() % 28 + 1);
        xml.push_str(&format!(
            "  <FeatureRecord>\n    <ObjectIdentifier>{id}</ObjectIdentifier>\n    <GeometryType>esriGeometryPoint</GeometryType>\n    \
             <CoordinateX>-117.{x:05}</CoordinateX>\n    <CoordinateY>34.{y:05}</CoordinateY>\n    \
             <AddressStatus>MATCHED_EXACTLY</AddressStatus>\n    <StreetName>North {street} Street</StreetName>\n    \
             <LastModifiedDate>2009-03-{day:02}T00:00:00</LastModifiedDate>\n  </FeatureRecord>\n",
        ));
    }
    xml + "</GetFeatureResponse>\n"
}

fn main() {
    let xml = xml(3_000);
    println!("{} bytes of XML", xml.len());
    println!("coding level      bytes  ratio     ms   MB/s   longest piece, µs (of 8 KiB, 32 KiB)");
    for (coding, levels) in
        [(Coding::Gzip, &[1, 4, 6, 9][..]), (Coding::Br, &[0, 1, 2, 4, 5, 9]), (Coding::Zstd, &[1, 3, 9])]
    {
        for &level in levels {
            let once = |piece: usize| {
                let mut encoder = Encoder::new(coding, level, None).unwrap();
                let (mut longest, mut out) = (0, 0);
                let begun = Instant::now();
                for piece in xml.as_bytes().chunks(piece) {
                    let at = Instant::now();
                    encoder.write(piece).unwrap();
                    longest = longest.max(at.elapsed().as_micros());
                    out += encoder.take().len();
                }
                out += encoder.finish().unwrap().len();
                (out, begun.elapsed().as_secs_f64(), longest)
            };
            let best = |piece| {
                let runs: Vec<_> = (0..9).map(|_| once(piece)).collect();
                let least = runs.iter().map(|run| run.1).fold(f64::MAX, f64::min);
                let longest = runs.iter().map(|run| run.2).min().unwrap_or(0);
                (runs.first().map_or(0, |run| run.0), least, longest)
            };
            let (small, large) = (best(8 << 10), best(32 << 10));
            println!(
                "{:6} {level:5} {:10} {:6.1} {:6.2} {:6.0}   {} {}",
                coding.name(),
                small.0,
                xml.len() as f64 / small.0 as f64,
                small.1 * 1e3,
                xml.len() as f64 / small.1 / 1e6,
                small.2,
                large.2
            );
        }
    }
}
