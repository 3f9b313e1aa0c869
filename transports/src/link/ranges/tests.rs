use super::Ranges;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;

thread_local! {
    /// How often this thread has searched a set for what overlaps a range.
    pub(in crate::link) static SEARCHES: Cell<u64> = const { Cell::new(0) };
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    InsertRange(Range<u64>),
    RemoveRange(Range<u64>),
    RemoveBelow(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let range = || (0..60_u64, 0..20_u64).prop_map(|(start, len)| start..start + len);
    prop_oneof![
        4 => (0..60_u64).prop_map(Step::Insert),
        2 => range().prop_map(Step::InsertRange),
        2 => range().prop_map(Step::RemoveRange),
        1 => (0..60_u64).prop_map(Step::RemoveBelow),
    ]
}

/// The ranges that the numbers form, lowest first.
fn ranges_of(model: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for &number in model {
        match ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => ranges.push(number..number + 1),
        }
    }
    ranges
}

proptest! {
    // [LINK-12]
    #[test]
    fn a_set_of_ranges_is_a_set(steps in prop::collection::vec(step(), 0..60)) {
        let (mut set, mut model) = (Ranges::new(), BTreeSet::new());
        for step in steps {
            match step {
                Step::Insert(number) => prop_assert_eq!(set.insert(number), model.insert(number)),
                Step::InsertRange(range) => {
                    let missing = range.clone().filter(|number| model.insert(*number)).count();
                    prop_assert_eq!(set.insert_range(range), missing as u64);
                }
                Step::RemoveRange(range) => {
                    model.retain(|number| !range.contains(number));
                    set.remove_range(range);
                }
                Step::RemoveBelow(number) => {
                    model = model.split_off(&number);
                    set.remove_below(number);
                }
            }
            let found: Vec<_> = set.descending().rev().cloned().collect();
            prop_assert_eq!(&found, &ranges_of(&model));
            prop_assert_eq!(set.end(), model.last().map_or(0, |last| last + 1));
            prop_assert_eq!(set.count(), found.len());
        }
    }

    #[test]
    fn what_is_missing_of_a_range_is_what_others_do_not_have(
        numbers in prop::collection::btree_set(0..60_u64, 0..40),
        (start, len) in (0..70_u64, 0..30_u64),
    ) {
        let mut set = Ranges::new();
        for number in &numbers {
            set.insert(*number);
        }
        let expected = (start..start + len).filter(|number| !numbers.contains(number)).collect();
        let found: Vec<_> = set.missing_of(start..start + len).collect();
        prop_assert_eq!(found, ranges_of(&expected));
    }

    #[test]
    fn what_is_over_is_forgotten_from_below(
        numbers in prop::collection::btree_set(0..200_u64, 0..60),
        count in 0..20_usize,
    ) {
        let mut set = Ranges::new();
        for number in &numbers {
            set.insert(*number);
        }
        let before: Vec<_> = set.descending().cloned().collect();
        set.keep_highest(count);
        let after: Vec<_> = set.descending().cloned().collect();
        prop_assert_eq!(&after[..], &before[..count.min(before.len())]);
    }
}
