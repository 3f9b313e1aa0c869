//! loom: whoever leaves something is found, and what it left with it.

use super::{Peers, Told};
use crate::sync::{AtomicUsize, Ordering, thread};
use loom::sync::Arc;

#[test]
fn who_has_left_something_is_found_with_it() {
    loom::model(|| {
        let shared = Arc::new((Told::new(2), [AtomicUsize::new(0), AtomicUsize::new(0)]));
        let peers = [0, 1].map(|peer| {
            let shared = shared.clone();
            thread::spawn(move || {
                for _ in 0..2 - peer {
                    // Relaxed: the set orders it.
                    shared.1[peer].fetch_add(1, Ordering::Relaxed);
                    shared.0.tell(peer);
                }
            })
        });
        let (mut set, mut seen) = (Peers::new(2), [0, 0]);
        let mut look = || {
            shared.0.take(&mut set);
            while let Some(peer) = set.pop() {
                // Relaxed: the set orders it.
                let left = shared.1[peer].load(Ordering::Relaxed);
                assert!(left > 0, "a peer is found with what it left");
                seen[peer] = left;
            }
        };
        look();
        for peer in peers {
            peer.join().expect("no panic");
        }
        look();
        assert_eq!(seen, [2, 1], "nobody is overlooked");
    });
}
