//! Turns of a receiver whose mail ends here and there.

use super::{DOUBLINGS_MAX, Growth};

/// Addresses of nodes.
const NODES: [usize; 3] = [0, 0x7f00_0000_1000, 0x7f00_0000_1020];

/// One more turn that ended with work left, when the mail ended at `end` and then at `now`.
fn turn(growth: &Growth, end: usize, now: usize) -> u32 {
    growth.note_spent(end);
    assert!(growth.is_behind());
    growth.adapt(now);
    assert!(!growth.is_behind());
    growth.doublings()
}

#[test]
fn turns_are_doubled_while_mail_comes_and_halved_while_none_does() {
    let growth = Growth::new();
    assert!(!growth.is_behind());
    for times in 1..10 {
        assert_eq!(turn(&growth, NODES[1], NODES[2]), DOUBLINGS_MAX.min(times));
    }
    for times in (0..DOUBLINGS_MAX).rev().chain([0]) {
        assert_eq!(turn(&growth, NODES[2], NODES[2]), times);
    }
}

#[test]
fn every_node_is_a_mark() {
    let growth = Growth::new();
    for end in NODES {
        assert_eq!(turn(&growth, end, end), 0);
    }
}
