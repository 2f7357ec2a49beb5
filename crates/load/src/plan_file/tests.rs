//! Plans as people write them, what they get wrong, and any plan at all, written and read again.

use super::*;
use crate::wcat::arbitrary::{scenario, settings};
use crate::wcat::{
    Counter, Field, Manner, Note, Part, Request, Severity, Source, Step, Value, Version, gather, outline,
};
use proptest::prelude::*;

fn read_plan(text: &str) -> (PlanFile, Vec<Note>) {
    let mut notes = Vec::new();
    (read(text, &mut notes), notes)
}

fn text(text: &str) -> Value {
    vec![Part::Text(text.to_owned())]
}

const GALLERY: &str = r#"
# A gallery, two pages of it.
[run]
name = "Gallery"
server = ["localhost:8080", "other"]
machines = 2
clients = 10
warmup = "30s"
duration = "2m"
cooldown = "10s"
most_per_second = 500
think = "500ms"
machine_steps = { from = 1, to = 10, by = 2 }
bind = "10.0.0.1"

[[run.counters]]
host = "web"
every = "5s"
paths = ['Processor(_Total)\% Processor Time', 'x']

[request]
expect = 200
header = ["Accept-Language: de", "Host: {server}"]

[[round]]
name = "two pages"
weight = 3
steps = [
  "/index.php?n={rand 1 100}",
  { get = "/b", name = "front", expect = "any", header = [{ add = "Accept-Language: en" }] },
  { pause = ["100ms", "1s"] },
  { post = "/login", body = '{"user": "x{client}"}', connection = "reset", version = "1.0" },
  { method = "PURGE", url = "/b", header = "accept-language: es", port = 81, server = "b", tls = true },
  { goto = { front = 1, "/login" = 2 } },
  { goto = 3 },
  { goto = [{ to = 3 }, { to = "front", weight = 4 }] },
  { connection = "close" },
]

[[round]]
steps = "/"
"#;

#[test]
fn a_plan() {
    let (plan, notes) = read_plan(GALLERY);
    assert_eq!(notes, []);
    let (scenario, settings) = (plan.scenario, plan.settings);
    assert_eq!(
        (scenario.name.as_str(), scenario.warmup_ms, scenario.duration_ms, scenario.cooldown_ms),
        ("Gallery", Some(30_000), Some(120_000), Some(10_000))
    );
    assert_eq!((scenario.throttle_per_s, settings.think_ms), (Some(500), 500));
    assert_eq!((settings.clients, settings.virtual_clients), (Some(2), Some(10)));
    assert_eq!((settings.steps, &settings.bind[..]), (Some((1, 10, 2)), &["10.0.0.1".to_owned()][..]));
    assert_eq!(settings.servers, ["localhost:8080", "other"]);
    let counter = |path: &str| Counter { host: "web".into(), interval_s: 5, path: path.into() };
    assert_eq!(settings.counters, [counter("Processor(_Total)\\% Processor Time"), counter("x")]);

    let [first, second] = &scenario.transactions[..] else { panic!() };
    assert_eq!((first.id.as_str(), first.weight, first.steps.len()), ("two pages", 3, 9));
    assert_eq!((second.id.as_str(), second.weight, second.steps.len()), ("round 2", 1, 1));
    let request = |at: usize| match &first.steps[at] {
        Step::Request(request) => Request { span: 0..0, ..(**request).clone() },
        other => panic!("{other:?}"),
    };
    let field = |name: &str, value: Value, replaces| Field { name: text(name), value, replaces };
    let fields = vec![field("Accept-Language", text("de"), true), field("Host", vec![Part::Server], true)];
    let plain = Request { status: Some(200), fields: fields.clone(), ..Request::plain() };
    assert_eq!(
        request(0),
        Request {
            id: "request 1".into(),
            url: vec![Part::Text("/index.php?n=".into()), Part::Random(1, 100)],
            ..plain.clone()
        }
    );
    let with = |field: Field| fields.iter().cloned().chain([field]).collect::<Vec<_>>();
    assert_eq!(
        request(1),
        Request {
            id: "front".into(),
            url: text("/b"),
            status: None,
            fields: with(field("Accept-Language", text("en"), false)),
            ..plain.clone()
        }
    );
    assert_eq!(first.steps[2], Step::Sleep(vec![Part::Random(100, 1_000)]));
    assert_eq!(
        request(3),
        Request {
            id: "/login".into(),
            url: text("/login"),
            verb: "POST".into(),
            body: Some(vec![
                Part::Text("{\"user\": \"x".into()),
                Part::VirtualClientIndex,
                Part::Text("\"}".into())
            ]),
            close: Manner::Reset,
            version: Version::Http10,
            ..plain.clone()
        }
    );
    let purge = request(4);
    assert_eq!((purge.verb.as_str(), purge.port, purge.secure), ("PURGE", Some(81), true));
    assert_eq!((purge.server, purge.fields.len()), (Some(text("b")), 2), "in the place of the common one");
    assert_eq!(purge.fields[1], field("accept-language", text("es"), true));
    assert_eq!(first.steps[5], Step::Branch(vec![(1, 1), (3, 2)]));
    assert_eq!(first.steps[6], Step::Branch(vec![(2, 1)]));
    assert_eq!(first.steps[7], Step::Branch(vec![(2, 1), (1, 4)]));
    assert_eq!(first.steps[8], Step::Close(Manner::Graceful));
}

