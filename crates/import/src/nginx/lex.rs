//! nginx's grammar: words, a semicolon or a block in braces, comments; quotes hold words together.
//!
//! What `include` names is read in its place, inside the block it stands in. Not here: what a directive means.

use crate::include::{self, Ask, File, Includes};
use crate::note::{Place, Refused};
use crate::tree::Directive;
use std::sync::Arc;

/// A word is no longer than that.
const WORD_MAX_BYTES: usize = 16 * 1024;
/// Words of one directive.
const WORDS_MAX: usize = 2_000;
/// Blocks inside each other.
const DEPTH_MAX: usize = 24;
/// Directives with those of all included files.
const DIRECTIVES_MAX: usize = 20_000;

/// The tree of a file and all it includes.
pub(crate) fn read(file: &File, includes: &mut Includes<'_>) -> Result<Vec<Directive>, Refused> {
    let mut count = 0;
    of_file(file, None, includes, &mut count, 0)
}

fn of_file(
    file: &File,
    from: Option<&Place>,
    includes: &mut Includes<'_>,
    count: &mut usize,
    depth: usize,
) -> Result<Vec<Directive>, Refused> {
    let name = includes.open(file, from)?;
    let text = include::text(file)?;
    let mut reader = Reader { name, chars: text.chars().peekable(), line: 1, column: 1, includes, count };
    let all = reader.block(None, depth)?;
    reader.includes.close();
    Ok(all)
}

struct Reader<'t, 'i, 'r> {
    name: Arc<str>,
    chars: std::iter::Peekable<std::str::Chars<'t>>,
    line: u32,
    column: u32,
    includes: &'i mut Includes<'r>,
    count: &'i mut usize,
}

/// What stands next.
enum Token {
    Word(String),
    Semicolon,
    Open,
    Close,
    End,
}

