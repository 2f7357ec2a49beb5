//! Request fields in which a client claims another method, target or address than its request has: what they do to the
//! cache and where they end, before an HTTP origin and before an application behind FastCGI.

use samovar_tests::client::Answer;
use samovar_tests::origin::{Origin, own};
use samovar_tests::php::Fpm;
use samovar_tests::server::{Folder, Server};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// As applications that know fields as variables see it: no case, and `_` for all that is neither letter nor digit.
fn variable(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// As WordPress and others do: a HEAD has no content, a POST finds nothing, both with a lifetime.
fn takes_another_method() -> Origin {
    Origin::new(|asked| {
        let names = ["x_http_method_override", "x_method_override", "x_http_method"];
        let field = asked.fields.iter().find(|(name, _)| names.contains(&variable(name).as_str()));
        let in_query = asked.target().split(['?', '&']).find_map(|part| part.strip_prefix("_method="));
        let fields = own(&[("Cache-Control", "max-age=60"), ("ETag", "\"e\"")]);
        match field.map(|(_, value)| value.as_str()).or(in_query) {
            Some("HEAD") => (200, fields, Vec::new()),
            Some(_) => (404, fields, b"nothing".to_vec()),
            None => (200, fields, b"the page".to_vec()),
        }
    })
}

const SPELLINGS: [&str; 6] = [
    "X-HTTP-Method-Override",
    "x-method-override",
    "X-HTTP-METHOD",
    "X_HTTP_METHOD_OVERRIDE",
    "X_Method-Override",
    "X.Http.Method",
];

fn is_page(answer: &Answer) -> bool {
    (answer.status, answer.text().as_str()) == (200, "the page")
}

/// The client that claims comes first: nothing of what it gets is for anybody else. Then it comes to what is stored, and to
/// what is hot: it is not answered from there.
fn does_not_poison(server: &Server, path: &str, spellings: &[&str]) {
    for (number, name) in spellings.iter().enumerate() {
        for method in ["HEAD", "POST"] {
            let path = format!("{path}?{method}{number}");
            let mut client = server.connect();
            for _ in 0..3 {
                let own = client.get(&path, &[(name, method)]);
                assert_eq!((own.reason().as_str(), is_page(&own)), ("method-override", false), "{name}");
            }
            let victim = client.get(&path, &[]);
            assert!(is_page(&victim), "{name}: {method}: {}: {}", victim.cache_status(), victim.text());
            for _ in 0..4 {
                assert!(client.get(&path, &[]).is_hit(), "{name}");
            }
            let own = client.get(&path, &[(name, method)]);
            assert_eq!((own.reason().as_str(), is_page(&own)), ("method-override", false), "{name}");
            assert!(client.get(&path, &[]).is_hit() && is_page(&client.get(&path, &[])), "{name}");
            let head = client.request("HEAD", &path, &[(name, method)], b"");
            assert_eq!(head.reason(), "method-override", "{name}");
        }
    }
}

#[test]
fn another_method_passes_by_the_cache_before_an_http_origin() {
    let origin = takes_another_method();
    let server = Server::before(&origin.url, &[]);
    does_not_poison(&server, "/page", &SPELLINGS);
    // The hot tier says why it stood aside.
    let mut client = server.connect();
    for _ in 0..4 {
        client.get("/hot", &[]);
    }
    assert!(!is_page(&client.get("/hot", &[("X-HTTP-Method-Override", "HEAD")])));
    assert!(server.tell(&["trace"]).contains("method-override"));
}

#[test]
fn a_variable_of_the_query_that_is_not_in_the_key_claims_no_method_either() {
    let origin = takes_another_method();
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "path=/**", "for=60s", "vary_query={ keep = [\"id\"] }"]);
    let sly = server.get("/?id=1&_method=HEAD", &[]);
    assert_eq!((sly.reason().as_str(), is_page(&sly)), ("method-override", false));
    let victim = server.get("/?id=1", &[]);
    assert!(is_page(&victim), "{}", victim.text());
    assert!(!is_page(&server.get("/?id=1&_method=POST", &[])), "nor is it answered from what is stored");
}

