//! The files that reports are written to, of a run as of stored ones: flags, opening, writing.
//!
//! Files are opened before the run: a run of an hour must not end with a path that cannot be written. Not here: the
//! JSON, which stored runs are.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::report::model::Run;
use crate::report::{csv, hlog, html, junit, xml};

/// What a report can be written as, of one run or of several.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub(super) struct Files {
    /// Write an HTML page with plots; several runs on the same plots
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write CSV: a row for each step, or one for a run without
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write CSV: a row for each second
    #[arg(long, value_name = "FILE")]
    pub csv_series: Option<PathBuf>,

    /// Write JUnit XML: the verdict, each rule of --fail-if and each kind of --expect is a test case
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Write the log.xml of WCAT 6.3; of one run
    #[arg(long, value_name = "FILE")]
    pub xml: Option<PathBuf>,

    /// Write the XML log of WCAT 5; of one run
    #[arg(long, value_name = "FILE")]
    pub xml5: Option<PathBuf>,

    /// Write an HdrHistogram log, in microseconds: a line for each step and kind of time; of one run
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
}

/// No stored run and no scenario is larger.
const MOST_BYTES: u64 = 256 << 20;

/// What is in a file, if that is not without end: `/dev/zero` would fill the memory.
///
/// # Errors
/// A sentence: it cannot be read, or is larger than anything we read whole.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let cannot = |error: std::io::Error| format!("cannot read `{shown}`: {error}");
    let mut bytes = Vec::new();
    File::open(path).map_err(cannot)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("cannot read `{shown}`: it is larger than 256 MiB"));
    }
    Ok(bytes)
}

/// The same of a text.
///
/// # Errors
/// As [`read`], or it is no text.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path)?).map_err(|_| format!("cannot read `{}`: it is no text", path.display()))
}

type Make = fn(&[Run]) -> Result<String, String>;

impl Files {
    /// Each with what makes it.
    fn all(&self) -> [(&'static str, Option<&Path>, Make); 7] {
        [
            ("--html", self.html.as_deref(), |runs| Ok(html::page(runs))),
            ("--csv", self.csv.as_deref(), |runs| Ok(csv::steps(runs))),
            ("--csv-series", self.csv_series.as_deref(), |runs| Ok(csv::series(runs))),
            ("--junit", self.junit.as_deref(), |runs| Ok(junit::suites(runs))),
            ("--xml", self.xml.as_deref(), |runs| Ok(runs.first().map_or_else(String::new, xml::six))),
            ("--xml5", self.xml5.as_deref(), |runs| Ok(runs.first().map_or_else(String::new, xml::five))),
            ("--hlog", self.hlog.as_deref(), |runs| runs.first().map_or(Ok(String::new()), hlog::log)),
        ]
    }

    /// Opens all that are wanted, for so many runs.
    ///
    /// # Errors
    /// Which cannot be written, or cannot hold so many.
    pub(super) fn open(&self, runs: usize) -> Result<Vec<Opened>, String> {
        let mut opened = Vec::new();
        for (flag, path, make) in self.all() {
            let Some(path) = path else { continue };
            if runs > 1 && (flag.starts_with("--xml") || flag == "--hlog") {
                return Err(format!("{flag} is of one run: leave one of the {runs} runs"));
            }
            opened.push(Opened { target: Target::create(path)?, make });
        }
        Ok(opened)
    }
}

/// A file that waits for its report.
pub(super) struct Opened {
    target: Target,
    make: Make,
}

impl Opened {
    /// Writes the report of these runs.
    ///
    /// # Errors
    /// A sentence for the person at the command line.
    pub(super) fn write(mut self, runs: &[Run]) -> Result<(), String> {
        self.target.write(&(self.make)(runs)?)
    }
}

/// A file that is open, and where it is. What it held stays until there is something to put in its place: a run that
/// cannot be made costs nobody the report of the last one.
pub(super) struct Target {
    file: File,
    path: PathBuf,
    /// It was not there before, and nothing is in it yet.
    is_ours: bool,
}

impl Target {
    pub(super) fn create(path: &Path) -> Result<Target, String> {
        let is_ours = fs::symlink_metadata(path).is_err();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        Ok(Target { file, path: path.to_owned(), is_ours })
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), String> {
        self.is_ours = false;
        self.put(text).map_err(|error| format!("cannot write `{}`: {error}", self.path.display()))
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        // A terminal and a pipe have no length.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_ours {
            // An empty file says nothing; one that stays does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}
