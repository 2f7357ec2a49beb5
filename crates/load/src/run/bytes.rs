//! Bytes of the run, and what compression saved, altogether and of each type of content.
//!
//! Not here: decoding ([`super::decode`]).

use super::decode::Ratios;
use crate::report::model::{Bytes, TypeBytes};
use crate::tally::Tally;
use crate::tally::types::Bodies;
use crate::wire::Media;

pub(super) fn bytes(tally: &Tally, ratios: &Ratios) -> Bytes {
    let counts = &tally.counts;
    let (types, total) = (tally.types.all(), tally.types.total());
    let of_type = |(media, bodies): (&Media, &Bodies)| TypeBytes {
        name: media.text().to_owned(),
        answers: bodies.answers,
        bodies: bodies.bytes,
        coded: bodies.coded_bytes + bodies.opaque_bytes,
        decoded: ratios.decoded(media, bodies),
        decoded_samples: ratios.of(media).bodies,
    };
    Bytes {
        read: counts.wire_read_bytes,
        written: counts.wire_written_bytes,
        heads: counts.head_bytes,
        bodies: counts.body_bytes,
        decoded: types.iter().map(|(media, bodies)| ratios.decoded(media, bodies)).sum(),
        gzip_bodies: total.coded_bytes,
        opaque_bodies: total.opaque_bytes,
        decoded_samples: ratios.all().bodies,
        types: types.iter().map(of_type).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Answer;
    use crate::wire::{Cached, Coding};

    fn answer(media: &str, coding: Coding, body_bytes: u64) -> Answer {
        Answer {
            status: 200,
            cached: Cached::Unknown,
            coding,
            media: Media::of(media.as_bytes()),
            first_byte_ns: 1,
            last_byte_ns: 2,
            lag_ns: None,
            head_bytes: 10,
            body_bytes,
            wire_read_bytes: 10 + body_bytes,
            wire_written_bytes: 5,
        }
    }

    #[test]
    fn the_whole_is_the_sum_of_its_types() {
        // Twenty-six letters, by the zstd command-line tool, in 35 bytes.
        let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x1a, 0xd1, 0x00, 0x00];
        zstd.extend(b"abcdefghijklmnopqrstuvwxyz");
        let (mut tally, mut ratios) = (Tally::default(), Ratios::default());
        assert_eq!(bytes(&tally, &ratios).decoded, Some(0));
        ratios.add(Media::of(b"text/html"), Coding::Zstd, &zstd);
        tally.answer(&answer("text/html; charset=utf-8", Coding::Zstd, 70), 1);
        tally.answer(&answer("Text/HTML", Coding::Identity, 48), 1);
        tally.answer(&answer("", Coding::Identity, 7), 1);
        let all = bytes(&tally, &ratios);
        assert_eq!((all.bodies, all.decoded), (125, Some(107)));
        assert_eq!(all.types.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["", "text/html"]);
        let html = &all.types[1];
        assert_eq!((html.answers, html.bodies, html.coded, html.decoded), (2, 118, 70, Some(100)));
        assert_eq!(html.decoded_samples, 1);
        // One coding that is not decoded: nothing is known of its type, nor of the whole, but of the others.
        tally.answer(&answer("image/x", Coding::Other, 9), 1);
        let all = bytes(&tally, &ratios);
        assert_eq!((all.decoded, all.opaque_bodies), (None, 9));
        let known: Vec<_> = all.types.iter().map(|one| one.decoded).collect();
        assert_eq!(known, [Some(7), None, Some(100)]);
    }
}
