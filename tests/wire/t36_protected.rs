//! Addresses, rates and passwords: who is let in, and that nobody else sees what was meant for them.

use samovar_tests::origin::{Origin, own};
use samovar_tests::server::{Folder, Server, soon};

/// `ann` and `bob`, both with the password `myPassword`, bcrypt at its cheapest is left to the pure tests.
const USERS: &str = "ann:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=\nbob:$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/\n";

/// Basic credentials of `ann:myPassword`, `bob:myPassword`, `ann:wrong`.
const ANN: (&str, &str) = ("Authorization", "Basic YW5uOm15UGFzc3dvcmQ=");
const BOB: (&str, &str) = ("Authorization", "Basic Ym9iOm15UGFzc3dvcmQ=");
const WRONG: (&str, &str) = ("Authorization", "Basic YW5uOndyb25n");

/// An origin that wants to be cached by everyone, and tells whose credentials it saw.
fn careless() -> Origin {
    Origin::new(|asked| {
        let seen = asked.field("authorization").unwrap_or("none").to_string();
        let user = asked.field("x-user").unwrap_or("-").to_string();
        let fields = own(&[("Cache-Control", "public, max-age=60, s-maxage=60")]);
        (200, fields, format!("answer {} {seen} {user}", asked.number).into_bytes())
    })
}

struct Lab {
    server: Server,
    users: std::path::PathBuf,
    _folder: Folder,
}

fn lab(origin: &Origin, rules: &str) -> Lab {
    let folder = Folder::new();
    let users = folder.write("users", USERS);
    let text =
        format!("config = 1\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{}\"\n{rules}", origin.url)
            .replace("USERS", users.to_str().unwrap());
    Lab { server: Server::configured(&text, &[]).0, users, _folder: folder }
}

const STAFF: &str = "[[site.rule]]\npath = \"/staff/**\"\nfor = \"1h\"\nhot = { threshold = 1 }\n\
    basic_auth = { realm = \"Staff\", users = \"USERS\" }\n\
    request_fields = [{ set = \"X-User\", value = \"{user}\" }]\n";

#[test]
fn only_users_get_in_and_nothing_is_shared() {
    let origin = careless();
    let lab = lab(&origin, STAFF);
    let server = &lab.server;
    let asked = server.get("/staff/a", &[]);
    assert_eq!(asked.status, 401);
    assert_eq!(asked.field("www-authenticate"), Some("Basic realm=\"Staff\", charset=\"UTF-8\""));
    assert_eq!(
        (asked.reason().as_str(), asked.field("cache-control")),
        ("credentials-missing", Some("no-store"))
    );
    for bad in [WRONG, ("Authorization", "Bearer x"), ("Authorization", "Basic !!!")] {
        let refused = server.get("/staff/a", &[bad]);
        assert_eq!((refused.status, refused.reason().as_str()), (401, "credentials-wrong"));
    }
    assert_eq!(server.get("/staff/a", &[ANN, ANN]).status, 401, "two fields are nobody's");
    assert_eq!(origin.count(), 0, "the origin heard of none of it");
    for n in 0..6 {
        let (who, name) = if n % 2 == 0 { (ANN, "ann") } else { (BOB, "bob") };
        let answer = server.get("/staff/a", &[who]);
        assert_eq!((answer.status, answer.reason().as_str()), (200, "protected"));
        assert_eq!(answer.text(), format!("answer {n} none {name}"), "asked anew; the credentials stay here");
        assert_eq!(server.get("/staff/a", &[]).status, 401, "nothing stands ready for others");
    }
    let trace = server.json(&["trace"]).to_string();
    assert!(trace.contains("signed-in") && trace.contains("protected"), "{trace}");
    assert!(!trace.contains("myPassword") && !trace.contains("YW5uOm15UGFzc3dvcmQ"), "{trace}");
    assert!(!server.tell(&["cache", "list"]).contains("/staff/"));
    let said = server.tell(&["explain", "/staff/a"]);
    assert!(said.contains("checks-users") && said.contains("protected"), "{said}");
    assert!(server.get("/open", &[]).status == 200 && server.get("/open", &[]).is_hit());
}

