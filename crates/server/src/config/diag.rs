//! What the configuration has to say: errors and warnings as values, with the bytes they mean.
//!
//! Every message carries a stable code, the place, and where there is one a hint that says what to type
//! instead. Not here: how it is drawn (`render.rs`), and what is right or wrong (`tree.rs`, `lower/`).

use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The configuration is refused as a whole.
    Error,
    /// It is taken, and somebody should look.
    Warning,
}

macro_rules! codes {
    ($($name:ident = $code:literal, $text:literal;)+) => {
        /// The closed list of what can be said about a configuration.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = $text] $name,)+ }

        impl Code {
            /// Every code, in the order of declaration.
            pub const ALL: &'static [Code] = &[$(Code::$name,)+];

            /// The stable code: `unknown-key`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $code,)+ }
            }

            /// One sentence, without a full stop.
            pub fn text(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }
        }
    };
}

codes! {
    Unreadable = "unreadable", "the file cannot be read";
    TooLarge = "too-large", "the file is larger than a configuration can be";
    NotUtf8 = "not-utf8", "the file is not UTF-8 text";
    Syntax = "syntax", "the file is not TOML";
    Version = "version", "`config` is missing or names a version that this Samovar does not read";
    UnknownKey = "unknown-key", "no such key in this table";
    WrongType = "wrong-type", "the value has another type than the key wants";
    BadValue = "bad-value", "the value cannot be understood or is out of its bounds";
    UnknownWord = "unknown-word", "the word is not one of those the key knows";
    MissingKey = "missing-key", "a key that is needed is missing";
    Duplicate = "duplicate", "the same name, host or value is given twice";
    UnknownUpstream = "unknown-upstream", "the upstream is not declared";
    Contradiction = "contradiction", "two settings cannot hold at once";
    NoSite = "no-site", "there is nothing to serve";
    Unmet = "unmet", "a setting needs another one that is missing";
    NoEffect = "no-effect", "the setting changes nothing here";
    HiddenRule = "hidden-rule", "the rule can never be chosen: an earlier one takes all its requests";
    Override = "override", "the rule stores against HTTP's word";
    Privacy = "privacy", "visitors may be shown what was meant for another";
    ManyVariants = "many-variants", "nearly every visitor gets a variant of its own";
    Exposure = "exposure", "more is shown or believed than is wise";
    MissingFile = "missing-file", "a folder or file that is named does not exist";
    DearHash = "dear-hash", "a password's hash takes long to check";
    Unused = "unused", "nothing refers to it";
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Its stable code.
    pub code: Code,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// The bytes that are meant, in the text as it was parsed.
    pub span: Range<usize>,
    /// What stands under the underlined bytes.
    pub label: String,
    /// Other places that belong to it, each with a label.
    pub also: Vec<(Range<usize>, String)>,
    /// What to do.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error at these bytes.
    pub fn error(code: Code, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            label: "here".to_owned(),
            also: Vec::new(),
            hint: None,
        }
    }

    /// A warning at these bytes.
    pub fn warning(code: Code, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// With a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// With a hint if there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Diagnostic {
        self.hint = hint;
        self
    }

    /// With another label than "here".
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// With a second place.
    #[must_use]
    pub fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Diagnostic {
        self.also.push((span, label.into()));
        self
    }
}

/// Where messages are collected while a configuration is read.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// All of them, in the order they were found.
    pub all: Vec<Diagnostic>,
}

impl Notes {
    /// Adds one.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.all.push(diagnostic);
    }

    /// True if anything forbids using the configuration.
    pub(crate) fn has_errors(&self) -> bool {
        self.all.iter().any(|d| d.severity == Severity::Error)
    }
}
