//! Bodies of requests: on their way as they come, within limits that are said before a byte is read where that can be.

use samovar_tests::client::Client;
use samovar_tests::origin::Origin;
use samovar_tests::php::Fpm;
use samovar_tests::raw::{Upstream, connect, read_exactly, read_head};
use samovar_tests::server::{Folder, Server, run, soon};
use std::io::Write;

fn limited(origin: &str) -> (Server, std::path::PathBuf) {
    let text = format!(
        "config = 1\n[limits]\nbody_max_bytes = \"1 MiB\"\n[[site]]\nname = \"a\"\ndefault = true\norigin = \"{origin}\"\n\
         body_max_bytes = 1000\n[[site.rule]]\npath = \"/small/**\"\nbody_max_bytes = 10\n\
         [[site.rule]]\npath = \"/large/**\"\nbody_max_bytes = \"unlimited\"\n\
         [[site.rule]]\npath = \"/none/**\"\nbody_max_bytes = 0\n"
    );
    Server::configured(&text, &[])
}

/// RFC 9112 §9.3: whether the connection goes on after a response that came without the content having been read must not
/// hang on the tier, on when the content came, or on how large it is.
#[test]
fn a_response_that_leaves_content_unread_says_that_the_connection_ends() {
    let folder = Folder::new();
    folder.write("files/a.txt", "hello");
    for hot in ["true", "false", "{ threshold = 1 }"] {
        let files = folder.path("files");
        let text = format!(
            "config = 1\n[[site]]\nname = \"a\"\ndefault = true\nfiles = {files:?}\nhot = {hot}\n[[site.rule]]\n\
             path = \"/away\"\nredirect = {{ to = \"/a.txt\", status = 307 }}\n"
        );
        let (server, _file) = Server::configured(&text, &[]);
        for _ in 0..3 {
            server.get("/a.txt", &[]);
        }
        for (method, path, status) in [
            ("HEAD", "/missing", 404),
            ("GET", "/missing", 404),
            ("POST", "/missing", 405),
            ("HEAD", "/a.txt", 200),
            ("GET", "/a.txt", 200),
            ("POST", "/away", 307),
        ] {
            for bytes in [1, 5, 40_000] {
                for (before, after) in [(0, 0), (0, bytes), (bytes, 0)] {
                    let mut client = server.connect();
                    client.send(format!(
                        "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {bytes}\r\n\r\n"
                    ));
                    client.send(vec![b'x'; before]);
                    let answer = client.answer(method);
                    client.send(vec![b'x'; after]).send("GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n");
                    let case = format!("{method} {path}, {before} of {bytes} bytes before, hot = {hot}");
                    assert_eq!(
                        (answer.status, answer.field("connection")),
                        (status, Some("close")),
                        "{case}"
                    );
                    assert!(client.is_closed(), "{case}");
                }
            }
            // Without content the connection goes on, whatever the response.
            let mut client = server.connect();
            for _ in 0..2 {
                assert_eq!(client.request(method, path, &[], b"").status, status, "{method} {path}");
            }
        }
    }
}

