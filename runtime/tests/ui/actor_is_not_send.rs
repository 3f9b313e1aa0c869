#![allow(unused)]

use greenroom::Actor;

#[derive(Actor)]
struct Book {
    best: std::rc::Rc<u64>,
}

fn main() {}
