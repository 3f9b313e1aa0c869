//! The numbers are those of the published generator, and follow from the seed.

use super::{Random, below, nth};

#[test]
fn the_numbers_are_those_of_the_published_generator() {
    let random = Random::new(Some(1_234_567));
    let numbers: Vec<_> = (0..3).map(|_| random.next()).collect();
    assert_eq!(
        numbers,
        [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
    );
}

#[test]
fn a_seed_of_its_own_differs_from_system_to_system() {
    assert_ne!(Random::new(None).next(), Random::new(None).next());
}

#[test]
fn who_counts_himself_gets_the_same_numbers() {
    let random = Random::new(Some(7));
    assert!((0..100).all(|index| random.next() == nth(7, index)), "one generator");
}

#[test]
fn every_number_of_a_range_is_as_likely_and_none_beyond() {
    let mut drawn = [0_u32; 6];
    for index in 0..6000 {
        drawn[usize::try_from(below(nth(1, index), 6)).expect("small")] += 1;
    }
    assert!(drawn.iter().all(|&times| (800..1200).contains(&times)), "{drawn:?}");
    assert_eq!([below(0, 6), below(u64::MAX, 6), below(u64::MAX, 1)], [0, 5, 0]);
}
