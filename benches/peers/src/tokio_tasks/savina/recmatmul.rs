//! A master and its workers divide a multiplication of matrices until its parts are small.

use crate::savina::recmatmul::{Factors, Part, Product, Step, WORKERS};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

async fn worker(
    mut mailbox: UnboundedReceiver<Part>,
    factors: Arc<Factors>,
    master: UnboundedSender<Step>,
) {
    while let Some(part) = mailbox.recv().await {
        if master.send(factors.step(part)).is_err() {
            return;
        }
    }
}

async fn master(
    factors: Arc<Factors>,
    workers: Vec<UnboundedSender<Part>>,
    mut mailbox: UnboundedReceiver<Step>,
) -> Option<Product> {
    let mut product = Product::of(&factors);
    let mut turns = workers.iter().cycle();
    let mut give = |part| turns.next().is_some_and(|worker| worker.send(part).is_ok());
    give(factors.whole());
    loop {
        match mailbox.recv().await? {
            Step::Divided(parts) => assert!(parts.into_iter().all(&mut give), "the workers live"),
            Step::Block(block) => {
                if product.add(&block) {
                    return Some(product);
                }
            }
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let factors = Factors::new(n);
    let (sender, steps) = mpsc::unbounded_channel();
    let worker = |_| {
        let (to_worker, mailbox) = mpsc::unbounded_channel();
        tokio::spawn(worker(mailbox, Arc::clone(&factors), sender.clone()));
        to_worker
    };
    let workers = (0..WORKERS).map(worker).collect();
    let clock = Instant::now();
    let product = tokio::spawn(master(Arc::clone(&factors), workers, steps)).await;
    let took = clock.elapsed();
    let product = product.expect("the master does not panic");
    assert!(product.is_some_and(|product| product.is_right()), "the product of the factors");
    took
}
