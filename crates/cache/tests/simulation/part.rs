//! Parts of answers, as the server's pipeline treats them: what is here for a range, what comes of a 206, the rest of what
//! is here.
//!
//! Not here: what clients do with them (`client`), what an origin sends (`origin`).

use crate::fill::{FillTask, Wants};
use crate::oracle::{Asker, Way, judge_part};
use crate::origin::{BLOCK, Made, Plan, named};
use crate::world::{World, serial_of};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use samovar_cache::{Body, Entry, EntryHead, FillFailure, Parts, Sink};
use samovar_policy::{
    Part, PartUse, RequestFacts, ReuseDecision, Verdict, Wanted, combined_fields, if_range, missing,
    part_use, range_field, same_representation, wanted,
};
use samovar_reason::{Lookup, Store, Upstream};
use std::sync::Arc;

/// The field that asks for `from..to`.
pub fn range_value(from: usize, to: usize) -> HeaderValue {
    HeaderValue::from_str(&format!("bytes={from}-{}", to - 1)).unwrap()
}

/// What a stored part is to a request.
pub fn judge(entry: &Entry, facts: &RequestFacts<'_>, by_age: ReuseDecision) -> ReuseDecision {
    let missing = |verdict| ReuseDecision { verdict, reason: Lookup::PartMissing, ..by_age };
    if by_age.verdict == Verdict::Pass {
        return by_age;
    }
    if by_age.verdict != Verdict::Serve {
        return ReuseDecision { verdict: Verdict::Refetch, ..by_age };
    }
    assert_eq!(facts.method, Method::GET);
    match entry.body() {
        Body::Parts(parts) => match wanted(facts.headers, &entry.headers(), parts.total_bytes()) {
            Wanted::Range(from, to) if parts.slice(from, to).is_some() => by_age,
            Wanted::Other => missing(Verdict::Pass),
            _ => missing(Verdict::Complete),
        },
        Body::Verbatim(verbatim) => {
            let asked = facts.headers.get(header::RANGE).map(HeaderValue::as_bytes);
            if asked == Some(verbatim.range.as_bytes()) { by_age } else { missing(Verdict::Refetch) }
        }
        _ => by_age,
    }
}

/// What becomes of a body once it is here.
pub enum End {
    /// It is the whole.
    Whole,
    /// It is this part, to be put together with what is here of the same representation.
    Part(Part),
    /// It is stored for the range that was asked.
    Verbatim(Box<str>),
    /// With what is here it is the whole.
    Rest(Arc<Parts>, Part, Arc<Entry>),
}

impl End {
    /// Reads an answer's head; what speaks of one part only is dropped from it.
    pub fn of(
        world: &mut World,
        wants: &Wants,
        headers: &mut HeaderMap,
        made: &Made,
        announced: Option<u64>,
    ) -> End {
        if made.status != 206 {
            return End::Whole;
        }
        let of_the_same = |entry: &Entry, part: Part, headers: &HeaderMap| match entry.body() {
            Body::Parts(parts) if parts.total_bytes() == part.total => {
                same_representation(&entry.headers(), headers).then(|| Arc::clone(parts))
            }
            _ => None,
        };
        match (part_use(headers, announced), wants) {
            (PartUse::Cut(part), Wants::Range(..)) => End::Part(part),
            (PartUse::Cut(part), Wants::Rest(entry)) => match of_the_same(entry, part, headers) {
                Some(held) => {
                    *headers = combined_fields(&entry.headers(), headers);
                    // The harness's own field names the newest answer.
                    headers.insert("x-serial", HeaderValue::from(made.serial));
                    End::Rest(held, part, Arc::clone(entry))
                }
                None => world.fail("the rest of something else was not asked again"),
            },
            (PartUse::Verbatim, Wants::Range(from, to)) => {
                world.counters.verbatim += 1;
                End::Verbatim(range_value(*from, *to).to_str().unwrap().into())
            }
            _ => world.fail("a part that nobody asked for"),
        }
    }

    /// The head of what is stored: with the tags of all that is in it.
    pub fn complete(&self, head: &mut EntryHead) {
        let held = match self {
            End::Rest(_, _, held) => {
                head.status = StatusCode::OK;
                held
            }
            _ => return,
        };
        let more: Vec<_> = held.tags().iter().filter(|tag| !head.tags.contains(tag)).cloned().collect();
        head.tags.extend(more);
    }

    /// What is here comes before what is on its way.
    pub fn begin(&self, sink: &mut Sink) {
        if let End::Rest(held, gap, _) = self {
            held.slice(0, gap.start).into_iter().flatten().for_each(|piece| sink.push(piece));
        }
    }

