//! A `Reply` is taken for the runtime's, whatever its path.

#![allow(unused)]

use greenroom::{Actor, handlers};

mod other {
    pub struct Reply<T>(pub T);
}

#[derive(Actor)]
struct Book;

#[handlers]
impl Book {
    #[ask]
    fn best(&self, reply: other::Reply<u64>) {}

    #[ask]
    fn worst(&self, reply: other::Reply<u64>) -> u64 {
        reply.0
    }
}

fn main() {}
