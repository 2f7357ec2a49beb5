//! `docs/reasons.md` is made of the lists themselves; `SAMOVAR_WRITE_DOCS=1 cargo test` writes it anew.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test reads and writes the page")]

use std::fmt::Write as _;
use std::path::Path;

fn reference() -> String {
    let mut out = String::from(
        "# Reasons\n\nEvery decision Samovar makes about a request carries one of these codes: in `Cache-Status` (as \
         `detail`), in the access log, in `samovar explain` and `samovar trace`, in the admin API. Codes are never \
         renamed.\n\nThis page is generated from the code.\n",
    );
    let mut family = "";
    for row in samovar_reason::all() {
        if row.family != family {
            family = row.family;
            let _ = write!(
                out,
                "\n## {family}\n\n| code | what it says | what would change it |\n|---|---|---|\n"
            );
        }
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {} | {} |", row.code, cell(row.text), cell(row.mend));
    }
    out
}

#[test]
fn the_page_says_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reasons.md");
    if std::env::var_os("SAMOVAR_WRITE_DOCS").is_some() {
        std::fs::write(&path, reference()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == reference(),
        "docs/reasons.md is behind the code; SAMOVAR_WRITE_DOCS=1 cargo test -p samovar-reason writes it"
    );
}
