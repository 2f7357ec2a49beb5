//! What rules do beside caching: rewrites, redirects, fields, mapped locations, error pages.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::{Server, soon};

fn site(origin: &Origin, rest: &str) -> Server {
    let text =
        format!("config = 1\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n{rest}", origin.url);
    Server::configured(&text, &[]).0
}

/// An origin that tells what it was asked.
fn telling(fields: &'static [(&'static str, &'static str)]) -> Origin {
    Origin::new(move |asked| (200, own(fields), asked.target().as_bytes().to_vec()))
}

#[test]
fn a_rewrite_changes_what_the_origin_is_asked_and_not_the_key() {
    let origin = telling(&[("Cache-Control", "max-age=60")]);
    let server = site(
        &origin,
        "[[site.rule]]\npath = \"/old/**\"\nrewrite = \"/new/{1}\"\n\
         [[site.rule]]\npath = \"/q/*\"\nrewrite = \"/query?name={1}&{query}\"\n\
         [[site.rule]]\npath = \"/new/**\"\nnever = true\n",
    );
    assert_eq!(server.get("/old/a/b?x=1", &[]).text(), "/new/a/b?x=1");
    assert!(server.get("/old/a/b?x=1", &[]).is_hit(), "the rule of the rewritten path is not chosen");
    assert_eq!(server.get("/new/a/b?x=1", &[]).reason(), "rule-never");
    assert_eq!(server.get("/q/n", &[]).text(), "/query?name=n&");
    assert_eq!(server.get("/q/n?z=2", &[]).text(), "/query?name=n&z=2");
    // The client's own URL is the one that is listed, explained and purged.
    let listed = server.tell(&["cache", "list"]);
    assert!(listed.contains("/old/a/b?x=1") && !listed.contains("/new/a/b"), "{listed}");
    let said = server.tell(&["explain", "/old/a/b?x=1"]);
    assert!(said.contains("/new/a/b?x=1"), "{said}");
    server.tell(&["cache", "purge", "--prefix", "http://test/old/"]);
    assert!(!server.get("/old/a/b?x=1", &[]).is_hit());
    let trace = server.json(&["trace"]);
    assert!(trace.to_string().contains("\"rewritten\""), "{trace}");
}

#[test]
fn what_came_from_a_path_is_one_value_of_a_rewritten_query() {
    let origin = telling(&[]);
    let server = site(&origin, "[[site.rule]]\npath = \"/shop/*\"\nrewrite = \"/index.php?article={1}\"\n");
    assert_eq!(server.get("/shop/1&admin=1", &[]).text(), "/index.php?article=1%26admin%3D1");
    assert_eq!(server.get("/shop/1%26admin=1", &[]).text(), "/index.php?article=1%26admin%3D1");
}

#[test]
fn fields_that_applications_take_for_ours_do_not_reach_them() {
    let origin = Origin::new(|asked| {
        let names: Vec<&str> = asked.fields.iter().map(|(name, _)| name.as_str()).collect();
        let mut odd: Vec<&str> = names.into_iter().filter(|name| name.contains('_')).collect();
        odd.sort_unstable();
        (200, vec![], odd.join(" ").into_bytes())
    });
    let rules = "request_fields = [{ set = \"X-Set\", value = \"v\" }, { remove = \"X-Gone\" }]\n";
    let server = site(&origin, rules);
    let fields = [
        ("X_Set", "a"),
        ("X_Gone", "a"),
        ("X_Forwarded_For", "6.6.6.6"),
        ("X-Forwarded_Proto", "https"),
        ("X_Real_IP", "6.6.6.6"),
        ("Content_Length", "3"),
        ("X-Both", "1"),
        ("X_Both", "2"),
        ("api_key", "mine"),
    ];
    assert_eq!(server.get("/", &fields).text(), "api_key");
}

