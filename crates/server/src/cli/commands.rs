//! The commands that ask a running server, and `check`.

use super::client::{ask, quote};
use super::show::{self, bytes, safe, table};
use super::{Failed, Server};
use crate::config;
use http::Method;
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

pub(super) type Outcome = Result<ExitCode, Failed>;

/// `samovar check`.
pub fn check(path: &Path, as_json: bool) -> Outcome {
    let (report, ok, guarded) = match config::load(path) {
        Ok(mut loaded) => {
            loaded.warnings.extend(loaded.links_out());
            // The files that certificates name are read, as they would be by the server.
            crate::front::acceptor(&loaded.settings.certificates)?;
            (loaded.warnings(), true, config::guarded_sites(&loaded.settings))
        }
        Err(report) => (report, false, Vec::new()),
    };
    if as_json {
        show::json(&report.to_json())?;
    } else if ok {
        crate::say!("{}", report.render(std::io::stderr().is_terminal()));
        let warnings = match report.diagnostics.len() {
            1 => "1 warning".to_owned(),
            n => format!("{n} warnings"),
        };
        let lines = guarded.into_iter().chain([format!("{}: no errors, {warnings}", path.display())]);
        show::out(&lines.collect::<Vec<_>>().join("\n"))?;
    } else {
        crate::say!("{}", report.render(std::io::stderr().is_terminal()));
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `samovar reload`.
pub fn reload(server: &Server) -> Outcome {
    let value = ask(server, Method::POST, "/v1/reload", None)?;
    changed(server, &value, "the configuration was reloaded")
}

fn changed(server: &Server, value: &Value, what: &str) -> Outcome {
    if server.json {
        return show::json(value);
    }
    for warning in list(value, "warnings") {
        crate::say!("{}", warning.as_str().unwrap_or_default());
    }
    show::out(what)
}

/// `samovar explain`.
pub fn explain(
    server: &Server,
    url: String,
    headers: &[String],
    method: Option<String>,
    live: bool,
) -> Outcome {
    let mut fields = Vec::new();
    for header in headers {
        let (name, value) =
            header.split_once(':').ok_or_else(|| format!("-H {header:?}: write it as 'Name: value'"))?;
        fields.push(json!([name.trim(), value.trim()]));
    }
    let body = json!({ "url": url, "headers": fields, "method": method, "live": live });
    let value = ask(server, Method::POST, "/v1/explain", Some(&body))?;
    if server.json {
        return show::json(&value);
    }
    show::out(&explained(&value))
}

fn explained(value: &Value) -> String {
    let mut text = samovar_trace::text_of_json(value);
    if value.get("live") == Some(&Value::Bool(false)) {
        // What would happen has no status, bytes or times.
        let facts =
            text.split_once('\n').and_then(|(_, rest)| rest.split_once('\n')).map_or("", |(_, facts)| facts);
        let cache = match word(value, "cache").as_str() {
            "error" => "an error",
            "stale" => "served stale",
            "joined" => "answered together with another",
            "hit" => "a hit",
            "pass" => "a pass",
            _ => "a miss",
        };
        text = format!(
            "{} {} would be {cache} ({})\n{facts}",
            word(value, "method"),
            word(value, "url"),
            word(value, "reason")
        );
        let variants = list(value, "variants");
        if !variants.is_empty() {
            text.push_str("\nstored variants\n");
            text.push_str(&entries(variants));
        }
        let history = list(value, "history");
        if !history.is_empty() {
            text.push_str("\nlast requests\n");
            text.push_str(&records(history));
        }
    }
    text
}

/// `samovar trace ID`.
pub fn trace_one(server: &Server, id: &str) -> Outcome {
    let value = ask(server, Method::GET, &format!("/v1/trace/{}", quote(id)), None)?;
    if server.json { show::json(&value) } else { show::out(&samovar_trace::text_of_json(&value)) }
}

/// `samovar trace`.
pub fn trace(server: &Server, reason: Option<&str>, url: Option<&str>, last: usize, follow: bool) -> Outcome {
    let mut path = format!("/v1/trace?limit={last}");
    for (name, value) in [("reason", reason), ("url", url)] {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", quote(value)));
        }
    }
    let value = ask(server, Method::GET, &path, None)?;
    if !follow {
        return if server.json {
            show::json(&value)
        } else {
            show::out(&records(value.as_array().map_or(&[], Vec::as_slice)))
        };
    }
    let mut newest = print_new(server, value)?;
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let path = match &newest {
            Some(id) => format!("{path}&after={id}"),
            None => path.clone(),
        };
        let value = ask(server, Method::GET, &path, None)?;
        newest = print_new(server, value)?.or(newest);
    }
}

/// Prints records oldest first; the id of the newest.
fn print_new(server: &Server, value: Value) -> Result<Option<String>, Failed> {
    let all = value.as_array().cloned().unwrap_or_default();
    let newest = all.iter().map(|r| word(r, "id")).max();
    for record in all.iter().rev() {
        if server.json {
            show::out(&record.to_string())?;
        } else {
            show::out(&samovar_trace::text_of_json(record))?;
        }
    }
    Ok(newest)
}

