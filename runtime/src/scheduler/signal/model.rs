//! loom: what others leave in rings while their reader falls asleep. Something that is overlooked makes
//! the reader sleep for ever, which loom reports as a deadlock.

use super::{EXTERNAL, Signal};
use crate::queue::spsc::channel;
use crate::sync::{AtomicUsize, Ordering, thread};
use loom::sync::{Arc, Notify};

struct Post {
    signal: Signal,
    /// What no worker left; ordered by the signal alone.
    lane: AtomicUsize,
    bell: Notify,
}

impl Post {
    fn raise(&self, bit: u64) {
        if self.signal.raise(bit) {
            self.bell.notify();
        }
    }

    /// Sleeps unless something has come.
    fn rest(&self) {
        if self.signal.fall_asleep() {
            self.bell.wait();
            self.signal.wake();
        }
    }
}

#[test]
fn what_is_left_in_a_ring_or_the_lane_wakes_its_reader() {
    loom::model(|| {
        let post = Arc::new(Post {
            signal: Signal::new(),
            lane: AtomicUsize::new(0),
            bell: Notify::new(),
        });
        let (mut sender, mut receiver) = channel(2);
        let (worker, outsider) = (post.clone(), post.clone());
        let worker = thread::spawn(move || {
            for value in 1..=2 {
                sender.send(value).expect("the reader is there");
                worker.raise(1);
            }
        });
        let outsider = thread::spawn(move || {
            // Relaxed: what makes it visible is to be the signal alone.
            outsider.lane.store(1, Ordering::Relaxed);
            outsider.raise(EXTERNAL);
        });
        let (mut sum, mut from_outside) = (0, 0);
        while sum < 3 || from_outside == 0 {
            let from = post.signal.take();
            if from & 1 != 0 {
                receiver.sync();
                sum += std::iter::from_fn(|| receiver.poll()).sum::<usize>();
            }
            if from & EXTERNAL != 0 {
                // Relaxed: as above.
                from_outside = post.lane.load(Ordering::Relaxed);
                assert_eq!(from_outside, 1, "it is there when the bit is");
            }
            if sum < 3 || from_outside == 0 {
                post.rest();
            }
        }
        worker.join().expect("no panic");
        outsider.join().expect("no panic");
    });
}
