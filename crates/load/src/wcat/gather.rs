//! Several files, whichever they are, put together to one scenario and its settings.
//!
//! A file is known by what is in it, not by its name. Not here: what stands in each (`ubr`, `five`).

use super::scenario::{Scenario, Settings};
use super::source::{Note, Severity, Source};
use super::{five, ubr};

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
    Ubr,
    Script,
    Distribution,
    Config,
}

fn kind(text: &str) -> Kind {
    let mut lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    let is_new = |line: &str| line.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("NEW "));
    if text.contains('{') {
        Kind::Ubr
    } else if text.lines().any(|line| is_new(line.trim_start())) {
        Kind::Script
    } else if lines.peek().is_some() && lines.all(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        Kind::Distribution
    } else {
        Kind::Config
    }
}

/// Reads and puts together.
///
/// # Errors
/// Everything that is wrong, with its place; nothing is to be sent then.
pub fn gather(sources: &[Source]) -> Result<Gathered, String> {
    let mut said: Vec<(usize, Note)> = Vec::new();
    let (mut gathered, mut config) = (Gathered::default(), five::Config::default());
    let (mut scenario, mut settings, mut script, mut weights) = (None, None, None, Vec::new());
    let mut seen: Vec<Kind> = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let mut notes = Vec::new();
        let kind = kind(&source.text);
        if kind != Kind::Ubr && seen.contains(&kind) {
            notes.push(Note::error(0..0, format!("there is a {} already", name(kind)), "one of each"));
        }
        seen.push(kind);
        match kind {
            Kind::Ubr => {
                let read = ubr::read(&source.text, &mut notes);
                let mut twice = |what: &str| {
                    notes.push(Note::error(
                        0..0,
                        format!("another file has a `{what}` already"),
                        "one of each",
                    ));
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
            }
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
        of.filter_map(|(at, note)| Some(sources.get(*at)?.render(note))).collect::<Vec<_>>()
    };
    let errors = told(Severity::Error);
    if !errors.is_empty() {
        return Err(errors.concat());
    }
    let Some(scenario) = scenario else {
        return Err(
            "none of these files says what to ask: a `.ubr` file with a `scenario`, or a script\n".to_owned()
        );
    };
    gathered.warnings = told(Severity::Warning);
    gathered.scenario = Scenario {
        warmup_ms: config.warmup_ms.or(scenario.warmup_ms),
        duration_ms: config.duration_ms.or(scenario.duration_ms),
        cooldown_ms: config.cooldown_ms.or(scenario.cooldown_ms),
        ..scenario
    };
    gathered.settings = settings.unwrap_or_default();
    Ok(gathered)
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Ubr => ".ubr file",
        Kind::Script => "script",
        Kind::Distribution => "distribution",
        Kind::Config => "configuration",
    }
}
