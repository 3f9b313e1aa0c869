#![allow(unused)]

use greenroom::{Actor, Context, Down, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[down]
    fn nothing(&mut self) {}

    #[down]
    fn context_first(&mut self, cx: &mut Context<Self>, down: Down) {}

    #[down]
    fn shared(&self, down: Down) {}
}

fn main() {}
