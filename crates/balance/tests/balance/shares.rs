//! Who gets how much.

use super::*;
use proptest::prelude::*;
use samovar_balance::{Change, hash_of, owner_of};
use samovar_reason::{Elect, Unusable};

#[test]
fn turns_are_spread_evenly() {
    let mut b = balancer(Method::Requests, &[5, 1, 1]);
    let order: Vec<usize> = (0..7).map(|_| good(&mut b, 0)).collect();
    // The well-known order of smooth weighted round robin for 5, 1, 1.
    assert_eq!(order, [0, 0, 1, 0, 2, 0, 0]);
}

#[test]
fn equal_weights_take_turns() {
    let mut b = balancer(Method::Requests, &[50, 50]);
    let order: Vec<usize> = (0..6).map(|_| good(&mut b, 0)).collect();
    assert_eq!(order, [0, 1, 0, 1, 0, 1]);
    assert_eq!(elect(&mut b, 0).why, Elect::ByRequests);
}

proptest! {
    /// Over one round of all weights each gets exactly its share.
    #[test]
    fn turns_keep_the_weights(weights in proptest::collection::vec(1_u32..20, 2..8)) {
        let mut b = balancer(Method::Requests, &weights);
        let mut got = vec![0; weights.len()];
        for _ in 0..weights.iter().sum::<u32>() {
            got[good(&mut b, 0)] += 1;
        }
        prop_assert_eq!(got, weights);
    }

    /// Keys keep their member when another one leaves; its own spread over the others.
    #[test]
    fn only_the_keys_of_one_that_leaves_move(weights in proptest::collection::vec(1_u32..20, 3..8), gone in 0_usize..3, keys in any::<u64>()) {
        let names: Vec<String> = (0..weights.len()).map(|n| format!("m{n}")).collect();
        let all = || weights.iter().enumerate().map(|(at, w)| (at, names[at].as_str(), f64::from(*w)));
        for n in 0..200 {
            let key = hash_of(format!("{keys}/{n}").as_bytes());
            let before = owner_of(key, all()).unwrap();
            let after = owner_of(key, all().filter(|(at, ..)| *at != gone)).unwrap();
            prop_assert!(after != gone);
            prop_assert!(before == gone || before == after);
        }
    }

    /// Whoever is chosen could be: enabled, with room, of the lowest set that has anyone.
    #[test]
    fn nobody_is_chosen_who_cannot(
        made in proptest::collection::vec((1_u32..5, 0_u32..3, any::<bool>(), 0_usize..4, 0_usize..3), 2..7),
        method in 0_usize..6,
        dice in proptest::collection::vec(any::<u64>(), 30),
    ) {
        let admins = [Admin::Enabled, Admin::Drain, Admin::Disabled, Admin::Enabled];
        let members: Vec<Member> = made.iter().enumerate().map(|(at, (weight, set, standby, admin, room))| Member {
            set: *set, standby: *standby, admin: admins[*admin], busy_max: *room + 1, ..member(&format!("m{at}"), *weight)
        }).collect();
        let mut b = Balancer::new(settings(Method::WORDS[method].1, members.clone()));
        let mut busy = vec![0_usize; members.len()];
        for dice in dice {
            let able = |at: &usize| members[*at].admin == Admin::Enabled && busy[*at] < members[*at].busy_max;
            let best = (0..members.len()).filter(able).map(|at| (members[at].set, members[at].standby)).min();
            match b.elect(0, &Ask { dice, key: dice, ..ask() }) {
                Ok(choice) => {
                    let m = &members[choice.member];
                    prop_assert_eq!(m.admin, Admin::Enabled);
                    if choice.why == Elect::LastResort {
                        prop_assert_eq!(best, None);
                    } else {
                        prop_assert_eq!(Some((m.set, m.standby)), best);
                        prop_assert!(busy[choice.member] < m.busy_max);
                    }
                    busy[choice.member] += 1;
                    prop_assert_eq!(choice.busy, busy[choice.member]);
                }
                Err(_) => prop_assert!(members.iter().all(|m| m.admin != Admin::Enabled)),
            }
        }
    }
}

