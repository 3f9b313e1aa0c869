//! A master and its workers divide a multiplication of matrices until its parts are small.

use super::start;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::recmatmul::{Block, Factors, Part, Product, Step, WORKERS};
use actix::{Actor, Addr, AsyncContext, Context, Handler};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Worker {
    factors: Arc<Factors>,
    master: Addr<Master>,
}
struct Multiply(Part);

struct Master {
    workers: Vec<Addr<Worker>>,
    turn: usize,
    product: Option<Product>,
    done: Done<Product>,
}
struct Give(Part);
struct Take(Block);

messages!(Multiply, Give, Take);
plain_actors!(Worker, Master);

impl Handler<Multiply> for Worker {
    type Result = ();

    fn handle(&mut self, Multiply(part): Multiply, _cx: &mut Self::Context) {
        match self.factors.step(part) {
            Step::Divided(parts) => {
                for part in parts {
                    self.master.do_send(Give(part));
                }
            }
            Step::Block(block) => self.master.do_send(Take(block)),
        }
    }
}

impl Handler<Give> for Master {
    type Result = ();

    fn handle(&mut self, Give(part): Give, _cx: &mut Self::Context) {
        self.workers[self.turn].do_send(Multiply(part));
        self.turn = (self.turn + 1) % WORKERS;
    }
}

impl Handler<Take> for Master {
    type Result = ();

    fn handle(&mut self, Take(block): Take, _cx: &mut Self::Context) {
        if let Some(product) = self.product.take_if(|product| product.add(&block)) {
            self.done.tell(product);
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let factors = Factors::new(n);
    let (done, product) = Done::new();
    let master = Master::create(|cx: &mut Context<Master>| {
        let worker = |number| {
            let (factors, master) = (Arc::clone(&factors), cx.address());
            start(&stage, number, Worker { factors, master })
        };
        let workers = (0..WORKERS).map(worker).collect();
        Master { workers, turn: 0, product: Some(Product::of(&factors)), done }
    });
    let clock = Instant::now();
    master.do_send(Give(factors.whole()));
    let product = product.await;
    let took = clock.elapsed();
    assert!(product.is_ok_and(|product| product.is_right()), "the product of the factors");
    took
}
