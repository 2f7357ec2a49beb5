//! What /proc says of a host and of a tree of processes, as readings.
//!
//! Pure: texts in, readings out; proc(5) has their forms. A text that is not as it should be leaves its series out,
//! as gaps. Not here: opening the files ([`super::probe`]).
//!
//! Of interfaces all but `lo` are added up: what passes a bridge on its way counts at the bridge, too.

use std::collections::{BTreeMap, BTreeSet};

use super::{HOST_CPU, Measure, SERVER_CPU, Value};
use crate::usage::process::Process;

/// The texts of a host.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostTexts<'t> {
    /// /proc/stat
    pub stat: &'t str,
    /// /proc/meminfo
    pub meminfo: &'t str,
    /// /proc/net/dev
    pub dev: &'t str,
    /// /proc/net/snmp
    pub snmp: &'t str,
}

/// What a host says of itself.
pub fn host(texts: HostTexts<'_>) -> Vec<Value> {
    let mut values = Vec::new();
    if let Some(cpu) = cpu(texts.stat) {
        let busy = cpu.user + cpu.system;
        let parts = [
            (HOST_CPU, busy),
            ("host cpu user", cpu.user),
            ("host cpu system", cpu.system),
            ("host cpu idle", cpu.idle),
            ("host cpu steal", cpu.steal),
        ];
        let whole = busy + cpu.idle + cpu.steal;
        let share = |part: f64| Measure::Share { part, whole };
        values.extend(parts.map(|(name, part)| value(name, "%", share(part))));
    }
    values.extend(stat_total(texts.stat, "intr").map(|n| total("host interrupts", "/s", n)));
    values.extend(stat_total(texts.stat, "ctxt").map(|n| total("host context switches", "/s", n)));
    values.extend(available_bytes(texts.meminfo).map(|n| gauge("host memory available", "B", n as f64)));
    if let Some(traffic) = traffic(texts.dev) {
        values.extend([
            total("host net received", "B/s", traffic.others.received_bytes),
            total("host net sent", "B/s", traffic.others.sent_bytes),
            total("host net packets received", "/s", traffic.others.received_packets),
            total("host net packets sent", "/s", traffic.others.sent_packets),
            // On `lo` what is sent is received.
            total("host lo", "B/s", traffic.lo.sent_bytes),
            total("host lo packets", "/s", traffic.lo.sent_packets),
        ]);
    }
    values.extend(snmp(texts.snmp, "Tcp", "RetransSegs").map(|n| total("host tcp retransmits", "/s", n)));
    values.extend(snmp(texts.snmp, "Tcp", "PassiveOpens").map(|n| total("host tcp accepts", "/s", n)));
    values
}

fn value(name: &str, unit: &'static str, measure: Measure) -> Value {
    Value { name: name.to_owned(), unit, measure }
}

fn gauge(name: &str, unit: &'static str, now: f64) -> Value {
    value(name, unit, Measure::Gauge(now))
}

fn total(name: &str, unit: &'static str, now: u64) -> Value {
    value(name, unit, Measure::Total(now as f64))
}

/// Time of all cores, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cpu {
    /// Programs, niced ones and guests included.
    user: f64,
    /// The kernel, its answers to interrupts included: most of what the network costs.
    system: f64,
    /// Nothing to do, waiting for disks included.
    idle: f64,
    /// Taken by other guests of the machine.
    steal: f64,
}

/// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`; guests are in user and nice.
fn cpu(stat: &str) -> Option<Cpu> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut fields = line.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
    let mut next = || fields.next().map(|ticks| ticks as f64);
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    // Old kernels have no more than four.
    let mut more = || next().unwrap_or(0.0);
    let (iowait, irq, softirq, steal) = (more(), more(), more(), more());
    Some(Cpu { user: user + nice, system: system + irq + softirq, idle: idle + iowait, steal })
}

/// The first number of a line of /proc/stat: the sum of all that follow it.
fn stat_total(stat: &str, name: &str) -> Option<u64> {
    first_number(stat, name)
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    first_number(meminfo, "MemAvailable:")?.checked_mul(1024)
}

