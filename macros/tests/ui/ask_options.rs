#![allow(unused)]

use greenroom::{Actor, handlers};

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

    #[tell(cancel)]
    fn quote(&mut self) {}
}

fn main() {}
