//! Signals: TERM and INT stop, HUP reloads, USR1 reopens the log.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Stop.
    Stop,
    /// Read the configuration again.
    Reload,
    /// Open the log again.
    Reopen,
}

/// The signals, watched from the moment this is made.
pub struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
    usr1: Signal,
}

impl Signals {
    /// Watches; within a runtime.
    ///
    /// # Errors
    /// If signals cannot be watched.
    pub fn watch() -> std::io::Result<Signals> {
        Ok(Signals {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
        })
    }

    /// The next wish.
    pub async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.term.recv() => Wish::Stop,
            _ = self.int.recv() => Wish::Stop,
            _ = self.hup.recv() => Wish::Reload,
            _ = self.usr1.recv() => Wish::Reopen,
        }
    }
}
