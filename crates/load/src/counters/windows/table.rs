//! Counters of Windows that files of WCAT name, and what answers to each here, or why nothing does.
//!
//! Names in small letters. Several ways are tried in their order: what the server tells of itself, then what its
//! host does. Not here: how a path is read, and the numbers.

/// One way to read it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// A series of the host, as often as said, in this unit.
    Host(&'static str, f64, &'static str),
    /// A series of the server's processes, the same.
    Process(&'static str, f64, &'static str),
    /// The sum of these series of a page of Samovar.
    Page(&'static [&'static str]),
    /// Of the sum of the second, the first, in percent.
    Percent(&'static [&'static str], &'static [&'static str]),
}

use Way::{Host, Page, Percent, Process};

/// A counter: object, name, ways, and what differs; without ways, why there is none.
pub(super) type Line = (&'static str, &'static str, &'static [Way], &'static str);

const CPU: f64 = 100.0;
const KIB: f64 = 1.0 / 1024.0;
const MIB: f64 = KIB / 1024.0;

const ALL: &[&str] = &["samovar_requests_total"];
const HOT: &[&str] = &["samovar_requests_total{cache=\"hot\"}"];
const NOT_HOT: &[&str] = &["samovar_requests_total{cache!=\"hot\"}"];
const HITS: &[&str] = &["samovar_requests_total{cache=\"hit\"}", "samovar_requests_total{cache=\"stale\"}"];
const MISSES: &[&str] = &[
    "samovar_requests_total{cache=\"miss\"}",
    "samovar_requests_total{cache=\"joined\"}",
    "samovar_requests_total{cache=\"revalidated\"}",
];
const LOOKUPS: &[&str] = &[
    "samovar_requests_total{cache=\"hit\"}",
    "samovar_requests_total{cache=\"stale\"}",
    "samovar_requests_total{cache=\"miss\"}",
    "samovar_requests_total{cache=\"joined\"}",
    "samovar_requests_total{cache=\"revalidated\"}",
];
const ACCEPTED: &[Way] =
    &[Page(&["samovar_connections_accepted_total"]), Host("host tcp accepts", 1.0, "/s")];
const CONNECTIONS: &[Way] = &[Page(&["samovar_connections"])];
const REQUESTS: &[Way] = &[Page(ALL)];
const SENT: &[Way] = &[Page(&["samovar_body_bytes_total"]), Host("host net sent", 1.0, "B/s")];
const RECEIVED: &[Way] = &[Host("host net received", 1.0, "B/s")];
const ENTRIES: &[Way] = &[Page(&["samovar_cache_entries"])];
const STORED: &[Way] = &[Page(&["samovar_cache_stored_total"])];
const EVICTED: &[Way] = &[Page(&["samovar_cache_evictions_total"])];
const PURGES: &[Way] = &[Page(&["samovar_cache_purges_total"])];
const WAITING: &[Way] = &[Page(&["samovar_upstream_requests_waiting"])];
const REJECTED: &[Way] = &[Page(&["samovar_rejects_total"])];
const MEMORY: &[Way] = &[Process("server memory", 1.0, "B")];

const GROWTH: &str = "what it grows by each second, as a total since the start says nothing of a run";
const HITS_SAID: &str = "requests a second that were answered from memory, the hot ones apart";
const MISSES_SAID: &str =
    "requests a second for which the origin was asked, those that shared another's fetch among them";
const BODIES: &str = "of Samovar the bodies; else all that the host sends, lo apart";
const OF_HOST: &str = "all that the host receives, lo apart: Samovar counts what it sends only";
const ALL_METHODS: &str = "requests of any method: Samovar sorts them by what its cache did";
const FILES: &str = "there is no cache of files of its own: files are kept as answers, and below that by the \
                     system's page cache";
const METADATA: &str = "there is no cache of metadata: configuration is read once, and again when it changes";
const IN_USE: &str = "what leaves the cache while it is being sent is kept until it is sent, but not counted";
const NO_METHODS: &str =
    "requests are not counted by method: Web Service\\Total Method Requests/sec has them all";
const USERS: &str = "there are no users: whoever wants to log in does so at the origin";
const DAV: &str = "files are served for reading only, so that there is nothing of the kind to count";

