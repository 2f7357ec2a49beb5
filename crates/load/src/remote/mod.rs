//! Several machines that send together: a controller that says what and when, clients that do it and say what came.
//!
//! Clients call the controller, as those of WCAT do (TCP 7232). Little needs saying: the job once, a common start, a line
//! each second for whoever watches, and in the end all that was counted, whose histograms are added up. Nothing is said on
//! the path of a request. Who calls must know the controller's token; it is never sent the other way.
//!
//! Not here: what a job is ([`crate::job`]), running it ([`crate::run`]), the command lines.

pub mod client;
pub mod controller;
mod frame;
pub mod token;

use serde::{Deserialize, Serialize};

use crate::job::Job;
use crate::run::Gathered;
use crate::tally::series::Slice;

/// Where a controller listens, as WCAT's does.
pub const PORT: u16 = 7232;
/// Controller and clients must be of one kind.
const VERSION: u32 = 2;

/// What a client says.
#[derive(Debug, Serialize, Deserialize)]
enum FromClient {
    /// Who it is, first of all.
    Hello { version: u32, token: String, name: String },
    /// It has understood the job and can begin.
    Ready,
    /// It cannot.
    Cannot(String),
    /// A second of one of its threads.
    Second(Slice),
    /// All it counted.
    Done(Box<Gathered>),
}

/// What a controller says.
#[derive(Debug, Serialize, Deserialize)]
enum FromController {
    /// The client is not wanted.
    No(String),
    /// What is to be done, and which of the machines it is.
    Job(Box<Job>, u64),
    /// Begin, so many milliseconds from now.
    Begin(u64),
    /// End at once, and say what came.
    End,
}
