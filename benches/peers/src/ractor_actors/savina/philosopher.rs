//! Philosophers ask an arbiter for their forks, eat, and put them back.

use super::{Handled, State, start};
use crate::savina::Done;
use crate::savina::philosopher::{self, PHILOSOPHERS, Table};
use ractor::ActorRef;
use std::time::{Duration, Instant};

enum ToPhilosopher {
    Think,
    Eat,
    Refused,
}

struct Philosopher {
    seat: usize,
    meals: u64,
    arbiter: ActorRef<ToArbiter>,
}

impl State for Philosopher {
    type Msg = ToPhilosopher;

    async fn handle(&mut self, _me: ActorRef<ToPhilosopher>, message: ToPhilosopher) -> Handled {
        if let ToPhilosopher::Eat = message {
            self.meals -= 1;
            self.arbiter.cast(ToArbiter::Full(self.seat))?;
        }
        if self.meals > 0 {
            self.arbiter.cast(ToArbiter::Hungry(self.seat))?;
        }
        Ok(())
    }
}

enum ToArbiter {
    Begin(Vec<ActorRef<ToPhilosopher>>),
    Hungry(usize),
    Full(usize),
}

struct Arbiter {
    table: Table,
    philosophers: Vec<ActorRef<ToPhilosopher>>,
    done: Done<()>,
}

impl State for Arbiter {
    type Msg = ToArbiter;

    async fn handle(&mut self, _me: ActorRef<ToArbiter>, message: ToArbiter) -> Handled {
        match message {
            ToArbiter::Begin(philosophers) => {
                self.philosophers = philosophers;
                for philosopher in &self.philosophers {
                    philosopher.cast(ToPhilosopher::Think)?;
                }
            }
            ToArbiter::Hungry(seat) => {
                let may_eat = self.table.take(seat);
                let answer = if may_eat { ToPhilosopher::Eat } else { ToPhilosopher::Refused };
                self.philosophers[seat].cast(answer)?;
            }
            ToArbiter::Full(seat) => {
                if self.table.put_back(seat) {
                    self.done.tell(());
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, end) = Done::new();
    let arbiter = start(Arbiter { table: Table::new(n), philosophers: Vec::new(), done }).await;
    let mut philosophers = Vec::new();
    for seat in 0..PHILOSOPHERS {
        let (meals, arbiter) = (philosopher::meals(seat, n), arbiter.clone());
        philosophers.push(start(Philosopher { seat, meals, arbiter }).await);
    }
    let clock = Instant::now();
    arbiter.cast(ToArbiter::Begin(philosophers)).expect("the arbiter lives");
    end.await.expect("everybody eats as often as they want");
    clock.elapsed()
}
