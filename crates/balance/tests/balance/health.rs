//! Who is set aside, who is taken back.

use super::*;
use proptest::prelude::*;
use samovar_balance::{BodyState, Change};
use samovar_reason::{Elect, Retry, Unusable};

fn set_aside(b: &mut Balancer, member: usize) {
    for _ in 0..3 {
        bad(b, 0, member);
    }
}

fn take_down(b: &mut Balancer, member: usize) {
    for _ in 0..3 {
        b.probed(0, member, false);
    }
}

#[test]
fn one_that_fails_in_a_row_is_left_alone_then_tried_then_taken_back() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    assert!(!bad(&mut b, 0, 1));
    assert!(!bad(&mut b, 0, 1));
    assert!(bad(&mut b, 0, 1), "the third in a row");
    let choice = elect(&mut b, 9_999);
    assert_eq!((choice.member, &choice.passed_over[..]), (0, &[(1, Unusable::Ejected)][..]));
    // Then one at a time tries it.
    let trial = (0..2).map(|_| elect(&mut b, 10_000)).find(|c| c.member == 1).expect("a trial");
    assert_eq!(trial.why, Elect::Trial);
    assert_eq!(elect(&mut b, 10_000).passed_over, [(1, Unusable::OnTrial)]);
    assert_eq!(b.heard(10_050, 1, Ok(50_000)), Heard::Back);
    assert!(elect(&mut b, 10_050).passed_over.is_empty());
}

#[test]
fn a_trial_that_fails_costs_more_time() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    let mut now = 0;
    for _ in 0..3 {
        bad(&mut b, now, 1);
    }
    for for_ms in [10_000, 20_000, 40_000, 80_000, 160_000, 160_000] {
        let elected = |b: &mut Balancer, now| {
            (0..2).any(|_| {
                let c = elect(b, now);
                b.released(c.member, c.member == 1);
                c.member == 1
            })
        };
        assert!(!elected(&mut b, now + for_ms - 1), "left alone for {for_ms}");
        assert!(elected(&mut b, now + for_ms), "tried after {for_ms}");
        now += for_ms;
        while elect(&mut b, now).member != 1 {}
        assert!(bad(&mut b, now, 1));
    }
}

#[test]
fn a_trial_whose_client_left_is_nobodys() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    for _ in 0..3 {
        bad(&mut b, 0, 1);
    }
    while elect(&mut b, 10_000).member != 1 {}
    b.released(1, true);
    let again = (0..2).map(|_| elect(&mut b, 10_001)).find(|c| c.member == 1);
    assert_eq!(again.map(|c| c.why), Some(Elect::Trial));
}

#[test]
fn failures_that_are_ours_or_the_clients_are_not_held_against_it() {
    for why in Upstream::ALL {
        let mut b = balancer(Method::Requests, &[1, 1]);
        let failed = Err(Attempt::Failed(*why, Reached::NotSent));
        let aside = (0..3).any(|_| b.heard(0, 1, failed) == Heard::Aside);
        let ours = matches!(
            why,
            Upstream::ClientGone
                | Upstream::LoopDetected
                | Upstream::Unsendable
                | Upstream::LengthRequired
                | Upstream::NoSockets
                | Upstream::NoMember
                | Upstream::QueueFull
                | Upstream::QueueTimeout
                | Upstream::UpgradedFull
        );
        assert_eq!(aside, !ours, "{why}");
    }
}

#[test]
fn a_status_counts_only_if_it_is_listed() {
    for (status, want) in [(503, true), (500, false), (404, false)] {
        let mut b = balancer(Method::Requests, &[1, 1]);
        let aside = (0..3).any(|_| b.heard(0, 1, Err(Attempt::Status(status))) == Heard::Aside);
        assert_eq!(aside, want, "{status}");
    }
}

#[test]
fn probes_take_down_and_bring_back() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    assert_eq!([false, false, true, false, false].map(|good| b.probed(0, 1, good)), [None; 5]);
    assert_eq!(b.probed(0, 1, false), Some(false), "the third in a row");
    assert_eq!(elect(&mut b, 0).passed_over, [(1, Unusable::Down)]);
    assert_eq!([true, false, true].map(|good| b.probed(0, 1, good)), [None; 3]);
    assert_eq!(b.probed(0, 1, true), Some(true), "the second in a row");
    assert!(elect(&mut b, 0).passed_over.is_empty());
}

