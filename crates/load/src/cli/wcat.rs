//! WCAT's commands: `wcctl`, `wcclient`, `wcat.wsf`, as subcommands and as links to the program of these names.
//!
//! Not here: their grammar ([`crate::wcat::command`]), what controller and client say ([`crate::remote`]).

use std::io::{Write, stderr, stdout};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::files::Target;
use super::run::{outcome, watch_ctrl_c};
use super::scenario;
use crate::counters::windows;
use crate::job::{Job, Machine, Understood};
use crate::remote::{self, client, controller, token};
use crate::report::bundle::Bundle;
use crate::report::model::Run;
use crate::report::units::printable;
use crate::report::{html, text, xml};
use crate::run::{self, Counted, Gathered, Trouble, Wanted, progress::Progress};
use crate::wcat;
use crate::wcat::command::{self, Control, Tool};

/// The names under which WCAT is called.
const NAMES: [&str; 4] = ["wcctl", "wcclient", "wcat.wsf", "wcat"];

/// The one of WCAT's names that a word is. On Windows case is nothing, and programs end in `.exe`: articles write `Wcat.wsf`
/// and `wcclient.exe`.
pub(super) fn name(word: &str) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase();
    let bare = lower.strip_suffix(".exe").unwrap_or(&lower);
    NAMES.into_iter().find(|name| *name == bare)
}

/// Does what `name` does, with these words.
pub(super) fn command(name: &str, args: &[String]) -> Result<ExitCode, String> {
    match name {
        "wcclient" => call(args),
        "wcctl" => control(Tool::Controller, args),
        _ => control(Tool::Script, args),
    }
}

fn tell(line: &str) {
    // Nobody to tell if stderr is gone. Names come from elsewhere.
    let _ = writeln!(stderr(), "{}", printable(line));
}

fn control(tool: Tool, args: &[String]) -> Result<ExitCode, String> {
    let name = if tool == Tool::Controller { "wcctl" } else { "wcat.wsf" };
    let control = command::control(tool, args).map_err(|why| format!("{name}: {why}"))?;
    control.notes.iter().for_each(|note| tell(&format!("{name}: {note}")));
    if control.help || args.is_empty() {
        return help(tool);
    }
    if control.terminate {
        tell("-terminate: nothing to end; clients end with their run");
    }
    if control.update {
        tell(
            "-update: nothing to copy, nothing to restart; a client is this program, under the name wcclient",
        );
    }
    if tool == Tool::Script && !control.run {
        return Ok(ExitCode::SUCCESS);
    }
    let job = job(&control)?;
    let here = tool == Tool::Script && control.machines.iter().all(|machine| is_here(machine));
    let understood = scenario::understood(&job, &Machine::All)?;
    // Opened before the run: one of an hour must not end with a path that cannot be written.
    let mut reports = Reports::open(&control, !control.five)?;
    let stop = watch_ctrl_c()?;
    let wanted = wanted(&control, &job, &understood);
    let run = match here {
        true => run::run(&understood.plan, &wanted, stop).map_err(said)?,
        false => {
            let gathered = wait_for_clients(&control, &job, &understood, &wanted, &stop)?;
            run::report(&understood.plan, &wanted, gathered)
        }
    };
    end(run, &job, &control, &mut reports)
}

fn wanted(control: &Control, job: &Job, understood: &Understood) -> Wanted {
    Wanted {
        label: Some(understood.label.clone()),
        method: understood.plan.requests.first().map_or("GET", |request| request.method.as_str()).to_owned(),
        progress: !control.quiet,
        counted: counted(job, understood),
        ..Wanted::default()
    }
}

/// Reports a run, and says what a script sees of it.
fn end(run: Run, job: &Job, control: &Control, reports: &mut Reports) -> Result<ExitCode, String> {
    let run = Run { bundle: Some(kept(job)), ..run };
    reports.write(&run)?;
    if !control.quiet {
        // A reader that went away (`| head`) is no error of ours.
        let _ = stdout().write_all(text::report(&run, true).as_bytes());
    }
    Ok(outcome(&run, &[]))
}

