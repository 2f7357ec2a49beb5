//! The sampler against real pages and processes. Mostly the clock stands, or is moved by the pages: nothing here
//! waits but for what happens, and nothing depends on how busy the machine is.

use super::*;
use crate::counters::{HOST_CPU, SERVER_CPU};
use crate::sender::Clock;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SECOND_NS: u64 = 1_000_000_000;
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);

/// A clock that is set by hand, and tells of each look at it.
fn by_hand() -> (Arc<AtomicU64>, Receiver<u64>, impl Fn() -> u64 + Clone + use<>) {
    let clock = Arc::new(AtomicU64::new(0));
    let (tell, looks) = mpsc::channel();
    let hand = clock.clone();
    let now_ns = move || {
        let _ = tell.send(1);
        hand.load(Ordering::Relaxed)
    };
    (clock, looks, now_ns)
}

/// Seconds of a thousandth: a thread whose clock stands reads once in each.
const FAST: Beat = Beat { interval_s: 1, tick_ns: SECOND_NS / 1_000 };

/// Serves pages: `answer` writes the one of this number, from 1; says so when it is done.
fn pages(answer: impl Fn(&mut TcpStream, u64) + Send + 'static) -> (String, Receiver<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for number in 1.. {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let mut seen = Vec::new();
            let mut byte = [0];
            while !seen.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                seen.push(byte[0]);
            }
            answer(&mut stream, number);
            drop(stream);
            if tell.send(number).is_err() {
                return;
            }
        }
    });
    (url, told)
}

fn write(stream: &mut TcpStream, text: &str) {
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
}

fn page(url: &str, patience: Duration, wanted: &[&str]) -> Source {
    let wanted = wanted.iter().map(|pick| pick.parse().unwrap()).collect();
    let mut source = Source::prometheus(url, &[], wanted).unwrap();
    if let Source::Prometheus { page, .. } = &mut source {
        page.patience = patience;
    }
    source
}

fn wait_for(told: &Receiver<u64>, number: u64) {
    while told.recv().unwrap() < number {}
}

#[test]
fn a_page_is_read_at_each_second() {
    let (clock, _looks, now_ns) = by_hand();
    // Each page takes a second.
    let (url, told) = pages(move |stream, number| {
        clock.store(number * SECOND_NS, Ordering::Relaxed);
        write(
            stream,
            &format!("# TYPE up gauge\nup {number}\nwork_total {}\nbad line\n# EOF\n", number * 10),
        );
    });
    let sampler =
        Sampler::start(vec![page(&url, LONG, &["up", "work_total", "wrok_total"])], 1, now_ns).unwrap();
    wait_for(&told, 5);
    let counters = sampler.finish();
    let up = counters.find("up").unwrap();
    assert_eq!((up.source.as_str(), up.unit.as_str(), counters.interval_s), (url.as_str(), "", 1));
    assert_eq!(up.points[..4], [(0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)]);
    let work = counters.find("work_total").unwrap();
    assert_eq!((&work.points[..3], work.unit.as_str()), (&[(0, 10.0), (1, 10.0), (2, 10.0)][..], "/s"));
    let said = |what: &str| counters.notes.iter().any(|note| note.starts_with(&url) && note.contains(what));
    assert!(said("no series is `wrok_total`"), "{:?}", counters.notes);
    assert!(said("1 lines of the page are left out, the first is line 4"), "{:?}", counters.notes);
    assert_eq!(counters.notes.len(), 2);
}

#[test]
fn a_page_that_stops_answering_is_a_gap_and_a_note() {
    let (clock, _looks, now_ns) = by_hand();
    let (url, told) = pages(move |stream, number| {
        clock.store(number * SECOND_NS, Ordering::Relaxed);
        match number {
            // Until the client goes.
            3 => drop(stream.read(&mut [0])),
            4 => drop(stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")),
            number => write(stream, &format!("up {number}\nwork_total {}\n", number * 10)),
        }
    });
    let sampler = Sampler::start(vec![page(&url, SHORT, &["up", "work_total"])], 1, now_ns).unwrap();
    wait_for(&told, 7);
    let counters = sampler.finish();
    assert_eq!(counters.find("up").unwrap().points[..4], [(0, 1.0), (1, 2.0), (4, 5.0), (5, 6.0)]);
    assert_eq!(counters.find("work_total").unwrap().points[..3], [(0, 10.0), (1, 10.0), (4, 10.0)]);
    let note = counters.notes.iter().find(|note| note.contains("are missing")).unwrap();
    let wanted = "are missing, the first at second 2: no whole answer within 0.2 s";
    assert!(note.starts_with(&url) && note.contains(": 2 of ") && note.ends_with(wanted), "{note}");
}

#[test]
fn a_page_that_never_answers_holds_nothing_up() {
    let (_clock, looks, now_ns) = by_hand();
    let (url, told) = pages(|stream, _| drop(stream.read(&mut [0])));
    let sources = vec![Source::Host, page(&url, SHORT, &[])];
    let sampler = Sampler::with_beat(sources, FAST, now_ns).unwrap();
    assert!(looks.iter().take(100).count() == 100);
    wait_for(&told, 1);
    let counters = sampler.finish();
    assert!(counters.find("host memory available").unwrap().points.len() >= 10, "{counters:?}");
    assert!(counters.series.iter().all(|series| series.source == "/proc"));
    assert_eq!(counters.notes.len(), 1);
    assert!(
        counters.notes[0].ends_with("no reading at all: no whole answer within 0.2 s"),
        "{:?}",
        counters.notes
    );
}

#[test]
fn pages_that_are_of_no_use_are_said() {
    type Answer = fn(&mut TcpStream, u64);
    let endless: Answer = |stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let lines = "up 1\n".repeat(10_000);
        while stream.write_all(lines.as_bytes()).is_ok() {}
    };
    let cases: [(Answer, &str); 4] = [
        (endless, "longer than the 16777216 bytes"),
        (|stream, _| write(stream, "<html>\n</html>\n"), "no text for Prometheus: line 1"),
        (|stream, _| write(stream, ""), "no metrics"),
        (
            |stream, _| write(stream, &"a 1\n".repeat(prometheus::SAMPLES_MAX + 1)),
            "more than the 100000 samples",
        ),
    ];
    for (answer, wanted) in cases {
        let (url, told) = pages(answer);
        let (_clock, _looks, now_ns) = by_hand();
        let sampler = Sampler::start(vec![page(&url, LONG, &["up"])], 1, now_ns).unwrap();
        wait_for(&told, 1);
        let counters = sampler.finish();
        assert!(counters.series.is_empty());
        assert!(
            counters.notes[0].contains("no reading at all") && counters.notes[0].contains(wanted),
            "{:?}",
            counters.notes
        );
    }
}

