//! What clients must know to be let in: a word the controller draws, and leaves for its own user on its own machine.
//!
//! On one machine `wcclient localhost` finds it, and nothing has to be typed; another machine is told it. Not here: asking
//! for it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

/// Draws one: 128 bits.
///
/// # Errors
/// A sentence: the system gives no chance.
pub fn draw() -> Result<String, String> {
    let mut bytes = [0; 16];
    let mut source =
        fs::File::open("/dev/urandom").map_err(|error| format!("cannot draw a token: {error}"))?;
    source.read_exact(&mut bytes).map_err(|error| format!("cannot draw a token: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether two are the same, in a time that does not tell how far they are.
pub fn is(mine: &str, theirs: &str) -> bool {
    let differ = mine.bytes().zip(theirs.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    mine.len() == theirs.len() && differ == 0
}

/// A token left for clients of the same user; gone when this is dropped.
#[derive(Debug)]
pub struct Left(PathBuf);

impl Drop for Left {
    fn drop(&mut self) {
        // If it stays, it lets nobody in: the next controller draws another.
        let _ = fs::remove_file(&self.0);
    }
}

/// A folder that only this user reads.
fn folder() -> Option<PathBuf> {
    let own = rustix::process::getuid().as_raw();
    let folder = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir).join("thirst"),
        None => std::env::temp_dir().join(format!("thirst-{own}")),
    };
    // It may be there already; whose it is and who may read it is looked at either way.
    let _ = fs::DirBuilder::new().mode(0o700).create(&folder);
    let found = fs::symlink_metadata(&folder).ok()?;
    (found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0).then_some(folder)
}

/// Leaves the token of the controller at `port`; `None` where there is no place for it.
pub fn leave(port: u16, token: &str) -> Option<Left> {
    let path = folder()?.join(format!("wcctl-{port}.token"));
    let _ = fs::remove_file(&path);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
    file.write_all(token.as_bytes()).ok()?;
    Some(Left(path))
}

/// Finds the token that a controller of the same user left on this machine.
pub fn find(port: u16) -> Option<String> {
    let text = fs::read_to_string(folder()?.join(format!("wcctl-{port}.token"))).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens() {
        let (one, two) = (draw().unwrap(), draw().unwrap());
        assert!(one.len() == 32 && one != two);
        assert!(is(&one, &one) && !is(&one, &two) && !is(&one, "") && !is("", &one) && !is(&one, &one[..31]));
    }

    #[test]
    fn left_for_the_same_user_until_it_is_dropped() {
        // A port that no controller of a test uses.
        let left = leave(9, "word").unwrap();
        assert_eq!(find(9).as_deref(), Some("word"));
        assert_eq!(fs::metadata(&left.0).unwrap().mode() & 0o777, 0o600);
        drop(left);
        assert_eq!(find(9), None);
    }
}
