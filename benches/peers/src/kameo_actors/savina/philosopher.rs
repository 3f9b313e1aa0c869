//! Philosophers ask an arbiter for their forks, eat, and put them back.

use super::{spawn, spawn_with};
use crate::savina::Done;
use crate::savina::philosopher::{self, PHILOSOPHERS, Table};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Philosopher {
    seat: usize,
    meals: u64,
    arbiter: ActorRef<Arbiter>,
}
struct Think;
struct Eat;
struct Refused;

struct Arbiter {
    table: Table,
    philosophers: Vec<ActorRef<Philosopher>>,
    done: Done<()>,
}
struct Begin;
struct Hungry(usize);
struct Full(usize);

plain_actor!(Philosopher);
plain_actor!(Arbiter);

impl Philosopher {
    fn think(&self) {
        if self.meals > 0 {
            self.arbiter.tell(Hungry(self.seat)).try_send().expect("the receiver lives");
        }
    }
}

impl Message<Think> for Philosopher {
    type Reply = ();

    async fn handle(&mut self, _message: Think, _cx: &mut Context<Self, ()>) {
        self.think();
    }
}

impl Message<Refused> for Philosopher {
    type Reply = ();

    async fn handle(&mut self, _message: Refused, _cx: &mut Context<Self, ()>) {
        self.arbiter.tell(Hungry(self.seat)).try_send().expect("the receiver lives");
    }
}

impl Message<Eat> for Philosopher {
    type Reply = ();

    async fn handle(&mut self, _message: Eat, _cx: &mut Context<Self, ()>) {
        self.meals -= 1;
        self.arbiter.tell(Full(self.seat)).try_send().expect("the receiver lives");
        self.think();
    }
}

impl Message<Begin> for Arbiter {
    type Reply = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self, ()>) {
        for philosopher in &self.philosophers {
            philosopher.tell(Think).try_send().expect("the receiver lives");
        }
    }
}

impl Message<Hungry> for Arbiter {
    type Reply = ();

    async fn handle(&mut self, Hungry(seat): Hungry, _cx: &mut Context<Self, ()>) {
        if self.table.take(seat) {
            self.philosophers[seat].tell(Eat).try_send().expect("the receiver lives");
        } else {
            self.philosophers[seat].tell(Refused).try_send().expect("the receiver lives");
        }
    }
}

impl Message<Full> for Arbiter {
    type Reply = ();

    async fn handle(&mut self, Full(seat): Full, _cx: &mut Context<Self, ()>) {
        if self.table.put_back(seat) {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, end) = Done::new();
    let arbiter = spawn_with(|me| {
        let philosopher = |seat| {
            let (meals, arbiter) = (philosopher::meals(seat, n), me.clone());
            spawn(Philosopher { seat, meals, arbiter })
        };
        let philosophers = (0..PHILOSOPHERS).map(philosopher).collect();
        Arbiter { table: Table::new(n), philosophers, done }
    });
    arbiter.wait_for_startup().await;
    let clock = Instant::now();
    arbiter.tell(Begin).try_send().expect("the receiver lives");
    end.await.expect("everybody eats as often as they want");
    clock.elapsed()
}