#[test]
fn this_process_and_this_host_are_read() {
    let clock = Clock::start();
    let (tell, looks) = mpsc::channel();
    let now_ns = move || {
        let _ = tell.send(1);
        clock.now_ns()
    };
    let own = Source::Process(vec![std::process::id()]);
    let sources = vec![own.clone(), own, Source::Process(vec![u32::MAX]), Source::Host];
    let beat = Beat { interval_s: 1, tick_ns: SECOND_NS / 20 };
    let sampler = Sampler::with_beat(sources, beat, now_ns).unwrap();
    assert!(looks.iter().take(200).count() == 200);
    let counters = sampler.finish();
    let points =
        |name: &str| counters.find(name).unwrap_or_else(|| panic!("{name}: {counters:?}")).points.clone();
    let between = |name: &str, range: std::ops::RangeInclusive<f64>| {
        let points = points(name);
        assert!(
            !points.is_empty() && points.iter().all(|(_, value)| range.contains(value)),
            "{name}: {points:?}"
        );
    };
    between(SERVER_CPU, 0.0..=1e4);
    between("server 2 cpu", 0.0..=1e4);
    between("server memory", 1e6..=1e12);
    between("server threads", 4.0..=1e4);
    between("server switches voluntary", 0.0..=1e9);
    between(HOST_CPU, 0.0..=100.0);
    between("host context switches", 1.0..=1e9);
    let lost = format!("/proc/{}: no reading at all: there is no process {}", u32::MAX, u32::MAX);
    assert!(counters.notes.contains(&lost), "{:?}", counters.notes);
}

#[test]
fn a_run_shorter_than_an_interval_has_rates_too() {
    let (url, _told) = pages(|stream, number| write(stream, &format!("work_total {}\n", number * 10)));
    let (clock, looks, now_ns) = by_hand();
    let sampler = Sampler::start(vec![page(&url, LONG, &["work_total"])], 60, now_ns).unwrap();
    // When it has looked so often, the first reading is over and it waits for the second.
    assert!(looks.iter().take(6).count() == 6);
    clock.store(40 * SECOND_NS, Ordering::Relaxed);
    let counters = sampler.finish();
    assert_eq!(counters.find("work_total").unwrap().points, [(0, 0.25)], "{counters:?}");
}

#[test]
fn a_reading_that_takes_longer_than_the_interval_is_of_no_second() {
    let (clock, _looks, now_ns) = by_hand();
    let (url, told) = pages(move |stream, number| {
        if number == 2 {
            clock.store(FAST.tick_ns * 11 / 2, Ordering::Relaxed);
        }
        write(stream, &format!("up {number}\n"));
    });
    let sampler = Sampler::with_beat(vec![page(&url, LONG, &["up"])], FAST, now_ns).unwrap();
    wait_for(&told, 5);
    let counters = sampler.finish();
    assert_eq!(counters.find("up").unwrap().points[..3], [(0, 1.0), (6, 3.0), (7, 4.0)]);
    let note = &counters.notes[0];
    assert!(
        note.contains(": 5 of ") && note.contains("the first at second 1: it took 0.0 s, longer"),
        "{note}"
    );
}

#[test]
fn dropped_it_ends() {
    let (clock, _looks, now_ns) = by_hand();
    let (url, told) = pages(|stream, _| write(stream, "up 1\n"));
    let sampler = Sampler::start(vec![page(&url, LONG, &[]), Source::Host], 1, now_ns).unwrap();
    wait_for(&told, 1);
    assert!(Arc::strong_count(&clock) > 1);
    drop(sampler);
    assert_eq!(Arc::strong_count(&clock), 1, "no thread is left that could look at it");
}

#[test]
fn when_readings_are_due() {
    let beat = Beat { interval_s: 2, tick_ns: 2_000 };
    for (now_ns, tick) in
        [(0, 0), (200, 0), (201, 1), (1_999, 1), (2_000, 1), (2_200, 1), (2_201, 2), (10_000, 5)]
    {
        assert_eq!(beat.next(now_ns), tick, "{now_ns}");
    }
    assert_eq!(beat.second(5), 10);
    assert_eq!((beat.wait(1, 500).as_nanos(), beat.wait(1, 2_500).as_nanos()), (1_500, 0));
    assert!(beat.is_worth(0, 1_000) && !beat.is_worth(0, 999));
    assert!(beat.is_late(0, 2_001) && !beat.is_late(0, 2_000) && !beat.is_late(5, 0));
}