#[test]
fn the_file_of_users_is_read_again_when_it_changes() {
    let origin = careless();
    let lab = lab(&origin, STAFF);
    assert_eq!(lab.server.get("/staff/a", &[ANN]).status, 200);
    std::fs::write(&lab.users, USERS.replace("ann:", "eve:")).unwrap();
    soon("ann is out", || (lab.server.get("/staff/a", &[ANN]).status == 401).then_some(()));
    assert_eq!(lab.server.get("/staff/a", &[BOB]).status, 200);
    std::fs::remove_file(&lab.users).unwrap();
    let gone =
        soon("nobody gets in", || Some(lab.server.get("/staff/a", &[BOB])).filter(|a| a.status != 200));
    assert_eq!((gone.status, gone.reason().as_str()), (500, "users-unreadable"));
}

#[test]
fn what_is_protected_is_shared_only_when_the_rule_says_so() {
    let origin = careless();
    let lab = lab(
        &origin,
        &format!("{STAFF}override = [\"protected\"]\n").replace("request_fields", "client_fields"),
    );
    let server = &lab.server;
    let first = server.get("/staff/a", &[ANN]);
    assert_eq!((first.status, first.field("x-user")), (200, Some("ann")));
    for _ in 0..5 {
        let answer = server.get("/staff/a", &[BOB]);
        assert!(
            answer.is_hit() && answer.reason() == "fresh",
            "shared, never hot: {}",
            answer.cache_status()
        );
        assert_eq!((answer.text(), answer.field("x-user")), (first.text(), Some("bob")));
        assert_eq!(server.get("/staff/a", &[]).status, 401, "and still only for users");
        assert_eq!(server.get("/staff/a", &[WRONG]).status, 401);
    }
    assert!(server.json(&["trace"]).to_string().contains("hot-gated"));
}

#[test]
fn credentials_are_passed_on_if_asked() {
    let origin = careless();
    let lab = lab(&origin, &STAFF.replace("realm = \"Staff\"", "pass = true"));
    assert_eq!(lab.server.get("/staff/a", &[ANN]).text(), format!("answer 0 {} ann", ANN.1));
}

#[test]
fn a_post_that_leaves_an_answer_for_gets_leaves_none_that_is_protected() {
    let origin = Origin::new(|asked| {
        let fields = own(&[("Cache-Control", "max-age=60"), ("Content-Location", "/staff/a")]);
        (200, fields, format!("answer {}", asked.number).into_bytes())
    });
    let lab = lab(&origin, STAFF);
    lab.server.connect().request("POST", "/staff/a", &[ANN], b"x");
    lab.server.connect().request("HEAD", "/staff/a", &[ANN], b"");
    assert!(!lab.server.tell(&["cache", "list"]).contains("/staff/"));
    assert!(!lab.server.get("/staff/a", &[ANN]).is_hit());
}

#[test]
fn addresses() {
    let origin = careless();
    let rules = "[[site.rule]]\npath = \"/in/**\"\nallow = [\"127.0.0.0/8\"]\ndeny = [\"0.0.0.0/0\"]\n\
        [[site.rule]]\npath = \"/out/**\"\nallow = [\"10.0.0.0/8\"]\n\
        [[site.rule]]\npath = \"/not/**\"\ndeny = [\"127.0.0.1\"]\n";
    let lab = lab(&origin, rules);
    let server = &lab.server;
    for _ in 0..4 {
        let answer = server.get("/in/a", &[]);
        assert_eq!((answer.status, answer.reason().as_str()), (200, "protected"), "never from the cache");
    }
    for path in ["/out/a", "/not/a", "/%6fut/a", "/x/../out/a"] {
        let answer = server.get(path, &[("X-Forwarded-For", "10.0.0.1")]);
        assert_eq!((answer.status, answer.reason().as_str()), (403, "address-denied"), "{path}");
    }
    assert_eq!(origin.count(), 4);
    let metrics = server.connect();
    drop(metrics);
    assert!(server.tell(&["explain", "/in/a"]).contains("allow 127.0.0.0/8; deny 0.0.0.0/0"));
}

