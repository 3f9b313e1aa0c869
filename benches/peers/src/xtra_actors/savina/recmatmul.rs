//! A master and its workers divide a multiplication of matrices until its parts are small.

use super::{spawn, spawn_with, tell};
use crate::savina::Done;
use crate::savina::recmatmul::{Block, Factors, Part, Product, Step, WORKERS};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Worker {
    factors: Arc<Factors>,
    master: Address<Master>,
}
struct Multiply(Part);

struct Master {
    workers: Vec<Address<Worker>>,
    turn: usize,
    product: Option<Product>,
    done: Done<Product>,
}
struct Give(Part);
struct Take(Block);

plain_actors!(Worker, Master);

impl Handler<Multiply> for Worker {
    type Return = ();

    async fn handle(&mut self, Multiply(part): Multiply, _cx: &mut Context<Self>) {
        match self.factors.step(part) {
            Step::Divided(parts) => {
                for part in parts {
                    tell(&self.master, Give(part)).await;
                }
            }
            Step::Block(block) => {
                tell(&self.master, Take(block)).await;
            }
        }
    }
}

impl Handler<Give> for Master {
    type Return = ();

    async fn handle(&mut self, Give(part): Give, _cx: &mut Context<Self>) {
        tell(&self.workers[self.turn], Multiply(part)).await;
        self.turn = (self.turn + 1) % WORKERS;
    }
}

impl Handler<Take> for Master {
    type Return = ();

    async fn handle(&mut self, Take(block): Take, _cx: &mut Context<Self>) {
        if let Some(product) = self.product.take_if(|product| product.add(&block)) {
            self.done.tell(product);
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let factors = Factors::new(n);
    let (done, product) = Done::new();
    let master = spawn_with(|me| {
        let worker = |_| {
            let (factors, master) = (Arc::clone(&factors), me.clone());
            spawn(Worker { factors, master })
        };
        let workers = (0..WORKERS).map(worker).collect();
        Master { workers, turn: 0, product: Some(Product::of(&factors)), done }
    });
    let clock = Instant::now();
    tell(&master, Give(factors.whole())).await;
    let product = product.await;
    let took = clock.elapsed();
    assert!(product.is_ok_and(|product| product.is_right()), "the product of the factors");
    took
}
