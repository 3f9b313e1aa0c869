#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
#[actor(stash = 10)]
struct Book {
    open: u64,
}

#[handlers]
impl Book {
    #[tell]
    #[stash(while = self.open)]
    fn no_bool(&mut self) {}

    #[tell]
    #[stash(while = page > 5)]
    fn read(&mut self, page: u64) {}
}

fn main() {}
