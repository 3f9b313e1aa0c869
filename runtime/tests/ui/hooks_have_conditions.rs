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

    #[stop]
    #[cfg_attr(all(), cfg_attr(all(), cfg(unix)))]
    fn stop(&mut self) {}
}

fn main() {}
