//! Customers come to a barber's waiting room, and again when it is full.

use super::{me, spawn, spawn_with, tell};
use crate::savina::Done;
use crate::savina::barber::{Entry, Room, Spells};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct WaitingRoom {
    room: Room<Address<Customer>>,
    barber: Address<Barber>,
}
struct Enter(Address<Customer>);
struct Next;

struct Barber(Spells);
struct Cut(Address<Customer>, Address<WaitingRoom>);

struct Customer {
    me: Address<Self>,
    town: Address<Town>,
    room: Address<WaitingRoom>,
    /// What they hear before they go: that they have a seat, and, perhaps first, that they are done.
    missing: u8,
}
struct Go;
struct Full;
struct YourSeat;
struct YouAreDone;

/// Where customers come from, one at a time.
struct Town {
    room: Address<WaitingRoom>,
    pauses: Spells,
    to_come: u64,
    to_finish: u64,
    done: Done<()>,
}
struct TurnedAway(Address<Customer>);
struct Seated;
struct Finished;

plain_actors!(WaitingRoom, Barber, Customer, Town);

impl Handler<Enter> for WaitingRoom {
    type Return = ();

    async fn handle(&mut self, Enter(customer): Enter, cx: &mut Context<Self>) {
        match self.room.enter(customer.clone()) {
            Entry::Full(_) => tell(&customer, Full).await,
            Entry::Seated => tell(&customer, YourSeat).await,
            Entry::Awaited(_) => {
                tell(&customer, YourSeat).await;
                tell(&self.barber, Cut(customer, me(cx))).await;
            }
        }
    }
}

impl Handler<Next> for WaitingRoom {
    type Return = ();

    async fn handle(&mut self, _message: Next, cx: &mut Context<Self>) {
        if let Some(customer) = self.room.next_customer() {
            tell(&self.barber, Cut(customer, me(cx))).await;
        }
    }
}

impl Handler<Cut> for Barber {
    type Return = ();

    async fn handle(&mut self, Cut(customer, room): Cut, _cx: &mut Context<Self>) {
        self.0.spend();
        tell(&customer, YouAreDone).await;
        tell(&room, Next).await;
    }
}

impl Customer {
    fn hear(&mut self, cx: &mut Context<Self>) {
        self.missing -= 1;
        if self.missing == 0 {
            cx.stop_self();
        }
    }
}

impl Handler<Go> for Customer {
    type Return = ();

    async fn handle(&mut self, _message: Go, _cx: &mut Context<Self>) {
        tell(&self.room, Enter(self.me.clone())).await;
    }
}

impl Handler<Full> for Customer {
    type Return = ();

    async fn handle(&mut self, _message: Full, _cx: &mut Context<Self>) {
        tell(&self.town, TurnedAway(self.me.clone())).await;
    }
}

impl Handler<YourSeat> for Customer {
    type Return = ();

    async fn handle(&mut self, _message: YourSeat, cx: &mut Context<Self>) {
        tell(&self.town, Seated).await;
        self.hear(cx);
    }
}

impl Handler<YouAreDone> for Customer {
    type Return = ();

    async fn handle(&mut self, _message: YouAreDone, cx: &mut Context<Self>) {
        tell(&self.town, Finished).await;
        self.hear(cx);
    }
}

impl Handler<Seated> for Town {
    type Return = ();

    async fn handle(&mut self, _message: Seated, cx: &mut Context<Self>) {
        if self.to_come > 0 {
            self.to_come -= 1;
            self.pauses.spend();
            let (town, room) = (me(cx), self.room.clone());
            let customer = spawn_with(|me| Customer { me: me.clone(), town, room, missing: 2 });
            tell(&customer, Go).await;
        }
    }
}

impl Handler<TurnedAway> for Town {
    type Return = ();

    async fn handle(&mut self, TurnedAway(customer): TurnedAway, _cx: &mut Context<Self>) {
        self.pauses.spend();
        tell(&customer, Go).await;
    }
}

impl Handler<Finished> for Town {
    type Return = ();

    async fn handle(&mut self, _message: Finished, _cx: &mut Context<Self>) {
        self.to_finish -= 1;
        if self.to_finish == 0 {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, end) = Done::new();
    let barber = spawn(Barber(Spells::of_haircuts()));
    let room = spawn(WaitingRoom { room: Room::new(), barber });
    let (pauses, to_come, to_finish) = (Spells::between_customers(), n, n);
    let town = spawn(Town { room, pauses, to_come, to_finish, done });
    let clock = Instant::now();
    tell(&town, Seated).await;
    end.await.expect("every customer gets a haircut");
    clock.elapsed()
}