#[test]
fn a_variable_that_an_application_takes_for_one_of_the_key_is_in_it() {
    let origin = telling(&[]);
    let server = site(&origin, "for = \"1m\"\nvary_query = { keep = [\"id\", \"page_size\"] }\n");
    assert_eq!(server.get("/q?id=1", &[]).text(), "/q?id=1");
    for evil in [
        "/q?+id=evil",
        "/q?id=1&+id=evil",
        "/q?id[]=evil",
        "/q?x=1;id=evil",
        "/q?ID=evil",
        "/q?id=1&page.size=9",
    ] {
        assert_eq!(server.get(evil, &[]).text(), evil);
        assert!(server.get("/q?id=1", &[]).is_hit());
        assert_eq!(server.get("/q?id=1", &[]).text(), "/q?id=1", "after {evil}");
    }
    assert!(server.get("/q?utm=5&id=1", &[]).is_hit());
}

#[test]
fn a_session_of_ours_is_nobody_elses() {
    let origin = telling(&[("Cache-Control", "public, max-age=60")]);
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nupstream = \"u\"\nnever = true\n[[upstream]]\nname = \"u\"\n\
         members = [{{ url = \"{0}\", name = \"a\" }}, {{ url = \"{0}/two\", name = \"b\" }}]\nsticky = {{ cookie = \"ROUTE\", set = true }}\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let first = server.get("/", &[]);
    let cookie = first.field("set-cookie").unwrap_or_else(|| panic!("{first:?}")).to_string();
    assert!(first.all("cache-control").contains(&"private"), "{:?}", first.all("cache-control"));
    let again = server.get("/", &[("Cookie", cookie.split(';').next().unwrap())]);
    assert_eq!((again.field("set-cookie"), again.all("cache-control").len()), (None, 1));
}

#[test]
fn a_rewrite_cannot_leave_the_folder_and_finds_scripts_by_what_is_asked() {
    let folder = samovar_tests::server::Folder::new();
    folder.write("in/a.txt", "inside");
    folder.write("in/sub/index.html", "folder");
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = {:?}\n[[site.rule]]\npath = \"/x/**\"\nrewrite = \"/in/{{1}}\"\n\
         [[site.rule]]\npath = \"/y*\"\nrewrite = \"/in/{{1}}/{{1}}/{{1}}\"\n",
        folder.0.to_str().unwrap()
    );
    let (server, _file) = Server::configured(&text, &[]);
    assert_eq!(server.get("/x/a.txt", &[]).text(), "inside");
    assert_eq!(server.get("/y..", &[]).status, 400);
    let moved = server.get("/x/sub?a=b", &[]);
    assert_eq!((moved.status, moved.field("location")), (301, Some("/x/sub/?a=b")), "the client's own path");
    assert_eq!(server.get("/x/sub/", &[]).text(), "folder");
}

#[test]
fn a_redirect_asks_nobody() {
    let origin = telling(&[]);
    let server = site(
        &origin,
        "[[site.rule]]\npath = \"/old/**\"\nredirect = { to = \"https://new.example/{1}?{query}\", status = 308 }\n\
         [[site.rule]]\npath = \"/**/here\"\nredirect = { to = \"/{1}\" }\n",
    );
    for method in ["GET", "HEAD", "POST"] {
        let answer = server.connect().request(method, "/old/a%20b/c?x=%22", &[], b"");
        assert_eq!(
            (answer.status, answer.field("location")),
            (308, Some("https://new.example/a%20b/c?x=%22"))
        );
        assert_eq!(answer.reason(), "redirected");
    }
    let answer = server.get("//evil.example/here", &[]);
    assert_eq!(
        (answer.status, answer.field("location")),
        (302, Some("/evil.example")),
        "never to another host"
    );
    assert_eq!(origin.count(), 0);
    let said = server.json(&["explain", "/old/x"]);
    assert_eq!((said["cache"].as_str(), said["reason"].as_str()), (Some("own"), Some("redirected")));
}

