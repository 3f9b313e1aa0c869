#![allow(unused)]

use greenroom::{Actor, handlers};

#[derive(Actor)]
struct Book<'a> {
    name: &'a str,
}

struct Page<'a>(&'a str);

#[handlers]
impl<'a> Page<'a> {
    #[tell]
    fn turn(&mut self) {}
}

struct Cover<'a>(&'a str);

#[handlers]
impl Cover<'_> {
    #[tell]
    fn open(&mut self) {}
}

fn main() {}
