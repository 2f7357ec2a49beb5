//! What was written is read again: it is the same, or what was lost has been told.
//!
//! The readers are older than the writers and share no code with them that decides what a file says.

use super::tests::read;
use super::*;
use crate::wcat::arbitrary::{scenario, settings, texts};
use crate::wcat::outline;
use crate::wcat::scenario::{
    Manner, Part, Request, Scenario, Settings, Step, Version, constant, joined, name_of,
};
use proptest::prelude::*;

/// What both generations can say of texts.
fn plain_texts(scenario: &mut Scenario) {
    texts(scenario, &|text| {
        text.retain(|c| !c.is_control() && !"\"#>:".contains(c));
        *text = text.trim().to_owned();
        if text.is_empty() {
            text.push('x');
        }
    });
    for transaction in &mut scenario.transactions {
        for step in &mut transaction.steps {
            if let Step::Request(request) = step {
                request.verb.make_ascii_uppercase();
                request.span = 0..0;
                for field in std::mem::take(&mut request.fields) {
                    request.add(field);
                }
            }
        }
    }
    let whole = |ms: &mut Option<u64>| *ms = ms.map(|ms| ms / 1_000 * 1_000);
    [&mut scenario.warmup_ms, &mut scenario.duration_ms, &mut scenario.cooldown_ms]
        .into_iter()
        .for_each(whole);
}

/// A scenario and settings that a `.ubr` file can say.
fn for_ubr(mut scenario: Scenario, mut settings: Settings) -> (Scenario, Settings) {
    plain_texts(&mut scenario);
    for transaction in &mut scenario.transactions {
        let (mut seen, mut targets) = (Vec::new(), Vec::new());
        for (at, step) in transaction.steps.iter_mut().enumerate() {
            if let Step::Request(request) = step {
                request.status = request.status.or(Some(200));
                if seen.contains(&request.id) {
                    request.id = format!("{} {at}", request.id);
                }
                seen.push(request.id.clone());
            }
            if matches!(step, Step::Request(_) | Step::Sleep(_)) {
                targets.push(at);
            }
        }
        for step in &mut transaction.steps {
            if let Step::Branch(to) = step {
                to.iter_mut().for_each(|(to, _)| *to = targets[*to % targets.len()]);
            }
        }
    }
    let name = |text: &mut String| text.retain(|c| c.is_alphanumeric());
    settings.servers.iter_mut().for_each(name);
    settings.bind.iter_mut().for_each(name);
    settings.servers.retain(|name| !name.is_empty());
    settings.bind.retain(|name| !name.is_empty());
    let line = |text: &mut String| text.retain(|c| !['\r', '\n'].contains(&c));
    settings.counters.iter_mut().for_each(|counter| line(&mut counter.path));
    line(&mut settings.comment);
    (scenario, Settings { think_ms: 0, steps: None, ..settings })
}

/// A scenario and settings that the three files of WCAT 5 can say.
fn for_five(mut scenario: Scenario, settings: Settings) -> (Scenario, Settings) {
    plain_texts(&mut scenario);
    scenario.name.clear();
    scenario.throttle_per_s = None;
    for (at, transaction) in scenario.transactions.iter_mut().enumerate() {
        transaction.id = format!("class {}", 7 - at);
        transaction.steps.retain(|step| matches!(step, Step::Request(_)));
        for step in &mut transaction.steps {
            let Step::Request(request) = step else { continue };
            let one = |value: &mut Vec<Part>| {
                value.truncate(1);
                if !matches!(value.first(), Some(Part::Text(_) | Part::File(_))) {
                    *value = joined([Part::Text("/".to_owned())]);
                }
            };
            one(&mut request.url);
            request.server.iter_mut().chain(&mut request.body).for_each(one);
            request.id = match &request.url[..] {
                [Part::Text(text) | Part::File(text)] => text.clone(),
                other => panic!("{other:?}"),
            };
            request.version = Version::Http11;
            (request.status, request.cookies, request.redirect) = (None, false, false);
            if request.close == Manner::Reset {
                request.close = Manner::Keep;
            }
            for mut field in std::mem::take(&mut request.fields) {
                field.replaces = true;
                let is_text = |value: &[Part]| value.iter().all(|part| matches!(part, Part::Text(_)));
                if is_text(&field.name) && is_text(&field.value) {
                    request.add(field);
                }
            }
        }
    }
    texts(&mut scenario, &|text| *text = text.replace("\\r\\n", ""));
    let comment = settings.comment.replace(|c: char| c.is_control() || c == '#', "");
    (scenario, Settings { servers: vec![], bind: vec![], counters: vec![], comment, ..settings })
}

