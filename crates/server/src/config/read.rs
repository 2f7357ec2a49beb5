//! From bytes to a TOML tree with places: encoding, size and syntax, each mistake named.
//!
//! Not here: which keys there are (`keys/`), reading the file itself (`mod.rs`).

use super::diag::{Code, Diagnostic};
use super::render::Report;
use toml::de::DeTable;

/// A configuration is text that people write; more than this is a mistaken file.
pub const FILE_MAX_BYTES: usize = 1 << 20;
/// Syntax errors shown at most: what follows the first is often its echo.
const SYNTAX_MAX: usize = 5;

/// The text of a file, without a byte order mark.
pub(crate) fn text_of(bytes: &[u8], file: &str) -> Result<String, Report> {
    let refuse = |d: Diagnostic, text: &str| Err(Report::new(file, text, vec![d]));
    if bytes.len() > FILE_MAX_BYTES {
        let message =
            format!("the file has {} bytes, a configuration has {FILE_MAX_BYTES} at most", bytes.len());
        let d = Diagnostic::error(Code::TooLarge, 0..0, message);
        return refuse(d.hint("is it the right file?"), "");
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let d = Diagnostic::error(Code::NotUtf8, 0..0, "the file is UTF-16");
        return refuse(d.hint("save it as UTF-8"), "");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned()),
        Err(e) => {
            let at = e.valid_up_to();
            let byte = bytes.get(at).copied().unwrap_or(0);
            let d = Diagnostic::error(Code::NotUtf8, 0..0, format!("byte {byte:#04x} is not UTF-8"))
                .label("this byte")
                .hint("save the file as UTF-8");
            refuse_at(d, bytes, at, file)
        }
    }
}

/// A report on a text with broken bytes, each shown as one replacement character.
fn refuse_at(mut d: Diagnostic, bytes: &[u8], at: usize, file: &str) -> Result<String, Report> {
    let good = String::from_utf8_lossy(bytes.get(..at).unwrap_or(bytes)).into_owned();
    let rest = String::from_utf8_lossy(bytes.get(at..).unwrap_or(&[])).into_owned();
    d.span = good.len()..good.len() + 1;
    Err(Report::new(file, &format!("{good}{rest}"), vec![d]))
}

/// The tree of a text, or what is wrong with its syntax.
pub(crate) fn tree_of(text: &str) -> Result<DeTable<'_>, Vec<Diagnostic>> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(tree.into_inner());
    }
    let mut errors: Vec<_> =
        errors.iter().map(|e| (e.span().unwrap_or(0..0).start.min(text.len()), e)).collect();
    errors.sort_by_key(|(at, _)| *at);
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut line_end = 0;
    for (at, error) in errors {
        // One per line: the second on a line is nearly always the first one's echo.
        if found.is_empty() || at > line_end {
            found.push(explain(error, text));
            line_end =
                text.as_bytes().iter().skip(at).position(|b| *b == b'\n').map_or(text.len(), |n| at + n);
        }
        if found.len() == SYNTAX_MAX {
            break;
        }
    }
    Err(found)
}

fn explain(error: &toml::de::Error, text: &str) -> Diagnostic {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    if message == "duplicate key" {
        let name = text.get(span.clone()).unwrap_or("");
        return Diagnostic::error(
            Code::Duplicate,
            span,
            format!("`{name}` is given twice in the same table"),
        )
        .hint("keep one; what can be given several times is written `[[…]]`");
    }
    if message.starts_with("cannot recurse further") {
        return Diagnostic::error(Code::Syntax, span, "lists and tables are nested too deeply")
            .hint("no key of this configuration needs more than four levels");
    }
    let hint = if message.contains("string values must be quoted") {
        Some("put texts, durations and sizes in quotes: `for = \"10s\"`".to_owned())
    } else if message.contains("carriage return") {
        Some("end lines with a line feed, or with carriage return and line feed".to_owned())
    } else if message.contains("key with no value") {
        Some("write `key = value`".to_owned())
    } else if message.contains("unclosed") || message.contains("missing comma") {
        Some("is a bracket, a brace or a comma missing here or above?".to_owned())
    } else {
        None
    };
    Diagnostic::error(Code::Syntax, span, message.to_owned()).maybe_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bytes: &[u8]) -> String {
        text_of(bytes, "s.toml").unwrap_err().render(false)
    }

    #[test]
    fn encodings() {
        assert_eq!(text_of(b"\xef\xbb\xbfa = 1\r\n", "s").unwrap(), "a = 1\r\n");
        assert!(said(b"\xff\xfea\0").contains("UTF-16"));
        let latin1 = said(b"config = 1\nname = \"Caf\xe9\"\n");
        assert!(latin1.contains("s.toml:2:12") && latin1.contains("0xe9"), "{latin1}");
        assert!(said(&vec![b'#'; FILE_MAX_BYTES + 1]).contains("1048577 bytes"));
        assert!(text_of(&vec![b'#'; FILE_MAX_BYTES], "s").is_ok());
    }

    #[test]
    fn syntax_errors_are_named_once_a_line() {
        let found = tree_of("a = hello\nb = 1\nc = [1,\n").unwrap_err();
        assert_eq!(found.first().map(|d| d.span.start), Some(4));
        assert!(found.len() >= 2, "several at once: {found:?}");
        assert!(found.len() <= SYNTAX_MAX);
        let echoes = tree_of("a = 1\nb\rc=1").unwrap_err();
        assert_eq!(echoes.len(), 1, "{echoes:?}");
        let twice = tree_of("[a]\nx = 1\nx = 2\n").unwrap_err();
        assert_eq!(twice[0].code, Code::Duplicate);
        assert!(twice[0].message.contains("`x`"));
    }

    #[test]
    fn depth_cannot_overflow_the_stack() {
        let many = 100_000;
        let texts = [
            format!("a = {}", "[".repeat(many)),
            format!("a = {}", "{a=".repeat(many)),
            format!("[{}a]", "a.".repeat(many)),
            format!("{}a = 1", "a.".repeat(many)),
            format!("a = {{{}a = 1}}", "a.".repeat(many)),
            format!("[[{}a]]\n", "a.".repeat(many)),
            "[[a]]\n".repeat(many),
            "=\n".repeat(many),
        ];
        for text in texts {
            if let Err(found) = tree_of(&text) {
                assert!((1..=SYNTAX_MAX).contains(&found.len()));
            }
        }
    }
}
