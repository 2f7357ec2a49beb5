//! Files as a person would write them, and what is said to be lost.
//!
//! Not here: any scenario at all (`properties`).

use super::*;
use crate::wcat::scenario::{Scenario, Step};
use crate::wcat::{Gathered, Source, gather};

pub(super) fn read(files: &[&str]) -> Gathered {
    let source = |(at, text): (usize, &&str)| Source { name: format!("file {at}"), text: (*text).to_owned() };
    let sources: Vec<Source> = files.iter().enumerate().map(source).collect();
    match gather(&sources) {
        Ok(mut gathered) => {
            assert_eq!(gathered.warnings, [] as [&str; 0], "{files:?}");
            gathered.scenario = gathered.scenario.without_places();
            gathered
        }
        Err(wrong) => panic!("{wrong}{}", files.join("\n---\n")),
    }
}

fn plan(text: &str) -> Gathered {
    read(&[text])
}

#[test]
fn a_scenario_of_6_3_as_a_person_would_write_it() {
    let plan = plan(
        r#"
[run]
name = "Gallery"
server = ["a", "b:81"]
machines = 2
clients = 10
warmup = "30s"
most_per_second = 5
[[run.counters]]
host = "web"
paths = ['Processor(_Total)\% Processor Time', "x"]
[request]
version = "1.1"
expect = 200
header = "Host: {server}"
[[round]]
name = "two \"pages\""
weight = 3
steps = [
  { get = "/a?n={rand 1 8}", name = "front" },
  { pause = "250ms" },
  { post = "/b", body = "{file form.dat}x", expect = 404, connection = "reset" },
  { goto = { front = 1, "/b" = 2 } },
  { goto = 2 },
  { connection = "close" },
]
"#,
    );
    let written = ubr(&plan.scenario, &plan.settings);
    assert_eq!(written.lost, [] as [&str; 0]);
    assert_eq!(
        written.scenario,
        r#"scenario
{
    name = "Gallery";
    warmup = 30;
    throttlerps = 5;
    default
    {
        version = HTTP11;
        cookies = false;
        setheader { name = "Host"; value = server(); }
    }

    transaction
    {
        id = "two \"pages\"";
        weight = 3;
        request
        {
            id = "front";
            url = "/a?n=" + rand("1", "8");
        }
        sleep { id = "step 2"; delay = 250; }
        request
        {
            id = "/b";
            url = "/b";
            verb = POST;
            statuscode = 404;
            close = reset;
            postdata = <form.dat> + "x";
        }
        branch
        {
            goto { id = "front"; weight = 1; }
            goto { id = "/b"; weight = 2; }
        }
        branch
        {
            goto { id = "step 2"; weight = 1; }
        }
        close { method = graceful; }
    }
}
"#
    );
    assert_eq!(
        written.settings.unwrap(),
        r#"settings
{
    server = "a, b:81";
    clients = 2;
    virtualclients = 10;
    counters
    {
        interval = 10;
        host = "web";
        counter = "Processor(_Total)\\% Processor Time";
        counter = "x";
    }
}
"#
    );
}

