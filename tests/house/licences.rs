//! Every dependency may be used and shipped under the licences this project is given away under.
//!
//! Why a test and not a tool: docs/decisions/0001-licence-check-as-a-test.md. Not here: advisories.

use samovar_tests::root;
use std::process::Command;

/// Licences that ask no more than a notice. New ones are a decision: add them here with the reason.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    // Apache-2.0 with a permission added.
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // The Independent JPEG Group's: a notice in the documentation. Only the image example comes to it.
    "IJG",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// A licence expression (SPDX 2.3, annex D) reduced to: is there a way to comply?
struct Expression<'a> {
    words: Vec<&'a str>,
    at: usize,
    allowed: &'a [&'a str],
}

impl<'a> Expression<'a> {
    fn permits(text: &'a str, allowed: &'a [&'a str]) -> Result<bool, String> {
        // Old manifests wrote "MIT/Apache-2.0" for OR.
        let mut words = Vec::new();
        for word in text.split_whitespace() {
            let mut rest = word;
            while let Some(at) = rest.find(['(', ')', '/']) {
                words.extend([&rest[..at], &rest[at..=at]].into_iter().filter(|w| !w.is_empty()));
                rest = &rest[at + 1..];
            }
            words.extend(Some(rest).filter(|w| !w.is_empty()));
        }
        let mut expression = Expression { words, at: 0, allowed };
        let answer = expression.any_of()?;
        match expression.peek() {
            None => Ok(answer),
            Some(word) => Err(format!("cannot read {text:?} from {word:?} on")),
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, wanted: &[&str]) -> bool {
        let found = self.peek().is_some_and(|w| wanted.contains(&w));
        self.at += usize::from(found);
        found
    }

    fn any_of(&mut self) -> Result<bool, String> {
        let mut answer = self.all_of()?;
        while self.take(&["OR", "/"]) {
            answer |= self.all_of()?;
        }
        Ok(answer)
    }

    fn all_of(&mut self) -> Result<bool, String> {
        let mut answer = self.one()?;
        while self.take(&["AND"]) {
            answer &= self.one()?;
        }
        Ok(answer)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take(&["("]) {
            let answer = self.any_of()?;
            return if self.take(&[")"]) { Ok(answer) } else { Err("a bracket is open".into()) };
        }
        let mut name = self.peek().ok_or("the expression ends early")?.to_string();
        self.at += 1;
        if self.take(&["WITH"]) {
            name = format!("{name} WITH {}", self.peek().ok_or("the exception is missing")?);
            self.at += 1;
        }
        Ok(self.allowed.contains(&name.as_str()))
    }
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
    let table = [
        ("MIT", Ok(true)),
        ("GPL-3.0", Ok(false)),
        ("MIT/GPL-3.0", Ok(true)),
        ("GPL-3.0 OR MIT", Ok(true)),
        ("MIT AND GPL-3.0", Ok(false)),
        ("MIT AND (GPL-3.0 OR ISC)", Ok(true)),
        ("(MIT OR GPL-3.0) AND LGPL-2.1", Ok(false)),
        // AND binds more tightly than OR.
        ("MIT OR GPL-3.0 AND LGPL-2.1", Ok(true)),
        ("Apache-2.0 WITH LLVM-exception", Ok(true)),
        ("Apache-2.0", Ok(false)),
        ("MIT WITH something", Ok(false)),
    ];
    for (text, wanted) in table {
        assert_eq!(Expression::permits(text, &allowed), wanted, "{text}");
    }
    for broken in ["", "(MIT", "MIT OR", "MIT MIT", "MIT WITH"] {
        assert!(Expression::permits(broken, &allowed).is_err(), "{broken:?}");
    }
}

#[test]
fn every_dependency_is_under_an_allowed_licence() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let used: Vec<&str> =
        metadata["resolve"]["nodes"].as_array().unwrap().iter().filter_map(|n| n["id"].as_str()).collect();
    let mut trouble = Vec::new();
    let mut checked = 0;
    for package in packages.iter().filter(|p| used.contains(&p["id"].as_str().unwrap_or(""))) {
        let name = format!("{} {}", package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        checked += 1;
        match package["license"].as_str().map(|text| (text, Expression::permits(text, &ALLOWED))) {
            Some((_, Ok(true))) => {}
            Some((text, Ok(false))) => trouble.push(format!("{name} is under {text}")),
            Some((text, Err(why))) => trouble.push(format!("{name}: {text:?}: {why}")),
            None => trouble.push(format!("{name} names no licence")),
        }
    }
    assert!(checked > 40, "only {checked} packages were checked");
    assert!(trouble.is_empty(), "\n{}\nallowed: {}", trouble.join("\n"), ALLOWED.join(", "));
}

/// What is built here, without asking the network: by the lock file, for this machine's platform.
fn metadata() -> serde_json::Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let rustc = Command::new("rustc").arg("-vV").current_dir(root()).output().unwrap();
    let about = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let host = about.lines().find_map(|l| l.strip_prefix("host: ")).expect("rustc -vV names no host");
    let arguments = ["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", host];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata failed; `cargo fetch --locked` may help\n{words}");
    serde_json::from_slice(&output.stdout).unwrap()
}
