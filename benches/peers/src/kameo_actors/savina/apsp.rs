//! The tiles of a graph's distances tell each other what they have found, once for every vertex.

use super::spawn;
use crate::savina::Done;
use crate::savina::apsp::{self, Distances, News, Square, Tile};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Collector {
    distances: Option<Distances>,
    done: Done<Distances>,
}
struct Collect(usize, Tile);

struct Worker {
    square: Square,
    neighbours: Vec<ActorRef<Self>>,
    collector: ActorRef<Collector>,
}
struct Begin(Vec<ActorRef<Worker>>);
struct Hear(News);

plain_actor!(Collector);
plain_actor!(Worker);

impl Message<Collect> for Collector {
    type Reply = ();

    async fn handle(&mut self, Collect(place, tile): Collect, _cx: &mut Context<Self, ()>) {
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
            self.collector.tell(Collect(place, tile)).try_send().expect("the receiver lives");
        }
    }

    fn tell_news(&self) {
        let news = self.square.news();
        for neighbour in &self.neighbours {
            neighbour.tell(Hear(news.clone())).try_send().expect("the receiver lives");
        }
    }
}

impl Message<Begin> for Worker {
    type Reply = ();

    async fn handle(&mut self, Begin(neighbours): Begin, _cx: &mut Context<Self, ()>) {
        self.neighbours = neighbours;
        self.tell_news();
        self.advance();
    }
}

impl Message<Hear> for Worker {
    type Reply = ();

    async fn handle(&mut self, Hear(news): Hear, _cx: &mut Context<Self, ()>) {
        self.square.hear(news);
        // Early birds wait until this one has told its own news.
        if !self.neighbours.is_empty() {
            self.advance();
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
    collector.wait_for_startup().await;
    let clock = Instant::now();
    for (place, worker) in workers.iter().enumerate() {
        let of = apsp::neighbours(side, place).map(|place| workers[place].clone()).collect();
        worker.tell(Begin(of)).try_send().expect("the receiver lives");
    }
    let distances = distances.await;
    let took = clock.elapsed();
    assert!(distances.is_ok_and(|distances| distances.are_right()), "the shortest paths");
    took
}
