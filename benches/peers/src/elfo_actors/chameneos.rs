//! Creatures meet in pairs at a mall and change their colours.

use super::{Locate, group, locate, locate_one};
use crate::shape::Colour;
use crate::sizes::CREATURES;
use elfo::{Addr, Blueprint, Context, Local, message, msg};
use std::time::{Duration, Instant};

/// Asks the mall for that many meetings; the answer is how many creatures met.
#[message(ret = u64)]
struct Open(u64);

/// This creature of that colour wants to meet somebody.
#[message]
struct Visit {
    creature: Local<Addr>,
    colour: Local<Colour>,
}

/// A creature has met that many others and leaves.
#[message]
struct Met(u64);

/// Who the first creature is to be, and where it goes.
#[message]
struct Live {
    colour: Local<Colour>,
    mall: Local<Addr>,
}

/// That creature of that colour stands before it.
#[message]
struct Encounter {
    other: Local<Addr>,
    colour: Local<Colour>,
}

/// It has met somebody, and has this colour now.
#[message]
struct Become(Local<Colour>);

#[message]
struct Leave;

struct Meetings {
    left: u64,
    met: u64,
    inside: u64,
    waiting: Option<Addr>,
}

impl Meetings {
    fn visit(&mut self, cx: &Context<(), u64>, creature: Addr, colour: Local<Colour>) {
        if self.left == 0 {
            cx.unbounded_send_to(creature, Leave).expect("the creature lives");
            return;
        }
        match self.waiting.take() {
            None => self.waiting = Some(creature),
            Some(first) => {
                self.left -= 1;
                let encounter = Encounter { other: creature.into(), colour };
                cx.unbounded_send_to(first, encounter).expect("the creature lives");
            }
        }
    }
}

fn mall() -> Blueprint {
    group(1).exec(async |mut cx| {
        let mut mall = Meetings { left: 0, met: 0, inside: CREATURES, waiting: None };
        let mut asked = None;
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                Visit { creature, colour } => mall.visit(&cx, *creature, colour),
                Met(count) => {
                    mall.met += count;
                    mall.inside -= 1;
                    if mall.inside == 0
                        && let Some(token) = asked.take()
                    {
                        cx.respond(token, mall.met);
                    }
                }
                (Open(meetings), token) => {
                    mall.left = meetings;
                    asked = Some(token);
                }
                (Locate, token) => cx.respond(token, cx.addr().into()),
            });
        }
    })
}

struct Creature {
    colour: Colour,
    mall: Addr,
    met: u64,
}

impl Creature {
    fn visit(&self, cx: &Context<(), u64>) {
        let visit = Visit { creature: cx.addr().into(), colour: self.colour.into() };
        cx.unbounded_send_to(self.mall, visit).expect("the mall is open");
    }

    fn change(&mut self, cx: &Context<(), u64>, colour: Colour) {
        self.colour = colour;
        self.met += 1;
        self.visit(cx);
    }
}

fn creatures() -> Blueprint {
    group(CREATURES).exec(async |mut cx| {
        let mut creature = Creature { colour: Colour::Blue, mall: cx.addr(), met: 0 };
        while let Some(envelope) = cx.recv().await {
            msg!(match envelope {
                Encounter { other, colour } => {
                    let colour = creature.colour.meets(*colour);
                    let became = cx.unbounded_send_to(*other, Become(colour.into()));
                    became.expect("the other one lives");
                    creature.change(&cx, colour);
                }
                Become(colour) => creature.change(&cx, *colour),
                Live { colour, mall } => {
                    (creature.colour, creature.mall) = (*colour, *mall);
                    creature.visit(&cx);
                }
                Leave => {
                    let left = cx.unbounded_send_to(creature.mall, Met(creature.met));
                    left.expect("the mall is open");
                }
                (Locate, token) => cx.respond(token, cx.addr().into()),
            });
        }
    })
}

pub(super) async fn run(n: u64) -> Duration {
    super::run([mall(), creatures()], async |cx: Context, [mall, creatures]| {
        let mall = locate_one(&cx, mall).await;
        let creatures = locate(&cx, creatures).await;
        let clock = Instant::now();
        // The mall has to know how many meetings there are before anybody comes.
        let open = cx.request_to(mall, Open(n)).resolve();
        let live = async {
            for (index, creature) in creatures.iter().enumerate() {
                let live = Live { colour: Colour::of(index).into(), mall: mall.into() };
                cx.unbounded_send_to(*creature, live).expect("the creature lives");
            }
        };
        let (met, ()) = tokio::join!(open, live);
        let took = clock.elapsed();
        assert_eq!(met.expect("the mall closes"), 2 * n, "two creatures at every meeting");
        took
    })
    .await
}
