//! Quicksort: an actor for every part that is split.

use super::spawn;
use crate::savina::Done;
use crate::savina::quicksort::{self, Merge, Side, Sorting};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

enum Whose {
    Part(Side, ActorRef<Sorter>),
    Program(Done<Vec<u64>>),
}

struct Sorter {
    whose: Whose,
    merge: Option<Merge>,
}
struct Sort(Vec<u64>);
struct Sorted(Side, Vec<u64>);

plain_actor!(Sorter);

impl Sorter {
    fn of(whose: Whose) -> Self {
        Self { whose, merge: None }
    }

    fn answer(&mut self, sorted: Vec<u64>, cx: &mut Context<Self, ()>) {
        match &mut self.whose {
            Whose::Part(side, whole) => {
                whole.tell(Sorted(*side, sorted)).try_send().expect("the receiver lives");
            }
            Whose::Program(done) => done.tell(sorted),
        }
        cx.stop();
    }
}

impl Message<Sort> for Sorter {
    type Reply = ();

    async fn handle(&mut self, Sort(part): Sort, cx: &mut Context<Self, ()>) {
        let split = match quicksort::step(part) {
            Sorting::Sorted(sorted) => return self.answer(sorted, cx),
            Sorting::Split(split) => split,
        };
        self.merge = Some(Merge::around(split.equal));
        let parts = [(Side::Below, split.below), (Side::Above, split.above)];
        for (side, part) in parts {
            let whose = Whose::Part(side, cx.actor_ref().clone());
            let sorter = spawn(Self::of(whose));
            sorter.tell(Sort(part)).try_send().expect("the receiver lives");
        }
    }
}

impl Message<Sorted> for Sorter {
    type Reply = ();

    async fn handle(&mut self, Sorted(side, part): Sorted, cx: &mut Context<Self, ()>) {
        if let Some(whole) = self.merge.as_mut().and_then(|merge| merge.add(side, part)) {
            self.answer(whole, cx);
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let numbers = quicksort::numbers(n);
    let (done, sorted) = Done::new();
    let sorter = spawn(Sorter::of(Whose::Program(done)));
    sorter.wait_for_startup().await;
    let clock = Instant::now();
    sorter.tell(Sort(numbers)).try_send().expect("the receiver lives");
    let sorted = sorted.await.expect("the sorters do not panic");
    let took = clock.elapsed();
    assert!(quicksort::is_right(&sorted, n), "all numbers, sorted");
    took
}
