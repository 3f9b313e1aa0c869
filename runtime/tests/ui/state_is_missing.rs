#![allow(unused)]

use greenroom::{Actor, State, States, handlers};

struct Idle;
struct Open;

#[derive(States)]
enum Line {
    Idle(Idle),
}

#[derive(Actor)]
struct Phone {
    line: State<Line>,
}

#[handlers]
impl Phone {
    #[tell]
    fn dial(&mut self, #[state] idle: &mut Idle) {}
}

#[derive(Actor)]
struct Other {
    line: State<Line>,
}

#[handlers(state = line)]
impl Other {
    #[tell]
    fn send(&mut self, #[state] open: &mut Open) {}
}

#[derive(Actor)]
struct Leaver {
    line: State<Line>,
}

#[handlers(state = line)]
impl Leaver {
    #[tell]
    fn dial(&mut self, #[state] idle: Idle) -> Open {
        Open
    }
}

fn index<S: States>(states: &S) -> usize {
    states.index()
}

fn index_of_one(open: &Open) -> usize {
    index(open)
}

fn main() {}
