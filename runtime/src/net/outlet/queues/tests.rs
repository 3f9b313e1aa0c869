//! Whose turn it is, by hand.

use super::Queues;
use crate::sync::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A queue, and whose waker is whose.
#[derive(Default)]
struct Stage {
    queues: Queues,
    submitted: u64,
    served: [u64; 4],
    woken: [std::sync::Arc<Count>; 4],
}

impl Stage {
    /// Somebody comes with a frame of that length, finds room or not, and waits if not; returns whether it was sent.
    fn come(&mut self, who: usize, len: usize, has_room: bool) -> bool {
        let served = &mut self.served[who];
        let place = self.queues.come(served, who as u64, len, self.submitted);
        if place.is_first && has_room {
            self.submitted += 1;
            *served = self.submitted;
            self.queues.pass(&place).into_iter().for_each(Waker::wake);
            return true;
        }
        let waker = Waker::from(std::sync::Arc::clone(&self.woken[who]));
        self.queues.wait(&place, Some(&waker));
        false
    }

    fn leave(&mut self, who: usize) {
        self.queues.leave(self.served[who], who as u64).into_iter().for_each(Waker::wake);
    }

    /// Who was woken since the last look.
    fn woken(&self) -> Vec<usize> {
        (0..4).filter(|who| self.woken[*who].0.swap(0, Ordering::Relaxed) > 0).collect()
    }
}

// [ENV-24]
#[test]
fn who_has_much_to_send_waits_for_its_turn() {
    let mut stage = Stage::default();
    assert!(stage.come(0, 50_000, true));
    assert!(!stage.come(0, 50_000, false));
    assert!(!stage.come(1, 17_000, false));
    assert!(!stage.come(2, 60_000, false));
    stage.queues.call().into_iter().for_each(Waker::wake);
    assert_eq!(stage.woken(), [0], "the first alone");
    // It has a frame more, but it is the turn of the others, of whom each wakes the next.
    assert!(stage.come(0, 50_000, true));
    assert_eq!(stage.woken(), [1]);
    assert!(!stage.come(0, 50_000, true));
    assert!(!stage.come(2, 60_000, true), "nor of who was not woken");
    assert!(stage.come(1, 17_000, true));
    assert_eq!(stage.woken(), [2]);
    assert!(stage.come(2, 60_000, true));
    assert_eq!(stage.woken(), [0]);
    assert!(stage.come(0, 50_000, true));
    assert_eq!(stage.woken(), []);
}

#[test]
fn short_frames_do_not_wait_for_long_ones() {
    let mut stage = Stage::default();
    assert!(!stage.come(0, 50_000, false));
    assert!(stage.come(1, 100, true));
    assert!(stage.come(2, 10_000, true));
    assert!(!stage.come(1, 100, false));
    stage.queues.call().into_iter().for_each(Waker::wake);
    assert_eq!(stage.woken(), [0, 1], "the first of each length");
}

#[test]
fn who_leaves_or_is_refused_again_holds_up_nobody() {
    let mut stage = Stage::default();
    for who in 0..3 {
        assert!(!stage.come(who, 50_000, false));
    }
    stage.queues.call().into_iter().for_each(Waker::wake);
    assert_eq!(stage.woken(), [0]);
    assert!(!stage.come(1, 50_000, true), "it has been woken, and keeps its place");
    stage.leave(0);
    assert_eq!(stage.woken(), [1]);
    assert!(!stage.come(1, 50_000, false), "refused again");
    stage.queues.call().into_iter().for_each(Waker::wake);
    assert_eq!(stage.woken(), [1], "and first all the same");
    stage.leave(2);
    assert!(stage.come(1, 50_000, true));
    assert_eq!(stage.woken(), []);
}

#[test]
fn all_are_told_of_the_end() {
    let mut stage = Stage::default();
    for who in 0..4 {
        assert!(!stage.come(who, 100 << (4 * who), false));
    }
    stage.queues.end().into_iter().for_each(Waker::wake);
    assert_eq!(stage.woken(), [0, 1, 2, 3]);
}
