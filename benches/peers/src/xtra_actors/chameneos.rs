//! Creatures meet in pairs at a mall and change their colours.

use super::{spawn, tell};
use crate::shape::{Colour, report};
use crate::sizes::CREATURES;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use xtra::{Address, Context, Handler};

type Creatures = Arc<[Address<Creature>]>;

struct Mall {
    left: u64,
    met: u64,
    waiting: Option<usize>,
    creatures: Creatures,
    inside: u64,
    done: Option<oneshot::Sender<u64>>,
}

/// Who is there.
struct Know(Creatures);
/// This creature of that colour wants to meet somebody.
struct Visit(usize, Colour);
/// A creature has met that many others and leaves.
struct Met(u64);
plain_actors!(Mall);

impl Handler<Know> for Mall {
    type Return = ();

    async fn handle(&mut self, Know(creatures): Know, _cx: &mut Context<Self>) {
        self.creatures = creatures;
    }
}

impl Handler<Visit> for Mall {
    type Return = ();

    async fn handle(&mut self, Visit(creature, colour): Visit, _cx: &mut Context<Self>) {
        if self.left == 0 {
            tell(&self.creatures[creature], Leave).await;
            return;
        }
        match self.waiting.take() {
            None => self.waiting = Some(creature),
            Some(first) => {
                self.left -= 1;
                let meet = Meet(creature, colour);
                tell(&self.creatures[first], meet).await;
            }
        }
    }
}

impl Handler<Met> for Mall {
    type Return = ();

    async fn handle(&mut self, Met(count): Met, _cx: &mut Context<Self>) {
        self.met += count;
        self.inside -= 1;
        if self.inside == 0 {
            report(&mut self.done, self.met);
        }
    }
}

struct Creature {
    me: usize,
    colour: Colour,
    met: u64,
    mall: Address<Mall>,
    creatures: Creatures,
}

struct Begin;
/// That creature of that colour stands before it.
struct Meet(usize, Colour);
/// It has met somebody, and has this colour now.
struct Become(Colour);
struct Leave;
plain_actors!(Creature);

impl Creature {
    async fn visit(&self) {
        tell(&self.mall, Visit(self.me, self.colour)).await;
    }

    async fn change(&mut self, colour: Colour) {
        self.colour = colour;
        self.met += 1;
        self.visit().await;
    }
}

impl Handler<Know> for Creature {
    type Return = ();

    async fn handle(&mut self, Know(creatures): Know, _cx: &mut Context<Self>) {
        self.creatures = creatures;
    }
}

impl Handler<Begin> for Creature {
    type Return = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self>) {
        self.visit().await;
    }
}

impl Handler<Meet> for Creature {
    type Return = ();

    async fn handle(&mut self, Meet(other, colour): Meet, _cx: &mut Context<Self>) {
        let colour = self.colour.meets(colour);
        tell(&self.creatures[other], Become(colour)).await;
        self.change(colour).await;
    }
}

impl Handler<Become> for Creature {
    type Return = ();

    async fn handle(&mut self, Become(colour): Become, _cx: &mut Context<Self>) {
        self.change(colour).await;
    }
}

impl Handler<Leave> for Creature {
    type Return = ();

    async fn handle(&mut self, _message: Leave, _cx: &mut Context<Self>) {
        tell(&self.mall, Met(self.met)).await;
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, closed) = oneshot::channel();
    let nobody: Creatures = Arc::default();
    let mall = spawn(Mall {
        left: n,
        met: 0,
        waiting: None,
        creatures: Arc::clone(&nobody),
        inside: CREATURES,
        done: Some(done),
    });
    let creatures: Creatures = (0..CREATURES as usize)
        .map(|me| {
            let (colour, mall, creatures) = (Colour::of(me), mall.clone(), Arc::clone(&nobody));
            spawn(Creature { me, colour, met: 0, mall, creatures })
        })
        .collect();
    mall.send(Know(Arc::clone(&creatures))).await.expect("the mall is open");
    for creature in creatures.iter() {
        creature.send(Know(Arc::clone(&creatures))).await.expect("the creature lives");
    }
    let clock = Instant::now();
    for creature in creatures.iter() {
        tell(creature, Begin).await;
    }
    let met = closed.await.expect("the mall closes when all have left");
    let took = clock.elapsed();
    assert_eq!(met, 2 * n, "two creatures at every meeting");
    took
}