/// All that is known.
pub(super) const LINES: &[Line] = &[
    ("processor", "% processor time", &[Host("host cpu", 1.0, "%")], ""),
    ("processor", "% user time", &[Host("host cpu user", 1.0, "%")], ""),
    ("processor", "% privileged time", &[Host("host cpu system", 1.0, "%")], "with the time for interrupts"),
    ("processor", "% idle time", &[Host("host cpu idle", 1.0, "%")], ""),
    ("processor", "% interrupt time", &[], "it is part of `% Privileged Time`"),
    ("processor", "% dpc time", &[], "it is part of `% Privileged Time`"),
    ("processor", "interrupts/sec", &[Host("host interrupts", 1.0, "/s")], ""),
    ("memory", "available bytes", &[Host("host memory available", 1.0, "B")], ""),
    ("memory", "available kbytes", &[Host("host memory available", KIB, "KiB")], ""),
    ("memory", "available mbytes", &[Host("host memory available", MIB, "MiB")], ""),
    ("memory", "pages/sec", &[], "paging is not read: a server that pages has too little `Available KBytes`"),
    ("system", "context switches/sec", &[Host("host context switches", 1.0, "/s")], ""),
    (
        "system",
        "system calls/sec",
        &[],
        "Linux does not count them, and to trace them would cost the server more than they do",
    ),
    (
        "system",
        "processor queue length",
        &[],
        "it is not read: `Processor(_Total)\\% Processor Time` near 100 says as much",
    ),
    ("process", "working set", MEMORY, "of the processes that are watched"),
    ("process", "working set - private", MEMORY, "pages that are shared with others are in it"),
    ("process", "private bytes", MEMORY, "what is resident, pages that are shared with others too"),
    ("process", "% processor time", &[Process("server cpu", CPU, "%")], "100 is one core"),
    ("process", "% user time", &[Process("server cpu user", CPU, "%")], "100 is one core"),
    ("process", "% privileged time", &[Process("server cpu system", CPU, "%")], "100 is one core"),
    ("process", "thread count", &[Process("server threads", 1.0, "")], ""),
    ("process", "handle count", &[Process("server open files", 1.0, "")], "open files and sockets"),
    ("process", "virtual bytes", &[], "reserved addresses cost nothing here: `Working Set` is what is used"),
    ("network interface", "bytes sent/sec", &[Host("host net sent", 1.0, "B/s")], "all interfaces but lo"),
    (
        "network interface",
        "bytes received/sec",
        &[Host("host net received", 1.0, "B/s")],
        "all interfaces but lo",
    ),
    (
        "network interface",
        "packets sent/sec",
        &[Host("host net packets sent", 1.0, "/s")],
        "all interfaces but lo",
    ),
    (
        "network interface",
        "packets received/sec",
        &[Host("host net packets received", 1.0, "/s")],
        "all interfaces but lo",
    ),
    (
        "tcpv4",
        "segments retransmitted/sec",
        &[Host("host tcp retransmits", 1.0, "/s")],
        "of both versions of IP",
    ),
    ("tcpv4", "connections passive", &[Host("host tcp accepts", 1.0, "/s")], GROWTH),
    ("web service", "bytes sent/sec", SENT, BODIES),
    ("web service", "total bytes sent", SENT, BODIES),
    ("web service", "bytes received/sec", RECEIVED, OF_HOST),
    ("web service", "total bytes received", RECEIVED, OF_HOST),
    ("web service", "connection attempts/sec", ACCEPTED, "without Samovar, of all servers of the host"),
    ("web service", "total connection attempts (all instances)", ACCEPTED, GROWTH),
    ("web service", "current connections", CONNECTIONS, ""),
    ("web service", "maximum connections", CONNECTIONS, "the highest of the run is what it was"),
    ("web service", "get requests/sec", REQUESTS, ALL_METHODS),
    ("web service", "total get requests", REQUESTS, ALL_METHODS),
    ("web service", "total method requests/sec", REQUESTS, ""),
    ("web service", "total method requests", REQUESTS, GROWTH),
    ("web service", "head requests/sec", &[], NO_METHODS),
    ("web service", "post requests/sec", &[], NO_METHODS),
    ("web service", "put requests/sec", &[], DAV),
    ("web service", "delete requests/sec", &[], DAV),
    (
        "web service",
        "not found errors/sec",
        &[Page(&["samovar_responses_total{class=\"4xx\"}"])],
        "all answers from 400 to 499",
    ),
    ("web service", "current anonymous users", &[], USERS),
    ("web service", "current nonanonymous users", &[], USERS),
    ("web service", "logon attempts/sec", &[], USERS),
    (
        "web service",
        "service uptime",
        &[],
        "samovar_start_time_seconds says when it started; it does not change in a run",
    ),
    ("web service cache", "current files cached", &[], FILES),
    ("web service cache", "total files cached", &[], FILES),
    ("web service cache", "total flushed files", &[], FILES),
    ("web service cache", "active flushed entries", &[], IN_USE),
    ("web service cache", "file cache hits", &[], FILES),
    ("web service cache", "file cache misses", &[], FILES),
    ("web service cache", "file cache hits %", &[], FILES),
    ("web service cache", "file cache flushes", &[], FILES),
    ("web service cache", "current file cache memory usage", &[], FILES),
    ("web service cache", "maximum file cache memory usage", &[], FILES),
    ("web service cache", "current uris cached", ENTRIES, ""),
    ("web service cache", "total uris cached", STORED, GROWTH),
    ("web service cache", "total flushed uris", EVICTED, GROWTH),
    ("web service cache", "uri cache hits", &[Page(HITS)], HITS_SAID),
    ("web service cache", "uri cache misses", &[Page(MISSES)], MISSES_SAID),
    ("web service cache", "uri cache hits %", &[Percent(HITS, LOOKUPS)], "of each second"),
    ("web service cache", "uri cache flushes", PURGES, GROWTH),
    ("web service cache", "current metadata cached", &[], METADATA),
    ("web service cache", "total metadata cached", &[], METADATA),
    ("web service cache", "total flushed metadata", &[], METADATA),
    ("web service cache", "metadata cache hits", &[], METADATA),
    ("web service cache", "metadata cache misses", &[], METADATA),
    ("web service cache", "metadata cache hits %", &[], METADATA),
    ("web service cache", "metadata cache flushes", &[], METADATA),
    (
        "web service cache",
        "kernel: current uris cached",
        &[Page(&["samovar_hot_entries"])],
        "prepared answers; each core has its own",
    ),
    (
        "web service cache",
        "kernel: total uris cached",
        &[],
        "of prepared answers those that are there and those that left are counted, not those that were made",
    ),
    ("web service cache", "kernel: total flushed uris", &[Page(&["samovar_hot_evictions_total"])], GROWTH),
    ("web service cache", "kernel: uri cache hits", &[Page(HOT)], GROWTH),
    ("web service cache", "kernel: uri cache hits/sec", &[Page(HOT)], ""),
    ("web service cache", "kernel: uri cache misses", &[Page(NOT_HOT)], GROWTH),
    ("web service cache", "kernel: uri cache hits %", &[Percent(HOT, ALL)], "of each second"),
    ("web service cache", "kernel: uri cache flushes", PURGES, GROWTH),
    ("web service cache", "output cache current items", ENTRIES, ""),
    ("web service cache", "output cache current memory usage", &[Page(&["samovar_cache_used_bytes"])], ""),
    ("web service cache", "output cache current hits %", &[Percent(HITS, LOOKUPS)], "of each second"),
    ("web service cache", "output cache total hits", &[Page(HITS)], HITS_SAID),
    ("web service cache", "output cache total misses", &[Page(MISSES)], MISSES_SAID),
    ("web service cache", "output cache total flushes", PURGES, GROWTH),
    ("web service cache", "output cache total flushed items", EVICTED, GROWTH),
    ("web service cache", "output cache current flushed items", &[], IN_USE),
    ("http service request queues", "currentqueuesize", WAITING, "what waits for a connection to the origin"),
    ("http service request queues", "arrivalrate", REQUESTS, ""),
    ("http service request queues", "rejectionrate", REJECTED, ""),
    ("http service request queues", "rejectedrequests", REJECTED, GROWTH),
    ("http service request queues", "cachehitrate", &[Page(HOT)], "requests a second that were hot"),
    (
        "http service request queues",
        "maxqueueitemage",
        &[],
        "how long requests wait is in their times, not in a counter",
    ),
    ("asp.net", "requests queued", WAITING, "what waits for a connection to the origin"),
    ("asp.net", "requests rejected", REJECTED, GROWTH),
    (
        "asp.net",
        "requests current",
        &[Page(&["samovar_upstream_requests_busy", "samovar_upstream_requests_waiting"])],
        "what is at the origin or waits for it",
    ),
];
