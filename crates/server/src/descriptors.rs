//! File descriptors kept back for the operator, for when all others are in use.
//!
//! The soft limit that everything here runs under is a few below the hard one. What must still work when connections have
//! taken all that there is (the admin interface, reading a configuration) raises it for the moment of one call: what is opened
//! then has a number that nobody else can get, and gives it back when it is closed. Not here: how many connections there may
//! be (`limits.connections_max`), the rest that a listener takes when none are left (`front`).

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::sync::{PoisonError, RwLock};

/// How many are kept back; of few a quarter.
const KEPT_BACK: u64 = 16;

/// Held for writing while the limit is raised, for reading by those who must not profit from it.
static RAISED: RwLock<()> = RwLock::new(());

/// Raises the soft limit of open files to the hard one, but for what is kept back.
pub fn raise_limit() {
    let hard = getrlimit(Resource::Nofile).maximum;
    // Where it is refused, `front::too_few_files` tells.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: hard.map(usual), maximum: hard });
}

/// How many there are in all, those that are kept back among them; `None` without a limit.
pub fn limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    match limit.maximum {
        Some(hard) if limit.current == Some(usual(hard)) => Some(hard),
        _ => limit.current,
    }
}

/// How many of them are kept back.
pub fn kept_back() -> u64 {
    let usual = getrlimit(Resource::Nofile).current;
    limit().zip(usual).map_or(0, |(all, usual)| all - usual)
}

/// How many there are for everything but the operator.
fn usual(hard: u64) -> u64 {
    hard - KEPT_BACK.min(hard / 4)
}

/// Does what needs a descriptor; if there is none, with those that are kept back. It is short and waits for nothing.
///
/// # Errors
/// As `call` says.
pub fn reserved<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let first = call();
    if !first.as_ref().is_err_and(none_left) {
        return first;
    }
    let _raised = RAISED.write().unwrap_or_else(PoisonError::into_inner);
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before })?;
    let again = call();
    setrlimit(Resource::Nofile, before)?;
    again
}

/// Does what may take many descriptors, for clients, and never one of those that are kept back.
pub fn usual_only<T>(call: impl FnOnce() -> T) -> T {
    let _not_raised = RAISED.read().unwrap_or_else(PoisonError::into_inner);
    call()
}

/// Whether a call failed because all descriptors of the process are in use.
pub fn none_left(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::MFILE)
}

#[cfg(test)]
mod tests {
    use super::usual;

    #[test]
    fn few_stay_usable() {
        assert_eq!([1024, 64, 32, 4, 0].map(usual), [1008, 48, 24, 3, 0]);
    }
}
