//! What a format could not say, gathered while it is written, told once each with whom it concerns.
//!
//! Not here: what a format can say.

/// So many are named; the others are counted.
const NAMED_MAX: usize = 3;

/// What was lost.
#[derive(Debug, Default)]
pub(super) struct Lost {
    said: Vec<What>,
}

#[derive(Debug)]
struct What {
    what: String,
    whose: Vec<String>,
    more: usize,
}

impl Lost {
    /// Something that concerns the whole.
    pub fn all(&mut self, what: impl Into<String>) {
        self.of(what, "");
    }

    /// Something that `whose` lost.
    pub fn of(&mut self, what: impl Into<String>, whose: &str) {
        let what = what.into();
        let at = match self.said.iter().position(|said| said.what == what) {
            Some(at) => at,
            None => {
                self.said.push(What { what, whose: Vec::new(), more: 0 });
                self.said.len() - 1
            }
        };
        let Some(said) = self.said.get_mut(at) else { return };
        if whose.is_empty() || said.whose.iter().any(|known| known == whose) {
            return;
        }
        match said.whose.len() < NAMED_MAX {
            true => said.whose.push(whose.to_owned()),
            false => said.more += 1,
        }
    }

    /// A line for each.
    pub fn lines(self) -> Vec<String> {
        self.said.into_iter().map(What::line).collect()
    }
}

impl What {
    fn line(self) -> String {
        if self.whose.is_empty() {
            return self.what;
        }
        let names: Vec<String> = self.whose.iter().map(|name| format!("`{}`", cut(name))).collect();
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        format!("{}: {}{more}", self.what, names.join(", "))
    }
}

/// As much of a name as belongs into a message.
pub(super) fn cut(text: &str) -> String {
    let mut cut: String =
        text.chars().take(60).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once() {
        let mut lost = Lost::default();
        lost.all("the servers");
        for whose in ["a", "b", "a", "c", "d\n", "e"] {
            lost.of("pauses", whose);
        }
        lost.all("the servers");
        assert_eq!(lost.lines(), ["the servers", "pauses: `a`, `b`, `c` and 2 more"]);
    }
}