impl Reader<'_, '_, '_> {
    fn place(&self) -> Place {
        Place { file: Arc::clone(&self.name), line: self.line, column: self.column }
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(c)
    }

    fn block(&mut self, opened: Option<&Directive>, depth: usize) -> Result<Vec<Directive>, Refused> {
        let mut all = Vec::new();
        loop {
            let (token, place) = self.token()?;
            let first = match token {
                Token::Word(word) => word,
                Token::Semicolon => continue,
                Token::Close if opened.is_some() => return Ok(all),
                Token::End => {
                    return match opened {
                        None => Ok(all),
                        Some(d) => Err(refused(
                            &d.place,
                            format!("the block of `{}` is never closed", crate::note::quotable(&d.name)),
                            "the file seems to be cut off: write the closing brace",
                        )),
                    };
                }
                Token::Close => return Err(refused(&place, "`}` closes nothing".into(), "take it out")),
                Token::Open => {
                    return Err(refused(
                        &place,
                        "`{` opens a block of nothing".into(),
                        "write what it is of",
                    ));
                }
            };
            *self.count += 1;
            if *self.count > DIRECTIVES_MAX {
                let what = format!("more than {DIRECTIVES_MAX} directives");
                return Err(refused(&place, what, "import the parts of it that matter"));
            }
            let mut directive = Directive { name: first, args: Vec::new(), place, inner: None };
            loop {
                let (token, place) = self.token()?;
                match token {
                    Token::Word(word) if directive.args.len() < WORDS_MAX => directive.args.push(word),
                    Token::Word(_) => {
                        return Err(refused(
                            &place,
                            format!("more than {WORDS_MAX} words"),
                            "is this the right file?",
                        ));
                    }
                    Token::Semicolon => break,
                    Token::Open => {
                        if depth >= DEPTH_MAX {
                            let what = format!("blocks stand in each other {DEPTH_MAX} deep");
                            return Err(refused(&place, what, "no configuration does that"));
                        }
                        let inner = if directive.name.ends_with("_by_lua_block") {
                            self.skip_code(&directive)?;
                            Vec::new()
                        } else {
                            self.block(Some(&directive), depth + 1)?
                        };
                        directive.inner = Some(inner);
                        break;
                    }
                    Token::Close | Token::End => {
                        let what = format!("`{}` has no semicolon", crate::note::quotable(&directive.name));
                        return Err(refused(&directive.place, what, "end it with `;`"));
                    }
                }
            }
            if directive.name == "include" && directive.inner.is_none() {
                all.extend(self.include(&directive, depth)?);
            } else {
                all.push(directive);
            }
        }
    }

    fn include(&mut self, directive: &Directive, depth: usize) -> Result<Vec<Directive>, Refused> {
        let pattern = directive.arg(0);
        // The lists that come with nginx say what Samovar knows without them, and are often not at hand.
        let last = pattern.rsplit('/').next().unwrap_or(pattern);
        if ["mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params"].contains(&last) {
            let known = Directive { args: vec![last.to_owned()], ..directive.clone() };
            return Ok(vec![known]);
        }
        let ask = Ask { pattern, root: None, optional: pattern.contains(['*', '?', '[']) };
        let (mut all, mut found) = (Vec::new(), false);
        for file in self.includes.ask(&ask, &directive.place)? {
            all.extend(of_file(&file, Some(&directive.place), self.includes, self.count, depth)?);
            found = true;
        }
        // Kept, to be told of: what is not there cannot be brought along.
        Ok(if found { all } else { vec![directive.clone()] })
    }

    /// A block of Lua, up to its closing brace.
    fn skip_code(&mut self, directive: &Directive) -> Result<(), Refused> {
        let mut open = 1;
        while let Some(c) = self.next_char() {
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Ok(());
            }
        }
        Err(refused(&directive.place, "the block of code is never closed".into(), "write the closing brace"))
    }

    fn token(&mut self) -> Result<(Token, Place), Refused> {
        loop {
            match self.chars.peek() {
                Some(c) if c.is_whitespace() => {
                    self.next_char();
                }
                Some('#') => while self.next_char().is_some_and(|c| c != '\n') {},
                _ => break,
            }
        }
        let place = self.place();
        let Some(first) = self.next_char() else { return Ok((Token::End, place)) };
        let token = match first {
            ';' => Token::Semicolon,
            '{' => Token::Open,
            '}' => Token::Close,
            '"' | '\'' => Token::Word(self.quoted(first, &place)?),
            c => Token::Word(self.word(c, &place)?),
        };
        Ok((token, place))
    }

    fn quoted(&mut self, quote: char, place: &Place) -> Result<String, Refused> {
        let mut word = String::new();
        while let Some(c) = self.next_char() {
            match c {
                c if c == quote => return Ok(word),
                '\\' => match self.next_char() {
                    Some(next) if next == quote || next == '\\' => word.push(next),
                    Some(next) => word.extend(['\\', next]),
                    None => break,
                },
                c => word.push(c),
            }
            long(&word, place)?;
        }
        Err(refused(place, "a quote is opened and never closed".into(), "close it"))
    }

    fn word(&mut self, first: char, place: &Place) -> Result<String, Refused> {
        let mut word = String::from(first);
        if first == '\\' {
            word.extend(self.next_char());
        }
        let mut variable = first == '$';
        while let Some(&c) = self.chars.peek() {
            match c {
                // `${name}` holds its braces.
                '{' if variable && word.ends_with('$') => {
                    while let Some(c) = self.next_char() {
                        word.push(c);
                        long(&word, place)?;
                        if c == '}' {
                            break;
                        }
                    }
                    continue;
                }
                ';' | '{' => break,
                c if c.is_whitespace() => break,
                '\\' => {
                    word.extend(self.next_char());
                    word.extend(self.next_char());
                }
                c => {
                    self.next_char();
                    word.push(c);
                }
            }
            variable = word.ends_with('$');
            long(&word, place)?;
        }
        Ok(word)
    }
}

fn long(word: &str, place: &Place) -> Result<(), Refused> {
    if word.len() <= WORD_MAX_BYTES {
        return Ok(());
    }
    Err(refused(
        place,
        "the word is longer than 16 KiB".into(),
        "no word of a configuration is: is this the right file?",
    ))
}

fn refused(place: &Place, what: String, hint: &str) -> Refused {
    Refused { place: place.clone(), what, hint: hint.to_owned() }
}
