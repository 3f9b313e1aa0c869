//! Customers come to a barber's waiting room, and again when it is full.

use super::{Handled, State, start, start_soon};
use crate::savina::Done;
use crate::savina::barber::{Entry, Room, Spells};
use ractor::ActorRef;
use std::time::{Duration, Instant};

enum ToRoom {
    Enter(ActorRef<ToCustomer>),
    Next,
}

struct WaitingRoom {
    room: Room<ActorRef<ToCustomer>>,
    barber: ActorRef<Cut>,
}

impl State for WaitingRoom {
    type Msg = ToRoom;

    async fn handle(&mut self, me: ActorRef<ToRoom>, message: ToRoom) -> Handled {
        match message {
            ToRoom::Enter(customer) => match self.room.enter(customer.clone()) {
                Entry::Full(_) => customer.cast(ToCustomer::Full)?,
                Entry::Seated => customer.cast(ToCustomer::Seated)?,
                Entry::Awaited(_) => {
                    customer.cast(ToCustomer::Seated)?;
                    self.barber.cast(Cut(customer, me))?;
                }
            },
            ToRoom::Next => {
                if let Some(customer) = self.room.next_customer() {
                    self.barber.cast(Cut(customer, me))?;
                }
            }
        }
        Ok(())
    }
}

struct Cut(ActorRef<ToCustomer>, ActorRef<ToRoom>);

struct Barber(Spells);

impl State for Barber {
    type Msg = Cut;

    async fn handle(&mut self, _me: ActorRef<Cut>, Cut(customer, room): Cut) -> Handled {
        self.0.spend();
        customer.cast(ToCustomer::Finished)?;
        Ok(room.cast(ToRoom::Next)?)
    }
}

enum ToCustomer {
    Go,
    Full,
    Seated,
    Finished,
}

struct Customer {
    town: ActorRef<ToTown>,
    room: ActorRef<ToRoom>,
}

impl State for Customer {
    type Msg = ToCustomer;

    async fn handle(&mut self, me: ActorRef<ToCustomer>, message: ToCustomer) -> Handled {
        match message {
            ToCustomer::Go => self.room.cast(ToRoom::Enter(me))?,
            ToCustomer::Full => self.town.cast(ToTown::TurnedAway(me))?,
            ToCustomer::Seated => self.town.cast(ToTown::Seated)?,
            ToCustomer::Finished => {
                self.town.cast(ToTown::Finished)?;
                me.stop(None);
            }
        }
        Ok(())
    }
}

enum ToTown {
    TurnedAway(ActorRef<ToCustomer>),
    Seated,
    Finished,
}

/// Where customers come from, one at a time.
struct Town {
    room: ActorRef<ToRoom>,
    pauses: Spells,
    to_come: u64,
    to_finish: u64,
    done: Done<()>,
}

impl State for Town {
    type Msg = ToTown;

    async fn handle(&mut self, me: ActorRef<ToTown>, message: ToTown) -> Handled {
        match message {
            ToTown::Seated if self.to_come > 0 => {
                self.to_come -= 1;
                self.pauses.spend();
                let customer = start_soon(Customer { town: me, room: self.room.clone() })?;
                customer.cast(ToCustomer::Go)?;
            }
            ToTown::Seated => {}
            ToTown::TurnedAway(customer) => {
                self.pauses.spend();
                customer.cast(ToCustomer::Go)?;
            }
            ToTown::Finished => {
                self.to_finish -= 1;
                if self.to_finish == 0 {
                    self.done.tell(());
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, end) = Done::new();
    let barber = start(Barber(Spells::of_haircuts())).await;
    let room = start(WaitingRoom { room: Room::new(), barber }).await;
    let (pauses, to_come, to_finish) = (Spells::between_customers(), n, n);
    let town = start(Town { room, pauses, to_come, to_finish, done }).await;
    let clock = Instant::now();
    town.cast(ToTown::Seated).expect("the town lives");
    end.await.expect("every customer gets a haircut");
    clock.elapsed()
}
