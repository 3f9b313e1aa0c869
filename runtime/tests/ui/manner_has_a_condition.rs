#![allow(unused)]

use greenroom::{Actor, State, States, handlers};

struct Open;

#[derive(States)]
enum Line {
    Open(Open),
}

#[derive(Actor)]
#[actor(stash = 10, interleave = 10)]
struct Shop {
    is_open: bool,
    line: State<Line>,
}

#[handlers(state = line)]
impl Shop {
    #[tell]
    #[cfg_attr(all(), stash(while = self.is_open))]
    fn put_aside(&mut self) {}

    #[tell]
    #[cfg_attr(all(), cfg_attr(all(), interleave))]
    async fn let_in(&mut self) {}

    #[tell]
    fn in_state(&mut self, #[cfg_attr(all(), state)] open: &mut Open) {}
}

fn main() {}
