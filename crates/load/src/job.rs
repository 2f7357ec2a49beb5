//! A scenario with everything that was said about it: what one machine, or each of several, is to do.
//!
//! It travels as it is from a controller to its clients, and becomes a [`Plan`] in each. Pure: what its files hold is in it.
//! Not here: reading files, the way it travels ([`crate::remote`]).

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::pacer::{Schedule, Step};
use crate::plan::scenario::{Setting, files};
use crate::plan::{Load, Manners, Plan, Trust, levels};
use crate::wcat::{DURATION_MS, Gathered, Source, VIRTUAL_CLIENTS, gather};

/// Clients of a run at most.
const CLIENTS_MAX: u64 = 1_000_000;

/// What is to be done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Job {
    /// The files of the scenario, in any order.
    pub sources: Vec<Source>,
    /// What the files that these name hold.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The servers to ask, where they are not those of the settings.
    pub servers: Vec<String>,
    /// What they are called in `Host`, where it is not their name.
    pub host: Option<String>,
    /// Machines that send; each does the work of its virtual clients.
    pub machines: Option<u64>,
    /// Virtual clients of each.
    pub virtual_clients: Option<u64>,
    /// Times, ms, where they are not those of the files.
    pub warmup_ms: Option<u64>,
    /// See `warmup_ms`.
    pub duration_ms: Option<u64>,
    /// See `warmup_ms`.
    pub cooldown_ms: Option<u64>,
    /// How long an answer may take, ms.
    pub timeout_ms: Option<u64>,
    /// Threads that send.
    pub threads: Option<u32>,
    /// Only the first address of a server is used.
    pub single_ip: bool,
    /// Every certificate is believed.
    pub insecure: bool,
    /// What chance depends on.
    pub seed: u64,
    /// A name for the run.
    pub label: Option<String>,
    /// The counters of its settings are read.
    #[serde(default)]
    pub extended: bool,
    /// Counters that are read instead.
    #[serde(default)]
    pub counters: Option<Vec<String>>,
    /// Pages of metrics that are read each second.
    #[serde(default)]
    pub metrics: Vec<String>,
}

/// Which machine does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Machine {
    /// This one, for all of them.
    All,
    /// One of them, with its number and its name.
    One(u64, String),
}

/// A job understood.
#[derive(Clone, Debug)]
pub struct Understood {
    /// Scenario, settings, and what there is to say about them.
    pub gathered: Gathered,
    /// What to send.
    pub plan: Plan,
    /// Its name.
    pub label: String,
    /// How many machines it is for.
    pub machines: u64,
}

impl Understood {
    /// Counters of Windows that are to be read: those that were asked for, or else those of the settings if they were.
    pub fn counters(&self, job: &Job) -> Vec<String> {
        let of_settings =
            || self.gathered.settings.counters.iter().map(|counter| counter.path.clone()).collect();
        let mut all = match &job.counters {
            Some(counters) => counters.clone(),
            None if job.extended => of_settings(),
            None => Vec::new(),
        };
        all.dedup();
        all
    }
}

