//! How an application explores its actors by seeds: the box office of `examples/15_stash.rs` in simulated worlds.
//!
//! The book's page on simulation explains what a world is: `book/src/tour/simulation.md`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "../examples/15_stash.rs"]
#[allow(dead_code, reason = "its `main` is the program's")]
mod stash;

use greenroom::AskError;
use greenroom::sim::{Explore, World};
use stash::BoxOffice;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const SEEDS: u64 = 50;
const MS: Duration = Duration::from_millis(1);
/// Tickets at first, and those that are delivered.
const TICKETS: [u32; 2] = [3, 7];

/// Buyers want 1, 2, 3 and 4 tickets, and more are delivered, each at a moment that the world draws.
fn sale(world: &mut World) {
    let (system, clock) = (world.node("theatre").start().system(), world.clock());
    let office = BoxOffice { tickets: TICKETS[0] };
    let office = world.run(async { system.spawn::<BoxOffice>(office).await.unwrap() });
    let (sold, refused) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    for wanted in 1..=4 {
        let wait = MS * world.pick(5) as u32;
        let (clock, office) = (clock.clone(), office.clone());
        let (sold, refused) = (Rc::clone(&sold), Rc::clone(&refused));
        world.spawn(async move {
            clock.sleep(wait).await;
            match office.buy(wanted).await {
                Ok(_) => sold.set(sold.get() + wanted),
                Err(error) => {
                    assert_eq!(error, AskError::Refused, "two orders wait already");
                    refused.set(refused.get() + wanted);
                }
            }
        });
    }
    let wait = MS * world.pick(9) as u32;
    let (late, courier) = (clock.clone(), office.clone());
    world.spawn(async move {
        late.sleep(wait).await;
        courier.deliver(TICKETS[1]).await.unwrap();
    });

    // A second passes at once.
    world.run_for(Duration::from_secs(1));
    assert_eq!(sold.get() + refused.get(), 1 + 2 + 3 + 4, "each order has its answer");
    let (left, waiting) =
        world.run(async { (office.buy(0).await.unwrap(), office.waiting().await.unwrap()) });
    assert_eq!(
        (sold.get() + left, waiting),
        (TICKETS[0] + TICKETS[1], 0),
        "there are enough for all"
    );
    world.sometimes("an order is refused", refused.get() > 0);
    world.sometimes("all orders are served", refused.get() == 0);
}

#[test]
fn no_ticket_is_sold_twice_and_nobody_waits_for_ever() {
    Explore::new().seeds(SEEDS).run(sale);
}
