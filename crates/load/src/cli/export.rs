//! `thirst export`: a plan, or files of any other kind, to files that other programs read.
//!
//! What cannot be said there is told. Not here: what the formats can say (`wcat::write`).

use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::scenario_files;
use crate::plan_file;
use crate::wcat::Gathered;
use crate::wcat::write::{five, ubr, urls};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ExportArgs {
    /// A plan (.toml), or what `thirst import` reads
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// The format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: Format,

    /// What to write to; stdout if not given. ubr: NAME.ubr and NAME.settings.ubr; cfg: NAME.script.cfg,
    /// NAME.distribution.cfg and NAME.config.cfg; urls, toml: NAME itself
    #[arg(short = 'o', long, value_name = "NAME|-")]
    pub output: Option<PathBuf>,

    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,

    /// Write nothing if anything would be lost
    #[arg(long)]
    pub strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// WCAT 6.3: a scenario and its settings
    Ubr,
    /// WCAT 5: a script, a distribution and a configuration
    Cfg,
    /// One URL a line
    Urls,
    /// A plan
    Toml,
}

const HELP: &str = "\
What the format cannot say is listed on stderr.

Exit codes:
  0    the files were written
  1    a file is wrong: file, line and column, and what to do; it cannot be read or written, or is there already; or with
       --strict, something would be lost

  thirst export plan.toml --to ubr -o home
  thirst export plan.toml --to urls --strict";

/// What is to be written: the ends of the files' names, and texts; and what was lost.
type Written = (Vec<(&'static str, String)>, Vec<String>);

pub(super) fn export(args: &ExportArgs) -> Result<(), String> {
    let gathered = scenario_files::read(&args.files)
        .map_err(|wrong| format!("nothing was exported\n{}", wrong.trim_end()))?;
    let (files, lost) = write(args.to, &gathered);
    if !lost.is_empty() {
        let lost = format!("{} cannot say:\n  {}", args.to.shown(), lost.join("\n  "));
        if args.strict {
            return Err(format!("nothing was written; {lost}"));
        }
        // Nobody to tell if stderr is gone.
        let _ = writeln!(stderr(), "{lost}");
    }
    if files.first().is_some_and(|(_, text)| text.is_empty()) {
        return Err(format!("nothing was written: {} can say none of the requests", args.to.shown()));
    }
    let Some(name) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        if args.to == Format::Cfg {
            return Err("WCAT 5 has three files; say how they begin with -o NAME".to_owned());
        }
        // A scenario and its settings may stand in one file.
        let texts: Vec<String> = files.into_iter().map(|(_, text)| text).collect();
        return scenario_files::print(&texts.join("\n"));
    };
    let files: Vec<(PathBuf, String)> =
        files.into_iter().map(|(end, text)| (args.to.named(name, end), text)).collect();
    scenario_files::write(&files, args.force)?;
    let names: Vec<String> = files.iter().map(|(path, _)| format!("`{}`", path.display())).collect();
    let _ = writeln!(stdout(), "{}", names.join(", "));
    Ok(())
}

fn write(format: Format, gathered: &Gathered) -> Written {
    let (scenario, settings) = (&gathered.scenario, &gathered.settings);
    match format {
        Format::Ubr => {
            let written = ubr(scenario, settings);
            let settings = written.settings.map(|text| (".settings.ubr", text));
            ([(".ubr", written.scenario)].into_iter().chain(settings).collect(), written.lost)
        }
        Format::Cfg => {
            let written = five(scenario, settings);
            let files = vec![
                (".script.cfg", written.script),
                (".distribution.cfg", written.distribution),
                (".config.cfg", written.config),
            ];
            (files, written.lost)
        }
        Format::Urls => {
            let written = urls(scenario, settings);
            (vec![("", written.text)], written.lost)
        }
        Format::Toml => (vec![("", plan_file::write(scenario, settings))], Vec::new()),
    }
}

impl Format {
    fn shown(self) -> &'static str {
        match self {
            Format::Ubr => "a .ubr file",
            Format::Cfg => "a script of WCAT 5",
            Format::Urls => "a list of URLs",
            Format::Toml => "a plan",
        }
    }

    /// `home` and `home.ubr` both mean `home.ubr`.
    fn named(self, name: &Path, end: &str) -> PathBuf {
        let own = match self {
            Format::Ubr => "ubr",
            Format::Cfg => "cfg",
            Format::Urls | Format::Toml => return name.to_owned(),
        };
        let stem = if name.extension().is_some_and(|it| it == own) {
            name.with_extension("")
        } else {
            name.to_owned()
        };
        let mut path = stem.into_os_string();
        path.push(end);
        path.into()
    }
}
