//! Who begins, and whose turn it is.

use super::{Long, Turns};
use crate::link::envelope::Class;

const MIDDLING: u64 = 1000;
const LONGER: u64 = 20_000;

fn wait(turns: &mut Turns, sequences: std::ops::Range<u64>, len: u64) {
    for sequence in sequences {
        turns.wait(Long { sequence, class: Class::Mail, len });
    }
}

/// Lets the next one begin.
fn begin(turns: &mut Turns) -> Option<u64> {
    let Long { sequence, len, .. } = turns.next_to_begin()?;
    turns.begin(sequence, len);
    Some(len)
}

// [LINK-60]
#[test]
fn of_four_that_begin_one_is_longer() {
    let mut turns = Turns::new(100);
    wait(&mut turns, 0..40, MIDDLING);
    wait(&mut turns, 40..80, LONGER);
    let begun: Vec<_> = (0..40).map(|_| begin(&mut turns).expect("they wait")).collect();
    let (first, rest) = begun.split_at(2);
    assert_eq!(first, [MIDDLING, LONGER]);
    for four in rest.chunks_exact(4) {
        assert_eq!(four, [MIDDLING, MIDDLING, MIDDLING, LONGER]);
    }
}

// [LINK-61]
#[test]
fn each_length_leaves_places_to_the_other() {
    for (len, other) in [(MIDDLING, LONGER), (LONGER, MIDDLING)] {
        let mut turns = Turns::new(8);
        wait(&mut turns, 0..20, len);
        let begun = std::iter::from_fn(|| begin(&mut turns)).count();
        assert_eq!(begun, 6, "of {len} bytes");
        wait(&mut turns, 20..40, other);
        let begun: Vec<_> = std::iter::from_fn(|| begin(&mut turns)).collect();
        assert_eq!(begun, [other; 2]);
        turns.end(len);
        assert_eq!((begin(&mut turns).is_some(), begin(&mut turns)), (true, None));
        assert_eq!(turns.in_pieces(), 8);
    }
}

/// What is asked in one packet, if those have to pass.
fn asked(turns: &mut Turns) -> Vec<u64> {
    let mut asked = Vec::new();
    while let Some(sequence) = turns.next() {
        asked.push(sequence);
        turns.pass();
    }
    asked
}

#[test]
fn who_has_to_pass_is_asked_once_for_each_packet() {
    let mut turns = Turns::new(8);
    wait(&mut turns, 1..3, MIDDLING);
    wait(&mut turns, 3..5, LONGER);
    while begin(&mut turns).is_some() {}
    for _ in 0..2 {
        turns.begin_packet();
        assert_eq!(asked(&mut turns), [1, 2, 3, 4]);
        assert_eq!(turns.next(), None);
    }
    turns.begin_packet();
    assert_eq!(turns.next(), Some(1));
    turns.pass();
    // One that has something to send again comes before those that have passed.
    turns.again(5, MIDDLING);
    assert_eq!(asked(&mut turns), [2, 5, 3, 4]);
    turns.begin_packet();
    assert_eq!(turns.next(), Some(1));
    turns.sent(100);
    assert_eq!(turns.next(), Some(3), "a longer one has its share");
}
