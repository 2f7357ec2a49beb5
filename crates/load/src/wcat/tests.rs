//! The texts people had, what they got wrong with them, and whatever else could be in such a file.

use super::*;
use proptest::prelude::*;

fn read(text: &str) -> (Ubr, Vec<Note>) {
    let mut notes = Vec::new();
    (ubr(text, &mut notes), notes)
}

fn errors(notes: &[Note]) -> Vec<&str> {
    let errors = notes.iter().filter(|note| note.severity == Severity::Error);
    errors.map(|note| note.message.as_str()).collect()
}

const GALLERY: &str = r#"
// A gallery, two pages of it.
scenario
{
    name = "Gallery";
    warmup = 30; duration = 120; cooldown = 10;
    default
    {
        setheader { name = "Connection"; value = "keep-alive"; }
        setheader { name = "Host"; value = server(); }
        version = HTTP11;
        close   = ka;
    }
    transaction
    {
        id = "two pages"; weight = 3;
        request { id = "front"; url = "/index.php?Qiv=none&Qis=M"; statuscode = 200; }
        sleep { delay = 250; }
        request { url = "/img" + rand("1", "8") + ".jpg"; verb = get; addheader { name = "X-A"; value = "1"; } }
        branch { goto { id = "front"; weight = 1; } }
        close { method = reset; }
    }
}
"#;

#[test]
fn a_scenario() {
    let (ubr, notes) = read(GALLERY);
    assert_eq!(notes, []);
    let scenario = ubr.scenario.unwrap();
    assert_eq!(
        (scenario.name.as_str(), scenario.warmup_ms, scenario.duration_ms, scenario.cooldown_ms),
        ("Gallery", Some(30_000), Some(120_000), Some(10_000))
    );
    let [transaction] = &scenario.transactions[..] else { panic!() };
    assert_eq!((transaction.id.as_str(), transaction.weight, transaction.steps.len()), ("two pages", 3, 5));
    let [Step::Request(front), Step::Sleep(pause), Step::Request(image), Step::Branch(to), Step::Close(how)] =
        &transaction.steps[..]
    else {
        panic!("{transaction:?}")
    };
    assert_eq!(
        (front.id.as_str(), front.status, front.version, front.close),
        ("front", Some(200), Version::Http11, Manner::Keep)
    );
    assert_eq!(front.fields.len(), 2);
    assert_eq!(front.fields[1].value, [Part::Server]);
    assert_eq!(constant(pause).as_deref(), Some("250"));
    assert_eq!(image.url, [Part::Text("/img".into()), Part::Random(1, 8), Part::Text(".jpg".into())]);
    assert_eq!((image.verb.as_str(), image.fields.len(), image.id.as_str()), ("GET", 3, "request 3"));
    assert_eq!((&to[..], *how), (&[(0, 1)][..], Manner::Reset));
}

/// What stopped people at the time: a quote that was pasted, a semicolon left out, settings all commented out.
#[test]
fn what_can_only_mean_one_thing_is_understood_and_said() {
    let text = "scenario { transaction { request { url = \"/a?b=./c&d=M”; statuscode = 200 } } }";
    let (ubr, notes) = read(text);
    assert_eq!(errors(&notes), [] as [&str; 0]);
    let scenario = ubr.scenario.unwrap();
    let Step::Request(request) = &scenario.transactions[0].steps[0] else { panic!() };
    assert_eq!((constant(&request.url).as_deref(), request.status), (Some("/a?b=./c&d=M"), Some(200)));
    let said: Vec<&str> = notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(said, ["a typographic quote ends the string", "the semicolon is missing"]);
    let source = Source { name: "home.ubr".into(), text: text.into() };
    assert_eq!(
        source.render(&notes[0]),
        "home.ubr:1:55: warning: a typographic quote ends the string\n 1 | scenario { transaction { request { url = \
         \"/a?b=./c&d=M”; statuscode = 200 } } }\n   |                                                       ^\n   = \
         mend: write \"\n"
    );
    let (ubr, notes) = read("settings\n{\n//  clients = 10;\n//  virtualclients = 100;\n}");
    assert_eq!((notes.len(), ubr.settings), (0, Some(Settings::default())));
}

