//! What is asked again, and what never is.

use super::*;
use samovar_balance::BodyState;
use samovar_reason::Retry;

fn why(attempt: Attempt, idempotent: bool, body: BodyState) -> Retry {
    balancer(Method::Requests, &[1, 1]).verdict(0, &[0], attempt, idempotent, body).why
}

#[test]
fn by_how_far_it_got_and_by_method() {
    let sent = |why| Attempt::Failed(why, Reached::Sent);
    let whole = BodyState::Whole;
    for (attempt, idempotent, body, want) in [
        (REFUSED, true, whole, Retry::Again),
        // Nothing was sent: any method may be repeated, if its body is whole.
        (REFUSED, false, whole, Retry::Again),
        (REFUSED, false, BodyState::Taken, Retry::BodyGone),
        (RESET, true, whole, Retry::Again),
        (RESET, true, BodyState::Taken, Retry::BodyGone),
        (RESET, false, whole, Retry::NotRepeatable),
        (sent(Upstream::HeadTimeout), true, whole, Retry::NotListed),
        (sent(Upstream::BadHead), true, whole, Retry::Again),
        (sent(Upstream::ClientGone), true, whole, Retry::NotListed),
        (Attempt::Failed(Upstream::LoopDetected, Reached::NotSent), true, whole, Retry::NotListed),
        (Attempt::Status(503), true, whole, Retry::Again),
        (Attempt::Status(503), false, whole, Retry::NotRepeatable),
        (Attempt::Status(500), true, whole, Retry::NotListed),
    ] {
        assert_eq!(why(attempt, idempotent, body), want, "{attempt:?} {idempotent} {body:?}");
    }
}

#[test]
fn each_member_is_asked_once_and_not_too_many() {
    let mut b = balancer(Method::Requests, &[1, 1, 1, 1]);
    let mut verdict = |tried: &[usize]| b.verdict(0, tried, REFUSED, true, BodyState::Whole).why;
    assert_eq!(verdict(&[0]), Retry::Again);
    assert_eq!(verdict(&[0, 1]), Retry::Again);
    assert_eq!(verdict(&[0, 1, 2]), Retry::Spent);
    let mut b = balancer(Method::Requests, &[1, 1]);
    assert_eq!(b.verdict(0, &[0, 1], REFUSED, true, BodyState::Whole).why, Retry::NobodyElse);
    assert!(b.elect(0, &Ask { tried: &[0, 1], ..ask() }).is_err());
    assert_eq!(b.elect(0, &Ask { tried: &[0], ..ask() }).unwrap().member, 1);
}

#[test]
fn a_struggling_upstream_is_not_asked_twice_as_much() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    // All fail, for long: what is repeated comes down to the budget, a fifth.
    let mut again = 0;
    for n in 0..10_000 {
        elect(&mut b, 0);
        let repeated = b.verdict(0, &[0], RESET, true, BodyState::Whole).again;
        again += u32::from(repeated && n >= 5_000);
    }
    assert_eq!(again, 1_000);
    // What was never sent costs nobody anything.
    assert!(b.verdict(0, &[0], REFUSED, true, BodyState::Whole).again);
}
