//! A master and its workers place queens.

use super::{spawn, spawn_with};
use crate::savina::Done;
use crate::savina::nqueenk::{self, Board, Step, Tally, WORKERS};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Worker(ActorRef<Master>);
struct Place(Board);

struct Master {
    workers: Vec<ActorRef<Worker>>,
    turn: usize,
    tally: Tally,
    done: Done<u64>,
}
struct Give(Board);
struct Placed(u64);

plain_actor!(Worker);
plain_actor!(Master);

impl Message<Place> for Worker {
    type Reply = ();

    async fn handle(&mut self, Place(board): Place, _cx: &mut Context<Self, ()>) {
        let solutions = match board.step() {
            Step::Boards(boards) => {
                for board in boards {
                    self.0.tell(Give(board)).try_send().expect("the receiver lives");
                }
                0
            }
            Step::Solutions(solutions) => solutions,
        };
        self.0.tell(Placed(solutions)).try_send().expect("the receiver lives");
    }
}

impl Message<Give> for Master {
    type Reply = ();

    async fn handle(&mut self, Give(board): Give, _cx: &mut Context<Self, ()>) {
        self.tally.give();
        self.workers[self.turn].tell(Place(board)).try_send().expect("the receiver lives");
        self.turn = (self.turn + 1) % WORKERS;
    }
}

impl Message<Placed> for Master {
    type Reply = ();

    async fn handle(&mut self, Placed(solutions): Placed, _cx: &mut Context<Self, ()>) {
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
    master.wait_for_startup().await;
    let clock = Instant::now();
    master.tell(Give(Board::empty(side))).try_send().expect("the receiver lives");
    let solutions = solutions.await;
    let took = clock.elapsed();
    assert_eq!(solutions, Ok(nqueenk::solutions(side)), "the solutions of this board");
    took
}
