//! Upstreams of several members: who is asked, what happens when one dies, sessions, probes, what operators change.

use samovar_tests::origin::{After, Asked, Origin, own};
use samovar_tests::server::{Folder, Server, soon};
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// An origin that says its name and allows no storing.
fn named(name: &'static str) -> Origin {
    Origin::new(move |_| (200, own(&[("Cache-Control", "no-store")]), name.into()))
}

pub(super) fn members(urls: &[&str]) -> String {
    let each: Vec<String> = urls
        .iter()
        .zip(["a", "b", "c"])
        .map(|(url, name)| format!("{{ url = \"{url}\", name = \"{name}\" }}"))
        .collect();
    format!("members = [{}]", each.join(", "))
}

fn before(upstream: &str) -> Server {
    before_with("", upstream)
}

pub(super) fn before_with(site: &str, upstream: &str) -> Server {
    let text = format!(
        "config = 1\n[[site]]\nname = \"one\"\ndefault = true\nupstream = \"app\"\n{site}\n\
         [[upstream]]\nname = \"app\"\n{upstream}\n"
    );
    Server::configured(&text, &[]).0
}

pub(super) fn member<'v>(all: &'v Value, name: &str) -> &'v Value {
    all[0]["members"].as_array().unwrap().iter().find(|m| m["name"] == name).unwrap()
}

/// The last request's record.
fn trace(server: &Server) -> Value {
    server.json(&["trace", "--last", "1"])[0].clone()
}

fn fact(record: &Value, kind: &str) -> Value {
    let facts = record["facts"].as_array().unwrap();
    facts.iter().find(|f| f["fact"] == kind).unwrap_or_else(|| panic!("no {kind}: {record}")).clone()
}

#[test]
fn members_take_turns_by_weight_and_it_is_said_why() {
    let (a, b) = (named("a"), named("b"));
    let server = before(&format!(
        "members = [{{ url = \"{}\", name = \"a\", weight = 3 }}, {{ url = \"{}\", name = \"b\" }}]",
        a.url, b.url
    ));
    let got: Vec<String> = (0..8).map(|_| server.get("/", &[]).text()).collect();
    // Spread evenly, not one after the other.
    assert_eq!(got.concat(), "aabaaaba");
    let record = trace(&server);
    let elected = fact(&record, "elected");
    assert_eq!((elected["code"].as_str(), elected["busy"].as_u64()), (Some("by-requests"), Some(1)));
    assert_eq!(fact(&record, "attempt")["attempt"]["target"], format!("app/{}", got[7]));
    // One line of the log has it all.
    let line = soon("the log is written", || {
        server.said().lines().rfind(|l| l.contains(" upstream=app/")).map(str::to_owned)
    });
    assert!(
        line.contains("elected=by-requests tries=1 connect_us=") && line.contains(" answer_us="),
        "{line}"
    );
    let all = server.json(&["upstream", "list"]);
    assert_eq!(member(&all, "a")["elected"], 6);
    assert_eq!(
        (member(&all, "a")["busy"].as_u64(), member(&all, "a")["errors"].as_u64()),
        (Some(0), Some(0))
    );
    assert!(member(&all, "a")["to_bytes"].as_u64() > Some(100));
    assert!(member(&all, "a")["from_bytes"].as_u64() > Some(100));
    assert!(member(&all, "a")["latency_us"].as_u64() > Some(0));
    let table = server.tell(&["upstream", "list", "app"]);
    assert!(table.starts_with("app: by requests") && table.contains("ELECTED"), "{table}");
}

