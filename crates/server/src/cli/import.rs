//! `samovar import`: the configuration of another server, brought along.
//!
//! Here are the files: which may be read, where relative names begin, what a pattern finds, and bounds on all of it. Not
//! here: what any directive means (`samovar-import`).

use super::{Failed, show};
use crate::operator_files;
use samovar_import::{Ask, Consequence, Fate, File, Imported, Note, Options, Source, import};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

/// What is asked for.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct ImportArgs {
    /// Whose configuration it is.
    source: Kind,
    /// The file; `-` for standard input.
    file: PathBuf,
    /// Where relative names in it begin: httpd's ServerRoot, nginx's prefix. Without it: what ServerRoot says if it is here,
    /// else the folder of the file.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The folder of the site's files, in place of the one that the file names.
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Where a FastCGI application listens that IIS would start itself: unix:/run/php/php8.2-fpm.sock
    #[arg(long, value_name = "ADDRESS")]
    fastcgi: Option<String>,
    /// Let unsafe settings hold, such as CacheStorePrivate On; without it they are comments.
    #[arg(long)]
    with_unsafe: bool,
    /// Print one JSON object with the new file and what became of each directive.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kind {
    /// web.config or applicationHost.config of IIS.
    Iis,
    /// httpd.conf of Apache, 2.2 or 2.4.
    Apache,
    /// nginx.conf.
    Nginx,
}

const HELP: &str = "\
The new file goes to standard output. To standard error goes a report: what breaks the site until you act, what is less
safe, what is slower or cached differently, each with its place, and one line for the rest. The end of the new file lists
all of it. Nothing is written elsewhere, and only the file and what it includes is read.

Exit codes:
  0    the new file was written, whatever the report says: read it before you serve the file
  1    the file is broken, hostile or cannot be read: file, line and column
  2    the command line was wrong

  samovar import iis web.config > samovar.toml && samovar check --config samovar.toml
  samovar import apache /etc/httpd/conf/httpd.conf > samovar.toml
  samovar import nginx /etc/nginx/nginx.conf > samovar.toml";

/// No configuration is larger; a file without end would fill the memory.
const FILE_MAX_BYTES: u64 = 5 << 20;
/// Entries of a folder that a pattern is compared with.
const ENTRIES_MAX: usize = 10_000;

/// `samovar import`.
pub fn run(args: &ImportArgs) -> Result<ExitCode, Failed> {
    let source = match args.source {
        Kind::Iis => Source::Iis,
        Kind::Apache => Source::Apache,
        Kind::Nginx => Source::Nginx,
    };
    let stdin = args.file.as_os_str() == "-";
    let name = if stdin { "<stdin>".to_owned() } else { args.file.display().to_string() };
    let bytes = if stdin { bounded(std::io::stdin().lock()) } else { read(&args.file) };
    let bytes = bytes.map_err(|why| format!("cannot read {name}: {why}"))?;
    let options = options(args, source, stdin)?;
    let here = args.file.parent().filter(|_| !stdin).unwrap_or(Path::new(".")).to_path_buf();
    let mut included = |ask: &Ask<'_>| include(ask, args.root.as_deref(), &here);
    let imported = import(source, &File { name, bytes }, &options, &mut included)
        .map_err(|refused| format!("nothing was imported\n{refused}"))?;
    if args.json {
        return show::json(&as_json(source, &imported));
    }
    let done = show::out(&imported.toml)?;
    for line in report(&imported.notes) {
        crate::say!("{}", show::safe(&line));
    }
    Ok(done)
}

fn options(args: &ImportArgs, source: Source, stdin: bool) -> Result<Options, String> {
    let absolute = |path: &Path| std::path::absolute(path).map(|path| path.display().to_string());
    let cannot = |path: &Path, why: std::io::Error| format!("{}: {why}", path.display());
    let files = match (&args.files, args.file.file_name()) {
        (Some(files), _) => Some(absolute(files).map_err(|why| cannot(files, why))?),
        // A web.config lies in the folder whose pages it is about.
        (None, Some(name)) if source == Source::Iis && !stdin && name.eq_ignore_ascii_case("web.config") => {
            let whole = std::path::absolute(&args.file).map_err(|why| cannot(&args.file, why))?;
            whole.parent().map(|folder| folder.display().to_string())
        }
        _ => None,
    };
    if let Some(text) = &args.fastcgi {
        crate::config::parse_address(text).map_err(|why| format!("--fastcgi {text:?}: {why}"))?;
    }
    Ok(Options { files, fastcgi: args.fastcgi.clone(), with_unsafe: args.with_unsafe })
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    use std::io::ErrorKind;
    operator_files::read(path, FILE_MAX_BYTES).map_err(|why| match why.kind() {
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::InvalidInput => format!("{why}\nhint: write `-` to have standard input read"),
        _ => why.to_string(),
    })
}

