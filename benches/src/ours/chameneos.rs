//! Creatures meet in pairs at a mall and change their colours.

use greenroom::{Actor, Ref, System, handlers};
use greenroom_peers::shape::{Colour, report};
use greenroom_peers::sizes::CREATURES;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Creatures = Arc<[Ref<Creature>]>;

#[derive(Actor)]
struct Mall {
    left: u64,
    waiting: Option<usize>,
    creatures: Creatures,
    inside: u64,
    met: u64,
    done: Option<oneshot::Sender<u64>>,
}

#[handlers]
impl Mall {
    #[start]
    fn start(left: u64, done: oneshot::Sender<u64>) -> Self {
        let creatures = Arc::new([]);
        Self { left, waiting: None, creatures, inside: CREATURES, met: 0, done: Some(done) }
    }

    #[ask]
    fn know(&mut self, creatures: Creatures) {
        self.creatures = creatures;
    }

    /// That creature of that colour wants to meet somebody.
    #[tell]
    fn enter(&mut self, creature: usize, colour: Colour) {
        if self.left == 0 {
            self.creatures[creature].leave().tell().expect("the creature lives");
        } else if let Some(first) = self.waiting.take() {
            self.left -= 1;
            self.creatures[first].meet(creature, colour).tell().expect("the creature lives");
        } else {
            self.waiting = Some(creature);
        }
    }

    /// A creature that has met so many leaves.
    #[tell]
    fn exit(&mut self, met: u64) {
        self.met += met;
        self.inside -= 1;
        if self.inside == 0 {
            report(&mut self.done, self.met);
        }
    }
}

#[derive(Actor)]
struct Creature {
    me: usize,
    colour: Colour,
    met: u64,
    mall: Ref<Mall>,
    creatures: Creatures,
}

#[handlers]
impl Creature {
    #[start]
    fn start(me: usize, mall: Ref<Mall>) -> Self {
        Self { me, colour: Colour::of(me), met: 0, mall, creatures: Arc::new([]) }
    }

    #[ask]
    fn know(&mut self, creatures: Creatures) {
        self.creatures = creatures;
    }

    #[tell]
    fn begin(&mut self) {
        self.mall.enter(self.me, self.colour).tell().expect("the mall lives");
    }

    /// That creature of that colour stands before it.
    #[tell]
    fn meet(&mut self, other: usize, colour: Colour) {
        let colour = self.colour.meets(colour);
        self.creatures[other].change(colour).tell().expect("the other one lives");
        self.change(colour);
    }

    /// It has met somebody, and has this colour now.
    #[tell]
    fn change(&mut self, colour: Colour) {
        self.colour = colour;
        self.met += 1;
        self.begin();
    }

    #[tell]
    fn leave(&mut self) {
        self.mall.exit(self.met).tell().expect("the mall lives");
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let mall = system.spawn::<Mall>((n, tell)).await.expect("the mall opens");
    let start =
        |me| system.spawn::<Creature>((me, mall.clone())).start().expect("a creature starts");
    let creatures: Creatures = (0..CREATURES as usize).map(start).collect();
    mall.know(Arc::clone(&creatures)).await.expect("the mall is open");
    for creature in creatures.iter() {
        creature.know(Arc::clone(&creatures)).await.expect("the creature lives");
    }
    let clock = Instant::now();
    for creature in creatures.iter() {
        creature.begin().tell().expect("the creature lives");
    }
    let met = done.await;
    let took = clock.elapsed();
    assert_eq!(met, Ok(2 * n), "two creatures were in each meeting");
    took
}
