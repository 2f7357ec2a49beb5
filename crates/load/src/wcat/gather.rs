//! Several files, whichever they are, put together to one scenario and its settings.
//!
//! A file is known by what is in it, not by its name. Not here: what stands in each (`ubr`, `five`).

use super::scenario::{Scenario, Settings};
use super::source::{Note, Severity, Source};
use super::{five, ubr, urls};
use crate::plan_file::{self, PlanFile};

/// What the files ask for, together.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// What is done.
    pub scenario: Scenario,
    /// By how many, where, and what is counted meanwhile.
    pub settings: Settings,
    /// What there is to say, as people read it: with file, line and column.
    pub warnings: Vec<String>,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plan,
    Ubr,
    Script,
    Distribution,
    Config,
    Urls,
}

fn kind(text: &str) -> Kind {
    let said = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = said().next().unwrap_or_default();
    let begins = |line: &str, begin: &str| {
        line.get(..begin.len()).is_some_and(|word| word.eq_ignore_ascii_case(begin))
    };
    if is_plan(first) || said().any(|line| PLAN.iter().any(|table| line.starts_with(table))) {
        Kind::Plan
    } else if urls::is_list(text) {
        Kind::Urls
    } else if said().any(|line| begins(line, "NEW TRANSACTION") || begins(line, "NEW REQUEST")) {
        Kind::Script
    } else if !first.is_empty() && said().all(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        Kind::Distribution
    } else if five::KEYWORDS.iter().any(|keyword| begins(first, keyword)) {
        Kind::Config
    } else if text.contains('{') {
        Kind::Ubr
    } else if said().any(|line| begins(line, "NEW ")) {
        Kind::Script
    } else {
        Kind::Config
    }
}

/// Of each severity so many are told: nobody reads thousands, and telling a place takes time in a large file.
const TOLD_MAX: usize = 50;

/// What the tables of a plan begin with.
const PLAN: [&str; 4] = ["[run]", "[request]", "[[round]]", "[[round.steps]]"];

/// Whether a first line can only be one of a plan: in no other file anything stands in brackets, or is called so.
fn is_plan(line: &str) -> bool {
    let name = line.split(['=', '.']).next().unwrap_or_default();
    line.starts_with('[') || (name.len() < line.len() && ["run", "request", "round"].contains(&name.trim()))
}

/// Reads and puts together.
///
/// # Errors
/// Everything that is wrong, with its place; nothing is to be sent then.
pub fn gather(sources: &[Source]) -> Result<Gathered, String> {
    let mut said: Vec<(usize, Note)> = Vec::new();
    let (mut gathered, mut config) = (Gathered::default(), five::Config::default());
    let (mut scenario, mut settings, mut script, mut weights) = (None, None, None, Vec::new());
    let (mut run, mut only_server): (Option<PlanFile>, Option<String>) = (None, None);
    let mut seen: Vec<Kind> = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let mut notes = Vec::new();
        let kind = kind(&source.text);
        if ![Kind::Ubr, Kind::Plan].contains(&kind) && seen.contains(&kind) {
            let (what, mend) = match source.text.trim().is_empty() {
                true => ("there is nothing in it".to_owned(), "leave it out, or write it again"),
                false => (format!("there is a {} already", name(kind)), "one of each"),
            };
            notes.push(Note::error(0..0, what, mend));
        }
        seen.push(kind);
        let read = match kind {
            Kind::Plan => {
                let plan = plan_file::read(&source.text, &mut notes);
                let settings = Some(plan.settings.clone()).filter(|said| *said != Settings::default());
                let is_whole = !plan.scenario.transactions.is_empty();
                let scenario = is_whole.then(|| plan.scenario.clone());
                if !is_whole && run.replace(plan).is_some() {
                    notes.push(Note::error(0..0, "another file has a `[run]` alone already", "one of each"));
                }
                ubr::Ubr { scenario, settings }
            }
            Kind::Ubr => ubr::read(&source.text, &mut notes),
            Kind::Urls => {
                let urls = urls::read(&source.text, &mut notes);
                only_server = urls.server;
                ubr::Ubr { scenario: Some(urls.scenario), settings: None }
            }
            Kind::Script | Kind::Distribution | Kind::Config => ubr::Ubr::default(),
        };
        let mut twice = |what: &str| {
            notes.push(Note::error(0..0, format!("another file has a `{what}` already"), "one of each"));
        };
        match (read.scenario, &scenario) {
            (Some(_), Some(_)) => twice("scenario"),
            (Some(read), None) => scenario = Some(read),
            (None, _) => {}
        }
        match (read.settings, &settings) {
            (Some(_), Some(_)) => twice("settings"),
            (Some(read), None) => settings = Some(read),
            (None, _) => {}
        }
        match kind {
            Kind::Plan | Kind::Ubr | Kind::Urls => {}
            Kind::Script => script = Some((at, five::script(&source.text, &mut notes))),
            Kind::Distribution => weights = five::distribution(&source.text, &mut notes),
            Kind::Config => {
                config = five::config(&source.text, &mut notes);
                settings = settings.or(Some(config.settings.clone()));
            }
        }
        said.extend(notes.into_iter().map(|note| (at, note)));
    }
    if let Some((at, script)) = &script {
        let mut notes = Vec::new();
        let made = five::scenario(script, &weights, &mut notes);
        if scenario.is_some() {
            notes.push(Note::error(0..0, "another file has a `scenario` already", "a script or a scenario"));
        }
        scenario = Some(made);
        said.extend(notes.into_iter().map(|note| (*at, note)));
    }
    let told = |severity: Severity| {
        let of = said.iter().filter(move |(_, note)| note.severity == severity);
        let each = of.clone().take(TOLD_MAX).filter_map(|(at, note)| Some(sources.get(*at)?.render(note)));
        let mut told: Vec<String> = each.collect();
        let more = of.count().saturating_sub(TOLD_MAX);
        if more > 0 {
            told.push(format!("and {more} more\n"));
        }
        told
    };
    let errors = told(Severity::Error);
    if !errors.is_empty() {
        return Err(errors.concat());
    }
    let Some(scenario) = scenario else {
        return Err(
            "none of these files says what to ask: a plan with `[[round]]`, a list of URLs, a `.ubr` file with a \
             `scenario`, or a script\n"
                .to_owned()
        );
    };
    let run = run.unwrap_or_default().scenario;
    gathered.warnings = told(Severity::Warning);
    gathered.scenario = Scenario {
        name: if run.name.is_empty() { scenario.name.clone() } else { run.name },
        warmup_ms: config.warmup_ms.or(run.warmup_ms).or(scenario.warmup_ms),
        duration_ms: config.duration_ms.or(run.duration_ms).or(scenario.duration_ms),
        cooldown_ms: config.cooldown_ms.or(run.cooldown_ms).or(scenario.cooldown_ms),
        throttle_per_s: run.throttle_per_s.or(scenario.throttle_per_s),
        ..scenario
    };
    gathered.settings = settings.unwrap_or_default();
    if let Some(server) = only_server {
        // Where the settings name another, the URLs keep their own.
        if gathered.settings.servers.is_empty() {
            gathered.settings.servers.push(server);
            urls::ask_the_run(&mut gathered.scenario);
        }
    }
    Ok(gathered)
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Plan => "plan",
        Kind::Urls => "list of URLs",
        Kind::Ubr => ".ubr file",
        Kind::Script => "script",
        Kind::Distribution => "distribution",
        Kind::Config => "configuration",
    }
}