/// The first number of the line that begins with this word.
fn first_number(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        if words.next() == Some(word) { words.next()?.parse().ok() } else { None }
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flow {
    received_bytes: u64,
    received_packets: u64,
    sent_bytes: u64,
    sent_packets: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Traffic {
    lo: Flow,
    others: Flow,
}

fn traffic(dev: &str) -> Option<Traffic> {
    let mut traffic = Traffic::default();
    let mut any = false;
    for (name, more) in flows(dev) {
        any = true;
        let flow = if name == "lo" { &mut traffic.lo } else { &mut traffic.others };
        for (sum, more) in [
            (&mut flow.received_bytes, more.received_bytes),
            (&mut flow.received_packets, more.received_packets),
            (&mut flow.sent_bytes, more.sent_bytes),
            (&mut flow.sent_packets, more.sent_packets),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
    any.then_some(traffic)
}

/// Two lines of titles, then `name: bytes packets errs drop fifo frame compressed multicast bytes packets …`.
fn flows(dev: &str) -> impl Iterator<Item = (&str, Flow)> {
    dev.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let numbers: Vec<u64> = rest.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        let &[received_bytes, received_packets, _, _, _, _, _, _, sent_bytes, sent_packets, ..] =
            numbers.as_slice()
        else {
            return None;
        };
        Some((name.trim(), Flow { received_bytes, received_packets, sent_bytes, sent_packets }))
    })
}

/// What one interface has received and sent, in bytes; nothing if it is not there.
pub(crate) fn bytes_of(dev: &str, interface: &str) -> (u64, u64) {
    let flow = flows(dev).find(|(name, _)| *name == interface);
    flow.map_or((0, 0), |(_, flow)| (flow.received_bytes, flow.sent_bytes))
}

/// Two lines for each protocol: `Tcp: RtoAlgorithm RtoMin …` and `Tcp: 1 200 …`.
pub(crate) fn snmp(text: &str, protocol: &str, field: &str) -> Option<u64> {
    let mut lines =
        text.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| *name == protocol);
    let (titles, numbers) = (lines.next()?.1, lines.next()?.1);
    let at = titles.split_ascii_whitespace().position(|title| title == field)?;
    numbers.split_ascii_whitespace().nth(at)?.parse().ok()
}

/// What one process has used, from /proc/PID/stat.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// CPU outside the kernel, of all its threads and of its children that have ended.
    pub user_s: f64,
    /// CPU inside the kernel, of the same.
    pub system_s: f64,
    /// Threads.
    pub threads: u64,
    /// Resident memory.
    pub rss_bytes: u64,
}

/// Reads /proc/PID/stat. The name is in parentheses and may hold anything, parentheses too.
pub fn used(stat: &str, ticks_per_s: u64, page_bytes: u64) -> Option<Used> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Field 3 of the manual (state) is the first here.
    let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok());
    let seconds = |ticks: u64, more: u64| (ticks as f64 + more as f64) / ticks_per_s.max(1) as f64;
    Some(Used {
        user_s: seconds(number(14)?, number(16)?),
        system_s: seconds(number(15)?, number(17)?),
        threads: number(20)?,
        rss_bytes: number(24)?.saturating_mul(page_bytes),
    })
}

/// Context switches of one thread from its /proc/PID/task/TID/status: those it asked for by waiting, and those it
/// was made to. The status of a process tells of its first thread only.
pub fn switches(status: &str) -> Option<(u64, u64)> {
    let waited = first_number(status, "voluntary_ctxt_switches:")?;
    Some((waited, first_number(status, "nonvoluntary_ctxt_switches:")?))
}

/// Adds up the context switches of threads that come and go.
#[derive(Debug, Default)]
pub struct Switches {
    last: Option<BTreeMap<u32, (u64, u64)>>,
    sum: (u64, u64),
}

impl Switches {
    /// Takes those of all threads by number; returns the sum since the first time. A thread that was not there then
    /// began since, as did one that has fewer than before: its number was given anew.
    pub fn take(&mut self, now: BTreeMap<u32, (u64, u64)>) -> (u64, u64) {
        if let Some(last) = &self.last {
            for (thread, (waited, made)) in &now {
                let (less, least) = match last.get(thread) {
                    Some((a, b)) if a <= waited && b <= made => (*a, *b),
                    _ => (0, 0),
                };
                self.sum.0 = self.sum.0.saturating_add(waited - less);
                self.sum.1 = self.sum.1.saturating_add(made - least);
            }
        }
        self.last = Some(now);
        self.sum
    }
}

