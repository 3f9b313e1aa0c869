//! Keys are spread evenly over nodes, and few of them move.

use greenroom::net::{NodeId, rendezvous};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn keys(count: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|number| format!("key:{number}").into_bytes())
}

/// How many of the keys belong to each.
fn shares(nodes: &[NodeId], count: u32) -> BTreeMap<NodeId, u32> {
    let mut shares = BTreeMap::new();
    for key in keys(count) {
        *shares.entry(rendezvous(&key, nodes.iter().copied()).unwrap()).or_default() += 1;
    }
    shares
}

#[test]
#[cfg_attr(sanitized, ignore = "slow, and one thread alone computes")]
fn every_node_gets_about_the_same() {
    for size in [2_u32, 3, 5, 16] {
        // Neighbouring ids and unrelated ones.
        for step in [1, 0x9E37_79B9_7F4A_7C15_u64] {
            let nodes: Vec<_> =
                (1..=u64::from(size)).map(|n| NodeId(n.wrapping_mul(step))).collect();
            let count = 20_000 * size;
            for (node, share) in shares(&nodes, count) {
                // Five standard deviations of a binomial distribution are below 5 × √20,000, which is 708.
                assert!(share.abs_diff(20_000) < 708, "{node} of {size} has {share}");
            }
        }
    }
}

#[test]
fn keys_stay_where_they_were_in_older_versions() {
    let nodes = [NodeId(1), NodeId(2), NodeId(3)];
    let owners = ["", "a", "b", "ferret", "user:1000"]
        .map(|key| rendezvous(key.as_bytes(), nodes).unwrap().0);
    assert_eq!(owners, [2, 3, 3, 1, 1]);
}

proptest! {
    #[test]
    fn only_the_keys_of_who_comes_or_goes_move(
        nodes in prop::collection::btree_set(any::<u64>(), 1..12),
        other: u64,
        key in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        prop_assume!(!nodes.contains(&other));
        let few: Vec<_> = nodes.iter().copied().map(NodeId).collect();
        let mut many = few.clone();
        many.push(NodeId(other));
        many.reverse();
        let (before, after) = (rendezvous(&key, few), rendezvous(&key, many));
        prop_assert!(after == before || after == Some(NodeId(other)));
    }

    #[test]
    fn whoever_comes_takes_its_share_from_each(seed: u64) {
        let nodes: Vec<_> = (0..4).map(|n| NodeId(seed.wrapping_add(n))).collect();
        let mut taken = BTreeMap::<_, u32>::new();
        for key in keys(4_000) {
            let before = rendezvous(&key, nodes[..3].iter().copied()).unwrap();
            if rendezvous(&key, nodes.iter().copied()) != Some(before) {
                *taken.entry(before).or_default() += 1;
            }
        }
        // A twelfth of the keys from each is 333; six standard deviations are 105.
        prop_assert!(taken.len() == 3 && taken.values().all(|n| n.abs_diff(333) < 105), "{taken:?}");
    }
}
