//! `samovar upstream`: what members do, and changes to them. Not here: what the server makes of it.

use super::client::{ask, quote};
use super::show::{self, bytes, safe, table};
use super::{Failed, Server};
use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Map, Value};
use std::process::ExitCode;

type Outcome = Result<ExitCode, Failed>;

/// `samovar upstream …`.
#[derive(Debug, Subcommand)]
pub enum UpstreamCommand {
    /// Every member: elected, busy, load, bytes to and from it, errors, latency, and why it is not asked.
    List {
        /// Only this upstream.
        upstream: Option<String>,
        #[command(flatten)]
        server: Server,
    },
    /// Change how a member is chosen, or a member's share, set, route; holds at once.
    Set {
        #[command(flatten)]
        which: Set,
        /// Write it into the configuration file, too.
        #[arg(long)]
        keep: bool,
        #[command(flatten)]
        server: Server,
    },
    /// A member takes only the sessions that are on it already.
    Drain {
        #[command(flatten)]
        member: Member,
    },
    /// A member takes nothing.
    Disable {
        #[command(flatten)]
        member: Member,
    },
    /// A member takes work again; what was held against it is forgotten.
    Enable {
        #[command(flatten)]
        member: Member,
    },
}

/// A member, and whether what is done to it is kept.
#[derive(Debug, Args)]
#[group(skip)]
pub struct Member {
    /// The upstream.
    upstream: String,
    /// The member: its name, its route, or its number counted from 1.
    member: String,
    /// Write it into the configuration file, too.
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    server: Server,
}

/// What `samovar upstream set` changes.
#[derive(Debug, Args)]
#[group(skip)]
pub struct Set {
    /// The upstream.
    upstream: String,
    /// The member: its name, its route, or its number counted from 1. Not with --balance.
    #[arg(required_unless_present = "balance", conflicts_with = "balance")]
    member: Option<String>,
    /// How a member is chosen: requests, traffic, busyness, latency, two-choices, hash.
    #[arg(long, value_name = "HOW", conflicts_with_all = ["weight", "set", "standby", "route"])]
    balance: Option<String>,
    /// Its share beside the others.
    #[arg(long, value_name = "N")]
    weight: Option<u32>,
    /// Members of a higher set take work only when none of the lower ones can.
    #[arg(long, value_name = "N")]
    set: Option<u32>,
    /// Whether it takes work only when no other member of its set can.
    #[arg(long, value_name = "BOOL")]
    standby: Option<bool>,
    /// What a session's cookie calls it.
    #[arg(long, value_name = "ROUTE")]
    route: Option<String>,
}

/// Runs it.
pub fn run(command: UpstreamCommand) -> Outcome {
    match command {
        UpstreamCommand::List { upstream, server } => list(&server, upstream.as_deref()),
        UpstreamCommand::Set { which, keep, server } => set(&server, which, keep),
        UpstreamCommand::Drain { member } => state(&member, "drain"),
        UpstreamCommand::Disable { member } => state(&member, "disabled"),
        UpstreamCommand::Enable { member } => state(&member, "enabled"),
    }
}

fn list(server: &Server, only: Option<&str>) -> Outcome {
    let value = ask(server, Method::GET, "/v1/upstreams", None)?;
    let mut all = value.as_array().cloned().unwrap_or_default();
    if let Some(only) = only {
        let known: Vec<String> = all.iter().map(|u| text(u, "name")).collect();
        all.retain(|u| text(u, "name") == only);
        if all.is_empty() {
            return Err(Failed::from(format!(
                "no upstream is named {only:?}; there are {}",
                known.join(", ")
            )));
        }
    }
    if server.json {
        return show::json(&Value::Array(all));
    }
    if all.is_empty() {
        return show::out("there are no upstreams");
    }
    show::out(&all.iter().map(drawn).collect::<Vec<_>>().join("\n"))
}

fn drawn(upstream: &Value) -> String {
    let members = upstream.get("members").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let rows: Vec<Vec<String>> = members.iter().map(row).collect();
    let bound = upstream.get("max_connections").and_then(Value::as_u64);
    let bound = bound.map_or_else(String::new, |n| format!(", {n} at once"));
    let waiting = number(upstream, "waiting");
    let once = match text(upstream, "reuse_after_body").as_str() {
        "never" => ", no connection used again after a body",
        _ => "",
    };
    let (name, balance) = (text(upstream, "name"), text(upstream, "balance"));
    let head = format!("{name}: by {balance}{bound}, {waiting} waiting{once}\n");
    let heads = [
        "MEMBER", "STATE", "WEIGHT", "SET", "ROUTE", "ELECTED", "BUSY", "LOAD", "TO", "FROM", "ERRORS",
        "LATENCY", "WHY NOT",
    ];
    head + &table(&heads, &rows)
}

fn row(member: &Value) -> Vec<String> {
    let standby = member.get("standby") == Some(&Value::Bool(true));
    let us = number(member, "latency_us");
    let latency = match us {
        0 => "-".to_owned(),
        1..1_000 => format!("{us} µs"),
        _ => format!("{}.{:01} ms", us / 1_000, us % 1_000 / 100),
    };
    let aside = member.get("aside_for_ms").and_then(Value::as_u64);
    let aside =
        aside.map_or_else(String::new, |ms| format!(", for another {}.{} s", ms / 1_000, ms % 1_000 / 100));
    let why = match text(member, "unusable").as_str() {
        "" => String::new(),
        code => format!("{code}{aside}"),
    };
    vec![
        text(member, "name"),
        format!("{}{}", text(member, "state"), if standby { ", standby" } else { "" }),
        number(member, "weight").to_string(),
        number(member, "set").to_string(),
        text(member, "route"),
        number(member, "elected").to_string(),
        number(member, "busy").to_string(),
        format!("{:.1}", member.get("load").and_then(Value::as_f64).unwrap_or(0.0)),
        bytes(number(member, "to_bytes")),
        bytes(number(member, "from_bytes")),
        number(member, "errors").to_string(),
        latency,
        why,
    ]
}

fn set(server: &Server, which: Set, keep: bool) -> Outcome {
    let Set { upstream, member, balance, weight, set, standby, route } = which;
    let mut body = Map::new();
    body.insert("keep".into(), keep.into());
    let path = match member {
        None => {
            body.insert("balance".into(), balance.into());
            format!("/v1/upstreams/{}", quote(&upstream))
        }
        Some(member) => {
            let pairs = [
                ("weight", weight.map(Value::from)),
                ("set", set.map(Value::from)),
                ("standby", standby.map(Value::from)),
                ("route", route.map(Value::from)),
            ];
            body.extend(pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
            format!("/v1/upstreams/{}/members/{}", quote(&upstream), quote(&member))
        }
    };
    changed(server, &path, body)
}

fn state(member: &Member, word: &str) -> Outcome {
    let mut body = Map::new();
    body.insert("state".into(), word.into());
    body.insert("keep".into(), member.keep.into());
    let path = format!("/v1/upstreams/{}/members/{}", quote(&member.upstream), quote(&member.member));
    changed(&member.server, &path, body)
}

fn changed(server: &Server, path: &str, body: Map<String, Value>) -> Outcome {
    let value = ask(server, Method::PATCH, path, Some(&Value::Object(body)))?;
    if server.json {
        return show::json(&value);
    }
    for warning in value.get("warnings").and_then(Value::as_array).into_iter().flatten() {
        crate::say!("{}", warning.as_str().unwrap_or_default());
    }
    show::out(&drawn(&value))
}

fn text(value: &Value, name: &str) -> String {
    safe(value.get(name).and_then(Value::as_str).unwrap_or_default())
}

fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}