#[test]
fn fields_are_changed_before_the_origin_before_storing_and_before_the_client() {
    let origin = Origin::new(|asked| {
        let seen = |name| asked.field(name).unwrap_or("-").to_string();
        let body = format!("{} {} {}", seen("x-a"), seen("x-b"), seen("x-c"));
        (
            200,
            own(&[("Cache-Control", "max-age=60"), ("X-Powered-By", "z"), ("X-S", "origin")]),
            body.into_bytes(),
        )
    });
    let server = site(
        &origin,
        "[[site.rule]]\npath = \"/f/*\"\n\
         request_fields = [{ set = \"X-A\", value = \"{1}\" }, { append = \"X-B\", value = \"more\" }, { remove = \"X-C\" }]\n\
         response_fields = [{ remove = \"X-Powered-By\" }, { append = \"X-S\", value = \"rule\" }]\n\
         client_fields = [{ set = \"X-Client\", value = \"yes\" }, { append = \"X-S\", value = \"client\" }]\n",
    );
    let first = server.get("/f/one", &[("X-C", "secret"), ("X-A", "forged")]);
    assert_eq!(first.text(), "one more -");
    for _ in 0..4 {
        let answer = server.get("/f/one", &[]);
        assert!(answer.is_hit());
        assert_eq!(answer.all("x-s"), ["origin", "rule", "client"], "{}", answer.reason());
        assert_eq!((answer.field("x-client"), answer.field("x-powered-by")), (Some("yes"), None));
    }
    assert_eq!(first.all("x-s"), ["origin", "rule", "client"]);
    let stored = server.json(&["cache", "show", "/f/one"]).to_string();
    assert!(!stored.contains("X-Client") && !stored.contains("x-client"), "{stored}");
    let trace = server.json(&["trace"]).to_string();
    for code in ["request-fields", "response-fields", "client-fields"] {
        assert!(trace.contains(code), "{code}: {trace}");
    }
}

#[test]
fn fields_that_are_the_same_for_all_become_hot_and_others_do_not() {
    let origin = Origin::counting(&[("Cache-Control", "max-age=60"), ("ETag", "\"e\"")]);
    let text = "config = 1\n[hot]\nthreshold = 2\n[[site]]\ndefault = true\norigin = \"ORIGIN\"\n\
        [[site.rule]]\npath = \"/same/*\"\nclient_fields = [{ set = \"X-Host\", value = \"{host}\" }, { remove = \"Server\" }]\n\
        [[site.rule]]\npath = \"/each/*\"\nclient_fields = [{ set = \"X-Id\", value = \"{id}\" }]\n";
    let (server, _file) = Server::configured(&text.replace("ORIGIN", &origin.url), &[]);
    let hot = soon("a hot answer", || {
        let answer = server.get("/same/a", &[]);
        (answer.reason() == "fresh-hot").then_some(answer)
    });
    assert_eq!(hot.field("x-host"), Some("test"));
    let not_modified = server.get("/same/a", &[("If-None-Match", "\"e\"")]);
    assert_eq!((not_modified.status, not_modified.field("x-host")), (304, Some("test")));
    let mut ids = std::collections::HashSet::new();
    for _ in 0..6 {
        let answer = server.get("/each/a", &[]);
        assert_ne!(answer.reason(), "fresh-hot");
        assert!(ids.insert(answer.field("x-id").unwrap().to_string()), "each has its own");
    }
    let said = server.tell(&["explain", "/each/a"]);
    assert!(said.contains("hot-client-fields"), "{said}");
    assert!(server.tell(&["trace", ids.iter().next().unwrap()]).contains("/each/a"), "the id is the trace's");
}

#[test]
fn what_the_origin_varies_by_is_the_clients_field_though_it_is_changed() {
    let origin = Origin::new(|asked| {
        let language = asked.field("accept-language").unwrap_or("none").to_string();
        (200, own(&[("Cache-Control", "max-age=60"), ("Vary", "Accept-Language")]), language.into_bytes())
    });
    let rule = "request_fields = [{ set = \"Accept-Language\", value = \"en\" }]\n";
    let server = site(&origin, rule);
    assert_eq!(server.get("/", &[("Accept-Language", "de")]).text(), "en");
    assert!(server.get("/", &[("Accept-Language", "de")]).is_hit(), "and is found again");
}