/// The bar: of two, one is killed under load; whoever asks GET notices nothing.
#[test]
fn nobody_who_asks_get_notices_that_a_member_dies() {
    let a = named("a");
    let folder = Folder::new();
    folder.write("index.html", "b");
    let dying = Server::start(&[folder.0.to_str().unwrap()]);
    let server =
        Arc::new(before_with("never = true", &members(&[&a.url, &format!("http://{}", dying.address)])));
    let stop = Arc::new(AtomicBool::new(false));
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let (server, stop) = (Arc::clone(&server), Arc::clone(&stop));
            std::thread::spawn(move || {
                let (mut client, mut from_b, mut count) = (server.connect(), 0, 0);
                while !stop.load(Ordering::Relaxed) {
                    let answer = client.get("/", &[]);
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    from_b += usize::from(answer.text() == "b");
                    count += 1;
                }
                (count, from_b)
            })
        })
        .collect();
    soon("both are asked", || {
        let all = server.json(&["upstream", "list"]);
        let elected = |name| member(&all, name)["elected"].as_u64().unwrap();
        (elected("a") > 200 && elected("b") > 200).then_some(())
    });
    drop(dying);
    soon("it is left alone", || {
        let all = server.json(&["upstream", "list"]);
        (member(&all, "b")["unusable"] == "member-ejected").then_some(())
    });
    let before = member(&server.json(&["upstream", "list"]), "a")["elected"].as_u64().unwrap();
    soon("the other goes on", || {
        let all = server.json(&["upstream", "list"]);
        (member(&all, "a")["elected"].as_u64().unwrap() > before + 200).then_some(())
    });
    stop.store(true, Ordering::Relaxed);
    for thread in asking {
        let (count, from_b) = thread.join().unwrap();
        assert!(count > 0 && from_b > 0);
    }
    let all = server.json(&["upstream", "list"]);
    let b = member(&all, "b");
    assert!(b["retried"].as_u64() >= Some(5) && b["ejections"].as_u64() >= Some(1), "{b}");
    assert!(server.said().contains("upstream app/b is left alone for a while"));
}

/// An origin that answers `/many` with more fields than are read, and all else well.
fn odd_at_one_url() -> Origin {
    Origin::raw(|asked, stream| {
        let many: String = match asked.target() {
            "/many" => (0..2_000).map(|n| format!("X-{n}: 1\r\n")).collect(),
            _ => String::new(),
        };
        let head = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1\r\n";
        let _ = stream.write_all(format!("{head}{many}\r\na").as_bytes());
        After::Keep
    })
}

fn set_aside_by_a_visitor(server: &Server) {
    soon("a visitor has it set aside", || {
        server.get("/many", &[]);
        (member(&server.json(&["upstream", "list"]), "a")["unusable"] == "member-ejected").then_some(())
    });
}

/// Whoever is set aside is asked before a client is told that nobody answers.
#[test]
fn one_set_aside_takes_over_when_the_last_one_dies() {
    let a = odd_at_one_url();
    let folder = Folder::new();
    folder.write("index.html", "b");
    for method in ["GET", "POST"] {
        let dying = Server::start(&[folder.0.to_str().unwrap()]);
        let server = before_with("never = true", &members(&[&a.url, &format!("http://{}", dying.address)]));
        set_aside_by_a_visitor(&server);
        assert_eq!(server.get("/", &[]).text(), "b");
        drop(dying);
        for n in 0..20 {
            let answer =
                server.connect().request(method, "/", &[], if method == "POST" { b"x" } else { b"" });
            assert_eq!((answer.status, answer.text().as_str()), (200, "a"), "{method} {n}");
        }
        let all = server.json(&["upstream", "list"]);
        assert_eq!(member(&all, "a")["unusable"], Value::Null, "{all}");
        assert_eq!(member(&all, "b")["unusable"], "member-ejected", "{all}");
    }
}

