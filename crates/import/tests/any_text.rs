//! Any text is told in TOML or refused with its place, without a panic; and what fuzzing began with, once more.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test reads the corpus, and may stop at its first surprise"
)]

use proptest::prelude::*;
use samovar_import::{Ask, Fate, File, Imported, Options, Refused, Source, import};

const SOURCES: [Source; 3] = [Source::Iis, Source::Apache, Source::Nginx];

fn told(source: Source, text: &[u8], other: &[u8]) -> Result<Imported, Refused> {
    let file = File { name: "main.conf".into(), bytes: text.to_vec() };
    let other = File { name: "other.conf".into(), bytes: other.to_vec() };
    let mut read = |ask: &Ask<'_>| match ask.pattern {
        "other.conf" => Ok(vec![other.clone()]),
        _ => Err("there is none".to_owned()),
    };
    let result = import(source, &file, &Options::default(), &mut read);
    match &result {
        Ok(imported) => {
            let table = imported.toml.parse::<toml::Table>();
            assert!(table.is_ok(), "{}\n{:?}", imported.toml, table.err());
        }
        Err(refused) => assert!(refused.to_string().contains(".conf:"), "{refused}"),
    }
    result
}

#[test]
fn the_corpus_is_told_or_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/import");
    let (mut read, mut refused) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let Some((first, rest)) = bytes.split_first() else { continue };
        let mut parts = rest.splitn(2, |byte| *byte == 0x1e);
        let source = *SOURCES.get(usize::from(first % 3)).unwrap();
        match told(source, parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(read >= 6 && refused >= 2, "{read} read, {refused} refused");
}

/// Words that mean something to one of the three, put together at random.
fn soup(source: Source) -> impl Strategy<Value = String> {
    let words: &'static [&'static str] = match source {
        Source::Iis => &[
            "<configuration>",
            "</configuration>",
            "<system.webServer>",
            "</system.webServer>",
            "<caching>",
            "</caching>",
            "<profiles>",
            "</profiles>",
            "<add extension=\"*\" policy=\"CacheUntilChange\"/>",
            "<location path=\"a/b\">",
            "</location>",
            "<handlers>",
            "</handlers>",
            "<add path=\"*.php\" modules=\"FastCgiModule\"/>",
            "<clear/>",
            "&amp;",
        ],
        Source::Apache => &[
            "<Location /a>\n",
            "</Location>\n",
            "<VirtualHost *:80>\n",
            "</VirtualHost>\n",
            "ServerName a.b\n",
            "CacheEnable disk /\n",
            "CacheStorePrivate On\n",
            "ProxyPass /a http://b:1/c\n",
            "ProxyPass ! \n",
            "<Proxy balancer://x>\n",
            "</Proxy>\n",
            "BalancerMember http://m:1 route=a\n",
            "Require ip 10\n",
            "Deny from all\n",
            "Header set A \"b\"\n",
            "\\\n",
            "\"",
            "é\u{202e}",
        ],
        Source::Nginx => &[
            "http {",
            "server {",
            "location / {",
            "location ~ \\.php$ {",
            "}",
            "proxy_pass http://a/b;",
            "proxy_cache x;",
            "proxy_cache_valid 200 1m;",
            "upstream a {",
            "server b:1;",
            "deny all;",
            "allow 1.2.3.4;",
            "if ($a) {",
            "return 301 /x;",
            "try_files $uri @x;",
            "location @x {",
            "listen 443 ssl;",
            "server_name a.b;",
            "'",
            "\\",
            "#\n",
            "é\u{202e}",
        ],
    };
    proptest::collection::vec(proptest::sample::select(words), 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), which in 0usize..3) {
        let _ = told(*SOURCES.get(which).unwrap(), &bytes, &bytes);
    }

    #[test]
    fn words_of_iis(text in soup(Source::Iis)) {
        let _ = told(Source::Iis, text.as_bytes(), b"");
    }

    #[test]
    fn words_of_httpd(text in soup(Source::Apache), other in soup(Source::Apache)) {
        let _ = told(Source::Apache, text.as_bytes(), other.as_bytes());
    }

    #[test]
    fn words_of_nginx(text in soup(Source::Nginx), other in soup(Source::Nginx)) {
        let _ = told(Source::Nginx, text.as_bytes(), other.as_bytes());
    }

    /// What a file holds can neither end a comment nor write a key of its own.
    #[test]
    fn no_text_writes_a_line_of_its_own(text in "[ -~\r\u{85}\u{2028}\u{202e}é]{0,60}") {
        let quoted = text.replace(['"', '\\', '&', '<'], "");
        for (source, whole) in [
            (Source::Apache, format!("ServerAdmin \"{quoted}\"\nHeader set X-A \"{quoted}\"\n")),
            (Source::Nginx, format!("server {{ add_header X-A \"{quoted}\"; what \"{quoted}\"; }}")),
            (Source::Iis, format!("<configuration><what a=\"{quoted}\"/></configuration>")),
        ] {
            let Ok(imported) = told(source, whole.as_bytes(), b"") else { continue };
            let table: toml::Table = imported.toml.parse().unwrap();
            prop_assert!(table.keys().all(|key| ["config", "site"].contains(&key.as_str())), "{}", imported.toml);
            prop_assert!(imported.notes.iter().all(|note| !note.to_string().chars().any(char::is_control)));
        }
    }
}