/// The processes named and all below them. `own` is ours: it counts only where it is named.
pub fn tree(named: &[u32], table: &[Process], own: u32) -> BTreeSet<u32> {
    let lives = |pid: &u32| table.iter().any(|process| process.pid == *pid);
    let mut all: BTreeSet<u32> = named.iter().copied().filter(lives).collect();
    loop {
        let below = table.iter().filter(|process| all.contains(&process.parent) && process.pid != own);
        let more: Vec<u32> = below.map(|process| process.pid).filter(|pid| !all.contains(pid)).collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// What a tree of processes has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tree {
    /// The sum over its processes.
    pub used: Used,
    /// Open files, sockets among them; nothing if we may not look.
    pub files: Option<u64>,
    /// Context switches, asked for and forced; nothing if there are more threads than are looked at.
    pub switches: Option<(u64, u64)>,
}

impl Tree {
    /// One more process.
    pub fn add(&mut self, used: Used) {
        self.used.user_s += used.user_s;
        self.used.system_s += used.system_s;
        self.used.threads = self.used.threads.saturating_add(used.threads);
        self.used.rss_bytes = self.used.rss_bytes.saturating_add(used.rss_bytes);
    }

    /// As readings; `number` tells several servers apart, from 1.
    pub fn values(&self, number: usize) -> Vec<Value> {
        let named = |what: &str, unit: &'static str, measure: Measure| {
            let name = match number {
                1 => what.to_owned(),
                n => what.replacen("server", &format!("server {n}"), 1),
            };
            Value { name, unit, measure }
        };
        let used = &self.used;
        let mut values = vec![
            named(SERVER_CPU, "cores", Measure::Total(used.user_s + used.system_s)),
            named("server cpu user", "cores", Measure::Total(used.user_s)),
            named("server cpu system", "cores", Measure::Total(used.system_s)),
            named("server memory", "B", Measure::Gauge(used.rss_bytes as f64)),
            named("server threads", "", Measure::Gauge(used.threads as f64)),
        ];
        values.extend(self.files.map(|files| named("server open files", "", Measure::Gauge(files as f64))));
        if let Some((waited, made)) = self.switches {
            values.push(named("server switches voluntary", "/s", Measure::Total(waited as f64)));
            values.push(named("server switches involuntary", "/s", Measure::Total(made as f64)));
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[Value], name: &str) -> Option<Measure> {
        values.iter().find(|value| value.name == name).map(|value| value.measure)
    }

    const STAT: &str = "cpu  100 20 30 800 50 1 4 15 7 3
cpu0 50 10 15 400 25 0 2 7 0 0
intr 113563460 0 0 5
ctxt 487536445
btime 1795217902
";
    const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1000 10    0 4992    0     0          0         0 1000 10    0    0    0     0       0          0
  eth0:77 5    0    0    0     0          0         0  23 4    0    0    0     0       0          0
  eth1: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0
 short: 1 2 3
";
    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 2 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens RetransSegs
Tcp: 1 200 120000 -1 40 39 55
";

    #[test]
    fn a_host() {
        let meminfo = "MemTotal:       24684084 kB\nMemAvailable:   24036036 kB\n";
        let values = host(HostTexts { stat: STAT, meminfo, dev: DEV, snmp: SNMP });
        let share = |part: f64| Measure::Share { part, whole: 1020.0 };
        for (name, wanted) in [
            ("host cpu", share(155.0)),
            ("host cpu user", share(120.0)),
            ("host cpu system", share(35.0)),
            ("host cpu idle", share(850.0)),
            ("host cpu steal", share(15.0)),
            ("host interrupts", Measure::Total(113_563_460.0)),
            ("host context switches", Measure::Total(487_536_445.0)),
            ("host memory available", Measure::Gauge(24_036_036.0 * 1024.0)),
            ("host net received", Measure::Total(177.0)),
            ("host net sent", Measure::Total(223.0)),
            ("host net packets received", Measure::Total(6.0)),
            ("host net packets sent", Measure::Total(6.0)),
            ("host lo", Measure::Total(1000.0)),
            ("host lo packets", Measure::Total(10.0)),
            ("host tcp retransmits", Measure::Total(55.0)),
            ("host tcp accepts", Measure::Total(39.0)),
        ] {
            assert_eq!(of(&values, name), Some(wanted), "{name}");
        }
        assert_eq!(values.len(), 16);
        assert_eq!(
            ["eth0", "lo", "short", "eth"].map(|name| bytes_of(DEV, name)),
            [(77, 23), (1000, 1000), (0, 0), (0, 0)]
        );
        assert_eq!(host(HostTexts::default()), []);
        let old = host(HostTexts { stat: "cpu 1 2 3 4", ..HostTexts::default() });
        assert_eq!(of(&old, "host cpu"), Some(Measure::Share { part: 6.0, whole: 10.0 }));
    }

    #[test]
    fn a_process_with_a_nasty_name() {
        let stat = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 25 75 20 0 8 0 100 1000 256 18446744073709551615 1";
        let wanted = Used { user_s: 1.75, system_s: 1.25, threads: 8, rss_bytes: 256 * 4096 };
        assert_eq!(used(stat, 100, 4096), Some(wanted));
        for broken in ["", "42", "42 (a", "42 (a) S", "x (a) S 7 1 1 0 0 0 0 0 0 0 1 1 1 1"] {
            assert_eq!(used(broken, 100, 4096), None, "{broken}");
        }
    }

    #[test]
    fn threads_come_and_go() {
        let status = "Name:\tbash\nvoluntary_ctxt_switches:\t97\nnonvoluntary_ctxt_switches:\t20\n";
        assert_eq!((switches(status), switches("Name: x")), (Some((97, 20)), None));
        let mut all = Switches::default();
        let of = |threads: &[(u32, u64, u64)]| threads.iter().map(|(id, a, b)| (*id, (*a, *b))).collect();
        assert_eq!(all.take(of(&[(1, 100, 10), (2, 50, 5)])), (0, 0));
        assert_eq!(all.take(of(&[(1, 110, 11), (2, 50, 5), (3, 4, 1)])), (14, 2));
        assert_eq!(all.take(of(&[(1, 110, 11), (3, 2, 2)])), (16, 4), "thread 2 has gone, and 3 is another");
    }

    #[test]
    fn a_tree_is_all_below_those_named() {
        let process = |pid, parent| Process { pid, parent, name: String::new(), cpu_us: 0, rss_bytes: 0 };
        // The child comes before its parent, and two are each other's parents.
        let table = [(12, 11), (10, 1), (11, 10), (20, 1), (21, 20), (30, 31), (31, 30), (13, 10), (14, 13)]
            .map(|(pid, parent)| process(pid, parent));
        let tree = |named: &[u32]| tree(named, &table, 13).into_iter().collect::<Vec<_>>();
        assert_eq!(tree(&[10]), [10, 11, 12]);
        assert_eq!(tree(&[10, 20]), [10, 11, 12, 20, 21]);
        assert_eq!(tree(&[10, 12]), [10, 11, 12]);
        assert_eq!(tree(&[13]), [13, 14]);
        assert_eq!(tree(&[30]), [30, 31]);
        assert_eq!(tree(&[99]), [0_u32; 0]);
    }

    #[test]
    fn servers_are_told_apart() {
        let mut one = Tree { files: Some(7), switches: Some((3, 4)), ..Tree::default() };
        one.add(Used { user_s: 1.0, system_s: 0.5, threads: 2, rss_bytes: 10 });
        one.add(Used { user_s: 1.0, system_s: 0.5, threads: 3, rss_bytes: 20 });
        let values = one.values(1);
        assert_eq!(of(&values, SERVER_CPU), Some(Measure::Total(3.0)));
        assert_eq!(of(&values, "server memory"), Some(Measure::Gauge(30.0)));
        assert_eq!(of(&values, "server threads"), Some(Measure::Gauge(5.0)));
        assert_eq!(of(&values, "server switches involuntary"), Some(Measure::Total(4.0)));
        assert_eq!(values.len(), 8);
        let second = Tree::default().values(2);
        assert_eq!(second.len(), 5, "what may not be looked at is not there");
        assert!(second.iter().all(|value| value.name.starts_with("server 2 ")), "{second:?}");
    }

    proptest! {
        #[test]
        fn any_texts_are_read(text in "((cpu|intr|ctxt|Tcp:|lo:|MemAvailable:)[ 0-9a-z-]{0,40}\n){0,6}|\\PC{0,60}") {
            let values = host(HostTexts { stat: &text, meminfo: &text, dev: &text, snmp: &text });
            prop_assert!(values.len() <= 16);
            let _ = (used(&text, 100, 4096), switches(&text));
        }
    }
}
