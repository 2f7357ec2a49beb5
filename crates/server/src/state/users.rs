//! Files of users, and passwords checked where nobody waits for it but who asked.
//!
//! Helper threads check, as bcrypt takes a tenth of a second and more of a core; a verdict is remembered for a short time
//! by a keyed hash of file, name and password, never by the password. The same question asked twice at once is one.
//! A file is looked at once a second and read again when it changed; no older verdict counts from then on. Bounded: so
//! many questions wait for a site, of a client and in all, none for long, and none whose askers have left; sites take
//! turns, and none has all helpers; so many verdicts are remembered. Not here: formats (`rules::users`), whose turn it is
//! (`rules::turns`).

use crate::{clock, operator_files};
use aws_lc_rs::hmac;
use samovar_rules::{Asker, Credentials, Turn, TurnBounds, Turns, Users};
use std::collections::HashMap;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a right password is remembered, µs.
const RIGHT_US: u64 = 60_000_000;
/// How long a wrong one is, µs.
const WRONG_US: u64 = 5_000_000;
/// Verdicts remembered at most.
const VERDICTS_MAX: usize = 4_096;
/// Questions that wait at most, for one site.
pub const WAITING_PER_SITE: usize = 64;
/// That wait or are being checked at most, of one client.
pub const PER_CLIENT: usize = 4;
/// That wait at most, in all.
const WAITING_MAX: usize = 1_024;
/// How long one waits at most.
pub const WAIT_MAX: Duration = Duration::from_secs(10);
/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// A user's.
    Right,
    /// Nobody's.
    Wrong,
    /// The file cannot be read.
    Unreadable,
    /// Too many wait already.
    Busy,
}

/// Checks passwords for the whole process.
#[derive(Default)]
pub struct Doorkeeper(OnceLock<Option<Arc<Inner>>>);

struct Inner {
    helpers: usize,
    key: hmac::Key,
    state: Mutex<State>,
    work: Condvar,
}

type Tag = [u8; 32];

struct State {
    files: HashMap<PathBuf, Known>,
    verdicts: HashMap<Tag, (Checked, u64)>,
    turns: Turns<Question>,
    /// Asked and not answered yet, also those that a thread is at.
    asking: HashMap<Tag, Vec<oneshot::Sender<Checked>>>,
}

impl State {
    fn new(helpers: usize) -> State {
        let bounds = TurnBounds {
            waiting_per_site: WAITING_PER_SITE,
            per_client: PER_CLIENT,
            waiting: WAITING_MAX,
            // One is left for the others.
            running_per_site: helpers.saturating_sub(1).max(1),
            wait_us: u64::try_from(WAIT_MAX.as_micros()).unwrap_or(u64::MAX),
        };
        State {
            files: HashMap::new(),
            verdicts: HashMap::new(),
            turns: Turns::new(bounds),
            asking: HashMap::new(),
        }
    }

    /// Gives up the questions whose askers have all left.
    fn drop_left(&mut self) {
        let asking = &self.asking;
        for question in self.turns.drop_unwanted(|question| is_awaited(asking, &question.tag)) {
            self.asking.remove(&question.tag);
        }
    }

    fn answer(&mut self, tag: &Tag, verdict: Checked) {
        for waiting in self.asking.remove(tag).into_iter().flatten() {
            let _gone = waiting.send(verdict);
        }
    }
}

/// Whether anybody still waits for the answer: who left has dropped the other end.
fn is_awaited(asking: &HashMap<Tag, Vec<oneshot::Sender<Checked>>>, tag: &Tag) -> bool {
    asking.get(tag).is_some_and(|all| all.iter().any(|one| !one.is_closed()))
}

#[derive(Debug)]
struct Question {
    tag: Tag,
    file: PathBuf,
    credentials: Credentials,
}

/// How many are checked now, and at most; how many wait for the site where most do.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignIns {
    /// Being checked.
    pub running: usize,
    /// Helpers.
    pub helpers: usize,
    /// Waiting.
    pub waiting: usize,
}

/// A file as it was last read.
#[derive(Clone)]
struct Known {
    /// Grows with every reading.
    generation: u64,
    stamp: Stamp,
    users: Option<Arc<Users>>,
}

