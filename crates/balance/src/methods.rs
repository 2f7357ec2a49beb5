//! The ways to choose among members that can take a request.
//!
//! Each is given the candidates and says which; `balancer` has sorted out the others before. Not here: health, sets,
//! sessions.

/// A member that can take the request, as far as choosing needs to know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Which member.
    pub(crate) at: usize,
    /// Its weight by the slow start, in thousandths; at least 1.
    pub(crate) weight: u64,
    /// Requests under way on it.
    pub(crate) busy: usize,
    /// Bytes it has carried since it came, both ways.
    pub(crate) bytes: u64,
    /// How long it takes to begin an answer, µs: a peak EWMA; 0 if none is known.
    pub(crate) latency_us: f64,
    /// Its lead in the turns (smooth weighted round robin).
    pub(crate) lead: i64,
}

impl Candidate {
    fn busy_by_weight(&self) -> f64 {
        (self.busy as f64 + 1.0) / self.weight as f64
    }

    /// The expected wait: how long an answer takes, once for each request under way and for this one.
    fn wait(&self) -> f64 {
        // Of one that has not answered yet nothing is known: it gets one request, and then its turn is last.
        let latency = match (self.latency_us > 0.0, self.busy) {
            (true, _) => self.latency_us,
            (false, 0) => 0.0,
            (false, _) => 1e9,
        };
        latency * self.busy_by_weight()
    }
}

/// The one whose turn it is: the greatest lead once all have moved by their weight.
pub(crate) fn in_turn(all: &[Candidate]) -> Option<usize> {
    best(all, |a, b| (a.lead + signed(a.weight)).cmp(&(b.lead + signed(b.weight))))
}

/// What all leads change by when `chosen` has had its turn.
pub(crate) fn turn(all: &[Candidate], chosen: usize) -> impl Iterator<Item = (usize, i64)> {
    let sum: i64 = all.iter().map(|c| signed(c.weight)).sum();
    all.iter().map(move |c| (c.at, signed(c.weight) - if c.at == chosen { sum } else { 0 }))
}

/// Fewest requests under way by weight; among equals whose turn it is.
pub(crate) fn least_busy(all: &[Candidate]) -> Option<usize> {
    best(all, |a, b| by_ratio(b.busy as u64, b.weight, a.busy as u64, a.weight).then(a_turn(a, b)))
}

/// Fewest bytes by weight; among equals whose turn it is.
pub(crate) fn least_traffic(all: &[Candidate]) -> Option<usize> {
    best(all, |a, b| by_ratio(b.bytes, b.weight, a.bytes, a.weight).then(a_turn(a, b)))
}

/// Of two drawn by lot the one with fewer requests under way.
pub(crate) fn less_busy_of_two(all: &[Candidate], dice: u64) -> Option<usize> {
    of_two(all, dice, Candidate::busy_by_weight)
}

/// Of two drawn by lot the one with the shorter wait.
pub(crate) fn shorter_wait_of_two(all: &[Candidate], dice: u64) -> Option<usize> {
    of_two(all, dice, Candidate::wait)
}

fn of_two(all: &[Candidate], dice: u64, cost: impl Fn(&Candidate) -> f64) -> Option<usize> {
    let count = all.len() as u64;
    if count < 2 {
        return all.first().map(|c| c.at);
    }
    let (high, low) = (dice >> 32, dice & 0xffff_ffff);
    let first = (high * count) >> 32;
    let second = (first + 1 + ((low * (count - 1)) >> 32)) % count;
    let (a, b) = (all.get(first as usize)?, all.get(second as usize)?);
    // Among equals the first drawn, which is either of them by lot.
    Some(if cost(b) < cost(a) { b.at } else { a.at })
}

/// The greatest by the order given; the first of equals.
fn best(all: &[Candidate], order: impl Fn(&Candidate, &Candidate) -> std::cmp::Ordering) -> Option<usize> {
    let mut all = all.iter();
    let first = all.next()?;
    Some(all.fold(first, |best, c| if order(c, best).is_gt() { c } else { best }).at)
}

fn a_turn(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    (a.lead + signed(a.weight)).cmp(&(b.lead + signed(b.weight)))
}

/// `a/wa` beside `b/wb`, without dividing.
fn by_ratio(a: u64, wa: u64, b: u64, wb: u64) -> std::cmp::Ordering {
    (u128::from(a) * u128::from(wb)).cmp(&(u128::from(b) * u128::from(wa)))
}

fn signed(weight: u64) -> i64 {
    i64::try_from(weight).unwrap_or(i64::MAX / 4096)
}
