//! What an upstream's members share and how: the operator's words as values. Not here: how they are written in a file.

/// How a member is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// In turn by weight, spread evenly (smooth weighted round robin).
    Requests,
    /// Fewest bytes to and fro for its weight.
    Traffic,
    /// Fewest requests under way for its weight.
    Busyness,
    /// Of two drawn by lot, the one with the shorter expected wait: peak EWMA of its times, by the requests under way.
    Latency,
    /// Of two drawn by lot, the one with fewer requests under way for its weight.
    TwoChoices,
    /// By the request's key, so that the same key goes to the same member (weighted rendezvous hashing).
    Hash,
}

impl Method {
    /// Every method with its word in the configuration.
    pub const WORDS: &'static [(&'static str, Method)] = &[
        ("requests", Method::Requests),
        ("traffic", Method::Traffic),
        ("busyness", Method::Busyness),
        ("latency", Method::Latency),
        ("two-choices", Method::TwoChoices),
        ("hash", Method::Hash),
    ];

    /// The word in the configuration.
    pub fn word(self) -> &'static str {
        Method::WORDS.iter().find(|(_, method)| *method == self).map_or("", |(word, _)| word)
    }
}

/// What the operator says of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admin {
    /// It takes work.
    Enabled,
    /// It takes only the sessions that are on it already.
    Drain,
    /// It takes nothing.
    Disabled,
}

impl Admin {
    /// Every state with its word in the configuration.
    pub const WORDS: &'static [(&'static str, Admin)] =
        &[("enabled", Admin::Enabled), ("drain", Admin::Drain), ("disabled", Admin::Disabled)];

    /// The word in the configuration.
    pub fn word(self) -> &'static str {
        Admin::WORDS.iter().find(|(_, admin)| *admin == self).map_or("", |(word, _)| word)
    }
}

/// One member.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its share beside the others; at least 1.
    pub weight: u32,
    /// What a session's cookie calls it; empty if sessions do not stick to it.
    pub route: String,
    /// Lower sets are used first; higher ones when none of the lower can take a request.
    pub set: u32,
    /// Used only when no ordinary member of its set can take a request.
    pub standby: bool,
    /// What the operator says of it.
    pub admin: Admin,
    /// Requests at once.
    pub busy_max: usize,
}

/// When a failing member is set aside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eject {
    /// After so many failures in a row; 0 for never.
    pub after: u32,
    /// For so long, ms; twice as long after each trial that fails, up to sixteen times.
    pub for_ms: u64,
    /// At most this part of the members at once; the last is never set aside.
    pub max_part: f64,
}

/// How probes decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// So many good ones in a row make a member well.
    pub rise: u32,
    /// So many bad ones in a row make it ill.
    pub fall: u32,
}

/// Which failures are tried again, and count against a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failures {
    /// It could not be connected to, or had no room: nothing was sent.
    pub connect: bool,
    /// It broke off, or what it said was not an answer.
    pub reset: bool,
    /// It did not answer in time.
    pub timeout: bool,
    /// It answered with one of these.
    pub status: Vec<u16>,
}

/// How often and how much is tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retries {
    /// Attempts at one request, the first counted; each at another member.
    pub tries: u32,
    /// Attempts that put work on a member again may be this part of all requests.
    pub budget: f64,
    /// After which failures.
    pub on: Failures,
}

impl Settings {
    /// Of a single member: there is nobody to choose among, to spare it, or to ask instead.
    pub fn of_one(member: Member) -> Settings {
        Settings {
            method: Method::Requests,
            members: vec![member],
            slow_start_ms: 0,
            eject: Eject { after: 0, for_ms: 0, max_part: 0.0 },
            probe: None,
            retries: Retries {
                tries: 1,
                budget: 0.0,
                on: Failures { connect: false, reset: false, timeout: false, status: Vec::new() },
            },
        }
    }

    /// New settings, with what was changed while the old ones ran, as far as the new ones say what the old ones said:
    /// `before` is what the file said, `live` what held in the end.
    pub fn carrying(mut self, before: &Settings, live: &Settings) -> Settings {
        if self.method == before.method {
            self.method = live.method;
        }
        for member in &mut self.members {
            let named = |all: &Settings| all.members.iter().find(|m| m.name == member.name).cloned();
            let (Some(said), Some(held)) = (named(before), named(live)) else { continue };
            keep(&mut member.weight, said.weight, held.weight);
            keep(&mut member.set, said.set, held.set);
            keep(&mut member.standby, said.standby, held.standby);
            keep(&mut member.admin, said.admin, held.admin);
            keep(&mut member.route, said.route, held.route);
        }
        self
    }
}

fn keep<T: PartialEq>(now: &mut T, said: T, held: T) {
    if *now == said {
        *now = held;
    }
}

/// Everything about an upstream that choosing needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How a member is chosen.
    pub method: Method,
    /// The members; never none.
    pub members: Vec<Member>,
    /// For how long a member that comes back gets less than its share, ms.
    pub slow_start_ms: u64,
    /// When failing members are set aside.
    pub eject: Eject,
    /// How probes decide; `None` if there are none.
    pub probe: Option<Probe>,
    /// What is tried again.
    pub retries: Retries,
}