/// Device, inode, size, and both times in ns: what tells that a file was changed.
type Stamp = Option<(u64, u64, u64, i128, i128)>;

fn stamp(path: &Path) -> Stamp {
    let meta = std::fs::metadata(path).ok()?;
    let ns = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
    let (modified, changed) = (ns(meta.mtime(), meta.mtime_nsec()), ns(meta.ctime(), meta.ctime_nsec()));
    Some((meta.dev(), meta.ino(), meta.size(), modified, changed))
}

fn read(path: &Path) -> Option<Arc<Users>> {
    match operator_files::read(path, operator_files::USERS_MAX_BYTES) {
        Ok(bytes) => Some(Arc::new(Users::read(&String::from_utf8_lossy(&bytes)).0)),
        Err(error) => {
            crate::say!("samovar: read the users in {}: {error}; nobody is let in by them", path.display());
            None
        }
    }
}

/// One client's share of the queue: of IPv6 the first 64 bits.
fn share_of(client: Option<IpAddr>) -> Option<IpAddr> {
    client.map(|ip| match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(samovar_rules::network_of(ip)),
        v4 => v4,
    })
}

impl Doorkeeper {
    /// Whether these are the credentials of a user in the file; `site`: for whose sake it is asked. Dropped before it is
    /// told, it is not checked any more.
    pub async fn check(
        &self,
        site: &Arc<str>,
        file: &Path,
        credentials: Credentials,
        client: Option<IpAddr>,
    ) -> Checked {
        let Some(inner) = self.0.get_or_init(Inner::start) else { return Checked::Busy };
        let asker = Asker { site: Arc::clone(site), client: share_of(client) };
        match inner.ask(file, credentials, asker) {
            Ok(known) => known,
            // A thread that panicked answers nobody.
            Err(answer) => answer.await.unwrap_or(Checked::Busy),
        }
    }
}

impl Doorkeeper {
    /// How much there is to do now.
    pub fn sign_ins(&self) -> SignIns {
        let Some(inner) = self.0.get().and_then(Option::as_ref) else {
            return SignIns { helpers: helpers(), ..SignIns::default() };
        };
        let state = inner.lock();
        SignIns {
            running: state.turns.running(),
            helpers: inner.helpers,
            waiting: state.turns.most_waiting(),
        }
    }
}

/// How many threads check: two at least, so that one site's flood leaves one for the others.
fn helpers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).div_ceil(2).clamp(2, 4)
}

