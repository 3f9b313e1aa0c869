#![allow(unused)]

use greenroom::{Actor, Message, handlers};

#[derive(Actor)]
struct Hall {
    seats: [u64; 10_000],
}

#[handlers]
impl Hall {
    #[start]
    fn start(seats: [u64; 9_000]) -> Self {
        Hall { seats: [seats[0]; 10_000] }
    }
    #[tell]
    fn seat(&mut self, guests: [u64; 3_000]) {}
    #[ask]
    fn plan(&self) -> [u64; 3_000] {
        [0; 3_000]
    }
}

/// An actor that is its own argument.
#[derive(Actor)]
struct Attic {
    boxes: [u64; 10_000],
}

#[handlers]
impl Attic {}

#[derive(Message)]
#[message(reply = [u64; 5_000])]
struct Guests([u64; 4_000]);

fn main() {}
