//! What it takes to make a run again, years later: its command line, the files it named, and on what it ran.
//!
//! It stands in the run's own file, so that there is one thing to keep. Secrets are kept out of it: values of fields that
//! let someone in. Pure. Not here: reading the files, making the run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::job::Job;

/// What stands in the place of a secret.
pub const KEPT_OUT: &str = "(kept out)";
/// Fields whose values let someone in.
const SECRET: [&str; 5] = ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"];
/// Files are kept up to so many bytes together.
pub const FILES_MAX_BYTES: usize = 16 << 20;

/// What it takes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bundle {
    /// The words of the command line, without the program.
    pub words: Vec<String>,
    /// What the files held that it names, by their names as they stand there. Bytes that are no text are written `%XX`.
    pub files: BTreeMap<String, String>,
    /// Names of files that were too large to be kept; they must be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_large: Vec<String>,
    /// Of a run by WCAT's commands: what was to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<Job>>,
    /// On what it ran.
    pub host: Host,
}

/// The machine that sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its system and kernel.
    pub system: String,
    /// Its processor.
    pub processor: String,
    /// Its cores, as many as we may use.
    pub cores: usize,
    /// Its memory.
    pub memory_bytes: u64,
}

/// The command line without its secrets.
pub fn without_secrets(words: &[String]) -> Vec<String> {
    let hide = |field: &str| {
        let (name, _) = field.split_once(':')?;
        let is_secret = SECRET.iter().any(|secret| name.trim().eq_ignore_ascii_case(secret));
        is_secret.then(|| format!("{}: {KEPT_OUT}", name.trim()))
    };
    let mut out: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        let after_flag = out.last().is_some_and(|last| is_header(last));
        let is_token = matches!(out.last().map(String::as_str), Some("-token" | "--token"));
        let hidden = match () {
            () if is_token => Some(KEPT_OUT.to_owned()),
            () if after_flag => hide(word),
            () => {
                let flag = word.strip_suffix(field(word)).filter(|flag| !flag.is_empty());
                flag.and_then(|flag| Some(format!("{flag}{}", hide(field(word))?)))
            }
        };
        out.push(hidden.unwrap_or_else(|| word.clone()));
    }
    out
}

/// What follows `-H` in a word, which may have flags without a value before it: `-kLHCookie: a=b`.
fn short(word: &str) -> Option<&str> {
    word.strip_prefix('-')?.trim_start_matches(['k', 'L', 'q']).strip_prefix('H')
}

/// Whether a word says that the next one is a header field.
pub fn is_header(word: &str) -> bool {
    word == "--header" || short(word) == Some("")
}

/// The header field in a word: behind its flag, if that is in the same word, or all of it.
pub fn field(word: &str) -> &str {
    word.strip_prefix("--header=").or_else(|| short(word)).unwrap_or(word)
}

/// Bytes as a text that can stand in JSON, and be read by people where it is text.
pub fn to_text(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&chunk.valid().replace('%', "%25"));
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
    }
    out
}

/// The bytes of such a text.
pub fn to_bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| first == b'%') {
            Some(byte) => {
                out.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_kept_out() {
        let words = |line: &str| line.split('|').map(str::to_owned).collect::<Vec<String>>();
        for (line, want) in [
            ("run|http://h/|-H|Authorization: Bearer x", "run|http://h/|-H|Authorization: (kept out)"),
            ("-H|authorization:x|-H|Accept: y", "-H|authorization: (kept out)|-H|Accept: y"),
            ("--header=Cookie: a=b", "--header=Cookie: (kept out)"),
            ("-HCookie: a=b|-c|3", "-HCookie: (kept out)|-c|3"),
            ("-kHCookie: a=b|-kLqHAccept: x", "-kHCookie: (kept out)|-kLqHAccept: x"),
            ("-qH|Authorization: Bearer x|-k|Cookie: y", "-qH|Authorization: (kept out)|-k|Cookie: y"),
            ("wcctl|-token|secret|-x", "wcctl|-token|(kept out)|-x"),
            ("run|http://h/?Cookie:1", "run|http://h/?Cookie:1"),
        ] {
            assert_eq!(without_secrets(&words(line)), words(want), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(to_bytes(&to_text(&bytes)), bytes);
        }

        #[test]
        fn text_stays_text(text in "[a-z \n=/]{0,80}") {
            prop_assert_eq!(to_text(text.as_bytes()), text);
        }
    }
}
