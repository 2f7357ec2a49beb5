//! Which series a person means: `NAME`, `NAME{label="x"}`, `samovar_*`, and `sum(…)` of any of these.
//!
//! Not here: what becomes of the series that match ([`super::select`]).

use std::fmt;
use std::str::FromStr;

use super::prometheus::Sample;

/// A name, in which `*` stands for any text and `?` for one character, and what labels must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    name: String,
    labels: Vec<Label>,
}

/// What one label must, or must not, say.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Label {
    name: String,
    value: String,
    equal: bool,
}

impl Pattern {
    /// Whether it means this sample. Labels it does not name may say anything; one that is not there is empty.
    pub fn matches(&self, sample: &Sample<'_>) -> bool {
        self.means(sample.name)
            && self.labels.iter().all(|label| (sample.label(&label.name) == label.value) == label.equal)
    }

    /// Whether it means metrics of this name.
    pub fn means(&self, name: &str) -> bool {
        if self.is_open() { glob(self.name.as_bytes(), name.as_bytes()) } else { self.name == name }
    }

    /// Whether it means metrics of several names.
    pub fn is_open(&self) -> bool {
        self.name.contains(['*', '?'])
    }

    /// The name in it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.labels.is_empty() {
            return Ok(());
        }
        let labels: Vec<String> = self.labels.iter().map(Label::to_string).collect();
        write!(f, "{{{}}}", labels.join(","))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        write!(f, "{}{}\"{value}\"", self.name, if self.equal { "=" } else { "!=" })
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Pattern, String> {
        let text = text.trim();
        let wrong = |why: &str| {
            format!("`{text}`: {why}; a counter is NAME, NAME{{label=\"value\"}} or a pattern like samovar_*")
        };
        let (name, rest) = text.find('{').map_or((text, ""), |at| text.split_at(at));
        let name = name.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || "_:*?".contains(c);
        if name.is_empty() && rest.is_empty() {
            return Err(wrong("it is empty"));
        }
        if let Some(c) = name.chars().find(|c| !fits(*c)) {
            return Err(wrong(&format!("names of metrics have no `{c}`")));
        }
        let labels = labels(rest).map_err(|why| wrong(&why))?;
        // `{job="x"}` means series of any name.
        let name = if name.is_empty() { "*" } else { name };
        Ok(Pattern { name: name.to_owned(), labels })
    }
}

/// `{a="b", c!="d"}`, or nothing. Quotes may be missing: shells take them away.
fn labels(text: &str) -> Result<Vec<Label>, String> {
    let mut labels = Vec::new();
    let Some(mut rest) = text.strip_prefix('{').map(str::trim_start) else { return Ok(labels) };
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return if after.trim().is_empty() {
                Ok(labels)
            } else {
                Err(format!("`{}` stands after }}", after.trim()))
            };
        }
        let at = rest.find(['=', '!', '}']).ok_or("its { is not closed")?;
        let (name, after) = rest.split_at(at);
        let name = name.trim();
        if name.is_empty() || name.contains([',', '"', '{']) {
            return Err(format!("`{name}` is not the name of a label"));
        }
        if ["=~", "!~"].iter().any(|sign| after.starts_with(sign)) {
            return Err("regular expressions are not there: name the series one by one".to_owned());
        }
        let (equal, after) = match (after.strip_prefix("!="), after.strip_prefix('=')) {
            (Some(after), _) => (false, after),
            (_, Some(after)) => (true, after),
            _ => return Err(format!("the label {name} has no =")),
        };
        let (value, after) = value(after.trim_start())?;
        labels.push(Label { name: name.to_owned(), value, equal });
        rest = after.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
        } else if !rest.starts_with('}') {
            return Err(format!("after the label {name} comes neither , nor }}"));
        }
    }
}

fn value(text: &str) -> Result<(String, &str), String> {
    let Some(inner) = text.strip_prefix('"') else {
        let end = text.find([',', '}']).ok_or("its { is not closed")?;
        let (value, after) = text.split_at(end);
        return Ok((value.trim_end().to_owned(), after));
    };
    let mut value = String::new();
    let mut chars = inner.chars();
    loop {
        match chars.next().ok_or("a quote is not closed")? {
            '"' => return Ok((value, chars.as_str())),
            '\\' => match chars.next().ok_or("a quote is not closed")? {
                'n' => value.push('\n'),
                c => value.push(c),
            },
            c => value.push(c),
        }
    }
}

