//! Plans of URLs: who asks what, and how work is shared among threads.

use super::*;
use proptest::prelude::*;

fn plan(urls: &[&str], clients: u32, threads: u32, count: Option<u64>) -> Result<Plan, String> {
    let targets: Vec<Target> = urls.iter().map(|url| url.parse().unwrap()).collect();
    let load = Load::closed(clients, threads, count, Schedule::plain(f64::from(clients), 0, None, 0));
    Plan::of_urls(&targets, &[], Pick::InTurn, &Wish::default(), load)
}

#[test]
fn each_thread_starts_at_another_url() {
    let plan =
        plan(&["http://a/1", "http://a/2", "http://a/3", "http://a/4", "http://b/5"], 8, 2, None).unwrap();
    let homes: Vec<usize> = (0..8).map(|index| plan.home_of(index)).collect();
    assert_eq!(homes, [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!([0, 1].map(|thread| plan.first_of(thread, 0)), [0, 2]);
    assert_eq!([0, 1].map(|thread| plan.first_of(thread, 1)), [0, 0]);
}

#[test]
fn too_few_connections_for_the_servers() {
    let error = plan(&["http://a/", "http://b/", "http://c/"], 2, 1, None).unwrap_err();
    assert!(error.contains("raise -c to 3"), "{error}");
}

#[test]
fn the_same_place_with_tls_is_another_origin() {
    let plan = plan(&["http://a:1/", "https://a:1/", "http://a:1/x"], 2, 1, None).unwrap();
    let of: Vec<usize> = plan.requests.iter().map(|request| plan.origin_of(request, 5)).collect();
    assert_eq!((of, plan.origins.len()), (vec![0, 1, 0], 2));
}

#[test]
fn no_connection_without_work() {
    let plan = plan(&["http://a/"], 10, 4, Some(3)).unwrap();
    assert_eq!((plan.load.clients, plan.load.threads), (3, 3));
}

proptest! {
    #[test]
    fn threads_share_clients_ranks_and_count(
        clients in 1_u32..500, threads in 1_u32..64, count in 1_u64..100_000
    ) {
        let plan = plan(&["http://a/"], clients, threads, Some(count)).unwrap();
        let mut next = 0;
        let mut sum = 0;
        let mut ranks = Vec::new();
        for thread in 0..plan.load.threads {
            let range = plan.clients_of(thread);
            prop_assert_eq!(range.start, next);
            prop_assert!(!range.is_empty());
            next = range.end;
            ranks.extend((0..range.len()).map(|place| plan.rank_of(thread, place)));
            let budget = plan.budget_of(thread).unwrap();
            prop_assert!(budget >= range.len() as u64 || u64::from(plan.load.clients) > count);
            sum += budget;
        }
        prop_assert_eq!(next, plan.load.clients as usize);
        prop_assert_eq!(sum, count);
        ranks.sort_unstable();
        prop_assert_eq!(ranks, (0..plan.load.clients).collect::<Vec<u32>>());
    }
}
