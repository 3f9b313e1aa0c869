#![allow(unused)]

use greenroom::{Actor, Context, handlers};

#[derive(Actor)]
#[actor(stash = 10)]
struct Book {
    is_open: bool,
}

#[handlers]
impl Book {
    #[tell]
    #[stash]
    fn no_condition(&mut self) {}

    #[tell]
    #[stash(self.is_open)]
    fn no_word(&mut self) {}

    #[tell]
    #[stash(while = self.is_open)]
    #[stash(while = true)]
    fn twice(&mut self) {}

    #[local]
    #[stash(while = self.is_open)]
    fn tick(&mut self) {}
}

#[derive(Actor)]
#[actor(stash = 0)]
struct Full;

fn main() {}