/// A request that claims a method may do something: each reaches the origin.
#[test]
fn requests_that_claim_a_method_are_never_collapsed() {
    let came = Arc::new((Mutex::new(0), Condvar::new()));
    let seen = Arc::clone(&came);
    let origin = Origin::new(move |_| {
        let (count, more) = &*seen;
        let mut count = count.lock().unwrap();
        *count += 1;
        more.notify_all();
        // Neither is answered before both are here.
        drop(more.wait_timeout_while(count, Duration::from_secs(20), |count| *count < 2).unwrap());
        (200, own(&[("Cache-Control", "max-age=60")]), b"done".to_vec())
    });
    let server = Server::before(&origin.url, &[]);
    std::thread::scope(|scope| {
        let ask = || server.get("/", &[("X-HTTP-Method-Override", "DELETE")]);
        let both = [scope.spawn(ask), scope.spawn(ask)];
        for one in both {
            assert_eq!(one.join().unwrap().reason(), "method-override");
        }
    });
    assert_eq!(*came.0.lock().unwrap(), 2);
}

/// RFC 9110 §9.3.3 lets the response to a POST answer a GET, and §4.3.5 of RFC 9111 lets one to a HEAD renew what is stored:
/// not where another method was meant.
#[test]
fn what_another_method_came_to_teaches_the_cache_nothing() {
    let origin = Origin::new(|asked| {
        let claims = asked.field("x-http-method-override").is_some();
        let etag = if claims { "\"other\"" } else { "\"e\"" };
        let path = asked.target().to_owned();
        let mut fields = own(&[("ETag", etag), ("Cache-Control", "max-age=60")]);
        fields.push(("Content-Location".into(), path));
        (200, fields, if claims { b"deleted".to_vec() } else { b"the page".to_vec() })
    });
    let server = Server::before(&origin.url, &[]);
    let posted = server.connect().request("POST", "/a", &[("X-HTTP-Method-Override", "DELETE")], b"");
    assert_eq!(posted.text(), "deleted");
    let got = server.get("/a", &[]);
    assert_eq!((got.is_hit(), got.text().as_str()), (false, "the page"));
    let head = server.connect().request("HEAD", "/a", &[("X-HTTP-Method-Override", "DELETE")], b"");
    assert_eq!((head.status, head.reason().as_str()), (200, "method-override"));
    assert!(server.get("/a", &[]).is_hit(), "the HEAD did not make it doubtful");
}

/// Fields that applications honour, and what nobody may claim in them.
const CLAIMS: [&str; 34] = [
    "Forwarded-For",
    "X-Forwarded",
    "X-Forwarded-Uri",
    "X-Forwarded-Path",
    "X-Forwarded-Prefix",
    "X-Forwarded-Scheme",
    "X-Forwarded-Ssl",
    "X-Forwarded-Protocol",
    "X-Forwarded-Method",
    "X-Forwarded-User",
    "X-Original-Host",
    "X-Original-URL",
    "X-Original-Method",
    "X-Rewrite-URL",
    "X-HTTP-Host-Override",
    "X-Host",
    "X-Real-Host",
    "X-Url-Scheme",
    "X-Scheme",
    "Front-End-Https",
    "Https",
    "Base-Url",
    "X-Script-Name",
    "Script_Name",
    "Path_Info",
    "Client-IP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "Fastly-Client-IP",
    "X-Remote-Addr",
    "X_Original_URL",
    "X.Forwarded.Path",
];

