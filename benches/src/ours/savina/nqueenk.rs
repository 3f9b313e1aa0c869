//! A master and its workers place queens.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::nqueenk::{self, Board, Step, Tally, WORKERS};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Worker {
    master: Ref<Master>,
}

#[handlers]
impl Worker {
    #[start]
    fn start(master: Ref<Master>) -> Self {
        Self { master }
    }

    #[tell]
    fn place(&mut self, board: Board) {
        let solutions = match board.step() {
            Step::Boards(boards) => {
                for board in boards {
                    self.master.board(board).tell().expect("the master lives");
                }
                0
            }
            Step::Solutions(solutions) => solutions,
        };
        self.master.placed(solutions).tell().expect("the master lives");
    }
}

#[derive(Actor)]
struct Master {
    workers: Vec<Ref<Worker>>,
    turn: usize,
    tally: Tally,
    done: Done<u64>,
}

#[handlers]
impl Master {
    #[start]
    fn start(done: Done<u64>, cx: &mut Context<Self>) -> Self {
        let me = cx.me();
        let mut worker = |_| cx.spawn::<Worker>(me.clone()).start().expect("a worker starts");
        let workers = (0..WORKERS).map(&mut worker).collect();
        Self { workers, turn: 0, tally: Tally::default(), done }
    }

    #[tell]
    fn board(&mut self, board: Board) {
        self.tally.give();
        self.workers[self.turn].place(board).tell().expect("the worker lives");
        self.turn = (self.turn + 1) % WORKERS;
    }

    #[tell]
    fn placed(&mut self, solutions: u64) {
        if let Some(solutions) = self.tally.take(solutions) {
            self.done.tell(solutions);
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let side = nqueenk::side(n);
    let (done, solutions) = Done::new();
    let master = system.spawn::<Master>(done).await.expect("the master starts");
    let clock = Instant::now();
    master.board(Board::empty(side)).tell().expect("the master lives");
    let solutions = solutions.await;
    let took = clock.elapsed();
    assert_eq!(solutions, Ok(nqueenk::solutions(side)), "the solutions of this board");
    took
}
