//! Quicksort: an actor for every part that is split.

use super::Nursery;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::quicksort::{self, Merge, Side, Sorting};
use actix::{Actor, ActorContext, Addr, AsyncContext, Context, Handler};
use std::time::{Duration, Instant};

enum Whose {
    Part(Side, Addr<Sorter>),
    Program(Done<Vec<u64>>),
}

struct Sorter {
    whose: Whose,
    nursery: Nursery,
    merge: Option<Merge>,
}
struct Sort(Vec<u64>);
struct Sorted(Side, Vec<u64>);

messages!(Sort, Sorted);
plain_actors!(Sorter);

impl Sorter {
    fn of(whose: Whose, nursery: Nursery) -> Self {
        Self { whose, nursery, merge: None }
    }

    fn answer(&mut self, sorted: Vec<u64>, cx: &mut Context<Self>) {
        match &mut self.whose {
            Whose::Part(side, whole) => whole.do_send(Sorted(*side, sorted)),
            Whose::Program(done) => done.tell(sorted),
        }
        cx.stop();
    }
}

impl Handler<Sort> for Sorter {
    type Result = ();

    fn handle(&mut self, Sort(part): Sort, cx: &mut Self::Context) {
        let split = match quicksort::step(part) {
            Sorting::Sorted(sorted) => return self.answer(sorted, cx),
            Sorting::Split(split) => split,
        };
        self.merge = Some(Merge::around(split.equal));
        let parts = [(Side::Below, split.below), (Side::Above, split.above)];
        for (number, (side, part)) in parts.into_iter().enumerate() {
            let whose = Whose::Part(side, cx.address());
            let sorter = self.nursery.start(number, |nursery| Self::of(whose, nursery));
            sorter.do_send(Sort(part));
        }
    }
}

impl Handler<Sorted> for Sorter {
    type Result = ();

    fn handle(&mut self, Sorted(side, part): Sorted, cx: &mut Self::Context) {
        if let Some(whole) = self.merge.as_mut().and_then(|merge| merge.add(side, part)) {
            self.answer(whole, cx);
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let numbers = quicksort::numbers(n);
    let (done, sorted) = Done::new();
    let sorter = Sorter::of(Whose::Program(done), Nursery::on(stage)).start();
    let clock = Instant::now();
    sorter.do_send(Sort(numbers));
    let sorted = sorted.await.expect("the sorters do not panic");
    let took = clock.elapsed();
    assert!(quicksort::is_right(&sorted, n), "all numbers, sorted");
    took
}
