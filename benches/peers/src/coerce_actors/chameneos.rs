//! Creatures meet in pairs at a mall and change their colours.

use super::start;
use crate::shape::{Colour, report};
use crate::sizes::CREATURES;
use async_trait::async_trait;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Creatures = Arc<[LocalActorRef<Creature>]>;

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
message!(Know);
/// This creature of that colour wants to meet somebody.
struct Visit(usize, Colour);
message!(Visit);
/// A creature has met that many others and leaves.
struct Met(u64);
message!(Met);
impl Actor for Mall {}

#[async_trait]
impl Handler<Know> for Mall {
    async fn handle(&mut self, Know(creatures): Know, _cx: &mut ActorContext) {
        self.creatures = creatures;
    }
}

#[async_trait]
impl Handler<Visit> for Mall {
    async fn handle(&mut self, Visit(creature, colour): Visit, _cx: &mut ActorContext) {
        if self.left == 0 {
            self.creatures[creature].notify(Leave).expect("the creature lives");
            return;
        }
        match self.waiting.take() {
            None => self.waiting = Some(creature),
            Some(first) => {
                self.left -= 1;
                let meet = Meet(creature, colour);
                self.creatures[first].notify(meet).expect("the creature lives");
            }
        }
    }
}

#[async_trait]
impl Handler<Met> for Mall {
    async fn handle(&mut self, Met(count): Met, _cx: &mut ActorContext) {
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
    mall: LocalActorRef<Mall>,
    creatures: Creatures,
}

struct Begin;
message!(Begin);
/// That creature of that colour stands before it.
struct Meet(usize, Colour);
message!(Meet);
/// It has met somebody, and has this colour now.
struct Become(Colour);
message!(Become);
struct Leave;
message!(Leave);
impl Actor for Creature {}

impl Creature {
    fn visit(&self) {
        self.mall.notify(Visit(self.me, self.colour)).expect("the mall is open");
    }

    fn change(&mut self, colour: Colour) {
        self.colour = colour;
        self.met += 1;
        self.visit();
    }
}

#[async_trait]
impl Handler<Know> for Creature {
    async fn handle(&mut self, Know(creatures): Know, _cx: &mut ActorContext) {
        self.creatures = creatures;
    }
}

#[async_trait]
impl Handler<Begin> for Creature {
    async fn handle(&mut self, _message: Begin, _cx: &mut ActorContext) {
        self.visit();
    }
}

#[async_trait]
impl Handler<Meet> for Creature {
    async fn handle(&mut self, Meet(other, colour): Meet, _cx: &mut ActorContext) {
        let colour = self.colour.meets(colour);
        self.creatures[other].notify(Become(colour)).expect("the other one lives");
        self.change(colour);
    }
}

#[async_trait]
impl Handler<Become> for Creature {
    async fn handle(&mut self, Become(colour): Become, _cx: &mut ActorContext) {
        self.change(colour);
    }
}

#[async_trait]
impl Handler<Leave> for Creature {
    async fn handle(&mut self, _message: Leave, _cx: &mut ActorContext) {
        self.mall.notify(Met(self.met)).expect("the mall is open");
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let nobody: Creatures = Arc::default();
    let system = ActorSystem::new();
    let mall = Mall {
        left: n,
        met: 0,
        waiting: None,
        creatures: Arc::clone(&nobody),
        inside: CREATURES,
        done: Some(tell),
    };
    let mall = start(&system, mall).await;
    let mut creatures = Vec::new();
    for me in 0..CREATURES as usize {
        let (colour, mall, others) = (Colour::of(me), mall.clone(), Arc::clone(&nobody));
        let creature = Creature { me, colour, met: 0, mall, creatures: others };
        creatures.push(start(&system, creature).await);
    }
    let creatures: Creatures = creatures.into();
    mall.send(Know(Arc::clone(&creatures))).await.expect("the mall is open");
    for creature in creatures.iter() {
        creature.send(Know(Arc::clone(&creatures))).await.expect("the creature lives");
    }
    let clock = Instant::now();
    for creature in creatures.iter() {
        creature.notify(Begin).expect("the creature lives");
    }
    let met = done.await.expect("the mall closes when all have left");
    let took = clock.elapsed();
    assert_eq!(met, 2 * n, "two creatures at every meeting");
    took
}
