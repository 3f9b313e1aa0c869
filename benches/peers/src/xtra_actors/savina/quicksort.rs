//! Quicksort: an actor for every part that is split.

use super::{spawn_with, tell};
use crate::savina::Done;
use crate::savina::quicksort::{self, Merge, Side, Sorting};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

enum Whose {
    Part(Side, Address<Sorter>),
    Program(Done<Vec<u64>>),
}

struct Sorter {
    /// Its own address, for the sorters of its parts.
    me: Address<Self>,
    whose: Whose,
    merge: Option<Merge>,
}
struct Sort(Vec<u64>);
struct Sorted(Side, Vec<u64>);

plain_actors!(Sorter);

impl Sorter {
    fn start(whose: Whose) -> Address<Self> {
        spawn_with(|me| Self { me: me.clone(), whose, merge: None })
    }

    async fn answer(&mut self, sorted: Vec<u64>, cx: &mut Context<Self>) {
        match &mut self.whose {
            Whose::Part(side, whole) => {
                tell(whole, Sorted(*side, sorted)).await;
            }
            Whose::Program(done) => done.tell(sorted),
        }
        cx.stop_self();
    }
}

impl Handler<Sort> for Sorter {
    type Return = ();

    async fn handle(&mut self, Sort(part): Sort, cx: &mut Context<Self>) {
        let split = match quicksort::step(part) {
            Sorting::Sorted(sorted) => return self.answer(sorted, cx).await,
            Sorting::Split(split) => split,
        };
        self.merge = Some(Merge::around(split.equal));
        let parts = [(Side::Below, split.below), (Side::Above, split.above)];
        for (side, part) in parts {
            let sorter = Self::start(Whose::Part(side, self.me.clone()));
            tell(&sorter, Sort(part)).await;
        }
    }
}

impl Handler<Sorted> for Sorter {
    type Return = ();

    async fn handle(&mut self, Sorted(side, part): Sorted, cx: &mut Context<Self>) {
        if let Some(whole) = self.merge.as_mut().and_then(|merge| merge.add(side, part)) {
            self.answer(whole, cx).await;
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let numbers = quicksort::numbers(n);
    let (done, sorted) = Done::new();
    let sorter = Sorter::start(Whose::Program(done));
    let clock = Instant::now();
    tell(&sorter, Sort(numbers)).await;
    let sorted = sorted.await.expect("the sorters do not panic");
    let took = clock.elapsed();
    assert!(quicksort::is_right(&sorted, n), "all numbers, sorted");
    took
}
