//! Philosophers ask an arbiter for their forks, eat, and put them back.

use super::start;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::philosopher::{self, PHILOSOPHERS, Table};
use actix::{Actor, Addr, AsyncContext, Context, Handler};
use std::time::{Duration, Instant};

struct Philosopher {
    seat: usize,
    meals: u64,
    arbiter: Addr<Arbiter>,
}
struct Think;
struct Eat;
struct Refused;

struct Arbiter {
    table: Table,
    philosophers: Vec<Addr<Philosopher>>,
    done: Done<()>,
}
struct Begin;
struct Hungry(usize);
struct Full(usize);

messages!(Think, Eat, Refused, Begin, Hungry, Full);
plain_actors!(Philosopher, Arbiter);

impl Philosopher {
    fn think(&self) {
        if self.meals > 0 {
            self.arbiter.do_send(Hungry(self.seat));
        }
    }
}

impl Handler<Think> for Philosopher {
    type Result = ();

    fn handle(&mut self, _message: Think, _cx: &mut Self::Context) {
        self.think();
    }
}

impl Handler<Refused> for Philosopher {
    type Result = ();

    fn handle(&mut self, _message: Refused, _cx: &mut Self::Context) {
        self.arbiter.do_send(Hungry(self.seat));
    }
}

impl Handler<Eat> for Philosopher {
    type Result = ();

    fn handle(&mut self, _message: Eat, _cx: &mut Self::Context) {
        self.meals -= 1;
        self.arbiter.do_send(Full(self.seat));
        self.think();
    }
}

impl Handler<Begin> for Arbiter {
    type Result = ();

    fn handle(&mut self, _message: Begin, _cx: &mut Self::Context) {
        for philosopher in &self.philosophers {
            philosopher.do_send(Think);
        }
    }
}

impl Handler<Hungry> for Arbiter {
    type Result = ();

    fn handle(&mut self, Hungry(seat): Hungry, _cx: &mut Self::Context) {
        if self.table.take(seat) {
            self.philosophers[seat].do_send(Eat);
        } else {
            self.philosophers[seat].do_send(Refused);
        }
    }
}

impl Handler<Full> for Arbiter {
    type Result = ();

    fn handle(&mut self, Full(seat): Full, _cx: &mut Self::Context) {
        if self.table.put_back(seat) {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (done, end) = Done::new();
    let arbiter = Arbiter::create(|cx: &mut Context<Arbiter>| {
        let philosopher = |seat| {
            let (meals, arbiter) = (philosopher::meals(seat, n), cx.address());
            start(&stage, seat, Philosopher { seat, meals, arbiter })
        };
        let philosophers = (0..PHILOSOPHERS).map(philosopher).collect();
        Arbiter { table: Table::new(n), philosophers, done }
    });
    let clock = Instant::now();
    arbiter.do_send(Begin);
    end.await.expect("everybody eats as often as they want");
    clock.elapsed()
}
