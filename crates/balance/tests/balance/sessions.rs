//! Sessions stay where they are.

use super::*;
use samovar_balance::Change;
use samovar_reason::{Elect, Unusable};

fn of_session(b: &mut Balancer, route: &str) -> Choice {
    b.elect(0, &Ask { route: Some(route), ..ask() }).unwrap()
}

#[test]
fn a_session_goes_where_it_is() {
    let mut b = balancer(Method::Requests, &[1, 1, 1]);
    for _ in 0..5 {
        let choice = of_session(&mut b, "rb");
        assert_eq!((choice.member, choice.why), (1, Elect::Sticky));
    }
    assert_eq!(of_session(&mut b, "unknown").why, Elect::ByRequests);
    assert_eq!(of_session(&mut b, "").why, Elect::ByRequests);
}

#[test]
fn draining_keeps_sessions_and_takes_no_new_ones() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    b.change(0, 1, &Change { admin: Some(Admin::Drain), ..Change::default() });
    assert_eq!(of_session(&mut b, "rb").member, 1);
    for _ in 0..5 {
        let choice = elect(&mut b, 0);
        assert_eq!((choice.member, &choice.passed_over[..]), (0, &[(1, Unusable::Draining)][..]));
    }
}

#[test]
fn a_session_moves_when_its_member_cannot() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    b.change(0, 1, &Change { admin: Some(Admin::Disabled), ..Change::default() });
    let choice = of_session(&mut b, "rb");
    assert_eq!((choice.member, choice.why), (0, Elect::StickyMoved));
}

#[test]
fn a_session_may_be_on_a_standby_or_a_later_set() {
    let members =
        vec![member("a", 1), Member { standby: true, ..member("b", 1) }, Member { set: 2, ..member("c", 1) }];
    let mut b = Balancer::new(settings(Method::Requests, members));
    assert_eq!(of_session(&mut b, "rb").member, 1);
    assert_eq!(of_session(&mut b, "rc").member, 2);
    assert_eq!(elect(&mut b, 0).member, 0);
}

#[test]
fn what_was_changed_live_stays_where_the_file_says_nothing_new() {
    let file = settings(Method::Requests, vec![member("a", 1), member("b", 1)]);
    let mut b = Balancer::new(file.clone());
    b.change(0, 0, &Change { weight: Some(7), admin: Some(Admin::Drain), ..Change::default() });
    b.set_method(Method::Busyness);
    let mut new = file.clone();
    new.members[0].weight = 3;
    new.members[1].weight = 9;
    let merged = new.carrying(&file, b.settings());
    assert_eq!((merged.members[0].weight, merged.members[1].weight), (3, 9));
    assert_eq!((merged.members[0].admin, merged.method), (Admin::Drain, Method::Busyness));
}

#[test]
fn other_settings_keep_what_is_known() {
    let mut b = balancer(Method::Requests, &[1, 1]);
    for _ in 0..3 {
        bad(&mut b, 0, 1);
    }
    let mut other = b.with(settings(Method::Requests, vec![member("b", 1), member("new", 1)]));
    assert_eq!(elect(&mut other, 0).passed_over, [(0, Unusable::Ejected)]);
}