#[test]
fn what_grows_by_itself_is_bounded() {
    let define = "Define A xxxxxxxxxxxxxxxx\n".to_owned()
        + &(0..40).map(|n| format!("Define A{n} ${{A{}}}${{A{}}}\n", n - 1, n - 1)).collect::<String>();
    assert!(told(Source::Apache, define.as_bytes(), b"").is_ok());
    let many: String =
        (0..3000).map(|n| format!("<Location /p{n}>\nRequire ip 10.0.0.1\n</Location>\n")).collect();
    let refused = told(Source::Apache, many.as_bytes(), b"").unwrap_err();
    assert!(refused.what.contains("rules"), "{refused}");
    let many: String = (0..30_000).map(|n| format!("a{n} b;\n")).collect();
    assert!(told(Source::Nginx, many.as_bytes(), b"").unwrap_err().what.contains("20000"));
    let profiles: String =
        (0..2000).map(|n| format!("<add extension=\".e{n}\" policy=\"CacheUntilChange\"/>")).collect();
    let text = format!(
        "<configuration><system.webServer><caching><profiles>{profiles}</profiles></caching></system.webServer></configuration>"
    );
    assert!(told(Source::Iis, text.as_bytes(), b"").is_err());
}

#[test]
fn utf16_of_windows_is_read() {
    let text = "<?xml version=\"1.0\"?><configuration><system.webServer><directoryBrowse enabled=\"true\"/></system.webServer></configuration>";
    let bytes: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert!(told(Source::Iis, &bytes, b"").unwrap().toml.contains("listing = true"));
}