#[test]
fn a_304_refreshes_what_the_rule_appended_to_once() {
    let origin = Origin::new(|asked| {
        let fields = own(&[("Cache-Control", "max-age=0"), ("ETag", "\"e\""), ("X-S", "origin")]);
        match asked.field("if-none-match") {
            // It repeats nothing of the rest (RFC 9110 §15.4.5).
            Some(_) => (304, own(&[("ETag", "\"e\"")]), vec![]),
            None => (200, fields, b"x".to_vec()),
        }
    });
    let server = site(&origin, "response_fields = [{ append = \"X-S\", value = \"rule\" }]\n");
    for _ in 0..4 {
        assert_eq!(server.get("/", &[]).all("x-s"), ["origin", "rule"]);
    }
}

#[test]
fn what_names_the_upstream_is_mapped_before_it_is_stored() {
    let origin = Origin::new(|asked| {
        let host = asked.field("host").unwrap_or("").to_string();
        let to = match asked.target() {
            "/base/own" => format!("http://{host}/base/x"),
            "/base/path" => "/base/y?z".to_string(),
            "/base/other" => "http://other.example/base/x".to_string(),
            // The address it is reached by, which it knows.
            _ => format!("http://127.0.0.1:{}/base/n", asked.field("x-port").unwrap_or("1")),
        };
        let mut fields =
            own(&[("Cache-Control", "max-age=60"), ("Set-Cookie", "s=1; Path=/base; Domain=inner.example")]);
        fields.push(("Location".into(), to));
        (302, fields, vec![])
    });
    let text = format!(
        "config = 1\n[[site]]\nname = \"a\"\nhosts = [\"a.example\"]\norigin = \"{0}/base\"\n\
         map_cookie_path = {{ \"/base\" = \"/\" }}\nmap_cookie_domain = {{ \"inner.example\" = \"a.example\" }}\n\
         request_fields = [{{ set = \"X-Port\", value = \"{1}\" }}]\n\
         [[site]]\nname = \"b\"\nhosts = [\"b.example\"]\norigin = \"{0}/base\"\nmap_location = false\n",
        origin.url, origin.port
    );
    let (server, _file) = Server::configured(&text, &[]);
    let to =
        |host: &str, path: &str| server.get(path, &[("Host", host)]).field("location").unwrap().to_string();
    assert_eq!(to("a.example", "/named"), "/n");
    assert_eq!(to("a.example", "/own"), "/x");
    assert_eq!(to("a.example", "/path"), "/y?z");
    assert_eq!(to("a.example", "/other"), "http://other.example/base/x");
    assert_eq!(to("b.example", "/path"), "/base/y?z");
    let cookie = server.get("/fresh", &[("Host", "a.example")]).field("set-cookie").map(str::to_string);
    assert_eq!(cookie.as_deref(), Some("s=1; Path=/; Domain=a.example"));
}