#[test]
fn keys_spread_by_weight() {
    let mut b = balancer(Method::Hash, &[3, 1]);
    let mut got = [0; 2];
    for n in 0..4_000 {
        let choice = b.elect(0, &Ask { key: hash_of(format!("/tile/{n}").as_bytes()), ..ask() }).unwrap();
        assert_eq!(choice.why, Elect::ByHash);
        got[choice.member] += 1;
        b.released(choice.member, true);
    }
    // 3,000 and 1,000, with a standard deviation of 27.
    assert!((2_850..3_150).contains(&got[0]), "{got:?}");
}

#[test]
fn the_least_busy_for_its_weight_is_taken() {
    let mut b = balancer(Method::Busyness, &[2, 1]);
    let order: Vec<usize> = (0..6).map(|_| elect(&mut b, 0).member).collect();
    assert_eq!(order.iter().filter(|at| **at == 0).count(), 4, "{order:?}");
    b.released(1, false);
    assert_eq!(elect(&mut b, 0).member, 1, "one under way for weight 1, four for weight 2");
}

#[test]
fn the_one_that_carried_least_is_taken() {
    let mut b = balancer(Method::Traffic, &[1, 2]);
    let mut carried = [0_u64; 2];
    for _ in 0..300 {
        let at = b.elect(0, &Ask { bytes: &|at| carried[at], ..ask() }).unwrap().member;
        carried[at] += if at == 0 { 3_000 } else { 1_000 };
    }
    let ratio = carried[1] as f64 / carried[0] as f64;
    assert!((1.9..2.1).contains(&ratio), "{carried:?}");
}

#[test]
fn one_that_comes_back_is_not_flooded_to_make_up() {
    let mut b = balancer(Method::Traffic, &[1, 1]);
    let mut carried = [1_000_000_u64, 0];
    let bytes = |carried: [u64; 2]| move |at: usize| carried[at];
    b.level_bytes(1, &bytes(carried));
    let mut got = [0; 2];
    for _ in 0..100 {
        let at = b.elect(0, &Ask { bytes: &bytes(carried), ..ask() }).unwrap().member;
        carried[at] += 1_000;
        got[at] += 1;
    }
    assert_eq!(got, [50, 50]);
}

/// Whoever carried more than others already owes nothing less for it.
#[test]
fn one_that_comes_back_and_has_carried_most_is_not_made_up_to() {
    let mut b = balancer(Method::Traffic, &[1, 1]);
    let mut carried = [1_000_000_u64, 0];
    let bytes = |carried: [u64; 2]| move |at: usize| carried[at];
    b.level_bytes(0, &bytes(carried));
    for _ in 0..100 {
        let at = b.elect(0, &Ask { bytes: &bytes(carried), ..ask() }).unwrap().member;
        assert_eq!(at, 1);
        carried[at] += 1_000;
    }
}

/// What a member was in the turns, and how slow, before it went says nothing of it when it is back.
#[test]
fn one_that_is_back_begins_where_the_others_are() {
    type Back = fn(&mut Balancer);
    let ways: [(&str, Back); 3] = [
        ("a trial", |b| assert_eq!(b.heard(20_000, 1, Ok(1_000)), Heard::Back)),
        ("probes", |b| {
            let said = [false, false, false, true, true].map(|good| b.probed(20_000, 1, good));
            assert_eq!(said[4], Some(true));
        }),
        ("the operator", |b| {
            b.change(20_000, 1, &Change { admin: Some(Admin::Enabled), ..Change::default() })
        }),
    ];
    for (what, back) in ways {
        let mut b = balancer(Method::Requests, &[1, 3]);
        assert_eq!(elect(&mut b, 0).member, 1);
        b.heard(0, 1, Ok(9_000_000));
        for _ in 0..3 {
            bad(&mut b, 1, 1);
        }
        let before = &b.view(1)[1];
        assert!(before.load < 0 && before.latency_us > 8e6, "{what}: {before:?}");
        back(&mut b);
        let after = &b.view(20_000)[1];
        assert_eq!((after.unusable, after.load, after.latency_us), (None, 0, 0.0), "{what}");
    }
}