#[test]
fn the_three_files_of_5_as_a_person_would_write_them() {
    let plan = plan(
        r#"
[run]
warmup = "5s"
duration = "30s"
cooldown = "1500ms"
machines = 1
clients = 20
think = "1s"
comment = "a # b"
machine_steps = { from = 1, to = 3 }
[[round]]
name = "class 7"
weight = 30
steps = [
  { get = "http://localhost/a.jpg", connection = "close" },
  { post = "/b", tls = true, port = 81, server = "h", body = "{file x}", header = ["A: b", 'C: "d"'] },
]
[[round]]
name = "class 2"
steps = { get = "/#", connection = "close" }
"#,
    );
    let written = five(&plan.scenario, &plan.settings);
    assert_eq!(written.lost, [] as [&str; 0]);
    assert_eq!(
        written.script,
        r#"NEW TRANSACTION
    classId = 7
    NEW REQUEST HTTP
        Verb = "GET"
        URL = "http://localhost/a.jpg"
    NEW REQUEST HTTP
        Verb = "POST"
        URL = "/b"
        Server = "h"
        ServerPort = 81
        SSL = true
        KeepAlive = true
        RequestHeader = "A: b\r\nC: \"d\"\r\n"
        RequestData = FILE "x"
NEW TRANSACTION
    classId = 2
    NEW REQUEST HTTP
        Verb = "GET"
        URL = "/#"
"#
    );
    assert_eq!(written.distribution, "7 30\n2 1\n");
    assert_eq!(
        written.config,
        "WarmupTime 5s\nDuration 30s\nCooldownTime 1500ms\nThinkTime 1s\nNumClientMachines 1\nNumClientThreads \
         20\nClientMachinesMin 1\nClientMachinesMax 3\nClientMachinesIncrement 1\nComment \"a # b\"\n"
    );
}

#[test]
fn a_list_of_urls() {
    let text = |steps: &str, run: &str| {
        let plan = plan(&format!("[run]\n{run}\n[[round]]\nsteps = [{steps}]\n"));
        let written = urls(&plan.scenario, &plan.settings);
        assert_eq!(written.lost, [] as [&str; 0], "{steps} {run}");
        written.text
    };
    assert_eq!(text("'/a', '/b?c'", ""), "/a\n/b?c\n");
    assert_eq!(text("'/a', 'http://o/b'", "server = 'h:81'"), "http://h:81/a\nhttp://o/b\n");
    assert_eq!(
        text("{ get = '/a', port = 82 }, { get = '/b', tls = true, server = 's' }", "server = 'h:81'"),
        "http://h:82/a\nhttps://s/b\n"
    );
    assert_eq!(text("{ get = '/a', port = 82 }", "server = '[::1]'"), "http://[::1]:82/a\n");
    assert_eq!(text("{ get = '/a', port = 82 }", "server = '[::1]:81'"), "http://[::1]:82/a\n");
}

/// All that cannot be said, by name.
#[test]
fn what_is_lost_is_told() {
    let plan = plan(
        r#"
[run]
name = "n"
server = ["a", "b;c"]
warmup = "1500ms"
most_per_second = 5
think = "1s"
bind = "10.0.0.1"
machine_steps = { from = 1, to = 3 }
comment = "x\ny"
[[run.counters]]
paths = "x"
[[round]]
name = "first"
steps = [
  { get = "/{rand 1 2}", name = "p" },
  {
    method = "purge",
    url = "/b",
    name = "q",
    cookies = true,
    redirects = true,
    version = "1.0",
    connection = "reset",
    header = ["A: b", { add = "A: c" }],
    body = "1\n2",
  },
  { pause = "1s" },
  { connection = "close" },
  { goto = 4 },
]
[[round]]
weight = 2
steps = { get = "/c", expect = 200, body = "{file x>}" }
"#,
    );
    let (scenario, settings) = (&plan.scenario, &plan.settings);
    assert_eq!(
        ubr(scenario, settings).lost,
        [
            "parts of a second (`warmup` is 2 s and not 1500 ms)",
            "any status below 400 as right (200 is expected): `p`, `q`",
            "small letters in methods: `q`",
            "line breaks in texts: `q`, `the comment`",
            "jumps to a jump or to the end of a connection: `first`",
            "a file of the name `x>`: `/c`",
            "the pause before each page (`think`)",
            "machines that come one after the other (`machine_steps`)",
            "a name in `server`: `b;c`",
        ]
    );
    assert_eq!(
        five(scenario, settings).lost,
        [
            "pauses between requests: `first`",
            "ends of connections that are steps of their own: `first`",
            "jumps: `first`",
            "a request whose URL is another each time: `p`",
            "a body that has line breaks, or both \" and #: `q`",
            "names of requests: `q`",
            "small letters in methods: `q`",
            "a second field `A`: `q`",
            "HTTP/1.0 (HTTP/1.1 is spoken): `q`",
            "cookies that are sent and taken: `q`",
            "redirects that are followed: `q`",
            "a reset of the connection (it is closed): `q`",
            "names of transactions (they stand in comments): `first`, `round 2`",
            "the status that is right (any below 400 is): `/c`",
            "the scenario's name",
            "the most requests a second (`throttlerps`)",
            "the comment, which has line breaks, or both \" and #",
            "the servers: a, b;c (they are named when it is run)",
            "the addresses of the clients (`bind`)",
            "counters",
        ]
    );
    assert_eq!(
        urls(scenario, settings).lost,
        [
            "pauses: `first`",
            "ends of connections: `first`",
            "jumps: `first`",
            "a request whose URL is another each time: `p`",
            "names of requests: `q`",
            "methods other than GET: `q`",
            "HTTP/1.0: `q`",
            "cookies that are sent and taken: `q`",
            "redirects that are followed: `q`",
            "bodies: `q`, `/c`",
            "connections that end after the answer: `q`",
            "header fields: `q`",
            "the status that is right: `/c`",
            "rounds chosen by weight (a list is asked in turn)",
            "the scenario's name",
            "how long (warm-up, duration, cool-down)",
            "the most requests a second",
            "how many clients",
            "the pause before each page (`think`)",
            "several servers in turn",
            "the addresses of the clients (`bind`)",
            "counters",
            "the comment",
        ]
    );
}

