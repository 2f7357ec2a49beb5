//! The tables about servers behind this one: `[[upstream]]` and its members.

use crate::config::format::Format;
use crate::config::kind::{Key, Kind, Table};

/// `[[upstream]]`.
pub(crate) static UPSTREAM: Table = Table {
    title: "[[upstream]]",
    text: "A server behind this one: HTTP with `members`, or a FastCGI application with `fastcgi`. Its limits hold for \
           the whole process.",
    groups: &[&[
        Key::new("name", Kind::Text(Format::Name), "Its name; sites and handlers refer to it.", "\"maps\""),
        Key::new(
            "members",
            Kind::Many(&Kind::Table(&MEMBER)),
            "HTTP servers that share the work. For now exactly one.",
            "[{ url = \"http://127.0.0.1:3000\" }]",
        )
        .absent("none"),
        Key::new(
            "fastcgi",
            Kind::Text(Format::Address),
            "Where a FastCGI application listens.",
            "\"unix:/run/php/php8.2-fpm.sock\"",
        )
        .absent("none"),
        Key::new(
            "host",
            Kind::Text(Format::Authority),
            "The Host that HTTP members are told.",
            "\"maps.internal\"",
        )
        .absent("the host of the request"),
        Key::new(
            "max_connections",
            Kind::Int(1, 100_000),
            "Connections at once; bodies that are still coming from clients hold half of them at most. A FastCGI application \
             must have as many processes.",
            "32",
        )
        .absent("256; 64 with `fastcgi`"),
        Key::new(
            "upgraded_max",
            Kind::Int(0, 100_000),
            "Of these connections, those that may have changed to another protocol (WebSocket), as they stay for long. One more \
             is answered with 503.",
            "1000",
        )
        .absent("half of `max_connections`"),
        Key::new("queue_max", Kind::Int(0, 1_000_000), "Requests that may wait for a connection.", "100")
            .or("1024"),
        Key::new("queue_timeout", Kind::Duration(1), "How long one waits.", "\"2s\"").or("\"10s\""),
        Key::new("connect_timeout", Kind::Duration(1), "How long connecting may take.", "\"500ms\"")
            .or("\"2s\""),
        Key::new("head_timeout", Kind::Duration(1), "How long until the answer begins.", "\"10s\"")
            .or("\"60s\""),
        Key::new(
            "body_timeout",
            Kind::Duration(1),
            "Longest pause between two pieces of an answer.",
            "\"10s\"",
        )
        .or("\"60s\""),
        Key::new(
            "abandon_after",
            Kind::Duration(0),
            "How much longer a fetch for the cache waits for an answer to begin when no client waits for it any more. A client \
             that closes counts for five seconds more: it may only have ended its sending side.",
            "\"0s\"",
        )
        .or("\"10s\""),
        Key::new("idle_timeout", Kind::Duration(1), "A connection unused this long is closed.", "\"5s\"")
            .or("\"55s\""),
        Key::new("head_max_bytes", Kind::Size(1024), "Largest head of an answer.", "\"128 KiB\"")
            .or("\"64 KiB\""),
    ]],
};

/// A member.
pub(crate) static MEMBER: Table = Table {
    title: "members = [{ … }]",
    text: "One of the servers of an upstream.",
    groups: &[&[
        Key::new("url", Kind::Text(Format::OriginUrl), "Where it listens.", "\"http://127.0.0.1:3000\""),
        Key::new("weight", Kind::Int(1, 1000), "Its share of the work beside the others.", "50").or("1"),
    ]],
};
