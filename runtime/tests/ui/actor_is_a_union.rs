#![allow(unused)]

use greenroom::Actor;

#[derive(Actor)]
union Book {
    best: u64,
}

fn main() {}