#[test]
fn however_the_path_is_written_the_rule_that_protects_it_holds() {
    let origin = careless();
    let rules = "[[site.rule]]\npath = \"{/secret,/secret/**}\"\ndeny = [\"0.0.0.0/0\"]\n\
        [[site.rule]]\npath = \"/team@home/**\"\ndeny = [\"0.0.0.0/0\"]\n\
        [[site.rule]]\npath = \"/R&D/**\"\ndeny = [\"0.0.0.0/0\"]\n\
        [[site.rule]]\npath = \"/config.php\"\ndeny = [\"0.0.0.0/0\"]\n\
        [[site.rule]]\nextension = \".cgi\"\ndeny = [\"0.0.0.0/0\"]\n\
        [[site.rule]]\npath = \"/open/**\"\nfor = \"1h\"\n\
        [[site.rule]]\npath = \"/login.php\"\nrate = { requests = 1, per = \"1h\" }\n";
    let lab = lab(&origin, rules);
    for path in [
        "/secret",
        "/secret/x",
        "//secret/x",
        "/secret//x",
        "/x/..//secret/x",
        "/secret%2Fx",
        "/%2Fsecret/x",
        "/secret%5Cx",
        "/secret;v=1/x",
        "/team@home/x",
        "/team%40home/x",
        "/R&D/x",
        "/R%26D/x",
        "/config.php",
        "/config.php/",
        "/config.php/x",
        "/config.php//x",
        "/config.php%2Fx",
        "/config.php;x/y",
        "/a.cgi",
        "/a.cgi/",
        "/a.cgi/x.txt",
    ] {
        let answer = lab.server.get(path, &[]);
        assert_eq!((answer.status, answer.reason().as_str()), (403, "address-denied"), "{path}");
    }
    for path in ["/", "/open/x", "/open//x", "/secretx", "/config.phpx/y", "/open/config", "/x%20y"] {
        assert_eq!(lab.server.get(path, &[]).status, 200, "{path}");
    }
    let login = |path| lab.server.get(path, &[]).status;
    assert_eq!((login("/login.php/x"), login("/login.php/y"), login("/login.php")), (200, 429, 429));
    assert_eq!(origin.count(), 8);
    let said = lab.server.tell(&["explain", "/a.cgi/x"]);
    assert!(said.contains("rule-by-reading") || said.contains("may read the path"), "{said}");
}

#[test]
fn what_holds_for_the_whole_site_hides_no_rule_of_its_own() {
    let origin = careless();
    let rules = "allow = [\"127.0.0.0/8\"]\n[[site.rule]]\npath = \"/admin.php\"\nbasic_auth = { users = \"USERS\" }\n\
        [[site.rule]]\npath = \"/all.php\"\nallow = [\"0.0.0.0/0\"]\n";
    let lab = lab(&origin, rules);
    assert_eq!(lab.server.get("/x", &[]).status, 200);
    assert_eq!(lab.server.get("/admin.php/x", &[]).reason(), "credentials-missing");
    assert_eq!(lab.server.get("/admin.php/x", &[ANN]).status, 200);
    // Another reading never lets in more.
    let said = lab.server.tell(&["explain", "/all.php/x"]);
    assert!(said.contains("no-rule") || said.contains("no rule"), "{said}");
}

#[test]
fn files_and_scripts_are_protected_however_they_are_asked_for() {
    let folder = Folder::new();
    folder.write("secret/x.txt", "secret");
    folder.write("team@home/x.txt", "secret");
    folder.write("open/x.txt", "open");
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = {:?}\n[[site.rule]]\npath = \"/secret/**\"\n\
         deny = [\"0.0.0.0/0\"]\n[[site.rule]]\npath = \"/team@home/**\"\ndeny = [\"0.0.0.0/0\"]\n",
        folder.0.to_str().unwrap()
    );
    let (server, _file) = Server::configured(&text, &[]);
    for path in
        ["/secret/x.txt", "//secret/x.txt", "/secret//x.txt", "///secret///x.txt", "/team%40home/x.txt"]
    {
        assert_eq!(server.get(path, &[]).status, 403, "{path}");
    }
    assert_eq!(server.get("//open//x.txt", &[]).text(), "open");
}

