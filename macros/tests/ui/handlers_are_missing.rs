#![allow(unused)]

use greenroom::{Actor, System};

#[derive(Actor)]
struct Book {
    best: u64,
}

fn spawn(system: &System) {
    let _ = system.spawn::<Book>(Book { best: 0 });
}

fn main() {}
