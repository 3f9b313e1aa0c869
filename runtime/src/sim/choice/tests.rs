use super::{Choices, Label, Path, Source};
use proptest::prelude::*;
use std::collections::BTreeSet;

const ONE: Label = Label::new("one");
const OTHER: Label = Label::new("other");

fn draw(source: Source, counts: &[u64]) -> (Vec<u64>, Vec<u64>, u64) {
    let mut choices = Choices::new(source, false);
    let drawn = counts.iter().enumerate().map(|(at, &count)| match at % 3 {
        0 => choices.pick(ONE, usize::try_from(count).unwrap()) as u64,
        1 => u64::from(choices.chance(OTHER, 1, count)),
        _ => choices.noise(ONE, count),
    });
    let drawn = drawn.collect();
    (drawn, choices.record().to_vec(), choices.hash())
}

proptest! {
    #[test]
    fn a_record_repeats_its_run(seed: u64, counts in prop::collection::vec(2_u64..50, 0..60)) {
        let (drawn, record, hash) = draw(Source::Seed(seed), &counts);
        let (again, second, same) = draw(Source::Record(record.clone()), &counts);
        prop_assert_eq!(&again, &drawn);
        prop_assert_eq!(second, record);
        prop_assert_eq!(same, hash);
        for (at, (&value, &count)) in drawn.iter().zip(&counts).enumerate() {
            let end = if at % 3 == 1 { 2 } else { count };
            prop_assert!(value < end);
        }
    }

    #[test]
    fn bytes_steer_and_run_out(bytes: Vec<u8>, counts in prop::collection::vec(2_u64..50, 0..60)) {
        let (drawn, record, _) = draw(Source::Bytes(bytes.clone()), &counts);
        prop_assert_eq!(draw(Source::Record(record), &counts).0, drawn.clone());
        for (at, value) in drawn.iter().enumerate().skip(bytes.len()) {
            prop_assert_eq!(*value, 0, "choice {}", at);
        }
    }
}

#[test]
fn paths_enumerate_every_combination_once() {
    let (mut path, mut seen) = (Path::default(), BTreeSet::new());
    loop {
        let mut choices = Choices::new(Source::Path(path), false);
        let first = choices.pick(ONE, 3);
        let second = if first == 1 { choices.pick(OTHER, 2) } else { 0 };
        assert_eq!(choices.noise(ONE, 100), 0, "noise does not branch");
        assert!(seen.insert((first, second, choices.chance(OTHER, 1, 1000))));
        path = choices.take_path().unwrap();
        if !path.advance() {
            break;
        }
    }
    assert_eq!(seen.len(), 8);
}

#[test]
fn a_chance_is_about_as_rare_as_it_says() {
    let mut choices = Choices::new(Source::Seed(1), false);
    let hits = (0..100_000).filter(|_| choices.chance(ONE, 1, 10)).count();
    assert!((9_500..10_500).contains(&hits), "{hits} of 100,000 at one in ten");
}

#[test]
fn the_hash_knows_label_value_and_order() {
    let hash = |picks: &[(Label, usize)]| {
        let mut choices =
            Choices::new(Source::Record(picks.iter().map(|pick| pick.1 as u64).collect()), false);
        for (label, _) in picks {
            choices.pick(*label, 10);
        }
        choices.hash()
    };
    let base = hash(&[(ONE, 1), (OTHER, 2)]);
    assert_eq!(base, hash(&[(ONE, 1), (OTHER, 2)]));
    for other in [[(ONE, 2), (OTHER, 1)], [(OTHER, 1), (ONE, 2)], [(ONE, 1), (ONE, 2)]] {
        assert_ne!(base, hash(&other));
    }
}

#[test]
fn the_hash_knows_of_how_many_a_choice_was_and_what_happened_under_which_label() {
    let hash = |act: &dyn Fn(&mut Choices)| {
        let mut choices = Choices::new(Source::Record(Vec::new()), false);
        act(&mut choices);
        choices.hash()
    };
    let of = |count| hash(&|choices| assert_eq!(choices.pick(ONE, count), 0));
    assert_ne!(of(3), of(4));
    let under = |label| hash(&|choices| choices.fold(label, 1));
    assert_ne!(under(ONE), under(OTHER));
}