    /// How long the body is to be, with what is here before it, if that is known.
    pub fn until(&self, announced: Option<u64>) -> Option<u64> {
        match self {
            End::Part(part) => Some(part.end - part.start),
            End::Rest(_, gap, _) => Some(gap.end),
            End::Whole | End::Verbatim(_) => announced,
        }
    }

    /// It was not what it said it was. Nobody asks for the rest of these parts again.
    pub fn broken(self, world: &mut World, sink: Sink) {
        match self {
            End::Rest(_, _, entry) => {
                world.counters.rest_of_other_length += 1;
                world.cache.doubt(&entry);
            }
            End::Part(_) => world.counters.part_of_other_length += 1,
            End::Whole | End::Verbatim(_) => world.fail("a body of another length than it said"),
        }
        sink.fail(FillFailure { reason: Upstream::ShortBody, detail: "simulated".into() });
    }

    /// All came.
    pub fn finish(self, world: &mut World, mut sink: Sink) -> Result<Arc<Entry>, Store> {
        let now_ms = world.now_ms;
        let result = match self {
            End::Whole => return sink.finish(0, now_ms),
            End::Rest(held, gap, _) => {
                held.slice(gap.end, gap.total).into_iter().flatten().for_each(|piece| sink.push(piece));
                let result = sink.finish(0, now_ms);
                world.counters.completed += u64::from(result.is_ok());
                return result;
            }
            End::Verbatim(range) => sink.finish_verbatim(range, now_ms),
            End::Part(part) => sink.finish_part(part.total, part.start, now_ms),
        };
        if let Ok(entry) = &result
            && let Body::Parts(parts) = entry.body()
        {
            let own = world.truth[serial_of(entry)].len as u64;
            world.counters.put_together +=
                u64::from(parts.held().iter().map(|(a, b)| b - a).sum::<u64>() > own);
        }
        world.counters.part_stored += u64::from(result.is_ok());
        result
    }
}

/// Asks for what is missing of the parts that are here; for the whole if that cannot be asked, or what came is no use.
pub fn rest(world: &mut World, task: &FillTask, held: &Arc<Entry>) -> Plan {
    let Body::Parts(parts) = held.body() else { return world.answer(task, |_| {}) };
    let total = parts.total_bytes();
    let Some(gap) = missing(&parts.held(), total) else { return world.answer(task, |_| {}) };
    if range_field(gap, total).is_none() {
        world.fail("a gap that cannot be asked for");
    }
    let tag = if_range(&held.headers()).map(|tag| tag.to_str().unwrap().to_owned());
    let plan = world.answer(task, |asked| {
        asked.range = Some((gap.0 as usize, gap.1 as usize));
        asked.if_range = tag;
    });
    let Plan::Answers { made, .. } = &plan else { return plan };
    let useless = match made.status {
        416 => true,
        206 => {
            let mut headers = HeaderMap::new();
            for (name, value) in &made.fields {
                headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
            }
            let part = Part { start: gap.0, end: gap.1, total };
            part_use(&headers, made.announced()) != PartUse::Cut(part)
                || !same_representation(&held.headers(), &headers)
        }
        _ => false,
    };
    if useless {
        world.counters.rest_useless += 1;
        return world.answer(task, |_| {});
    }
    plan
}

impl World {
    /// The blocks of an answer that was put together, `piece` at `at` of the entry made by answer `serial`: each of the
    /// right place, of the same representation, for this request to see, and not purged before it began.
    pub fn check_blocks(&self, asker: &Asker, way: Way, serial: usize, at: usize, piece: &[u8]) {
        if !at.is_multiple_of(BLOCK) || !piece.len().is_multiple_of(BLOCK) {
            self.fail(&format!("{} bytes at {at}: no whole blocks", piece.len()));
        }
        let newest = &self.truth[serial];
        for (number, block) in piece.chunks(BLOCK).enumerate() {
            let place = at + number * BLOCK;
            let Some((by, of)) = named(block) else {
                self.fail(&format!("nothing of any answer at {place}"))
            };
            let made = &self.truth[by];
            let within = (made.from..made.from + made.len).contains(&of);
            if of != place || !within || made.key != newest.key || made.etag != newest.etag {
                self.fail(&format!("at {place} of {newest:?}: the bytes for {of} of {made:?}"));
            }
            let confirmed = self.confirmed.get(&serial).map_or(&[][..], Vec::as_slice);
            if let Err(why) = judge_part(asker, way, made, confirmed, &self.purges) {
                self.fail(&format!("{why}: {made:?} in {newest:?} for {asker:?}"));
            }
        }
    }

    /// Which bytes of its representation an entry's whole answer has.
    pub fn extent(&self, entry: &Entry) -> (usize, usize) {
        let made = &self.truth[serial_of(entry)];
        match entry.status().as_u16() {
            206 => (made.from, made.from + made.len),
            _ => (0, made.total),
        }
    }
}
