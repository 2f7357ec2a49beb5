//! Files of users, and passwords checked where nobody waits for it but who asked.
//!
//! Helper threads check, as bcrypt takes a tenth of a second and more of a core; a verdict is remembered for a short time
//! by a keyed hash of file, name and password, never by the password. The same question asked twice at once is one.
//! A file is looked at once a second and read again when it changed; no older verdict counts from then on. Bounded: so
//! many questions wait in all and from one address, so many verdicts are remembered. Not here: formats (`rules::users`).

use crate::{clock, operator_files};
use aws_lc_rs::hmac;
use samovar_rules::{Credentials, Users};
use std::collections::{HashMap, VecDeque};
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
/// Questions that wait at most.
const WAITING_MAX: usize = 64;
/// Of them from one address.
const WAITING_PER_CLIENT: usize = 4;
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
    key: hmac::Key,
    state: Mutex<State>,
    work: Condvar,
}

type Tag = [u8; 32];

#[derive(Default)]
struct State {
    files: HashMap<PathBuf, Known>,
    verdicts: HashMap<Tag, (Checked, u64)>,
    queue: VecDeque<Question>,
    /// Asked and not answered yet, also those that a thread is at.
    asking: HashMap<Tag, Vec<oneshot::Sender<Checked>>>,
    by_client: HashMap<Option<IpAddr>, usize>,
}

struct Question {
    tag: Tag,
    file: PathBuf,
    credentials: Credentials,
    client: Option<IpAddr>,
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
    /// Whether these are the credentials of a user in the file.
    pub async fn check(&self, file: &Path, credentials: Credentials, client: Option<IpAddr>) -> Checked {
        let Some(inner) = self.0.get_or_init(Inner::start) else { return Checked::Busy };
        match inner.ask(file, credentials, share_of(client)) {
            Ok(known) => known,
            // A thread that panicked answers nobody.
            Err(answer) => answer.await.unwrap_or(Checked::Busy),
        }
    }
}

impl Inner {
    fn start() -> Option<Arc<Inner>> {
        let mut secret = [0; 32];
        if aws_lc_rs::rand::fill(&mut secret).is_err() {
            crate::say!("samovar: the system gives no random numbers; nobody is let in by password");
            return None;
        }
        let inner = Arc::new(Inner {
            key: hmac::Key::new(hmac::HMAC_SHA256, &secret),
            state: Mutex::default(),
            work: Condvar::new(),
        });
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut running = 0;
        for number in 0..(cores / 2).clamp(1, 4) {
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
        client: Option<IpAddr>,
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
            others.push(tell);
            return Err(told);
        }
        let of_client = state.by_client.get(&client).copied().unwrap_or(0);
        if state.asking.len() >= WAITING_MAX || of_client >= WAITING_PER_CLIENT {
            return Ok(Checked::Busy);
        }
        *state.by_client.entry(client).or_default() += 1;
        state.asking.insert(tag, vec![tell]);
        state.queue.push_back(Question { tag, file: file.to_path_buf(), credentials, client });
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
                if let Some(question) = state.queue.pop_front() {
                    break Some(question);
                }
                let waited =
                    self.work.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner);
                state = waited.0;
            };
            drop(state);
            match question {
                Some(question) => self.answer(question),
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

    fn answer(&self, question: Question) {
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
        if let Some(left) = state.by_client.get_mut(&question.client) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                state.by_client.remove(&question.client);
            }
        }
        for waiting in state.asking.remove(&question.tag).into_iter().flatten() {
            let _gone = waiting.send(verdict);
        }
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
        let check =
            |file: &Path, name: &str, password: &str| block_on(door.check(file, asks(name, password), None));
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

    #[test]
    fn a_flood_waits_in_a_bounded_queue_and_leaves_room_for_others() {
        // Nobody works here, so what is asked stays in the queue.
        let inner = Inner {
            key: hmac::Key::new(hmac::HMAC_SHA256, &[1; 32]),
            state: Mutex::default(),
            work: Condvar::new(),
        };
        let ask = |client: u8, password: &str| {
            inner.ask(Path::new("/f"), asks("ann", password), Some([10, 0, 0, client].into()))
        };
        let waiting: Vec<_> = (0..WAITING_PER_CLIENT).map(|n| ask(1, &n.to_string())).collect();
        assert!(waiting.iter().all(Result::is_err), "these wait");
        assert_eq!(ask(1, "one more").ok(), Some(Checked::Busy));
        assert!(ask(1, "0").is_err(), "the same question once more waits for the same answer");
        assert!(ask(2, "x").is_err(), "another has room");
        let all: Vec<_> = (10..200).map(|client| ask(client, &format!("y{client}"))).collect();
        assert!(all.iter().any(|answer| matches!(answer, Ok(Checked::Busy))));
        assert_eq!(inner.lock().queue.len(), WAITING_MAX);
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