/// What it takes to make the run again: the job, with all its files.
fn kept(job: &Job) -> Bundle {
    Bundle { job: Some(Box::new(job.clone())), ..super::keep::bundle(&[]) }
}

/// Makes the run of a job again, here, whoever made it then.
pub(super) fn again(job: &Job, more: &[String]) -> Result<ExitCode, String> {
    let mut control = command::control(Tool::Script, more).map_err(|why| format!("rerun: {why}"))?;
    control.run = true;
    if let Some(file) = control.files.first() {
        return Err(format!("rerun: `{file}` cannot be given: a run is made again with the files of then"));
    }
    let job = &with(job, &control)?;
    let understood = scenario::understood(job, &Machine::All)?;
    let mut reports = Reports::open(&control, true)?;
    let wanted = wanted(&control, job, &understood);
    let run = run::run(&understood.plan, &wanted, watch_ctrl_c()?).map_err(said)?;
    end(run, job, &control, &mut reports)
}

/// The job, with what is said now in the place of what was said then.
fn with(job: &Job, control: &Control) -> Result<Job, String> {
    let servers = servers(control);
    Ok(Job {
        servers: if servers.is_empty() { job.servers.clone() } else { servers },
        host: control.name.clone().or_else(|| job.host.clone()),
        machines: control.clients.or(job.machines),
        virtual_clients: control.virtual_clients.or(job.virtual_clients),
        warmup_ms: control.warmup_ms.or(job.warmup_ms),
        duration_ms: control.duration_ms.or(job.duration_ms),
        cooldown_ms: control.cooldown_ms.or(job.cooldown_ms),
        single_ip: control.single_ip || job.single_ip,
        label: control.comment.clone().or_else(|| job.label.clone()),
        extended: control.extended || job.extended,
        counters: counters(control)?.or_else(|| job.counters.clone()),
        metrics: if control.metrics.is_empty() { job.metrics.clone() } else { control.metrics.clone() },
        ..job.clone()
    })
}

/// Counters are read where they are asked for: with -x those of the settings, with -p those of a file.
fn counted(job: &Job, understood: &Understood) -> Counted {
    let known = |host: &str| is_here(host) || job.servers_of(understood).iter().any(|server| server == host);
    let settings = understood.gathered.settings.counters.iter().filter(|_| job.extended);
    if let Some(note) = windows::elsewhere(settings.map(|counter| counter.host.as_str()), &known) {
        tell(&format!("wcat: {note}"));
    }
    Counted { windows: understood.counters(job), pages: job.metrics.clone(), ..Counted::default() }
}

/// The counters that a file of WCAT 5 names, if one is given.
fn counters(control: &Control) -> Result<Option<Vec<String>>, String> {
    let Some(name) = &control.counters else { return Ok(None) };
    let bytes = super::files::read(&path(name))?;
    let source = wcat::Source::decode(name, &bytes);
    let mut notes = Vec::new();
    let counters = windows::file(&source.text, &mut notes);
    notes.iter().for_each(|note| tell(source.render(note).trim_end()));
    if notes.iter().any(|note| note.severity == wcat::Severity::Error) {
        return Err("nothing was sent: the counters cannot be read".to_owned());
    }
    let known = |host: &str| is_here(host);
    if let Some(note) = windows::elsewhere(counters.iter().map(|counter| counter.host.as_str()), &known) {
        tell(&format!("{name}: {note}"));
    }
    Ok(Some(counters.into_iter().map(|counter| counter.path).collect()))
}

fn said(trouble: Trouble) -> String {
    match trouble {
        Trouble::Unreachable(text) | Trouble::System(text) => text,
    }
}