/// A scenario and settings that a list of URLs can say: those of one server, of several, or of one that is not named.
fn for_urls(mut scenario: Scenario, several: u8) -> (Scenario, Settings) {
    scenario = Scenario { transactions: scenario.transactions, ..Scenario::default() };
    scenario.transactions.truncate(1);
    let round = &mut scenario.transactions[0];
    (round.id, round.weight) = ("round 1".to_owned(), 1);
    round.steps.retain(|step| matches!(step, Step::Request(_)));
    let count = round.steps.len();
    for (at, step) in round.steps.iter_mut().enumerate() {
        let Step::Request(request) = step else { continue };
        let path: String = constant(&request.url).unwrap_or_default();
        let path: String = path.chars().filter(|c| c.is_ascii_graphic() && *c != '#' && *c != '/').collect();
        let url = joined([Part::Text(format!("/{}{at}", path.replace("://", "")))]);
        **request = Request { id: name_of(&url, 0), url, secure: several == 1, ..Request::plain() };
        if several == 2 && count > 1 {
            request.server = Some(joined([Part::Text(format!("h{at}"))]));
            (request.port, request.secure) = (Some(80 + u16::try_from(at).unwrap()), at % 2 == 1);
        }
    }
    let servers = if several == 1 { vec!["h:81".to_owned()] } else { vec![] };
    (scenario, Settings { servers, ..Settings::default() })
}

/// The first field of a name is the same whether it is set or added.
fn set_first_fields(scenario: &mut Scenario) {
    for step in scenario.transactions.iter_mut().flat_map(|transaction| &mut transaction.steps) {
        let Step::Request(request) = step else { continue };
        let names: Vec<Option<String>> =
            request.fields.iter().map(|f| constant(&f.name).map(|name| name.to_ascii_lowercase())).collect();
        for (at, field) in request.fields.iter_mut().enumerate() {
            field.replaces |= !names[..at].contains(&names[at]);
        }
    }
}

proptest! {
    #[test]
    fn what_6_3_can_say_is_the_same_again(scenario in scenario(), settings in settings()) {
        let (scenario, settings) = for_ubr(scenario, settings);
        let written = ubr(&scenario, &settings);
        prop_assert_eq!(&written.lost, &Vec::<String>::new());
        let files: Vec<&str> = [written.scenario.as_str()].into_iter().chain(written.settings.as_deref()).collect();
        let again = read(&files);
        prop_assert_eq!(&again.scenario, &scenario, "{}", written.scenario);
        prop_assert_eq!(&again.settings, &settings, "{:?}", written.settings);
    }

    /// Nothing is lost in silence, and nothing is said to be lost that is not.
    #[test]
    fn anything_written_for_6_3_is_the_same_or_said_to_be_another(scenario in scenario(), settings in settings()) {
        let written = ubr(&scenario, &settings);
        let files: Vec<&str> = [written.scenario.as_str()].into_iter().chain(written.settings.as_deref()).collect();
        let again = read(&files);
        let is_same = again.scenario == scenario && again.settings == settings;
        prop_assert_eq!(is_same, written.lost.is_empty(), "{:?}\n{}\n{:?}", written.lost, written.scenario, again);
        prop_assert!(!outline(&again).is_empty());
    }

    #[test]
    fn what_5_can_say_is_the_same_again(scenario in scenario(), settings in settings()) {
        let (scenario, settings) = for_five(scenario, settings);
        let written = five(&scenario, &settings);
        prop_assert_eq!(&written.lost, &Vec::<String>::new());
        let again = read(&[&written.config, &written.distribution, &written.script]);
        prop_assert_eq!(&again.scenario, &scenario, "{}", written.script);
        prop_assert_eq!(&again.settings, &settings, "{}", written.config);
    }

    #[test]
    fn anything_written_for_5_is_the_same_or_said_to_be_another(scenario in scenario(), settings in settings()) {
        let written = five(&scenario, &settings);
        if written.script.is_empty() {
            prop_assert!(written.lost.iter().any(|lost| lost.starts_with("a request whose ")), "{:?}", written.lost);
            return Ok(());
        }
        let mut again = read(&[&written.script, &written.distribution, &written.config]);
        let mut scenario = scenario;
        set_first_fields(&mut scenario);
        set_first_fields(&mut again.scenario);
        let is_same = again.scenario == scenario && again.settings == settings;
        prop_assert_eq!(is_same, written.lost.is_empty(), "{:?}\n{}\n{:?}", written.lost, written.script, again);
    }

    #[test]
    fn what_a_list_can_say_is_the_same_again(scenario in scenario(), several in 0_u8..3) {
        let (scenario, settings) = for_urls(scenario, several);
        let written = urls(&scenario, &settings);
        prop_assert_eq!(&written.lost, &Vec::<String>::new());
        let again = read(&[&written.text]);
        prop_assert_eq!(&again.scenario, &scenario, "{}", written.text);
        prop_assert_eq!(&again.settings, &settings, "{}", written.text);
    }

    /// Every line can be read again, and each request has one or is said to have none.
    #[test]
    fn anything_written_as_a_list_is_one(scenario in scenario(), settings in settings()) {
        let written = urls(&scenario, &settings);
        let asked = |scenario: &Scenario| {
            let steps = scenario.transactions.iter().flat_map(|transaction| &transaction.steps);
            steps.filter(|step| matches!(step, Step::Request(_))).count()
        };
        let lines = written.text.lines().count();
        prop_assert!(lines == asked(&scenario) || written.lost.iter().any(|lost| lost.starts_with("a request whose ")));
        if lines > 0 {
            prop_assert_eq!(asked(&read(&[&written.text]).scenario), lines);
        }
    }
}
