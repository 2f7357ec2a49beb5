//! Which member of an upstream takes a request, whether it is well, and whether another is asked after a failure.
//!
//! Pure: what has happened and `now` go in, a choice with its reason comes out. `balancer` holds the state of one
//! upstream; `methods` are the ways to choose; `health` sets members aside and takes them back; `retry` says whether a
//! failed attempt is repeated; `sticky` reads which member a session is on; `hash` gives a key its member. Not here:
//! sockets, queues, clocks, dice (a random number is an argument), who sends the probes.

mod balancer;
mod hash;
mod health;
mod methods;
mod retry;
mod settings;
mod sticky;

pub use balancer::{Ask, Balancer, Change, Choice, Heard, MemberView, Nobody};
pub use hash::{hash_of, owner_of};
pub use retry::{Attempt, BodyState, Reached, Verdict};
pub use settings::{Admin, Eject, Failures, Member, Method, Probe, Retries, Settings};
pub use sticky::{Sticky, route_of};
