//! Customers come to a barber's waiting room, and again when it is full.

use super::spawn;
use crate::savina::Done;
use crate::savina::barber::{Entry, Room, Spells};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct WaitingRoom {
    room: Room<ActorRef<Customer>>,
    barber: ActorRef<Barber>,
}
struct Enter(ActorRef<Customer>);
struct Next;

struct Barber(Spells);
struct Cut(ActorRef<Customer>, ActorRef<WaitingRoom>);

struct Customer {
    town: ActorRef<Town>,
    room: ActorRef<WaitingRoom>,
}
struct Go;
struct Full;
struct YourSeat;
struct YouAreDone;

/// Where customers come from, one at a time.
struct Town {
    room: ActorRef<WaitingRoom>,
    pauses: Spells,
    to_come: u64,
    to_finish: u64,
    done: Done<()>,
}
struct TurnedAway(ActorRef<Customer>);
struct Seated;
struct Finished;

plain_actor!(WaitingRoom);
plain_actor!(Barber);
plain_actor!(Customer);
plain_actor!(Town);

impl Message<Enter> for WaitingRoom {
    type Reply = ();

    async fn handle(&mut self, Enter(customer): Enter, cx: &mut Context<Self, ()>) {
        match self.room.enter(customer.clone()) {
            Entry::Full(_) => customer.tell(Full).try_send().expect("the receiver lives"),
            Entry::Seated => customer.tell(YourSeat).try_send().expect("the receiver lives"),
            Entry::Awaited(_) => {
                customer.tell(YourSeat).try_send().expect("the receiver lives");
                self.barber
                    .tell(Cut(customer, cx.actor_ref().clone()))
                    .try_send()
                    .expect("the receiver lives");
            }
        }
    }
}

impl Message<Next> for WaitingRoom {
    type Reply = ();

    async fn handle(&mut self, _message: Next, cx: &mut Context<Self, ()>) {
        if let Some(customer) = self.room.next_customer() {
            self.barber
                .tell(Cut(customer, cx.actor_ref().clone()))
                .try_send()
                .expect("the receiver lives");
        }
    }
}

impl Message<Cut> for Barber {
    type Reply = ();

    async fn handle(&mut self, Cut(customer, room): Cut, _cx: &mut Context<Self, ()>) {
        self.0.spend();
        customer.tell(YouAreDone).try_send().expect("the receiver lives");
        room.tell(Next).try_send().expect("the receiver lives");
    }
}

impl Message<Go> for Customer {
    type Reply = ();

    async fn handle(&mut self, _message: Go, cx: &mut Context<Self, ()>) {
        self.room.tell(Enter(cx.actor_ref().clone())).try_send().expect("the receiver lives");
    }
}

impl Message<Full> for Customer {
    type Reply = ();

    async fn handle(&mut self, _message: Full, cx: &mut Context<Self, ()>) {
        self.town.tell(TurnedAway(cx.actor_ref().clone())).try_send().expect("the receiver lives");
    }
}

impl Message<YourSeat> for Customer {
    type Reply = ();

    async fn handle(&mut self, _message: YourSeat, _cx: &mut Context<Self, ()>) {
        self.town.tell(Seated).try_send().expect("the receiver lives");
    }
}

impl Message<YouAreDone> for Customer {
    type Reply = ();

    async fn handle(&mut self, _message: YouAreDone, cx: &mut Context<Self, ()>) {
        self.town.tell(Finished).try_send().expect("the receiver lives");
        cx.stop();
    }
}

impl Message<Seated> for Town {
    type Reply = ();

    async fn handle(&mut self, _message: Seated, cx: &mut Context<Self, ()>) {
        if self.to_come > 0 {
            self.to_come -= 1;
            self.pauses.spend();
            let customer = Customer { town: cx.actor_ref().clone(), room: self.room.clone() };
            spawn(customer).tell(Go).try_send().expect("the receiver lives");
        }
    }
}

impl Message<TurnedAway> for Town {
    type Reply = ();

    async fn handle(&mut self, TurnedAway(customer): TurnedAway, _cx: &mut Context<Self, ()>) {
        self.pauses.spend();
        customer.tell(Go).try_send().expect("the receiver lives");
    }
}

impl Message<Finished> for Town {
    type Reply = ();

    async fn handle(&mut self, _message: Finished, _cx: &mut Context<Self, ()>) {
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
    town.wait_for_startup().await;
    let clock = Instant::now();
    town.tell(Seated).try_send().expect("the receiver lives");
    end.await.expect("every customer gets a haircut");
    clock.elapsed()
}