#[test]
fn claims_end_here() {
    let origin = Origin::new(|asked| {
        let all: Vec<String> = asked.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (200, own(&[]), all.join("\n").into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    let mut fields = CLAIMS.map(|name| (name, "claimed")).to_vec();
    fields.push(("X-Requested-With", "kept"));
    let seen = server.get("/", &fields).text();
    assert!(seen.contains("x-requested-with=kept") && !seen.contains("claimed"), "{seen}");
    // The record says so, and what to do if they are one's own proxy's.
    let id = server.json(&["trace"])[0]["id"].as_str().unwrap().to_owned();
    let record = server.tell(&["trace", &id]);
    assert!(record.contains("true-client-ip") && record.contains("trusted_proxies"), "{record}");
    let said = server.tell(&["explain", "/", "-H", "X-Original-URL: /admin", "-H", "X-Mine: 1"]);
    assert!(said.contains("dropped") && said.contains("x-original-url"), "{said}");
    assert!(said.contains("unkeyed") && said.contains("header x-mine"), "{said}");
    assert!(!said.contains("header x-original-url"), "it does not reach the origin: {said}");
    let live = server.tell(&["explain", "/", "--live", "-H", "X-Original-URL: /admin", "-H", "X-Mine: 1"]);
    assert!(live.contains("dropped") && live.contains("header x-mine"), "{live}");
}

/// A trusted proxy's claims go on. Those the response may depend on are in the key, in both tiers; the client's address is
/// not, or nothing would be shared.
#[test]
fn a_trusted_proxys_claims_are_in_the_key() {
    let origin = Origin::new(|asked| {
        let claimed = |name| asked.field(name).unwrap_or("none").to_owned();
        let body =
            [claimed("x-original-url"), claimed("front-end-https"), claimed("x_original_url")].join(" ");
        let mut fields = own(&[("Cache-Control", "max-age=60")]);
        fields.push(("X-Saw".into(), claimed("true-client-ip")));
        (200, fields, body.into_bytes())
    });
    let text = format!(
        "config = 1\n[server]\ntrusted_proxies = [\"127.0.0.1\"]\n[[site]]\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &["--workers", "1"]);
    let mut client = server.connect();
    for _ in 0..4 {
        for (fields, body) in [
            (&[][..], "none none none"),
            (&[("X-Original-URL", "/a")], "/a none none"),
            (&[("X-Original-URL", "/b")], "/b none none"),
            (&[("Front-End-Https", "on")], "none on none"),
            (&[("X-Original-URL", "/a"), ("Front-End-Https", "on")], "/a on none"),
            (&[("X_Original_URL", "/c")], "none none none"),
        ] {
            assert_eq!(client.get("/", fields).text(), body, "{fields:?}");
        }
    }
    let hits = (0..4).filter(|_| client.get("/", &[("X-Original-URL", "/b")]).is_hit()).count();
    assert_eq!((hits, origin.count()), (4, 5), "each of them is stored");
    let mut addressed = |ip| client.get("/x", &[("True-Client-IP", ip)]);
    assert_eq!(addressed("192.0.2.1").field("x-saw"), Some("192.0.2.1"));
    assert!(addressed("192.0.2.2").is_hit());
    assert!(
        !server.get("/x", &[("X-HTTP-Method-Override", "HEAD")]).is_hit(),
        "nobody is trusted with the method"
    );
}

#[test]
fn behind_fastcgi_all_of_it_holds_too() {
    let folder = Folder::new();
    // As WordPress reads what is asked for.
    folder.write(
        "index.php",
        "<?php header('Cache-Control: max-age=60'); \
         $m = $_GET['_method'] ?? $_SERVER['HTTP_X_HTTP_METHOD_OVERRIDE'] ?? $_SERVER['HTTP_X_METHOD_OVERRIDE'] \
            ?? $_SERVER['HTTP_X_HTTP_METHOD'] ?? $_SERVER['REQUEST_METHOD']; \
         if ($m === 'HEAD') exit; if ($m !== 'GET') { http_response_code(404); echo 'nothing'; exit; } \
         echo 'the page';",
    );
    folder.write("vars.php", "<?php foreach ($_SERVER as $k => $v) if (is_string($v)) echo \"$k=$v\\n\";");
    let fpm = Fpm::start(&folder.0, 2);
    let text = format!(
        "config = 1\n[[site]]\nname = \"php\"\ndefault = true\nindex = [\"index.php\"]\n\
         handlers = [{{ extension = \".php\", fastcgi = \"unix:{}\" }}]\nfiles = \"{}\"\n",
        fpm.socket.display(),
        folder.0.display()
    );
    let (server, _file) = Server::configured(&text, &["--access-log", "off"]);
    // Names with `_` or `.` no application behind FastCGI sees: these pass by the cache all the same.
    does_not_poison(&server, "/index.php", &SPELLINGS[..3]);
    let aliased = server.get("/index.php?x", &[(SPELLINGS[3], "HEAD")]);
    assert_eq!((aliased.reason().as_str(), is_page(&aliased)), ("method-override", true));
    let fields = CLAIMS.map(|name| (name, "claimed"));
    let seen = server.get("/vars.php", &fields).text();
    assert!(seen.contains("REQUEST_METHOD=GET") && !seen.contains("claimed"), "{seen}");
}

/// A rule may guard one method: to claim that method in another request leads past no guard.
#[test]
fn a_claimed_method_does_not_lead_past_the_guard_of_that_method() {
    let origin = takes_another_method();
    let config = format!(
        "config = 1\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n[[site.rule]]\nid = \"closed\"\n\
         path = \"/items/**\"\nmethod = [\"DELETE\"]\ndeny = [\"0.0.0.0/0\"]\n",
        origin.url
    );
    let (server, _) = Server::configured(&config, &[]);
    let mut client = server.connect();
    assert_eq!(client.request("DELETE", "/items/1", &[], b"").status, 403);
    for name in SPELLINGS {
        for method in ["GET", "POST"] {
            let claim = client.request(method, "/items/1", &[(name, "DELETE")], b"");
            assert_eq!((claim.status, claim.reason().as_str()), (403, "address-denied"), "{method} {name}");
        }
    }
    assert_eq!(client.request("POST", "/items/1?_method=DELETE", &[], b"").status, 403);
    let explained = server.tell(&[
        "explain",
        &server.url("/items/1"),
        "--method",
        "POST",
        "-H",
        "X-HTTP-Method-Override: DELETE",
    ]);
    assert!(explained.contains("rule-by-reading") && explained.contains("closed"), "{explained}");
    // What claims nothing, or claims it elsewhere, goes on.
    assert_eq!(client.request("POST", "/items/1", &[], b"").status, 200);
    assert_eq!(client.request("POST", "/other", &[("X-HTTP-Method-Override", "DELETE")], b"").status, 404);
}

/// Applications that read fields as variables take `Accept_Language` for `Accept-Language`. Their `Vary` is right, and the
/// cache compares a field that was never sent.
#[test]
fn no_field_poses_as_the_one_that_a_response_varies_by() {
    let origin = Origin::new(|asked| {
        let language = asked.fields.iter().find(|(name, _)| variable(name) == "accept_language");
        let language = language.map_or("none", |(_, value)| value).to_owned();
        let fields = own(&[("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]);
        (200, fields, language.into_bytes())
    });
    let server = Server::before(&origin.url, &[]);
    let mut client = server.connect();
    for name in ["Accept_Language", "accept.language", "ACCEPT_LANGUAGE"] {
        let path = format!("/{name}");
        assert_eq!(client.get(&path, &[(name, "evil")]).text(), "none", "{name}");
        let next = client.get(&path, &[]);
        assert_eq!((next.text().as_str(), next.is_hit()), ("none", true), "{name}");
    }
    assert_eq!(client.get("/own", &[("Accept-Language", "de"), ("api_key", "x")]).text(), "de");
    assert!(server.json(&["trace", "--last", "9"]).to_string().contains("accept_language"));
}
