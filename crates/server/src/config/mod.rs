//! The configuration: one TOML file, understood as a whole or refused as a whole.
//!
//! `keys/` declares every key once. A text goes `read` (encoding, syntax) → `tree` (names and types) → `lower`
//! (meaning) → [`Settings`]; each step collects all it has to say, with places, and `render` draws it. `docs`
//! writes `samovar init`, the reference and the schema from the same keys; `edit` changes rules in a text and keeps
//! its comments. Not here: when a configuration is read or takes effect (`state`, `cli`).

mod diag;
mod docs;
mod edit;
mod format;
mod format_acts;
mod guarded;
mod keys;
mod kind;
mod links;
mod lower;
mod memory;
mod net;
mod plain;
mod read;
mod render;
mod settings;
mod suggest;
mod tree;
mod units;
mod upstreams;
mod whence;

pub use diag::{Code, Diagnostic, Severity};
pub use docs::{init_text, reference, schema};
pub use edit::{
    EditError, ListedRule, MemberEdit, Position, RuleEdit, add_rule, list_rules, move_rule, remove_rule,
    rule_from_words, set_balance, set_member, set_rule,
};
pub use guarded::guarded_sites;
pub(crate) use keys::MEMORY_LEAST_BYTES;
pub use lower::RuleSpan;
pub use memory::{Memory, budget, machine_bytes, memory_bytes};
pub use net::{Listen, Network, TrustedProxies, parse_address, parse_listen, parse_network};
pub use plain::{from_folder, from_origin};
pub use read::FILE_MAX_BYTES;
pub use render::{Place, Report, place};
pub use settings::{
    AccessLog, Budget, Certificate, CompressionSettings, ErrorDetail, HotBounds, LimitSettings, LogFormat,
    LogSettings, MemorySettings, ServerSettings, Settings, TargetSettings, Watched,
};
pub use units::{show_duration, show_size, size_bytes};
pub use upstreams::{
    FastCgiTarget, GateSettings, HashBy, Place as MemberPlace, ProbeSettings, Protocol, UpstreamSettings,
};
pub use whence::{line_of, line_of_member, line_of_rule};

use crate::operator_files;
use lower::{Around, Lowered, Named};
use samovar_rules::Worry;
use std::path::{Path, PathBuf};

/// A configuration that was accepted.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the server runs by.
    pub settings: Settings,
    /// What somebody should look at.
    pub warnings: Vec<Diagnostic>,
    /// The name it was read under.
    pub file: String,
    /// The text it comes from; rules are edited in it.
    pub text: String,
    /// Where each rule stands in the text.
    pub rule_spans: Vec<RuleSpan>,
    /// The folders that it names.
    folders: Vec<Named>,
}

impl Loaded {
    /// Warnings of links among the files that lead out of their folder. Walks through the folders, which nobody who starts
    /// a server waits for.
    pub fn links_out(&self) -> Vec<Diagnostic> {
        links::leading_out(&self.folders)
    }

    /// The warnings, to be drawn.
    pub fn warnings(&self) -> Report {
        Report::new(&self.file, &self.text, self.warnings.clone())
    }

    /// The line of a rule, counted from 1.
    pub fn rule_line(&self, site: &str, id: &str) -> Option<usize> {
        let found = self.rule_spans.iter().find(|r| r.site == site && r.id == id)?;
        Some(place(&self.text, found.span.start).line)
    }
}

/// Reads and understands a file. Folders that it names and that do not exist are warnings.
///
/// # Errors
/// All errors at once, none of it taken.
pub fn load(path: &Path) -> Result<Loaded, Report> {
    let name = path.display().to_string();
    let bytes = operator_files::read(path, FILE_MAX_BYTES as u64).map_err(|e| unreadable(&name, &e))?;
    let text = read::text_of(&bytes, &name)?;
    let (mut loaded, files) = understand(&text, &name, &around(Some(path)))?;
    loaded.warnings.extend(loaded.folders.iter().filter_map(missing));
    loaded.warnings.extend(files.iter().flat_map(|named| match named.key {
        "users" => users_of(named),
        _ => exposed_key(named).into_iter().collect(),
    }));
    if loaded.warnings.iter().any(|found| found.severity == Severity::Error) {
        return Err(Report::new(&name, &loaded.text, loaded.warnings));
    }
    Ok(loaded)
}

/// Understands a text. `file_name` stands in messages; relative paths begin at its folder. Reads how much memory
/// the machine has, and nothing else.
///
/// # Errors
/// All errors at once, none of it taken.
pub fn parse(text: &str, file_name: &str) -> Result<Loaded, Report> {
    let text = read::text_of(text.as_bytes(), file_name)?;
    let path = Path::new(file_name);
    let named = path.file_name().is_some().then_some(path);
    understand(&text, file_name, &around(named)).map(|(loaded, _)| loaded)
}

