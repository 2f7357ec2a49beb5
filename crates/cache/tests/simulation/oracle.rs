//! What may be given to whom, when: the oracle's own few lines. It shares no code with the rooms it judges.

use crate::origin::Made;

/// How the cache said it came by an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Made by the origin for this very request.
    Own,
    /// From what is stored.
    Stored,
    /// With others, as it arrived.
    Shared,
    /// Stored, and confirmed for this request or one it waited with.
    Confirmed,
    /// Stored, although stale, since the origin failed; the reach of the failure.
    InPlaceOfError { unreachable: bool },
    /// Stored, although stale, while it is refreshed.
    WhileRefreshed,
}

/// Who asked, and when.
#[derive(Clone, Debug)]
pub struct Asker {
    pub client: usize,
    pub key: u64,
    pub kind: &'static str,
    pub secret: bool,
    /// When the request began.
    pub at_step: u64,
    /// When it was decided what it gets.
    pub decided_ms: u64,
}

/// A purge and when it returned.
#[derive(Clone, Copy, Debug)]
pub struct Purge {
    pub step: u64,
    pub soft: bool,
    pub scope: PurgeScope,
}

#[derive(Clone, Copy, Debug)]
pub enum PurgeScope {
    Key(u64),
    /// Keys below this number, by prefix.
    Low,
    Tag(&'static str),
    All,
}

/// Keys up to here have names that begin alike.
pub const LOW_KEYS: u64 = 4;

/// How long an operator lets stale stand in for an origin out of reach, ms.
pub const UNREACHABLE_MS: u64 = 8_000;

/// An origin's word that an answer still holds.
#[derive(Clone, Copy, Debug)]
pub struct Confirmation {
    pub at_step: u64,
    pub at_ms: u64,
    pub lifetime_ms: u64,
    /// It took the place of what was stored.
    pub kept: bool,
}

/// `Err` says what must not have happened.
pub fn judge(
    asker: &Asker,
    way: Way,
    made: &Made,
    confirmed: &[Confirmation],
    purges: &[Purge],
) -> Result<(), String> {
    if made.key != asker.key {
        return Err(format!("key {} was asked for, key {} given", asker.key, made.key));
    }
    if made.client == asker.client {
        return Ok(()); // its own answer, whatever it says
    }
    if made.personal {
        return Err("an answer for one client was given to another".into());
    }
    if made.kind.is_some_and(|kind| kind != asker.kind) {
        return Err(format!("kind {} was given what varies and was made for {:?}", asker.kind, made.kind));
    }
    if (made.secret || asker.secret) && !made.shared_secret {
        return Err("credentials: an answer was shared without the origin's leave".into());
    }
    purged(asker, way, made, confirmed, purges)?;
    aged(asker, way, made, confirmed)
}

/// A part of an answer that is otherwise judged as a whole: what its age allows is said by the newest of its parts.
pub fn judge_part(
    asker: &Asker,
    way: Way,
    made: &Made,
    confirmed: &[Confirmation],
    purges: &[Purge],
) -> Result<(), String> {
    if made.client == asker.client {
        return Ok(());
    }
    if made.personal {
        return Err("a part for one client was given to another".into());
    }
    if made.kind.is_some_and(|kind| kind != asker.kind) {
        return Err(format!("kind {} was given a part for {:?}", asker.kind, made.kind));
    }
    if made.secret && !made.shared_secret {
        return Err("credentials: a part was shared without the origin's leave".into());
    }
    purged(asker, way, made, confirmed, purges)
}

/// Nothing is given that was purged before the request began.
fn purged(
    asker: &Asker,
    way: Way,
    made: &Made,
    confirmed: &[Confirmation],
    purges: &[Purge],
) -> Result<(), String> {
    let confirmed_step = confirmed.iter().map(|c| c.at_step).max().unwrap_or(0);
    for purge in purges.iter().filter(|purge| purge.step < asker.at_step) {
        let hit = match purge.scope {
            PurgeScope::Key(key) => key == made.key,
            PurgeScope::Low => made.key < LOW_KEYS,
            PurgeScope::Tag(tag) => made.tag == Some(tag),
            PurgeScope::All => true,
        };
        // A soft purge is lifted by the origin's word; and it does not hold against one that fails.
        let known_step = if purge.soft { made.at_step.max(confirmed_step) } else { made.at_step };
        let excused = purge.soft && matches!(way, Way::InPlaceOfError { .. });
        if hit && known_step <= purge.step && !excused {
            return Err(format!("purged at step {}, made at {}: {purge:?}", purge.step, made.at_step));
        }
    }
    Ok(())
}

/// The origin's word on how long an answer may be given: its own when it was made, or that of a 304, which takes its place.
struct Word {
    at_ms: u64,
    lifetime_ms: u64,
    while_revalidate_ms: u64,
    if_error_ms: u64,
    must_revalidate: bool,
    no_cache: bool,
}

/// Nothing stale beyond its allowance: that of the last word that was kept. What stands in for a failed origin was taken
/// out when that was asked, and may be of an earlier word.
fn aged(asker: &Asker, way: Way, made: &Made, confirmed: &[Confirmation]) -> Result<(), String> {
    let first = Word {
        at_ms: made.at_ms,
        lifetime_ms: made.lifetime_ms,
        while_revalidate_ms: made.while_revalidate_ms,
        if_error_ms: made.if_error_ms,
        must_revalidate: made.must_revalidate,
        no_cache: made.no_cache,
    };
    let kept = confirmed.iter().filter(|c| c.kept && c.at_ms <= asker.decided_ms);
    let later = kept.map(|c| Word {
        at_ms: c.at_ms,
        lifetime_ms: c.lifetime_ms,
        while_revalidate_ms: 0,
        if_error_ms: 0,
        must_revalidate: false,
        no_cache: false,
    });
    if way == Way::Shared {
        // As it arrived, and as it was said then.
        return by(&first, asker, way);
    }
    let words = std::iter::once(first).chain(later);
    match way {
        Way::InPlaceOfError { .. } => {
            let mut verdicts = words.map(|word| by(&word, asker, way));
            let newest = verdicts.next_back().unwrap_or(Ok(()));
            if newest.is_err() && verdicts.any(|verdict| verdict.is_ok()) { Ok(()) } else { newest }
        }
        _ => words.last().map_or(Ok(()), |word| by(&word, asker, way)),
    }
}

fn by(word: &Word, asker: &Asker, way: Way) -> Result<(), String> {
    let age_ms = asker.decided_ms.saturating_sub(word.at_ms);
    // Fresh while the lifetime is greater than the age.
    let fresh = word.lifetime_ms > age_ms;
    let late_by = age_ms.saturating_sub(word.lifetime_ms);
    let refused = |why: &str| Err(format!("{why}: {late_by} ms past its lifetime, {way:?}"));
    let within = |allowed_ms: u64| late_by <= allowed_ms && !word.must_revalidate;
    match way {
        Way::Own | Way::Confirmed => Ok(()),
        _ if word.no_cache => refused("no-cache, and nobody was asked"),
        _ if fresh => Ok(()),
        Way::Stored => refused("stale"),
        // What is shared as it arrives may be stale on arrival, if it may be served while it is asked for anew.
        Way::WhileRefreshed | Way::Shared if within(word.while_revalidate_ms) => Ok(()),
        Way::WhileRefreshed | Way::Shared => refused("stale beyond its while-revalidate"),
        Way::InPlaceOfError { unreachable } => {
            let allowed_ms = word.if_error_ms.max(if unreachable { UNREACHABLE_MS } else { 0 });
            if within(allowed_ms) { Ok(()) } else { refused("stale beyond its if-error") }
        }
    }
}
