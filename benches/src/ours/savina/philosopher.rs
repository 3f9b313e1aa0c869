//! Philosophers ask an arbiter for their forks, eat, and put them back.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::philosopher::{self, PHILOSOPHERS, Table};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Philosopher {
    seat: usize,
    meals: u64,
    arbiter: Ref<Arbiter>,
}

#[handlers]
impl Philosopher {
    #[start]
    fn start(seat: usize, meals: u64, arbiter: Ref<Arbiter>) -> Self {
        Self { seat, meals, arbiter }
    }

    #[tell]
    fn think(&mut self) {
        if self.meals > 0 {
            self.arbiter.hungry(self.seat).tell().expect("the arbiter lives");
        }
    }

    #[tell]
    fn refused(&mut self) {
        self.arbiter.hungry(self.seat).tell().expect("the arbiter lives");
    }

    #[tell]
    fn eat(&mut self) {
        self.meals -= 1;
        self.arbiter.full(self.seat).tell().expect("the arbiter lives");
        self.think();
    }
}

#[derive(Actor)]
struct Arbiter {
    table: Table,
    philosophers: Vec<Ref<Philosopher>>,
    done: Done<()>,
}

#[handlers]
impl Arbiter {
    #[start]
    fn start(n: u64, done: Done<()>, cx: &mut Context<Self>) -> Self {
        let me = cx.me();
        let mut seat = |seat| {
            let args = (seat, philosopher::meals(seat, n), me.clone());
            cx.spawn::<Philosopher>(args).start().expect("a philosopher starts")
        };
        let philosophers = (0..PHILOSOPHERS).map(&mut seat).collect();
        Self { table: Table::new(n), philosophers, done }
    }

    #[tell]
    fn begin(&mut self) {
        for philosopher in &self.philosophers {
            philosopher.think().tell().expect("the philosopher lives");
        }
    }

    #[tell]
    fn hungry(&mut self, seat: usize) {
        let philosopher = &self.philosophers[seat];
        let told = match self.table.take(seat) {
            true => philosopher.eat().tell().is_ok(),
            false => philosopher.refused().tell().is_ok(),
        };
        assert!(told, "the philosopher lives");
    }

    #[tell]
    fn full(&mut self, seat: usize) {
        if self.table.put_back(seat) {
            self.done.tell(());
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (done, end) = Done::new();
    let arbiter = system.spawn::<Arbiter>((n, done)).await.expect("the arbiter starts");
    let clock = Instant::now();
    arbiter.begin().tell().expect("the arbiter lives");
    end.await.expect("everybody eats as often as they want");
    clock.elapsed()
}
