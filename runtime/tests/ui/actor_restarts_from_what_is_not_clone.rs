#![allow(unused)]

use greenroom::{Actor, handlers};

struct Feed;

#[derive(Actor)]
#[actor(restart = transient(5 in "10s"))]
struct Book {
    feed: Feed,
}

#[handlers]
impl Book {
    #[start]
    fn start(feed: Feed, _depth: usize) -> Self {
        Book { feed }
    }
}

fn main() {}
