//! The origins: what they answer, and the truth about each answer, which the oracle keeps and the cache never sees.
//!
//! Not here: how an answer is judged by the cache (`world`), what may be given to whom (`oracle`).

use crate::dice::Dice;

/// Keys of the world. What a key's number says: `% 3` whether it varies by kind, `% 5` how long its answers live.
pub const KEYS: u64 = 10;

/// Whether a key's resource can be had in parts: it always says which version it is, and its length follows from that.
pub fn in_parts(key: u64) -> bool {
    matches!(key, 4 | 8 | 9)
}

/// Bodies are made of blocks of this many bytes, each of which names its answer and its place; ranges keep to them.
pub const BLOCK: usize = 16;

/// Length of what can be had in parts, bytes.
pub fn length(key: u64, version: u64) -> usize {
    BLOCK * (4 + (version * 7 + key) as usize % 9)
}

/// The entity tag of what a key answers now.
pub fn tag(key: u64, version: u64, kind: &'static str) -> String {
    let kind = if key.is_multiple_of(3) && in_parts(key) { kind } else { "" };
    format!("\"v{version}{kind}\"")
}

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
    /// Its first byte's place in the representation, and the length of that: not 0 and `len` if it is a part.
    pub from: usize,
    pub total: usize,
    /// Its entity tag.
    pub etag: Option<String>,
    /// Whether the length of the body is said beforehand.
    pub announces: bool,
    pub status: u16,
    pub fields: Vec<(&'static str, String)>,
}

impl Made {
    /// The length of the body, if that is said beforehand.
    pub fn announced(&self) -> Option<u64> {
        self.announces.then_some(self.len as u64)
    }
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

/// The bytes `from..to` of a representation, as an answer gave them. Every block names the answer and its place, so that
/// one taken for another shows wherever a reader looks.
pub fn bytes(serial: usize, from: usize, to: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(to - from + 2 * BLOCK);
    for block in from / BLOCK..to.div_ceil(BLOCK) {
        out.extend_from_slice(format!("{serial:09}{block:06}|").as_bytes());
    }
    let skip = from % BLOCK;
    out[skip..skip + (to - from)].to_vec()
}

/// Which answer gave a block, and the place it was given for.
pub fn named(block: &[u8]) -> Option<(usize, usize)> {
    let text = std::str::from_utf8(block).ok()?.strip_suffix('|')?;
    let (serial, place) = text.split_at_checked(9)?;
    Some((serial.parse().ok()?, place.parse::<usize>().ok()? * BLOCK))
}

pub struct Asked<'a> {
    pub key: u64,
    pub kind: &'static str,
    pub client: usize,
    pub secret: bool,
    /// The tag the asker holds, if it asks whether it changed.
    pub holds: Option<String>,
    /// The bytes it wants, if not all, and the tag they must be of.
    pub range: Option<(usize, usize)>,
    pub if_range: Option<String>,
    pub step: u64,
    pub now_ms: u64,
    pub serial: usize,
    pub versions: &'a [u64],
    /// Nothing comes that throws everything else out.
    pub calm: bool,
}

pub fn answer(dice: &mut Dice, asked: &Asked<'_>) -> Plan {
    match dice.roll(40) {
        0 | 1 => return Plan::Dies,
        2 => return Plan::Stalls,
        _ => {}
    }
    let version = asked.versions[asked.key as usize];
    let lifetime_s = [0, 1, 2, 20, 60][(asked.key % 5) as usize];
    let etag = tag(asked.key, version, asked.kind);
    if asked.holds.as_ref() == Some(&etag) && !dice.once_in(6) {
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
        from: 0,
        total: 0,
        etag: None,
        announces: !dice.once_in(4),
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
    if in_parts(asked.key) || !dice.once_in(4) {
        made.fields.push(("etag", etag.clone()));
        made.etag = Some(etag);
    }
    if dice.once_in(3) {
        let tag = *dice.pick(&["red", "blue"]);
        made.tag = Some(tag);
        made.fields.push(("surrogate-key", tag.into()));
    }
    if in_parts(asked.key) && status == 200 {
        return in_part(dice, asked, made);
    }
    let length = match dice.roll(12) {
        _ if !asked.calm && dice.once_in(15) => 2_000_000, // more than a slow reader may fall behind
        0 => 0,
        1 => 30_000, // more than may be stored
        2 | 3 => 6_000,
        _ => 40 + dice.roll(900) as usize,
    };
    (made.len, made.total) = (length, length);
    let cut_at = (dice.once_in(15) && length > 1).then(|| dice.roll(length as u64 - 1) as usize);
    Plan::Answers { made: Box::new(made), cut_at, pieces: 1 + dice.roll(6) as usize + length / 100_000 }
}

/// All of it or the range that was asked for; a little less or more than it says, now and then.
fn in_part(dice: &mut Dice, asked: &Asked<'_>, mut made: Made) -> Plan {
    let total = length(asked.key, made.version);
    (made.len, made.total) = (total, total);
    let same = asked.if_range.is_none() || asked.if_range == made.etag;
    if let Some((from, to)) = asked.range.filter(|_| same && !dice.once_in(12)) {
        if from >= total {
            (made.status, made.len) = (416, 0);
        } else {
            let to = to.min(total);
            (made.status, made.from, made.len) = (206, from, to - from);
            made.fields.push(("content-range", format!("bytes {from}-{}/{total}", to - 1)));
            if made.len > BLOCK && dice.once_in(if asked.if_range.is_some() { 2 } else { 6 }) {
                // Less than it says, or more.
                made.len = if dice.once_in(2) { made.len - BLOCK } else { made.len + BLOCK };
                made.announces = dice.once_in(if asked.if_range.is_some() { 4 } else { 3 });
            }
        }
    }
    let blocks = made.len / BLOCK;
    let cut_at = (dice.once_in(15) && blocks > 1).then(|| BLOCK * dice.roll(blocks as u64 - 1) as usize);
    Plan::Answers { made: Box::new(made), cut_at, pieces: 1 + dice.roll(4) as usize }
}