/// What made requests fail is mended as well, as far as anyone can tell.
#[test]
fn a_member_that_its_probes_bring_back_is_not_left_alone_any_longer() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    set_aside(&mut b, 1);
    take_down(&mut b, 1);
    b.probed(1, 1, true);
    assert_eq!(b.probed(1, 1, true), Some(true));
    assert!(elect(&mut b, 1).passed_over.is_empty());
    // And it takes as many failures in a row as ever to set it aside.
    assert_eq!([(); 3].map(|()| bad(&mut b, 1, 1)), [false, false, true]);
}

#[test]
fn where_all_seem_ill_one_is_asked_all_the_same() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    for at in [0, 1] {
        for _ in 0..3 {
            b.probed(0, at, false);
        }
    }
    assert_eq!(elect(&mut b, 0).why, Elect::LastResort);
    // But never one that the operator took out.
    for at in [0, 1] {
        b.change(0, at, &Change { admin: Some(Admin::Disabled), ..Change::default() });
    }
    let nobody = b.elect(0, &ask()).unwrap_err();
    assert_eq!(nobody.passed_over, [(0, Unusable::Disabled), (1, Unusable::Disabled)]);
}

#[test]
fn a_single_member_that_is_disabled_takes_nothing() {
    let mut b = balancer(Method::Requests, &[1]);
    assert_eq!(elect(&mut b, 0).why, Elect::Only);
    for admin in [Admin::Disabled, Admin::Drain] {
        b.change(0, 0, &Change { admin: Some(admin), ..Change::default() });
        assert!(b.elect(0, &ask()).is_err(), "{admin:?}");
    }
    let of_session = Ask { route: Some("ra"), ..ask() };
    assert_eq!(b.elect(0, &of_session).unwrap().why, Elect::Sticky, "draining keeps its sessions");
}

#[test]
fn a_full_one_is_better_than_an_ill_one() {
    let members = vec![Member { busy_max: 1, ..member("a", 1) }, member("b", 1)];
    let mut b = Balancer::new(settings(Method::Requests, members));
    assert_eq!(elect(&mut b, 0).member, 0);
    for _ in 0..3 {
        bad(&mut b, 0, 1);
    }
    let choice = elect(&mut b, 0);
    assert_eq!((choice.member, choice.why), (0, Elect::LastResort));
}

#[test]
fn enabling_forgives() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    for _ in 0..3 {
        bad(&mut b, 0, 1);
    }
    b.change(1, 1, &Change { admin: Some(Admin::Enabled), ..Change::default() });
    assert!(elect(&mut b, 1).passed_over.is_empty());
}

/// The last one in use fails a request: one that is set aside is asked before the client is told so, and is taken back.
#[test]
fn one_set_aside_is_asked_when_the_last_one_fails() {
    for attempt in [REFUSED, RESET] {
        let mut b = balancer(Method::Requests, &[1, 1]);
        set_aside(&mut b, 1);
        let choice = elect(&mut b, 1);
        assert_eq!((choice.member, &choice.passed_over[..]), (0, &[(1, Unusable::Ejected)][..]));
        b.heard(1, 0, Err(attempt));
        let verdict = b.verdict(1, &[0], attempt, true, BodyState::Whole);
        assert_eq!(verdict.why, Retry::Again, "{attempt:?}");
        b.released(0, false);
        let second = b.elect(1, &Ask { tried: &[0], ..ask() }).unwrap();
        assert_eq!((second.member, second.why), (1, Elect::LastResort));
        assert_eq!(b.heard(2, 1, Ok(1_000)), Heard::Back);
        // And the one that fails is set aside in its place.
        assert!([bad(&mut b, 3, 0), bad(&mut b, 3, 0)].contains(&true));
    }
}

#[test]
fn one_down_by_its_probes_or_full_is_asked_when_the_last_one_fails_too() {
    let down = |b: &mut Balancer| take_down(b, 1);
    let full = |b: &mut Balancer| drop(b.elect(0, &Ask { route: Some("rb"), ..ask() }));
    let trial = |b: &mut Balancer| {
        set_aside(b, 1);
        while elect(b, 10_000).member != 1 {}
    };
    for (what, make) in [("down", &down as &dyn Fn(&mut Balancer)), ("full", &full), ("on trial", &trial)] {
        let members = vec![member("a", 1), Member { busy_max: 1, ..member("b", 1) }];
        let mut b = Balancer::new(settings(Method::Requests, members));
        make(&mut b);
        assert_eq!(b.verdict(10_000, &[0], REFUSED, true, BodyState::Whole).why, Retry::Again, "{what}");
        assert_eq!(b.elect(10_000, &Ask { tried: &[0], ..ask() }).unwrap().why, Elect::LastResort, "{what}");
    }
}

