//! Access log lines: Apache's combined format with our words after it, and JSON.
//!
//! One record is one line, whatever the client sent: everything from outside is escaped. Not here: the file.

use crate::clock::civil;
use crate::json::tier_word;
use crate::redact::redact_url;
use crate::types::{Fact, Record};
use samovar_reason::{Explain, Retry};
use std::io::Write as _;

/// `client - - [time] "GET /x HTTP/1.1" 200 5 "referer" "agent" cache=hit reason=fresh tier=memory ttfb_us=… total_us=…
/// id=… host=…`, with a line feed. Status 000 means that the client left before it got one.
pub fn combined(record: &Record, out: &mut Vec<u8>) {
    let url = redact_url(&record.url);
    let (host, target) = split_url(&url);
    escape_word(&record.client, out);
    write(out, format_args!(" - - [{}] \"", civil(record.at_wall_ms).of_log()));
    escape_word(&record.method, out);
    out.push(b' ');
    escape_word(target, out);
    write(out, format_args!(" {}\" {:03} ", record.version, record.status));
    match record.body_bytes {
        0 => out.push(b'-'),
        bytes => write(out, format_args!("{bytes}")),
    }
    quoted(record.referer.as_deref().map(redact_url).as_deref(), out);
    quoted(record.user_agent.as_deref(), out);
    let Record { cache, reason, first_byte_us, total_us, id, .. } = record;
    let tier = tier_word(record.tier);
    write(
        out,
        format_args!(
            " cache={cache} reason={reason} tier={tier} ttfb_us={first_byte_us} total_us={total_us}"
        ),
    );
    write(out, format_args!(" id={id:016x} host="));
    escape_word(host, out);
    if let Some(asked) = asked(record) {
        out.extend_from_slice(b" upstream=");
        escape_word(asked.target, out);
        write(out, format_args!(" elected={} tries={}", asked.elected, asked.tries));
        write(out, format_args!(" connect_us={} answer_us={}", asked.connect_us, asked.first_byte_us));
    }
    out.push(b'\n');
}

/// Who was asked for an answer, why that one, how often in all, and how long it took: one line is enough.
struct Asked<'a> {
    target: &'a str,
    elected: &'static str,
    tries: usize,
    connect_us: u64,
    first_byte_us: u64,
}

/// The last attempt that was answered; `None` where the origin was not asked, or did not answer.
fn asked(record: &Record) -> Option<Asked<'_>> {
    let (mut elected, mut tries) = ("only-member", 1);
    let mut last = None;
    for fact in &record.facts {
        match fact {
            Fact::Elected(why, _) => elected = why.code(),
            Fact::Retry(Retry::Again, _) => tries += 1,
            Fact::Attempt { target, connect_us, first_byte_us, .. } => {
                last = Some((target, *connect_us, *first_byte_us));
            }
            _ => {}
        }
    }
    let (target, connect_us, first_byte_us) = last?;
    Some(Asked { target, elected, tries, connect_us, first_byte_us })
}

/// One JSON object with a line feed, in ASCII.
pub fn json_line(record: &Record, out: &mut Vec<u8>) {
    write(out, format_args!("{{\"v\":1,\"at\":\"{}\"", civil(record.at_wall_ms).of_machines()));
    write(out, format_args!(",\"id\":\"{:016x}\",\"client\":", record.id));
    json_text(&record.client, out);
    out.extend_from_slice(b",\"method\":");
    json_text(&record.method, out);
    out.extend_from_slice(b",\"url\":");
    json_text(&redact_url(&record.url), out);
    let Record { version, status, body_bytes, cache, reason, first_byte_us, total_us, .. } = record;
    let tier = tier_word(record.tier);
    write(out, format_args!(",\"version\":\"{version}\",\"status\":{status},\"body_bytes\":{body_bytes}"));
    write(out, format_args!(",\"cache\":\"{cache}\",\"reason\":\"{reason}\",\"tier\":\"{tier}\""));
    write(out, format_args!(",\"ttfb_us\":{first_byte_us},\"total_us\":{total_us},\"referer\":"));
    json_option(record.referer.as_deref().map(redact_url).as_deref(), out);
    out.extend_from_slice(b",\"user_agent\":");
    json_option(record.user_agent.as_deref(), out);
    if let Some(asked) = asked(record) {
        out.extend_from_slice(b",\"upstream\":");
        json_text(asked.target, out);
        write(out, format_args!(",\"elected\":\"{}\",\"tries\":{}", asked.elected, asked.tries));
        let Asked { connect_us, first_byte_us, .. } = asked;
        write(out, format_args!(",\"connect_us\":{connect_us},\"answer_us\":{first_byte_us}"));
    }
    out.extend_from_slice(b"}\n");
}

/// Host and target of an absolute URL; a target that could not be routed has no host.
fn split_url(url: &str) -> (&str, &str) {
    let Some((_, rest)) = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
    else {
        return ("-", url);
    };
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, target) = rest.split_at_checked(at).unwrap_or((rest, ""));
    (if host.is_empty() { "-" } else { host }, if target.is_empty() { "/" } else { target })
}

/// ` "text"`, or ` "-"`.
fn quoted(text: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(b" \"");
    match text {
        None | Some("") => out.push(b'-'),
        Some(text) => escape(text, |byte| byte == b' ', out),
    }
    out.push(b'"');
}

/// A word that blanks would break.
fn escape_word(text: &str, out: &mut Vec<u8>) {
    if text.is_empty() {
        out.push(b'-');
    }
    escape(text, |_| false, out);
}

/// Printable ASCII stays, `"` and `\` get a backslash, all else becomes `\xHH`.
fn escape(text: &str, also_plain: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'!'..=b'~' => out.push(byte),
            other if also_plain(other) => out.push(other),
            other => write(out, format_args!("\\x{other:02x}")),
        }
    }
}

fn json_option(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        None => out.extend_from_slice(b"null"),
        Some(text) => json_text(text, out),
    }
}

/// A JSON string in ASCII: what is not printable becomes `\uHHHH`.
fn json_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut units = [0_u16; 2];
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            ' '..='~' => write(out, format_args!("{c}")),
            other => other
                .encode_utf16(&mut units)
                .iter()
                .for_each(|unit| write(out, format_args!("\\u{unit:04x}"))),
        }
    }
    out.push(b'"');
}

fn write(out: &mut Vec<u8>, args: std::fmt::Arguments<'_>) {
    // Writing to a Vec cannot fail.
    let _ = out.write_fmt(args);
}