/// Where nothing can be asked, there is no script.
#[test]
fn what_cannot_be_asked_is_left_out() {
    let nothing = plan("[[round]]\nsteps = [\"/{client}\", { get = \"/\", server = \"{client}\" }]\n");
    assert_eq!(five(&nothing.scenario, &nothing.settings).script, "");
    assert_eq!(urls(&nothing.scenario, &nothing.settings).text, "");
    let scenario =
        plan("[[round]]\nweight = 0\nsteps = \"/\"\n[[round]]\nsteps = [\"/{client}\"]\n").scenario;
    assert_eq!(five(&scenario, &nothing.settings).script, "", "nothing that has a weight");
}

#[test]
fn a_jump_leads_where_it_did_whatever_others_are_called() {
    for (steps, lost) in [
        // Both are called as their URL, and only the second needs an id.
        (r#""/a", "/a", { goto = 2 }"#, 0),
        (r#"{ get = "/a", name = "x" }, { get = "/b", name = "x" }, { goto = 2 }"#, 1),
        (
            r#"{ pause = "1s" }, { get = "/b", name = "step 1" }, { goto = [{ to = 1 }, { to = "step 1" }] }"#,
            0,
        ),
        (r#"{ get = "/", name = "a\nb" }, { get = "/b", name = "ab" }, { goto = 2 }, { goto = 1 }"#, 1),
        // What follows a jump that is left out is called by its new place.
        (
            r#"{ goto = 2 }, { connection = "close" }, { get = "/{client}", name = "x" }, "/{client}", { goto = "x" }"#,
            1,
        ),
    ] {
        let plan = plan(&format!("[request]\nexpect = 200\n[[round]]\nsteps = [{steps}]\n"));
        let written = ubr(&plan.scenario, &plan.settings);
        assert_eq!(written.lost.len(), lost, "{steps}: {:?}", written.lost);
        let again = read(&[&written.scenario]).scenario;
        let jumps = |scenario: &Scenario| {
            let steps = &scenario.transactions[0].steps;
            let url = |at: usize| match &steps[at] {
                Step::Request(request) => format!("{:?}", request.url),
                other => format!("{other:?}"),
            };
            let each = steps.iter().filter_map(|step| match step {
                Step::Branch(targets) => Some(targets.iter().map(|(at, _)| url(*at)).collect::<Vec<_>>()),
                _ => None,
            });
            each.filter(|to| !to[0].starts_with("Close")).collect::<Vec<_>>()
        };
        assert_eq!(jumps(&again), jumps(&plan.scenario), "{steps}");
    }
}
