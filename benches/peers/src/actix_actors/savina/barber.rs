//! Customers come to a barber's waiting room, and again when it is full.

use super::start;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::barber::{Entry, Room, Spells};
use actix::{Actor, ActorContext, Addr, AsyncContext, Handler};
use std::time::{Duration, Instant};

struct WaitingRoom {
    room: Room<Addr<Customer>>,
    barber: Addr<Barber>,
}
struct Enter(Addr<Customer>);
struct Next;

struct Barber(Spells);
struct Cut(Addr<Customer>, Addr<WaitingRoom>);

struct Customer {
    town: Addr<Town>,
    room: Addr<WaitingRoom>,
}
struct Go;
struct Full;
struct YourSeat;
struct YouAreDone;

/// Where customers come from, one at a time.
struct Town {
    room: Addr<WaitingRoom>,
    pauses: Spells,
    to_come: u64,
    to_finish: u64,
    done: Done<()>,
}
struct TurnedAway(Addr<Customer>);
struct Seated;
struct Finished;

messages!(Enter, Next, Cut, Go, Full, YourSeat, YouAreDone, TurnedAway, Seated, Finished);
plain_actors!(WaitingRoom, Barber, Customer, Town);

impl Handler<Enter> for WaitingRoom {
    type Result = ();

    fn handle(&mut self, Enter(customer): Enter, cx: &mut Self::Context) {
        match self.room.enter(customer.clone()) {
            Entry::Full(_) => customer.do_send(Full),
            Entry::Seated => customer.do_send(YourSeat),
            Entry::Awaited(_) => {
                customer.do_send(YourSeat);
                self.barber.do_send(Cut(customer, cx.address()));
            }
        }
    }
}

impl Handler<Next> for WaitingRoom {
    type Result = ();

    fn handle(&mut self, _message: Next, cx: &mut Self::Context) {
        if let Some(customer) = self.room.next_customer() {
            self.barber.do_send(Cut(customer, cx.address()));
        }
    }
}

impl Handler<Cut> for Barber {
    type Result = ();

    fn handle(&mut self, Cut(customer, room): Cut, _cx: &mut Self::Context) {
        self.0.spend();
        customer.do_send(YouAreDone);
        room.do_send(Next);
    }
}

impl Handler<Go> for Customer {
    type Result = ();

    fn handle(&mut self, _message: Go, cx: &mut Self::Context) {
        self.room.do_send(Enter(cx.address()));
    }
}

impl Handler<Full> for Customer {
    type Result = ();

    fn handle(&mut self, _message: Full, cx: &mut Self::Context) {
        self.town.do_send(TurnedAway(cx.address()));
    }
}

impl Handler<YourSeat> for Customer {
    type Result = ();

    fn handle(&mut self, _message: YourSeat, _cx: &mut Self::Context) {
        self.town.do_send(Seated);
    }
}

impl Handler<YouAreDone> for Customer {
    type Result = ();

    fn handle(&mut self, _message: YouAreDone, cx: &mut Self::Context) {
        self.town.do_send(Finished);
        cx.stop();
    }
}

impl Handler<Seated> for Town {
    type Result = ();

    fn handle(&mut self, _message: Seated, cx: &mut Self::Context) {
        if self.to_come > 0 {
            self.to_come -= 1;
            self.pauses.spend();
            let customer = Customer { town: cx.address(), room: self.room.clone() };
            customer.start().do_send(Go);
        }
    }
}

impl Handler<TurnedAway> for Town {
    type Result = ();

    fn handle(&mut self, TurnedAway(customer): TurnedAway, _cx: &mut Self::Context) {
        self.pauses.spend();
        customer.do_send(Go);
    }
}

impl Handler<Finished> for Town {
    type Result = ();

    fn handle(&mut self, _message: Finished, _cx: &mut Self::Context) {
        self.to_finish -= 1;
        if self.to_finish == 0 {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (done, end) = Done::new();
    let barber = start(&stage, 1, Barber(Spells::of_haircuts()));
    let room = start(&stage, 0, WaitingRoom { room: Room::new(), barber });
    let (pauses, to_come, to_finish) = (Spells::between_customers(), n, n);
    let town = start(&stage, 0, Town { room, pauses, to_come, to_finish, done });
    let clock = Instant::now();
    town.do_send(Seated);
    end.await.expect("every customer gets a haircut");
    clock.elapsed()
}
