//! Clusters in simulated worlds: whatever the seed, who is up and who is not is found out in time.

use crate::cluster::{Cluster, What};
use crate::support::times;
use What::{Down, Up};

/// Periods in which all find each other.
const JOIN: u32 = 12;

/// Periods in which one that ended is down at all others.
fn notice(size: usize) -> u32 {
    2 * u32::try_from(size - 1).unwrap() + 8
}

/// A cluster of each size under each seed, in which all have found each other.
fn clusters(mut test: impl FnMut(&mut Cluster, &[usize])) {
    let few = if cfg!(sanitized) { 1 } else { 3 };
    for seed in 0..u64::try_from(times(few)).unwrap() {
        for size in [3, 5] {
            let mut cluster = Cluster::new(seed, size);
            let all: Vec<_> = (0..size).collect();
            cluster.run(JOIN);
            assert!(cluster.agree(&all), "seed {seed}: {:?}", cluster.members(0));
            let mut told = cluster.told();
            told.sort_unstable();
            let others = |node| (0..size).filter(move |other| *other != node);
            let each =
                (0..size).flat_map(|node| others(node).map(move |other| (node, Up, other, 0)));
            assert!(told.into_iter().eq(each), "seed {seed}: each is up once");
            test(&mut cluster, &all);
        }
    }
}

#[test]
fn all_find_each_other_and_stay() {
    clusters(|cluster, _| {
        cluster.run(120);
        assert_eq!(cluster.told(), []);
    });
}

#[test]
fn one_that_ends_is_down_in_time_and_its_next_run_is_up() {
    clusters(|cluster, all| {
        let last = all.len() - 1;
        let others = &all[..last];
        cluster.nodes[last].kill();
        cluster.run(notice(all.len()));
        assert!(cluster.agree(others));
        let told = cluster.told_of(last);
        assert!(told.len() == last && told.values().all(|told| *told == [(Down, 0)]), "{told:?}");

        cluster.nodes[last].restart();
        cluster.run(JOIN);
        assert!(cluster.agree(all));
        let told = cluster.told().into_iter().filter(|told| told.0 != last);
        let mut told: Vec<_> = told.collect();
        told.sort_unstable();
        assert!(told.into_iter().eq(others.iter().map(|&node| (node, Up, last, 1))));
        cluster.run(60);
        assert_eq!(cluster.told(), []);
    });
}

#[test]
fn one_that_starts_anew_at_once_is_another_member() {
    clusters(|cluster, all| {
        // Also the first one, by which the others were found.
        for node in [0, all.len() - 1] {
            cluster.nodes[node].restart();
            cluster.run(notice(all.len()) + JOIN);
            assert!(cluster.agree(all), "{node}: {:?}", cluster.members(node));
            let told = cluster.told().into_iter().filter(|told| told.0 != node);
            for other in all.iter().copied().filter(|other| *other != node) {
                let told = told.clone().filter(|told| told.0 == other);
                let wanted = [(other, Down, node, 0), (other, Up, node, 1)];
                assert!(told.clone().eq(wanted), "{:?}", told.collect::<Vec<_>>());
            }
        }
    });
}

#[test]
fn sides_of_a_partition_find_each_other_again() {
    clusters(|cluster, all| {
        let (one, other) = all.split_at(all.len() / 2);
        cluster.part(one, other);
        cluster.run(notice(all.len()) + 20);
        assert!(cluster.agree(one) && cluster.agree(other));
        let told = cluster.told();
        assert!(told.iter().all(|told| told.1 == Down), "{told:?}");
        assert_eq!(told.len(), 2 * one.len() * other.len());

        cluster.mend(one, other);
        cluster.run(15);
        assert!(cluster.agree(all));
        let told = cluster.told();
        assert!(told.iter().all(|told| told.1 == Up), "{told:?}");
        assert_eq!(told.len(), 2 * one.len() * other.len());
        cluster.run(60);
        assert_eq!(cluster.told(), []);
    });
}

#[test]
fn one_way_that_is_gone_takes_nobody_down() {
    clusters(|cluster, all| {
        let last = all.len() - 1;
        cluster.part(&[last], &[last - 1]);
        cluster.run(120);
        assert_eq!(cluster.told(), [], "the others answer for both");
        // Connections that break and are there again.
        cluster.mend(&[last], &[last - 1]);
        for round in 0..60 {
            let (a, b) = (round % all.len(), (round + 1) % all.len());
            cluster.network.cut(&crate::cluster::place(a), &crate::cluster::place(b));
            cluster.run(1);
        }
        assert_eq!(cluster.told(), []);
    });
}

#[test]
fn whoever_leaves_is_down_at_once() {
    clusters(|cluster, all| {
        let last = all.len() - 1;
        let members = cluster.members(last);
        let mut events = members.subscribe();
        cluster.world.run(async {
            members.leave().await;
            assert_eq!(events.next().await, None);
        });
        cluster.run(3);
        assert!(cluster.agree(&all[..last]));
        let told = cluster.told_of(last);
        assert!(told.len() == last && told.values().all(|told| *told == [(Down, 0)]), "{told:?}");
        cluster.run(60);
        assert_eq!(cluster.told(), []);
    });
}

#[test]
fn a_seed_repeats_its_history() {
    let history = |seed| {
        let mut cluster = Cluster::new(seed, 3);
        cluster.run(JOIN);
        cluster.nodes[2].restart();
        cluster.run(20);
        (cluster.told(), cluster.world.trace_hash())
    };
    assert_eq!(history(7), history(7));
    assert_ne!(history(7).1, history(8).1);
}
