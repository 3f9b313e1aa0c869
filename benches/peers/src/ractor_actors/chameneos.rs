//! Creatures meet in pairs at a mall and change their colours.

use super::Done;
use crate::shape::{Colour, report};
use crate::sizes::CREATURES;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Creatures = Arc<[ActorRef<Live>]>;

struct Mall;

enum Visit {
    Know(Creatures),
    /// This creature of that colour wants to meet somebody.
    Meet(usize, Colour),
    /// A creature has met that many others and leaves.
    Met(u64),
}

struct Meetings {
    left: u64,
    met: u64,
    waiting: Option<(usize, Colour)>,
    creatures: Creatures,
    inside: u64,
    done: Option<oneshot::Sender<u64>>,
}

impl Actor for Mall {
    type Msg = Visit;
    type State = Meetings;
    type Arguments = Meetings;

    async fn pre_start(
        &self,
        _me: ActorRef<Visit>,
        meetings: Meetings,
    ) -> Result<Meetings, ActorProcessingErr> {
        Ok(meetings)
    }

    async fn handle(&self, _me: ActorRef<Visit>, visit: Visit, mall: &mut Meetings) -> Done {
        match visit {
            Visit::Know(creatures) => mall.creatures = creatures,
            Visit::Meet(creature, _) if mall.left == 0 => {
                mall.creatures[creature].cast(Live::Leave)?;
            }
            Visit::Meet(creature, colour) => match mall.waiting.take() {
                None => mall.waiting = Some((creature, colour)),
                Some((first, _)) => {
                    mall.left -= 1;
                    mall.creatures[first].cast(Live::Meet(creature, colour))?;
                }
            },
            Visit::Met(count) => {
                mall.met += count;
                mall.inside -= 1;
                if mall.inside == 0 {
                    report(&mut mall.done, mall.met);
                }
            }
        }
        Ok(())
    }
}

struct Creature;

enum Live {
    Know(Creatures),
    Begin,
    /// That creature of that colour stands before it.
    Meet(usize, Colour),
    /// It has met somebody, and has this colour now.
    Become(Colour),
    Leave,
}

struct Life {
    me: usize,
    colour: Colour,
    met: u64,
    mall: ActorRef<Visit>,
    creatures: Creatures,
}

impl Life {
    fn change(&mut self, colour: Colour) -> Done {
        self.colour = colour;
        self.met += 1;
        Ok(self.mall.cast(Visit::Meet(self.me, colour))?)
    }
}

impl Actor for Creature {
    type Msg = Live;
    type State = Life;
    type Arguments = Life;

    async fn pre_start(&self, _me: ActorRef<Live>, life: Life) -> Result<Life, ActorProcessingErr> {
        Ok(life)
    }

    async fn handle(&self, _me: ActorRef<Live>, message: Live, life: &mut Life) -> Done {
        match message {
            Live::Know(creatures) => life.creatures = creatures,
            Live::Begin => life.mall.cast(Visit::Meet(life.me, life.colour))?,
            Live::Meet(other, colour) => {
                let colour = life.colour.meets(colour);
                life.creatures[other].cast(Live::Become(colour))?;
                life.change(colour)?;
            }
            Live::Become(colour) => life.change(colour)?,
            Live::Leave => life.mall.cast(Visit::Met(life.met))?,
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let meetings = Meetings {
        left: n,
        met: 0,
        waiting: None,
        creatures: Arc::default(),
        inside: CREATURES,
        done: Some(tell),
    };
    let (mall, _) = Actor::spawn(None, Mall, meetings).await.expect("the mall opens");
    let mut creatures = Vec::new();
    for me in 0..CREATURES as usize {
        let (colour, mall) = (Colour::of(me), mall.clone());
        let life = Life { me, colour, met: 0, mall, creatures: Arc::default() };
        let (creature, _) = Actor::spawn(None, Creature, life).await.expect("a creature starts");
        creatures.push(creature);
    }
    let creatures: Creatures = creatures.into();
    mall.cast(Visit::Know(Arc::clone(&creatures))).expect("the mall is open");
    for creature in creatures.iter() {
        creature.cast(Live::Know(Arc::clone(&creatures))).expect("the creature lives");
    }
    let clock = Instant::now();
    for creature in creatures.iter() {
        creature.cast(Live::Begin).expect("the creature lives");
    }
    let met = done.await.expect("the mall closes when all have left");
    let took = clock.elapsed();
    assert_eq!(met, 2 * n, "two creatures at every meeting");
    took
}
