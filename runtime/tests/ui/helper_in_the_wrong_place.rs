#![allow(unused)]

use greenroom::journal::Event;
use greenroom::{Actor, Message, handlers};

#[derive(Message)]
enum Question {
    #[message(reply = u8)]
    Count,
    #[message(reply = String)]
    Name(#[message(nonsense)] u8),
}

#[derive(Event)]
struct Opened {
    #[event(name = "who", version = 7)]
    by: u8,
}

#[derive(Event)]
enum Moved {
    #[event(name = "deposited", version = 2)]
    Deposited {
        #[event(name = "amount")]
        cents: u64,
    },
}

#[derive(Actor)]
struct Book {
    #[actor(mailbox = bounded(3))]
    best: u64,
}

#[handlers]
impl Book {}

#[derive(Actor)]
#[actor(inbox = unbounded)]
enum Shop {
    #[actor(restart = permanent(3 in "1s"))]
    Open,
}

#[handlers]
impl Shop {}

fn main() {}
