//! WCAT's own command lines: `wcctl` of 5 and of 6.3, `wcclient`, `wcat.wsf`.
//!
//! The same letter means another thing in each; which `wcctl` is meant shows in `-a` and `-d`, which only that of 5 has.
//! Dashes that a word processor put in their place are understood and said. Not here: doing what they say.

use super::five::time;
use super::source::Note;

/// What a `wcctl` or `wcat.wsf` is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Scenario and settings, or script, distribution and configuration.
    pub files: Vec<String>,
    /// The servers to ask.
    pub server: Option<String>,
    /// What they are called in `Host`; WCAT 5 has a name beside the address.
    pub name: Option<String>,
    /// Machines that send.
    pub clients: Option<u64>,
    /// Virtual clients on each.
    pub virtual_clients: Option<u64>,
    /// Times, ms.
    pub warmup_ms: Option<u64>,
    /// See `warmup_ms`.
    pub duration_ms: Option<u64>,
    /// See `warmup_ms`.
    pub cooldown_ms: Option<u64>,
    /// It is the command line of WCAT 5.
    pub five: bool,
    /// Where clients call.
    pub port: Option<u16>,
    /// Where `log.xml` goes.
    pub output: Option<String>,
    /// Where the report of WCAT 5 goes, besides the screen.
    pub log: Option<String>,
    /// The counters of the settings are read.
    pub extended: bool,
    /// Counters to read, a file with one on each line.
    pub counters: Option<String>,
    /// Only the first address of a server is used.
    pub single_ip: bool,
    /// A word about it.
    pub comment: Option<String>,
    /// The machines that are to send, of `wcat.wsf`.
    pub machines: Vec<String>,
    /// `wcat.wsf -run`.
    pub run: bool,
    /// `wcat.wsf -terminate`.
    pub terminate: bool,
    /// `wcat.wsf -update`.
    pub update: bool,
    /// Help is asked for.
    pub help: bool,
    /// Ours: where to listen for clients.
    pub listen: Option<String>,
    /// Ours: what clients have to say.
    pub token: Option<String>,
    /// Ours: the report as JSON.
    pub json: Option<String>,
    /// Ours: the report as HTML.
    pub html: Option<String>,
    /// Ours: pages of metrics to read each second.
    pub metrics: Vec<String>,
    /// Ours: no report on the terminal.
    pub quiet: bool,
    /// What there is to say about how it was typed.
    pub notes: Vec<String>,
}

/// What a `wcclient` is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The controller, `host` or `host:port`.
    pub controller: String,
    /// Help is asked for.
    pub help: bool,
    /// Ours: what the controller wants to hear.
    pub token: Option<String>,
    /// What there is to say about how it was typed.
    pub notes: Vec<String>,
}

/// Which tool is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `wcctl`.
    Controller,
    /// `wcat.wsf`, which does all at once.
    Script,
}

const DASHES: &str = "‐‑‒–—―−";

/// The words of a command line, one after the other.
struct Words<'a> {
    rest: std::slice::Iter<'a, String>,
    notes: Vec<String>,
}

impl Words<'_> {
    /// The next flag, without its dash, or a word that is none.
    fn next(&mut self, known: &[&str]) -> Option<Result<String, String>> {
        let word = self.rest.next()?;
        let first = word.chars().next()?;
        let rest = word.get(first.len_utf8()..).unwrap_or_default();
        let bare = rest.trim_start_matches(['-']).to_ascii_lowercase();
        if first == '-' {
            return Some(Ok(bare));
        }
        // `?x` is what a console makes of a dash it has no letter for.
        let is_pasted = DASHES.contains(first) || (first == '?' && known.contains(&bare.as_str()));
        if is_pasted && !bare.is_empty() {
            self.notes
                .push(format!("`{word}` begins with {first:?} where a dash was meant; taken as `-{bare}`"));
            return Some(Ok(bare));
        }
        Some(Err(word.clone()))
    }

    fn value(&mut self, flag: &str) -> Result<String, String> {
        let value = self.rest.next().cloned();
        value.ok_or_else(|| format!("-{flag} is followed by a value"))
    }

    fn number<T: std::str::FromStr>(&mut self, flag: &str) -> Result<T, String> {
        let value = self.value(flag)?;
        value.parse().map_err(|_| format!("-{flag} {value}: a whole number is meant"))
    }

    fn time(&mut self, flag: &str) -> Result<u64, String> {
        let value = self.value(flag)?;
        let mut notes: Vec<Note> = Vec::new();
        time(&value, &(0..0), &mut notes).ok_or_else(|| format!("-{flag} {value}: write 30s, 5m, or seconds"))
    }
}

