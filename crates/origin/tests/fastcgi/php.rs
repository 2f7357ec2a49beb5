//! php-fpm does what its users need of it.

use crate::ask::*;
use crate::fpm::{Fpm, On};
use bytes::Bytes;
use http::Method;
use samovar_origin::{AnswerBody, Asked, Reached, UpstreamLimits};
use samovar_reason::Upstream;
use std::time::{Duration, Instant};

fn limits() -> UpstreamLimits {
    UpstreamLimits { max_connections: 64, ..UpstreamLimits::default() }
}

fn under(fpm: &Fpm) -> Under {
    Under::new(fpm.address.clone(), &fpm.folder, limits())
}

#[tokio::test]
async fn bodies_go_both_ways_over_unix_and_tcp() {
    for on in [On::Unix, On::Tcp] {
        let fpm = Fpm::start(on, 2, "php_admin_value[post_max_size] = 64M");
        let app = under(&fpm);
        let megabyte: Bytes = (0..1024 * 1024_u32).map(|n| ((n * 31) >> 3) as u8).collect();
        for (body, sized) in
            [(megabyte.clone(), true), (megabyte, false), (Bytes::new(), true), (Bytes::new(), false)]
        {
            let answer = app.ask(post("/echo.php", "", body.clone(), sized)).await.unwrap();
            assert_eq!(answer.headers["x-length"], body.len().to_string());
            assert!(bytes_of(answer).await.unwrap() == body, "{} bytes came back changed", body.len());
        }
        let stats = app.fastcgi.stats();
        assert_eq!((stats.busy, stats.idle, stats.open, stats.connects), (0, 1, 1, 4));
        assert_eq!(app.text("/large.php", "").await.len(), 4 * 1024 * 1024);
        assert_eq!(app.fastcgi.stats().connects, 4);
    }
}

#[tokio::test]
async fn a_small_answer_is_whole_at_once() {
    let fpm = Fpm::start(On::Unix, 1, "");
    let app = under(&fpm);
    for n in 0..20 {
        let answer = app.ask(get("/hello.php", &format!("n={n}"))).await.unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(answer.timing.reused, n > 0);
        let AnswerBody::Bytes(bytes) = answer.body else { panic!("a stream") };
        assert_eq!(bytes, format!("hello {n}"));
        assert_eq!(app.fastcgi.stats().busy, 0);
    }
}

#[tokio::test]
async fn an_unsized_body_has_a_bound() {
    let fpm = Fpm::start(On::Unix, 1, "");
    let app = under(&fpm);
    let failure = app.ask(post("/echo.php", "", vec![0; 1024 * 1024 + 1], false)).await.err().unwrap();
    assert_eq!((failure.reason, failure.reached), (Upstream::LengthRequired, Reached::NotSent));
}

#[tokio::test]
async fn a_script_learns_who_asks_for_what() {
    let fpm = Fpm::start(On::Unix, 1, "");
    let app = under(&fpm);
    let mut asked = get("/server.php/in%20fo", "a=1&b=%20");
    for (name, value) in [("proxy", "http://evil/"), ("x_under", "1"), ("x-kept", "1"), ("cookie", "k=v")] {
        asked = with(asked, name, value);
    }
    asked.client.scheme = "https";
    let mut script = app.script("/server.php");
    script.path_info = Some("/in fo".to_owned());
    let text = whole(app.fastcgi.attempt(0, asked, script).await.unwrap()).await.unwrap();
    let root = fpm.folder.display();
    for (name, value) in [
        ("SCRIPT_FILENAME", format!("{root}/server.php").as_str()),
        ("SCRIPT_NAME", "/server.php"),
        ("PATH_INFO", "/in fo"),
        ("PHP_SELF", "/server.php/in fo"),
        ("REQUEST_URI", "/server.php/in%20fo?a=1&b=%20"),
        ("QUERY_STRING", "a=1&b=%20"),
        ("DOCUMENT_ROOT", &root.to_string()),
        ("REQUEST_METHOD", "GET"),
        ("REMOTE_ADDR", "192.0.2.7"),
        ("SERVER_NAME", "site.example"),
        ("HTTP_HOST", "site.example"),
        ("HTTPS", "on"),
        ("HTTP_X_KEPT", "1"),
        ("HTTP_COOKIE", "k=v"),
    ] {
        assert!(text.contains(&format!("\"{name}\":\"{value}\"")), "{name}={value} in {text}");
    }
    assert!(!text.contains("HTTP_PROXY") && !text.contains("X_UNDER"), "{text}");
}

