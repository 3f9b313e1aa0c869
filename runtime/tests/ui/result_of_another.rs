//! A generic `Result` is taken for the one of `core`.

#![allow(unused)]

use greenroom::{Actor, handlers};

pub struct Result<T>(T);

#[derive(Actor)]
struct Book;

#[handlers]
impl Book {
    #[ask]
    fn best(&self) -> Result<u8> {
        Result(1)
    }
}

fn main() {}
