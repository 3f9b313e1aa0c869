//! Quicksort: an actor for every part that is split.

use super::{Handled, State, start, start_soon};
use crate::savina::Done;
use crate::savina::quicksort::{self, Merge, Side, Sorting};
use ractor::ActorRef;
use std::time::{Duration, Instant};

enum Whose {
    Part(Side, ActorRef<ToSorter>),
    Program(Done<Vec<u64>>),
}

enum ToSorter {
    Sort(Vec<u64>),
    Sorted(Side, Vec<u64>),
}

struct Sorter {
    whose: Whose,
    merge: Option<Merge>,
}

impl Sorter {
    fn answer(&mut self, me: &ActorRef<ToSorter>, sorted: Vec<u64>) -> Handled {
        match &mut self.whose {
            Whose::Part(side, whole) => whole.cast(ToSorter::Sorted(*side, sorted))?,
            Whose::Program(done) => done.tell(sorted),
        }
        me.stop(None);
        Ok(())
    }

    fn sort(&mut self, me: &ActorRef<ToSorter>, part: Vec<u64>) -> Handled {
        let split = match quicksort::step(part) {
            Sorting::Sorted(sorted) => return self.answer(me, sorted),
            Sorting::Split(split) => split,
        };
        self.merge = Some(Merge::around(split.equal));
        for (side, part) in [(Side::Below, split.below), (Side::Above, split.above)] {
            let whose = Whose::Part(side, me.clone());
            let sorter = start_soon(Self { whose, merge: None })?;
            sorter.cast(ToSorter::Sort(part))?;
        }
        Ok(())
    }
}

impl State for Sorter {
    type Msg = ToSorter;

    async fn handle(&mut self, me: ActorRef<ToSorter>, message: ToSorter) -> Handled {
        match message {
            ToSorter::Sort(part) => self.sort(&me, part),
            ToSorter::Sorted(side, part) => {
                match self.merge.as_mut().and_then(|merge| merge.add(side, part)) {
                    Some(whole) => self.answer(&me, whole),
                    None => Ok(()),
                }
            }
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let numbers = quicksort::numbers(n);
    let (done, sorted) = Done::new();
    let sorter = start(Sorter { whose: Whose::Program(done), merge: None }).await;
    let clock = Instant::now();
    sorter.cast(ToSorter::Sort(numbers)).expect("the sorter lives");
    let sorted = sorted.await.expect("the sorters do not panic");
    let took = clock.elapsed();
    assert!(quicksort::is_right(&sorted, n), "all numbers, sorted");
    took
}
