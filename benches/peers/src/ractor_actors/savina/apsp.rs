//! The tiles of a graph's distances tell each other what they have found, once for every vertex.

use super::{Handled, State, start};
use crate::savina::Done;
use crate::savina::apsp::{self, Distances, News, Square, Tile};
use ractor::ActorRef;
use std::time::{Duration, Instant};

struct Collect(usize, Tile);

struct Collector {
    distances: Option<Distances>,
    done: Done<Distances>,
}

impl State for Collector {
    type Msg = Collect;

    async fn handle(&mut self, _me: ActorRef<Collect>, Collect(place, tile): Collect) -> Handled {
        if let Some(distances) = self.distances.take_if(|distances| distances.add(place, tile)) {
            self.done.tell(distances);
        }
        Ok(())
    }
}

enum ToWorker {
    Begin(Vec<ActorRef<Self>>),
    Hear(News),
}

struct Worker {
    square: Square,
    neighbours: Vec<ActorRef<ToWorker>>,
    collector: ActorRef<Collect>,
}

impl Worker {
    fn advance(&mut self) -> Handled {
        while self.square.advance() {
            self.tell_news()?;
        }
        if let Some((place, tile)) = self.square.result() {
            self.collector.cast(Collect(place, tile))?;
        }
        Ok(())
    }

    fn tell_news(&self) -> Handled {
        let news = self.square.news();
        for neighbour in &self.neighbours {
            neighbour.cast(ToWorker::Hear(news.clone()))?;
        }
        Ok(())
    }
}

impl State for Worker {
    type Msg = ToWorker;

    async fn handle(&mut self, _me: ActorRef<ToWorker>, message: ToWorker) -> Handled {
        match message {
            ToWorker::Begin(neighbours) => {
                self.neighbours = neighbours;
                self.tell_news()?;
                self.advance()?;
            }
            ToWorker::Hear(news) => {
                self.square.hear(news);
                // Early birds wait until this one has told its own news.
                if !self.neighbours.is_empty() {
                    self.advance()?;
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let side = apsp::side(n);
    let (done, distances) = Done::new();
    let collector = start(Collector { distances: Some(Distances::new(side)), done }).await;
    let mut workers = Vec::new();
    for place in 0..side * side {
        let (square, collector) = (Square::new(side, place), collector.clone());
        workers.push(start(Worker { square, neighbours: Vec::new(), collector }).await);
    }
    let clock = Instant::now();
    for (place, worker) in workers.iter().enumerate() {
        let of = apsp::neighbours(side, place).map(|place| workers[place].clone()).collect();
        worker.cast(ToWorker::Begin(of)).expect("the worker lives");
    }
    let distances = distances.await;
    let took = clock.elapsed();
    assert!(distances.is_ok_and(|distances| distances.are_right()), "the shortest paths");
    took
}
