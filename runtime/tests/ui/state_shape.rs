#![allow(unused)]

use greenroom::{Actor, Context, Interleaved, Reply, State, States, handlers};

struct Idle;
struct Open {
    sent: u64,
}

#[derive(States)]
enum Line {
    Idle(Idle),
    Open(Open),
}

#[derive(Actor)]
#[actor(stash = 10, interleave = 10)]
struct Phone {
    line: State<Line>,
}

#[handlers(state = line)]
impl Phone {
    #[tell]
    fn no_next(&mut self, #[state] idle: Idle) {}

    #[ask]
    fn no_answer(&mut self, #[state] idle: Idle) -> Open {
        Open { sent: 0 }
    }

    #[ask]
    fn shared(&self, #[state] open: &mut Open) -> u64 {
        open.sent
    }

    #[ask]
    fn lent(&mut self, #[state] open: &Open) -> u64 {
        open.sent
    }

    #[ask]
    #[interleave]
    async fn waits(cx: &mut Interleaved<Self>, #[state] open: &mut Open) -> u64 {
        open.sent
    }

    #[ask(cancel)]
    async fn cancelled(&mut self, #[state] open: &mut Open) -> u64 {
        open.sent
    }

    #[ask]
    fn replies(&mut self, #[state] open: &mut Open, reply: Reply<u64>) {}

    #[local]
    fn tick(&mut self, #[state] open: &mut Open) {}

    #[tell]
    fn twice(&mut self, #[state] open: &mut Open, #[state] idle: &mut Idle) {}
}

fn main() {}
