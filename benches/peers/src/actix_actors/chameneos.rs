//! Creatures meet in pairs at a mall and change their colours.

use super::{Stage, messages, plain_actors};
use crate::shape::{Colour, report};
use crate::sizes::CREATURES;
use actix::{Actor, Addr, Handler};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Creatures = Arc<[Addr<Creature>]>;

struct Know(Creatures);
/// This creature of that colour wants to meet somebody.
struct Enter(usize, Colour);
/// A creature that has met so many leaves.
struct Exit(u64);
struct Begin(Creatures);
/// That creature of that colour stands before it.
struct Meet(usize, Colour);
/// It has met somebody, and has this colour now.
struct Change(Colour);
struct Leave;
messages!(Know, Enter, Exit, Begin, Meet, Change, Leave);

struct Mall {
    left: u64,
    waiting: Option<usize>,
    creatures: Creatures,
    inside: u64,
    met: u64,
    done: Option<oneshot::Sender<u64>>,
}
struct Creature {
    me: usize,
    colour: Colour,
    met: u64,
    mall: Addr<Mall>,
    creatures: Creatures,
}
plain_actors!(Mall, Creature);

impl Handler<Know> for Mall {
    type Result = ();

    fn handle(&mut self, Know(creatures): Know, _cx: &mut Self::Context) {
        self.creatures = creatures;
    }
}

impl Handler<Enter> for Mall {
    type Result = ();

    fn handle(&mut self, Enter(creature, colour): Enter, _cx: &mut Self::Context) {
        if self.left == 0 {
            self.creatures[creature].do_send(Leave);
        } else if let Some(first) = self.waiting.take() {
            self.left -= 1;
            self.creatures[first].do_send(Meet(creature, colour));
        } else {
            self.waiting = Some(creature);
        }
    }
}

impl Handler<Exit> for Mall {
    type Result = ();

    fn handle(&mut self, Exit(met): Exit, _cx: &mut Self::Context) {
        self.met += met;
        self.inside -= 1;
        if self.inside == 0 {
            report(&mut self.done, self.met);
        }
    }
}

impl Creature {
    fn enter(&self) {
        self.mall.do_send(Enter(self.me, self.colour));
    }

    fn change(&mut self, colour: Colour) {
        self.colour = colour;
        self.met += 1;
        self.enter();
    }
}

impl Handler<Begin> for Creature {
    type Result = ();

    fn handle(&mut self, Begin(creatures): Begin, _cx: &mut Self::Context) {
        self.creatures = creatures;
        self.enter();
    }
}

impl Handler<Meet> for Creature {
    type Result = ();

    fn handle(&mut self, Meet(other, colour): Meet, _cx: &mut Self::Context) {
        let colour = self.colour.meets(colour);
        self.creatures[other].do_send(Change(colour));
        self.change(colour);
    }
}

impl Handler<Change> for Creature {
    type Result = ();

    fn handle(&mut self, Change(colour): Change, _cx: &mut Self::Context) {
        self.change(colour);
    }
}

impl Handler<Leave> for Creature {
    type Result = ();

    fn handle(&mut self, _message: Leave, _cx: &mut Self::Context) {
        self.mall.do_send(Exit(self.met));
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let (creatures, done_by) = (Arc::default(), Some(tell));
    let mall = Mall { left: n, waiting: None, creatures, inside: CREATURES, met: 0, done: done_by };
    let mall = mall.start();
    let start = |index: u64| {
        let (me, mall) = (index as usize, mall.clone());
        let creature =
            Creature { me, colour: Colour::of(me), met: 0, mall, creatures: Arc::default() };
        stage.start(index, creature)
    };
    let creatures: Creatures = (0..CREATURES).map(start).collect();
    mall.send(Know(Arc::clone(&creatures))).await.expect("the mall is open");
    let clock = Instant::now();
    for creature in creatures.iter() {
        creature.do_send(Begin(Arc::clone(&creatures)));
    }
    let met = done.await;
    let took = clock.elapsed();
    assert_eq!(met, Ok(2 * n), "two creatures were in each meeting");
    took
}
