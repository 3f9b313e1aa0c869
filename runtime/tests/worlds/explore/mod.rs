//! Many worlds: bugs are found, repeated and made small.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod checks;
mod choices;
mod failures;
mod repeats;

use greenroom::sim::{Explore, World};
use greenroom::{Actor, Ref, handlers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Hands out one ticket, but looks and takes in two messages.
#[derive(Actor)]
struct Box_ {
    left: u32,
}

#[handlers]
impl Box_ {
    #[ask]
    fn left(&self) -> u32 {
        self.left
    }
    #[tell]
    fn take(&mut self) {
        self.left = self.left.checked_sub(1).expect("a ticket sold twice");
    }
}

#[derive(Actor)]
struct Buyer {
    tickets: Ref<Box_>,
}

#[handlers]
impl Buyer {
    #[tell]
    async fn buy(&mut self) {
        if self.tickets.left().await.unwrap() > 0 {
            self.tickets.take().await.unwrap();
        }
    }
}

/// Two buyers and some others who do nothing of interest.
fn tickets(world: &mut World) {
    let node = world.node("theatre").start();
    let system = node.system();
    world.run(async {
        let tickets = system.spawn::<Box_>(Box_ { left: 1 }).await.unwrap();
        let mut buyers = Vec::new();
        for _ in 0..2 {
            let tickets = tickets.clone();
            buyers.push(system.spawn::<Buyer>(Buyer { tickets }).await.unwrap());
        }
        for buyer in &buyers {
            buyer.buy().await.unwrap();
        }
    });
    world.run_for(Duration::from_secs(1));
}

/// What the exploration panics with.
pub(super) fn failure_of(explore: &Explore, scenario: impl Fn(&mut World)) -> String {
    let outcome = catch_unwind(AssertUnwindSafe(|| explore.run(scenario)));
    *outcome.expect_err("a world fails").downcast::<String>().unwrap()
}

/// The number behind a word in a text.
fn number_after(text: &str, word: &str) -> u64 {
    let rest = text.split(word).nth(1).unwrap_or_else(|| panic!("no {word:?} in {text}"));
    rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// The file that a failure names behind `what`.
fn file(text: &str, what: &str) -> Vec<u8> {
    let path = text.lines().find_map(|line| line.trim().strip_prefix(what));
    std::fs::read(path.unwrap_or_else(|| panic!("no {what:?} in {text}")).trim()).unwrap()
}
