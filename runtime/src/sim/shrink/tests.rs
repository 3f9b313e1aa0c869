use super::shrink;
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_it_returns_fails_and_is_not_larger(
        record in prop::collection::vec(0_u64..10, 0..60),
        wanted in 1_u64..10,
    ) {
        let fails = |record: &[u64]| record.contains(&wanted);
        prop_assume!(fails(&record));
        let small = shrink(record, 10_000, |record| fails(record).then(|| record.to_vec()));
        prop_assert_eq!(small, vec![wanted], "one choice is enough, and may be the first");
    }

    #[test]
    fn it_tries_no_more_than_it_may(record in prop::collection::vec(0_u64..10, 0..60), tries in 0_usize..50) {
        let mut tried = 0;
        shrink(record, tries, |record| {
            tried += 1;
            Some(record.to_vec())
        });
        prop_assert!(tried <= tries);
    }
}

#[test]
fn two_choices_far_apart_are_kept() {
    let record: Vec<u64> =
        (0..200).map(|at| u64::from(at == 20 || at == 150) * 7 + at % 3).collect();
    let fails = |record: &[u64]| record.iter().filter(|&&value| value >= 7).count() >= 2;
    let small = shrink(record, 10_000, |record| fails(record).then(|| record.to_vec()));
    assert_eq!(small, [7, 7]);
}
