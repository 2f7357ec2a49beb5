//! What a client asks for next: one URL of many, or the steps of a round (a transaction of WCAT).
//!
//! Not here: when, over which connection, and what came of it.

use crate::dice::Dice;
use crate::wcat::Manner;

/// How a client chooses.
#[derive(Clone, Debug)]
pub enum Script {
    /// One request after the other, of those of its home.
    Requests(Pick),
    /// Rounds of several steps, chosen by weight.
    Rounds(Rounds),
}

/// How the next of many requests is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pick {
    /// One after the other, as they stand; all clients of a thread together.
    #[default]
    InTurn,
    /// One after the other, as they stand; each client by itself, from the first on: what one asks rests on what it asked before.
    Each,
    /// Each as likely as the others.
    Random,
    /// The first most often: number k as likely as 1 / k^s. This is s.
    Zipf(f64),
    /// By the weight beside each.
    Weighted,
}

/// Rounds and how often each is chosen.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    rounds: Vec<Round>,
    /// Running sums of the weights.
    sums: Vec<u64>,
}

/// One round.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Its name.
    pub name: String,
    /// How often it is chosen, beside the others.
    pub weight: u64,
    /// What is done, in this order.
    pub steps: Vec<Step>,
}

/// One thing a round does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends this request and awaits its answer.
    Send(usize),
    /// Waits for some time between these two, in nanoseconds.
    Pause(u64, u64),
    /// Goes on at one of these steps, by weight.
    Goto(Vec<(usize, u64)>),
    /// Ends the connection.
    Close(Manner),
}

/// What a client does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this request.
    Send(usize),
    /// Wait so long, in nanoseconds.
    Pause(u64),
    /// End the connection.
    Close(Manner),
    /// The round is over.
    End,
}

/// Where a client is in its round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The round.
    pub round: usize,
    /// The step that comes next.
    pub step: usize,
}

/// Jumps in a row after which a round that neither sends nor pauses is over: its file means an endless loop.
const JUMPS_MAX: u32 = 1000;

impl Rounds {
    /// Of these.
    pub fn new(rounds: Vec<Round>) -> Rounds {
        let sums = rounds.iter().scan(0_u64, |sum, round| {
            *sum = sum.saturating_add(round.weight);
            Some(*sum)
        });
        Rounds { sums: sums.collect(), rounds }
    }

    /// All of them.
    pub fn all(&self) -> &[Round] {
        &self.rounds
    }

    /// Begins a round.
    pub(crate) fn begin(&self, dice: &mut Dice) -> Walk {
        let drawn = dice.below(self.sums.last().copied().unwrap_or(0));
        Walk { round: self.sums.partition_point(|sum| *sum <= drawn), step: 0 }
    }

    /// What comes next, and moves there.
    pub(crate) fn next(&self, walk: &mut Walk, dice: &mut Dice) -> Next {
        let steps = self.rounds.get(walk.round).map_or(&[][..], |round| &round.steps);
        for _ in 0..JUMPS_MAX {
            let step = steps.get(walk.step);
            walk.step += 1;
            match step {
                None => return Next::End,
                Some(Step::Send(request)) => return Next::Send(*request),
                Some(Step::Pause(low, high)) => return Next::Pause(dice.between(*low, *high)),
                Some(Step::Close(manner)) => return Next::Close(*manner),
                Some(Step::Goto(targets)) => {
                    let all = targets.iter().fold(0_u64, |sum, (_, weight)| sum.saturating_add(*weight));
                    let mut drawn = dice.below(all);
                    let target = targets.iter().find(|(_, weight)| match drawn.checked_sub(*weight) {
                        None => true,
                        Some(rest) => {
                            drawn = rest;
                            false
                        }
                    });
                    if let Some((to, _)) = target {
                        walk.step = *to;
                    }
                }
            }
        }
        Next::End
    }
}