#[test]
fn what_varies_by_who_asks_is_nobody_elses() {
    let origin = Origin::new(|asked| {
        let named = |name: &str| name.replace('_', "-").eq_ignore_ascii_case("x-user");
        let users: Vec<&str> =
            asked.fields.iter().filter(|(name, _)| named(name)).map(|(_, v)| v.as_str()).collect();
        let user = users.join("+");
        let fields = own(&[("Cache-Control", "max-age=60"), ("Vary", "X-User")]);
        (200, fields, user.into_bytes())
    });
    let rules = "[[site.rule]]\npath = \"/in/**\"\nbasic_auth = { users = \"USERS\" }\noverride = [\"protected\"]\n\
        request_fields = [{ set = \"X-User\", value = \"{user}\" }]\n\
        [[site.rule]]\npath = \"/by/**\"\nrequest_fields = [{ set = \"X-User\", value = \"{client}\" }]\n\
        [[site.rule]]\npath = \"/same/**\"\nrequest_fields = [{ set = \"X-User\", value = \"all\" }]\n";
    let lab = lab(&origin, rules);
    let got = |who| lab.server.get("/in/a", &[who]).text();
    assert_eq!((got(ANN), got(BOB), got(ANN)), ("ann".into(), "bob".into(), "ann".into()));
    assert!(lab.server.get("/in/a", &[ANN]).all("vary").contains(&"*"), "nor may others keep it");
    assert!(!lab.server.get("/by/a", &[]).is_hit() && !lab.server.get("/by/a", &[]).is_hit());
    assert!(!lab.server.get("/same/a", &[]).is_hit() && lab.server.get("/same/a", &[]).is_hit());
    // Applications that know fields as variables would take the client's own for ours.
    let answer = lab.server.get("/in/a", &[ANN, ("X_User", "root"), ("x_user", "root")]);
    assert_eq!(answer.text(), "ann");
}

