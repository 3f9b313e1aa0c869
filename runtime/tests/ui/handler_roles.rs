#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[ask]
    #[ask]
    fn best(&self) -> u64 {
        self.best
    }

    #[tell]
    #[local]
    fn tick(&mut self) {}

    #[tell(now)]
    fn quote(&mut self) {}

    #[cfg_attr(unix, tell)]
    fn on_unix(&mut self) {}
}

fn main() {}
