//! `thirst rerun`: a stored run made again, as it was made, with what is said otherwise now.
//!
//! Not here: what was kept of it ([`super::keep`]).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Write, stderr};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use super::args::{Cli, Command, RerunArgs};
use crate::report::bundle::{self, Bundle, KEPT_OUT};
use crate::report::model;

pub(super) fn rerun(args: &RerunArgs) -> Result<ExitCode, String> {
    let shown = args.run.display().to_string();
    let text = super::files::read_text(&args.run)?;
    let run = model::read(&text, &shown)?;
    let Some(kept) = run.bundle else {
        return Err(format!("{shown}: it does not say how it was made; runs of this version do"));
    };
    if let Some(job) = &kept.job {
        return super::wcat::again(job, &args.more);
    }
    let folder = Folder::new()?;
    let places = folder.write(&kept.files)?;
    let mut words: Vec<String> = Vec::new();
    let mut skip = false;
    for word in &kept.words {
        // Where the reports of then went is no place for those of now.
        if std::mem::take(&mut skip) {
            continue;
        }
        if OUTPUTS.contains(&word.as_str()) {
            skip = true;
        } else if QUIET.contains(&word.as_str()) {
            // Who stored the report of then had no need to see it; now there may be no other.
        } else if !OUTPUTS.iter().any(|flag| word.starts_with(&format!("{flag}="))) {
            words.push(place(word, &places));
        }
    }
    without_missing(&mut words, &args.more, &kept, &shown)?;
    words.extend(args.more.iter().cloned());
    // What is said again now takes the place of what was said then.
    let command = Cli::command().mut_subcommand("run", |run| run.args_override_self(true));
    let cli = command
        .try_get_matches_from(std::iter::once("thirst".to_owned()).chain(words))
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let complaint = |error: clap::Error| error.to_string().trim_start_matches("error: ").to_owned();
    match cli.map_err(complaint)?.command {
        Command::Run(again) => super::run::run(&again),
        _ => Err(format!("{shown}: it was not made by `thirst run`")),
    }
}

/// Flags that name where something is written.
const OUTPUTS: [&str; 8] =
    ["--json", "--html", "--csv", "--csv-series", "--junit", "--hlog", "--xml", "--xml5"];

/// Flags that keep the report off the terminal.
const QUIET: [&str; 2] = ["-q", "--quiet"];

/// A word of the command line with the file it names where it is now.
fn place(word: &str, places: &BTreeMap<String, String>) -> String {
    let body =
        ["@", "-b@", "-b=@", "--body=@"].iter().find_map(|flag| Some((*flag, word.strip_prefix(flag)?)));
    let split = body.unwrap_or_else(|| match word.split_once('=') {
        Some((flag, name)) if flag.starts_with("--") => (word.get(..flag.len() + 1).unwrap_or(""), name),
        _ => ("", word),
    });
    places.get(split.1).map_or_else(|| word.to_owned(), |now| format!("{}{now}", split.0))
}

/// What was kept out has to be given anew.
fn without_missing(
    words: &mut Vec<String>,
    more: &[String],
    kept: &Bundle,
    shown: &str,
) -> Result<(), String> {
    if let Some(name) = kept.too_large.iter().find(|name| !Path::new(name).exists()) {
        return Err(format!("{shown}: `{name}` was too large to be kept, and is not there"));
    }
    let missing: Vec<String> = words
        .iter()
        .filter_map(|word| bundle::field(word).strip_suffix(KEPT_OUT)?.strip_suffix(": ").map(str::to_owned))
        .collect();
    for name in missing {
        let given = |word: &String| {
            let field = bundle::field(word);
            field.split(':').next().is_some_and(|given| given.eq_ignore_ascii_case(&name))
        };
        if !more.iter().any(given) {
            return Err(format!("{shown}: the value of `{name}` was kept out; give it anew: -H '{name}: …'"));
        }
    }
    // The flag of a field that is gone goes with it, be it in the same word or before it; others in that word stay.
    let mut left: Vec<String> = Vec::with_capacity(words.len());
    for word in words.drain(..) {
        if !word.ends_with(KEPT_OUT) {
            left.push(word);
            continue;
        }
        let flags = match word.strip_suffix(bundle::field(&word)) {
            Some(flags) if !flags.is_empty() => flags.to_owned(),
            _ => left.pop_if(|last| bundle::is_header(last)).unwrap_or_default(),
        };
        left.extend(flags.strip_suffix('H').filter(|others| others.len() > 1).map(str::to_owned));
    }
    *words = left;
    Ok(())
}

/// A folder for the files of a run that is made again; gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("thirst-rerun-{}", std::process::id()));
        let made = {
            use std::os::unix::fs::DirBuilderExt;
            fs::DirBuilder::new().mode(0o700).create(&path)
        };
        made.map_err(|error| format!("cannot make `{}`: {error}", path.display()))?;
        Ok(Folder(path))
    }

    /// Writes them; where each is now.
    fn write(&self, files: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
        let mut places = BTreeMap::new();
        for (name, text) in files {
            // In folders as they were then, below this one: a scenario finds what it names beside it.
            let inside = Path::new(name).components().filter_map(|part| match part {
                Component::Normal(name) => Some(name),
                Component::ParentDir => Some(OsStr::new("up")),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
            });
            let path = self.0.join(inside.collect::<PathBuf>());
            let folder = path.parent().unwrap_or(&self.0);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bundle::to_bytes(text)));
            written.map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
            places.insert(name.clone(), path.display().to_string());
        }
        Ok(places)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            // It is in the folder for such things; the system clears it some day.
            let _ = writeln!(stderr(), "thirst: `{}` stays: {error}", self.0.display());
        }
    }
}
