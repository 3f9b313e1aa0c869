//! The tiles of a graph's distances tell each other what they have found, once for every vertex.

use super::{spawn, tell};
use crate::savina::Done;
use crate::savina::apsp::{self, Distances, News, Square, Tile};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Collector {
    distances: Option<Distances>,
    done: Done<Distances>,
}
struct Collect(usize, Tile);

struct Worker {
    square: Square,
    neighbours: Vec<Address<Self>>,
    collector: Address<Collector>,
}
struct Begin(Vec<Address<Worker>>);
struct Hear(News);

plain_actors!(Collector, Worker);

impl Handler<Collect> for Collector {
    type Return = ();

    async fn handle(&mut self, Collect(place, tile): Collect, _cx: &mut Context<Self>) {
        if let Some(distances) = self.distances.take_if(|distances| distances.add(place, tile)) {
            self.done.tell(distances);
        }
    }
}

impl Worker {
    async fn advance(&mut self) {
        while self.square.advance() {
            self.tell_news().await;
        }
        if let Some((place, tile)) = self.square.result() {
            tell(&self.collector, Collect(place, tile)).await;
        }
    }

    async fn tell_news(&self) {
        let news = self.square.news();
        for neighbour in &self.neighbours {
            tell(neighbour, Hear(news.clone())).await;
        }
    }
}

impl Handler<Begin> for Worker {
    type Return = ();

    async fn handle(&mut self, Begin(neighbours): Begin, _cx: &mut Context<Self>) {
        self.neighbours = neighbours;
        self.tell_news().await;
        self.advance().await;
    }
}

impl Handler<Hear> for Worker {
    type Return = ();

    async fn handle(&mut self, Hear(news): Hear, _cx: &mut Context<Self>) {
        self.square.hear(news);
        // Early birds wait until this one has told its own news.
        if !self.neighbours.is_empty() {
            self.advance().await;
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let side = apsp::side(n);
    let (done, distances) = Done::new();
    let collector = Collector { distances: Some(Distances::new(side)), done };
    let collector = spawn(collector);
    let worker = |place| {
        let (square, collector) = (Square::new(side, place), collector.clone());
        spawn(Worker { square, neighbours: Vec::new(), collector })
    };
    let workers: Vec<_> = (0..side * side).map(worker).collect();
    let clock = Instant::now();
    for (place, worker) in workers.iter().enumerate() {
        let of = apsp::neighbours(side, place).map(|place| workers[place].clone()).collect();
        tell(worker, Begin(of)).await;
    }
    let distances = distances.await;
    let took = clock.elapsed();
    assert!(distances.is_ok_and(|distances| distances.are_right()), "the shortest paths");
    took
}
