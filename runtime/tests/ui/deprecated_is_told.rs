#![deny(deprecated)]

use greenroom::{Actor, Message, handlers};

#[deprecated]
const LIMIT: usize = 4;

#[deprecated]
struct Part;

#[derive(Actor)]
#[actor(mailbox = bounded(LIMIT), stash = LIMIT, interleave = LIMIT, supervise = one_for_one(LIMIT as u32 in "1s"))]
struct Shelf;

#[handlers]
impl Shelf {
    #[tell]
    #[stash(while = self.is_full())]
    fn take(&mut self) {}

    #[deprecated]
    fn is_full(&self) -> bool {
        true
    }
}

#[derive(Message)]
#[message(reply = Part)]
struct Question;

fn main() {}
