//! The numbers are those of the published generator, and follow from the seed.

use super::Random;

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