/// Reads the command line of a controller.
///
/// # Errors
/// What is wrong with it, and what there is.
pub fn control(tool: Tool, args: &[String]) -> Result<Control, String> {
    let is = |word: &String, names: [&str; 2]| {
        let bare = word.trim_start_matches(|c: char| c == '-' || DASHES.contains(c));
        bare.len() < word.len() && names.contains(&bare)
    };
    let five = tool == Tool::Controller && args.iter().any(|word| is(word, ["a", "d"]));
    let mut control = Control { five, ..Control::default() };
    let mut words = Words { rest: args.iter(), notes: Vec::new() };
    let known: &[&str] =
        &["x", "singleip", "run", "terminate", "update", "clients", "t", "f", "s", "c", "v", "d", "a"];
    while let Some(word) = words.next(known) {
        let flag = word.map_err(|word| {
            format!(
                "`{word}` is no flag{}",
                if word.contains('=') { "" } else { ", and no flag before it takes a value" }
            )
        })?;
        if ours(&mut control, &flag, &mut words)? {
            continue;
        }
        let known = if five {
            flag_of_five(&mut control, &flag, &mut words)?
        } else {
            flag_of_six(&mut control, tool, &flag, &mut words)?
        };
        if !known {
            return Err(format!("there is no -{flag}; there are: {}", usage(tool, five)));
        }
    }
    control.notes = words.notes;
    Ok(control)
}

/// What every command of ours takes beside WCAT's.
fn ours(control: &mut Control, flag: &str, words: &mut Words<'_>) -> Result<bool, String> {
    match flag {
        "listen" => control.listen = Some(words.value(flag)?),
        "token" => control.token = Some(words.value(flag)?),
        "label" => control.comment = Some(words.value(flag)?),
        "metrics" => control.metrics.push(words.value(flag)?),
        "json" => control.json = Some(words.value(flag)?),
        "html" => control.html = Some(words.value(flag)?),
        "quiet" | "q" => control.quiet = true,
        "?" | "help" | "h" => control.help = true,
        _ => return Ok(false),
    }
    Ok(true)
}

