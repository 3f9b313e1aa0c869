//! Creatures meet in pairs at a mall and change their colours.

use super::mailboxes::{Mailbox, Unbounded};
use crate::shape::{Colour, report};
use crate::sizes::CREATURES;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Creatures = Arc<[ActorRef<Creature>]>;

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
plain_actor!(Mall);

impl Message<Know> for Mall {
    type Reply = ();

    async fn handle(&mut self, Know(creatures): Know, _cx: &mut Context<Self, ()>) {
        self.creatures = creatures;
    }
}

impl Message<Visit> for Mall {
    type Reply = ();

    async fn handle(&mut self, Visit(creature, colour): Visit, _cx: &mut Context<Self, ()>) {
        if self.left == 0 {
            self.creatures[creature].tell(Leave).try_send().expect("the creature lives");
            return;
        }
        match self.waiting.take() {
            None => self.waiting = Some(creature),
            Some(first) => {
                self.left -= 1;
                let meet = Meet(creature, colour);
                self.creatures[first].tell(meet).try_send().expect("the creature lives");
            }
        }
    }
}

impl Message<Met> for Mall {
    type Reply = ();

    async fn handle(&mut self, Met(count): Met, _cx: &mut Context<Self, ()>) {
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
    mall: ActorRef<Mall>,
    creatures: Creatures,
}

struct Begin;
/// That creature of that colour stands before it.
struct Meet(usize, Colour);
/// It has met somebody, and has this colour now.
struct Become(Colour);
struct Leave;
plain_actor!(Creature);

impl Creature {
    fn visit(&self) {
        self.mall.tell(Visit(self.me, self.colour)).try_send().expect("the mall is open");
    }

    fn change(&mut self, colour: Colour) {
        self.colour = colour;
        self.met += 1;
        self.visit();
    }
}

impl Message<Know> for Creature {
    type Reply = ();

    async fn handle(&mut self, Know(creatures): Know, _cx: &mut Context<Self, ()>) {
        self.creatures = creatures;
    }
}

impl Message<Begin> for Creature {
    type Reply = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self, ()>) {
        self.visit();
    }
}

impl Message<Meet> for Creature {
    type Reply = ();

    async fn handle(&mut self, Meet(other, colour): Meet, _cx: &mut Context<Self, ()>) {
        let colour = self.colour.meets(colour);
        self.creatures[other].tell(Become(colour)).try_send().expect("the other one lives");
        self.change(colour);
    }
}

impl Message<Become> for Creature {
    type Reply = ();

    async fn handle(&mut self, Become(colour): Become, _cx: &mut Context<Self, ()>) {
        self.change(colour);
    }
}

impl Message<Leave> for Creature {
    type Reply = ();

    async fn handle(&mut self, _message: Leave, _cx: &mut Context<Self, ()>) {
        self.mall.tell(Met(self.met)).try_send().expect("the mall is open");
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let nobody: Creatures = Arc::default();
    let mall = Unbounded::spawn(Mall {
        left: n,
        met: 0,
        waiting: None,
        creatures: Arc::clone(&nobody),
        inside: CREATURES,
        done: Some(tell),
    });
    let creatures: Creatures = (0..CREATURES as usize)
        .map(|me| {
            let (colour, mall, creatures) = (Colour::of(me), mall.clone(), Arc::clone(&nobody));
            Unbounded::spawn(Creature { me, colour, met: 0, mall, creatures })
        })
        .collect();
    mall.ask(Know(Arc::clone(&creatures))).send().await.expect("the mall is open");
    for creature in creatures.iter() {
        creature.ask(Know(Arc::clone(&creatures))).send().await.expect("the creature lives");
    }
    let clock = Instant::now();
    for creature in creatures.iter() {
        creature.tell(Begin).try_send().expect("the creature lives");
    }
    let met = done.await.expect("the mall closes when all have left");
    let took = clock.elapsed();
    assert_eq!(met, 2 * n, "two creatures at every meeting");
    took
}
