#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn extend(&mut self, prices: impl IntoIterator<Item = u64>) {}

    #[ask]
    fn prices(&self) -> impl Iterator<Item = u64> {
        std::iter::once(self.best)
    }
}

fn main() {}
