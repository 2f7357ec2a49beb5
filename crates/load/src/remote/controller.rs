//! The controller: waits for its clients, tells them what to do, and puts together what they say.
//!
//! A client that is lost takes what it counted with it; the run goes on and its verdict says so. Not here: the report.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::frame::{ANY_BYTES, FIRST_BYTES, hear, say};
use super::{FromClient, FromController, VERSION, token};
use crate::job::Job;
use crate::run::Gathered;
use crate::tally::series::Slice;

/// How long a caller may take to say who it is, and a client to understand its job.
const PATIENCE: Duration = Duration::from_secs(10);
/// From saying `begin` to beginning: long enough for the word to reach all.
const BEGIN_IN_MS: u64 = 500;
/// How long clients may take to say what they counted after the run was ended.
pub const AFTERWARDS: Duration = Duration::from_secs(60);

/// A client that was let in.
#[derive(Debug)]
struct Client {
    name: String,
    stream: TcpStream,
}

/// What happens while clients are waited for.
#[derive(Debug)]
pub enum Event {
    /// One is here.
    Came {
        /// Its name.
        name: String,
        /// How many are here now.
        here: u64,
    },
    /// One was sent away.
    Refused(SocketAddr, String),
    /// All are here and begin.
    Begins,
    /// A second of one thread of one client.
    Second(Slice),
    /// One was lost.
    Lost(String),
}

/// Waits for `count` clients at `listener`, has them do `job`, and gives back what they gathered. Who has not said it
/// `within` that time of the beginning is lost: a machine without power says nothing, and its connection does not end.
///
/// # Errors
/// A sentence: no client could do it, or the wait was ended by `stop`.
pub fn control(
    listener: &TcpListener,
    job: &Job,
    count: u64,
    token: &str,
    within: Option<Duration>,
    stop: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(Event),
) -> Result<Gathered, String> {
    listener.set_nonblocking(true).map_err(|error| format!("cannot wait for clients: {error}"))?;
    let mut clients = Vec::new();
    while (clients.len() as u64) < count {
        if stop.load(Ordering::Relaxed) {
            return Err(format!("ended while {} of {count} clients were here", clients.len()));
        }
        match listener.accept() {
            Ok((stream, from)) => match greet(stream, job, clients.len() as u64, token) {
                Ok(client) => {
                    let name = client.name.clone();
                    clients.push(client);
                    tell(Event::Came { name, here: clients.len() as u64 });
                }
                Err(why) => tell(Event::Refused(from, why)),
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(20))
            }
            Err(error) => return Err(format!("cannot wait for clients: {error}")),
        }
    }
    run(clients, listener, within, stop, tell)
}

/// Reads a message that has to be whole by then: who sends a byte now and then must not keep others out.
struct Patient<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Patient<'_> {
    fn new(stream: &TcpStream, patience: Duration) -> Patient<'_> {
        Patient { stream, until: Instant::now() + patience }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

/// Lets a caller in that knows the token, and hands it its job.
fn greet(mut stream: TcpStream, job: &Job, number: u64, mine: &str) -> Result<Client, String> {
    let lost = |error: io::Error| error.to_string();
    stream.set_nonblocking(false).map_err(lost)?;
    stream.set_nodelay(true).map_err(lost)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(lost)?;
    let no = |stream: &mut TcpStream, why: &str| {
        // It may be gone already; it is not wanted anyway.
        let _ = say(stream, &FromController::No(why.to_owned()));
        why.to_owned()
    };
    let name = match hear(&mut Patient::new(&stream, PATIENCE), FIRST_BYTES).map_err(lost)? {
        FromClient::Hello { version, .. } if version != VERSION => {
            return Err(no(&mut stream, "the controller is of another version of thirst"));
        }
        FromClient::Hello { token, .. } if !token::is(mine, &token) => {
            return Err(no(&mut stream, "the token is wrong; the controller prints the right one"));
        }
        FromClient::Hello { name, .. } => name,
        _ => return Err(no(&mut stream, "a client says hello first")),
    };
    say(&mut stream, &FromController::Job(Box::new(job.clone()), number)).map_err(lost)?;
    match hear(&mut Patient::new(&stream, PATIENCE), FIRST_BYTES).map_err(lost)? {
        FromClient::Ready => Ok(Client { name, stream }),
        FromClient::Cannot(why) => Err(why),
        _ => Err("a client says whether it is ready".to_owned()),
    }
}

