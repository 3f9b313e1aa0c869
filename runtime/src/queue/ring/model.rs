//! loom: an owner and its thieves, at a capacity of four.

use super::Ring;
use crate::sync::thread;
use loom::sync::Arc;

fn drain(ring: &Ring) -> Vec<usize> {
    std::iter::from_fn(|| ring.pop()).collect()
}

fn sorted(mut values: Vec<usize>) -> Vec<usize> {
    values.sort_unstable();
    values
}

fn thief(ring: &Arc<Ring>) -> thread::JoinHandle<Vec<usize>> {
    let ring = ring.clone();
    thread::spawn(move || {
        let own = Ring::new();
        let mut stolen: Vec<usize> = ring.steal_into(&own).into_iter().collect();
        stolen.extend(drain(&own));
        stolen
    })
}

#[test]
fn the_last_values_go_to_the_owner_or_one_of_two_thieves() {
    loom::model(|| {
        let ring = Arc::new(Ring::new());
        ring.push(1).unwrap();
        ring.push(2).unwrap();
        let thieves = [thief(&ring), thief(&ring)];
        let mut seen: Vec<usize> = ring.pop().into_iter().collect();
        for thief in thieves {
            seen.extend(thief.join().unwrap());
        }
        seen.extend(drain(&ring));
        assert_eq!(sorted(seen), [1, 2]);
    });
}

#[test]
fn a_claim_of_several_meets_a_thief() {
    loom::model(|| {
        let ring = Arc::new(Ring::new());
        for value in 1..=3 {
            ring.push(value).unwrap();
        }
        let thief = thief(&ring);
        let mut seen = Vec::new();
        ring.pop_many(2, |value| seen.push(value));
        ring.push(4).unwrap();
        seen.extend(thief.join().unwrap());
        seen.extend(drain(&ring));
        assert_eq!(sorted(seen), [1, 2, 3, 4]);
    });
}

#[test]
fn an_overflow_meets_a_thief() {
    loom::model(|| {
        let ring = Arc::new(Ring::new());
        for value in 1..=4 {
            ring.push(value).unwrap();
        }
        let thief = thief(&ring);
        let mut seen = Vec::new();
        if ring.push(5).is_err() {
            if ring.shed(|value| seen.push(value)) == 0 {
                seen.push(5);
            } else {
                ring.push(5).unwrap();
            }
        }
        seen.extend(thief.join().unwrap());
        seen.extend(drain(&ring));
        assert_eq!(sorted(seen), [1, 2, 3, 4, 5]);
    });
}

#[test]
fn values_pushed_during_a_theft_are_not_overwritten() {
    loom::model(|| {
        let ring = Arc::new(Ring::new());
        ring.push(1).unwrap();
        ring.push(2).unwrap();
        let thief = thief(&ring);
        let mut seen: Vec<usize> = ring.pop().into_iter().collect();
        let mut pushed = vec![1, 2];
        for value in 3..=6 {
            if ring.push(value).is_ok() {
                pushed.push(value);
            }
        }
        seen.extend(thief.join().unwrap());
        seen.extend(drain(&ring));
        assert_eq!(sorted(seen), pushed);
    });
}