/// A table: a line of a source, and a line that must stand in the new file.
#[test]
fn lines_and_what_becomes_of_them() {
    let iis =
        |inner: &str| format!("<configuration><system.webServer>{inner}</system.webServer></configuration>");
    let apache = |inner: &str| format!("DocumentRoot /srv/www\nCacheEnable disk /\n{inner}\n");
    let nginx = |inner: &str| format!("server {{ root /srv/www; {inner} }}");
    let rows: [(Source, String, &str); 30] = [
        (Source::Iis, iis("<caching maxCacheSize=\"64\"/>"), "size = \"64 MiB\""),
        (Source::Iis, iis("<caching enabled=\"false\"/>"), "cache = false"),
        (Source::Iis, iis("<caching enableKernelCache=\"false\"/>"), "hot = false"),
        (
            Source::Iis,
            iis("<staticContent><mimeMap fileExtension=\".x\" mimeType=\"a/b\"/></staticContent>"),
            "types = { \".x\" = \"a/b\" }",
        ),
        (
            Source::Iis,
            iis(
                "<staticContent><clientCache cacheControlMode=\"UseMaxAge\" cacheControlMaxAge=\"7.00:00:00\"/></staticContent>",
            ),
            "client_cache_control = \"max-age=604800\"",
        ),
        (
            Source::Iis,
            iis("<urlCompression doStaticCompression=\"false\" doDynamicCompression=\"false\"/>"),
            "compress = false",
        ),
        (
            Source::Iis,
            iis(
                "<httpProtocol><customHeaders><remove name=\"X-Powered-By\"/></customHeaders></httpProtocol>",
            ),
            "drop_fields = [\"X-Powered-By\"]",
        ),
        (
            Source::Iis,
            iis("<httpProtocol><customHeaders><add name=\"A\" value=\"b\"/></customHeaders></httpProtocol>"),
            "response_fields = [{ set = \"A\", value = \"b\" }]",
        ),
        (
            Source::Iis,
            iis("<caching><profiles><add extension=\"*\" policy=\"DisableCache\"/></profiles></caching>"),
            "never = true",
        ),
        (
            Source::Iis,
            iis(
                "<caching><profiles><add extension=\".a\" policy=\"CacheForTimePeriod\" location=\"Any\"/></profiles></caching>",
            ),
            "client_cache_control = \"public, max-age=30\"",
        ),
        (Source::Apache, apache("CacheDisable /app"), "path = \"/app/**\""),
        (Source::Apache, apache("CacheIgnoreHeaders Set-Cookie"), "set_cookie = \"strip\""),
        (Source::Apache, apache("CacheMaxExpire 60"), "heuristic_max = \"1m\""),
        (Source::Apache, apache("MCacheSize 102400"), "size = \"100 MiB\""),
        (
            Source::Apache,
            apache("ExpiresActive On\nExpiresByType image/png \"access plus 1 hour\""),
            "client_cache_control = \"max-age=3600\"",
        ),
        (
            Source::Apache,
            apache("AddOutputFilterByType DEFLATE text/html"),
            "compress = { types = [\"text/html\"] }",
        ),
        (Source::Apache, apache("DirectoryIndex a.php b.html"), "index = [\"a.php\", \"b.html\"]"),
        (
            Source::Apache,
            apache("Redirect permanent /old https://x.example/new"),
            "redirect = { to = \"https://x.example/new\", status = 301 }",
        ),
        (Source::Apache, apache("<Location /p>\nRequire ip 10.1\n</Location>"), "allow = [\"10.1.0.0/16\"]"),
        (Source::Apache, apache("ProxyPass /a http://b.example:81/c"), "rewrite = \"/c/{1}\""),
        (Source::Apache, apache("ProxyPass /a http://b.example:81/a"), "members = ["),
        (
            Source::Apache,
            apache(
                "<Proxy balancer://x>\nBalancerMember http://a.example\nProxySet stickysession=SID|sid\n</Proxy>\nProxyPass /a balancer://x/a",
            ),
            "sticky = { cookie = \"SID\", query = \"sid\" }",
        ),
        (Source::Nginx, nginx("location /a/ { proxy_pass http://b.example/c/; }"), "rewrite = \"/c/{1}\""),
        (Source::Nginx, nginx("location /a/ { proxy_pass http://b.example; }"), "host = \"b.example\""),
        (Source::Nginx, nginx("autoindex on;"), "listing = true"),
        (Source::Nginx, nginx("allow 10.0.0.0/8; deny all;"), "deny = [\"0.0.0.0/0\", \"::/0\"]"),
        (Source::Nginx, nginx("error_page 404 /404.html;"), "error_pages = { 404 = \"/404.html\" }"),
        (Source::Nginx, nginx("location /a/ { expires 1h; }"), "client_cache_control = \"max-age=3600\""),
        (Source::Nginx, nginx("client_max_body_size 0;"), "body_max_bytes = \"unlimited\""),
        (Source::Nginx, nginx("gzip_static on;"), "precompressed = true"),
    ];
    for (source, text, wanted) in rows {
        let imported = told(source, text.as_bytes(), b"").unwrap();
        assert!(imported.toml.contains(wanted), "{text}\nwanted {wanted}\n{}", imported.toml);
    }
}

#[test]
fn several_servers_become_several_sites() {
    let text = "Listen 80\nListen 8080\nDocumentRoot /srv/all\n<VirtualHost *:80>\nServerName a.example\nServerAlias *.a.example\n</VirtualHost>\n\
                <VirtualHost *:8080>\nServerName b.example\nDocumentRoot /srv/b\n</VirtualHost>\n";
    let imported = told(Source::Apache, text.as_bytes(), b"").unwrap();
    let table: toml::Table = imported.toml.parse().unwrap();
    let sites = table.get("site").unwrap().as_array().unwrap();
    let of =
        |at: usize, key: &str| sites.get(at).unwrap().get(key).map(ToString::to_string).unwrap_or_default();
    assert_eq!((of(0, "files"), of(0, "ports")), ("\"/srv/all\"".to_owned(), "[80]".to_owned()));
    assert_eq!((of(1, "files"), of(1, "ports")), ("\"/srv/b\"".to_owned(), "[8080]".to_owned()));
    assert_eq!(of(0, "hosts"), "[\"a.example\", \"*.a.example\"]");
    assert!(imported.notes.iter().all(|note| note.fate == Fate::Carried), "{:?}", imported.notes);
}
