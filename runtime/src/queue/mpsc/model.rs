//! loom: chains of two producers, and an outlet that leaves.

use super::{Chain, Inlet, queue};
use crate::sync::thread;
use std::sync::Arc;

fn send(inlet: &Inlet<Arc<usize>>, values: &[Arc<usize>]) {
    let mut chain = Chain::new();
    values.iter().for_each(|value| chain.push(value.clone()));
    inlet.append(&mut chain);
}

fn producer(inlet: &Inlet<Arc<usize>>, values: &[Arc<usize>]) -> thread::JoinHandle<()> {
    let (inlet, values) = (inlet.clone(), values.to_vec());
    thread::spawn(move || send(&inlet, &values))
}

#[test]
fn chains_of_two_producers_arrive_whole() {
    loom::model(|| {
        let (inlet, mut outlet) = queue();
        let values: Vec<_> = (0..3).map(Arc::new).collect();
        let producers = [producer(&inlet, &values[..2]), producer(&inlet, &values[2..])];
        let mut seen = Vec::new();
        seen.extend(outlet.pop().map(|value| *value));
        for producer in producers {
            producer.join().expect("no panic");
        }
        seen.extend(std::iter::from_fn(|| outlet.pop().map(|value| *value)));
        assert!([[0, 1, 2], [2, 0, 1]].iter().any(|order| *order == *seen), "{seen:?}");
    });
}

#[test]
fn what_comes_after_the_outlet_left_is_dropped() {
    loom::model(|| {
        let (inlet, outlet) = queue();
        let value = Arc::new(1);
        let producer = producer(&inlet, &[value.clone(), value.clone()]);
        drop(outlet);
        producer.join().expect("no panic");
        drop(inlet);
        assert_eq!(Arc::strong_count(&value), 1, "each is dropped once");
    });
}