fn unreadable(name: &str, error: &std::io::Error) -> Report {
    let code = match error.kind() {
        std::io::ErrorKind::FileTooLarge => Code::TooLarge,
        _ => Code::Unreadable,
    };
    let d = Diagnostic::error(code, 0..0, format!("{name} cannot be read: {error}"));
    let d = match error.kind() {
        std::io::ErrorKind::FileTooLarge => d.hint("is it the right file?"),
        std::io::ErrorKind::InvalidInput => {
            d.hint("name a regular file: a server reads its configuration again, and must never wait for it")
        }
        std::io::ErrorKind::NotFound => d.hint(format!("write one with `samovar init > {name}`")),
        std::io::ErrorKind::PermissionDenied => d.hint("let the user that Samovar runs as read it"),
        std::io::ErrorKind::IsADirectory => {
            d.hint("name the file inside it; a folder of pages is served with `samovar serve DIR`")
        }
        _ => d,
    };
    Report::new(name, "", vec![d])
}

fn around(file: Option<&Path>) -> Around {
    let file = file.and_then(|f| std::path::absolute(f).ok());
    let base = file.as_deref().and_then(Path::parent).map(PathBuf::from);
    let base = base.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"));
    Around { base, file, memory: memory::look() }
}

fn missing(named: &Named) -> Option<Diagnostic> {
    if named.path.is_dir() {
        return None;
    }
    let what = if named.path.exists() { "is not a folder" } else { "does not exist" };
    let message = format!("{} {what}", named.path.display());
    let d = Diagnostic::warning(Code::MissingFile, named.span.clone(), message);
    Some(d.hint(format!("create it, or change `{}`; until then requests get an error page", named.key)))
}

/// A file with a private key that everybody on this machine can read.
fn exposed_key(named: &Named) -> Option<Diagnostic> {
    use std::os::unix::fs::PermissionsExt as _;
    /// The bits of a mode by which users beyond owner and group may read or write.
    const OTHERS: u32 = 0o006;
    let mode = std::fs::metadata(&named.path).ok()?.permissions().mode() & 0o777;
    let shown = named.path.display();
    (mode & OTHERS != 0).then(|| {
        let message =
            format!("every user of this machine can get at the private key in {shown} (mode {mode:03o})");
        Diagnostic::warning(Code::Exposure, named.span.clone(), message).hint(format!("`chmod o= {shown}`"))
    })
}

const LESS_DEAR: &str =
    "set it again with `htpasswd -B -C 10 FILE NAME`; each guess of a stranger keeps a core busy for so long";

/// What is wrong with a file of users.
fn users_of(named: &Named) -> Vec<Diagnostic> {
    let warn = |message: String, hint: &str| {
        Diagnostic::warning(Code::MissingFile, named.span.clone(), message).hint(hint)
    };
    let shown = named.path.display();
    let text = match operator_files::read(&named.path, operator_files::USERS_MAX_BYTES) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            let hint = "write it with `htpasswd -B -c FILE NAME`; until then nobody gets in";
            return vec![warn(format!("the users in {shown} cannot be read: {error}"), hint)];
        }
    };
    let (users, complaints) = samovar_rules::Users::read(&text);
    let mut all: Vec<Diagnostic> = complaints
        .iter()
        .take(5)
        .map(|one| {
            let message = format!("{shown}:{} {}", one.line, one.what);
            let dear = |found: Diagnostic| found.hint(LESS_DEAR);
            match one.worry {
                Worry::Useless => warn(message, "nobody gets in by this line"),
                Worry::Dear => dear(Diagnostic::warning(Code::DearHash, named.span.clone(), message)),
                Worry::TooDear => dear(Diagnostic::error(Code::DearHash, named.span.clone(), message)),
            }
        })
        .collect();
    if users.count() == 0 {
        all.push(warn(
            format!("{shown} names no user who can get in"),
            "add one with `htpasswd -B FILE NAME`",
        ));
    }
    all
}

/// The pure part.
fn understand(text: &str, file: &str, around: &Around) -> Result<(Loaded, Vec<Named>), Report> {
    let tree = read::tree_of(text).map_err(|found| Report::new(file, text, found))?;
    let mut notes = diag::Notes::default();
    let root = tree::check_table(&tree, 0..0, &keys::ROOT, &mut notes);
    let Lowered { settings, rule_spans, folders, files } = lower::lower(&root, around, &mut notes);
    if notes.has_errors() {
        return Err(Report::new(file, text, notes.all));
    }
    let warnings = Report::new(file, text, notes.all).diagnostics;
    let loaded =
        Loaded { settings, warnings, file: file.to_owned(), text: text.to_owned(), rule_spans, folders };
    Ok((loaded, files))
}
