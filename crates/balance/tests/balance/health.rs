//! Who is set aside, who is taken back.

use super::*;
use proptest::prelude::*;
use samovar_balance::Change;
use samovar_reason::{Elect, Unusable};

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
    assert!(b.heard(10_050, 1, Ok(50_000)), "taken back");
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
        let aside = (0..3).any(|_| b.heard(0, 1, Err(Attempt::Failed(*why, Reached::NotSent))));
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
        assert_eq!((0..3).any(|_| b.heard(0, 1, Err(Attempt::Status(status)))), want, "{status}");
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
