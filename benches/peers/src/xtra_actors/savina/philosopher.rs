//! Philosophers ask an arbiter for their forks, eat, and put them back.

use super::{spawn, spawn_with, tell};
use crate::savina::Done;
use crate::savina::philosopher::{self, PHILOSOPHERS, Table};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Philosopher {
    seat: usize,
    meals: u64,
    arbiter: Address<Arbiter>,
}
struct Think;
struct Eat;
struct Refused;

struct Arbiter {
    table: Table,
    philosophers: Vec<Address<Philosopher>>,
    done: Done<()>,
}
struct Begin;
struct Hungry(usize);
struct Full(usize);

plain_actors!(Philosopher, Arbiter);

impl Philosopher {
    async fn think(&self) {
        if self.meals > 0 {
            tell(&self.arbiter, Hungry(self.seat)).await;
        }
    }
}

impl Handler<Think> for Philosopher {
    type Return = ();

    async fn handle(&mut self, _message: Think, _cx: &mut Context<Self>) {
        self.think().await;
    }
}

impl Handler<Refused> for Philosopher {
    type Return = ();

    async fn handle(&mut self, _message: Refused, _cx: &mut Context<Self>) {
        tell(&self.arbiter, Hungry(self.seat)).await;
    }
}

impl Handler<Eat> for Philosopher {
    type Return = ();

    async fn handle(&mut self, _message: Eat, _cx: &mut Context<Self>) {
        self.meals -= 1;
        tell(&self.arbiter, Full(self.seat)).await;
        self.think().await;
    }
}

impl Handler<Begin> for Arbiter {
    type Return = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self>) {
        for philosopher in &self.philosophers {
            tell(philosopher, Think).await;
        }
    }
}

impl Handler<Hungry> for Arbiter {
    type Return = ();

    async fn handle(&mut self, Hungry(seat): Hungry, _cx: &mut Context<Self>) {
        if self.table.take(seat) {
            tell(&self.philosophers[seat], Eat).await;
        } else {
            tell(&self.philosophers[seat], Refused).await;
        }
    }
}

impl Handler<Full> for Arbiter {
    type Return = ();

    async fn handle(&mut self, Full(seat): Full, _cx: &mut Context<Self>) {
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
    let clock = Instant::now();
    tell(&arbiter, Begin).await;
    end.await.expect("everybody eats as often as they want");
    clock.elapsed()
}
