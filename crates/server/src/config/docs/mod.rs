//! What is written from the declared keys: `samovar init`, the reference, the schema.
//!
//! Not here: any fact about a key that its declaration does not hold.

mod init;
mod reference;
mod schema;

pub use init::init_text;
pub use reference::reference;
pub use schema::schema;

/// Words in lines of at most `width` columns, each begun with `lead`.
fn wrapped(text: &str, lead: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && lead.len() + line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(&format!("{lead}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        out.push_str(&format!("{lead}{line}\n"));
    }
    out
}
