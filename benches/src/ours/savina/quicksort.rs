//! Quicksort: an actor for every part that is split.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::quicksort::{self, Merge, Side, Sorting};
use std::time::{Duration, Instant};

enum Whose {
    Part(Side, Ref<Sorter>),
    Program(Done<Vec<u64>>),
}

#[derive(Actor)]
struct Sorter {
    whose: Whose,
    merge: Option<Merge>,
}

#[handlers]
impl Sorter {
    #[start]
    fn start(whose: Whose) -> Self {
        Self { whose, merge: None }
    }

    #[tell]
    fn sort(&mut self, part: Vec<u64>, cx: &mut Context<Self>) {
        match quicksort::step(part) {
            Sorting::Sorted(sorted) => self.answer(sorted, cx),
            Sorting::Split(split) => {
                self.merge = Some(Merge::around(split.equal));
                for (side, part) in [(Side::Below, split.below), (Side::Above, split.above)] {
                    let whose = Whose::Part(side, cx.me());
                    let sorter = cx.spawn::<Self>(whose).start().expect("a sorter starts");
                    sorter.sort(part).tell().expect("the sorter lives");
                }
            }
        }
    }

    #[tell]
    fn sorted(&mut self, side: Side, part: Vec<u64>, cx: &mut Context<Self>) {
        if let Some(whole) = self.merge.as_mut().and_then(|merge| merge.add(side, part)) {
            self.answer(whole, cx);
        }
    }

    fn answer(&mut self, sorted: Vec<u64>, cx: &mut Context<Self>) {
        match &mut self.whose {
            Whose::Part(side, whole) => {
                whole.sorted(*side, sorted).tell().expect("the whole waits");
            }
            Whose::Program(done) => done.tell(sorted),
        }
        cx.stop();
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let numbers = quicksort::numbers(n);
    let (done, sorted) = Done::new();
    let sorter = system.spawn::<Sorter>(Whose::Program(done)).await.expect("the sorter starts");
    let clock = Instant::now();
    sorter.sort(numbers).tell().expect("the sorter lives");
    let sorted = sorted.await.expect("the sorters do not panic");
    let took = clock.elapsed();
    assert!(quicksort::is_right(&sorted, n), "all numbers, sorted");
    took
}