#[tokio::test]
async fn statuses_fields_and_heads() {
    let fpm = Fpm::start(On::Unix, 1, "");
    let app = under(&fpm);
    for code in [200, 404, 418, 503] {
        let answer = app.ask(get("/status.php", &format!("code={code}"))).await.unwrap();
        assert_eq!(answer.status, code);
        assert!(!answer.headers.contains_key("status"));
        assert_eq!(whole(answer).await.unwrap(), "status");
    }
    let answer = app.ask(get("/location.php", "")).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (302, &"/elsewhere".parse().unwrap()));
    let answer = app.ask(get("/cookies.php", "")).await.unwrap();
    assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 2);
    let head = Asked { method: Method::HEAD, ..get("/hello.php", "") };
    let answer = app.ask(head).await.unwrap();
    assert!(matches!(answer.body, AnswerBody::Empty));
    let answer = app.ask(get("/status.php", "code=204")).await.unwrap();
    assert!(matches!(answer.body, AnswerBody::Empty));
    // A script that does not exist: php-fpm's own words reach the log.
    let answer = app.ask(get("/none.php", "")).await.unwrap();
    assert_eq!(answer.status, 404);
    assert!(app.said().contains("Primary script unknown"), "{}", app.said());
    assert_eq!(app.fastcgi.stats().connects, 1, "a connection was lost on the way");
}

#[tokio::test]
async fn an_early_answer_does_not_wait_for_the_upload() {
    let fpm = Fpm::start(On::Unix, 1, "php_admin_flag[enable_post_data_reading] = off");
    let app = under(&fpm);
    let (client, asked) = slow_post("/early.php", "", 1 << 20);
    client.send(Bytes::from(vec![0; 1000])).unwrap();
    let answer = app.ask(asked).await.unwrap();
    assert_eq!(answer.status, 413);
    assert_eq!(whole(answer).await.unwrap(), "much");
    // The next request is served, whatever became of that connection.
    assert_eq!(app.text("/hello.php", "n=1").await, "hello 1");
}

#[tokio::test]
async fn a_script_that_dies_leaves_no_whole_answer() {
    let fpm = Fpm::start(On::Unix, 2, "");
    let app = under(&fpm);
    for script in ["/die.php", "/die-unsized.php"] {
        let answer = app.ask(get(script, "")).await.unwrap();
        assert_eq!(answer.status, 200);
        let failure = whole(answer).await.expect_err(script);
        assert_eq!((failure.reason, failure.reached), (Upstream::ShortBody, Reached::Answered), "{failure}");
        assert!(failure.detail.contains("after 4 bytes"), "{failure}");
    }
    let failure = app.ask(get("/die-first.php", "")).await.err().unwrap();
    assert_eq!((failure.reason, failure.reached), (Upstream::Reset, Reached::Sent), "{failure}");
    let failure = match app.ask(get("/short.php", "")).await {
        Ok(answer) => whole(answer).await.unwrap_err(),
        Err(failure) => failure,
    };
    assert_eq!(failure.reason, Upstream::ShortBody, "{failure}");
    assert_eq!(app.text("/hello.php", "n=1").await, "hello 1");
}

