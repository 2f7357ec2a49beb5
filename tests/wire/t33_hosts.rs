//! The host of a default site: the application is told the client's own, and made-up names cannot fill the cache.

use samovar_tests::origin::{Origin, own};
use samovar_tests::php::Fpm;
use samovar_tests::server::{Folder, Server};

/// An application that answers with the host it was told, as a redirect under `/old`, not at all under `/gone`.
fn tells_its_host() -> Origin {
    Origin::new(|asked| {
        let host = asked.field("host").unwrap_or("none").to_owned();
        let mut fields = own(&[("Cache-Control", "max-age=60")]);
        match asked.target() {
            "/old" => {
                fields.push(("Location".into(), format!("http://{host}/new")));
                (301, fields, Vec::new())
            }
            "/gone" => (404, fields, host.into_bytes()),
            _ => (200, fields, host.into_bytes()),
        }
    })
}

#[test]
fn the_application_is_told_the_clients_own_host() {
    let origin = tells_its_host();
    let server = Server::before(&origin.url, &[]);
    for _ in 0..4 {
        for host in [&*server.address, "shop.example", "shop.example:8080", "[::1]:81"] {
            let answer = server.get("/", &[("Host", host)]);
            assert_eq!(answer.text(), host, "port and all, and nobody gets another's");
        }
    }
    assert_eq!(origin.count(), 4, "each is kept under its own name");
    assert!(server.get("/", &[("Host", "SHOP.example.:80")]).is_hit(), "one name, however it is spelt");
    let address = server.address.clone();
    let moved = server.get("/old", &[("Host", &address)]);
    assert_eq!(moved.field("location"), Some(&*format!("http://{address}/new")), "it leads back to us");
    // A client of HTTP/1.0 need not say any.
    assert_eq!(server.connect().send("GET / HTTP/1.0\r\n\r\n").answer("GET").text(), "localhost");
    let limits = server.tell(&["limits"]);
    assert!(limits.contains("limits.learned_hosts"), "{limits}");
}

#[test]
fn a_written_canonical_host_holds() {
    let origin = tells_its_host();
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\ncanonical_host = \"www.example\"\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    for host in ["a.example", "b.example:81"] {
        assert_eq!(server.get("/", &[("Host", host)]).text(), "www.example");
    }
    assert_eq!(origin.count(), 1);
}

/// A site that has hosts of its own and takes all others too tells each as it came.
#[test]
fn a_named_default_site_passes_other_hosts_on() {
    let origin = tells_its_host();
    let text = format!(
        "config = 1\n[[site]]\nhosts = [\"shop.example\"]\ndefault = true\norigin = \"{}\"\n[limits]\nlearned_hosts = 0\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    for host in ["shop.example", "10.0.0.1:8080"] {
        assert_eq!(server.get("/", &[("Host", host)]).text(), host);
    }
    assert!(server.get("/", &[("Host", "shop.example")]).is_hit(), "a name of the site's own is not learned");
    assert_eq!(server.get("/", &[("Host", "10.0.0.1:8080")]).reason(), "host-not-learned");
}

#[test]
fn made_up_hosts_do_not_fill_the_cache() {
    let origin = tells_its_host();
    let text = format!(
        "config = 1\n[limits]\nlearned_hosts = 2\n[[site]]\ndefault = true\norigin = \"{}\"\n",
        origin.url
    );
    let (server, _file) = Server::configured(&text, &[]);
    // Neither redirects nor errors teach a name, though both have a lifetime.
    for path in ["/old", "/gone"] {
        for _ in 0..2 {
            let answer = server.get(path, &[("Host", "first.example")]);
            assert_eq!((answer.is_hit(), answer.reason()), (false, "host-not-learned".to_owned()), "{path}");
        }
    }
    for host in ["first.example", "second.example"] {
        server.get("/", &[("Host", host)]);
        assert!(server.get("/", &[("Host", host)]).is_hit(), "{host}");
    }
    // Once it is learned, they are kept as ever.
    server.get("/old", &[("Host", "first.example")]);
    assert!(server.get("/old", &[("Host", "first.example")]).is_hit());
    // The places are taken: others are served, never refused, and past the cache.
    for made_up in 0..5 {
        let host = format!("made-up-{made_up}.example");
        for _ in 0..3 {
            let answer = server.get("/", &[("Host", &host)]);
            assert_eq!((answer.status, answer.text()), (200, host.clone()));
            assert_eq!((answer.is_hit(), answer.reason()), (false, "host-not-learned".to_owned()));
        }
    }
    let stored = server.json(&["cache", "list"]);
    let urls: Vec<&str> = stored.as_array().unwrap().iter().filter_map(|e| e["url"].as_str()).collect();
    assert!(urls.len() == 3 && urls.iter().all(|url| !url.contains("made-up")), "{urls:?}");
    let said = server.json(&["explain", "http://made-up-1.example/"]);
    assert_eq!((&said["cache"], &said["reason"]), (&"pass".into(), &"host-not-learned".into()));
    assert_eq!(server.json(&["explain", "http://second.example/"])["cache"], "hit");
}

/// A bare path means the host that clients used last for `explain`, and every known host for what is taken out.
#[test]
fn a_bare_path_is_one_under_the_clients_hosts() {
    let origin = tells_its_host();
    let server = Server::before(&origin.url, &[]);
    for host in ["a.example", "b.example:81"] {
        server.get("/x/y", &[("Host", host)]);
    }
    let said = server.json(&["explain", "/x/y"]);
    assert_eq!((&said["url"], &said["cache"]), (&"http://b.example:81/x/y".into(), &"hit".into()));
    assert_eq!(server.json(&["cache", "show", "/x/y"]).as_array().unwrap().len(), 2);
    assert_eq!(server.json(&["cache", "purge", "/x/y"])["entries"], 2);
    for host in ["a.example", "b.example:81"] {
        assert!(!server.get("/x/y", &[("Host", host)]).is_hit());
    }
    assert_eq!(server.json(&["cache", "purge", "--prefix", "/x/"])["entries"], 2);
    server.get("/x/y", &[("Host", "a.example")]);
    assert_eq!(server.json(&["cache", "purge", "http://a.example/x/y"])["entries"], 1);
}

/// Behind FastCGI too, where an application installs itself under the host it is told; files have one name.
#[test]
fn php_is_told_the_clients_own_host() {
    let folder = Folder::new();
    folder.write(
        "index.php",
        "<?php echo $_SERVER['HTTP_HOST'], ' ', $_SERVER['SERVER_NAME'], ' ', $_SERVER['SERVER_PORT'];",
    );
    folder.write("style.css", "body{}");
    let fpm = Fpm::start(&folder.0, 1);
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nindex = [\"index.php\"]\n\
         handlers = [{{ extension = \".php\", fastcgi = \"unix:{}\" }}]\nfiles = \"{}\"\n",
        fpm.socket.display(),
        folder.0.display()
    );
    let (server, _file) = Server::configured(&text, &["--access-log", "off"]);
    assert_eq!(
        server.get("/", &[("Host", "blog.example:8080")]).text(),
        "blog.example:8080 blog.example 8080"
    );
    let files = Server::start(&[folder.path("style.css").parent().unwrap().to_str().unwrap()]);
    files.get("/style.css", &[("Host", "a.example")]);
    assert!(
        files.get("/style.css", &[("Host", "b.example")]).is_hit(),
        "a file is the same under every name"
    );
}
