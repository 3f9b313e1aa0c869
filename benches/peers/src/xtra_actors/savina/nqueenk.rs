//! A master and its workers place queens.

use super::{spawn, spawn_with, tell};
use crate::savina::Done;
use crate::savina::nqueenk::{self, Board, Step, Tally, WORKERS};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

/// Boards come before the word that a worker is done with theirs, which could overtake them.
const FIRST: u32 = 1;

struct Worker(Address<Master>);
struct Place(Board);

struct Master {
    workers: Vec<Address<Worker>>,
    turn: usize,
    tally: Tally,
    done: Done<u64>,
}
struct Give(Board);
struct Placed(u64);

plain_actors!(Worker, Master);

impl Handler<Place> for Worker {
    type Return = ();

    async fn handle(&mut self, Place(board): Place, _cx: &mut Context<Self>) {
        let solutions = match board.step() {
            Step::Boards(boards) => {
                for board in boards {
                    let give = self.0.send(Give(board)).priority(FIRST).detach();
                    drop(give.await.expect("the master lives"));
                }
                0
            }
            Step::Solutions(solutions) => solutions,
        };
        tell(&self.0, Placed(solutions)).await;
    }
}

impl Handler<Give> for Master {
    type Return = ();

    async fn handle(&mut self, Give(board): Give, _cx: &mut Context<Self>) {
        self.tally.give();
        tell(&self.workers[self.turn], Place(board)).await;
        self.turn = (self.turn + 1) % WORKERS;
    }
}

impl Handler<Placed> for Master {
    type Return = ();

    async fn handle(&mut self, Placed(solutions): Placed, _cx: &mut Context<Self>) {
        if let Some(solutions) = self.tally.take(solutions) {
            self.done.tell(solutions);
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let side = nqueenk::side(n);
    let (done, solutions) = Done::new();
    let master = spawn_with(|me| {
        let worker = |_| {
            let master = me.clone();
            spawn(Worker(master))
        };
        let workers = (0..WORKERS).map(worker).collect();
        Master { workers, turn: 0, tally: Tally::default(), done }
    });
    let clock = Instant::now();
    tell(&master, Give(Board::empty(side))).await;
    let solutions = solutions.await;
    let took = clock.elapsed();
    assert_eq!(solutions, Ok(nqueenk::solutions(side)), "the solutions of this board");
    took
}
