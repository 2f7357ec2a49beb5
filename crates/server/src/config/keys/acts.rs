//! What a rule does beside caching, and a site for all it has no rule for: whom it lets in, where it sends a request,
//! which fields and pages it changes. How they work together: docs/rules.md.

use crate::config::format::Format;
use crate::config::kind::{Key, Kind, Table};

/// The keys that rules and sites share.
pub(crate) static ACTS: &[Key] = &[
    Key::new(
        "allow",
        Kind::Many(&Kind::Text(Format::Network)),
        "Only clients with these addresses; the narrowest network of `allow` and `deny` that holds the address decides. All \
         others get 403. What is protected is not in shared caching.",
        "[\"10.0.0.0/8\", \"unix\"]",
    )
    .or("[]"),
    Key::new(
        "deny",
        Kind::Many(&Kind::Text(Format::Network)),
        "Not clients with these addresses. See `allow`.",
        "[\"203.0.113.0/24\"]",
    )
    .or("[]"),
    Key::new(
        "rate",
        Kind::Either(&[Kind::Bool, Kind::Table(&RATE)]),
        "How often one client may ask; who asks sooner gets 429 and is told when to come again. Answers from the cache count. \
         A site's is one count for all its rules together, but those that have their own; `false` for no limit where the site \
         has one.",
        "{ requests = 10, per = \"1s\", burst = 20 }",
    )
    .absent("none"),
    Key::new(
        "basic_auth",
        Kind::Either(&[Kind::Bool, Kind::Table(&BASIC_AUTH)]),
        "Only users of a file, by name and password (RFC 7617); all others get 401. What is protected is not in shared \
         caching. `false` for everybody where the site asks.",
        "{ realm = \"Staff\", users = \"/etc/samovar/users\" }",
    )
    .absent("none"),
    Key::new(
        "redirect",
        Kind::Either(&[Kind::Bool, Kind::Table(&REDIRECT)]),
        "Sends the client elsewhere; nothing is asked of the cache or the origin. `false` for not where the site does.",
        "{ to = \"https://new.example/{1}\", status = 301 }",
    )
    .absent("none"),
    Key::new(
        "rewrite",
        Kind::Either(&[Kind::Bool, Kind::Text(Format::Rewrite)]),
        "The origin is asked for this path instead: `{1}`, `{2}`… are the stars of `path`; `{path}`, `{query}`, `{host}`, \
         `{scheme}`. Without a `?` the query stays. No other rule is chosen for it, and the key is the client's own URL. \
         `false` for not where the site does.",
        "\"/new/{1}\"",
    )
    .absent("none"),
    Key::new(
        "request_fields",
        Kind::Many(&Kind::Table(&FIELD_EDIT)),
        "Request fields set, appended or removed before the origin is asked. The key and the cache know the client's.",
        "[{ set = \"X-From\", value = \"samovar\" }, { remove = \"X-Debug\" }]",
    )
    .or("[]"),
    Key::new(
        "response_fields",
        Kind::Many(&Kind::Table(&FIELD_EDIT)),
        "Fields of the origin's answer set, appended or removed before it is stored: what is cached has them.",
        "[{ set = \"X-Frame-Options\", value = \"DENY\" }]",
    )
    .or("[]"),
    Key::new(
        "client_fields",
        Kind::Many(&Kind::Table(&FIELD_EDIT)),
        "Fields of every answer to a client set, appended or removed, whether it comes from the cache, the origin or is our \
         own. A value that names the client, its path or the request keeps answers out of the hot tier.",
        "[{ set = \"Strict-Transport-Security\", value = \"max-age=31536000\" }]",
    )
    .or("[]"),
    Key::new(
        "error_pages",
        Kind::Map(Format::ErrorStatuses, Format::PagePath),
        "Pages of the same site whose bodies take the place of errors, the origin's and our own: by status, or `4xx` and \
         `5xx`. The status stays.",
        "{ \"404\" = \"/errors/404.html\", \"5xx\" = \"/errors/5xx.html\" }",
    )
    .or("{}"),
    Key::new(
        "map_cookie_path",
        Kind::Map(Format::PagePath, Format::PagePath),
        "Paths in `Set-Cookie` as the application writes them, and as clients see them.",
        "{ \"/app\" = \"/\" }",
    )
    .or("{}"),
    Key::new(
        "map_cookie_domain",
        Kind::Map(Format::Authority, Format::Authority),
        "Domains in `Set-Cookie` as the application writes them, and as clients see them.",
        "{ \"inner.example\" = \"outer.example\" }",
    )
    .or("{}"),
];