/// What may not be repeated fails only until it is clear that the last one fails in a row.
#[test]
fn one_set_aside_is_in_use_again_when_all_others_fail_in_a_row() {
    let a = odd_at_one_url();
    let well = Arc::new(AtomicBool::new(true));
    let says = Arc::clone(&well);
    let b = Origin::raw(move |_, stream| {
        if !says.load(Ordering::Relaxed) {
            return After::Close;
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
        After::Keep
    });
    let server = before(&members(&[&a.url, &b.url]));
    set_aside_by_a_visitor(&server);
    well.store(false, Ordering::Relaxed);
    let got: Vec<u16> = (0..12).map(|_| server.connect().request("POST", "/", &[], b"x").status).collect();
    let failed = got.iter().filter(|status| **status == 502).count();
    // Five in a row, and two more at most while both are asked in turn.
    assert!((5..=7).contains(&failed) && got[8..] == [200; 4], "{got:?}");
    assert!(server.said().contains("all in use fail, so those left alone are in use again"));
}

#[test]
fn what_may_have_been_acted_upon_is_not_asked_twice() {
    let posts = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&posts);
    let breaking = Origin::raw(move |asked, _| {
        seen.fetch_add(usize::from(asked.line.starts_with("POST")), Ordering::Relaxed);
        After::Close
    });
    let whole = named("b");
    let server = before(&members(&[&breaking.url, &whole.url]));
    let answer = server.connect().request("POST", "/", &[], b"x");
    assert_eq!((answer.status, answer.reason().as_str()), (502, "upstream-reset"), "{}", answer.text());
    assert_eq!(fact(&trace(&server), "retry")["code"], "retry-not-repeatable");
    assert_eq!((posts.load(Ordering::Relaxed), whole.count()), (1, 0));
    // A GET goes on to the other.
    let texts: Vec<String> = (0..4).map(|_| server.get("/", &[]).text()).collect();
    assert_eq!(texts, ["b"; 4]);
    let retried = server.json(&["trace", "--last", "4"]);
    let codes = retried.to_string();
    assert!(codes.contains("retry-elsewhere") && codes.contains("app/a: upstream-reset"), "{codes}");
}

/// Nothing was sent to the first, so the body is still whole for the second.
#[test]
fn a_body_that_was_never_sent_goes_to_the_next() {
    let bodies =
        Origin::new(|asked: &Asked| (200, own(&[("Cache-Control", "no-store")]), asked.body.clone()));
    let server = before(&members(&["http://127.0.0.1:1", &bodies.url]));
    for n in 0..4 {
        let body = format!("body {n}");
        let answer = server.connect().request("POST", "/", &[], body.as_bytes());
        assert_eq!((answer.status, answer.text()), (200, body));
    }
    assert_eq!(bodies.count(), 4);
    assert!(member(&server.json(&["upstream", "list"]), "a")["retried"].as_u64() >= Some(1));
}

#[test]
fn statuses_are_tried_again_where_that_is_said() {
    let ill = Origin::new(|_| (503, own(&[("Cache-Control", "no-store")]), b"ill".to_vec()));
    let well = named("b");
    let silent = before(&members(&[&ill.url, &well.url]));
    let got: Vec<u16> = (0..4).map(|_| silent.get("/", &[]).status).collect();
    assert_eq!(got, [503, 200, 503, 200]);
    let server = before(&format!("{}\nretry = {{ on = [\"503\"] }}", members(&[&ill.url, &well.url])));
    let got: Vec<u16> = (0..4).map(|_| server.get("/", &[]).status).collect();
    assert_eq!(got, [200; 4]);
    // Where nobody answers better, what came is passed on.
    let server = before(
        &format!("{}\nretry = {{ on = [\"503\"] }}", members(&[&ill.url, &ill.url]))
            .replace("name = \"b\"", "name = \"other\""),
    );
    let answer = server.get("/", &[]);
    assert_eq!((answer.status, answer.text().as_str()), (503, "ill"));
    assert_eq!(fact(&trace(&server), "attempt")["attempt"]["status"], 503);
}