/// Whether the text is of the shape. Steps back to the last star only, so that it takes no more than the product of
/// both lengths.
fn glob(shape: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(byte) = text.get(read) {
        match shape.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(wanted) if *wanted == b'?' || wanted == byte => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((open, from)) => {
                    star = Some((open, from + 1));
                    at = open + 1;
                    read = from + 1;
                }
                None => return false,
            },
        }
    }
    shape.get(at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::prometheus::parse;
    use proptest::prelude::*;

    fn means(pattern: &str, series: &str) -> bool {
        let text = format!("{series} 1");
        pattern.parse::<Pattern>().unwrap().matches(&parse(&text).unwrap().samples[0])
    }

    #[test]
    fn what_matches_what() {
        for (pattern, series, wanted) in [
            ("up", "up", true),
            ("up", "up{job=\"a\"}", true),
            ("up", "ups", false),
            ("u*", "up", true),
            ("u*", "u", true),
            ("*_total", "a_b_total", true),
            ("*_total", "a_b_totals", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*ab", "aab", true),
            ("up{job=\"a\"}", "up{job=\"a\",x=\"y\"}", true),
            ("up{job=a}", "up{job=\"a\"}", true),
            ("up{ job = a , x = \"y\" }", "up{job=\"a\",x=\"y\"}", true),
            ("up{job=\"a\"}", "up{job=\"b\"}", false),
            ("up{job=\"a\"}", "up", false),
            ("up{job=\"\"}", "up", true),
            ("up{job!=\"a\"}", "up", true),
            ("up{job!=\"a\"}", "up{job=\"a\"}", false),
            ("up{}", "up{job=\"a\"}", true),
            ("{job=\"a\"}", "anything{job=\"a\"}", true),
            (r#"up{job="a\"b\\c\nd"}"#, r#"up{job="a\"b\\c\nd"}"#, true),
            ("up{job=\"a*\"}", "up{job=\"ab\"}", false),
        ] {
            assert_eq!(means(pattern, series), wanted, "{pattern} of {series}");
        }
    }

    #[test]
    fn what_is_no_pattern_says_so() {
        for (text, word) in [
            ("", "empty"),
            ("a-b", "`-`"),
            ("a b", "` `"),
            ("a{", "closed"),
            ("a{b=", "closed"),
            ("a{b=\"c", "quote"),
            ("a{b}", "no ="),
            ("a{b!x}", "no ="),
            ("a{=\"b\"}", "name of a label"),
            ("a{b=~\"c.*\"}", "regular expressions"),
            ("a{b!~\"c.*\"}", "regular expressions"),
            ("a{b=\"c\"}d", "after }"),
            ("a{b=\"c\" d=\"e\"}", "neither"),
        ] {
            let why = text.parse::<Pattern>().unwrap_err();
            assert!(why.contains(word) && why.contains("samovar_*"), "{text}: {why}");
        }
    }

    /// The same by trying every split.
    fn slow(shape: &str, text: &str) -> bool {
        match shape.chars().next() {
            None => text.is_empty(),
            Some('*') => (0..=text.len()).any(|at| slow(&shape[1..], &text[at..])),
            Some(c) => {
                text.chars().next().is_some_and(|t| c == '?' || c == t) && slow(&shape[1..], &text[1..])
            }
        }
    }

    proptest! {
        #[test]
        fn globs_match_what_every_split_would(shape in "[ab*?]{0,8}", text in "[ab]{0,10}") {
            prop_assert_eq!(glob(shape.as_bytes(), text.as_bytes()), slow(&shape, &text));
        }

        #[test]
        fn patterns_are_shown_as_they_are_read(text in "\\PC{0,20}|[a-c]{1,3}\\{[a-c]!?=\"\\PC{0,5}\"\\}") {
            if let Ok(pattern) = text.parse::<Pattern>() {
                prop_assert_eq!(pattern.to_string().parse::<Pattern>(), Ok(pattern));
            }
        }
    }
}
