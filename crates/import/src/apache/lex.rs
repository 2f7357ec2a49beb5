//! httpd's grammar: directives on lines, sections in angle brackets, a backslash at the end of a line to go on.
//!
//! The result is a tree with places. What `Include` names is read in its place. Not here: what a directive means.

use crate::include::{self, Ask, File, Includes};
use crate::note::{Place, Refused, quotable};
use crate::tree::Directive;
use std::sync::Arc;

/// A line with its continuations is no longer than that.
const LINE_MAX_BYTES: usize = 64 * 1024;
/// Sections inside each other.
const DEPTH_MAX: usize = 24;
/// Directives with those of all included files.
const DIRECTIVES_MAX: usize = 20_000;

/// What is read so far besides the tree.
struct Reader<'i, 'r> {
    includes: &'i mut Includes<'r>,
    root: Option<String>,
    defines: Vec<(String, String)>,
    count: usize,
}

/// An open section.
struct Open {
    directive: Directive,
    inner: Vec<Directive>,
}

/// The tree of a file and all it includes.
pub(crate) fn read(file: &File, includes: &mut Includes<'_>) -> Result<Vec<Directive>, Refused> {
    let mut reader = Reader { includes, root: None, defines: Vec::new(), count: 0 };
    reader.file(file, None)
}

impl Reader<'_, '_> {
    fn file(&mut self, file: &File, from: Option<&Place>) -> Result<Vec<Directive>, Refused> {
        let name = self.includes.open(file, from)?;
        let text = include::text(file)?;
        let all = self.lines(&name, &text)?;
        self.includes.close();
        Ok(all)
    }

