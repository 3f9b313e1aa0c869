#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn stop(&mut self) {}

    #[tell]
    fn r#drain(&mut self) {}

    #[ask]
    fn id(&self) -> u64 {
        self.best
    }
}

fn main() {}