/// How often.
pub(crate) static RATE: Table = Table {
    title: "rate = { … }",
    text: "How often one client may ask: a bucket that holds `burst` requests and fills evenly.",
    groups: &[&[
        Key::new("requests", Kind::Int(1, 1_000_000_000), "So many requests in the time `per`.", "10"),
        Key::new("per", Kind::Duration(1), "See `requests`.", "\"1m\"").or("\"1s\""),
        Key::new("burst", Kind::Int(1, 1_000_000_000), "So many at once, after a pause.", "20")
            .absent("as many as `requests`"),
        Key::new(
            "by",
            Kind::Text(Format::RateBy),
            "Whose requests count together: `client` (the address, of IPv6 its first 64 bits), `header:NAME`, `query:NAME`, \
             `cookie:NAME` (who sends none, or several, counts with all who send none), or `all`.",
            "\"header:X-Api-Key\"",
        )
        .or("\"client\""),
    ]],
};

/// Who.
pub(crate) static BASIC_AUTH: Table = Table {
    title: "basic_auth = { … }",
    text: "Users by name and password.",
    groups: &[&[
        Key::new(
            "realm",
            Kind::Text(Format::Realm),
            "What the browser shows when it asks.",
            "\"Staff only\"",
        )
        .or("\"Restricted\""),
        Key::new(
            "users",
            Kind::Text(Format::Path),
            "A file as `htpasswd -B` writes it (bcrypt; `$apr1$` and `{SHA}` are read), relative to this file. It is read again \
             when it changes, and never served.",
            "\"/etc/samovar/users\"",
        ),
        Key::new("pass", Kind::Bool, "The origin is told the credentials, too.", "true").or("false"),
    ]],
};

/// Where to.
pub(crate) static REDIRECT: Table = Table {
    title: "redirect = { … }",
    text: "Where a client is sent.",
    groups: &[&[
        Key::new(
            "to",
            Kind::Text(Format::RedirectTo),
            "A URL or a path, with the names that `rewrite` knows. A query is told only by `?{query}`.",
            "\"https://{host}{path}?{query}\"",
        ),
        Key::new("status", Kind::Int(301, 308), "301, 302, 303, 307 or 308 (RFC 9110 §15.4).", "308")
            .or("302"),
    ]],
};

/// One change.
pub(crate) static FIELD_EDIT: Table = Table {
    title: "request_fields, response_fields, client_fields = [{ … }]",
    text: "One change of a field: exactly one of `set`, `append` and `remove`. What frames a message, what belongs to one \
           connection, and what says who may store an answer is refused.",
    groups: &[&[
        Key::new("set", Kind::Text(Format::FieldName), "This field, in place of all there are.", "\"X-A\"").absent("not used"),
        Key::new("append", Kind::Text(Format::FieldName), "This field, beside those there are.", "\"X-B\"").absent("not used"),
        Key::new("remove", Kind::Text(Format::FieldName), "All fields of this name.", "\"X-C\"").absent("not used"),
        Key::new(
            "value",
            Kind::Text(Format::FieldTemplate),
            "The value for `set` and `append`: `{1}`…, `{path}`, `{query}`, `{host}`, `{scheme}`, `{client}` (its address), \
             `{id}` (the request's, as in traces) and `{user}` are filled in; a brace is written twice.",
            "\"{client}\"",
        )
        .absent("none, for `remove`"),
    ]],
};
