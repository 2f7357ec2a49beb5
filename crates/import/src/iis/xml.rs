//! The XML of IIS: parsed with its places; document types and entities refused.
//!
//! Not here: what any element means.

use crate::include::{self, File};
use crate::note::{Place, Refused};
use roxmltree::{Document, Error, Node, ParsingOptions, TextPos};
use std::sync::Arc;

/// Elements and texts; no configuration has more, and the tree of more would fill the memory.
const NODES_MAX: u32 = 300_000;

/// A document with its name.
pub(crate) struct Xml<'t> {
    pub(crate) document: Document<'t>,
    name: Arc<str>,
}

/// The text of the file. A tag of `<?xml encoding="utf-16"?>` in a file that was brought to UTF-8 says nothing.
pub(crate) fn text(file: &File) -> Result<String, Refused> {
    include::text(file)
}

pub(crate) fn parse<'t>(file: &File, text: &'t str) -> Result<Xml<'t>, Refused> {
    let name: Arc<str> = file.name.as_str().into();
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        // The error of a document type says no place.
        let at = if matches!(error, Error::DtdDetected) { place_of(text, "<!DOCTYPE") } else { error.pos() };
        let (what, hint) = match error {
            Error::DtdDetected => (
                "the file declares a document type, which can hold entities that grow without end".to_owned(),
                "take the <!DOCTYPE …> out: no configuration of IIS needs one",
            ),
            Error::NodesLimitReached => {
                (format!("the file has more than {NODES_MAX} elements"), "import the parts of it that matter")
            }
            // Its own words end in the place, which stands in front already.
            other => {
                let words = other.to_string();
                let bare = words.split(" at ").next().unwrap_or(&words).to_owned();
                (
                    format!("the file is not XML: {}", crate::note::shown(&bare)),
                    "mend it, or name the right file",
                )
            }
        };
        Refused { place: place(&name, at), what, hint: hint.to_owned() }
    })?;
    Ok(Xml { document, name })
}

fn place_of(text: &str, word: &str) -> TextPos {
    let at = text.to_ascii_uppercase().find(word).unwrap_or(0);
    let before = text.get(..at).unwrap_or_default();
    let row = 1 + before.matches('\n').count();
    let col = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    TextPos::new(number(row), number(col))
}

fn place(name: &Arc<str>, at: TextPos) -> Place {
    Place { file: Arc::clone(name), line: at.row, column: at.col }
}

impl Xml<'_> {
    /// Where a node begins.
    pub(crate) fn place(&self, node: Node<'_, '_>) -> Place {
        place(&self.name, self.document.text_pos_at(node.range().start))
    }

    /// The start tag as written, in its section: `caching: <add extension=".jpg" …>`.
    pub(crate) fn tag(&self, node: Node<'_, '_>) -> String {
        let whole = self.document.input_text().get(node.range()).unwrap_or_default();
        let tag = whole.split_inclusive('>').next().unwrap_or(whole).replace("/>", ">");
        match node.parent_element().map(|p| p.tag_name().name()) {
            Some(parent) if matches!(node.tag_name().name(), "add" | "remove" | "clear") => {
                format!("{parent}: {tag}")
            }
            _ => tag,
        }
    }
}

/// Elements directly below.
pub(crate) fn children<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// The first element of a name directly below.
pub(crate) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    children(node).find(|n| n.tag_name().name() == name)
}

/// A switch: `true` or `false`.
pub(crate) fn switch(node: Node<'_, '_>, name: &str) -> Option<bool> {
    match node.attribute(name)?.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// A number.
pub(crate) fn number(node: Node<'_, '_>, name: &str) -> Option<u64> {
    node.attribute(name)?.trim().parse().ok()
}
