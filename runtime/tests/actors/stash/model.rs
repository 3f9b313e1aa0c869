//! Any history of a stash, beside one on paper.

use crate::stash::{Served, read};
use crate::support::{Builds, LONG, run};
use greenroom::{Actor, Context, System, handlers};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a message does beside being served.
#[derive(Clone, Copy, Debug)]
enum Then {
    Nothing,
    Unstash,
    Shut,
    Crash,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Put aside while the door is shut whose number is given.
    Serve(usize, Then),
    /// Opens a door, without a word to what waits at it.
    Open(usize),
    /// Does what `Serve` would, at once.
    Do(Then),
}

/// Serves at two doors.
#[derive(Actor)]
#[actor(stash = 4, restart = transient(100 in "1h"))]
struct Doors {
    are_open: [bool; 2],
    served: Served,
}

#[handlers]
impl Doors {
    #[start]
    fn start(served: Served) -> Self {
        Self { are_open: [false; 2], served }
    }
    #[tell]
    #[stash(while = !self.are_open[*door])]
    fn serve(&mut self, number: u32, door: usize, then: Then, cx: &mut Context<Self>) {
        let _ = door;
        self.served.lock().push(number);
        self.then(then, cx);
    }
    #[tell]
    fn open(&mut self, door: usize) {
        self.are_open[door] = true;
    }
    #[tell]
    fn then(&mut self, then: Then, cx: &mut Context<Self>) {
        match then {
            Then::Nothing => {}
            Then::Unstash => drop(cx.unstash()),
            Then::Shut => self.are_open = [false; 2],
            Then::Crash => panic!("as told"),
        }
    }
}

/// The same on paper: what was served, and how many found no room.
fn on_paper(ops: &[Op]) -> (Vec<u32>, u64, u64) {
    let (mut are_open, mut served, mut stashed) = ([false; 2], Vec::new(), VecDeque::new());
    let mut refused = 0;
    let mut mail: VecDeque<(u32, Op)> = (0..).zip(ops.iter().copied()).collect();
    while let Some((number, op)) = mail.pop_front() {
        let then = match op {
            Op::Serve(door, _) if !are_open[door] => {
                if stashed.len() < 4 {
                    stashed.push_back((number, op));
                } else {
                    refused += 1;
                }
                continue;
            }
            Op::Serve(_, then) => {
                served.push(number);
                then
            }
            Op::Open(door) => {
                are_open[door] = true;
                continue;
            }
            Op::Do(then) => then,
        };
        if matches!(then, Then::Shut | Then::Crash) {
            are_open = [false; 2];
        }
        if matches!(then, Then::Unstash | Then::Crash) {
            while let Some(newest) = stashed.pop_back() {
                mail.push_front(newest);
            }
        }
    }
    (served, refused, stashed.len() as u64)
}

fn then() -> impl Strategy<Value = Then> {
    prop_oneof![
        6 => Just(Then::Nothing), 3 => Just(Then::Unstash), 1 => Just(Then::Shut),
        1 => Just(Then::Crash)
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..2_usize, then()).prop_map(|(door, then)| Op::Serve(door, then)),
        2 => (0..2_usize).prop_map(Op::Open),
        2 => then().prop_map(Op::Do),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    // [G-STASH-1] [G-STASH-2] [G-STASH-4]
    #[test]
    fn a_stash_does_what_a_list_on_paper_does(ops in prop::collection::vec(op(), 0..60)) {
        run(async {
            let system = System::builder().workers(1).own();
            let served = Served::default();
            let doors = system.spawn::<Doors>(Arc::clone(&served)).await.unwrap();
            for (number, op) in (0..).zip(&ops) {
                match *op {
                    Op::Serve(door, then) => doors.serve(number, door, then).await.unwrap(),
                    Op::Open(door) => doors.open(door).await.unwrap(),
                    Op::Do(then) => doors.then(then).await.unwrap(),
                }
            }
            system.drain(LONG).await.unwrap();
            let counts = system.counts();
            let outcome = (read(&served), counts.dead_stash_full, counts.dead_stopped);
            assert_eq!(outcome, on_paper(&ops));
        });
    }
}