/// A person lays it out like this.
#[test]
fn what_is_written_is_pleasant() {
    let (plan, _) = read_plan(GALLERY);
    assert_eq!(
        write(&plan.scenario, &plan.settings),
        r#"[run]
name = "Gallery"
server = ["localhost:8080", "other"]
machines = 2
machine_steps = { from = 1, to = 10, by = 2 }
clients = 10
bind = "10.0.0.1"
warmup = "30s"
duration = "2m"
cooldown = "10s"
most_per_second = 500
think = "500ms"

[[run.counters]]
host = "web"
every = "5s"
paths = ['Processor(_Total)\% Processor Time', "x"]

[request]
expect = 200
header = ["Accept-Language: de", "Host: {server}"]

[[round]]
name = "two pages"
weight = 3
steps = [
  "/index.php?n={rand 1 100}",
  { get = "/b", name = "front", expect = "any", header = [{ add = "Accept-Language: en" }] },
  { pause = ["100ms", "1s"] },
  { post = "/login", version = "1.0", connection = "reset", body = '{"user": "x{client}"}' },
  { method = "PURGE", url = "/b", server = "b", port = 81, tls = true, header = ["accept-language: es"] },
  { goto = { front = 1, "/login" = 2 } },
  { goto = 3 },
  { goto = [{ to = 3, weight = 1 }, { to = "front", weight = 4 }] },
  { connection = "close" },
]

[[round]]
steps = [
  "/",
]
"#
    );
    assert_eq!(write(&Scenario::default(), &Settings::default()), "\n");
}

