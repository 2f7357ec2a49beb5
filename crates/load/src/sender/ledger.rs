//! Where a thread writes down what it sees: the run as a whole on one page, each measured step on a page of its own.
//!
//! A page is handed in when its step is over and the last of its requests is done, so that a run of many steps needs no
//! more memory than one of few. Not here: what is counted ([`crate::tally`]).

use std::sync::mpsc::Sender;

use super::Message;
use crate::pacer::Phase;
use crate::tally::{Counts, Tally};

#[derive(Debug)]
struct Page {
    step: u16,
    /// Requests of it in flight.
    in_flight: usize,
    tally: Tally,
}

/// All pages of a thread.
#[derive(Debug)]
pub(super) struct Ledger {
    /// What belongs to no step: connections, failures outside the measured windows.
    pub whole: Tally,
    pages: Vec<Page>,
    in_flight: usize,
    out: Sender<Message>,
}

impl Ledger {
    pub(super) fn new(out: Sender<Message>) -> Ledger {
        Ledger { whole: Tally::default(), pages: Vec::new(), in_flight: 0, out }
    }

    /// Counts of the whole run.
    pub(super) fn counts(&mut self) -> &mut Counts {
        &mut self.whole.counts
    }

    /// Counts of what happens now: of the step that is measured, or else of the run as a whole. The sum of both is that of the
    /// run; what the steps have is that of the measured window.
    pub(super) fn now(&mut self, step: Option<u16>) -> &mut Counts {
        &mut self.tally_now(step).counts
    }

    /// The same, for what is more than a count.
    pub(super) fn tally_now(&mut self, step: Option<u16>) -> &mut Tally {
        match step {
            Some(step) => self.step(step),
            None => &mut self.whole,
        }
    }

    fn page(&mut self, step: u16) -> &mut Page {
        let at = match self.pages.iter().rposition(|page| page.step == step) {
            Some(at) => at,
            None => {
                self.pages.push(Page { step, in_flight: 0, tally: Tally::default() });
                self.pages.len() - 1
            }
        };
        // There is at least the one just found or pushed; the whole's page would be a wrong place, not a crash.
        #[allow(clippy::indexing_slicing, reason = "`at` was found or pushed just now")]
        &mut self.pages[at]
    }

    /// The page of a step.
    pub(super) fn step(&mut self, step: u16) -> &mut Tally {
        &mut self.page(step).tally
    }

    /// A measured request was sent.
    pub(super) fn sent(&mut self, step: u16) {
        let page = self.page(step);
        page.tally.counts.requests += 1;
        page.in_flight += 1;
        self.in_flight += 1;
    }

    /// A measured request is answered, or failed.
    pub(super) fn done(&mut self, step: u16) -> &mut Tally {
        self.in_flight = self.in_flight.saturating_sub(1);
        let page = self.page(step);
        page.in_flight = page.in_flight.saturating_sub(1);
        &mut page.tally
    }

    /// Measured requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Hands in the pages that nothing more will be written on.
    pub(super) fn turn(&mut self, phase: Phase) {
        if self.pages.is_empty() {
            return;
        }
        let present = match phase {
            Phase::Warmup => 0,
            Phase::Settle(step) | Phase::Measure(step) => step,
            Phase::Cooldown | Phase::Over => u16::MAX,
        };
        let (over, open) = self.pages.drain(..).partition(|page| page.step < present && page.in_flight == 0);
        self.pages = open;
        let over: Vec<Page> = over;
        for page in over {
            // Nobody listens any more only when the run is being torn down.
            let _ = self.out.send(Message::Step(page.step, Box::new(page.tally)));
        }
    }

    /// Hands in everything, at the end; what is in flight then stays unfinished. The whole's page is left.
    pub(super) fn close(mut self) -> Tally {
        for page in self.pages.drain(..) {
            let mut tally = page.tally;
            tally.counts.unfinished = page.in_flight as u64;
            let _ = self.out.send(Message::Step(page.step, Box::new(tally)));
        }
        self.whole
    }
}