#[test]
fn sessions_stay_on_their_member() {
    let (a, b) = (named("a"), named("b"));
    let sticky = "sticky = { cookie = \"ROUTEID\", query = \"route\", set = true }";
    let server = before(&format!("{}\n{sticky}", members(&[&a.url, &b.url])));
    let first = server.get("/", &[]);
    let cookie = first.field("set-cookie").unwrap().to_owned();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(pair, if first.text() == "a" { "ROUTEID=.m1" } else { "ROUTEID=.m2" });
    for _ in 0..4 {
        let again = server.get("/", &[("Cookie", pair)]);
        assert_eq!((again.text(), again.field("set-cookie")), (first.text(), None));
    }
    assert_eq!(fact(&trace(&server), "elected")["code"], "sticky-route");
    assert_eq!(
        server.get("/?route=x.m2", &[("Cookie", "ROUTEID=.m1")]).text(),
        "b",
        "the URL's word goes first"
    );
    for nobody in ["/?route=x", "/?route=x.nobody", "/;route=x.m9"] {
        assert_eq!(server.get(nobody, &[("Cookie", "ROUTEID=.m2")]).text(), "b", "{nobody} names nobody");
    }
    // A member that drains keeps its sessions; one that is disabled hands them over.
    server.tell(&["upstream", "drain", "app", "a"]);
    assert_eq!(server.get("/", &[("Cookie", "ROUTEID=.m1")]).text(), "a");
    assert_eq!([(); 3].map(|()| server.get("/", &[]).text()), ["b", "b", "b"]);
    server.tell(&["upstream", "disable", "app", "a"]);
    let moved = server.get("/", &[("Cookie", "ROUTEID=.m1")]);
    assert_eq!(
        (moved.text().as_str(), moved.field("set-cookie").unwrap().split(';').next()),
        ("b", Some("ROUTEID=.m2"))
    );
    assert_eq!(fact(&trace(&server), "elected")["code"], "sticky-moved");
    server.tell(&["upstream", "disable", "app", "2"]);
    let none = server.get("/", &[]);
    assert_eq!((none.status, none.reason().as_str()), (503, "no-member"));
    assert!(none.field("retry-after").is_some());
    server.tell(&["upstream", "enable", "app", "a"]);
    assert_eq!(server.get("/", &[]).text(), "a");
}

/// Our own cookie says nothing of the content: it keeps nobody away from the cache, and what is stored does not set it.
#[test]
fn the_sticky_cookie_and_the_cache_do_not_meet() {
    let a = Origin::new(|asked: &Asked| (200, own(&[]), asked.target().as_bytes().to_vec()));
    let sticky = "sticky = { cookie = \"ROUTEID\", set = true }";
    let server = before_with(
        "for = \"60s\"",
        &format!("{}\n{sticky}", members(&[&a.url, &a.url])).replace("\"b\"", "\"z\""),
    );
    let first = server.get("/x", &[]);
    assert_eq!(first.field("set-cookie"), None, "it may be stored, and be everybody's");
    for fields in [&[][..], &[("Cookie", "ROUTEID=.m1")], &[("Cookie", "ROUTEID=.m2")]] {
        let answer = server.get("/x", fields);
        assert!(answer.is_hit(), "{}", answer.cache_status());
        assert_eq!(answer.field("set-cookie"), None);
    }
    assert!(
        !server.get("/x", &[("Cookie", "sid=1; ROUTEID=.m1")]).is_hit(),
        "any other cookie still matters"
    );
    assert_eq!(a.count(), 2);
}

#[test]
fn keys_have_a_member() {
    let (a, b) = (named("a"), named("b"));
    let server =
        before(&format!("{}\nbalance = \"hash\"\nhash_by = \"query:id\"", members(&[&a.url, &b.url])));
    let of = |id: usize| server.get(&format!("/?x={}&id={id}", id * 7), &[]).text();
    let first: Vec<String> = (0..20).map(of).collect();
    assert_eq!((0..20).map(of).collect::<Vec<_>>(), first);
    assert!(first.iter().any(|n| n == "a") && first.iter().any(|n| n == "b"), "{first:?}");
    // The other variables do not matter.
    assert_eq!(server.get("/y?id=3", &[]).text(), first[3]);
}

