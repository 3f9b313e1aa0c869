use super::{ALL_ENDS, Behind};
use crate::net::remote::Fence;

const ACTOR: u64 = 7;

/// How much an actor hears when the ends up to that one are released.
fn hears(behind: &mut Behind, ends: u64) -> Option<usize> {
    behind.release(ACTOR, ends).map(|told| told.len())
}

// [ENV-25]
#[test]
fn who_is_held_hears_of_each_end_that_is_released_once() {
    let fence = Fence::new(|| {});
    let mut behind = Behind { ended: 1, ..Behind::default() };
    assert!(behind.hold(ACTOR));
    assert!(!behind.hold(ACTOR));
    assert!(!behind.keep(ACTOR, 1, &fence), "of an end that came before");
    behind.ended = 4;
    (2..=4).for_each(|end| assert!(behind.keep(ACTOR, end, &fence)));
    assert_eq!(hears(&mut behind, 1), Some(0));
    assert_eq!(hears(&mut behind, 3), Some(2));
    assert_eq!(hears(&mut behind, 3), Some(0));
    assert_eq!(hears(&mut behind, ALL_ENDS), Some(1));
    assert_eq!(hears(&mut behind, ALL_ENDS), None, "it is held no more");
    assert_eq!(behind.count, 0);
}

// [ENV-25]
#[test]
fn no_fewer_ends_are_released_than_before_and_no_more_than_were_told() {
    let mut behind = Behind::default();
    assert!(behind.hold(ACTOR));
    behind.ended = 2;
    assert_eq!(hears(&mut behind, 3), None);
    assert_eq!(hears(&mut behind, 2), Some(0));
    assert_eq!(hears(&mut behind, 1), None);
}
