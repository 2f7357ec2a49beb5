//! Thirst, the load tester beside Samovar.
//!
//! The rooms, in the order a run passes through them: [`plan`] says what to send (pure), [`pacer`] when (pure),
//! [`sender`] sends it over sockets (shell), [`wire`] understands what comes back (pure), [`tally`] counts it
//! (pure), [`stats`] sums it up (pure), [`verdict`] says whether the numbers can be trusted (pure), [`report`]
//! shows them (pure but for writing the files). [`wcat`] reads and writes scenarios (pure), [`plan_file`] our own format of
//! them (pure), [`content`] makes files to be asked for (pure). [`usage`] reads CPU from /proc (shell), [`counters`] the
//! server's counters beside the run (mixed), [`compare`] judges two sets of runs (pure), [`job`] is a scenario with all that
//! was said about it (pure), [`remote`] takes it to other machines (shell). [`run`] is the only place that knows the order,
//! [`cli`] the only one that knows the flags.
//!
//! Beside these, [`search`] says which rate is tried next for a capacity (pure), and [`selftest`] holds the instrument against
//! [`null_server`], a server of exactly known behaviour (shells).
//!
//! Not here: any code of the server. An instrument that shares code with what it measures shares its mistakes.

pub mod build_info;
pub mod check;
pub mod cli;
pub mod compare;
pub mod content;
pub mod counters;
mod dice;
pub mod job;
pub mod null_server;
pub mod pacer;
pub mod plan;
pub mod plan_file;
pub mod remote;
pub mod report;
pub mod rule;
pub mod run;
pub mod search;
pub mod selftest;
pub mod sender;
pub mod stats;
pub mod tally;
pub mod usage;
pub mod verdict;
pub mod visitor;
pub mod wcat;
pub mod wire;
