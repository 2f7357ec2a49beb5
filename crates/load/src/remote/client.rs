//! A client: calls its controller, does what it says, and tells what came.
//!
//! If the controller is lost, the client stops: load that nobody asked for any more is an attack. Not here: the command line.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::frame::{ANY_BYTES, hear, say};
use super::{FromClient, FromController, PORT, VERSION};
use crate::job::Machine;
use crate::run::{self, Counted, Trouble, Wanted};

/// Between two calls to a controller that is not there yet.
const AGAIN: Duration = Duration::from_secs(1);

/// What happened to a client.
#[derive(Debug)]
pub enum Event {
    /// The controller is not there; it is called again and again.
    NotThere(String),
    /// It is let in and waits for the others.
    Waits,
    /// It begins.
    Begins,
}

/// Calls the controller, does one job, and returns when it is done. `token` is asked for when the controller is there: it
/// may have been started later.
///
/// # Errors
/// A sentence: it was not wanted, the controller was lost, or the job cannot be done here.
pub fn serve(
    controller: &str,
    token: &dyn Fn() -> String,
    name: &str,
    stop: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(Event),
) -> Result<(), String> {
    let Some(mut stream) = call(controller, stop, tell)? else { return Ok(()) };
    let lost = |error: io::Error| format!("the controller was lost: {error}");
    let hello = FromClient::Hello { version: VERSION, token: token(), name: name.to_owned() };
    say(&mut stream, &hello).map_err(lost)?;
    let (job, number) = match hear(&mut stream, ANY_BYTES).map_err(lost)? {
        FromController::Job(job, number) => (job, number),
        FromController::No(why) => return Err(format!("the controller sent us away: {why}")),
        _ => return Err("the controller says what no controller says".to_owned()),
    };
    let understood = match job.understand(&Machine::One(number, name.to_owned())) {
        Ok(understood) => understood,
        Err(why) => {
            // It is told as well as said here.
            let _ = say(&mut stream, &FromClient::Cannot(why.clone()));
            return Err(why);
        }
    };
    say(&mut stream, &FromClient::Ready).map_err(lost)?;
    tell(Event::Waits);
    match hear(&mut stream, ANY_BYTES).map_err(lost)? {
        FromController::Begin(in_ms) => thread::sleep(Duration::from_millis(in_ms.min(60_000))),
        FromController::No(why) => return Err(format!("the controller sent us away: {why}")),
        _ => return Err("the controller ended before the run began".to_owned()),
    }
    tell(Event::Begins);
    let over = Arc::new(AtomicBool::new(false));
    let listener = stream.try_clone().map_err(lost)?;
    let (heard, done) = (Arc::clone(stop), Arc::clone(&over));
    thread::spawn(move || listen(listener, &heard, &done));
    // One machine reads pages for all: read by each they would be load of their own.
    let counted = match number {
        0 => Counted { windows: understood.counters(&job), pages: job.metrics.clone(), ..Counted::default() },
        _ => Counted::default(),
    };
    let wanted = Wanted { method: "GET".to_owned(), counted, ..Wanted::default() };
    let stream = Mutex::new(stream);
    let speak = |message: &FromClient| match stream.lock() {
        Ok(mut stream) => say(&mut *stream, message),
        Err(_) => Err(io::Error::other("the connection is in use")),
    };
    let gathered = run::gather(&understood.plan, &wanted, Arc::clone(stop), &mut |slice| {
        // What is lost here is a line of the progress; the counts come in the end.
        let _ = speak(&FromClient::Second(slice.clone()));
    });
    over.store(true, Ordering::Relaxed);
    match gathered {
        Ok(gathered) => speak(&FromClient::Done(Box::new(gathered))).map_err(lost),
        Err(Trouble::Unreachable(why) | Trouble::System(why)) => {
            let _ = speak(&FromClient::Cannot(why.clone()));
            Err(why)
        }
    }
}

/// Calls until the controller is there; `None` if we are told to stop before.
fn call(
    controller: &str,
    stop: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(Event),
) -> Result<Option<TcpStream>, String> {
    let address = address(controller);
    let mut told = false;
    while !stop.load(Ordering::Relaxed) {
        let addresses = address.to_socket_addrs().map_err(|error| {
            format!("cannot find the address of the controller `{controller}`: {error}; is the name right?")
        })?;
        let mut why = "it has no address".to_owned();
        for address in addresses {
            match TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
                Ok(stream) => {
                    // Without it only the last message would be late.
                    let _ = stream.set_nodelay(true);
                    return Ok(Some(stream));
                }
                Err(error) => why = format!("{address}: {error}"),
            }
        }
        if !std::mem::replace(&mut told, true) {
            tell(Event::NotThere(why));
        }
        thread::sleep(AGAIN);
    }
    Ok(None)
}

/// `host`, `host:port`, `[::1]` or `[::1]:port`.
pub fn address(controller: &str) -> String {
    let has_port = match controller.rsplit_once(':') {
        Some((host, port)) => port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']')),
        None => false,
    };
    match has_port {
        true => controller.to_owned(),
        false if controller.contains(':') && !controller.starts_with('[') => format!("[{controller}]:{PORT}"),
        false => format!("{controller}:{PORT}"),
    }
}

/// Stops the run when the controller says so, or is lost.
fn listen(mut stream: TcpStream, stop: &AtomicBool, over: &AtomicBool) {
    let heard: io::Result<FromController> = hear(&mut stream, ANY_BYTES);
    if !over.load(Ordering::Relaxed) && !matches!(heard, Ok(FromController::Begin(_))) {
        stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (given, want) in [
            ("h", "h:7232"),
            ("h:99", "h:99"),
            ("127.0.0.1", "127.0.0.1:7232"),
            ("::1", "[::1]:7232"),
            ("[::1]", "[::1]:7232"),
            ("[::1]:99", "[::1]:99"),
        ] {
            assert_eq!(address(given), want);
        }
    }
}
