//! XML, written: elements that open and close, attributes, text; whatever stands in them, it stays well-formed.
//!
//! Not here: what is written.

/// A document that grows.
#[derive(Debug)]
pub(in crate::report) struct Writer {
    out: String,
    open: Vec<&'static str>,
}

impl Writer {
    /// A document that begins.
    pub(in crate::report) fn new() -> Writer {
        Writer { out: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), open: Vec::new() }
    }

    /// Opens an element, writes what is in it, and closes it.
    pub(in crate::report) fn within(
        &mut self,
        name: &'static str,
        attributes: &[(&str, &str)],
        inside: impl FnOnce(&mut Writer),
    ) {
        self.begin(name, attributes);
        self.out.push_str(">\n");
        self.open.push(name);
        inside(self);
        self.open.pop();
        self.indent();
        self.out.push_str(&format!("</{name}>\n"));
    }

    /// An element with nothing but text in it.
    pub(in crate::report) fn leaf(&mut self, name: &'static str, attributes: &[(&str, &str)], text: &str) {
        self.begin(name, attributes);
        if text.is_empty() {
            self.out.push_str("/>\n");
        } else {
            self.out.push_str(&format!(">{}</{name}>\n", escape(text)));
        }
    }

    fn begin(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.indent();
        self.out.push_str(&format!("<{name}"));
        for (key, value) in attributes {
            self.out.push_str(&format!(" {key}=\"{}\"", escape(value)));
        }
    }

    fn indent(&mut self) {
        self.out.push_str(&"  ".repeat(self.open.len()));
    }

    /// The document.
    pub(in crate::report) fn end(self) -> String {
        self.out
    }
}

/// Text for an element or an attribute. What XML 1.0 cannot hold at all becomes U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Unescaped, readers make a space of it in attributes and nothing at all of a return.
            '\n' | '\r' | '\t' => out.push_str(&format!("&#{};", u32::from(c))),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_stands_in_it() {
        let mut xml = Writer::new();
        xml.within("a", &[("n", "<\"&'\n\u{1}>")], |xml| {
            xml.leaf("b", &[], "");
            xml.leaf("b", &[("k", "v")], "1 < 2 & ]]> \u{ffff}");
        });
        assert_eq!(
            xml.end(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a n=\"&lt;&quot;&amp;'&#10;\u{fffd}&gt;\">\n  <b/>\n  \
             <b k=\"v\">1 &lt; 2 &amp; ]]&gt; \u{fffd}</b>\n</a>\n"
        );
    }
}
