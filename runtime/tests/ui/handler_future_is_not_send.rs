#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[ask]
    async fn best(&mut self) -> u64 {
        let best = std::rc::Rc::new(self.best);
        std::future::ready(()).await;
        *best
    }
}

fn main() {}