fn flag_of_five(control: &mut Control, flag: &str, words: &mut Words<'_>) -> Result<bool, String> {
    match flag {
        "c" | "s" | "d" => control.files.push(words.value(flag)?),
        "a" => control.server = Some(words.value(flag)?),
        "n" => control.name = Some(words.value(flag)?),
        "p" => {
            control.counters = Some(words.value(flag)?);
            control.extended = true;
        }
        "l" => control.log = Some(words.value(flag)?),
        "x" => control.output = Some(words.value(flag)?),
        "m" => control.clients = Some(words.number(flag)?),
        "t" => control.virtual_clients = Some(words.number(flag)?),
        "w" => control.warmup_ms = Some(words.time(flag)?),
        "u" => control.duration_ms = Some(words.time(flag)?),
        "f" => control.cooldown_ms = Some(words.time(flag)?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn flag_of_six(control: &mut Control, tool: Tool, flag: &str, words: &mut Words<'_>) -> Result<bool, String> {
    match flag {
        "t" | "f" => control.files.push(words.value(flag)?),
        "s" => control.server = Some(words.value(flag)?),
        "p" => control.port = Some(words.number(flag)?),
        "c" => control.clients = Some(words.number(flag)?),
        "v" => control.virtual_clients = Some(words.number(flag)?),
        "w" => control.warmup_ms = Some(words.time(flag)?),
        "u" => control.duration_ms = Some(words.time(flag)?),
        "n" => control.cooldown_ms = Some(words.time(flag)?),
        "o" => control.output = Some(words.value(flag)?),
        "x" => control.extended = true,
        "k" => control.comment = Some(words.value(flag)?),
        "singleip" => control.single_ip = true,
        "run" if tool == Tool::Script => control.run = true,
        "terminate" if tool == Tool::Script => control.terminate = true,
        "update" if tool == Tool::Script => control.update = true,
        "clients" if tool == Tool::Script => {
            let list = words.value(flag)?;
            let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
            control.machines = names.map(str::to_owned).collect();
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Reads the command line of a client.
///
/// # Errors
/// What is wrong with it.
pub fn call(args: &[String]) -> Result<Call, String> {
    let mut call = Call::default();
    let mut words = Words { rest: args.iter(), notes: Vec::new() };
    let mut port = None;
    while let Some(word) = words.next(&["b"]) {
        match word {
            Ok(flag) => match flag.as_str() {
                // It ran in the background; a shell does that.
                "b" => words.notes.push("-b has no effect: put `&` behind the command".to_owned()),
                "p" => port = Some(words.number::<u16>(&flag)?),
                "token" => call.token = Some(words.value(&flag)?),
                "?" | "help" | "h" => call.help = true,
                _ => return Err(format!("there is no -{flag}; there are: -p PORT, -token TOKEN, -b")),
            },
            Err(controller) if call.controller.is_empty() => call.controller = controller,
            Err(more) => return Err(format!("`{more}`: a client has one controller")),
        }
    }
    if call.controller.is_empty() && !call.help {
        return Err("whose client? write `wcclient HOST`, the machine where wcctl waits".to_owned());
    }
    if let Some(port) = port {
        call.controller = format!("{}:{port}", call.controller);
    }
    call.notes = words.notes;
    Ok(call)
}

/// The flags of a tool, in a line.
pub fn usage(tool: Tool, five: bool) -> &'static str {
    match (tool, five) {
        (Tool::Controller, true) => {
            "-c CONFIG -s SCRIPT -d DISTRIBUTION -a SERVER [-n NAME] [-p COUNTERS] [-l LOG] [-x LOG.xml] [-m MACHINES] \
             [-t THREADS] [-w WARMUP] [-u DURATION] [-f COOLDOWN]"
        }
        (Tool::Controller, false) => {
            "-t SCENARIO [-f SETTINGS] [-s SERVER[:PORT],…] [-c CLIENTS] [-v VIRTUALCLIENTS] [-w WARMUP] [-u DURATION] \
             [-n COOLDOWN] [-p PORT] [-o LOG.xml] [-k COMMENT] [-x] [-singleip]"
        }
        (Tool::Script, _) => {
            "[-terminate] [-update] [-run] [-clients HOST,…] -t SCENARIO [-f SETTINGS] [-s SERVER[:PORT],…] [-v \
             VIRTUALCLIENTS] [-w WARMUP] [-u DURATION] [-n COOLDOWN] [-o LOG.xml] [-x] [-singleip]"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_first_seeds_line() {
        let line = "-c config.cfg -s script.cfg -d distribution.cfg -a localhost";
        let got = control(Tool::Controller, &words(line)).unwrap();
        assert_eq!(got.files, ["config.cfg", "script.cfg", "distribution.cfg"]);
        assert_eq!((got.server.as_deref(), got.notes.len()), (Some("localhost"), 0));
        let more = control(
            Tool::Controller,
            &words(&format!("{line} -m 2 -t 30 -w 5s -u 10 -f 1m -x log.xml -n www")),
        )
        .unwrap();
        assert_eq!((more.clients, more.virtual_clients), (Some(2), Some(30)));
        assert_eq!(
            (more.warmup_ms, more.duration_ms, more.cooldown_ms),
            (Some(5_000), Some(10_000), Some(60_000))
        );
        assert_eq!(
            (more.output.as_deref(), more.extended, more.name.as_deref()),
            (Some("log.xml"), false, Some("www"))
        );
    }

    #[test]
    fn the_third_seeds_lines_with_the_dash_as_it_was_pasted() {
        let line =
            r"-terminate -run -clients localhost -t home.ubr -f settings.ubr -s localhost -singleip –x";
        let got = control(Tool::Script, &words(line)).unwrap();
        assert_eq!(got.files, ["home.ubr", "settings.ubr"]);
        assert_eq!(got.machines, ["localhost"]);
        assert!(got.run && got.terminate && !got.update && got.single_ip && got.extended);
        assert!(got.notes[0].contains("taken as `-x`"), "{:?}", got.notes);
        let question = control(Tool::Script, &words("-run -t a.ubr ?x")).unwrap();
        assert!(question.extended && question.notes.len() == 1);
        let update = control(Tool::Script, &words("-terminate -update -clients a,b,c")).unwrap();
        assert!(update.update && !update.run && update.machines == ["a", "b", "c"]);
    }

    #[test]
    fn the_same_letters_mean_other_things_in_six() {
        let got = control(
            Tool::Controller,
            &words("-t a.ubr -f s.ubr -s h:81 -c 2 -v 50 -w 1 -u 2m -n 3 -p 7000 -o l.xml -x"),
        )
        .unwrap();
        assert_eq!(
            (got.files.len(), got.clients, got.virtual_clients, got.port),
            (2, Some(2), Some(50), Some(7000))
        );
        assert_eq!(
            (got.warmup_ms, got.duration_ms, got.cooldown_ms),
            (Some(1_000), Some(120_000), Some(3_000))
        );
        assert!(got.extended && got.output.as_deref() == Some("l.xml"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (tool, line, say) in [
            (Tool::Controller, "-t", "-t is followed by a value"),
            (Tool::Controller, "-t a.ubr -c many", "a whole number"),
            (Tool::Controller, "-t a.ubr -w soon", "write 30s"),
            (Tool::Controller, "-t a.ubr -run", "there is no -run"),
            (Tool::Controller, "-a h -v 3", "there is no -v; there are: -c CONFIG"),
            (Tool::Script, "a.ubr", "`a.ubr` is no flag"),
        ] {
            let error = control(tool, &words(line)).unwrap_err();
            assert!(error.contains(say), "{line}: {error}");
        }
    }

    #[test]
    fn clients() {
        let got = call(&words("MyPerfTestControllerMachine")).unwrap();
        assert_eq!(got.controller, "MyPerfTestControllerMachine");
        assert_eq!(call(&words("h -p 99 -token x")).unwrap().controller, "h:99");
        assert_eq!(call(&words("h —b")).unwrap().notes.len(), 2);
        assert!(call(&[]).unwrap_err().contains("whose client"));
        assert!(call(&words("a b")).is_err() && call(&words("a -z")).is_err());
    }
}
