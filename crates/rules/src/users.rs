//! A file of users and whether credentials are one's: `htpasswd`'s formats bcrypt (`$2y$`), `$apr1$` and `{SHA}`.
//!
//! Pure: the file's text and the credentials go in. Checking bcrypt takes as long as its cost says, a tenth of a second
//! and more; the caller sees to it that nobody else waits. Comparing takes the same time wherever two differ, and
//! a name that is not in the file takes as long as one that is. Not here: reading the file, remembering verdicts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use md5::{Digest, Md5};
use sha1::Sha1;

/// Most users of a file that are read, so that a wrong path cannot fill the memory.
const USERS_MAX: usize = 100_000;

/// The highest cost of bcrypt that is computed: 14 takes about a second of a core (measured: 1.0 s on an EPYC).
const COST_MAX: u32 = 14;

/// The highest cost that nobody is warned of: a quarter of a second.
const COST_USUAL: u32 = 12;

/// The users of a file.
#[derive(Clone, Debug, Default)]
pub struct Users {
    users: Vec<(String, Secret)>,
}

/// How much a line of the file matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worry {
    /// It lets nobody in.
    Useless,
    /// It lets nobody in, as to check it takes longer than anybody may keep a helper busy.
    TooDear,
    /// It takes long to check.
    Dear,
}

/// A line of the file that somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserComplaint {
    /// Counted from 1.
    pub line: usize,
    /// Whether it lets anybody in.
    pub worry: Worry,
    /// What is wrong, and what to do.
    pub what: String,
}

#[derive(Clone)]
enum Secret {
    Bcrypt(String),
    Apr1 { salt: String, digest: [u8; 16] },
    Sha([u8; 20]),
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secret)")
    }
}

impl Users {
    /// Reads `name:hash` lines; what cannot be used is told and left out. Of two lines for a name the first holds.
    pub fn read(text: &str) -> (Users, Vec<UserComplaint>) {
        let mut users: Vec<(String, Secret)> = Vec::new();
        let mut complaints = Vec::new();
        let mut tell = |line: usize, worry: Worry, what: String| {
            complaints.push(UserComplaint { line: line + 1, worry, what });
        };
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if users.len() >= USERS_MAX {
                tell(at, Worry::Useless, format!("only {USERS_MAX} users are read"));
                break;
            }
            let Some((name, hash)) = line.split_once(':') else {
                tell(at, Worry::Useless, "is no `name:hash`; write it with `htpasswd -B`".to_owned());
                continue;
            };
            // What follows another colon is a comment of other programs.
            match secret(hash.split(':').next().unwrap_or(hash)) {
                Ok(secret) => {
                    if let Secret::Bcrypt(_) = secret
                        && secret.effort() > COST_USUAL
                    {
                        let cost = secret.effort();
                        tell(
                            at,
                            Worry::Dear,
                            format!("the password of {name:?} takes {} to check", about(cost)),
                        );
                    }
                    users.push((name.to_owned(), secret));
                }
                Err((worry, what)) => {
                    tell(at, worry, format!("{name:?} cannot sign in with any password: {what}"));
                }
            }
        }
        (Users { users }, complaints)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.users.len()
    }

    /// Whether a user of this name has this password.
    pub fn has(&self, credentials: &Credentials) -> bool {
        if let Some((_, secret)) = self.users.iter().find(|(name, _)| *name == credentials.name) {
            return secret.is_of(&credentials.password);
        }
        // Who is not in the file must not be told by being refused sooner.
        if let Some((_, slowest)) = self.users.iter().max_by_key(|(_, secret)| secret.effort()) {
            let _ = slowest.is_of(&credentials.password);
        }
        false
    }
}

/// How long a hash of this cost takes, about: each step doubles it.
fn about(cost: u32) -> String {
    let ms = 250_u64.saturating_mul(1 << cost.saturating_sub(COST_USUAL).min(31));
    match ms {
        ..1_000 => format!("about {ms} ms of a core (bcrypt cost {cost})"),
        _ => format!("about {} s of a core (bcrypt cost {cost})", ms / 1_000),
    }
}

fn secret(hash: &str) -> Result<Secret, (Worry, String)> {
    plain_secret(hash).map_err(|what| match what {
        Refused::Broken(what) => (Worry::Useless, what.to_owned()),
        Refused::Dear(cost) => {
            (Worry::TooDear, format!("to check it takes {}; {} is the most", about(cost), about(COST_MAX)))
        }
    })
}

/// Why a hash is not used.
enum Refused {
    Broken(&'static str),
    /// bcrypt, of this cost.
    Dear(u32),
}

impl From<&'static str> for Refused {
    fn from(what: &'static str) -> Refused {
        Refused::Broken(what)
    }
}