fn job(control: &Control) -> Result<Job, String> {
    if control.files.is_empty() {
        return Err(
            "no scenario is named: -t SCENARIO.ubr, or -s SCRIPT -d DISTRIBUTION -c CONFIG".to_owned()
        );
    }
    let mut job = Job {
        servers: servers(control),
        host: control.name.clone(),
        machines: control.clients,
        virtual_clients: control.virtual_clients,
        warmup_ms: control.warmup_ms,
        duration_ms: control.duration_ms,
        cooldown_ms: control.cooldown_ms,
        single_ip: control.single_ip,
        label: control.comment.clone(),
        seed: 1,
        extended: control.extended,
        counters: counters(control)?,
        metrics: control.metrics.clone(),
        ..Job::default()
    };
    let paths: Vec<PathBuf> = control.files.iter().map(|name| path(name)).collect();
    scenario::read(&paths, &mut job)?;
    Ok(job)
}

/// The servers to ask, if they are named.
fn servers(control: &Control) -> Vec<String> {
    let all = control.server.iter().flat_map(|list| list.split(','));
    all.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// A path as it was typed; one of Windows with its slashes turned, if that is what is there.
fn path(name: &str) -> PathBuf {
    let turned = PathBuf::from(name.replace('\\', "/"));
    let as_typed = PathBuf::from(name);
    if !as_typed.exists() && turned.exists() { turned } else { as_typed }
}

fn is_here(machine: &str) -> bool {
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy();
    ["localhost", "127.0.0.1", "::1", "."].contains(&machine) || own.eq_ignore_ascii_case(machine)
}

/// Has clients do the job that call from other shells, or other machines.
fn wait_for_clients(
    control: &Control,
    job: &Job,
    understood: &Understood,
    wanted: &Wanted,
    stop: &Arc<AtomicBool>,
) -> Result<Gathered, String> {
    // Who names other machines wants them to reach us.
    let elsewhere = control.machines.iter().any(|machine| !is_here(machine));
    let listen = control.listen.as_deref().unwrap_or(if elsewhere { "0.0.0.0" } else { "127.0.0.1" });
    let port = control.port.unwrap_or(remote::PORT);
    let at = match listen.parse::<std::net::SocketAddr>() {
        Ok(address) => address.to_string(),
        Err(_) if listen.contains(':') => format!("[{listen}]:{port}"),
        Err(_) => format!("{listen}:{port}"),
    };
    let listener = TcpListener::bind(&at).map_err(|error| {
        format!("cannot wait for clients at {at}: {error}; is another wcctl running? -p takes another port")
    })?;
    let local = listener.local_addr().map_err(|error| format!("cannot tell where we listen: {error}"))?;
    let port = local.port();
    let token = match &control.token {
        Some(token) => token.clone(),
        None => token::draw()?,
    };
    let left = token::leave(port, &token);
    let suffix = if port == remote::PORT { String::new() } else { format!(" -p {port}") };
    tell(&format!(
        "waiting at {local} for {}; start each from another shell: wcclient localhost{suffix}",
        crate::report::units::many(understood.machines, "client")
    ));
    let host = if local.ip().is_loopback() { "localhost" } else { "HOST" };
    let who = match (local.ip().is_loopback(), left.is_some()) {
        (true, true) => "as another user",
        (true, false) => "the token could not be left where clients find it",
        (false, _) => "on other machines, or as another user",
    };
    tell(&format!("{who}: wcclient {host}{suffix} -token {token}"));
    let mut progress =
        Progress::new(wanted.progress, understood.plan.load.schedule.clone(), understood.plan.load.count);
    let mut begun: Option<std::time::Instant> = None;
    let count = understood.machines;
    // The last answers may come as late as they are waited for.
    let load = &understood.plan.load;
    let ends_ns = load
        .schedule
        .window_end_ns()
        .map(|end| end.saturating_add(load.schedule.cooldown_ns).saturating_add(load.timeout_ns));
    let within = ends_ns.map(|ends| Duration::from_nanos(ends).saturating_add(controller::AFTERWARDS));
    let gathered =
        controller::control(&listener, job, count, &token, within, stop, &mut |event| match event {
            controller::Event::Came { name, here } => tell(&format!("{here} of {count}: {name}")),
            controller::Event::Refused(from, why) => tell(&format!("{from} was sent away: {why}")),
            controller::Event::Begins => begun = Some(std::time::Instant::now()),
            controller::Event::Second(slice) => {
                progress.add(&slice);
                let since =
                    begun.map_or(0, |begun| u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
                progress.show(since);
            }
            controller::Event::Lost(why) => tell(&why),
        })?;
    progress.clear();
    if gathered.is_empty() {
        let why = gathered.losses().first().map_or("no client counted anything", String::as_str);
        return Err(why.to_owned());
    }
    Ok(gathered)
}

/// Where the log of 6.3 goes if nobody says.
const LOG: &str = "log.xml";

/// The files a run is reported to.
struct Reports {
    /// Whether the log is that of 6.3, and not that of 5.
    six: bool,
    xml: Option<Target>,
    log: Option<Target>,
    json: Option<Target>,
    html: Option<Target>,
}

impl Reports {
    fn open(control: &Control, six: bool) -> Result<Reports, String> {
        let open =
            |name: &Option<String>| name.as_deref().map(|name| Target::create(Path::new(name))).transpose();
        // The original always wrote its log; here it does where what only the log holds is asked for (-x).
        let log = (six && control.extended && control.output.is_none()).then(|| LOG.to_owned());
        if let Some(log) = &log {
            tell(&format!("the log goes to {log} (-o names another file)"));
        }
        Ok(Reports {
            six,
            xml: open(&control.output.clone().or(log))?,
            log: open(&control.log)?,
            json: open(&control.json)?,
            html: open(&control.html)?,
        })
    }

    fn write(&mut self, run: &Run) -> Result<(), String> {
        let put = |to: &mut Option<Target>, text: &dyn Fn() -> String| {
            to.as_mut().map_or(Ok(()), |file| file.write(&text()))
        };
        put(&mut self.log, &|| text::report(run, true))?;
        put(&mut self.json, &|| serde_json::to_string(run).unwrap_or_default() + "\n")?;
        put(&mut self.html, &|| html::page(std::slice::from_ref(run)))?;
        let six = self.six;
        put(&mut self.xml, &|| if six { xml::six(run) } else { xml::five(run) })
    }
}

fn help(tool: Tool) -> Result<ExitCode, String> {
    let text = match tool {
        Tool::Controller => format!(
            "wcctl: runs scenario files of WCAT with the clients that call it.\n\n  WCAT 6.3: wcctl {}\n  WCAT 5:   wcctl {}\n{OURS}",
            command::usage(tool, false),
            command::usage(tool, true)
        ),
        Tool::Script => {
            format!(
                "wcat.wsf: runs scenario files of WCAT, clients and all.\n\n  wcat.wsf {}\n{OURS}",
                command::usage(tool, false)
            )
        }
    };
    let _ = stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

const OURS: &str = "
Besides: -json FILE and -html FILE write the report, -label NAME names it; -listen IP waits for clients of other machines (loopback if not
given), who then need -token TOKEN, which is printed; -metrics URL reads a page of metrics each second; -quiet says
nothing.
";

fn call(args: &[String]) -> Result<ExitCode, String> {
    let call = command::call(args).map_err(|why| format!("wcclient: {why}"))?;
    call.notes.iter().for_each(|note| tell(&format!("wcclient: {note}")));
    if call.help {
        let text = "wcclient: does what a wcctl says.\n\n  wcclient HOST [-p PORT] [-token TOKEN]\n\nOn the controller's own machine the token is found; another machine is given what wcctl printed.\n";
        let _ = stdout().write_all(text.as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let address = client::address(&call.controller);
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(remote::PORT);
    let stop = watch_ctrl_c()?;
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // The controller may be started after us: its token is looked for again when it answers.
    let token = || call.token.clone().or_else(|| token::find(port)).unwrap_or_default();
    let result = client::serve(&address, &token, &name, &stop, &mut |event| match event {
        client::Event::NotThere(why) => {
            tell(&format!("waiting for the controller at {address} ({why})"));
        }
        client::Event::Waits => tell("the controller is there; waiting for the others"),
        client::Event::Begins => tell("sending"),
    });
    result.map(|()| ExitCode::SUCCESS).map_err(|why| format!("wcclient: {}", why.trim_end()))
}
