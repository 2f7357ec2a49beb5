//! What people, tools and logs are shown of a record, and that nothing a client sends can change a line's shape.

use proptest::prelude::*;
use samovar_reason::{Hot, Lifetime, Lookup, Route, Store};
use samovar_trace::{Fact, Record, Tier, combined, json, json_line, text, text_of_json};

fn record() -> Record {
    Record {
        id: 0xab,
        at_wall_ms: 1_795_218_841_123,
        client: "127.0.0.1".into(),
        method: "GET".into(),
        url: "http://gallery.example/img.php?Qwd=a&token=s3cret".into(),
        version: "HTTP/1.1",
        status: 200,
        body_bytes: 12_345,
        tier: Tier::Origin,
        cache: "miss",
        reason: "no-entry",
        first_byte_us: 61_250,
        total_us: 1_300_000,
        referer: Some("http://gallery.example/?password=s3cret".into()),
        user_agent: Some("curl/8 \"x\"".into()),
        facts: vec![
            Fact::Site(Route::SiteByHost, "gallery".into()),
            Fact::Rule(Route::RuleMatched, "r2".into(), vec!["r3".into()]),
            Fact::Key("http://gallery.example/img.php?Qwd=a&token=s3cret\ncookie sid: s3cret".into()),
            Fact::Lookup(Lookup::NoEntry, None, None),
            Fact::Attempt {
                target: "app".into(),
                status: 200,
                connect_us: 90,
                first_byte_us: 61_000,
                reused: false,
            },
            Fact::Store(Store::SetCookie),
            Fact::Lifetime(Lifetime::RuleFor, 30_000),
            Fact::Hot(Hot::NotHotYet),
            Fact::HotProgress(1, 2),
        ],
        request_fields: [("cookie", "sid=s3cret"), ("accept", "*/*")].into_iter().collect(),
    }
}

#[test]
fn what_a_person_reads() {
    let want = "\
GET http://gallery.example/img.php?Qwd=a&token=*** → 200, miss (no-entry), 12,345 bytes from origin
id 00000000000000ab at 2026-11-20T23:54:01.123Z from 127.0.0.1, first byte after 61.25 ms, done after 1.3 s
  site          site-by-host — a site names this host (gallery)
  rule          rule-matched — this is the first rule in file order that matches (r2, before r3)
  key                          http://gallery.example/img.php?Qwd=a&token=*** (cookie sid: ***)
  lookup        no-entry     — nothing is stored under this key
  attempt                      app answered 200 (connected in 90 µs, first byte after 61 ms)
  store         set-cookie   — the answer sets a cookie
                             → stop sending Set-Cookie where it is not needed, or set `set_cookie = \"strip\"`
  lifetime      rule-for     — the rule's `for` (30 s)
  hot           not-hot-yet  — fewer requests than the threshold came within the period
                             → ask again, or lower `hot.threshold`
  hot-progress                 1 of 2 requests within the period
";
    assert_eq!(text(&record()), want);
}

#[test]
fn what_tools_read() {
    let value = json(&record());
    for (pointer, want) in [
        ("/v", serde_json::json!(1)),
        ("/id", "00000000000000ab".into()),
        ("/at_ms", serde_json::json!(1_795_218_841_123_u64)),
        ("/url", "http://gallery.example/img.php?Qwd=a&token=***".into()),
        ("/tier", "origin".into()),
        ("/request_fields", serde_json::json!([["cookie", "sid=***"], ["accept", "*/*"]])),
        (
            "/facts/0",
            serde_json::json!({ "fact": "site", "code": "site-by-host", "text": "a site names this host",
            "detail": "gallery", "site": "gallery" }),
        ),
        ("/facts/4/attempt/first_byte_us", serde_json::json!(61_000)),
        ("/facts/5/code", "set-cookie".into()),
        ("/facts/6/lifetime_ms", serde_json::json!(30_000)),
        ("/facts/8/threshold", serde_json::json!(2)),
    ] {
        assert_eq!(value.pointer(pointer), Some(&want), "{pointer}");
    }
    let mend = value.pointer("/facts/5/mend").and_then(|mend| mend.as_str());
    assert!(mend.is_some_and(|mend| mend.contains("strip")));
    assert!(!value.to_string().contains("s3cret"));
}