#[test]
fn probes_take_a_member_out_and_back() {
    let well = Arc::new(AtomicBool::new(true));
    let says = Arc::clone(&well);
    let a = Origin::new(move |asked: &Asked| {
        let ill = asked.target() == "/health?deep=1" && !says.load(Ordering::Relaxed);
        (if ill { 500 } else { 200 }, own(&[("Cache-Control", "no-store")]), b"a".to_vec())
    });
    let b = named("b");
    let probe = "probe = { path = \"/health?deep=1\", interval = \"100ms\", fall = 2, rise = 2, host = \"probe.test\" }";
    let server = before(&format!("{}\n{probe}", members(&[&a.url, &b.url])));
    let state = |name: &str| member(&server.json(&["upstream", "list"]), name)["unusable"].clone();
    soon("a probe comes", || a.asked().iter().any(|r| r.field("host") == Some("probe.test")).then_some(()));
    assert_eq!(state("a"), Value::Null);
    well.store(false, Ordering::Relaxed);
    soon("it is down", || (state("a") == "member-down").then_some(()));
    assert_eq!([(); 4].map(|()| server.get("/", &[]).text()), ["b", "b", "b", "b"]);
    assert!(server.said().contains("upstream app/a is down by its probes: it answered 500"));
    well.store(true, Ordering::Relaxed);
    soon("it is well again", || (state("a") == Value::Null).then_some(()));
    let got: Vec<String> = (0..4).map(|_| server.get("/", &[]).text()).collect();
    assert!(got.contains(&"a".to_owned()), "{got:?}");
}

#[test]
fn what_is_changed_live_holds_at_once_and_is_kept_on_request() {
    let (a, b) = (named("a"), named("b"));
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nupstream = \"app\"\n\n# two of them\n[[upstream]]\nname = \"app\"\nmembers = [\n  \
         {{ url = \"{}\", name = \"a\" }}, # the old one\n  {{ url = \"{}\", name = \"b\" }},\n]\n",
        a.url, b.url
    );
    let (server, file) = Server::configured(&text, &[]);
    server.tell(&["upstream", "set", "app", "a", "--weight", "3"]);
    let got = (0..8).filter(|_| server.get("/", &[]).text() == "a").count();
    assert_eq!(got, 6);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "nothing was asked to be kept");
    server.tell(&["upstream", "set", "app", "b", "--weight", "2", "--keep"]);
    server.tell(&["upstream", "set", "app", "--balance", "busyness", "--keep"]);
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("name = \"b\", weight = 2 }") && kept.contains("balance = \"busyness\""), "{kept}");
    assert!(kept.contains("# two of them") && kept.contains("# the old one"), "{kept}");
    let all = server.json(&["upstream", "list"]);
    // What the file does not speak of is as it was changed, and counters go on.
    assert_eq!(
        (all[0]["balance"].as_str(), member(&all, "a")["weight"].as_u64()),
        (Some("busyness"), Some(3))
    );
    assert!(member(&all, "a")["elected"].as_u64() >= Some(6), "{all}");
    server.tell(&["reload"]);
    let all = server.json(&["upstream", "list"]);
    assert_eq!(
        (member(&all, "a")["weight"].as_u64(), member(&all, "b")["weight"].as_u64()),
        (Some(3), Some(2))
    );
    for (args, word) in [
        (&["upstream", "drain", "nope", "a"][..], "no upstream is named"),
        (&["upstream", "drain", "app", "nope"], "no member"),
        (&["upstream", "set", "app", "a", "--weight", "0"], "from 1 to 1000"),
        (&["upstream", "set", "app", "--balance", "fair"], "one of requests"),
        (&["upstream", "set", "app", "a"], "nothing to change"),
        (&["upstream", "list", "nope"], "no upstream is named"),
    ] {
        let out = server.ask(args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: {said}");
    }
}

