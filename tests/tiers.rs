//! The same scripts with another hot tier: `SAMOVAR_TEST_HOT=eager` makes every answer hot as early as can be, `off` none.
//!
//! What a script expects must hold either way, so the scripts themselves prove that the tiers answer alike;
//! `scripts/test-more.sh` runs them both ways. A script that has its own `[hot]` is about the tiers and keeps it. Not here:
//! which scripts are left out by name, and why (`scripts/test-more.sh`).

use std::path::Path;

/// What the hot tier is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hot {
    /// As the script says.
    AsWritten,
    /// With the first request.
    Eager,
    /// Not at all.
    Off,
}

/// What the environment asks for.
pub fn wanted() -> Hot {
    match std::env::var("SAMOVAR_TEST_HOT").as_deref() {
        Err(_) | Ok("") => Hot::AsWritten,
        Ok("eager") => Hot::Eager,
        Ok("off") => Hot::Off,
        Ok(other) => panic!("SAMOVAR_TEST_HOT={other}: eager or off"),
    }
}

/// The arguments of `serve` with the wish in the configuration, which then is a file in `folder` if it was none.
pub fn arguments(args: &[&str], folder: &Path) -> Vec<String> {
    let as_they_are: Vec<String> = args.iter().map(|a| (*a).to_string()).collect();
    let keys = match wanted() {
        Hot::AsWritten => return as_they_are,
        Hot::Eager => "\n[hot]\nthreshold = 1\n",
        Hot::Off => "\n[hot]\nenabled = false\n",
    };
    match args {
        ["--config", path, ..] => {
            let text = std::fs::read_to_string(path).unwrap();
            if !text.contains("[hot]") && !text.contains("hot = ") {
                std::fs::write(path, text + keys).unwrap();
            }
            as_they_are
        }
        ["--origin", url, more @ ..] => site(&format!("origin = {url:?}"), keys, more, folder),
        [root, "--listing", more @ ..] => {
            site(&format!("files = {root:?}\nlisting = true"), keys, more, folder)
        }
        [root, more @ ..] if !root.starts_with("--") => {
            site(&format!("files = {root:?}"), keys, more, folder)
        }
        _ => as_they_are,
    }
}

fn site(what: &str, keys: &str, more: &[&str], folder: &Path) -> Vec<String> {
    let path = folder.join("samovar.toml");
    let text = format!("config = 1\n\n[[site]]\nname = \"default\"\ndefault = true\n{what}\n{keys}");
    std::fs::write(&path, text).unwrap();
    let mut all = vec!["--config".to_string(), path.to_str().unwrap().to_string()];
    all.extend(more.iter().map(|a| (*a).to_string()));
    all
}

/// A reason as scripts expect it: which tier gave the answer is not theirs to say when it was changed under them.
pub fn reason(code: &str) -> &str {
    match wanted() {
        Hot::AsWritten => code,
        Hot::Eager | Hot::Off => code.trim_end_matches("-hot"),
    }
}
