//! The origins: what they answer, and the truth about each answer, which the oracle keeps and the cache never sees.
//!
//! Not here: how an answer is judged by the cache (`world`), what may be given to whom (`oracle`).

use crate::dice::Dice;

/// Keys of the world. What a key's number says: `% 3` whether it varies by kind, `% 5` how long its answers live.
pub const KEYS: u64 = 10;

/// The truth about one answer.
#[derive(Clone, Debug)]
pub struct Made {
    pub serial: usize,
    pub key: u64,
    /// `Some` if the answer is for this kind of client only (`Vary`).
    pub kind: Option<&'static str>,
    /// The request it was made for.
    pub client: usize,
    /// It was made for a request with credentials.
    pub secret: bool,
    /// Its own word on that: it may be shared all the same.
    pub shared_secret: bool,
    /// It may be given to the client it was made for and to nobody else.
    pub personal: bool,
    pub version: u64,
    pub tag: Option<&'static str>,
    pub lifetime_ms: u64,
    pub while_revalidate_ms: u64,
    pub if_error_ms: u64,
    pub must_revalidate: bool,
    pub no_cache: bool,
    /// Step and moment its head was made.
    pub at_step: u64,
    pub at_ms: u64,
    /// Length of the body; see [`bytes`] for what is in it.
    pub len: usize,
    pub status: u16,
    pub fields: Vec<(&'static str, String)>,
}

/// What an origin does with one request.
#[derive(Clone, Debug)]
pub enum Plan {
    /// It closes without a word.
    Dies,
    /// It says nothing for so long that everyone gives up waiting, then closes.
    Stalls,
    /// It answers.
    Answers {
        made: Box<Made>,
        /// The body ends here, though more was announced.
        cut_at: Option<usize>,
        /// Pieces the body comes in.
        pieces: usize,
    },
    /// 304: what the asker holds is the current version.
    Confirms { lifetime_s: u64, version: u64 },
}

/// The bytes `from..to` of an answer's body. Every 16 of them name it, so that one taken for another shows wherever a
/// reader looks.
pub fn bytes(serial: usize, from: usize, to: usize) -> Vec<u8> {
    let name = format!("{serial:015}|").into_bytes();
    (from..to).map(|at| name[at % name.len()]).collect()
}

pub struct Asked<'a> {
    pub key: u64,
    pub kind: &'static str,
    pub client: usize,
    pub secret: bool,
    /// The version the asker holds, if it asks whether it changed.
    pub holds: Option<u64>,
    pub step: u64,
    pub now_ms: u64,
    pub serial: usize,
    pub versions: &'a [u64],
}

pub fn answer(dice: &mut Dice, asked: &Asked<'_>) -> Plan {
    match dice.roll(40) {
        0 | 1 => return Plan::Dies,
        2 => return Plan::Stalls,
        _ => {}
    }
    let version = asked.versions[asked.key as usize];
    let lifetime_s = [0, 1, 2, 5, 60][(asked.key % 5) as usize];
    if asked.holds == Some(version) && !dice.once_in(6) {
        return Plan::Confirms { lifetime_s, version };
    }
    let status = match dice.roll(30) {
        0..=2 => 503,
        3 => 429, // never stored
        _ => 200,
    };
    let varies = asked.key.is_multiple_of(3) ^ dice.once_in(25);
    let mut control = vec![format!("max-age={lifetime_s}")];
    let mut made = Made {
        serial: asked.serial,
        key: asked.key,
        kind: varies.then_some(asked.kind),
        client: asked.client,
        secret: asked.secret,
        shared_secret: false,
        personal: false,
        version,
        tag: None,
        lifetime_ms: lifetime_s * 1000,
        while_revalidate_ms: 0,
        if_error_ms: 0,
        must_revalidate: false,
        no_cache: false,
        at_step: asked.step,
        at_ms: asked.now_ms,
        len: 0,
        status,
        fields: Vec::new(),
    };
    if varies {
        made.fields.push(("vary", "X-Kind".into()));
    }
    match dice.roll(20) {
        0 => (made.personal, _) = (true, control.push("no-store".into())),
        1 => (made.personal, _) = (true, control.push("private".into())),
        2 => (made.personal, _) = (true, made.fields.push(("set-cookie", "a=b".into()))),
        3 => (made.personal, _) = (true, made.fields.push(("vary", "*".into()))),
        4 => (made.no_cache, _) = (true, control.push("no-cache".into())),
        5 => {
            (made.must_revalidate, made.shared_secret) = (true, true);
            control.push("must-revalidate".into());
        }
        6 => (made.shared_secret, _) = (true, control.push("public".into())),
        7..=9 => (made.while_revalidate_ms, _) = (3_000, control.push("stale-while-revalidate=3".into())),
        10..=12 => (made.if_error_ms, _) = (9_000, control.push("stale-if-error=9".into())),
        _ => {}
    }
    made.fields.push(("cache-control", control.join(", ")));
    if !dice.once_in(4) {
        made.fields.push(("etag", format!("\"v{version}\"")));
    }
    if dice.once_in(3) {
        let tag = *dice.pick(&["red", "blue"]);
        made.tag = Some(tag);
        made.fields.push(("surrogate-key", tag.into()));
    }
    let length = match dice.roll(12) {
        _ if dice.once_in(50) => 2_000_000, // more than a slow reader may fall behind
        0 => 0,
        1 => 30_000, // more than may be stored
        2 | 3 => 6_000,
        _ => 40 + dice.roll(900) as usize,
    };
    made.len = length;
    let cut_at = (dice.once_in(15) && length > 1).then(|| dice.roll(length as u64 - 1) as usize);
    Plan::Answers { made: Box::new(made), cut_at, pieces: 1 + dice.roll(6) as usize + length / 100_000 }
}
