#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers]
impl Book {
    #[start]
    #[cfg(unix)]
    fn start() -> Self {
        Book { best: 0 }
    }
}

fn main() {}
