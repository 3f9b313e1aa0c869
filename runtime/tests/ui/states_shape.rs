#![allow(unused)]

use greenroom::States;

struct Idle;

#[derive(States)]
struct Line(Idle);

#[derive(States)]
enum Lines {
    Idle,
    Open { sent: u64 },
    Both(Idle, Idle),
}

#[derive(States)]
enum Same {
    Idle(Idle),
    Waiting(Idle),
}

fn main() {}
