//! Customers come to a barber's waiting room, and again when it is full.

use crate::savina::barber::{Entry, Room, Spells};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

enum AtTheRoom {
    Enter(UnboundedSender<ToCustomer>),
    Next,
}

enum ToCustomer {
    Go,
    Full,
    Seated,
    Finished,
}

enum InTown {
    TurnedAway(UnboundedSender<ToCustomer>),
    Seated,
    Finished,
}

async fn waiting_room(
    mut mailbox: UnboundedReceiver<AtTheRoom>,
    barber: UnboundedSender<UnboundedSender<ToCustomer>>,
) {
    let mut room = Room::new();
    while let Some(message) = mailbox.recv().await {
        let next = match message {
            AtTheRoom::Enter(customer) => match room.enter(customer.clone()) {
                Entry::Full(customer) => {
                    customer.send(ToCustomer::Full).expect("the customer lives");
                    None
                }
                Entry::Seated => {
                    customer.send(ToCustomer::Seated).expect("the customer lives");
                    None
                }
                Entry::Awaited(customer) => {
                    customer.send(ToCustomer::Seated).expect("the customer lives");
                    Some(customer)
                }
            },
            AtTheRoom::Next => room.next_customer(),
        };
        if let Some(customer) = next {
            barber.send(customer).expect("the barber lives");
        }
    }
}

async fn barber(
    mut mailbox: UnboundedReceiver<UnboundedSender<ToCustomer>>,
    room: UnboundedSender<AtTheRoom>,
) {
    let mut haircuts = Spells::of_haircuts();
    while let Some(customer) = mailbox.recv().await {
        haircuts.spend();
        customer.send(ToCustomer::Finished).expect("the customer lives");
        room.send(AtTheRoom::Next).expect("the waiting room lives");
    }
}

async fn customer(town: UnboundedSender<InTown>, room: UnboundedSender<AtTheRoom>) {
    let (me, mut mailbox) = mpsc::unbounded_channel();
    me.send(ToCustomer::Go).expect("the mailbox is here");
    while let Some(message) = mailbox.recv().await {
        match message {
            ToCustomer::Go => {
                room.send(AtTheRoom::Enter(me.clone())).expect("the waiting room lives");
            }
            ToCustomer::Full => {
                town.send(InTown::TurnedAway(me.clone())).expect("the town lives");
            }
            ToCustomer::Seated => town.send(InTown::Seated).expect("the town lives"),
            ToCustomer::Finished => {
                return town.send(InTown::Finished).expect("the town lives");
            }
        }
    }
}

/// Where customers come from, one at a time.
async fn town(n: u64, room: UnboundedSender<AtTheRoom>) {
    let (me, mut mailbox) = mpsc::unbounded_channel();
    let (mut pauses, mut to_come, mut to_finish) = (Spells::between_customers(), n, n);
    me.send(InTown::Seated).expect("the mailbox is here");
    while let Some(message) = mailbox.recv().await {
        match message {
            InTown::Seated if to_come > 0 => {
                to_come -= 1;
                pauses.spend();
                tokio::spawn(customer(me.clone(), room.clone()));
            }
            InTown::Seated => {}
            InTown::TurnedAway(customer) => {
                pauses.spend();
                customer.send(ToCustomer::Go).expect("the customer lives");
            }
            InTown::Finished => {
                to_finish -= 1;
                if to_finish == 0 {
                    return;
                }
            }
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let ((room, at_the_room), (chair, at_the_chair)) =
        (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    tokio::spawn(waiting_room(at_the_room, chair));
    tokio::spawn(barber(at_the_chair, room.clone()));
    let clock = Instant::now();
    tokio::spawn(town(n, room)).await.expect("every customer gets a haircut");
    clock.elapsed()
}
