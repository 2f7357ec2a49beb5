//! What becomes of an open file: fields, bytes, extents, streams, versions.

use crate::scratch::Scratch;
use crate::{ask, files, settings};
use http_body_util::BodyExt;
use samovar_origin::{
    AT_ONCE_MAX_BYTES, Answer, AnswerBody, Failure, Files, FilesSettings, Opened, Resolved, file_stream,
};
use samovar_reason::Upstream;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

fn open(files: &Files, path: &str) -> Opened {
    match files.resolve(path, None, &[], &[]) {
        Resolved::File(open) => open,
        _ => panic!("{path}: {}", ask(files, path)),
    }
}

fn field<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

fn bytes(answer: &Answer) -> &[u8] {
    match &answer.body {
        AnswerBody::Bytes(bytes) => bytes,
        _ => panic!("not bytes"),
    }
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn stream(file: File, offset: u64, len: u64) -> Result<Vec<u8>, Failure> {
    let body = file_stream(Arc::new(file), offset, len);
    run(async { Ok(body.collect().await?.to_bytes().to_vec()) })
}

#[test]
fn the_fields_of_a_file() {
    let s = Scratch::new("fields");
    let place = s.file("a.html", "hello");
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    File::options().write(true).open(&place).unwrap().set_modified(at).unwrap();
    let answer = Files::answer(open(&files(&s), "/a.html"));
    assert_eq!(answer.status, 200);
    assert_eq!(field(&answer, "content-type"), "text/html; charset=utf-8");
    assert_eq!(field(&answer, "last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(field(&answer, "accept-ranges"), "bytes");
    let tag = field(&answer, "etag");
    assert!(tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'), "strong: {tag}");
    assert_eq!(bytes(&answer), b"hello");
}

#[test]
fn the_tag_follows_time_length_and_inode() {
    let s = Scratch::new("etag");
    let place = s.file("a", "one");
    let files = files(&s);
    let first = open(&files, "/a");
    assert_eq!(first.etag, open(&files, "/a").etag, "the same file, the same tag");
    assert_eq!(files.version("/a"), Some(first.version));
    let later = first.modified + Duration::from_nanos(1);
    File::options().write(true).open(&place).unwrap().set_modified(later).unwrap();
    let touched = open(&files, "/a");
    assert_ne!(first.etag, touched.etag, "a nanosecond counts");
    // Another file of the same length and time put in its place.
    let other = s.file("b", "two");
    File::options().write(true).open(&other).unwrap().set_modified(later).unwrap();
    fs::rename(&other, &place).unwrap();
    let replaced = open(&files, "/a");
    assert_ne!(touched.etag, replaced.etag);
    assert_ne!(files.version("/a"), Some(touched.version));
    assert_eq!(files.version("/a"), Some(replaced.version));
    for none in ["/none", "/../outside", "/a/b", "/a\0"] {
        assert_eq!(files.version(none), None, "{none}");
    }
    assert!(files.version("/").is_some(), "a folder has one too");
}

#[test]
fn times_before_1970_and_in_the_future_do_no_harm() {
    let s = Scratch::new("times");
    let place = s.file("a", "x");
    let files = files(&s);
    let set = |at: &str| {
        let done = std::process::Command::new("touch").args(["-d", at]).arg(&place).status().unwrap();
        assert!(done.success());
    };
    set("1931-05-05 00:00:00 UTC");
    assert_eq!(field(&Files::answer(open(&files, "/a")), "last-modified"), "");
    set("2199-01-01 00:00:00 UTC");
    let stated =
        httpdate::parse_http_date(field(&Files::answer(open(&files, "/a")), "last-modified")).unwrap();
    assert!(stated <= SystemTime::now(), "RFC 9110 §8.8.2.1");
}

#[test]
fn small_files_are_read_at_once_and_large_ones_handed_on() {
    let s = Scratch::new("sizes");
    let limit = usize::try_from(AT_ONCE_MAX_BYTES).unwrap();
    let files = files(&s);
    for len in [0, 1, 4096, limit - 1, limit] {
        s.file("f", &"x".repeat(len));
        assert_eq!(bytes(&Files::answer(open(&files, "/f"))).len(), len);
    }
    s.file("f", &"x".repeat(limit + 1));
    let AnswerBody::File { offset: 0, len, .. } = Files::answer(open(&files, "/f")).body else { panic!() };
    assert_eq!(len, AT_ONCE_MAX_BYTES + 1);
}

#[test]
fn a_file_that_changed_after_it_was_opened_is_told_as_it_is_now() {
    let s = Scratch::new("changed");
    let place = s.file("f", "before");
    let files = files(&s);
    let early = open(&files, "/f");
    fs::write(&place, "after, and longer").unwrap();
    let answer = Files::answer(early);
    assert_eq!(bytes(&answer), b"after, and longer");
    assert_eq!(answer.headers["etag"], open(&files, "/f").etag);
    let early = open(&files, "/f");
    fs::write(&place, "short").unwrap();
    let answer = Files::answer(early);
    assert_eq!(bytes(&answer), b"short");
    assert_eq!(answer.headers["etag"], open(&files, "/f").etag);
}

#[test]
fn own_types_come_first_and_bad_ones_are_told() {
    let s = Scratch::new("types");
    s.file("a.html", "");
    let with =
        |media: &str| FilesSettings { types: vec![("html".to_owned(), media.to_owned())], ..settings(&s) };
    let files = Files::new(with("application/x-mine")).unwrap();
    assert_eq!(open(&files, "/a.html").content_type, "application/x-mine");
    assert!(Files::new(with("a\r\nb: c")).is_err());
}

#[test]
fn a_stream_gives_exactly_its_extent() {
    let s = Scratch::new("extent");
    let content: Vec<u8> = (0..1_000_003u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let place = s.at("f");
    fs::write(&place, &content).unwrap();
    let piece = 256 * 1024;
    for (offset, len) in [
        (0, 0),
        (0, 1),
        (0, piece - 1),
        (0, piece),
        (0, piece + 1),
        (7, 2 * piece),
        (999_999, 4),
        (0, content.len()),
        (content.len(), 0),
    ] {
        let read = stream(File::open(&place).unwrap(), offset as u64, len as u64).unwrap();
        assert!(read == content[offset..offset + len], "{len} bytes from {offset}");
    }
    let hint =
        http_body::Body::size_hint(&*file_stream(Arc::new(File::open(&place).unwrap()), 5, 10)).exact();
    assert_eq!(hint, Some(10));
}

#[test]
fn a_file_that_shrinks_or_is_overwritten_is_never_taken_for_whole() {
    let s = Scratch::new("torn");
    let len = 600 * 1024;
    let place = s.at("f");
    let begin = |change: fn(&File)| {
        fs::write(&place, vec![b'a'; len]).unwrap();
        let mut body = file_stream(Arc::new(File::open(&place).unwrap()), 0, len as u64);
        run(async {
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(!first.is_empty() && first.len() < len);
            change(&OpenOptions::new().write(true).open(&place).unwrap());
            let mut got = first.len();
            while let Some(frame) = body.frame().await {
                match frame {
                    Ok(frame) => got += frame.into_data().unwrap().len(),
                    Err(failure) => {
                        assert!(body.frame().await.is_none(), "a failure is the last word");
                        assert!(got < len, "the last piece is held back");
                        return Err(failure);
                    }
                }
            }
            Ok(got)
        })
    };
    let shrunk = begin(|file| file.set_len(300 * 1024).unwrap()).unwrap_err();
    assert_eq!(shrunk.reason, Upstream::ShortBody);
    assert!(shrunk.detail.contains("changed"), "{shrunk}");
    let overwritten = begin(|file| {
        file.write_all_at(b"b", 500 * 1024).unwrap();
        // Kernels before 6.13 keep the time of a write to a few milliseconds only.
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    });
    assert_eq!(overwritten.unwrap_err().reason, Upstream::ShortBody);
    // A log that is being written keeps what was announced.
    let grown = begin(|file| file.write_all_at(b"more", 600 * 1024).unwrap());
    assert_eq!(grown.unwrap(), len);
}

#[test]
fn a_stream_needs_no_runtime_and_fails_politely() {
    let s = Scratch::new("noruntime");
    let mut file = File::create(s.at("f")).unwrap();
    file.write_all(b"x").unwrap();
    let first = |file, len| {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut stream = file_stream(Arc::new(file), 0, len);
        loop {
            match stream.as_mut().poll_frame(&mut context) {
                std::task::Poll::Ready(frame) => {
                    break frame.unwrap().map(|frame| frame.into_data().unwrap());
                }
                std::task::Poll::Pending => std::thread::yield_now(),
            }
        }
    };
    assert_eq!(first(File::open(s.at("f")).unwrap(), 1).unwrap(), "x", "what was just written is at hand");
    let nothing = first(File::open("/dev/null").unwrap(), 1);
    assert_eq!(nothing.unwrap_err().reason, Upstream::ShortBody);
}

/// What the system has let go of comes from the disk, by another way.
#[test]
fn a_stream_from_the_disk_is_the_same() {
    use rustix::fs::{Advice, fadvise};
    let s = Scratch::new("disk");
    let all: Vec<u8> = (0..1_500_000_u32).map(|at| (at % 251) as u8).collect();
    std::fs::write(s.at("f"), &all).unwrap();
    for (offset, len) in [(0, all.len()), (70_000, 900_000)] {
        let file = File::open(s.at("f")).unwrap();
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        assert_eq!(stream(file, offset as u64, len as u64).unwrap(), all[offset..offset + len]);
    }
}