#[test]
fn a_proxy_that_is_trusted_says_whose_address_it_is() {
    let origin = careless();
    let text = format!(
        "config = 1\n[server]\ntrusted_proxies = [\"127.0.0.1\"]\n[[site]]\ndefault = true\norigin = \"{}\"\n\
         allow = [\"10.0.0.0/8\"]\nrate = {{ requests = 1, per = \"1h\" }}\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    let from = |ip: &str| server.get("/", &[("X-Forwarded-For", ip)]).status;
    assert_eq!(
        (from("10.0.0.1"), from("11.0.0.1"), from("10.0.0.2"), from("10.0.0.1")),
        (200, 403, 200, 429)
    );
}

#[test]
fn rates_count_what_the_cache_answers_and_say_when_to_come_again() {
    let origin = careless();
    let rules = "[[site.rule]]\npath = \"/slow/**\"\nfor = \"1h\"\nhot = { threshold = 1 }\n\
        rate = { requests = 2, per = \"1h\", burst = 5 }\n\
        [[site.rule]]\npath = \"/key/**\"\nrate = { requests = 1, per = \"1h\", by = \"header:X-Api-Key\" }\n";
    let lab = lab(&origin, rules);
    let server = &lab.server;
    let mut client = server.connect();
    for n in 0..5 {
        let answer = client.get("/slow/a", &[]);
        assert_eq!(answer.status, 200, "{n}: {}", answer.cache_status());
        assert_ne!(answer.reason(), "fresh-hot", "the hot tier does not count");
    }
    let limited = client.get("/slow/a", &[]);
    assert_eq!((limited.status, limited.reason().as_str()), (429, "rate-limited"));
    let after: u64 = limited.field("retry-after").unwrap().parse().unwrap();
    assert!((1_700..=1_800).contains(&after), "{after} s");
    assert_eq!(origin.count(), 1);
    for (key, status) in [("a", 200), ("b", 200), ("a", 429), ("c", 200), ("b", 429)] {
        assert_eq!(server.get("/key/x", &[("X-Api-Key", key)]).status, status, "{key}");
    }
    // A reload forgets nothing.
    server.tell(&["reload"]);
    assert_eq!(server.get("/slow/a", &[]).status, 429);
    // Another rate is another count.
    server.tell(&["rule", "set", "r1", "rate.requests=50"]);
    assert_eq!(server.get("/slow/a", &[]).status, 200);
}

/// A key that is repeated, or written in another way, gets no fresh count.
#[test]
fn a_rate_by_key_is_not_evaded_by_repeating_the_key() {
    let origin = careless();
    let rules = "[[site.rule]]\npath = \"/query\"\nrate = { requests = 2, per = \"1h\", by = \"query:key\" }\n\
        [[site.rule]]\npath = \"/field\"\nrate = { requests = 2, per = \"1h\", by = \"header:X-Api-Key\" }\n\
        [[site.rule]]\npath = \"/cookie\"\nrate = { requests = 2, per = \"1h\", by = \"cookie:k\" }\n";
    let lab = lab(&origin, rules);
    let asked = |path: &str, fields: &[(&str, &str)]| lab.server.get(path, fields).status;
    let query: Vec<u16> = (0..4).map(|n| asked(&format!("/query?key=random{n}&key=real"), &[])).collect();
    assert_eq!(query, [200, 200, 429, 429]);
    let field: Vec<u16> = ["a", "b", "c", "d"]
        .map(|random| asked("/field", &[("X-Api-Key", random), ("X-Api-Key", "real")]))
        .into();
    assert_eq!(field, [200, 200, 429, 429]);
    let cookie: Vec<u16> =
        (0..4).map(|n| asked("/cookie", &[("Cookie", &format!("k={n}; k=real"))])).collect();
    assert_eq!(cookie, [200, 200, 429, 429]);
    // Whoever says one thing has a count of their own, however it is written.
    let spelt = ["key=real", "k%65y=real", "key=re%61l"].map(|query| asked(&format!("/query?{query}"), &[]));
    assert_eq!(spelt, [200, 200, 429]);
}

/// A site's rate is how often one client may ask the site, whatever rules it has.
#[test]
fn a_sites_rate_is_one_count_for_all_rules_that_have_none() {
    let origin = careless();
    let rules = "rate = { requests = 2, per = \"1h\" }\n\
        [[site.rule]]\npath = \"/a/**\"\n[[site.rule]]\npath = \"/b/**\"\n\
        [[site.rule]]\npath = \"/own/**\"\nrate = { requests = 2, per = \"1h\" }\n\
        [[site.rule]]\npath = \"/free/**\"\nrate = false\n";
    let lab = lab(&origin, rules);
    let asked = |path: &str| lab.server.get(path, &[]).status;
    assert_eq!(["/a/1", "/b/1", "/a/2", "/b/2", "/c"].map(asked), [200, 200, 429, 429, 429]);
    assert_eq!(["/own/1", "/own/2", "/own/3"].map(asked), [200, 200, 429]);
    assert_eq!(["/free/1", "/free/2", "/free/3"].map(asked), [200; 3]);
    let said = |path: &str| lab.server.tell(&["explain", path]);
    assert!(said("/a/1").contains("2 at once, by client for the whole site"), "{}", said("/a/1"));
    assert!(!said("/own/1").contains("whole site"), "{}", said("/own/1"));
}

#[test]
fn a_wrong_password_costs_no_core_and_a_flood_leaves_others_their_answers() {
    let origin = careless();
    let lab = lab(&origin, STAFF);
    // bcrypt of cost 12, which takes long enough to be waited for.
    std::fs::write(&lab.users, "ann:$2a$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW\n").unwrap();
    let server = &lab.server;
    std::thread::scope(|scope| {
        let flood: Vec<_> = (0..24)
            .map(|n| {
                scope.spawn(move || {
                    let wrong = format!(
                        "Basic {}",
                        ["YW5uOjE=", "YW5uOjI=", "YW5uOjM=", "YW5uOjQ=", "YW5uOjU=", "YW5uOjY="][n % 6]
                    );
                    server.get("/staff/a", &[("Authorization", &wrong)]).status
                })
            })
            .collect();
        for _ in 0..20 {
            let begun = std::time::Instant::now();
            assert_eq!(server.get("/open", &[]).status, 200);
            assert!(begun.elapsed() < std::time::Duration::from_secs(5), "others do not wait for passwords");
        }
        let answers: Vec<u16> = flood.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(answers.iter().all(|status| [401, 503].contains(status)), "{answers:?}");
        assert!(
            answers.contains(&401) && answers.contains(&503),
            "some are checked, not all wait: {answers:?}"
        );
    });
    assert_eq!(origin.asked().iter().filter(|asked| asked.target().starts_with("/staff")).count(), 0);
}

#[test]
fn the_file_of_users_is_never_served() {
    let folder = Folder::new();
    folder.write("a.txt", "a");
    let users = folder.write("users.txt", USERS);
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = {:?}\n[[site.rule]]\npath = \"/staff/**\"\n\
         basic_auth = {{ users = {:?} }}\n",
        folder.0.to_str().unwrap(),
        users.to_str().unwrap()
    );
    let (server, _file) = Server::configured(&text, &[]);
    assert_eq!(server.get("/a.txt", &[]).status, 200);
    assert_eq!(server.get("/users.txt", &[]).status, 404);
}