#[test]
fn settings() {
    let (ubr, notes) = read(
        "settings { clientfile = \"home.ubr\"; server = \"a, b\"; clients = 2; virtualclients = 100;\n\
         counters { interval = 5; host = \"web\"; counter = \"Processor(_Total)\\\\% Processor Time\"; } }",
    );
    let settings = ubr.settings.unwrap();
    assert_eq!(
        (settings.servers, settings.clients, settings.virtual_clients),
        (vec!["a".into(), "b".into()], Some(2), Some(100))
    );
    assert_eq!(settings.counters[0].path, "Processor(_Total)\\% Processor Time");
    assert_eq!((settings.counters[0].interval_s, notes.len()), (5, 0));
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    let one = |inside: &str| format!("scenario {{ transaction {{ request {{ url = \"/\"; {inside} }} }} }}");
    for (text, want) in [
        (one("statuscod = 200;"), "`request` has no `statuscod`"),
        (one("statuscode = 999;"), "this is no status"),
        (one("authentication = ntlm;"), "`authentication`: NTLM, Kerberos and Basic are not spoken"),
        (one("handler { }"), "handlers are code of Windows"),
        (one("url = \"/\" + roll(\"1\", \"6\");"), "`roll` cannot be called like this"),
        (one("url = rand(\"6\", \"1\");"), "`rand` needs its two bounds"),
        (one("url = \"/"), "the string has no end on its line"),
        ("scenario { }".into(), "the scenario has no transaction that could be chosen"),
        ("scenario { transaction { weight = 1; } }".into(), "the transaction asks for nothing"),
        ("scenario { transaction { request { } } }".into(), "the request has no url"),
        (
            "scenario { library { } transaction { request { url = \"/\"; } } }".into(),
            "`library` loads code of Windows into the client",
        ),
        ("name = 1;".into(), "`name` stands outside of every block"),
        (
            "scenario { transaction { request { url = \"/\"; } } } scenario { }".into(),
            "there is a `scenario` already",
        ),
        (
            "scenario { transaction { request { url = \"/\"; } branch { goto { id = \"x\"; } } } }".into(),
            "nothing in this transaction has the id \"x\"",
        ),
        ("scenario { transaction { request { url = \"/\"; }".into(), "the block `transaction` has no end"),
    ] {
        let (_, notes) = read(&text);
        assert!(errors(&notes).contains(&want), "{text}: {notes:?}");
    }
    let (_, notes) = read(&one("statuscod = 200;"));
    assert_eq!(notes[0].mend, "did you mean `statuscode`?");
}

#[test]
fn the_three_files_of_wcat_5() {
    let mut notes = Vec::new();
    let script = script(
        "# two pictures\nNEW TRANSACTION\n    classId = 1\n    NEW REQUEST HTTP\n        Verb = \"GET\"\n        URL = \
         \"http://localhost/pictures/a.jpg\"\nnew transaction\n    ClassId = 2\n    new request http\n        url = \
         “http://localhost/pictures/b.jpg\"\n",
        &mut notes,
    );
    let weights = distribution("1 50\n2 50\n", &mut notes);
    let config = config(
        "Warmuptime 5s\nDuration 30s\nCooldownTime 5s\nNumClientMachines 1\nNumClientThreads 20\n",
        &mut notes,
    );
    let scenario = scenario_of(&script, &weights, &mut notes);
    assert_eq!(notes.len(), 1, "the quote: {notes:?}");
    assert_eq!(
        (config.warmup_ms, config.duration_ms, config.cooldown_ms),
        (Some(5_000), Some(30_000), Some(5_000))
    );
    assert_eq!((config.settings.clients, config.settings.virtual_clients), (Some(1), Some(20)));
    let told: Vec<_> =
        scenario.transactions.iter().map(|t| (t.id.as_str(), t.weight, t.steps.len())).collect();
    assert_eq!(told, [("class 1", 50, 1), ("class 2", 50, 1)]);
    let Step::Request(second) = &scenario.transactions[1].steps[0] else { panic!() };
    assert_eq!(constant(&second.url).as_deref(), Some("http://localhost/pictures/b.jpg"));
    assert_eq!(
        second.close,
        Manner::Graceful,
        "a connection for each request, as the first seed's table has it"
    );
}

#[test]
fn classes_share_their_weight_and_strangers_are_named() {
    let mut notes = Vec::new();
    let text = "NEW TRANSACTION\nclassId = 1\nNEW REQUEST HTTP\nURL = \"/\"\n";
    let script = script(&format!("{text}{text}{}", text.replace("= 1", "= 2")), &mut notes);
    let scenario = scenario_of(&script, &[(1, 30), (2, 70), (3, 5)], &mut notes);
    let weights: Vec<u64> = scenario.transactions.iter().map(|t| t.weight).collect();
    assert_eq!(weights, [30, 30, 140], "two of class 1 share 30, in units of a half");
    assert_eq!(notes.len(), 1);
    assert!(notes[0].message.contains("class 3"));
    let mut notes = Vec::new();
    assert_eq!(distribution("1 x\n1\n1 5 # half\n1 6\n", &mut notes), [(1, 5)]);
    assert_eq!(errors(&notes).len(), 3);
    config("Duration soon\nNumClientThreads many\nColour blue\n", &mut notes);
    assert_eq!(errors(&notes).len(), 6);
}