#[test]
fn the_worst_time_counts_at_once_and_is_forgotten_over_ten_seconds() {
    let mut b = balancer(Method::Latency, &[1, 1]);
    let latency = |b: &Balancer, now| b.view(now)[0].latency_us;
    for now in 0..10 {
        b.heard(now, 0, Ok(1_000));
    }
    b.heard(10, 0, Ok(1_000_000));
    assert!((999_000.0..=1_000_000.0).contains(&latency(&b, 10)), "{}", latency(&b, 10));
    // A quick answer ten seconds later leaves about a third of it, and one a minute later next to nothing.
    b.heard(10_010, 0, Ok(1_000));
    assert!((360_000.0..375_000.0).contains(&latency(&b, 10_010)), "{}", latency(&b, 10_010));
    b.heard(70_010, 0, Ok(1_000));
    assert!((1_000.0..2_500.0).contains(&latency(&b, 70_010)), "{}", latency(&b, 70_010));
}

/// Or it would never be asked again.
#[test]
fn a_bad_time_is_forgotten_without_being_asked() {
    let mut b = balancer(Method::Latency, &[1, 1]);
    let asked_at = |b: &mut Balancer, now| {
        b.heard(now, 1, Ok(100_000));
        let at = elect(b, now).member;
        b.released(at, false);
        at
    };
    b.heard(0, 0, Ok(5_000_000));
    assert_eq!(asked_at(&mut b, 1_000), 1);
    assert_eq!(asked_at(&mut b, 60_000), 0);
}

/// Two servers, one five times as slow: a queue of requests in closed loop, by hand.
#[test]
fn the_quick_one_gets_more_by_latency() {
    let mut b = balancer(Method::Latency, &[1, 1]);
    let takes_ms = [10_u64, 50];
    let mut under_way: Vec<(u64, usize, u64)> = Vec::new();
    let mut got = [0; 2];
    let mut dice = 88_172_645_463_325_252_u64;
    for now in 0..20_000 {
        let (done, going) = under_way.into_iter().partition(|(end, ..)| *end <= now);
        under_way = going;
        for (_, at, took) in done {
            b.heard(now, at, Ok(took * 1_000));
            b.released(at, false);
        }
        while under_way.len() < 8 {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            let at = b.elect(now, &Ask { dice, ..ask() }).unwrap().member;
            got[at] += 1;
            under_way.push((now + takes_ms[at], at, takes_ms[at]));
        }
    }
    let share = f64::from(got[0]) / f64::from(got[0] + got[1]);
    assert!(share > 0.8, "the quick one got {share}");
    assert!(got[1] > 20, "the slow one is still asked now and then: {got:?}");
}

#[test]
fn a_later_set_waits_until_the_earlier_has_nobody() {
    let members = vec![
        Member { busy_max: 1, ..member("a", 1) },
        Member { standby: true, busy_max: 1, ..member("b", 1) },
        Member { set: 1, ..member("c", 1) },
    ];
    let mut b = Balancer::new(settings(Method::Requests, members));
    let first = elect(&mut b, 0);
    assert_eq!(first.member, 0);
    assert_eq!(first.passed_over, [(1, Unusable::Standby), (2, Unusable::LaterSet)]);
    let second = elect(&mut b, 0);
    assert_eq!(
        (second.member, &second.passed_over[..]),
        (1, &[(0, Unusable::Full), (2, Unusable::LaterSet)][..])
    );
    assert_eq!(elect(&mut b, 0).member, 2);
    b.released(0, false);
    assert_eq!(elect(&mut b, 0).member, 0);
}

#[test]
fn a_changed_weight_holds_at_once() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    b.change(0, 0, &Change { weight: Some(3), ..Change::default() });
    let got = (0..8).filter(|_| good(&mut b, 0) == 0).count();
    assert_eq!(got, 6);
}

#[test]
fn slow_start_gives_less_at_first() {
    let mut b = Balancer::new(Settings {
        slow_start_ms: 10_000,
        ..settings(Method::Requests, vec![member("a", 1), member("b", 1)])
    });
    b.change(1_000, 1, &Change { admin: Some(Admin::Disabled), ..Change::default() });
    b.change(5_000, 1, &Change { admin: Some(Admin::Enabled), ..Change::default() });
    let mut share = |now| (0..110).filter(|_| good(&mut b, now) == 1).count();
    assert_eq!(share(5_000), 10, "a tenth beside a whole");
    let half = share(10_000);
    assert!((36..=38).contains(&half), "half a weight beside a whole: {half}");
    assert_eq!(share(15_000), 55);
}
