//! loom: producers and consumers at a capacity of two, so that rounds and spill are reached.

use super::Mpmc;
use crate::queue::ring::Ring;
use crate::sync::{UnsafeCell, thread};
use loom::sync::Arc;

/// The queue, and what its words stand for: loom sees if that is not handed over with them.
struct Line {
    queue: Mpmc,
    goods: [UnsafeCell<usize>; 6],
}

// SAFETY: the goods of a word are touched by its producer before the push and by its consumer after
// the claim.
unsafe impl Sync for Line {}

impl Line {
    fn new() -> Arc<Self> {
        let goods = std::array::from_fn(|_| UnsafeCell::new(0));
        Arc::new(Self { queue: Mpmc::new(), goods })
    }

    fn push(&self, number: usize) {
        // SAFETY: each number is pushed once.
        self.goods[number].with_mut(|goods| unsafe { *goods = number + 1 });
        self.queue.push(2 * number);
    }

    /// What one claim takes, the first of it last.
    fn claim(&self, parts: usize) -> Vec<usize> {
        let own = Ring::new();
        let first = self.queue.claim(parts, &own);
        let words: Vec<_> = std::iter::from_fn(|| own.pop()).chain(first).collect();
        for &word in &words {
            // SAFETY: each number is claimed once.
            self.goods[word / 2].with_mut(|goods| unsafe {
                assert_eq!(*goods, word / 2 + 1, "claimed once, after the push");
                *goods = 0;
            });
        }
        words.into_iter().map(|word| word / 2).collect()
    }

    fn drain(&self) -> Vec<usize> {
        let claims = std::iter::from_fn(|| Some(self.claim(1)).filter(|words| !words.is_empty()));
        claims.flatten().collect()
    }
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(check);
}

fn all(mut seen: Vec<usize>, left: &Line, count: usize) {
    seen.extend(left.drain());
    assert_eq!(left.queue.len(), 0);
    seen.sort_unstable();
    assert_eq!(seen, (0..count).collect::<Vec<_>>());
}

#[test]
fn two_producers_meet_two_consumers() {
    model(|| {
        let line = Line::new();
        line.push(0);
        let producer = line.clone();
        let producer = thread::spawn(move || producer.push(1));
        let consumer = line.clone();
        let consumer = thread::spawn(move || consumer.claim(1));
        line.push(2);
        let mut seen = line.claim(1);
        producer.join().unwrap();
        seen.extend(consumer.join().unwrap());
        all(seen, &line, 3);
    });
}

#[test]
fn a_batch_is_claimed_against_a_batch_across_rounds() {
    model(|| {
        let line = Line::new();
        line.push(0);
        line.push(1);
        let consumers = [(); 2].map(|()| {
            let line = line.clone();
            thread::spawn(move || {
                let mut seen = line.claim(2);
                seen.extend(line.claim(1));
                seen
            })
        });
        // Fits only where a consumer has left a slot; joins the spill otherwise.
        line.push(2);
        line.push(3);
        let mut seen = Vec::new();
        for consumer in consumers {
            seen.extend(consumer.join().unwrap());
        }
        all(seen, &line, 4);
    });
}

#[test]
fn the_spill_moves_back_while_a_producer_pushes() {
    model(|| {
        let line = Line::new();
        for number in 0..4 {
            line.push(number);
        }
        let consumer = line.clone();
        let consumer = thread::spawn(move || {
            let mut seen = consumer.claim(1);
            seen.extend(consumer.claim(1));
            seen
        });
        line.push(4);
        let mut seen = line.claim(2);
        seen.extend(consumer.join().unwrap());
        all(seen, &line, 5);
    });
}

#[test]
fn what_nobody_has_claimed_is_seen_wherever_it_is() {
    model(|| {
        let line = Line::new();
        for number in 0..4 {
            line.push(number);
        }
        let consumer = line.clone();
        let consumer = thread::spawn(move || {
            let mut seen = consumer.claim(1);
            // One of the two in the spill; the other one moves into the ring, and stays.
            seen.extend(consumer.claim(2));
            seen
        });
        assert!(line.queue.len() > 0, "a worker that sleeps now would leave an actor behind");
        let seen = consumer.join().unwrap();
        assert_eq!(seen.len(), 3);
        all(seen, &line, 4);
    });
}

#[test]
fn who_claims_beside_another_finds_what_that_one_leaves() {
    loom::model(|| {
        let queue = Arc::new(Mpmc::new());
        queue.push(2);
        queue.push(4);
        let other = queue.clone();
        let claim_one = |queue: &Mpmc| queue.take(1, |_| ());
        let thread = thread::spawn(move || claim_one(&other));
        let mine = claim_one(&queue);
        assert_eq!(mine + thread.join().unwrap(), 2, "there was one for each");
    });
}
