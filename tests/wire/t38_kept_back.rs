//! What lies in a folder and is nobody's business; and folders that are not there.

use samovar_tests::server::{Folder, Server, run, soon};

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n";

/// A folder is served without a word of configuration, and what configures others lies in it.
#[test]
fn configurations_and_private_keys_in_a_served_folder_are_never_served() {
    let folder = Folder::new();
    folder.write("samovar.toml", "config = 1\n[[site]]\ndefault = true\nfiles = \".\"\n");
    folder.write("other.toml", "config = 1\n");
    folder.write("key.pem", KEY);
    folder.write("certificate.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    folder.write("a.txt", "a");
    let server = Server::start(&[folder.0.to_str().unwrap()]);
    for path in ["/samovar.toml", "/other.toml", "/key.pem"] {
        for _ in 0..3 {
            let answer = server.get(path, &[]);
            assert_eq!((answer.status, answer.reason().as_str()), (404, "file-hidden"), "{path}");
        }
    }
    assert_eq!(server.get("/certificate.pem", &[]).status, 200);
    assert_eq!(server.get("/a.txt", &[]).text(), "a");
}

/// `check` says that requests get an error page until the folder is there, and so it is; the other sites are served.
#[test]
fn a_missing_folder_is_an_error_page_until_it_is_there() {
    let folder = Folder::new();
    folder.write("there/a.txt", "there");
    let text = format!(
        "config = 1\n[[site]]\ndefault = true\nfiles = {:?}\n[[site]]\nhosts = [\"b.test\"]\nfiles = {:?}\n",
        folder.path("there"),
        folder.path("missing"),
    );
    let file = folder.write("s.toml", &text);
    let output = run(&["check", "--config", file.to_str().unwrap()]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && words.contains("until then requests get an error page"), "{words}");
    let (server, _file) = Server::configured(&text, &[]);
    let ask = |host| server.get("/a.txt", &[("Host", host)]);
    assert_eq!(ask("other.test").text(), "there");
    let gone = ask("b.test");
    assert_eq!((gone.status, gone.reason().as_str()), (500, "root-gone"));
    assert!(server.said().contains("does not exist"), "{}", server.said());
    folder.write("missing/a.txt", "found");
    soon("the folder is served", || (ask("b.test").text() == "found").then_some(()));
    assert!(server.tell(&["reload"]).contains("reloaded"));
}

#[test]
fn check_names_links_that_lead_out_of_the_folder() {
    let folder = Folder::new();
    folder.write("secret.txt", "secret");
    folder.write("www/a.txt", "a");
    std::os::unix::fs::symlink("../secret.txt", folder.path("www/out.txt")).unwrap();
    std::os::unix::fs::symlink("a.txt", folder.path("www/in.txt")).unwrap();
    let text = format!("config = 1\n[[site]]\ndefault = true\nfiles = {:?}\n", folder.path("www"));
    let file = folder.write("s.toml", &text);
    let output = run(&["check", "--config", file.to_str().unwrap()]);
    let words = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.success() && words.contains("a link in the folder leads out of it"), "{words}");
    assert!(words.contains("out.txt") && !words.contains("in.txt leads"), "{words}");
    let (server, _file) = Server::configured(&text, &[]);
    assert_eq!((server.get("/out.txt", &[]).status, server.get("/in.txt", &[]).status), (404, 200));
    assert!(!server.said().contains("leads out"), "whoever starts a server does not wait for the walk");
}
