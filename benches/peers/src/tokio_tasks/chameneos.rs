//! Creatures meet in pairs at a mall and change their colours.

use crate::shape::Colour;
use crate::sizes::CREATURES;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

enum Visit {
    /// This creature of that colour wants to meet somebody.
    Enter(usize, Colour),
    /// A creature that has met so many leaves.
    Exit(u64),
}

enum Live {
    Begin,
    /// That creature of that colour stands before it.
    Meet(usize, Colour),
    /// It has met somebody, and has this colour now.
    Change(Colour),
    Leave,
}

type Creatures = Arc<[UnboundedSender<Live>]>;

/// Pairs whoever comes until no meetings are left; returns how many the creatures had.
async fn mall(mut left: u64, mut mailbox: UnboundedReceiver<Visit>, creatures: Creatures) -> u64 {
    let (mut waiting, mut inside, mut all_met) = (None::<usize>, CREATURES, 0);
    while inside > 0 {
        match mailbox.recv().await {
            Some(Visit::Enter(creature, _)) if left == 0 => {
                creatures[creature].send(Live::Leave).expect("the creature lives");
            }
            Some(Visit::Enter(creature, colour)) => match waiting.take() {
                None => waiting = Some(creature),
                Some(first) => {
                    left -= 1;
                    let meet = Live::Meet(creature, colour);
                    creatures[first].send(meet).expect("the creature lives");
                }
            },
            Some(Visit::Exit(met)) => {
                all_met += met;
                inside -= 1;
            }
            None => break,
        }
    }
    all_met
}

async fn creature(
    me: usize,
    mut mailbox: UnboundedReceiver<Live>,
    mall: UnboundedSender<Visit>,
    creatures: Creatures,
) {
    let (mut colour, mut met) = (Colour::of(me), 0);
    while let Some(message) = mailbox.recv().await {
        match message {
            Live::Begin => {}
            Live::Meet(other, theirs) => {
                colour = colour.meets(theirs);
                creatures[other].send(Live::Change(colour)).expect("the other one lives");
                met += 1;
            }
            Live::Change(new) => {
                colour = new;
                met += 1;
            }
            Live::Leave => {
                mall.send(Visit::Exit(met)).expect("the mall is open");
                return;
            }
        }
        mall.send(Visit::Enter(me, colour)).expect("the mall is open");
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (to_mall, visits) = unbounded_channel();
    let (creatures, mailboxes): (Vec<_>, Vec<_>) =
        (0..CREATURES).map(|_| unbounded_channel()).unzip();
    let creatures: Creatures = creatures.into();
    let mall = tokio::spawn(mall(n, visits, Arc::clone(&creatures)));
    for (me, mailbox) in mailboxes.into_iter().enumerate() {
        tokio::spawn(creature(me, mailbox, to_mall.clone(), Arc::clone(&creatures)));
    }
    let clock = Instant::now();
    for creature in creatures.iter() {
        creature.send(Live::Begin).expect("the creature lives");
    }
    let met = mall.await.expect("the mall closes when all have left");
    let took = clock.elapsed();
    assert_eq!(met, 2 * n, "two creatures were in each meeting");
    took
}
