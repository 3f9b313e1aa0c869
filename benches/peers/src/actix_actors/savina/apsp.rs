//! The tiles of a graph's distances tell each other what they have found, once for every vertex.

use super::start;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::apsp::{self, Distances, News, Square, Tile};
use actix::{Addr, Handler};
use std::time::{Duration, Instant};

struct Collector {
    distances: Option<Distances>,
    done: Done<Distances>,
}
struct Collect(usize, Tile);

struct Worker {
    square: Square,
    neighbours: Vec<Addr<Self>>,
    collector: Addr<Collector>,
}
struct Begin(Vec<Addr<Worker>>);
struct Hear(News);

messages!(Collect, Begin, Hear);
plain_actors!(Collector, Worker);

impl Handler<Collect> for Collector {
    type Result = ();

    fn handle(&mut self, Collect(place, tile): Collect, _cx: &mut Self::Context) {
        if let Some(distances) = self.distances.take_if(|distances| distances.add(place, tile)) {
            self.done.tell(distances);
        }
    }
}

impl Worker {
    fn advance(&mut self) {
        while self.square.advance() {
            self.tell_news();
        }
        if let Some((place, tile)) = self.square.result() {
            self.collector.do_send(Collect(place, tile));
        }
    }

    fn tell_news(&self) {
        let news = self.square.news();
        for neighbour in &self.neighbours {
            neighbour.do_send(Hear(news.clone()));
        }
    }
}

impl Handler<Begin> for Worker {
    type Result = ();

    fn handle(&mut self, Begin(neighbours): Begin, _cx: &mut Self::Context) {
        self.neighbours = neighbours;
        self.tell_news();
        self.advance();
    }
}

impl Handler<Hear> for Worker {
    type Result = ();

    fn handle(&mut self, Hear(news): Hear, _cx: &mut Self::Context) {
        self.square.hear(news);
        // Early birds wait until this one has told its own news.
        if !self.neighbours.is_empty() {
            self.advance();
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let side = apsp::side(n);
    let (done, distances) = Done::new();
    let collector = Collector { distances: Some(Distances::new(side)), done };
    let collector = start(&stage, 0, collector);
    let worker = |place| {
        let (square, collector) = (Square::new(side, place), collector.clone());
        start(&stage, place, Worker { square, neighbours: Vec::new(), collector })
    };
    let workers: Vec<_> = (0..side * side).map(worker).collect();
    let clock = Instant::now();
    for (place, worker) in workers.iter().enumerate() {
        let of = apsp::neighbours(side, place).map(|place| workers[place].clone()).collect();
        worker.do_send(Begin(of));
    }
    let distances = distances.await;
    let took = clock.elapsed();
    assert!(distances.is_ok_and(|distances| distances.are_right()), "the shortest paths");
    took
}
