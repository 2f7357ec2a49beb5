//! Spellings of paths under which an origin may find a file that a rule keeps to some: generated, not collected.
//!
//! A spelling is a folder, some steps, a last slash and a name; each step is a slash and what follows it. Every part comes
//! from an alphabet of what origins are known to read in different ways, and all combinations are made. Not here: what an
//! origin makes of them. `crates/rules/tests/guards` takes this file in, as it links nothing.

/// What spellings are made of.
#[derive(Clone, Copy, Debug)]
pub struct Alphabet {
    /// What a path begins with, after its first slash.
    pub folders: &'static [&'static str],
    /// Slashes, and what stands for one.
    pub slashes: &'static [&'static str],
    /// What stands between two slashes.
    pub steps: &'static [&'static str],
    /// What a path ends in.
    pub names: &'static [&'static str],
    /// At most so many steps.
    pub steps_max: usize,
}

/// A few thousand, in which each kind of oddity meets each other.
pub const SHORT: Alphabet = Alphabet {
    folders: &["staff", "public", "api", "members", "/public", "Staff", "staff;v=1"],
    slashes: &["/", "%2F", ";/"],
    steps: &["..", "..;", "..%5C..", "staff", "."],
    names: &["secret.txt", "secret.txt;v"],
    steps_max: 2,
};

/// All kinds that are known, more than a million.
pub const WHOLE: Alphabet = Alphabet {
    folders: &[
        "staff",
        "public",
        "api",
        "members",
        "Staff",
        "st%61ff",
        "st%2561ff",
        "staff.",
        "staff;v=1",
        "",
    ],
    slashes: &["/", "%2F", "\\", "%5C", "//", ";/", "%252F", "%3B/"],
    steps: &["..", "..;", "..%5C..", "staff", ".", "%2e%2e", "%252e.", "..%20"],
    names: &["secret.txt", "secret.txt;v", "SECRET.txt", "secret.txt%3Fx", "secret.txt."],
    steps_max: 2,
};

/// What was found to walk around a guard, each of which the alphabets make.
pub const FOUND: [&str; 5] = [
    "/staff%2F..;%2F../secret.txt",
    "/staff%2F..%5C..%2F..%2Fsecret.txt",
    "/public/..%2Fstaff/secret.txt",
    "/api/..%2Fstaff/secret.txt",
    "/members/..%2Fstaff/secret.txt",
];

/// Every spelling of an alphabet, the shortest first.
pub fn spellings(alphabet: &Alphabet) -> impl Iterator<Item = String> {
    let Alphabet { folders, slashes, steps, names, steps_max } = *alphabet;
    let mut middles = vec![String::new()];
    let mut last = middles.clone();
    for _ in 0..steps_max {
        let longer = |middle: &String| -> Vec<String> {
            let step =
                |slash: &&str| steps.iter().map(|step| format!("{middle}{slash}{step}")).collect::<Vec<_>>();
            slashes.iter().flat_map(step).collect()
        };
        last = last.iter().flat_map(longer).collect();
        middles.extend(last.iter().cloned());
    }
    let ends: Vec<String> =
        slashes.iter().flat_map(|slash| names.iter().map(move |name| format!("{slash}{name}"))).collect();
    middles.into_iter().flat_map(move |middle| {
        let ends = ends.clone();
        folders.iter().flat_map(move |folder| {
            let middle = middle.clone();
            ends.clone().into_iter().map(move |end| format!("/{folder}{middle}{end}"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_among_them() {
        for found in FOUND {
            assert!(spellings(&SHORT).any(|spelling| spelling == found), "{found} is not in the short grid");
            assert!(spellings(&WHOLE).any(|spelling| spelling == found), "{found} is not in the whole grid");
        }
    }
}