fn run(
    clients: Vec<Client>,
    listener: &TcpListener,
    within: Option<Duration>,
    stop: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(Event),
) -> Result<Gathered, String> {
    let (out, inbox) = mpsc::channel();
    let mut writers = Vec::new();
    let count = clients.len();
    for (number, mut client) in clients.into_iter().enumerate() {
        let mut gathered = Gathered::default();
        let begun = client
            .stream
            .set_read_timeout(None)
            .and_then(|()| say(&mut client.stream, &FromController::Begin(BEGIN_IN_MS)))
            .and_then(|()| client.stream.try_clone());
        match begun {
            Ok(writer) => {
                writers.push(writer);
                let out = out.clone();
                thread::spawn(move || listen(number, client, &out));
            }
            Err(error) => {
                gathered.lose(format!("the client {} was lost before it began: {error}", client.name));
                // Nobody listens any more only when the run is being torn down.
                let _ = out.send((number, Said::Gathered(Box::new(gathered))));
            }
        }
    }
    drop(out);
    tell(Event::Begins);
    let result = gather(count, &inbox, &mut writers, listener, within, stop, tell);
    for writer in &writers {
        // A thread that still listens ends with its connection.
        let _ = writer.shutdown(std::net::Shutdown::Both);
    }
    Ok(result)
}

/// What a listening thread passes on.
enum Said {
    Second(Slice),
    Gathered(Box<Gathered>),
}

/// Listens to one client until it is done or lost.
fn listen(number: usize, mut client: Client, out: &Sender<(usize, Said)>) {
    loop {
        let said = match hear(&mut client.stream, ANY_BYTES) {
            Ok(FromClient::Second(slice)) => Said::Second(slice),
            Ok(FromClient::Done(gathered)) => Said::Gathered(gathered),
            Ok(FromClient::Cannot(why)) => {
                Said::Gathered(Box::new(lost(format!("the client {}: {why}", client.name))))
            }
            Ok(_) => continue,
            Err(error) => {
                Said::Gathered(Box::new(lost(format!("the client {} was lost: {error}", client.name))))
            }
        };
        let is_last = matches!(said, Said::Gathered(_));
        if out.send((number, said)).is_err() || is_last {
            return;
        }
    }
}

fn lost(why: String) -> Gathered {
    let mut gathered = Gathered::default();
    gathered.lose(why);
    gathered
}

fn gather(
    count: usize,
    inbox: &Receiver<(usize, Said)>,
    writers: &mut [TcpStream],
    listener: &TcpListener,
    within: Option<Duration>,
    stop: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(Event),
) -> Gathered {
    let begun = Instant::now();
    let mut all = Gathered::default();
    let mut done = vec![false; count];
    let mut ended: Option<Instant> = None;
    while done.iter().any(|done| !done) {
        if stop.load(Ordering::Relaxed) && ended.is_none() {
            ended = Some(Instant::now());
            // One that does not hear it is lost soon.
            writers.iter_mut().for_each(|writer| drop(say(writer, &FromController::End)));
        }
        let overdue = within.is_some_and(|within| begun.elapsed() > within);
        if overdue || ended.is_some_and(|since| since.elapsed() > AFTERWARDS) {
            let silent = done.iter().filter(|done| !**done).count() as u64;
            all.lose(format!(
                "{} did not say what was counted",
                crate::report::units::many(silent, "client")
            ));
            break;
        }
        // Who comes late is told so, and does not wait for nothing.
        if let Ok((mut late, _)) = listener.accept() {
            let _ = late.set_nonblocking(false);
            let _ = late.set_write_timeout(Some(PATIENCE));
            let _ = say(&mut late, &FromController::No("the run has begun without this client".to_owned()));
        }
        match inbox.recv_timeout(Duration::from_millis(100)) {
            Ok((_, Said::Second(slice))) => tell(Event::Second(slice)),
            Ok((number, Said::Gathered(gathered))) => {
                if let Some(done) = done.get_mut(number) {
                    *done = true;
                }
                gathered.losses().iter().for_each(|why| tell(Event::Lost(why.clone())));
                all.merge(*gathered);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn connected() -> (TcpStream, TcpStream, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (called, _) = listener.accept().unwrap();
        (caller, called, listener)
    }

    #[test]
    fn who_speaks_slowly_is_not_waited_for() {
        let (mut caller, called, _listener) = connected();
        caller.write_all(&4_000_u32.to_be_bytes()).unwrap();
        let drip = thread::spawn(move || {
            while caller.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let begun = Instant::now();
        let heard = hear::<FromClient>(&mut Patient::new(&called, Duration::from_millis(200)), FIRST_BYTES);
        assert!(heard.is_err());
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        drop(called);
        drip.join().unwrap();
    }

    #[test]
    fn who_says_nothing_any_more_is_lost() {
        let (_caller, stream, listener) = connected();
        listener.set_nonblocking(true).unwrap();
        let clients = vec![Client { name: "mute".to_owned(), stream }];
        let within = Some(Duration::from_millis(300));
        let gathered = run(clients, &listener, within, &Arc::default(), &mut |_| {}).unwrap();
        assert_eq!(gathered.losses(), ["1 client did not say what was counted"]);
    }
}
