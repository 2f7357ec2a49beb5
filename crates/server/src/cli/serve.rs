//! `samovar serve`: from settings to a running server, and from a signal to its end.

use super::{Format, ServeArgs};
use crate::config::{self, AccessLog, Listen, Loaded, LogFormat};
use crate::front::{self, Listener, Signals, Wish};
use crate::log::AccessLog as Log;
use crate::state::{Overrides, Shared, Snapshot, Source, cache_settings, destination};
use crate::{admin, clock, descriptors, operator_files, stderr};
use samovar_cache::Cache;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use tokio::runtime::Runtime;

/// Serves until a signal says stop.
pub fn serve(args: ServeArgs) -> Result<ExitCode, String> {
    clock::now();
    // The allocator asks for huge pages, of which each is taken whole for whatever is used of it: with a budget of 32 MiB
    // under churn the process had 100 to 120 MiB, and has some 75 without. With a million answers a hit costs 2 % more without them.
    let _refused = rustix::thread::disable_transparent_huge_pages(true);
    stderr::start()?;
    // Before anything else: a signal that comes while the server starts must not kill it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("start the main thread's runtime: {e}"))?;
    let signals =
        runtime.block_on(async { Signals::watch() }).map_err(|e| format!("watch for signals: {e}"))?;
    let overrides = overrides(&args)?;
    let (mut loaded, path) = load(&args)?;
    if !loaded.warnings.is_empty() {
        crate::say!("{}", loaded.warnings());
    }
    overrides.apply(&mut loaded.settings);
    loaded.settings.can_speak_tls()?;
    if let Some(machine) = config::machine_bytes()
        && loaded.settings.memory.size_bytes > machine
    {
        crate::say!(
            "samovar: a memory budget of {} is more than this machine's {}",
            front::about(loaded.settings.memory.size_bytes),
            front::about(machine)
        );
    }
    let cores = loaded.settings.server.workers.unwrap_or_else(cores).max(1);
    descriptors::raise_limit();
    let mut listeners = listeners(&loaded, cores)?;
    let admin_listener = match &loaded.settings.server.admin {
        Some(address) => Some(admin::bind(address)?),
        None => None,
    };
    let cache = Cache::new(cache_settings(&loaded.settings));
    let log = Log::start(cores, destination(&loaded.settings))?;
    let source = Source { path, text: loaded.text.clone() };
    let snapshot = Snapshot::build(loaded.settings, 1, None, &cache)?;
    let shared = Shared::new(cores, snapshot, cache, log, source, overrides);
    let addresses: Vec<String> = listeners.iter().map(|l| l.text.clone()).collect();
    let admin_text = admin_listener.as_ref().map(|a| a.text.clone());
    let _ = shared.addresses.set(addresses.clone());
    let running = front::start(&shared, &mut listeners, cores)?;
    let admin = match admin_listener {
        Some(listener) => Some(admin::start(&shared, listener)?),
        None => None,
    };
    crate::say!("{}", front::banner(&shared.snapshot().settings, &addresses, admin_text.as_deref(), cores));
    if let Some(few) = front::too_few_files(&shared.snapshot().settings) {
        crate::say!("samovar: {few}");
    }
    // Whoever waits for the file finds the banner written.
    stderr::flush(stderr::FLUSH_AT_END);
    if let Some(file) = &args.ready_file {
        ready(file, &addresses, admin_text.as_deref())?;
    }
    wait(&shared, &runtime, signals)?;
    crate::say!("samovar: stopping; requests under way may finish");
    shared.stop();
    // At once, so that the next process can take these addresses while this one finishes. Later a socket's name might be
    // that of the next process.
    if let Some(admin) = admin {
        admin.stop();
    }
    for path in listeners.iter().filter_map(|l| l.path.as_ref()) {
        let _ = std::fs::remove_file(path);
    }
    running.stop();
    shared.access_log.stop(stderr::FLUSH_AT_END);
    Ok(ExitCode::SUCCESS)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

fn load(args: &ServeArgs) -> Result<(Loaded, Option<std::path::PathBuf>), String> {
    if let Some(path) = &args.config {
        let loaded = config::load(path).map_err(|report| report.to_string())?;
        operator_files::clean(path);
        return Ok((loaded, Some(path.clone())));
    }
    if let Some(url) = &args.origin {
        return Ok((config::from_origin(url).map_err(|report| report.to_string())?, None));
    }
    if let Some(dir) = &args.dir {
        let dir = std::path::absolute(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        if !dir.is_dir() {
            let what = if dir.exists() { "is not a folder" } else { "does not exist" };
            return Err(format!("serve {}: it {what}\nhint: name a folder of files", dir.display()));
        }
        let mut loaded = config::from_folder(&dir).map_err(|report| report.to_string())?;
        if args.listing {
            let text = format!("{}listing = true\n", loaded.text);
            loaded = config::parse(&text, &loaded.file).map_err(|report| report.to_string())?;
        }
        return Ok((loaded, None));
    }
    Err("serve what?\nhint: `samovar serve DIR`, `samovar serve --origin http://127.0.0.1:3000`, or `samovar serve --config FILE`".to_string())
}

fn overrides(args: &ServeArgs) -> Result<Overrides, String> {
    let listen = args.listen.iter().map(|text| address("--listen", text)).collect::<Result<_, _>>()?;
    let admin = match args.admin.as_deref() {
        None => None,
        Some("off") => Some(None),
        Some(text) => Some(Some(address("--admin", text)?)),
    };
    let memory_bytes = match &args.memory {
        None => None,
        Some(text) => match config::memory_bytes(text).map_err(|e| format!("--memory {text}: {e}"))? {
            bytes if bytes < config::MEMORY_LEAST_BYTES => {
                return Err(format!("--memory {text}: at least 1 MiB, as `memory.size` in a file"));
            }
            bytes => Some(bytes),
        },
    };
    let access_log = match args.access_log.as_deref() {
        None => None,
        Some("off") => Some(AccessLog::Off),
        Some("stderr") => Some(AccessLog::Stderr),
        Some(path) => {
            Some(AccessLog::File(std::path::absolute(path).map_err(|e| format!("--access-log {path}: {e}"))?))
        }
    };
    let log_format = args.log_format.map(|f| match f {
        Format::Combined => LogFormat::Combined,
        Format::Json => LogFormat::Json,
    });
    if args.workers == Some(0) {
        return Err("--workers 0: at least one must serve".to_string());
    }
    Ok(Overrides { listen, admin, workers: args.workers, access_log, log_format, memory_bytes })
}

fn address(flag: &str, text: &str) -> Result<Listen, String> {
    config::parse_listen(text).map_err(|e| format!("{flag} {text}: {e}"))
}

fn listeners(loaded: &Loaded, cores: usize) -> Result<Vec<Listener>, String> {
    let wanted = &loaded.settings.server.listen;
    wanted.iter().enumerate().map(|(id, listen)| front::bind(listen, id as u32, cores)).collect()
}

/// Written beside and renamed, so that whoever waits for it never reads half.
fn ready(file: &Path, listen: &[String], admin: Option<&str>) -> Result<(), String> {
    let text = serde_json::json!({ "listen": listen, "admin": admin, "pid": std::process::id() }).to_string();
    operator_files::put(file, &(text + "\n"), |_| Ok(()))
        .map_err(|e| format!("write {}: {e}", file.display()))
}

fn wait(shared: &Arc<Shared>, runtime: &Runtime, mut signals: Signals) -> Result<(), String> {
    // A reload waits for files, and for whoever is changing one: on a thread of its own, so that a stop never does.
    let (reload, wishes) = std::sync::mpsc::channel();
    let reloaded = Arc::clone(shared);
    std::thread::Builder::new()
        .name("reload".into())
        .spawn(move || reload_when_told(&reloaded, &wishes))
        .map_err(|e| format!("start the thread that reloads: {e}"))?;
    loop {
        match runtime.block_on(signals.next()) {
            Wish::Stop => return Ok(()),
            Wish::Reopen => shared.access_log.reopen(),
            // The thread ends with the process.
            Wish::Reload => drop(reload.send(())),
        }
    }
}

fn reload_when_told(shared: &Arc<Shared>, wishes: &Receiver<()>) {
    while wishes.recv().is_ok() {
        // Wishes that have come meanwhile are met by the same reading.
        while wishes.try_recv().is_ok() {}
        match shared.reload() {
            Ok(warnings) => {
                warnings.iter().for_each(|w| crate::say!("{w}"));
                crate::say!("samovar: the configuration was reloaded");
            }
            Err(message) => crate::say!("samovar: the configuration stays as it was: {message}"),
        }
    }
}
