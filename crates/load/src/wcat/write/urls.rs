//! A list of URLs: what is asked, and nothing else.
//!
//! Not here: reading one (`wcat::urls`).

use super::lost::Lost;
use crate::wcat::common::of;
use crate::wcat::scenario::{Request, Scenario, Settings, Step, Transaction, constant};
use crate::wcat::urls::split;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Urls {
    /// One a line.
    pub text: String,
    /// What could not be said.
    pub lost: Vec<String>,
}

/// Writes the URLs of all requests, in the order of the file.
pub fn urls(scenario: &Scenario, settings: &Settings) -> Urls {
    let mut lost = Lost::default();
    let mut text = String::new();
    for transaction in &scenario.transactions {
        of_steps(transaction, &mut lost);
        for request in of(transaction) {
            match url(request, settings) {
                Ok(url) => {
                    text.push_str(&url);
                    text.push('\n');
                    of_request(request, &mut lost);
                }
                Err(why) => lost.of(format!("a request {why}"), &request.id),
            }
        }
    }
    of_run(scenario, settings, &mut lost);
    Urls { text, lost: lost.lines() }
}

/// What stands on the line of a request.
fn url(request: &Request, settings: &Settings) -> Result<String, &'static str> {
    let url = constant(&request.url).ok_or("whose URL is another each time")?;
    if url.contains(|c: char| !c.is_ascii_graphic()) || url.contains('#') {
        return Err("whose URL has characters that cannot stand in one");
    }
    let scheme = if request.secure { "https" } else { "http" };
    let server = match (&request.server, settings.servers.as_slice()) {
        (Some(server), _) => Some(constant(server).ok_or("whose server is another each time")?),
        (None, [server]) => Some(server.clone()),
        (None, _) => None,
    };
    let line = match (server, request.port) {
        _ if url.contains("://") => url,
        _ if !url.starts_with('/') || url.starts_with("//") => {
            return Err("whose URL is neither whole nor a path");
        }
        (None, None) if !request.secure => url,
        (None, _) => return Err("whose server is not named"),
        (Some(server), None) => format!("{scheme}://{server}{url}"),
        (Some(server), Some(port)) => {
            // Its own port takes the place of the server's; an address in brackets has colons of its own.
            let host_end = server.find(']').map_or_else(|| server.find(':'), |at| Some(at + 1));
            let host = host_end.and_then(|at| server.get(..at)).unwrap_or(&server);
            format!("{scheme}://{host}:{port}{url}")
        }
    };
    split(&line).map_err(|_| "whose server is none that can stand in a URL")?;
    Ok(line)
}

fn of_steps(transaction: &Transaction, lost: &mut Lost) {
    for step in &transaction.steps {
        let what = match step {
            Step::Request(_) => continue,
            Step::Sleep(_) => "pauses",
            Step::Branch(_) => "jumps",
            Step::Close(_) => "ends of connections",
        };
        lost.of(what, &transaction.id);
    }
}

fn of_request(request: &Request, lost: &mut Lost) {
    let plain = Request::plain();
    for (is_lost, what) in [
        (constant(&request.url).is_none_or(|url| url != request.id), "names of requests"),
        (request.verb != plain.verb, "methods other than GET"),
        (request.version != plain.version, "HTTP/1.0"),
        (request.status.is_some(), "the status that is right"),
        (request.cookies, "cookies that are sent and taken"),
        (request.redirect, "redirects that are followed"),
        (request.body.is_some(), "bodies"),
        (request.close != plain.close, "connections that end after the answer"),
        (!request.fields.is_empty(), "header fields"),
    ] {
        if is_lost {
            lost.of(what, &request.id);
        }
    }
}

fn of_run(scenario: &Scenario, settings: &Settings, lost: &mut Lost) {
    if scenario.transactions.len() > 1 {
        lost.all("rounds chosen by weight (a list is asked in turn)");
    }
    if scenario.transactions.len() == 1 && scenario.transactions.iter().any(|round| round.id != "round 1") {
        lost.all("the round's name");
    }
    let times = [scenario.warmup_ms, scenario.duration_ms, scenario.cooldown_ms];
    let clients = [settings.clients, settings.virtual_clients];
    for (is_lost, what) in [
        (!scenario.name.is_empty(), "the scenario's name"),
        (times.iter().any(Option::is_some), "how long (warm-up, duration, cool-down)"),
        (scenario.throttle_per_s.is_some(), "the most requests a second"),
        (clients.iter().any(Option::is_some) || settings.steps.is_some(), "how many clients"),
        (settings.think_ms > 0, "the pause before each page (`think`)"),
        (settings.servers.len() > 1, "several servers in turn"),
        (!settings.bind.is_empty(), "the addresses of the clients (`bind`)"),
        (!settings.counters.is_empty(), "counters"),
        (!settings.comment.is_empty(), "the comment"),
    ] {
        if is_lost {
            lost.all(what);
        }
    }
}
