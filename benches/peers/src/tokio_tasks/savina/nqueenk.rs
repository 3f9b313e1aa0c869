//! A master and its workers place queens.

use crate::savina::nqueenk::{self, Board, Step, Tally, WORKERS};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

enum News {
    Board(Board),
    Placed(u64),
}

async fn worker(mut mailbox: UnboundedReceiver<Board>, master: UnboundedSender<News>) {
    while let Some(board) = mailbox.recv().await {
        let solutions = match board.step() {
            Step::Boards(boards) => {
                for board in boards {
                    master.send(News::Board(board)).expect("the master lives");
                }
                0
            }
            Step::Solutions(solutions) => solutions,
        };
        master.send(News::Placed(solutions)).expect("the master lives");
    }
}

async fn master(
    workers: Vec<UnboundedSender<Board>>,
    mut mailbox: UnboundedReceiver<News>,
) -> Option<u64> {
    let (mut tally, mut turns) = (Tally::default(), workers.iter().cycle());
    loop {
        match mailbox.recv().await? {
            News::Board(board) => {
                tally.give();
                turns.next()?.send(board).expect("the worker lives");
            }
            News::Placed(solutions) => {
                let solutions = tally.take(solutions);
                if solutions.is_some() {
                    return solutions;
                }
            }
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let side = nqueenk::side(n);
    let (sender, news) = mpsc::unbounded_channel();
    let worker = |_| {
        let (to_worker, mailbox) = mpsc::unbounded_channel();
        tokio::spawn(worker(mailbox, sender.clone()));
        to_worker
    };
    let workers = (0..WORKERS).map(worker).collect();
    let master = tokio::spawn(master(workers, news));
    let clock = Instant::now();
    sender.send(News::Board(Board::empty(side))).expect("the master lives");
    let solutions = master.await.expect("the master does not panic");
    let took = clock.elapsed();
    assert_eq!(solutions, Some(nqueenk::solutions(side)), "the solutions of this board");
    took
}
