//! A master and its workers divide a multiplication of matrices until its parts are small.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::recmatmul::{Block, Factors, Part, Product, Step, WORKERS};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Worker {
    factors: Arc<Factors>,
    master: Ref<Master>,
}

#[handlers]
impl Worker {
    #[start]
    fn start(factors: Arc<Factors>, master: Ref<Master>) -> Self {
        Self { factors, master }
    }

    #[tell]
    fn multiply(&mut self, part: Part) {
        match self.factors.step(part) {
            Step::Divided(parts) => {
                for part in parts {
                    self.master.part(part).tell().expect("the master lives");
                }
            }
            Step::Block(block) => self.master.block(block).tell().expect("the master lives"),
        }
    }
}

#[derive(Actor)]
struct Master {
    workers: Vec<Ref<Worker>>,
    turn: usize,
    product: Option<Product>,
    done: Done<Product>,
}

#[handlers]
impl Master {
    #[start]
    fn start(factors: Arc<Factors>, done: Done<Product>, cx: &mut Context<Self>) -> Self {
        let me = cx.me();
        let mut worker = |_| {
            let args = (Arc::clone(&factors), me.clone());
            cx.spawn::<Worker>(args).start().expect("a worker starts")
        };
        let workers = (0..WORKERS).map(&mut worker).collect();
        Self { workers, turn: 0, product: Some(Product::of(&factors)), done }
    }

    #[tell]
    fn part(&mut self, part: Part) {
        self.workers[self.turn].multiply(part).tell().expect("the worker lives");
        self.turn = (self.turn + 1) % WORKERS;
    }

    #[tell]
    fn block(&mut self, block: Block) {
        if let Some(product) = self.product.take_if(|product| product.add(&block)) {
            self.done.tell(product);
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let factors = Factors::new(n);
    let (done, product) = Done::new();
    let master = system.spawn::<Master>((Arc::clone(&factors), done)).await;
    let master = master.expect("the master starts");
    let clock = Instant::now();
    master.part(factors.whole()).tell().expect("the master lives");
    let product = product.await;
    let took = clock.elapsed();
    assert!(product.is_ok_and(|product| product.is_right()), "the product of the factors");
    took
}