#[test]
fn what_is_wrong_is_told_where_it_stands() {
    let one = |step: &str| format!("[[round]]\nsteps = [\"/a\", {step}]\n");
    let run = |line: &str| format!("[run]\n{line}\n[[round]]\nsteps = \"/\"\n");
    for (text, marked, message, mend) in [
        (run("clinets = 1"), "clinets", "`[run]` has no `clinets`", "did you mean `clients`?"),
        (
            run("virtualclients = 1"),
            "virtualclients",
            "`[run]` has no `virtualclients`",
            "here it is called `clients`",
        ),
        (run("clients = \"10\""), "\"10\"", "`clients` is a whole number, not a text", "take the quotes off"),
        (run("clients = -1"), "-1", "`clients` cannot be -1", "a number from 0"),
        (
            run("duration = 30"),
            "30",
            "`duration` is a time, not a whole number",
            "say of what: \"30s\" or \"30ms\"",
        ),
        (run("duration = \"30\""), "\"30\"", "`30` is no time", "like \"500ms\""),
        (run("duration = \"2m"), "", "this is not TOML: invalid basic string", ""),
        (run("name = 1\nname = 2"), "name", "`name` is said twice", "say it once"),
        (run("name = x"), "x", "this is not TOML: ", "texts and times stand in"),
        (
            run("counters = [{ every = \"1500ms\", paths = \"x\" }]"),
            "\"1500ms\"",
            "`1500ms` is no time",
            "whole seconds",
        ),
        (run("counters = [{ host = \"x\" }]"), "{ host = \"x\" }", "nothing is counted", "paths = "),
        (
            run("machine_steps = { from = 1 }"),
            "{ from = 1 }",
            "`machine_steps` needs `from` and `to`",
            "by = 1",
        ),
        (
            "name = \"x\"\n[[round]]\nsteps = \"/\"\n".into(),
            "name",
            "`name` stands outside of every table",
            "below `[run]`",
        ),
        ("[rum]\n".into(), "rum", "a plan has no `rum`", "did you mean `run`?"),
        ("[settings]\n".into(), "settings", "a plan has no `settings`", "here it is called `run`"),
        ("[round]\nsteps = \"/\"\n".into(), "[round]", "`round` is a list, not a table", "two brackets"),
        (
            "[[round]]\nweight = 0\nsteps = \"/\"\n".into(),
            "",
            "there is no round that could be chosen",
            "above 0",
        ),
        ("[[round]]\nsteps = []\n".into(), "[[round]]", "the round asks for nothing", "steps = [\"/\"]"),
        ("[request]\nexpect = 200\n".into(), "request", "the plan has no round that could ask", "[[round]]"),
        (
            "[request]\nurl = \"/\"\n[[round]]\nsteps = \"/\"\n".into(),
            "url",
            "`url` is each request's own",
            "in the steps",
        ),
        (one("1"), "1", "a step is a URL, or a table", "a step has one of"),
        (one("{}"), "{}", "the step does nothing", "a step has one of"),
        (one("{ gte = \"/\" }"), "gte", "a step has no `gte`", "did you mean `get`?"),
        (one("{ sleep = \"1s\" }"), "sleep", "a step has no `sleep`", "here it is called `pause`"),
        (
            one("{ get = \"/\", pause = \"1s\" }"),
            "pause",
            "a step does one thing, and not both `get` and `pause`",
            "two steps",
        ),
        (one("{ pause = \"1s\", expect = 200 }"), "expect", "a pause has no `expect`", "it has: pause, name"),
        (
            one("{ pause = [\"2s\", \"1s\"] }"),
            "[\"2s\", \"1s\"]",
            "a pause that differs has two bounds",
            "the shorter first",
        ),
        (
            one("{ get = \"/\", statuscode = 200 }"),
            "statuscode",
            "a request has no `statuscode`",
            "here it is called `expect`",
        ),
        (one("{ get = \"/\", expect = 99 }"), "99", "`expect` cannot be 99", "from 100 to 599"),
        (one("{ get = \"/\", expect = \"all\" }"), "\"all\"", "`expect` is a status, not a text", "\"any\""),
        (one("{ get = \"/\", version = \"2\" }"), "\"2\"", "`version` cannot be `2`", "\"1.1\" or \"1.0\""),
        (
            one("{ get = \"/\", version = 1.1 }"),
            "1.1",
            "`version` is a text, not a number with a fraction",
            "quotes",
        ),
        (one("{ get = \"/\", port = 65536 }"), "65536", "`port` cannot be 65536", "from 1 to 65535"),
        (
            one("{ get = \"/\", tls = \"yes\" }"),
            "\"yes\"",
            "`tls` is true or false, not a text",
            "without quotes",
        ),
        (one("{ get = \"/\", header = \"x\" }"), "\"x\"", "`x` is no field", "Name: value"),
        (
            one("{ get = \"/\", header = [{ value = \"x\" }] }"),
            "{ value = \"x\" }",
            "the field has no name",
            "Name: value",
        ),
        (one("{ get = \"/\", method = \"PUT\" }"), "method", "the method is `get` already", "url ="),
        (one("{ url = \"/\", method = \"P T\" }"), "\"P T\"", "this is no method", "GET"),
        (one("{ get = \"\" }"), "\"\"", "the request has no URL", "at least"),
        (one("\"/{ran 1 2}\""), "{ran 1 2}", "there is no placeholder `ran`", "did you mean `rand`?"),
        (
            one("\"\\u002f{ran 1 2}\""),
            "\"\\u002f{ran 1 2}\"",
            "there is no placeholder `ran`",
            "did you mean `rand`?",
        ),
        (one("{ goto = \"b\" }"), "\"b\"", "no step of this round is called `b`", "there are: `/a`"),
        (one("\"/a\", { goto = \"/a\" }"), "\"/a\"", "steps 1 and 2 are both called `/a`", "another `name`"),
        (one("{ goto = 3 }"), "3", "there is no step 3", "from 1 to 2"),
        (one("{ goto = 0 }"), "0", "`goto` cannot be 0", "from 1"),
        (one("{ goto = { \"/a\" = 0 } }"), "{ \"/a\" = 0 }", "the jump leads nowhere", "above 0"),
        (one("{ goto = [{ weight = 1 }] }"), "{ weight = 1 }", "the jump does not say where to", "to = 3"),
        (
            one("{ connection = \"ka\" }"),
            "\"ka\"",
            "`connection` cannot be `ka`",
            "\"keep\" or \"close\" or \"reset\"",
        ),
    ] {
        let (_, notes) = read_plan(&text);
        let found = notes.iter().find(|note| note.message.starts_with(message));
        let Some(note) = found else { panic!("{text}\n{notes:?}") };
        assert!(note.mend.contains(mend), "{text}\n{note:?}");
        let shown = text.get(note.span.clone()).unwrap();
        assert!(if marked.is_empty() { true } else { shown == marked }, "{text}\n{shown}");
        assert_eq!(notes.len(), 1, "{text}\n{notes:?}");
    }
}

