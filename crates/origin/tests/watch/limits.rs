//! What happens when the kernel gives no more: the queue overflows, watches run out, the watch is dropped.

use crate::PATIENCE;
use crate::scratch::Scratch;
use samovar_origin::{Change, Sink, Watch};
use std::fs::{self, File};
use std::process::Command;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Set for the child: the folder it is to watch.
const FOLDER: &str = "SAMOVAR_TEST_FOLDER";

#[test]
fn an_overflow_means_everything_and_watching_goes_on() {
    let queue: usize =
        fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    if queue > 100_000 {
        eprintln!("not checked: overflow (the queue takes {queue} events)");
        return;
    }
    let s = Scratch::new("w-overflow");
    s.file("a", "");
    s.folder("new");
    let (entered, in_sink) = channel();
    let (go_on, wait) = channel::<()>();
    let (tell, told) = channel();
    let inside = Mutex::new((entered, wait, tell));
    let sink = move |changes: Vec<Change>| {
        let inside = inside.lock().unwrap();
        let _ = inside.0.send(());
        // The first call is held up until more events are waiting than the queue takes.
        let _ = inside.1.recv();
        let _ = inside.2.send(changes);
    };
    let watch = Watch::new(&s.root(), Arc::new(sink)).unwrap();
    s.file("a", "1");
    in_sink.recv_timeout(PATIENCE).unwrap();
    for n in 0..=queue {
        // Alternating names: equal events in a row are merged by the kernel.
        let _ = File::create(s.at(if n % 2 == 0 { "b" } else { "c" })).unwrap();
    }
    // Made while events were being lost.
    s.folder("unseen");
    drop(go_on);
    while told.recv_timeout(PATIENCE).unwrap() != [Change::Rescan] {}
    s.file("unseen/x", "");
    while !told
        .recv_timeout(PATIENCE)
        .unwrap()
        .iter()
        .any(|change| *change == Change::Path("/unseen/x".to_owned()))
    {}
    assert!(watch.healthy());
}

#[test]
fn a_dropped_watch_ends_its_thread() {
    let s = Scratch::new("w-drop");
    let alive = Arc::new(());
    let held = alive.clone();
    let watch = Watch::new(&s.root(), Arc::new(move |_| drop(held.clone()))).unwrap();
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(watch);
    // The thread owns the sink.
    let start = Instant::now();
    while Arc::strong_count(&alive) > 1 {
        assert!(start.elapsed() < PATIENCE, "the thread lives on");
        std::thread::yield_now();
    }
}

#[test]
fn a_watch_may_be_dropped_by_its_own_sink() {
    let s = Scratch::new("w-selfdrop");
    let slot: Arc<Mutex<Option<Watch>>> = Arc::new(Mutex::new(None));
    let (tell, told) = sync_channel(10);
    let own = slot.clone();
    let sink = move |_| {
        drop(own.lock().unwrap().take());
        tell.send(()).unwrap();
    };
    *slot.lock().unwrap() = Some(Watch::new(&s.root(), Arc::new(sink)).unwrap());
    s.file("a", "");
    told.recv_timeout(PATIENCE).unwrap();
    assert!(slot.lock().unwrap().is_none());
}

#[test]
fn a_sink_that_panics_is_not_trusted_on() {
    let s = Scratch::new("w-panic");
    let watch = Watch::new(&s.root(), Arc::new(|_| panic!("the sink's own fault"))).unwrap();
    assert!(watch.healthy());
    s.file("a", "");
    let start = Instant::now();
    while watch.healthy() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    assert!(watch.trouble().unwrap().contains("stopped"));
}

#[test]
fn a_missing_root_is_watched_as_soon_as_it_is_there() {
    let s = Scratch::new("w-missing");
    let (sent, changes) = std::sync::mpsc::channel();
    let watch = Watch::new(&s.at("missing"), Arc::new(move |seen| sent.send(seen).unwrap())).unwrap();
    std::fs::create_dir(s.at("missing")).unwrap();
    assert_eq!(changes.recv_timeout(PATIENCE).unwrap(), [samovar_origin::Change::Rescan]);
    std::fs::write(s.at("missing/a"), "a").unwrap();
    assert!(changes.recv_timeout(PATIENCE).unwrap().iter().any(|change| change.touches("/a")));
    drop(watch);
}

/// The limit on watches is lowered in a user namespace of the child's own.
#[test]
fn too_few_watches_are_told() {
    let s = Scratch::new("w-limit");
    s.folder("d0");
    let script = "echo 8 > /proc/sys/user/max_inotify_watches && exec \"$0\" --exact limits::watched_with_eight --ignored --nocapture";
    let done = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, s.root())
        .output();
    let done = done.expect("unshare (util-linux) is needed");
    let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    if text.contains("unshare failed") || text.contains("Permission denied") {
        eprintln!("not checked: running out of watches (no user namespaces here)");
        return;
    }
    assert!(done.status.success() && text.contains("unhealthy as it should"), "{text}");
}

#[test]
#[ignore = "the child of the test above"]
fn watched_with_eight() {
    let Ok(root) = std::env::var(FOLDER) else { return };
    let (tell, told) = sync_channel(1000);
    let sink: Sink = Arc::new(move |changes| tell.send(changes).unwrap());
    let watch = Watch::new(root.as_ref(), sink.clone()).unwrap();
    assert!(watch.healthy(), "two folders, eight watches");
    for n in 1..20 {
        fs::create_dir(format!("{root}/d{n}")).unwrap();
    }
    // What was stored in the belief that it is watched may not be kept.
    while told.recv_timeout(PATIENCE).unwrap() != [Change::Rescan] {}
    assert!(!watch.healthy());
    let trouble = watch.trouble().unwrap();
    assert!(trouble.contains("max_user_watches"), "{trouble}");
    // What is watched is still told.
    fs::write(format!("{root}/x"), "").unwrap();
    while !told.recv_timeout(PATIENCE).unwrap().iter().any(|change| change.touches("/x")) {}
    drop(watch);
    let late = Watch::new(root.as_ref(), sink).unwrap();
    assert!(!late.healthy(), "too many folders from the start");
    println!("unhealthy as it should");
}