#[test]
fn each_path_has_its_limit() {
    let origin = Origin::new(|asked| (200, vec![], asked.body.len().to_string().into_bytes()));
    let (server, _file) = limited(&origin.url);
    for (path, bytes, status, reason) in [
        ("/small/x", 10, 200, ""),
        ("/small/x", 11, 413, "body-too-large-here"),
        ("/x", 1_000, 200, ""),
        ("/x", 1_001, 413, "body-too-large-here"),
        ("/none/x", 1, 413, "body-too-large-here"),
        ("/large/x", 1 << 20, 200, ""),
        ("/large/x", (1 << 20) + 1, 413, "body-too-large"),
    ] {
        let before = origin.count();
        let body = vec![b'x'; bytes];
        let answer = server.connect().request("POST", path, &[], &body);
        assert_eq!(answer.status, status, "{path} {bytes}: {}", answer.text());
        if status == 200 {
            assert_eq!(answer.text(), bytes.to_string());
        } else {
            assert_eq!(answer.reason(), reason, "{path} {bytes}");
            assert_eq!(origin.count(), before, "the origin has not heard of it");
        }
        // The same without a length, in small pieces.
        let mut client = server.connect();
        client.send(format!("POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
        for piece in body.chunks(4_000) {
            client.send(format!("{:x}\r\n", piece.len())).send(piece).send("\r\n");
        }
        client.send("0\r\n\r\n");
        let answer = client.answer("POST");
        assert_eq!(answer.status, status, "{path} {bytes} in chunks: {}", answer.text());
        if status == 413 {
            assert_eq!(answer.reason(), reason, "{path} {bytes} in chunks");
            assert!(client.is_closed());
        } else {
            assert_eq!(client.get("/x", &[]).status, 200, "the connection goes on");
        }
    }
    // A GET has none, and is not asked for one.
    assert_eq!(server.get("/none/x", &[]).status, 200);
}

/// Who asks first is told no before anything is sent; the connection ends, as nobody knows what comes next.
#[test]
fn an_announced_body_is_refused_before_it_is_read() {
    let origin = Origin::counting(&[]);
    let (server, _file) = limited(&origin.url);
    let mut client = Client::connect(&server.address);
    client.send("POST /small/x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n");
    let answer = client.one("POST").unwrap();
    assert_eq!((answer.status, answer.reason().as_str()), (413, "body-too-large-here"), "{}", answer.text());
    assert!(answer.text().contains("10 bytes"), "{}", answer.text());
    assert_eq!(answer.field("connection"), Some("close"));
    assert!(client.is_closed());
    let mut client = Client::connect(&server.address);
    client.send("POST /small/x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
    assert_eq!(client.one("POST").unwrap().status, 100);
    client.send("0123456789");
    assert_eq!(client.one("POST").unwrap().status, 200);
    assert_eq!(origin.count(), 1);
    let told = soon("its record", || {
        let told = server.json(&["trace", "--reason", "body-too-large-here"]);
        (!told.as_array().unwrap().is_empty()).then_some(told)
    });
    assert_eq!(told[0]["status"], 413);
}

/// The upstream reads each piece before the next is sent.
#[test]
fn a_body_is_passed_on_as_it_comes() {
    let upstream = Upstream::new(|head, mut stream| {
        if !head.starts_with("POST") {
            return;
        }
        let chunked = head.contains("chunked");
        for n in 0..3 {
            let piece = if chunked { format!("6\r\npiece{n}\r\n") } else { format!("piece{n}") };
            assert_eq!(read_exactly(&mut stream, piece.len()), piece);
            stream.write_all(format!("HTTP/1.1 102 Processing\r\nX-N: {n}\r\n\r\n").as_bytes()).unwrap();
        }
        if chunked {
            assert_eq!(read_exactly(&mut stream, 5), "0\r\n\r\n");
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    });
    let server = Server::before(&upstream.url, &[]);
    for framing in ["Content-Length: 18", "Transfer-Encoding: chunked"] {
        let chunked = framing.contains("chunked");
        let mut client = connect(&server.address);
        client.write_all(format!("POST / HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n").as_bytes()).unwrap();
        for n in 0..3 {
            let piece = if chunked { format!("6\r\npiece{n}\r\n") } else { format!("piece{n}") };
            client.write_all(piece.as_bytes()).unwrap();
            // The upstream's word that it has read this one: only then is there more.
            let interim = read_head(&mut client);
            assert!(
                interim.starts_with("HTTP/1.1 102 ") && interim.to_lowercase().contains(&format!("x-n: {n}")),
                "{interim}"
            );
        }
        if chunked {
            client.write_all(b"0\r\n\r\n").unwrap();
        }
        assert!(read_head(&mut client).starts_with("HTTP/1.1 200 "));
        assert_eq!(read_exactly(&mut client, 2), "ok");
    }
}

/// PHP is told the length before it starts; the limit holds there too, in either framing.
#[test]
fn before_php() {
    let folder = Folder::new();
    folder.write("len.php", "<?php echo strlen(file_get_contents('php://input'));");
    let fpm = Fpm::start(&folder.0, 2);
    let text = format!(
        "config = 1\n[[site]]\nname = \"php\"\ndefault = true\nbody_max_bytes = 2000000\n\
         handlers = [{{ extension = \".php\", fastcgi = \"unix:{}\" }}]\nfiles = \"{}\"\n",
        fpm.socket.display(),
        folder.0.display()
    );
    let (server, _file) = Server::configured(&text, &[]);
    assert_eq!(server.connect().request("POST", "/len.php", &[], &vec![1; 2_000_000]).text(), "2000000");
    assert_eq!(server.connect().request("POST", "/len.php", &[], &vec![1; 2_000_001]).status, 413);
    let mut client = server.connect();
    client.send(
        "POST /len.php HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    );
    assert_eq!(client.answer("POST").text(), "5");
    // Too long to hold without a length, though not beyond the limit.
    client.send("POST /len.php HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..15 {
        client.send(format!("{:x}\r\n{}\r\n", 100_000, "x".repeat(100_000)));
    }
    client.send("0\r\n\r\n");
    let answer = client.answer("POST");
    assert_eq!((answer.status, answer.reason().as_str()), (411, "length-required"), "{}", answer.text());
}

#[test]
fn a_limit_above_the_servers_own_is_a_warning() {
    let folder = Folder::new();
    let text = "config = 1\n[limits]\nbody_max_bytes = \"1 MiB\"\n[[site]]\nname = \"a\"\ndefault = true\n\
                origin = \"http://127.0.0.1:1\"\n[[site.rule]]\npath = \"/up/**\"\nbody_max_bytes = \"2 MiB\"\n";
    let file = folder.write("samovar.toml", text);
    let output = run(&["check", "--config", file.to_str().unwrap()]);
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success() && said.contains(":10:") && said.contains("limits.body_max_bytes"),
        "{said}"
    );
}
