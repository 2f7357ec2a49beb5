//! What came of the requests: failures, times, bytes, caches, connections, and a row for each URL or round.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::Summary;

/// Failures; none of them is in the latencies of answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Errors {
    /// Failures of measured requests.
    pub requests: u64,
    /// Failed connects, whole run.
    pub connects: u64,
    /// Failures of requests in warm-up and cool-down.
    pub unmeasured: u64,
    /// By kind, connects included; kinds that did not occur are left out.
    pub kinds: BTreeMap<String, u64>,
    /// The first message of each kind.
    pub samples: BTreeMap<String, String>,
}

/// Distributions of times, in microseconds. Those of an empty set are left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latencies {
    /// Making a connection, whole run.
    pub connect: Option<Summary>,
    /// From sending to the first byte.
    pub first_byte: Option<Summary>,
    /// From sending to the last byte.
    pub last_byte: Option<Summary>,
    /// First byte of hits.
    pub hit_first_byte: Option<Summary>,
    /// Last byte of hits.
    pub hit_last_byte: Option<Summary>,
    /// First byte of misses.
    pub miss_first_byte: Option<Summary>,
    /// Last byte of misses.
    pub miss_last_byte: Option<Summary>,
    /// From sending to failing.
    pub failed: Option<Summary>,
    /// The TLS handshake, whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Summary>,
    /// Of an open loop: from when a request was meant to be sent to the last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Summary>,
    /// Of an open loop: from when a request was meant to be sent to when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_lag: Option<Summary>,
    /// The same of those for which a connection stood ready: the delay is the generator's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_lag: Option<Summary>,
    /// First byte of stale answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_first_byte: Option<Summary>,
    /// Last byte of stale answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_last_byte: Option<Summary>,
    /// First byte of revalidated answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revalidated_first_byte: Option<Summary>,
    /// Last byte of revalidated answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revalidated_last_byte: Option<Summary>,
    /// Rounds, from their first request to their last answer, pauses included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Summary>,
}

/// Bytes of the measured requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bytes {
    /// Read from the wire for answers: heads, chunk framing and bodies.
    pub read: u64,
    /// Written to the wire for answered requests.
    pub written: u64,
    /// Heads of answers.
    pub heads: u64,
    /// Bodies as they came, still encoded, without chunk framing.
    pub bodies: u64,
    /// Bodies after decoding, estimated from samples of each type; absent when a coding was met that is not decoded.
    pub decoded: Option<u64>,
    /// Of the bodies, those that came in a coding of which samples are decoded: gzip, br, zstd.
    pub gzip_bodies: u64,
    /// Of the bodies, those in a coding that is not decoded.
    pub opaque_bodies: u64,
    /// Bodies that were decoded to learn the ratio.
    pub decoded_samples: u64,
    /// Each type of content by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<TypeBytes>,
}

/// Bodies of one type of content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeBytes {
    /// The type, without its parameters; empty for answers that do not say.
    #[serde(rename = "type")]
    pub name: String,
    /// Answers with a body.
    pub answers: u64,
    /// Bodies as they came, still encoded, without chunk framing.
    pub bodies: u64,
    /// Of these, in any coding.
    pub coded: u64,
    /// Bodies after decoding, estimated from samples of the type, or if it has none of all types; absent when a coding was
    /// met that is not decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded: Option<u64>,
    /// Bodies of the type that were decoded.
    pub decoded_samples: u64,
}

/// What caches said of the answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cache {
    /// Answers from a cache.
    pub hits: u64,
    /// Answers for which a cache asked the origin.
    pub misses: u64,
    /// Answers that say nothing.
    pub unknown: u64,
    /// Answers that were no longer fresh, from a cache that did not ask.
    #[serde(default)]
    pub stale: u64,
    /// Answers for which a cache asked the origin whether they were still right, and they were.
    #[serde(default)]
    pub revalidated: u64,
    /// Hits and stale answers among all that say where they came from; absent if none does.
    pub hit_ratio: Option<f64>,
    /// Body bytes of hits.
    pub hit_body_bytes: u64,
}

/// Connections of the whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Connects begun.
    pub attempts: u64,
    /// Connections made.
    pub made: u64,
    /// The most open at once.
    pub peak: u64,
    /// Open at the end.
    pub open_at_end: u64,
    /// Reads from sockets.
    pub socket_reads: u64,
    /// Writes to sockets.
    pub socket_writes: u64,
    /// How connections came about; absent in runs stored before this was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<Connects>,
    /// What of this was in the measured window; absent in runs stored before it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// Connections, reads and writes in the measured window: what a rate per second can be made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Connects begun.
    pub attempts: u64,
    /// Connections made.
    pub made: u64,
    /// Failed connects.
    pub failed: u64,
    /// Of these, for want of a local port or a file descriptor.
    pub failed_for_want: u64,
    /// Failures that came right after another failure of the same client.
    pub failed_in_a_row: u64,
    /// Connects begun that did not fail at once.
    pub asynchronous: u64,
    /// Given up before they were decided, as they took too long.
    pub given_up: u64,
    /// Reads from sockets.
    pub socket_reads: u64,
    /// Writes to sockets, each counted where its request was sent.
    pub socket_writes: u64,
}

/// How connections of the whole run came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connects {
    /// Begun and left to the system to decide: all that did not fail at once.
    pub asynchronous: u64,
    /// Undecided at the end.
    pub in_flight_at_end: u64,
    /// The most undecided at once, summed over threads.
    pub in_flight_peak: u64,
    /// Failures that came right after another failure of the same client.
    pub failed_in_a_row: u64,
    /// Given up before they were decided, as they took too long.
    pub given_up: u64,
}

/// One distribution of one stretch of a run, as it was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Which times: `connect`, `first-byte`, `last-byte`, `response`, `send-lag` …
    pub times: String,
    /// The level of load, from zero; absent for times that belong to none, as those of connects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// When the stretch began, seconds since the start of the run.
    pub start_s: f64,
    /// How long it was.
    pub length_s: f64,
    /// The highest value of each cell that has anything, in microseconds, and how many were in it.
    pub cells_us: Vec<(u64, u64)>,
}

/// What came of one URL, one request or one round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Right answers; of a round, those without a failure.
    pub answers: u64,
    /// Failures, wrong answers among them.
    pub failures: u64,
    /// Body bytes of the answers.
    pub body_bytes: u64,
    /// Median time, to 3 %.
    pub p50_us: f64,
    /// 99th percentile, to 3 %.
    pub p99_us: f64,
}