impl Job {
    /// The names of the files its scenario needs.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn needs(&self) -> Result<Vec<String>, String> {
        Ok(files(&gather(&self.sources)?.scenario))
    }

    /// The servers it asks, as they are named.
    pub fn servers_of(&self, understood: &Understood) -> Vec<String> {
        let named =
            if self.servers.is_empty() { &understood.gathered.settings.servers } else { &self.servers };
        named.iter().map(|name| name.split(':').next().unwrap_or_default().to_owned()).collect()
    }

    /// What `machine` has to do.
    ///
    /// # Errors
    /// What is wrong with it, with its place; nothing is to be sent then.
    pub fn understand(&self, machine: &Machine) -> Result<Understood, String> {
        let gathered = gather(&self.sources)?;
        let settings = &gathered.settings;
        let machines = self.machines.or(settings.clients).unwrap_or(1).max(1);
        let each = self.virtual_clients.or(settings.virtual_clients).unwrap_or(VIRTUAL_CLIENTS).max(1);
        let servers = if self.servers.is_empty() { settings.servers.clone() } else { self.servers.clone() };
        let (number, name) = match machine {
            Machine::All => (0, "localhost".to_owned()),
            Machine::One(number, name) => (*number, name.clone()),
        };
        let most = match settings.steps {
            Some((_, last, _)) => last.max(1),
            None => machines,
        };
        let clients = match machine {
            Machine::All => most.saturating_mul(each),
            Machine::One(..) => each,
        };
        if clients > CLIENTS_MAX {
            return Err(format!(
                "{most} × {each} virtual clients are more than {CLIENTS_MAX}: lower `clients` or `virtualclients`\n"
            ));
        }
        let setting = Setting {
            servers,
            host: self.host.clone(),
            files: self.files.clone(),
            client_name: name,
            machines: most,
            machine: number,
            virtual_clients: each,
        };
        let load = self.load(&gathered, machine, most, each, clients)?;
        let mut plan = Plan::of_scenario(&gathered.scenario, &setting, load)?;
        plan.manners = Manners {
            trust: if self.insecure { Trust::Everyone } else { Trust::System },
            ..Manners::default()
        };
        let named = Some(gathered.scenario.name.clone()).filter(|name| !name.is_empty());
        let label = self.label.clone().or(named).unwrap_or_else(|| "scenario".to_owned());
        Ok(Understood { gathered, plan, label, machines: most })
    }

    fn load(
        &self,
        gathered: &Gathered,
        machine: &Machine,
        machines: u64,
        each: u64,
        clients: u64,
    ) -> Result<Load, String> {
        let (scenario, settings) = (&gathered.scenario, &gathered.settings);
        let ns = |ms: u64| ms.saturating_mul(1_000_000);
        let measure_ns = ns(self.duration_ms.or(scenario.duration_ms).unwrap_or(DURATION_MS).max(1));
        let warmup_ns = ns(self.warmup_ms.or(scenario.warmup_ms).unwrap_or(0));
        let cooldown_ns = ns(self.cooldown_ms.or(scenario.cooldown_ms).unwrap_or(0));
        // What a machine does while only so many of them take part.
        let level = |machines: u64| match machine {
            Machine::All => machines.saturating_mul(each) as f64,
            Machine::One(number, _) if *number < machines => each as f64,
            Machine::One(..) => 0.0,
        };
        let steps: Vec<Step> = match settings.steps {
            None => vec![Step { level: level(machines), settle_ns: 0, measure_ns: Some(measure_ns) }],
            Some((first, last, by)) => {
                let by = usize::try_from(by.max(1)).unwrap_or(usize::MAX);
                let hold = std::time::Duration::from_nanos(measure_ns);
                let settle_ns = crate::plan::size::nanos(levels::settle(hold));
                let levels = (first.max(1)..=last.max(first)).step_by(by).take(usize::from(u16::MAX));
                levels
                    .map(|machines| Step {
                        level: level(machines),
                        settle_ns,
                        measure_ns: Some(measure_ns - settle_ns.min(measure_ns)),
                    })
                    .collect()
            }
        };
        let sources = settings.bind.iter().map(|text| {
            text.trim()
                .parse::<IpAddr>()
                .map_err(|_| format!("bind: `{text}` is not an address of this machine\n"))
        });
        let cores = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
        let share = match machine {
            Machine::All => 1.0,
            Machine::One(..) => machines.max(1) as f64,
        };
        let clients = u32::try_from(clients).unwrap_or(u32::MAX);
        let threads = self.threads.unwrap_or_else(|| (cores / 2).max(1));
        let number = if let Machine::One(number, _) = machine { *number } else { 0 };
        Ok(Load {
            timeout_ns: ns(self.timeout_ms.unwrap_or(30_000)),
            think_ns: (0, ns(settings.think_ms)),
            most_per_s: scenario.throttle_per_s.map(|most| most as f64 / share),
            sources: sources.collect::<Result<Vec<IpAddr>, String>>()?,
            spread: !self.single_ip,
            // Machines that draw the same would ask for the same at the same time.
            seed: self.seed.wrapping_add(number),
            ..Load::closed(clients, threads, None, Schedule::new(warmup_ns, steps, cooldown_ns, true))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(settings: &str) -> Job {
        let scenario = r#"scenario { name = "n"; warmup = 1; duration = 20; cooldown = 2; throttlerps = 90;
            transaction { request { url = "/" + clientname() + vclientcount(); } } }"#;
        let source = |name: &str, text: &str| Source::decode(name, text.as_bytes());
        Job { sources: vec![source("a.ubr", scenario), source("s.ubr", settings)], ..Job::default() }
    }

    #[test]
    fn one_machine_for_all_and_each_for_itself() {
        let job = job(r#"settings { server = "h:81"; clients = 3; virtualclients = 5; }"#);
        let all = job.understand(&Machine::All).unwrap();
        assert_eq!((all.plan.load.clients, all.machines, all.label.as_str()), (15, 3, "n"));
        assert_eq!(all.plan.load.most_per_s, Some(90.0));
        let one = job.understand(&Machine::One(2, "box".to_owned())).unwrap();
        assert_eq!((one.plan.load.clients, one.plan.load.most_per_s), (5, Some(30.0)));
        assert!(one.plan.requests[0].bytes.starts_with(b"GET /box5 HTTP/1.0\r\nHost: h:81\r\n"));
        assert_ne!(all.plan.load.seed, one.plan.load.seed);
    }

    #[test]
    fn the_command_line_overrules_the_files() {
        let job = Job {
            servers: vec!["other".to_owned()],
            machines: Some(1),
            virtual_clients: Some(7),
            duration_ms: Some(500),
            host: Some("www".to_owned()),
            ..job(r#"settings { server = "h:81"; clients = 3; virtualclients = 5; }"#)
        };
        let plan = job.understand(&Machine::All).unwrap().plan;
        assert_eq!((plan.load.clients, plan.origins[0].name.as_str()), (7, "other:80"));
        assert_eq!(plan.load.schedule.window(0), (1_000_000_000, 1_500_000_000));
        assert!(plan.requests[0].bytes.ends_with(b"\r\nHost: www\r\n\r\n"));
    }

    #[test]
    fn what_is_commented_out_has_a_default() {
        let plan = job(r#"settings { server = "h"; }"#).understand(&Machine::All).unwrap().plan;
        assert_eq!(plan.load.clients, u32::try_from(VIRTUAL_CLIENTS).unwrap());
    }

    #[test]
    fn too_many_and_no_address_are_said() {
        let error = |settings: &str| job(settings).understand(&Machine::All).unwrap_err();
        assert!(
            error(r#"settings { server = "h"; clients = 9999; virtualclients = 9999; }"#)
                .contains("are more than")
        );
        assert!(
            error(r#"settings { server = "h"; bind = "nowhere"; }"#).contains("`nowhere` is not an address")
        );
        assert!(error("settings { clients = 1; }").contains("no server is named"));
    }
}