/// What is kept is written and holds at once; what others have changed in the file waits for a reload, and that is said.
#[test]
fn what_others_have_changed_in_the_file_does_not_come_into_force_with_a_change_that_is_kept() {
    let (a, b) = (named("a"), named("b"));
    let text = format!(
        "config = 1\n[[site]]\nname = \"one\"\ndefault = true\nupstream = \"app\"\n\
         [[upstream]]\nname = \"app\"\n{}\n",
        members(&[&a.url, &b.url])
    );
    let (server, file) = Server::configured(&text, &[]);
    // Half-finished: the members in another order, and nobody let in.
    let others = text
        .replace(
            &members(&[&a.url, &b.url]),
            &format!(
                "members = [{{ url = \"{}\", name = \"b\" }}, {{ url = \"{}\", name = \"a\" }}]",
                b.url, a.url
            ),
        )
        .replace("default = true", "default = true\ndeny = [\"127.0.0.0/8\"]");
    std::fs::write(&file, &others).unwrap();
    let out = server.ask(&["upstream", "set", "app", "a", "--weight", "3", "--keep"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        out.status.success() && said.contains("other changes") && said.contains("samovar reload"),
        "{said}"
    );
    let said = server.json(&["upstream", "drain", "app", "b", "--keep"]);
    assert!(said["warnings"][0].as_str().unwrap().contains("not in force"), "{said}");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("deny") && kept.contains("name = \"a\", weight = 3 }"), "{kept}");
    assert!(kept.contains("name = \"b\", state = \"drain\" }"), "{kept}");
    // In force: the change, not the others'.
    assert_eq!([(); 4].map(|()| server.get("/", &[]).text()), ["a"; 4]);
    let all = server.json(&["upstream", "list"]);
    assert_eq!(
        (member(&all, "a")["weight"].as_u64(), member(&all, "b")["state"].as_str()),
        (Some(3), Some("drain"))
    );
    assert_eq!((all[0]["members"][0]["name"].as_str(), all[0].get("warnings")), (Some("a"), None));
    server.tell(&["reload"]);
    assert_eq!(server.get("/", &[]).status, 403);
    // The file is what is in force: nothing is to be said.
    let said = server.json(&["upstream", "enable", "app", "b", "--keep"]);
    assert_eq!(said.get("warnings"), None, "{said}");
    // A file that is no configuration is not written to, and nothing changes.
    std::fs::write(&file, "config = 1\n[[site").unwrap();
    assert!(!server.ask(&["upstream", "drain", "app", "a", "--keep"]).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "config = 1\n[[site");
    assert_eq!(member(&server.json(&["upstream", "list"]), "a")["state"], "enabled");
}

/// A rule is changed in the file as it stands there, whose other changes come into force as well: that is said, too.
#[test]
fn a_change_of_a_rule_says_what_else_came_into_force() {
    let (server, file) = Server::configured(
        "config = 1\n[[site]]\nname = \"one\"\ndefault = true\norigin = \"http://127.0.0.1:1\"\n\
         [[site.rule]]\nid = \"x\"\npath = \"/x\"\n",
        &[],
    );
    let said = |args: &[&str]| String::from_utf8_lossy(&server.ask(args).stderr).into_owned();
    assert!(!said(&["rule", "set", "x", "for=1m"]).contains("other changes"));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("default = true", "default = true\ndeny = [\"127.0.0.0/8\"]"))
        .unwrap();
    assert!(said(&["rule", "set", "x", "for=2m"]).contains("in force now, too"));
    assert_eq!(server.get("/", &[]).status, 403);
}

#[test]
fn a_name_that_holds_keeps_its_connections() {
    // `localhost` is looked up like any name, and has an address everywhere.
    let a = named("a");
    let url = a.url.replace("127.0.0.1", "localhost");
    let server = before(&format!("members = [{{ url = \"{url}\" }}]\nresolve_every = \"10ms\""));
    for _ in 0..3 {
        assert_eq!(server.get("/", &[]).text(), "a");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The name still has the address, so the connection is used again.
    let all = server.json(&["upstream", "list"]);
    assert_eq!(
        (all[0]["members"][0]["connects"].as_u64(), all[0]["members"][0]["reuses"].as_u64()),
        (Some(1), Some(2)),
        "{all}"
    );
}