fn bounded(from: impl std::io::Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(FILE_MAX_BYTES).read_to_end(&mut bytes).map_err(|why| why.to_string())?;
    Ok(bytes)
}

/// The files of a pattern, in the order of their names.
fn include(ask: &Ask<'_>, root: Option<&Path>, here: &Path) -> Result<Vec<File>, String> {
    let named = ask.root.map(Path::new).filter(|named| named.is_dir());
    let base = root.or(named).unwrap_or(here);
    let pattern = base.join(ask.pattern);
    let mut found = Vec::new();
    expand(&pattern, &mut found)?;
    if found.is_empty() && !ask.optional {
        return Err(format!("`{}` finds no file at {}", ask.pattern, pattern.display()));
    }
    let mut files = Vec::new();
    for path in found {
        let bytes = read(&path).map_err(|why| format!("cannot read {}: {why}", path.display()))?;
        // One file has one name, so that circles are seen.
        let name = path.canonicalize().unwrap_or(path).display().to_string();
        files.push(File { name, bytes });
    }
    Ok(files)
}

/// What a path with `*`, `?` and `[…]` in its parts finds; only plain files.
fn expand(pattern: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let mut folders = vec![PathBuf::new()];
    let mut parts = pattern.components().peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let text = part.as_os_str().to_string_lossy().into_owned();
        let wild = matches!(part, Component::Normal(_)) && text.contains(['*', '?', '[']);
        let glob = wild.then(|| globset::Glob::new(&text).map(|glob| glob.compile_matcher()));
        let glob = glob.transpose().map_err(|why| format!("`{text}`: {}", why.kind()))?;
        let mut next = Vec::new();
        for folder in folders {
            let Some(glob) = &glob else {
                next.push(folder.join(part));
                continue;
            };
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let names = entries.take(ENTRIES_MAX).map(|entry| entry.file_name());
            // As a shell does, a wildcard passes over names that begin with a dot.
            let fits = |name: &std::ffi::OsString| {
                glob.is_match(Path::new(name))
                    && (text.starts_with('.') || !name.to_string_lossy().starts_with('.'))
            };
            let mut fitting: Vec<_> = names.filter(fits).collect();
            fitting.sort();
            next.extend(fitting.into_iter().map(|name| folder.join(name)));
        }
        if next.len() > ENTRIES_MAX {
            return Err(format!("`{}` finds more than {ENTRIES_MAX} names", pattern.display()));
        }
        next.retain(|path| if last { path.is_file() } else { path.is_dir() });
        folders = next;
    }
    found.extend(folders);
    Ok(())
}

/// What a person reads after an import, the worst first. What needs nobody is one line.
fn report(notes: &[Note]) -> Vec<String> {
    let mut lines = Vec::new();
    for consequence in Consequence::ALL {
        let listed: Vec<&Note> =
            notes.iter().filter(|note| note.consequence == consequence && note.is_reported()).collect();
        match (listed.len(), consequence) {
            (0, _) => {}
            (count, Consequence::Nothing) => lines.push(format!(
                "{} ({count}): the end of the new file lists them, and so does --json.",
                consequence.heading()
            )),
            (count, _) => {
                lines.push(format!("{} ({count}):", consequence.heading()));
                lines.extend(listed.into_iter().map(|note| format!("  {note}")));
            }
        }
    }
    lines.push(summary(notes));
    lines
}

fn summary(notes: &[Note]) -> String {
    let count = |fate| notes.iter().filter(|note| note.fate == fate).count();
    format!(
        "{} directives: {} carried over, {} not, {} unsafe, {} to fill in",
        notes.len(),
        count(Fate::Carried),
        count(Fate::LeftOut),
        count(Fate::Unsafe),
        count(Fate::FillIn)
    )
}

fn as_json(source: Source, imported: &Imported) -> serde_json::Value {
    let note = |note: &Note| {
        serde_json::json!({
            "file": &*note.place.file,
            "line": note.place.line,
            "column": note.place.column,
            "directive": note.directive,
            "fate": note.fate.code(),
            "consequence": note.consequence.code(),
            "text": note.text,
        })
    };
    let notes: Vec<_> = imported.notes.iter().map(note).collect();
    serde_json::json!({ "v": 1, "source": source.name(), "config": imported.toml, "notes": notes })
}