    fn lines(&mut self, name: &Arc<str>, text: &str) -> Result<Vec<Directive>, Refused> {
        let mut top: Vec<Directive> = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        let mut lines = (1u32..).zip(text.lines());
        while let Some((number, first)) = lines.next() {
            let indent = first.len() - first.trim_start().len();
            let column = u32::try_from(first.get(..indent).map_or(0, |s| s.chars().count()) + 1).unwrap_or(1);
            let place = Place { file: Arc::clone(name), line: number, column };
            let mut line = first.trim().to_owned();
            // A comment goes on over a backslash too.
            while let Some(part) = line.strip_suffix('\\') {
                let part = part.to_owned();
                let Some((_, next)) = lines.next() else {
                    line = part;
                    break;
                };
                line = format!("{part}{}", next.trim_end());
                if line.len() > LINE_MAX_BYTES {
                    break;
                }
            }
            if line.len() > LINE_MAX_BYTES {
                return Err(refused(
                    &place,
                    "the line is longer than 64 KiB",
                    "no directive is: is this the right file?",
                ));
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            self.count += 1;
            if self.count > DIRECTIVES_MAX {
                return Err(refused(
                    &place,
                    "more than 20000 directives",
                    "import the parts of it that matter",
                ));
            }
            if let Some(closing) = line.strip_prefix("</") {
                let wanted = closing.trim_end_matches('>').trim();
                let Some(section) = open.pop() else {
                    let what = format!("</{}> closes nothing", quotable(wanted));
                    return Err(refused(
                        &place,
                        &what,
                        "take it out, or write the line that opens the section",
                    ));
                };
                if !section.directive.is(wanted) {
                    let opened = &section.directive;
                    let what = format!(
                        "</{}> stands where <{}> of line {} is open",
                        quotable(wanted),
                        quotable(&opened.name),
                        opened.place.line
                    );
                    return Err(refused(&place, &what, "close the inner section first"));
                }
                let Open { mut directive, inner } = section;
                directive.inner = Some(inner);
                open.last_mut().map_or(&mut top, |o| &mut o.inner).push(directive);
                continue;
            }
            let section =
                line.strip_prefix('<').map(|rest| rest.strip_suffix('>').unwrap_or(rest).to_owned());
            let words = self.words(section.as_deref().unwrap_or(&line), &place)?;
            let Some((first, args)) = words.split_first() else { continue };
            let directive =
                Directive { name: first.clone(), args: args.to_vec(), place: place.clone(), inner: None };
            if section.is_some() {
                if open.len() >= DEPTH_MAX {
                    return Err(refused(
                        &place,
                        "sections stand in each other 24 deep",
                        "no configuration does that",
                    ));
                }
                open.push(Open { directive, inner: Vec::new() });
                continue;
            }
            let list = open.last_mut().map_or(&mut top, |o| &mut o.inner);
            if let Some(included) = self.special(&directive)? {
                list.extend(included);
            } else if directive.name.contains('=') && joins(list.last()) {
                // Copied from a page that broke its lines: `loadfactor=50` is no directive.
                if let Some(before) = list.last_mut() {
                    before.args.push(directive.name);
                    before.args.extend(directive.args);
                }
            } else if quotable(&directive.name) == directive.name {
                list.push(directive);
            } else {
                let hint = "is this a configuration of httpd? take the include out if it is not";
                return Err(refused(&place, "no directive has such a name", hint));
            }
        }
        match open.pop() {
            None => Ok(top),
            Some(Open { directive, .. }) => {
                let what = format!("<{}> is never closed", quotable(&directive.name));
                Err(refused(&directive.place, &what, "the file seems to be cut off: close the section"))
            }
        }
    }

    /// Directives that are about reading itself.
    fn special(&mut self, directive: &Directive) -> Result<Option<Vec<Directive>>, Refused> {
        if directive.is("ServerRoot") {
            self.root = Some(directive.arg(0).to_owned());
        }
        if directive.is("Define") && self.defines.len() < 1000 {
            self.defines.push((directive.arg(0).to_owned(), directive.arg(1).to_owned()));
        }
        let optional = directive.is("IncludeOptional");
        if !(optional || directive.is("Include")) {
            return Ok(None);
        }
        let mut pattern = directive.arg(0).replace('\\', "/");
        // A folder means all in it.
        if pattern.ends_with('/') {
            pattern.push('*');
        }
        // httpd takes a pattern that finds nothing for an error only without wildcards.
        let optional = optional || pattern.contains(['*', '?', '[']);
        let root = self.root.clone();
        let ask = Ask { pattern: &pattern, root: root.as_deref(), optional };
        let (mut all, mut found) = (Vec::new(), false);
        for file in self.includes.ask(&ask, &directive.place)? {
            all.extend(self.file(&file, Some(&directive.place))?);
            found = true;
        }
        // Kept, to be told of: what is not there cannot be brought along.
        Ok(Some(if found { all } else { vec![directive.clone()] }))
    }

    /// Words of a line: parted by blanks, held together by quotes; `${NAME}` of an earlier `Define` put in.
    fn words(&self, line: &str, place: &Place) -> Result<Vec<String>, Refused> {
        let mut words = Vec::new();
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next_if(|_| true) {
            if c.is_whitespace() {
                continue;
            }
            let mut word = String::new();
            if c == '"' || c == '\'' {
                let mut closed = false;
                while let Some(next) = chars.next() {
                    match next {
                        '\\' if chars.peek().is_some_and(|after| *after == c || *after == '\\')
                            && c == '"' =>
                        {
                            // `C:\\x` and `\"`; a single backslash stands for itself.
                            word.extend(chars.next());
                        }
                        next if next == c => {
                            closed = true;
                            break;
                        }
                        next => word.push(next),
                    }
                }
                if !closed {
                    return Err(refused(
                        place,
                        "a quote is opened and never closed",
                        "close it on the same line",
                    ));
                }
            } else {
                word.push(c);
                while let Some(next) = chars.next_if(|next| !next.is_whitespace()) {
                    word.push(next);
                }
            }
            words.push(self.defined(word));
        }
        Ok(words)
    }

    fn defined(&self, mut word: String) -> String {
        for (name, value) in &self.defines {
            let variable = format!("${{{name}}}");
            // One pass: a value that names itself must not grow.
            if word.contains(&variable) && word.len() + value.len() < LINE_MAX_BYTES / 8 {
                word = word.replace(&variable, value);
                word.truncate(word.floor_char_boundary(LINE_MAX_BYTES));
            }
        }
        word
    }
}

/// Whether a line of `name=value` can only belong to the one before.
fn joins(before: Option<&Directive>) -> bool {
    before.is_some_and(|d| ["BalancerMember", "ProxySet", "ProxyPass"].iter().any(|name| d.is(name)))
}

fn refused(place: &Place, what: &str, hint: &str) -> Refused {
    Refused { place: place.clone(), what: what.to_owned(), hint: hint.to_owned() }
}