fn plain_secret(hash: &str) -> Result<Secret, Refused> {
    if let Some(rest) = hash.strip_prefix("$2") {
        let cost = rest.get(2..4).and_then(|digits| digits.parse::<u32>().ok());
        return match cost {
            _ if hash.len() != 60 || !rest.starts_with(['a', 'b', 'x', 'y']) => {
                Err("its bcrypt hash is broken".into())
            }
            Some(4..=COST_MAX) => Ok(Secret::Bcrypt(hash.to_owned())),
            // bcrypt itself knows no higher cost than 31.
            Some(cost @ 5..=31) => Err(Refused::Dear(cost)),
            _ => Err("the cost of its bcrypt hash is not from 4 to 31".into()),
        };
    }
    if let Some(rest) = hash.strip_prefix("$apr1$") {
        let broken = "its $apr1$ hash is broken";
        let (salt, text) = rest.split_once('$').ok_or(broken)?;
        let digest = decode64(text).ok_or(broken)?;
        return Ok(Secret::Apr1 { salt: salt.chars().take(8).collect(), digest });
    }
    if let Some(text) = hash.strip_prefix("{SHA}") {
        let bytes = STANDARD.decode(text).map_err(|_| "its {SHA} hash is broken")?;
        return <[u8; 20]>::try_from(bytes).map(Secret::Sha).map_err(|_| "its {SHA} hash is broken".into());
    }
    Err("only bcrypt, $apr1$ and {SHA} are read; set it again with `htpasswd -B`".into())
}

impl Secret {
    /// What takes longer to check is more.
    fn effort(&self) -> u32 {
        match self {
            Secret::Bcrypt(hash) => hash.get(4..6).and_then(|cost| cost.parse().ok()).unwrap_or(4),
            Secret::Apr1 { .. } => 1,
            Secret::Sha(_) => 0,
        }
    }

    fn is_of(&self, password: &[u8]) -> bool {
        match self {
            Secret::Bcrypt(hash) => bcrypt::verify(password, hash).unwrap_or(false),
            Secret::Apr1 { salt, digest } => same(&apr1(password, salt.as_bytes()), digest),
            Secret::Sha(digest) => same(&Sha1::digest(password), digest),
        }
    }
}

/// Compares all of both, wherever they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |found, (a, b)| found | (a ^ b)) == 0
}

/// Apache's variant of the MD5-based crypt: a thousand rounds, as `apr_md5_encode` has them.
fn apr1(password: &[u8], salt: &[u8]) -> [u8; 16] {
    let inner: [u8; 16] =
        Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize().into();
    let mut first = Md5::new().chain_update(password).chain_update(b"$apr1$").chain_update(salt);
    let mut left = password.len();
    while left > 0 {
        let taken = left.min(inner.len());
        first.update(inner.get(..taken).unwrap_or_default());
        left -= taken;
    }
    let mut bits = password.len();
    while bits > 0 {
        first.update(if bits & 1 == 1 { &[0][..] } else { password.get(..1).unwrap_or_default() });
        bits >>= 1;
    }
    let mut digest: [u8; 16] = first.finalize().into();
    for round in 0..1_000 {
        let mut next = Md5::new();
        next.update(if round % 2 == 1 { password } else { &digest });
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        next.update(if round % 2 == 1 { &digest } else { password });
        digest = next.finalize().into();
    }
    digest
}

/// The bytes in the order in which crypt writes them: groups of three, and one that is left.
const ORDER: [usize; 16] = [0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 5, 11];

/// Crypt's own base 64.
fn decode64(text: &str) -> Option<[u8; 16]> {
    const LETTERS: &[u8] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if text.len() != 22 {
        return None;
    }
    let mut digest = [0; 16];
    let mut order = ORDER.into_iter();
    for (at, group) in text.as_bytes().chunks(4).enumerate() {
        let mut number = 0_u32;
        for letter in group.iter().rev() {
            number = number << 6 | u32::try_from(LETTERS.iter().position(|known| known == letter)?).ok()?;
        }
        let [_, high, middle, low] = number.to_be_bytes();
        // Four groups of three as written, then 4-10-5 and 11 alone.
        match at {
            0..=4 => {
                for byte in [high, middle, low] {
                    *digest.get_mut(order.next()?)? = byte;
                }
            }
            _ => *digest.get_mut(order.next()?)? = low,
        }
    }
    Some(digest)
}

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub name: String,
    /// The password.
    pub password: Vec<u8>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials({:?})", self.name)
    }
}

/// Longer ones are nobody's, bytes.
const CREDENTIALS_MAX_BYTES: usize = 1024;

