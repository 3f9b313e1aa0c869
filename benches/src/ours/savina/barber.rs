//! Customers come to a barber's waiting room, and again when it is full.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::barber::{Entry, Room, Spells};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct WaitingRoom {
    room: Room<Ref<Customer>>,
    barber: Ref<Barber>,
}

#[handlers]
impl WaitingRoom {
    #[start]
    fn start(barber: Ref<Barber>) -> Self {
        Self { room: Room::new(), barber }
    }

    #[tell]
    fn enter(&mut self, customer: Ref<Customer>, cx: &mut Context<Self>) {
        match self.room.enter(customer.clone()) {
            Entry::Full(_) => customer.full().tell().expect("the customer lives"),
            Entry::Seated => customer.seated().tell().expect("the customer lives"),
            Entry::Awaited(_) => {
                customer.seated().tell().expect("the customer lives");
                self.barber.cut(customer, cx.me()).tell().expect("the barber lives");
            }
        }
    }

    #[tell]
    fn next(&mut self, cx: &mut Context<Self>) {
        if let Some(customer) = self.room.next_customer() {
            self.barber.cut(customer, cx.me()).tell().expect("the barber lives");
        }
    }
}

#[derive(Actor)]
struct Barber {
    haircuts: Spells,
}

#[handlers]
impl Barber {
    #[start]
    fn start() -> Self {
        Self { haircuts: Spells::of_haircuts() }
    }

    #[tell]
    fn cut(&mut self, customer: Ref<Customer>, room: Ref<WaitingRoom>) {
        self.haircuts.spend();
        customer.finished().tell().expect("the customer lives");
        room.next().tell().expect("the waiting room lives");
    }
}

#[derive(Actor)]
struct Customer {
    town: Ref<Town>,
    room: Ref<WaitingRoom>,
    /// What was heard of being seated, and of being finished: under `per_core` the barber's word may overtake the
    /// waiting room's, which is another sender.
    heard: u32,
}

#[handlers]
impl Customer {
    #[start]
    fn start(town: Ref<Town>, room: Ref<WaitingRoom>) -> Self {
        Self { town, room, heard: 0 }
    }

    #[tell]
    fn go(&mut self, cx: &mut Context<Self>) {
        self.room.enter(cx.me()).tell().expect("the waiting room lives");
    }

    #[tell]
    fn full(&mut self, cx: &mut Context<Self>) {
        self.town.turned_away(cx.me()).tell().expect("the town lives");
    }

    #[tell]
    fn seated(&mut self, cx: &mut Context<Self>) {
        self.town.seated().tell().expect("the town lives");
        self.hear(cx);
    }

    #[tell]
    fn finished(&mut self, cx: &mut Context<Self>) {
        self.town.finished().tell().expect("the town lives");
        self.hear(cx);
    }
}

impl Customer {
    fn hear(&mut self, cx: &mut Context<Self>) {
        self.heard += 1;
        if self.heard == 2 {
            cx.stop();
        }
    }
}

/// Where customers come from, one at a time.
#[derive(Actor)]
struct Town {
    room: Ref<WaitingRoom>,
    pauses: Spells,
    to_come: u64,
    to_finish: u64,
    done: Done<()>,
}

#[handlers]
impl Town {
    #[start]
    fn start(n: u64, room: Ref<WaitingRoom>, done: Done<()>) -> Self {
        Self { room, pauses: Spells::between_customers(), to_come: n, to_finish: n, done }
    }

    #[tell]
    fn seated(&mut self, cx: &mut Context<Self>) {
        if self.to_come > 0 {
            self.to_come -= 1;
            self.pauses.spend();
            let args = (cx.me(), self.room.clone());
            let customer = cx.spawn::<Customer>(args).start().expect("a customer starts");
            customer.go().tell().expect("the customer lives");
        }
    }

    #[tell]
    fn turned_away(&mut self, customer: Ref<Customer>) {
        self.pauses.spend();
        customer.go().tell().expect("the customer lives");
    }

    #[tell]
    fn finished(&mut self) {
        self.to_finish -= 1;
        if self.to_finish == 0 {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (done, end) = Done::new();
    let barber = system.spawn::<Barber>(()).await.expect("the barber starts");
    let room = system.spawn::<WaitingRoom>(barber).await.expect("the waiting room starts");
    let town = system.spawn::<Town>((n, room, done)).await.expect("the town starts");
    let clock = Instant::now();
    town.seated().tell().expect("the town lives");
    end.await.expect("every customer gets a haircut");
    clock.elapsed()
}
