//! Which request gets which answer, and how an answer looks on the wire.
//!
//! The pictures say nothing about caching, as most handlers do not: no Cache-Control, no validator but the moment
//! they were drawn. `/account` is its opposite, an answer no cache may keep. Not here: sockets (`serve`).

use crate::request::Request;
use crate::studio::Studio;
use std::fmt::Write as _;
use std::time::SystemTime;

/// An answer before it is written.
pub(crate) struct Reply {
    status: u16,
    content_type: &'static str,
    fields: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Reply {
    /// A short page of text.
    pub(crate) fn text(status: u16, words: &str) -> Reply {
        Reply {
            status,
            content_type: "text/plain; charset=utf-8",
            fields: Vec::new(),
            body: format!("{words}\n").into_bytes(),
        }
    }

    /// Head and, unless the request was HEAD, body.
    pub(crate) fn into_bytes(self, head_only: bool, keep_alive: bool, now: SystemTime) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
            self.status,
            phrase(self.status),
            httpdate::fmt_http_date(now),
            self.content_type,
            self.body.len()
        );
        for (name, value) in &self.fields {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str(if keep_alive { "\r\n" } else { "Connection: close\r\n\r\n" });
        let mut bytes = head.into_bytes();
        if !head_only {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

/// The answer to a request.
pub(crate) fn answer(request: &Request, studio: &Studio, now: SystemTime) -> Reply {
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        let mut reply = Reply::text(405, "only GET and HEAD are served here");
        reply.fields.push(("Allow", "GET, HEAD".into()));
        return reply;
    }
    match request.path.as_str() {
        "/" => redirect("/pictures/"),
        "/pictures" => redirect("/pictures/"),
        "/pictures/" => index(studio),
        "/account" => account(),
        "/healthz" => Reply::text(200, "ok"),
        path => match path.strip_prefix("/pictures/").and_then(|p| p.strip_suffix(".jpg")) {
            Some(name) => picture(name, request, studio, now),
            None => Reply::text(404, "no such page"),
        },
    }
}

fn picture(name: &str, request: &Request, studio: &Studio, now: SystemTime) -> Reply {
    match studio.lettered(name, request.language) {
        None => Reply::text(404, "no such picture; /pictures/ lists them"),
        Some(Err(trouble)) => Reply::text(503, &trouble),
        Some(Ok(body)) => Reply {
            status: 200,
            content_type: "image/jpeg",
            // Drawn for this request, so modified now: true, and of no use to a cache that guesses lifetimes.
            fields: vec![
                ("Last-Modified", httpdate::fmt_http_date(now)),
                ("Content-Language", request.language.tag().into()),
            ],
            body,
        },
    }
}

fn account() -> Reply {
    let body = "<!doctype html><title>Account</title><p>Hello, visitor. This page is yours alone.\n".into();
    let fields =
        vec![("Cache-Control", "private".into()), ("Set-Cookie", "visitor=1; HttpOnly; SameSite=Lax".into())];
    Reply { status: 200, content_type: "text/html; charset=utf-8", fields, body }
}

fn index(studio: &Studio) -> Reply {
    let mut page = String::from(
        "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\n\
         <title>Pictures</title>\n<style>body{font:16px system-ui;margin:2rem;background:#181a1f;color:#eee}\
         ul{display:grid;grid-template-columns:repeat(auto-fill,minmax(18rem,1fr));gap:1rem;padding:0}\
         li{list-style:none}img{width:100%;border-radius:6px}a{color:#ffd60a;text-decoration:none}</style>\n\
         <h1>Pictures</h1>\n<ul>\n",
    );
    for picture in studio.pictures() {
        let name = &picture.name;
        let _ = writeln!(
            page,
            "<li><a href=\"{name}.jpg\"><img src=\"{name}.jpg\" alt=\"{name}\" loading=lazy>{name}</a> {} KB",
            picture.jpeg.len() / 1000
        );
    }
    page.push_str("</ul>\n</html>\n");
    Reply {
        status: 200,
        content_type: "text/html; charset=utf-8",
        fields: Vec::new(),
        body: page.into_bytes(),
    }
}

fn redirect(to: &str) -> Reply {
    let mut reply = Reply::text(301, to);
    reply.fields.push(("Location", to.into()));
    reply
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    }
}
