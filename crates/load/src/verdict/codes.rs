//! What can be found: a closed list of stable codes, and what to do about each.
//!
//! Not here: when it is found ([`super`]).

macro_rules! codes {
    ($($variant:ident = $code:literal, $mend:literal;)+) => {
        /// What can be found: a closed list; codes are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $(#[doc = $code] $variant,)+ }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)+];
            /// The stable code.
            pub fn code(self) -> &'static str { match self { $(Code::$variant => $code,)+ } }
            /// What to do about it; empty where nothing should be done.
            pub fn mend(self) -> &'static str { match self { $(Code::$variant => $mend,)+ } }
        }
    };
}

codes! {
    NoResponses = "no-responses", "Ask the server by hand first: curl -v URL";
    ErrorRate = "error-rate", "Look at the first message of each kind in the report";
    ErrorStatus = "error-status", "Ask the URL by hand: you may be measuring an error page; where the status is meant, say so: --expect status=404";
    FewConnections = "few-connections", "Ask for fewer with -c, or raise the server's limit";
    GeneratorFull = "generator-full", "Give more threads with -t, or more cores, or a second machine";
    GeneratorStarved = "generator-starved", "Let nothing else run on these cores, or use another machine";
    Unsent = "unsent", "Allow more in flight with -c, or ask for less: the server does not keep up";
    GeneratorCeiling = "generator-ceiling", "Ask for less, or give more threads with -t, more cores, or a second machine";
    LoopGap = "loop-gap", "Let nothing else run on these cores; measure longer, with fewer connections per thread";
    NoPorts = "no-ports", "Give more addresses to connect from with --source-ip, or keep connections alive";
    NoFiles = "no-files", "Raise the limit of open files (ulimit -n), or ask for fewer with -c";
    NetworkFull = "network-full", "Use a faster link or smaller answers, or read this as the limit of the network";
    Retransmits = "retransmits", "Look at the cable, the switch and the drops of the interface: ip -s link";
    SendLag = "send-lag", "Give the generator a core of its own, or ask for less per thread";
    Broken = "bodies-broken", "Ask the URL by hand: curl --compressed URL";
    Changed = "bodies-changed", "";
    StepsInDoubt = "steps-in-doubt", "Read the other steps; the reasons stand below the table of steps";
    HiddenTime = "hidden-time", "";
    AgentLost = "machine-lost", "Start it again, or ask for fewer machines";
    CountMissed = "count-missed", "See the connect errors";
    ServerLost = "server-lost", "See the connect errors: the server may have died in the run";
    FewSamples = "few-samples", "Measure longer with -d, or send more with -n";
    Interrupted = "interrupted", "";
    SameHost = "same-host", "";
    Encoded = "encoded-only", "";
    Watch = "server-not-watched", "";
}
