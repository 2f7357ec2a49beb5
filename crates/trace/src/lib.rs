//! One record per request: what was decided and why, rendered for people, for tools and for logs.
//!
//! `facts` turns each fact into words, once; `json` and through it `text` show them; `log` writes one line per
//! request; `redact` keeps secrets out of all of them; `ring` holds the last records. Not here: deciding anything,
//! reading clocks, writing files.

mod clock;
mod facts;
mod json;
mod log;
mod redact;
mod ring;
mod text;
mod types;

pub use json::json;
pub use log::{combined, json_line};
pub use redact::{redact, redact_key, redact_url};
pub use ring::Ring;
pub use text::{text, text_of_json};
pub use types::*;
