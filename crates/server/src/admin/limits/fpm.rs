//! php-fpm's children, asked of its own status page (`fpm_status`).
//!
//! The page does not tell `pm.max_children`, but how many children there are, how many are busy, how often that limit was
//! reached, and how many requests wait for one. Not here: limits of ours.

use super::{LimitShape, Use, Value, shape};
use crate::config::Protocol;
use crate::state::Shared;
use crate::upstream::ask_fastcgi;
use serde_json::Value as Json;
use std::time::Duration;

/// How long the page may take; where all children are busy it is never answered.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// Rows for each member of each upstream whose status page is named.
pub(super) async fn limits(app: &Shared) -> Vec<LimitShape> {
    let mut rows = Vec::new();
    for upstream in app.snapshot().upstreams() {
        let settings = upstream.settings();
        let (Some(path), Protocol::FastCgi) = (&settings.fpm_status, settings.protocol) else { continue };
        for (at, place) in settings.places.iter().enumerate() {
            let member = settings.balance.members.get(at).map_or("?", |m| m.name.as_str());
            let name = match settings.places.len() {
                1 => format!("php-fpm.{}", settings.name),
                _ => format!("php-fpm.{}.{member}", settings.name),
            };
            let (place, path) = (place.clone(), format!("{path}?json"));
            // What an answer arrives by stays on its thread, and this one serves others.
            let asked = tokio::task::spawn_blocking(move || ask_fastcgi(&place, &path, PATIENCE)).await;
            match asked.unwrap_or_else(|_| Err("the asking thread failed".to_owned())) {
                Ok(body) => rows.extend(told(&name, &body)),
                Err(why) => {
                    rows.push(shape(name, &Value::Count(0), Use::default(), format!("not told: {why}")))
                }
            }
        }
    }
    rows
}

fn told(name: &str, body: &[u8]) -> Vec<LimitShape> {
    let Ok(page) = serde_json::from_slice::<Json>(body) else {
        let from = "not told: the page is not php-fpm's status".to_owned();
        return vec![shape(name.to_owned(), &Value::Count(0), Use::default(), from)];
    };
    let number = |key: &str| page.get(key).and_then(Json::as_u64).unwrap_or(0);
    let (all, busy, waiting) =
        (number("total processes"), number("active processes"), number("listen queue"));
    let reached = number("max children reached");
    // The page itself takes a child.
    let others = busy.saturating_sub(1);
    let children = Use { used: Some(others), refused: Some(reached), binds: waiting > 0 || others + 1 > all };
    let queue = Use { used: Some(waiting), refused: None, binds: waiting > 0 };
    let from = "its status page; refused: how often pm.max_children was reached".to_owned();
    vec![
        shape(format!("{name}.children"), &Value::Count(all), children, from),
        shape(
            format!("{name}.listen_queue"),
            &Value::Count(number("listen queue len")),
            queue,
            "its status page (listen.backlog)".to_owned(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_read() {
        let page = br#"{"pool":"www","process manager":"dynamic","accepted conn":9,"listen queue":2,"max listen queue":3,
            "listen queue len":511,"idle processes":0,"active processes":5,"total processes":5,"max children reached":4}"#;
        let rows = told("php-fpm.app", page);
        assert_eq!(
            (rows[0].number, rows[0].used, rows[0].refused, rows[0].binds),
            (Some(5), Some(4), Some(4), true)
        );
        assert_eq!((rows[1].number, rows[1].used, rows[1].binds), (Some(511), Some(2), true));
        assert!(told("php-fpm.app", b"<html>")[0].from.contains("not told"));
    }
}
