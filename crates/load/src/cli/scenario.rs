//! Scenario files from the command line to a job: read, with the files they name beside them.
//!
//! Not here: what is in them ([`crate::wcat`]), running them.

use std::fs::{self, File};
use std::io::{Read, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::run_args::{Pacing, RunArgs};
use super::shape;
use crate::job::{Job, Machine, Understood};
use crate::plan::{Right, size};
use crate::wcat::Source;

/// The largest scenario file, and all files that scenarios send together.
const FILES_MAX_BYTES: u64 = 64 << 20;

/// Reads scenario files, and what they name, which is looked for beside the first of them.
pub(super) fn read(paths: &[PathBuf], job: &mut Job) -> Result<(), String> {
    for path in paths {
        let bytes = bounded(path, FILES_MAX_BYTES)?;
        job.sources.push(Source::decode(&path.display().to_string(), &bytes));
    }
    let folder = paths.first().and_then(|path| path.parent()).unwrap_or(Path::new("")).to_owned();
    let mut left = FILES_MAX_BYTES;
    for name in job.needs().map_err(nothing_sent)? {
        // As they were written there, with the slashes of Windows.
        let path = folder.join(name.replace('\\', "/"));
        let bytes = bounded(&path, left)?;
        left = left.saturating_sub(bytes.len() as u64);
        job.files.insert(name, bytes);
    }
    Ok(())
}

/// The files that scenario files name, which could be read a moment ago.
pub(super) fn named(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut job = Job::default();
    let folder = paths.first().and_then(|path| path.parent()).unwrap_or(Path::new("")).to_owned();
    match paths.is_empty() || read(paths, &mut job).is_err() {
        true => Vec::new(),
        false => job.files.keys().map(|name| folder.join(name.replace('\\', "/"))).collect(),
    }
}

/// What the job comes to on `machine`; what there is to say about its files goes to stderr.
pub(super) fn understood(job: &Job, machine: &Machine) -> Result<Understood, String> {
    let understood = job.understand(machine).map_err(nothing_sent)?;
    for warning in &understood.gathered.warnings {
        // Nobody to tell if stderr is gone.
        let _ = write!(stderr(), "{warning}");
    }
    Ok(understood)
}

/// The plan of the scenario files that `thirst run` names, with what its flags say otherwise.
pub(super) fn plan(args: &RunArgs, paths: &[PathBuf]) -> Result<Understood, String> {
    let (load, request, client) = (&args.load, &args.request, &args.client);
    let says_itself = [
        (!request.headers.is_empty(), "-H"),
        (request.method.is_some(), "-m"),
        (request.body.is_some(), "-b"),
        (request.compressed, "--compressed"),
        (request.pick.is_some(), "--pick"),
        (client.no_keepalive, "--no-keepalive"),
        (client.cookies, "--cookies"),
        (client.follow, "-L"),
    ];
    if let Some((_, flag)) = says_itself.iter().find(|(given, _)| *given) {
        return Err(format!("{flag}: a scenario says itself what its requests are like; write it there"));
    }
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut job = Job {
        servers: args.server.clone(),
        machines: load.connections.map(|_| 1),
        virtual_clients: load.connections.map(u64::from),
        warmup_ms: load.warmup.map(ms),
        duration_ms: load.duration.map(ms),
        cooldown_ms: load.cooldown.map(ms),
        timeout_ms: Some(ms(request.timeout)),
        threads: load.threads,
        single_ip: !client.all_addresses,
        seed: load.seed,
        ..Job::default()
    };
    read(paths, &mut job)?;
    let mut understood = understood(&job, &Machine::All)?;
    let plan = &mut understood.plan;
    let by_flags =
        load.rate.is_some() || load.steps.is_some() || load.ramp.is_some() || load.requests.is_some();
    if by_flags {
        plan.load = shape::load(args)?;
    } else {
        shape::refuse_odd(load, false, None)?;
        plan.load.precise = load.pacing == Pacing::Precise;
        plan.load.sources.extend(&client.source_ip);
        if let Some((low, high)) = load.think {
            plan.load.think_ns = (size::nanos(low), size::nanos(high));
        }
        plan.load.most_per_s = load.most.or(plan.load.most_per_s);
    }
    plan.manners = super::plan::manners(args);
    if super::plan::names_status(args) {
        // What a request of the file says of its own status holds; where it says nothing, the command line does.
        let silent = plan.requests.iter_mut().filter(|request| request.right == Right::Below400);
        silent.for_each(|request| request.right = Right::Any);
    }
    Ok(understood)
}

fn nothing_sent(why: String) -> String {
    format!("nothing was sent\n{}", why.trim_end())
}

fn bounded(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let cannot = |error: std::io::Error| {
        let hint =
            super::swallowed::hint(&shown.to_string()).map_or_else(String::new, |hint| format!("; {hint}"));
        format!("cannot read `{shown}`: {error}{hint}")
    };
    if fs::metadata(path).map_err(cannot)?.is_dir() {
        return Err(format!("`{shown}` is a folder; name the files in it"));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(cannot)?.take(most + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > most {
        return Err(format!("`{shown}`: a scenario and its files are at most 64 MiB together"));
    }
    Ok(bytes)
}