#[tokio::test]
async fn a_dead_reused_connection_is_replaced() {
    let fpm = Fpm::start(On::Unix, 1, "pm.max_requests = 3");
    let app = under(&fpm);
    // Every third answer is its child's last.
    for n in 0..20 {
        assert_eq!(app.text("/hello.php", &format!("n={n}")).await, format!("hello {n}"));
        let echoed = app.ask(post("/echo.php", "", "body", true)).await.unwrap();
        assert_eq!(whole(echoed).await.unwrap(), "body");
    }
    assert!(app.fastcgi.stats().reuses > 10);
}

#[tokio::test]
async fn what_a_script_logs_is_heard() {
    let fpm = Fpm::start(On::Unix, 1, "");
    let app = under(&fpm);
    assert_eq!(app.text("/error.php", "").await, "said");
    let said = app.said();
    assert!(said.contains("first line") && said.contains("second \\u{1b}[31mline"), "{said}");
    let answer = app.ask(get("/fatal.php", "")).await.unwrap();
    assert_eq!(answer.status, 500);
    whole(answer).await.unwrap();
    assert!(app.said().contains("undefined_function"), "{}", app.said());
    // php-fpm reports no exit status.
    assert_eq!(app.text("/exit.php", "").await, "out");
}

#[tokio::test]
async fn a_reader_who_leaves_ends_the_script() {
    let fpm = Fpm::start(On::Unix, 1, "");
    let app = under(&fpm);
    let mut answer = app.ask(get("/forever.php", "")).await.unwrap();
    next(&mut answer).await.unwrap().unwrap();
    drop(answer);
    let stats = app.fastcgi.stats();
    assert_eq!((stats.busy, stats.open), (0, 0));
    // The only child is free again.
    assert_eq!(app.text("/hello.php", "n=1").await, "hello 1");

    // Leaving before the head: the script sleeps on, but we hold nothing.
    let _ = std::fs::remove_file(fpm.folder.join("begun"));
    tokio::select! {
        _ = app.ask(get("/sleep.php", "ms=300")) => panic!("it cannot be done yet"),
        () = until("the script's begin", || fpm.folder.join("begun").exists()) => {}
    }
    let stats = app.fastcgi.stats();
    assert_eq!((stats.busy, stats.open, stats.idle), (0, 0, 0));
    assert_eq!(app.text("/hello.php", "n=2").await, "hello 2");
}

#[tokio::test]
async fn a_slow_script_meets_its_limit() {
    let fpm = Fpm::start(On::Unix, 2, "");
    let slow = UpstreamLimits { head_timeout: Duration::from_millis(150), ..limits() };
    let app = Under::new(fpm.address.clone(), &fpm.folder, slow);
    let begun = Instant::now();
    let failure = app.ask(get("/sleep.php", "ms=3000")).await.err().unwrap();
    assert_eq!((failure.reason, failure.reached), (Upstream::HeadTimeout, Reached::Sent), "{failure}");
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(app.fastcgi.stats().open, 0);
}

#[tokio::test]
async fn many_requests_share_few_children() {
    for on in [On::Unix, On::Tcp] {
        let fpm = Fpm::start(on, 2, "");
        let app = under(&fpm);
        // More connections than children: whoever has a child must give it up for those in the backlog.
        let begun = Instant::now();
        for round in 0..3 {
            let asking: Vec<_> = (0..60)
                .map(|n| {
                    let fastcgi = std::sync::Arc::clone(&app.fastcgi);
                    let script = app.script("/busy.php");
                    let asked = get("/busy.php", &format!("n={n}"));
                    async move {
                        let answer =
                            fastcgi.attempt(n % 3, asked, script).await.unwrap_or_else(|f| panic!("{f}"));
                        assert_eq!(whole(answer).await.unwrap(), format!("done {n}"), "round {round}");
                    }
                })
                .collect();
            let local = tokio::task::LocalSet::new();
            for one in asking {
                local.spawn_local(one);
            }
            local.await;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "requests waited for children: {:?}",
            begun.elapsed()
        );
        let stats = app.fastcgi.stats();
        assert_eq!((stats.busy, stats.waiting), (0, 0));
        assert!(stats.idle <= 2, "{stats:?}");
    }
}