/// The running sums by which the requests of a home are drawn; none where all are as likely or come in turn.
pub(super) fn sums(pick: Pick, weights: &[f64]) -> Vec<f64> {
    let of = |at: usize, weight: f64| match pick {
        Pick::Zipf(s) => (at as f64 + 1.0).powf(-s),
        _ => weight,
    };
    if matches!(pick, Pick::InTurn | Pick::Each | Pick::Random) {
        return Vec::new();
    }
    let running = weights.iter().enumerate().scan(0.0, |sum, (at, weight)| {
        *sum += of(at, *weight);
        Some(*sum)
    });
    running.collect()
}

/// Draws one by its running sums.
pub(crate) fn drawn(sums: &[f64], dice: &mut Dice) -> usize {
    let point = dice.unit() * sums.last().copied().unwrap_or(0.0);
    sums.partition_point(|sum| *sum <= point).min(sums.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(rounds: &[(u64, &[Step])]) -> Rounds {
        let round = |(weight, steps): &(u64, &[Step])| Round {
            name: String::new(),
            weight: *weight,
            steps: steps.to_vec(),
        };
        Rounds::new(rounds.iter().map(round).collect())
    }

    #[test]
    fn rounds_are_chosen_by_weight() {
        let rounds = rounds(&[(3, &[Step::Send(0)]), (0, &[Step::Send(1)]), (1, &[Step::Send(2)])]);
        let mut dice = Dice::of(1, "test", 0);
        let mut seen = [0; 3];
        (0..40_000).for_each(|_| seen[rounds.begin(&mut dice).round] += 1);
        assert_eq!(seen[1], 0);
        // Five standard deviations of a share of 3/4.
        assert!((f64::from(seen[0]) - 30_000.0).abs() < 5.0 * 87.0, "{seen:?}");
    }

    #[test]
    fn a_round_goes_through_its_steps_and_jumps() {
        let steps = [
            Step::Send(7),
            Step::Pause(5, 5),
            Step::Close(Manner::Reset),
            Step::Goto(vec![(4, 1)]),
            Step::Send(8),
        ];
        let rounds = rounds(&[(1, &steps)]);
        let mut dice = Dice::of(1, "test", 0);
        let mut walk = rounds.begin(&mut dice);
        let seen: Vec<Next> = (0..5).map(|_| rounds.next(&mut walk, &mut dice)).collect();
        assert_eq!(
            seen,
            [Next::Send(7), Next::Pause(5), Next::Close(Manner::Reset), Next::Send(8), Next::End]
        );
    }

    #[test]
    fn jumps_follow_their_weights_and_an_endless_loop_ends() {
        let rounds = rounds(&[(
            1,
            &[Step::Goto(vec![(1, 1), (3, 9)]), Step::Send(1), Step::Goto(vec![(2, 1)]), Step::Send(3)],
        )]);
        let mut dice = Dice::of(2, "test", 0);
        let mut far = 0;
        for _ in 0..10_000 {
            let mut walk = rounds.begin(&mut dice);
            match rounds.next(&mut walk, &mut dice) {
                Next::Send(3) => far += 1,
                // After it stands a jump to itself.
                other => assert_eq!((other, rounds.next(&mut walk, &mut dice)), (Next::Send(1), Next::End)),
            }
        }
        assert!((8_850..9_150).contains(&far), "{far}");
    }

    #[test]
    fn zipf_draws_the_first_most_often() {
        let sums = sums(Pick::Zipf(1.0), &[0.0; 4]);
        let mut dice = Dice::of(3, "test", 0);
        let mut seen = [0_u32; 4];
        (0..25_000).for_each(|_| seen[drawn(&sums, &mut dice)] += 1);
        // 1, 1/2, 1/3, 1/4 of 25/12.
        for (count, want) in seen.iter().zip([12_000.0, 6_000.0, 4_000.0, 3_000.0]) {
            assert!((f64::from(*count) - want).abs() < 5.0 * f64::sqrt(want), "{seen:?}");
        }
        let weighted = super::sums(Pick::Weighted, &[0.0, 1.0, 0.0]);
        assert!((0..1000).all(|_| drawn(&weighted, &mut dice) == 1));
    }
}
