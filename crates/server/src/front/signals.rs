//! Signals: TERM and INT stop, HUP reloads, USR1 reopens the log.

use tokio::signal::unix::{SignalKind, signal};

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

/// Hands each signal's wish to `on_wish` until one asks to stop.
///
/// # Errors
/// If signals cannot be watched.
pub async fn wait_for_signal(mut on_wish: impl FnMut(Wish)) -> std::io::Result<()> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let mut hup = signal(SignalKind::hangup())?;
    let mut usr1 = signal(SignalKind::user_defined1())?;
    loop {
        tokio::select! {
            _ = term.recv() => return Ok(()),
            _ = int.recv() => return Ok(()),
            _ = hup.recv() => on_wish(Wish::Reload),
            _ = usr1.recv() => on_wish(Wish::Reopen),
        }
    }
}