/// An answer is passed on rather than given up for one that failed, and our own full queue says nothing of a member.
#[test]
fn one_set_aside_is_not_asked_where_an_answer_came_or_only_room_was_missing() {
    let queue = Attempt::Failed(Upstream::QueueFull, Reached::NotSent);
    for attempt in [Attempt::Status(503), queue] {
        let mut b = balancer(Method::Requests, &[1, 1]);
        assert_eq!(b.verdict(0, &[0], attempt, true, BodyState::Whole).why, Retry::Again);
        set_aside(&mut b, 1);
        let verdict = b.verdict(0, &[0], attempt, true, BodyState::Whole);
        assert_eq!(verdict.why, Retry::NobodyElse, "{attempt:?}");
    }
}

/// What may not be repeated does not fail for as long as the other is left alone, either.
#[test]
fn where_all_in_use_fail_in_a_row_those_set_aside_are_in_use_again() {
    let in_turn = |members: Vec<Member>| Balancer::new(settings(Method::Requests, members));
    for (what, members) in [
        ("equals", vec![member("a", 1), member("b", 1)]),
        ("a standby", vec![member("a", 1), Member { standby: true, ..member("b", 1) }]),
        ("a later set", vec![member("a", 1), Member { set: 1, ..member("b", 1) }]),
    ] {
        let mut b = in_turn(members);
        set_aside(&mut b, 1);
        assert_eq!([(); 2].map(|()| b.heard(1, 0, Err(RESET))), [Heard::Same; 2], "{what}");
        assert_eq!(b.heard(1, 0, Err(RESET)), Heard::Recalled, "{what}");
        // Nobody is set aside, or brought back, over and over while all fail.
        assert_eq!([0, 1, 0, 1, 0, 1].map(|at| b.heard(2, at, Err(RESET))), [Heard::Same; 6], "{what}");
        let both: Vec<usize> = (0..2).map(|_| elect(&mut b, 3).member).collect();
        assert!(both.contains(&0) && both.contains(&1), "{what}: {both:?}");
        // The first that answers stays, the other goes.
        b.heard(3, 1, Ok(1_000));
        assert!(bad(&mut b, 3, 0), "{what}");
        assert_eq!(elect(&mut b, 4).member, 1, "{what}");
    }
}

/// Of several that seem ill another is asked each time, or a dead one would hide one that is not.
#[test]
fn a_last_resort_goes_round() {
    let mut b = balancer(Method::Requests, &[1, 1, 1]);
    (0..3).for_each(|at| take_down(&mut b, at));
    let mut asked: Vec<usize> = (0..3)
        .map(|_| {
            let choice = elect(&mut b, 0);
            b.released(choice.member, false);
            choice.member
        })
        .collect();
    asked.sort_unstable();
    assert_eq!(asked, [0, 1, 2]);
}

/// A URL that a member answers badly, asked between others that it answers well, does not set it aside.
#[test]
fn only_failures_in_a_row_count() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    for now in 0..100 {
        assert_eq!([(); 2].map(|()| b.heard(now, 1, Err(RESET))), [Heard::Same; 2]);
        assert_eq!(b.heard(now, 1, Ok(1_000)), Heard::Same);
    }
}

proptest! {
    /// Whatever fails, somebody is left who is not set aside, and never more than the part allowed are.
    #[test]
    fn the_last_is_never_set_aside(
        count in 1_usize..6,
        events in proptest::collection::vec((0_usize..6, any::<bool>(), 0_u64..4_000), 1..200),
    ) {
        let mut b = balancer(Method::Requests, &[1, 1, 1, 1, 1, 1][..count]);
        let mut now = 0;
        for (at, good, passed) in events {
            now += passed;
            let at = at % count;
            b.heard(now, at, if good { Ok(1_000) } else { Err(RESET) });
            let aside = b.view(now).iter().filter(|m| m.unusable == Some(Unusable::Ejected)).count();
            prop_assert!(aside < count);
            prop_assert!(aside <= (count / 2).max(1), "{aside} of {count}");
        }
    }
}
