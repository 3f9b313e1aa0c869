//! The rings against the simplest thing that does the same: all that was pushed, in order.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

// [RDMA-3]
#[test]
fn a_completion_gives_back_what_is_before_it_and_nothing_behind() {
    let mut ring = SendRing::new(4, 9);
    let ids: Vec<_> = (0..4).map(|slot| ring.push(Some(slot)).expect("room for four")).collect();
    assert!(ring.is_full());
    assert_eq!(ring.push(Some(4)), Err(FullRing(Some(4))));
    let mut back = Vec::new();
    ring.release(ids[2], |slot| back.push(slot));
    assert_eq!(back, [0, 1, 2]);
    ring.release(ids[2], |slot| back.push(slot));
    ring.release(ids[0], |slot| back.push(slot));
    assert_eq!((back.len(), ring.len()), (3, 1), "what was seen does nothing");
    let foreign = WorkId::new(Direction::Send, 8, 3);
    ring.release(foreign, |slot| back.push(slot));
    ring.release(WorkId::new(Direction::Receive, 9, 3), |slot| back.push(slot));
    assert_eq!(back.len(), 3, "what is another's does nothing");
    ring.release_all(|slot| back.push(slot));
    assert_eq!(back, [0, 1, 2, 3]);
}

/// Queue pairs that have one number and one owner, one after the other.
// [RDMA-3] [RDMA-15]
#[test]
fn rings_of_one_owner_have_no_send_in_common() {
    let mut rings: Vec<_> = (1..100).map(|queue| SendRing::new(4, 9).of(queue)).collect();
    let ids: Vec<_> = rings.iter_mut().map(|ring| ring.push(Some(())).expect("room")).collect();
    for (at, ring) in rings.iter().enumerate() {
        let had: Vec<_> = (0..ids.len()).filter(|&id| ring.has(ids[id])).collect();
        assert_eq!(had, [at]);
    }
    assert_eq!(rings[0].take(ids[0]), Some(()));
    assert!(!rings[0].has(ids[0]), "it is known to be done");
    assert!(beginning(u64::MAX) < 1 << 47, "half of all are left");
}

proptest! {
    // [RDMA-3]
    #[test]
    fn sends_come_back_once_and_in_order(steps in prop::collection::vec((0..4_u8, 0..70_u64), 1..300)) {
        let (mut ring, mut model) = (SendRing::new(5, 3), VecDeque::new());
        let mut pushed = 0;
        for (what, pick) in steps {
            if what > 0 {
                let slot = (what > 1).then_some(pushed);
                match ring.push(slot) {
                    Ok(id) => model.push_back((id.sequence(), slot)),
                    Err(FullRing(given_back)) => {
                        prop_assert_eq!(given_back, slot);
                        prop_assert_eq!(model.len(), 5);
                    }
                }
                pushed += 1;
                continue;
            }
            let mut back = Vec::new();
            ring.release(WorkId::new(Direction::Send, 3, pick), |slot| back.push(slot));
            let mut expected = Vec::new();
            if model.iter().any(|&(id, _)| id == pick) {
                while model.front().is_some_and(|&(id, _)| id <= pick) {
                    expected.extend(model.pop_front().and_then(|(_, slot)| slot));
                }
            }
            prop_assert_eq!(back, expected);
            prop_assert_eq!(ring.len(), model.len());
        }
    }

    // [RDMA-3]
    #[test]
    fn receives_come_back_once_in_any_order(steps in prop::collection::vec((any::<bool>(), 0..1000_usize), 1..300)) {
        let (mut ring, mut model) = (ReceiveRing::new(6, 1), BTreeMap::new());
        let mut ids: Vec<WorkId> = Vec::new();
        // The place among all of the last one that came back.
        let mut latest = 0;
        for (push, pick) in steps {
            if push {
                match ring.push(pick) {
                    Ok(id) => {
                        prop_assert!(!ids.contains(&id), "an id is new");
                        ids.push(id);
                        model.insert(id.to_bits(), pick);
                    }
                    Err(FullRing(given_back)) => {
                        prop_assert_eq!(given_back, pick);
                        prop_assert_eq!(model.len(), 6);
                    }
                }
            } else if !ids.is_empty() {
                let id = ids[pick % ids.len()];
                let taken = model.remove(&id.to_bits());
                latest = latest.max(if taken.is_some() { pick % ids.len() } else { 0 });
                prop_assert_eq!(ring.take(id), taken);
            }
            prop_assert_eq!(ring.len(), model.len());
            let before = ids.iter().take(latest);
            let overtaken = before.filter(|id| model.contains_key(&id.to_bits())).count();
            prop_assert_eq!(ring.overtaken(), overtaken);
        }
        let mut left = Vec::new();
        ring.take_all(|slot| left.push(slot));
        left.sort_unstable();
        let mut expected: Vec<_> = model.into_values().collect();
        expected.sort_unstable();
        prop_assert_eq!(left, expected);
    }
}
