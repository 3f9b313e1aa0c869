#![allow(unused)]

use greenroom::{Actor, handlers};

struct Open;

#[derive(Actor)]
#[actor(stash = 10)]
struct Shop {
    is_open: bool,
}

#[handlers]
impl Shop {
    #[stash(while = self.is_open)]
    fn put_aside(&mut self) {}

    #[interleave]
    async fn let_in(&mut self) {}

    fn in_state(&mut self, #[state] open: &mut Open) {}
}

fn main() {}
