#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn best(&self) -> u64 {
        self.best
    }

    #[tell]
    async fn later(&self) -> Option<()> {
        None
    }
}

fn main() {}
