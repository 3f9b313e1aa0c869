//! A master and its workers place queens.

use super::{Handled, State, start};
use crate::savina::Done;
use crate::savina::nqueenk::{self, Board, Step, Tally, WORKERS};
use ractor::ActorRef;
use std::time::{Duration, Instant};

struct Place(Board);

struct Worker(ActorRef<ToMaster>);

impl State for Worker {
    type Msg = Place;

    async fn handle(&mut self, _me: ActorRef<Place>, Place(board): Place) -> Handled {
        let solutions = match board.step() {
            Step::Boards(boards) => {
                for board in boards {
                    self.0.cast(ToMaster::Board(board))?;
                }
                0
            }
            Step::Solutions(solutions) => solutions,
        };
        Ok(self.0.cast(ToMaster::Placed(solutions))?)
    }
}

enum ToMaster {
    Begin(Vec<ActorRef<Place>>, Board),
    Board(Board),
    Placed(u64),
}

struct Master {
    workers: Vec<ActorRef<Place>>,
    turn: usize,
    tally: Tally,
    done: Done<u64>,
}

impl Master {
    fn give(&mut self, board: Board) -> Handled {
        self.tally.give();
        self.workers[self.turn].cast(Place(board))?;
        self.turn = (self.turn + 1) % WORKERS;
        Ok(())
    }
}

impl State for Master {
    type Msg = ToMaster;

    async fn handle(&mut self, _me: ActorRef<ToMaster>, message: ToMaster) -> Handled {
        match message {
            ToMaster::Begin(workers, empty) => {
                self.workers = workers;
                self.give(empty)?;
            }
            ToMaster::Board(board) => self.give(board)?,
            ToMaster::Placed(solutions) => {
                if let Some(solutions) = self.tally.take(solutions) {
                    self.done.tell(solutions);
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let side = nqueenk::side(n);
    let (done, solutions) = Done::new();
    let master = Master { workers: Vec::new(), turn: 0, tally: Tally::default(), done };
    let master = start(master).await;
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(start(Worker(master.clone())).await);
    }
    let clock = Instant::now();
    master.cast(ToMaster::Begin(workers, Board::empty(side))).expect("the master lives");
    let solutions = solutions.await;
    let took = clock.elapsed();
    assert_eq!(solutions, Ok(nqueenk::solutions(side)), "the solutions of this board");
    took
}