fn records(list: &[Value]) -> String {
    let row = |r: &Value| {
        vec![
            word(r, "at"),
            word(r, "id"),
            number(r, "status").to_string(),
            word(r, "cache"),
            word(r, "reason"),
            format!("{} {}", word(r, "method"), word(r, "url")),
        ]
    };
    table(&["AT", "ID", "STATUS", "CACHE", "REASON", "REQUEST"], &list.iter().map(row).collect::<Vec<_>>())
}

/// `samovar cache list`.
pub fn cache_list(server: &Server, filter: &str, limit: usize) -> Outcome {
    let value = ask(server, Method::GET, &format!("/v1/cache?filter={}&limit={limit}", quote(filter)), None)?;
    if server.json {
        return show::json(&value);
    }
    let all = value.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        return show::out("nothing is stored");
    }
    show::out(&entries(all))
}

fn entries(list: &[Value]) -> String {
    let row = |e: &Value| {
        let ttl = match e.get("ttl_s").and_then(Value::as_i64) {
            Some(s) => format!("{s} s"),
            None if e.get("confirmed_on_use").and_then(Value::as_bool) == Some(true) => {
                "asked each time".to_string()
            }
            None => "until changed".to_string(),
        };
        let mut values: Vec<String> = strings(e, "key_values");
        values.extend(e.get("vary").and_then(Value::as_array).into_iter().flatten().map(|pair| {
            let text = |at: usize| pair.get(at).and_then(Value::as_str).map_or("-".to_string(), safe);
            format!("{}: {}", text(0), text(1))
        }));
        vec![
            word(e, "tier"),
            number(e, "status").to_string(),
            match e.get("total_bytes").and_then(Value::as_u64) {
                Some(total) => format!("{} of {}", bytes(number(e, "body_bytes")), bytes(total)),
                None => bytes(number(e, "body_bytes")),
            },
            number(e, "hits").to_string(),
            format!("{} s", number(e, "age_s")),
            ttl,
            word(e, "lifetime"),
            word(e, "rule"),
            format!("{} {}", word(e, "url"), values.join(", ")),
        ]
    };
    table(
        &["TIER", "STATUS", "SIZE", "HITS", "AGE", "TTL", "LIFETIME", "RULE", "URL"],
        &list.iter().map(row).collect::<Vec<_>>(),
    )
}

/// `samovar cache show`.
pub fn cache_show(server: &Server, url: &str) -> Outcome {
    let value = ask(server, Method::GET, &format!("/v1/cache/entry?url={}", quote(url)), None)?;
    if server.json {
        return show::json(&value);
    }
    let all = value.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        return show::out(&format!("nothing is stored for {}; `samovar explain` says why", safe(url)));
    }
    show::out(&entries(all))
}

/// `samovar cache purge`.
pub fn purge(server: &Server, what: &Value) -> Outcome {
    let value = ask(server, Method::POST, "/v1/purge", Some(what))?;
    if server.json {
        return show::json(&value);
    }
    show::out(&format!(
        "purged {}: {} answers ({}), {} fetches under way will not be stored{}; receipt {}",
        word(&value, "scope"),
        number(&value, "entries"),
        bytes(number(&value, "bytes")),
        number(&value, "fills"),
        if what.get("tag").is_some_and(Value::is_string) { " if they turn out to have it" } else { "" },
        number(&value, "sequence"),
    ))
}

/// `samovar limits`.
pub fn limits(server: &Server) -> Outcome {
    let value = ask(server, Method::GET, "/v1/limits", None)?;
    if server.json {
        return show::json(&value);
    }
    let row = |limit: &Value| {
        let used = limit.get("used").and_then(Value::as_u64);
        let sized = ["memory.", "log.traces_max", "hot.heads_max"]
            .iter()
            .any(|name| word(limit, "name").starts_with(name));
        let used = used.map_or_else(|| "-".to_owned(), |n| if sized { bytes(n) } else { n.to_string() });
        let refused = limit.get("refused").and_then(Value::as_u64);
        let refused = refused.map_or_else(|| "-".to_owned(), |n| n.to_string());
        vec![word(limit, "name"), word(limit, "value"), used, refused, safe(&word(limit, "from"))]
    };
    let all = value.as_array().map_or(&[][..], Vec::as_slice);
    let rows: Vec<_> = all.iter().map(row).collect();
    let binding: Vec<String> =
        all.iter().filter(|l| l.get("binds") == Some(&Value::Bool(true))).map(|l| word(l, "name")).collect();
    let binds = match binding.as_slice() {
        [] => "\nno limit binds now".to_owned(),
        names => format!("\nbinds now: {}", names.join(", ")),
    };
    show::out(&(table(&["LIMIT", "VALUE", "USED", "REFUSED", "FROM"], &rows) + &binds))
}