impl Credentials {
    /// Reads an Authorization field of the Basic scheme (RFC 7617).
    pub fn of(field: &HeaderValue) -> Option<Credentials> {
        let (scheme, token) = field.to_str().ok()?.trim().split_once(' ')?;
        let token = token.trim();
        if !scheme.eq_ignore_ascii_case("basic") || token.len() > CREDENTIALS_MAX_BYTES {
            return None;
        }
        let bytes = STANDARD.decode(token).ok()?;
        let colon = bytes.iter().position(|byte| *byte == b':')?;
        let name = String::from_utf8(bytes.get(..colon)?.to_vec()).ok()?;
        // It is shown in traces and may be told to the origin.
        if name.chars().any(char::is_control) {
            return None;
        }
        Some(Credentials { name, password: bytes.get(colon + 1..)?.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Written by httpd 2.4's `htpasswd` (`-B -C 4`, `-m`, `-s`) and `openssl passwd -apr1`.
    const FILE: &str = "\
# people
ann:$2y$04$6l/pXfn3eHMW9XQhYBXWQuzo3kH7DYRKsVl3b4lPbX0HgNSNnMIye
bob:$apr1$r31.....$HqJZimcKQFAMYayBlzkrA/
cid:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=
";

    fn asks(name: &str, password: &str) -> Credentials {
        Credentials { name: name.into(), password: password.into() }
    }

    #[test]
    fn all_three_formats() {
        let text = format!("{FILE}dan:{}\n", bcrypt::hash_with_salt("hunter2", 4, [7; 16]).unwrap());
        let (users, complaints) = Users::read(&text);
        assert_eq!(complaints, []);
        assert_eq!(users.count(), 4);
        for (name, password, want) in [
            ("bob", "myPassword", true),
            ("bob", "mypassword", false),
            ("bob", "", false),
            ("cid", "myPassword", true),
            ("cid", "x", false),
            ("dan", "hunter2", true),
            ("dan", "hunter3", false),
            ("eve", "myPassword", false),
            ("", "", false),
        ] {
            assert_eq!(users.has(&asks(name, password)), want, "{name} {password}");
        }
    }

    #[test]
    fn what_lets_nobody_in_is_told_by_line() {
        let text = "a:plain\nnothing\nb:$2y$31$6l/pXfn3eHMW9XQhYBXWQuzo3kH7DYRKsVl3b4lPbX0HgNSNnMIye\n\
                    c:$apr1$x$short\nd:{SHA}eA==\ne:$2y$04$short\nf:$6$salt$hash\n";
        let (users, complaints) = Users::read(text);
        assert_eq!(users.count(), 0);
        assert_eq!(complaints.iter().map(|c| c.line).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
        assert!(complaints[2].what.contains("cost") && complaints[0].what.contains("htpasswd -B"));
        assert!(!users.has(&asks("a", "plain")));
    }

    /// What it costs to check is told before anybody waits for it; what costs more than a second is not checked at all.
    #[test]
    fn dear_hashes() {
        let hash =
            |cost: u32| format!("ann:$2y${cost:02}$6l/pXfn3eHMW9XQhYBXWQuzo3kH7DYRKsVl3b4lPbX0HgNSNnMIye\n");
        for (cost, worry, says) in [
            (4, None, ""),
            (12, None, ""),
            (13, Some(Worry::Dear), "about 500 ms"),
            (14, Some(Worry::Dear), "about 1 s"),
            (15, Some(Worry::TooDear), "about 2 s"),
            (16, Some(Worry::TooDear), "about 4 s"),
            (31, Some(Worry::TooDear), "bcrypt cost 31"),
            (32, Some(Worry::Useless), "not from 4 to 31"),
        ] {
            let (users, complaints) = Users::read(&hash(cost));
            assert_eq!(complaints.first().map(|one| one.worry), worry, "{cost}");
            assert!(complaints.iter().all(|one| one.what.contains(says)), "{complaints:?}");
            assert_eq!(users.count(), usize::from(cost <= 14), "{cost}");
        }
    }

    #[test]
    fn credentials() {
        let of = |text: &str| Credentials::of(&HeaderValue::from_str(text).unwrap());
        assert_eq!(of("Basic YW5uOmE6Yg=="), Some(asks("ann", "a:b")));
        assert_eq!(of("basic  YW5uOg=="), Some(asks("ann", "")));
        for bad in ["Basic", "Basic !", "Bearer YW5uOmE6Yg==", "Basic YW5u", "Basic YQo6Yg=="] {
            assert_eq!(of(bad), None, "{bad}");
        }
        // "a:", and then as long as may be; one more group of four is too long.
        let long = |bytes: usize| of(&format!("Basic YTph{}", "YWFh".repeat(bytes / 4 - 1)));
        assert!(long(CREDENTIALS_MAX_BYTES).is_some());
        assert_eq!(long(CREDENTIALS_MAX_BYTES + 4), None);
        assert!(!format!("{:?}", asks("ann", "secret")).contains("secret"));
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "([a-z]{0,3}:?(\\$2y\\$|\\$apr1\\$|\\{SHA\\})?[!-~]{0,60}\n){0,4}", password in ".{0,9}") {
            let (users, _) = Users::read(&text);
            let _ = users.has(&asks("a", &password));
        }
    }
}
