#![allow(unused)]

use greenroom::{Actor, Context, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[derive(Actor)]
struct Other;

#[handlers]
impl Other {}

#[handlers]
impl Book {
    #[tell]
    fn quote(&mut self, cx: &mut Context<Other>) {}
}

fn main() {}
