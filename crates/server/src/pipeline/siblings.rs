//! Files that were compressed beforehand: `x.css.br` beside `x.css`.
//!
//! A sibling is a representation of its own, with its own length and entity tag; it is stored by the codings that the
//! client accepts, so that ranges and conditions are of the very bytes. Not here: finding and opening files (`origin`).

use crate::state::FilesTarget;
use http::{HeaderMap, HeaderValue, header};
use samovar_origin::{Answer, Files, Opened};
use samovar_policy::Coding;
use samovar_rules::CodingWish;

/// The answer for a file, or for the sibling that suits the client best. A sibling that comes, changes or goes ends what is
/// stored: `made_of` names them all.
pub(super) fn answer(
    target: &FilesTarget,
    open: Opened,
    wish: &CodingWish,
    request: &HeaderMap,
    made_of: &mut Vec<Box<str>>,
) -> Answer {
    made_of.extend(
        Coding::ALL.iter().map(|coding| target.tag_of(&format!("{}.{}", open.rel, coding.extension()))),
    );
    let siblings = wish
        .codings
        .iter()
        .filter_map(|coding| Some((*coding, target.files.sibling(&open, coding.extension())?)));
    let (mut best, mut any) = (None, false);
    for (coding, sibling) in siblings {
        any = true;
        if best.is_none() && wish.gets(request, coding) {
            best = Some((coding, sibling));
        }
    }
    let mut answer = match best {
        Some((coding, sibling)) => {
            let mut answer = Files::answer(sibling);
            answer.headers.insert(header::CONTENT_ENCODING, coding.value());
            answer
        }
        None => Files::answer(open),
    };
    if any {
        answer.headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    answer
}