#[test]
fn a_note_is_shown_with_its_line() {
    let text = "[run]\nclients = 10\n\n[[round]]\nsteps = [\n  { get = \"/\", expct = 200 },\n]\n";
    let source = Source { name: "plan.toml".into(), text: text.into() };
    assert_eq!(
        gather(&[source]).unwrap_err(),
        "plan.toml:6:16: error: a request has no `expct`\n 6 |   { get = \"/\", expct = 200 },\n   |                \
         ^^^^^\n   = mend: did you mean `expect`?\n"
    );
}

#[test]
fn plans_are_known_and_put_together_with_others() {
    let source = |text: &str| Source { name: "x".into(), text: text.into() };
    let told = |texts: &[&str]| {
        gather(&texts.iter().map(|text| source(text)).collect::<Vec<_>>()).map(|gathered| outline(&gathered))
    };
    let rounds = "[[round]]\nsteps = \"/\"\n";
    for text in [
        rounds,
        "round = [{ steps = \"/\" }]",
        "run.clients = 4\n[[round]]\nsteps = '/'",
        "# x\n\n[[ round ]]\nsteps='/'",
    ] {
        assert!(told(&[text]).unwrap().contains("GET / HTTP/1.1"), "{text}");
    }
    let run = "[run]\nname = \"x\"\nclients = 4\nduration = \"5s\"\nmost_per_second = 3\n";
    for other in [
        rounds,
        "/\n",
        "scenario { transaction { request { url = \"/\"; } } }",
        "NEW TRANSACTION\nNEW REQUEST HTTP\nURL = \"/{\"\n",
    ] {
        let told = told(&[other, run]).unwrap();
        assert!(
            told.starts_with("x: 0 s before, 5 s measured, 0 s after\n4 virtual clients: 1 (not said) × 4"),
            "{told}"
        );
        assert!(told.contains("at most 3 requests"), "{told}");
    }
    for (texts, want) in [
        (&[run][..], "none of these files says what to ask"),
        (&[rounds, rounds], "another file has a `scenario` already"),
        (&[rounds, "/\n"], "another file has a `scenario` already"),
        (&[rounds, run, run], "another file has a `[run]` alone already"),
        (&[rounds, run, "settings { clients = 2; }"], "another file has a `settings` already"),
        (&["/\n", "/\n"], "there is a list of URLs already"),
    ] {
        let wrong = told(texts).unwrap_err();
        assert!(wrong.contains(want), "{texts:?}: {wrong}");
    }
}

#[test]
fn lists_of_urls_beside_settings() {
    let told = |list: &str, run: &str| {
        let sources = [list, run].map(|text| Source { name: "x".into(), text: text.into() });
        outline(&gather(&sources).unwrap())
    };
    let run = "[run]\nserver = \"other\"\n";
    let plain = told("http://h:81/a\n", "[run]\nclients = 1\n");
    assert!(plain.contains("server: h:81\n") && plain.ends_with("GET /a HTTP/1.1\n"), "{plain}");
    let own = told("http://h:81/a\n", run);
    assert!(own.contains("server: other\n") && own.ends_with("GET /a HTTP/1.1, of h, port 81\n"), "{own}");
    assert!(told("/a\n", run).ends_with("GET /a HTTP/1.1\n"));
}

proptest! {
    /// Everything that a scenario and its settings can say, a plan can say.
    #[test]
    fn what_is_written_is_read_again(scenario in scenario(), settings in settings()) {
        let text = write(&scenario, &settings);
        let (plan, notes) = read_plan(&text);
        prop_assert_eq!(&notes, &[], "{}", text);
        prop_assert_eq!(plan.scenario.without_places(), scenario, "{}", text);
        prop_assert_eq!(plan.settings, settings, "{}", text);
    }

    /// Whatever is written, it is read or refused with its place; and what was read can be written.
    #[test]
    fn whatever_is_written_is_read(
        text in "(\\[\\[round\\]\\]\n|\\[run\\]\n|\\[request\\]\n|steps|get|goto|pause|header|name|to|=|,|\\{|\\}|\\[|\\]|\"/\"|'\\{rand 1 2\\}'|\"1s\"|[0-9]|\n| |\\PC){0,50}"
    ) {
        let (plan, notes) = read_plan(&text);
        let source = Source { name: "x".into(), text };
        for note in &notes {
            prop_assert!(source.text.get(note.span.clone()).is_some(), "{note:?}");
            source.render(note);
        }
        if !notes.iter().any(|note| note.severity == Severity::Error) {
            let (again, notes) = read_plan(&write(&plan.scenario, &plan.settings));
            prop_assert_eq!(notes, []);
            prop_assert_eq!(again.scenario.without_places(), plan.scenario.without_places());
            prop_assert_eq!(again.settings, plan.settings);
        }
    }
}
