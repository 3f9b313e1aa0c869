#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[tell]
    fn quote(&mut self, #[cfg(unix)] price: u64) {}

    #[tell]
    fn sell(&mut self, #[cfg_attr(all(), cfg(unix))] price: u64) {}
}

fn main() {}