/// `samovar cache stats`.
pub fn stats(server: &Server) -> Outcome {
    let value = ask(server, Method::GET, "/v1/status", None)?;
    let cache = value.get("cache").cloned().unwrap_or_default();
    if server.json {
        return show::json(&cache);
    }
    let (used, limit) = (number(&cache, "used_bytes"), number(&cache, "limit_bytes"));
    show::out(&format!(
        "{} answers, {} of {} ({:.1} %), {} for connections and traces; {} stored so far, {} left for room, {} purges, {} fetches under way",
        number(&cache, "entries"),
        bytes(used),
        bytes(limit),
        used as f64 * 100.0 / (limit.max(1) as f64),
        bytes(number(&cache, "beside_bytes")),
        number(&cache, "stored"),
        number(&cache, "evictions"),
        number(&cache, "purges"),
        number(&cache, "fills"),
    ))
}

/// `samovar status`.
pub fn status(server: &Server) -> Outcome {
    let value = ask(server, Method::GET, "/v1/status", None)?;
    if server.json {
        return show::json(&value);
    }
    let mut rows = Vec::new();
    if let Some(requests) = value.get("requests").and_then(Value::as_object) {
        rows.extend(requests.iter().map(|(name, n)| vec![name.clone(), n.to_string()]));
    }
    if let Some(rejects) = value.get("rejects").and_then(Value::as_object) {
        rows.extend(rejects.iter().map(|(code, n)| vec![format!("  {code}"), n.to_string()]));
    }
    for (name, what) in [("access_log", "lines of the access log lost"), ("notices", "lines to stderr lost")]
    {
        let lost = value.get("dropped_lines").map_or(0, |lost| number(lost, name));
        rows.extend((lost > 0).then(|| vec![what.to_owned(), lost.to_string()]));
    }
    let listen = strings(&value, "listen").join(", ");
    let ratio = value.get("hit_ratio").and_then(Value::as_f64);
    let ratio =
        ratio.map_or("no hit ratio yet".to_owned(), |ratio| format!("hit ratio {:.1} %", ratio * 100.0));
    let head = format!(
        "samovar {}, process {}, listening on {listen}\n{ratio}, {} requests to origins saved\n\n",
        word(&value, "version"),
        number(&value, "pid"),
        number(&value, "origin_requests_saved")
    );
    show::out(&(head + &table(&["ANSWERS", "COUNT"], &rows)))
}

/// `samovar rule list`.
pub fn rule_list(server: &Server, site: &str) -> Outcome {
    let value = ask(server, Method::GET, &format!("/v1/rules?site={}", quote(site)), None)?;
    if server.json {
        return show::json(&value);
    }
    show::out(&rules(value.as_array().map_or(&[], Vec::as_slice)))
}

fn rules(list: &[Value]) -> String {
    if list.is_empty() {
        return "there are no rules; add one with `samovar rule add`".to_string();
    }
    let row = |r: &Value| {
        // Without a configuration file there are no lines.
        let line =
            r.get("line").and_then(Value::as_u64).map_or_else(|| "-".to_owned(), |line| line.to_string());
        vec![word(r, "site"), word(r, "id"), line, strings(r, "words").join(" ")]
    };
    table(&["SITE", "RULE", "LINE", "KEYS"], &list.iter().map(row).collect::<Vec<_>>())
}

fn rule_changed(server: &Server, value: &Value) -> Outcome {
    let text = rules(list(value, "rules"));
    changed(server, value, &text)
}

/// `samovar rule add`.
pub fn rule_add(server: &Server, site: &str, words: Vec<String>, at: String) -> Outcome {
    let body = json!({ "site": site, "words": words, "at": at });
    let value = ask(server, Method::POST, "/v1/rules", Some(&body))?;
    rule_changed(server, &value)
}

/// `samovar rule set`.
pub fn rule_set(server: &Server, site: &str, id: &str, words: Vec<String>) -> Outcome {
    let body = json!({ "site": site, "words": words });
    let value = ask(server, Method::PATCH, &format!("/v1/rules/{}", quote(id)), Some(&body))?;
    rule_changed(server, &value)
}

/// `samovar rule remove`.
pub fn rule_remove(server: &Server, site: &str, id: &str) -> Outcome {
    let value = ask(server, Method::DELETE, &format!("/v1/rules/{}?site={}", quote(id), quote(site)), None)?;
    rule_changed(server, &value)
}

/// `samovar rule move`.
pub fn rule_move(server: &Server, site: &str, id: &str, to: String) -> Outcome {
    let body = json!({ "site": site, "to": to });
    let value = ask(server, Method::POST, &format!("/v1/rules/{}/move", quote(id)), Some(&body))?;
    rule_changed(server, &value)
}

pub(super) fn word(value: &Value, name: &str) -> String {
    safe(value.get(name).and_then(Value::as_str).unwrap_or_default())
}

pub(super) fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn strings(value: &Value, name: &str) -> Vec<String> {
    list(value, name).iter().filter_map(Value::as_str).map(safe).collect()
}
