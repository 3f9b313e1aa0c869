#![allow(unused)]

use greenroom::{Actor, Reply, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[ask(cancelled)]
    fn best(&self) -> u64 {
        self.best
    }

    #[ask = "cancel"]
    fn worst(&self) -> u64 {
        self.best
    }

    #[ask(cancel)]
    fn cancelled(&self, reply: Reply<u64>) {}

    #[ask]
    fn twice(&self, first: Reply<u64>, second: Reply<u64>) {}

    #[ask]
    fn returns(&self, reply: Reply<u64>) -> u64 {
        self.best
    }

    #[tell(cancel)]
    fn quote(&mut self) {}
}

fn main() {}
