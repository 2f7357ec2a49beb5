//! `thirst import`: files of any kind to a plan.
//!
//! Not here: what a plan looks like (`plan_file`).

use std::path::{Path, PathBuf};

use clap::Args;

use super::scenario_files;
use crate::plan_file;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ImportArgs {
    /// A list of URLs, a scenario and its settings (.ubr), or a script, a distribution and a configuration (.cfg); known by
    /// what is in them
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Where to write the plan; stdout if not given
    #[arg(short = 'o', long, value_name = "FILE|-")]
    pub output: Option<PathBuf>,

    /// Replace the file if it is there already
    #[arg(long)]
    pub force: bool,
}

const HELP: &str = "\
A plan says all that the other kinds can, so nothing is lost.

Exit codes:
  0    the plan was written
  1    a file is wrong: file, line and column, and what to do; or it cannot be read or written

  thirst import home.ubr settings.ubr -o plan.toml
  thirst import urls.txt -o plan.toml";

pub(super) fn import(args: &ImportArgs) -> Result<(), String> {
    let gathered = scenario_files::read(&args.files)
        .map_err(|wrong| format!("nothing was imported\n{}", wrong.trim_end()))?;
    let plan = plan_file::write(&gathered.scenario, &gathered.settings);
    match &args.output {
        Some(path) if path != Path::new("-") => scenario_files::write(&[(path.clone(), plan)], args.force),
        _ => scenario_files::print(&plan),
    }
}