impl Inner {
    fn start() -> Option<Arc<Inner>> {
        let mut secret = [0; 32];
        if aws_lc_rs::rand::fill(&mut secret).is_err() {
            crate::say!("samovar: the system gives no random numbers; nobody is let in by password");
            return None;
        }
        let helpers = helpers();
        let inner = Arc::new(Inner {
            helpers,
            key: hmac::Key::new(hmac::HMAC_SHA256, &secret),
            state: Mutex::new(State::new(helpers)),
            work: Condvar::new(),
        });
        let mut running = 0;
        for number in 0..helpers {
            let own = Arc::clone(&inner);
            let thread = std::thread::Builder::new().name(format!("users-{number}"));
            match thread.spawn(move || own.work(number == 0)) {
                Ok(_) => running += 1,
                Err(error) => crate::say!("samovar: start a thread that checks passwords: {error}"),
            }
        }
        (running > 0).then_some(inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered, else where the answer will come.
    fn ask(
        &self,
        file: &Path,
        credentials: Credentials,
        asker: Asker,
    ) -> Result<Checked, oneshot::Receiver<Checked>> {
        let now_us = clock::mono_us();
        let mut state = self.lock();
        let generation = state.files.get(file).map_or(0, |known| known.generation);
        let tag = self.tag(file, generation, &credentials);
        if let Some((verdict, until_us)) = state.verdicts.get(&tag)
            && *until_us > now_us
        {
            return Ok(*verdict);
        }
        let (tell, told) = oneshot::channel();
        if let Some(others) = state.asking.get_mut(&tag) {
            others.retain(|other| !other.is_closed());
            others.push(tell);
            return Err(told);
        }
        let question = Question { tag, file: file.to_path_buf(), credentials };
        if let Err(question) = state.turns.admit(asker.clone(), question, now_us) {
            // Some may wait for nobody.
            state.drop_left();
            if state.turns.admit(asker, question, now_us).is_err() {
                return Ok(Checked::Busy);
            }
        }
        state.asking.insert(tag, vec![tell]);
        drop(state);
        self.work.notify_one();
        Err(told)
    }

    fn tag(&self, file: &Path, generation: u64, credentials: &Credentials) -> Tag {
        let mut text = hmac::Context::with_key(&self.key);
        // Each part with its length, so that no two questions are written alike.
        for part in [file.as_os_str().as_encoded_bytes(), credentials.name.as_bytes(), &credentials.password]
        {
            text.update(&(part.len() as u64).to_be_bytes());
            text.update(part);
        }
        text.update(&generation.to_be_bytes());
        let mut tag = [0; 32];
        tag.iter_mut().zip(text.sign().as_ref()).for_each(|(to, from)| *to = *from);
        tag
    }

    /// A helper thread's life; `looks` after the files, too.
    fn work(&self, looks: bool) {
        let mut looked = Instant::now();
        loop {
            let mut state = self.lock();
            let question = loop {
                if looks && looked.elapsed() >= LOOK_EVERY {
                    break None;
                }
                match state.turns.next(clock::mono_us()) {
                    Some(Turn::Late(question)) => {
                        state.answer(&question.tag, Checked::Busy);
                        continue;
                    }
                    Some(Turn::Run(question, asker)) if !is_awaited(&state.asking, &question.tag) => {
                        state.asking.remove(&question.tag);
                        state.turns.done(&asker);
                        continue;
                    }
                    Some(Turn::Run(question, asker)) => break Some((question, asker)),
                    None => {}
                }
                let waited =
                    self.work.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner);
                state = waited.0;
            };
            drop(state);
            match question {
                Some((question, asker)) => self.answer(question, &asker),
                None => {
                    self.look();
                    looked = Instant::now();
                }
            }
        }
    }

    /// Reads files again that have changed.
    fn look(&self) {
        let known: Vec<(PathBuf, Stamp)> =
            self.lock().files.iter().map(|(path, known)| (path.clone(), known.stamp)).collect();
        for (path, old) in known {
            if stamp(&path) != old {
                self.load(&path);
            }
        }
    }

    fn load(&self, path: &Path) -> Known {
        // Before it is read: what changes meanwhile is seen the next time.
        let stamp = stamp(path);
        let users = read(path);
        let mut state = self.lock();
        let generation = state.files.get(path).map_or(0, |known| known.generation) + 1;
        let known = Known { generation, stamp, users };
        state.files.insert(path.to_path_buf(), known.clone());
        known
    }

    fn answer(&self, question: Question, asker: &Asker) {
        let known = self.lock().files.get(&question.file).cloned();
        let first = known.is_none();
        let known = known.unwrap_or_else(|| self.load(&question.file));
        let verdict = match known.users {
            None => Checked::Unreadable,
            Some(users) if users.has(&question.credentials) => Checked::Right,
            Some(_) => Checked::Wrong,
        };
        let now_us = clock::mono_us();
        let mut state = self.lock();
        let until_us = match verdict {
            Checked::Right => now_us + RIGHT_US,
            _ => now_us + WRONG_US,
        };
        if verdict != Checked::Unreadable {
            // Under the generation that it was checked by: the first question of all was asked before there was one. What
            // was asked before a change is remembered where nobody will look for it.
            let tag = match first {
                true => self.tag(&question.file, known.generation, &question.credentials),
                false => question.tag,
            };
            make_room(&mut state.verdicts, now_us);
            state.verdicts.insert(tag, (verdict, until_us));
        }
        state.turns.done(asker);
        state.answer(&question.tag, verdict);
        drop(state);
        // The site's share is free again, for which another helper may wait.
        self.work.notify_one();
    }
}

/// Room for one more: what is over goes first, then what was wrong, then all.
fn make_room(verdicts: &mut HashMap<Tag, (Checked, u64)>, now_us: u64) {
    if verdicts.len() < VERDICTS_MAX {
        return;
    }
    verdicts.retain(|_, (_, until_us)| *until_us > now_us);
    if verdicts.len() >= VERDICTS_MAX {
        verdicts.retain(|_, (verdict, _)| *verdict == Checked::Right);
    }
    if verdicts.len() >= VERDICTS_MAX {
        verdicts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA_OF_MY_PASSWORD: &str = "{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=";

    fn asks(name: &str, password: &str) -> Credentials {
        Credentials { name: name.into(), password: password.into() }
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn right_wrong_and_unreadable() {
        let path = std::env::temp_dir().join(format!("samovar-users-{}", std::process::id()));
        std::fs::write(&path, format!("ann:{SHA_OF_MY_PASSWORD}\n")).unwrap();
        let door = Doorkeeper::default();
        let check = |file: &Path, name: &str, password: &str| {
            block_on(door.check(&"a".into(), file, asks(name, password), None))
        };
        for _ in 0..3 {
            assert_eq!(check(&path, "ann", "myPassword"), Checked::Right);
            assert_eq!(check(&path, "ann", "other"), Checked::Wrong);
            assert_eq!(check(&path, "bob", "myPassword"), Checked::Wrong);
            assert_eq!(check(&path.join("none"), "ann", "myPassword"), Checked::Unreadable);
        }
        // Another generation is another question: what was right is checked anew.
        std::fs::write(&path, "bob:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=\n# longer\n").unwrap();
        door.0.get().unwrap().as_ref().unwrap().look();
        assert_eq!(check(&path, "ann", "myPassword"), Checked::Wrong);
        assert_eq!(check(&path, "bob", "myPassword"), Checked::Right);
        std::fs::remove_file(&path).unwrap();
        door.0.get().unwrap().as_ref().unwrap().look();
        assert_eq!(check(&path, "bob", "myPassword"), Checked::Unreadable);
    }

    /// Nobody works here, so what is asked stays in the queue.
    fn idle() -> Inner {
        Inner {
            helpers: 2,
            key: hmac::Key::new(hmac::HMAC_SHA256, &[1; 32]),
            state: Mutex::new(State::new(2)),
            work: Condvar::new(),
        }
    }

    #[test]
    fn a_flood_waits_in_a_bounded_queue_and_leaves_room_for_others() {
        let inner = idle();
        let ask = |site: &str, client: u8, password: &str| {
            let asker = Asker { site: site.into(), client: Some([10, 0, 0, client].into()) };
            inner.ask(Path::new("/f"), asks("ann", password), asker)
        };
        let waiting: Vec<_> = (0..PER_CLIENT).map(|n| ask("a", 1, &n.to_string())).collect();
        assert!(waiting.iter().all(Result::is_err), "these wait");
        assert_eq!(ask("a", 1, "one more").ok(), Some(Checked::Busy));
        let again = ask("a", 1, "0");
        assert!(again.is_err(), "the same question once more waits for the same answer");
        let all: Vec<_> = (10..200).map(|client| ask("a", client, &format!("y{client}"))).collect();
        assert!(all.iter().any(|answer| matches!(answer, Ok(Checked::Busy))));
        assert_eq!(inner.lock().turns.most_waiting(), WAITING_PER_SITE);
        let elsewhere = ask("b", 201, "x");
        assert!(elsewhere.is_err(), "another site has a queue of its own");
        // Who leaves gives the place back.
        drop(all);
        let later = ask("a", 202, "z");
        assert!(later.is_err());
        assert_eq!(inner.lock().turns.most_waiting(), PER_CLIENT + 1);
    }

    #[test]
    fn verdicts_are_bounded() {
        let mut verdicts = HashMap::new();
        let tag = |n: usize| {
            let mut tag = [0; 32];
            tag[..8].copy_from_slice(&n.to_be_bytes());
            tag
        };
        for n in 0..3 * VERDICTS_MAX {
            make_room(&mut verdicts, 0);
            verdicts.insert(tag(n), (if n == 0 { Checked::Right } else { Checked::Wrong }, 10));
        }
        assert!(verdicts.len() <= VERDICTS_MAX);
        assert!(verdicts.contains_key(&tag(0)), "what was right is kept longest");
    }
}
