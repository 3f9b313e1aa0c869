//! A master and its workers divide a multiplication of matrices until its parts are small.

use super::{Handled, State, start};
use crate::savina::Done;
use crate::savina::recmatmul::{Block, Factors, Part, Product, Step, WORKERS};
use ractor::ActorRef;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Multiply(Part);

struct Worker {
    factors: Arc<Factors>,
    master: ActorRef<ToMaster>,
}

impl State for Worker {
    type Msg = Multiply;

    async fn handle(&mut self, _me: ActorRef<Multiply>, Multiply(part): Multiply) -> Handled {
        match self.factors.step(part) {
            Step::Divided(parts) => {
                for part in parts {
                    self.master.cast(ToMaster::Part(part))?;
                }
            }
            Step::Block(block) => self.master.cast(ToMaster::Block(block))?,
        }
        Ok(())
    }
}

enum ToMaster {
    Begin(Vec<ActorRef<Multiply>>, Part),
    Part(Part),
    Block(Block),
}

struct Master {
    workers: Vec<ActorRef<Multiply>>,
    turn: usize,
    product: Option<Product>,
    done: Done<Product>,
}

impl Master {
    fn give(&mut self, part: Part) -> Handled {
        self.workers[self.turn].cast(Multiply(part))?;
        self.turn = (self.turn + 1) % WORKERS;
        Ok(())
    }
}

impl State for Master {
    type Msg = ToMaster;

    async fn handle(&mut self, _me: ActorRef<ToMaster>, message: ToMaster) -> Handled {
        match message {
            ToMaster::Begin(workers, whole) => {
                self.workers = workers;
                self.give(whole)?;
            }
            ToMaster::Part(part) => self.give(part)?,
            ToMaster::Block(block) => {
                if let Some(product) = self.product.take_if(|product| product.add(&block)) {
                    self.done.tell(product);
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let factors = Factors::new(n);
    let (done, product) = Done::new();
    let master =
        Master { workers: Vec::new(), turn: 0, product: Some(Product::of(&factors)), done };
    let master = start(master).await;
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let (factors, master) = (Arc::clone(&factors), master.clone());
        workers.push(start(Worker { factors, master }).await);
    }
    let clock = Instant::now();
    master.cast(ToMaster::Begin(workers, factors.whole())).expect("the master lives");
    let product = product.await;
    let took = clock.elapsed();
    assert!(product.is_ok_and(|product| product.is_right()), "the product of the factors");
    took
}
