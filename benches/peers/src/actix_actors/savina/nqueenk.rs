//! A master and its workers place queens.

use super::start;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::nqueenk::{self, Board, Step, Tally, WORKERS};
use actix::{Actor, Addr, AsyncContext, Context, Handler};
use std::time::{Duration, Instant};

struct Worker(Addr<Master>);
struct Place(Board);

struct Master {
    workers: Vec<Addr<Worker>>,
    turn: usize,
    tally: Tally,
    done: Done<u64>,
}
struct Give(Board);
struct Placed(u64);

messages!(Place, Give, Placed);
plain_actors!(Worker, Master);

impl Handler<Place> for Worker {
    type Result = ();

    fn handle(&mut self, Place(board): Place, _cx: &mut Self::Context) {
        let solutions = match board.step() {
            Step::Boards(boards) => {
                for board in boards {
                    self.0.do_send(Give(board));
                }
                0
            }
            Step::Solutions(solutions) => solutions,
        };
        self.0.do_send(Placed(solutions));
    }
}

impl Handler<Give> for Master {
    type Result = ();

    fn handle(&mut self, Give(board): Give, _cx: &mut Self::Context) {
        self.tally.give();
        self.workers[self.turn].do_send(Place(board));
        self.turn = (self.turn + 1) % WORKERS;
    }
}

impl Handler<Placed> for Master {
    type Result = ();

    fn handle(&mut self, Placed(solutions): Placed, _cx: &mut Self::Context) {
        if let Some(solutions) = self.tally.take(solutions) {
            self.done.tell(solutions);
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let side = nqueenk::side(n);
    let (done, solutions) = Done::new();
    let master = Master::create(|cx: &mut Context<Master>| {
        let worker = |number| {
            let master = cx.address();
            start(&stage, number, Worker(master))
        };
        let workers = (0..WORKERS).map(worker).collect();
        Master { workers, turn: 0, tally: Tally::default(), done }
    });
    let clock = Instant::now();
    master.do_send(Give(Board::empty(side)));
    let solutions = solutions.await;
    let took = clock.elapsed();
    assert_eq!(solutions, Ok(nqueenk::solutions(side)), "the solutions of this board");
    took
}
