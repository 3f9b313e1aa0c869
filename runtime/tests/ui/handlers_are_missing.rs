#![allow(unused)]

use greenroom::{Actor, Context, Handle, Message, Ref, State, System, handlers};
use std::time::Duration;

#[derive(Actor)]
struct Book {
    best: u64,
}

fn spawn(system: &System) {
    let _ = system.spawn::<Book>(Book { best: 0 });
}

struct Plain;

#[derive(Message)]
struct Price(u64);

#[derive(Actor)]
struct Desk {
    line: State<Plain>,
}

#[handlers]
impl Desk {
    #[tell]
    fn begin(&mut self, cx: &mut Context<Self>) {
        cx.after(Duration::from_secs(1), Self::price);
    }

    fn price(&mut self) -> u64 {
        0
    }
}

impl Handle<Plain> for Desk {
    fn handle(&mut self, plain: Plain, cx: &mut Context<Self>) {}
}

fn tell(desk: &Ref<Desk>) {
    let _ = desk.tell(Price(1));
}

fn main() {}