#[test]
fn so_many_are_told_and_the_rest_counted() {
    let text = format!("scenario {{ {} }}", "x = 1;\n".repeat(1_000));
    let wrong = gather(&[Source { name: "x".into(), text }]).unwrap_err();
    assert_eq!(wrong.matches("`scenario` has no `x`").count(), 50);
    assert!(wrong.ends_with("\nand 951 more\n"), "a thousand, and that nothing is asked: {wrong}");
}

#[test]
fn what_a_script_says_is_the_same_however_often() {
    let mut notes = Vec::new();
    let text = "SET\nRequestHeader = \"A: 1\\r\\nB: 2\"\nNEW TRANSACTION\nclassId = 1\nNEW REQUEST HTTP\nURL = \"/\"\nRequestHeader = \
                \"a: 3\"\nRequestData = \"\\\"x\\\"\"\nVerb = \"P T\"\n";
    let script = script(text, &mut notes);
    assert_eq!(errors(&notes), ["this is no method"]);
    let request = &script.transactions[0].requests[0];
    let fields: Vec<_> =
        request.fields.iter().map(|f| (constant(&f.name).unwrap(), constant(&f.value).unwrap())).collect();
    assert_eq!(fields, [("B".to_owned(), "2".to_owned()), ("a".to_owned(), "3".to_owned())]);
    assert_eq!(request.body, Some(vec![Part::Text("\"x\"".into())]), "one quote is taken off at each side");
}

#[test]
fn kinds_are_known_whatever_else_stands_in_them() {
    let told = |texts: &[&str]| {
        let sources: Vec<Source> =
            texts.iter().map(|text| Source { name: "x".into(), text: (*text).to_owned() }).collect();
        gather(&sources).map(|gathered| outline(&gathered))
    };
    let script = "NEW TRANSACTION\nclassId = 1\nNEW REQUEST HTTP\nURL = \"/{a}\"\n";
    for texts in [
        &[script, "# {\n1 50\n", "Comment {\nNumClientThreads 4\n"][..],
        &[script, "duration 5s\nNumClientThreads 4 # {\n"],
        &["# [run]\n[run]\nclients = 4\n", "// {\nscenario { transaction { request { url = \"/{a}\"; } } }"],
    ] {
        let told = told(texts).unwrap();
        assert!(told.contains("4 virtual clients: 1 (not said) × 4\n"), "{told}");
        assert!(told.contains("GET /{a} HTTP/1."), "{told}");
    }
}

#[test]
fn files_of_that_time_are_read_in_their_encodings() {
    let text = "url = “ä”";
    let wide = |bytes: fn(u16) -> [u8; 2], mark: [u8; 2]| {
        mark.into_iter().chain(text.encode_utf16().flat_map(bytes)).collect::<Vec<u8>>()
    };
    for bytes in [
        text.as_bytes().to_vec(),
        [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        wide(u16::to_le_bytes, [0xff, 0xfe]),
        wide(u16::to_be_bytes, [0xfe, 0xff]),
        b"url = \x93\xe4\x94".to_vec(),
    ] {
        assert_eq!(Source::decode("x", &bytes).text, text, "{bytes:?}");
    }
}

proptest! {
    /// Nothing that is written makes the readers fail, and every note has a place in the text.
    #[test]
    fn whatever_is_written_is_read(text in "(scenario|transaction|request|url|\\{|\\}|=|;|\"|”|\\\\|<|>|\\(|\\)|,|\\+|[0-9]{1,22}|//|\n|#|NEW|HTTP| |\\PC){0,60}") {
        let mut notes = Vec::new();
        ubr(&text, &mut notes);
        let script = script(&text, &mut notes);
        let weights = distribution(&text, &mut notes);
        scenario_of(&script, &weights, &mut notes);
        config(&text, &mut notes);
        let source = Source { name: "x".into(), text };
        for note in &notes {
            prop_assert!(source.text.get(note.span.clone()).is_some(), "{note:?}");
            source.render(note);
        }
    }
}
