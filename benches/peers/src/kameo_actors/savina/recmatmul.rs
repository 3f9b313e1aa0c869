//! A master and its workers divide a multiplication of matrices until its parts are small.

use super::{spawn, spawn_with};
use crate::savina::Done;
use crate::savina::recmatmul::{Block, Factors, Part, Product, Step, WORKERS};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Worker {
    factors: Arc<Factors>,
    master: ActorRef<Master>,
}
struct Multiply(Part);

struct Master {
    workers: Vec<ActorRef<Worker>>,
    turn: usize,
    product: Option<Product>,
    done: Done<Product>,
}
struct Give(Part);
struct Take(Block);

plain_actor!(Worker);
plain_actor!(Master);

impl Message<Multiply> for Worker {
    type Reply = ();

    async fn handle(&mut self, Multiply(part): Multiply, _cx: &mut Context<Self, ()>) {
        match self.factors.step(part) {
            Step::Divided(parts) => {
                for part in parts {
                    self.master.tell(Give(part)).try_send().expect("the receiver lives");
                }
            }
            Step::Block(block) => {
                self.master.tell(Take(block)).try_send().expect("the receiver lives");
            }
        }
    }
}

impl Message<Give> for Master {
    type Reply = ();

    async fn handle(&mut self, Give(part): Give, _cx: &mut Context<Self, ()>) {
        self.workers[self.turn].tell(Multiply(part)).try_send().expect("the receiver lives");
        self.turn = (self.turn + 1) % WORKERS;
    }
}

impl Message<Take> for Master {
    type Reply = ();

    async fn handle(&mut self, Take(block): Take, _cx: &mut Context<Self, ()>) {
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
    master.wait_for_startup().await;
    let clock = Instant::now();
    master.tell(Give(factors.whole())).try_send().expect("the receiver lives");
    let product = product.await;
    let took = clock.elapsed();
    assert!(product.is_ok_and(|product| product.is_right()), "the product of the factors");
    took
}
