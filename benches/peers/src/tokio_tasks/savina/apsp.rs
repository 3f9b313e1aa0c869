//! The tiles of a graph's distances tell each other what they have found, once for every vertex.

use crate::savina::apsp::{self, Distances, News, Square, Tile};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

fn tell(neighbours: &[UnboundedSender<News>], news: &News) {
    for neighbour in neighbours {
        neighbour.send(news.clone()).expect("the neighbour lives");
    }
}

async fn worker(
    mut square: Square,
    mut mailbox: UnboundedReceiver<News>,
    neighbours: Vec<UnboundedSender<News>>,
) -> (usize, Tile) {
    tell(&neighbours, &square.news());
    loop {
        while square.advance() {
            tell(&neighbours, &square.news());
        }
        if let Some(result) = square.result() {
            return result;
        }
        square.hear(mailbox.recv().await.expect("a neighbour lives"));
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let side = apsp::side(n);
    let (senders, mailboxes): (Vec<_>, Vec<_>) =
        (0..side * side).map(|_| mpsc::unbounded_channel()).unzip();
    let squares: Vec<_> = (0..side * side).map(|place| Square::new(side, place)).collect();
    let clock = Instant::now();
    let workers =
        squares.into_iter().zip(mailboxes).enumerate().map(|(place, (square, mailbox))| {
            let neighbours = apsp::neighbours(side, place).map(|place| senders[place].clone());
            tokio::spawn(worker(square, mailbox, neighbours.collect()))
        });
    let workers: Vec<_> = workers.collect();
    let mut distances = Distances::new(side);
    for worker in workers {
        let (place, tile) = worker.await.expect("a worker does not panic");
        distances.add(place, tile);
    }
    let took = clock.elapsed();
    assert!(distances.are_right(), "the shortest paths");
    took
}
