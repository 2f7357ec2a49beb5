//! The cache core: entries and their variants, fills shared by many requests, the indexes that purge, admission,
//! eviction, and one budget in bytes.
//!
//! All state is shared by all cores behind short critical sections; a purge marks first and returns then. Values
//! and `now` come in, entries, live handles and reasons go out. Not here: HTTP's rules (`policy` judges through
//! closures), sockets, files, clocks, logging; who asks the origin and in which order (`server::pipeline`).

mod body;
mod budget;
mod chunks;
mod core;
mod entry;
mod evict;
mod fields;
mod fill;
mod forms;
mod ghosts;
mod head;
mod home;
mod index;
mod notes;
mod order;
mod own;
mod pairs;
mod parts;
mod rows;
mod shard;
mod sink;
mod walk;

pub use body::{Body, Extent, Growing, Reader, Verbatim};
pub use budget::{Beside, Budget, Charge};
pub use chunks::Chunks;
pub use core::{Ask, Cache, Listed, Receipt, Scope, Settings, Stats, Step};
pub use entry::{Entry, EntryHead, HotCopy, State};
pub use fill::{Decided, FillFailure, Joined, Ticket};
pub use forms::{FORMS, Form, Making};
pub use parts::Parts;
pub use sink::Sink;