#[test]
fn error_pages_replace_the_body_and_nothing_else() {
    let origin = Origin::new(|asked| match asked.target() {
        "/errors/404" => (
            200,
            own(&[("Content-Type", "text/html"), ("Cache-Control", "max-age=60"), ("ETag", "\"p\"")]),
            b"<h1>not here</h1>".to_vec(),
        ),
        "/errors/gone" => (410, vec![], b"the page is gone itself".to_vec()),
        "/broken" => (500, vec![], b"stack trace".to_vec()),
        "/fine" => (200, vec![], b"fine".to_vec()),
        _ => (
            404,
            own(&[("Cache-Control", "max-age=30"), ("X-Why", "nothing"), ("Content-Type", "text/plain")]),
            b"no such thing".to_vec(),
        ),
    });
    let server = site(
        &origin,
        "error_pages = { \"404\" = \"/errors/404\", \"5xx\" = \"/errors/gone\" }\n\
         client_fields = [{ set = \"X-Client\", value = \"yes\" }]\n",
    );
    for _ in 0..3 {
        let answer = server.get("/none", &[]);
        assert_eq!((answer.status, answer.text().as_str()), (404, "<h1>not here</h1>"));
        assert_eq!(answer.field("content-type"), Some("text/html"));
        assert_eq!(
            answer.field("cache-control"),
            Some("max-age=30"),
            "how long it is kept is said of the error"
        );
        assert_eq!((answer.field("x-why"), answer.field("etag")), (Some("nothing"), None));
        assert_eq!(answer.field("x-client"), Some("yes"));
    }
    let head = server.connect().request("HEAD", "/none", &[], b"");
    assert_eq!((head.status, head.field("content-length"), head.body.len()), (404, Some("17"), 0));
    let post = server.connect().request("POST", "/none", &[], b"body");
    assert_eq!((post.status, post.text().as_str()), (404, "<h1>not here</h1>"));
    // A page that is an error itself does not take an error's place, and there is no circle.
    assert_eq!(server.get("/broken", &[]).text(), "stack trace");
    assert_eq!(server.get("/errors/gone", &[]).status, 410);
    assert_eq!(server.get("/fine", &[]).text(), "fine");
    let trace = server.json(&["trace"]).to_string();
    assert!(trace.contains("\"error-page\"") && trace.contains("error-page-failed"), "{trace}");
}

#[test]
fn error_pages_are_for_our_own_errors_too() {
    let folder = samovar_tests::server::Folder::new();
    folder.write("sorry.html", "<p>sorry</p>");
    folder.write("private/a.txt", "secret");
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = {:?}\nerror_pages = {{ \"4xx\" = \"/sorry.html\" }}\n\
         [[site.rule]]\npath = \"/private/**\"\nallow = [\"192.0.2.1\"]\n",
        folder.0.to_str().unwrap()
    );
    let (server, _file) = Server::configured(&text, &[]);
    for (path, status, reason) in [("/none", 404, "not-found"), ("/private/a.txt", 403, "address-denied")] {
        let answer = server.get(path, &[]);
        assert_eq!((answer.status, answer.text().as_str()), (status, "<p>sorry</p>"), "{path}");
        assert_eq!(answer.field("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        assert!(answer.reason().contains(reason), "{}", answer.reason());
    }
}

#[test]
fn rules_are_added_and_set_live() {
    let origin = telling(&[]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "id=moved", "path=/old/**", "rewrite=/new/{1}", "rate.requests=1000"]);
    assert_eq!(server.get("/old/x", &[]).text(), "/new/x");
    server.tell(&[
        "rule",
        "set",
        "moved",
        "rewrite=/newer/{1}",
        "client_fields={set=\"X-A\",value=\"{path}\"}",
        "error_pages.404=/sorry",
        "allow=127.0.0.0/8,::1",
    ]);
    let answer = server.get("/old/x", &[]);
    assert_eq!((answer.text().as_str(), answer.field("x-a")), ("/newer/x", Some("/old/x")));
    let listed = server.tell(&["rule", "list"]);
    assert!(listed.contains("127.0.0.0/8") && listed.contains("/sorry"), "{listed}");
    server.tell(&["rule", "set", "moved", "rewrite=", "redirect.to=/there/{1}"]);
    assert_eq!(server.get("/old/x", &[]).field("location"), Some("/there/x"));
    let refused = server.ask(&["rule", "set", "moved", "redirect.to=/there/{2}"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("{2} stands for nothing"), "{said}");
}

#[test]
fn stored_under_another_rewrite_is_not_used() {
    let origin = telling(&[("Cache-Control", "max-age=60")]);
    let server = Server::before(&origin.url, &[]);
    server.tell(&["rule", "add", "id=w", "path=/w/*", "rewrite=/one/{1}"]);
    for _ in 0..4 {
        assert_eq!(server.get("/w/x", &[]).text(), "/one/x");
    }
    server.tell(&["rule", "set", "w", "rewrite=/two/{1}"]);
    assert_eq!(server.get("/w/x", &[]).text(), "/two/x");
}
