//! The sets against a set of the standard library.

use super::{Peers, Told};
use crate::sync::rounds;
use proptest::prelude::*;
use std::collections::BTreeSet;

const PEERS: usize = 150;

#[derive(Clone, Debug)]
enum Step {
    Insert(usize),
    Remove(usize),
    Tell(usize),
    Take,
    Pop,
    NextAfter(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..PEERS).prop_map(Step::Insert),
        (0..PEERS).prop_map(Step::Remove),
        (0..PEERS).prop_map(Step::Tell),
        Just(Step::Take),
        Just(Step::Pop),
        (0..PEERS).prop_map(Step::NextAfter),
    ];
    prop::collection::vec(step, 1..rounds(100, 100, 20))
}

proptest! {
    #[test]
    fn they_do_what_a_set_does(steps in steps()) {
        let (mut peers, told) = (Peers::new(PEERS), Told::new(PEERS));
        let (mut set, mut came) = (BTreeSet::new(), BTreeSet::new());
        for step in steps {
            match step {
                Step::Insert(peer) => {
                    peers.insert(peer);
                    set.insert(peer);
                }
                Step::Remove(peer) => {
                    peers.remove(peer);
                    set.remove(&peer);
                }
                Step::Tell(peer) => {
                    told.tell(peer);
                    came.insert(peer);
                }
                Step::Take => {
                    told.take(&mut peers);
                    set.append(&mut came);
                }
                Step::Pop => prop_assert_eq!(peers.pop(), set.pop_first()),
                Step::NextAfter(peer) => {
                    let next = set.range(peer + 1..).next().or(set.first());
                    prop_assert_eq!(peers.next_after(peer), next.copied());
                }
            }
        }
        told.take(&mut peers);
        set.append(&mut came);
        let all: Vec<_> = std::iter::from_fn(|| peers.pop()).collect();
        prop_assert_eq!(all, set.into_iter().collect::<Vec<_>>());
    }
}
