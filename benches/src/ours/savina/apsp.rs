//! The tiles of a graph's distances tell each other what they have found, once for every vertex.

use greenroom::{Actor, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::apsp::{self, Distances, News, Square, Tile};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Collector {
    distances: Option<Distances>,
    done: Done<Distances>,
}

#[handlers]
impl Collector {
    #[start]
    fn start(side: usize, done: Done<Distances>) -> Self {
        Self { distances: Some(Distances::new(side)), done }
    }

    #[tell]
    fn tile(&mut self, place: usize, tile: Tile) {
        if let Some(distances) = self.distances.take_if(|distances| distances.add(place, tile)) {
            self.done.tell(distances);
        }
    }
}

#[derive(Actor)]
struct Worker {
    square: Square,
    neighbours: Vec<Ref<Self>>,
    collector: Ref<Collector>,
}

#[handlers]
impl Worker {
    #[start]
    fn start(square: Square, collector: Ref<Collector>) -> Self {
        Self { square, neighbours: Vec::new(), collector }
    }

    #[tell]
    fn begin(&mut self, neighbours: Vec<Ref<Self>>) {
        self.neighbours = neighbours;
        self.tell_news();
        self.advance();
    }

    #[tell]
    fn hear(&mut self, news: News) {
        self.square.hear(news);
        // Early birds wait until this one has told its own news.
        if !self.neighbours.is_empty() {
            self.advance();
        }
    }

    fn advance(&mut self) {
        while self.square.advance() {
            self.tell_news();
        }
        if let Some((place, tile)) = self.square.result() {
            self.collector.tile(place, tile).tell().expect("the collector lives");
        }
    }

    fn tell_news(&self) {
        let news = self.square.news();
        for neighbour in &self.neighbours {
            neighbour.hear(news.clone()).tell().expect("the neighbour lives");
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let side = apsp::side(n);
    let (done, distances) = Done::new();
    let collector = system.spawn::<Collector>((side, done)).await.expect("the collector starts");
    let mut workers = Vec::new();
    for place in 0..side * side {
        let args = (Square::new(side, place), collector.clone());
        workers.push(system.spawn::<Worker>(args).await.expect("a worker starts"));
    }
    let clock = Instant::now();
    for (place, worker) in workers.iter().enumerate() {
        let of = apsp::neighbours(side, place).map(|place| workers[place].clone()).collect();
        worker.begin(of).tell().expect("the worker lives");
    }
    let distances = distances.await;
    let took = clock.elapsed();
    assert!(distances.is_ok_and(|distances| distances.are_right()), "the shortest paths");
    took
}