#[test]
fn lines_of_the_access_log() {
    let mut line = Vec::new();
    combined(&record(), &mut line);
    assert_eq!(
        String::from_utf8(line).unwrap(),
        "127.0.0.1 - - [20/Nov/2026:23:54:01 +0000] \"GET /img.php?Qwd=a&token=*** HTTP/1.1\" 200 12345 \
         \"http://gallery.example/?password=***\" \"curl/8 \\\"x\\\"\" cache=miss reason=no-entry tier=origin \
         ttfb_us=61250 total_us=1300000 id=00000000000000ab host=gallery.example upstream=app \
         elected=only-member tries=1 connect_us=90 answer_us=61000\n"
    );
    let gone = Record {
        status: 0,
        body_bytes: 0,
        referer: None,
        user_agent: None,
        url: "*".into(),
        facts: Vec::new(),
        ..record()
    };
    let mut line = Vec::new();
    combined(&gone, &mut line);
    let line = String::from_utf8(line).unwrap();
    assert!(line.contains("\"GET * HTTP/1.1\" 000 - \"-\" \"-\" cache="), "{line}");
    assert!(line.ends_with(" host=-\n"), "{line}");

    let mut line = Vec::new();
    json_line(&record(), &mut line);
    let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(value.pointer("/user_agent").unwrap(), "curl/8 \"x\"");
    assert_eq!(value.pointer("/url").unwrap(), "http://gallery.example/img.php?Qwd=a&token=***");
    assert_eq!(value.pointer("/id").unwrap(), "00000000000000ab");
    assert_eq!(value.pointer("/upstream").unwrap(), "app");
    assert_eq!(value.pointer("/tries").unwrap(), 1);
}

#[test]
fn json_that_is_no_record_is_shown_without_panic() {
    for value in ["null", "[]", "{\"facts\":[1,null,{\"fact\":5}],\"status\":\"x\"}"] {
        let shown = text_of_json(&serde_json::from_str(value).unwrap());
        assert!(!shown.is_empty());
    }
}

/// Reads one combined line as a log tool does: fields apart at blanks, quoted ones ending at an unescaped quote.
fn fields_of(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = line.strip_suffix('\n')?;
    while !rest.is_empty() {
        let (field, tail) = match rest.chars().next()? {
            '"' => {
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|(_, c)| {
                    let found = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    found
                })?;
                rest.split_at(end.0 + 1)
            }
            // Only the time, the fourth field, stands in brackets; a blank is in it.
            '[' if fields.len() == 3 => rest.split_at(rest.find(']')? + 1),
            _ => rest.split_at(rest.find(' ').unwrap_or(rest.len())),
        };
        fields.push(field.to_owned());
        rest = if tail.is_empty() { tail } else { tail.strip_prefix(' ')? };
    }
    Some(fields)
}

/// What a malicious client would send: anything, and often what lines are made of.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[\"\\\\ \r\n\t\u{1b}\u{85}\u{2028}\u{9b}=a]{0,12}"]
}

proptest! {
    #[test]
    fn no_input_changes_the_shape_of_a_log_line(
        client in hostile(), method in hostile(), url in hostile(), referer in hostile(), agent in hostile()
    ) {
        let told = Record { client: client.into(), method: method.into(), url, referer: Some(referer), user_agent: Some(agent.clone()), ..record() };
        let mut line = Vec::new();
        combined(&told, &mut line);
        let line = String::from_utf8(line).unwrap();
        prop_assert!(line.bytes().all(|b| (b' '..=b'~').contains(&b) || b == b'\n'));
        prop_assert_eq!(line.matches('\n').count(), 1);
        let fields = fields_of(&line).unwrap();
        prop_assert_eq!(fields.len(), 21, "{}", line);
        prop_assert_eq!(fields[4].split(' ').count(), 3, "method, target and version in {}", line);
        prop_assert_eq!((&*fields[9], &*fields[10]), ("cache=miss", "reason=no-entry"));

        let mut line = Vec::new();
        json_line(&told, &mut line);
        prop_assert!(line.iter().all(|b| (b' '..=b'~').contains(b) || *b == b'\n'));
        prop_assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        prop_assert_eq!(value.pointer("/user_agent").unwrap().as_str().unwrap(), agent);
        prop_assert_eq!(value.pointer("/reason").unwrap(), "no-entry");
    }

    #[test]
    fn a_terminal_is_told_nothing(url in hostile(), detail in hostile()) {
        let told = Record { url, facts: vec![Fact::Site(Route::UnknownHost, detail.into())], ..record() };
        let shown = text(&told);
        prop_assert_eq!(shown.lines().count(), 4, "two for the heading, one for the fact, one for its mend");
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
    }
}
