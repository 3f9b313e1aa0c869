//! Many actors, each of which sends pings to others and answers theirs.

use super::{Locate, group, locate};
use crate::shape::Dice;
use crate::sizes::PEERS;
use crate::{Countdown, Ticket, Tickets};
use elfo::{Addr, Blueprint, Context, Local, message, msg};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[message(ret = ())]
struct Meet {
    me: usize,
    all: Local<Arc<[Addr]>>,
}

#[message]
struct Begin;

#[message]
struct Ping(usize);

#[message]
struct Pong;

#[message(ret = u64)]
struct Answered;

struct Talker {
    me: usize,
    all: Arc<[Addr]>,
    dice: Dice,
    answered: u64,
    goal: u64,
    done: Option<Ticket>,
}

impl Talker {
    fn new(goal: u64, done: Ticket) -> Self {
        let (dice, all) = (Dice::new(0), Arc::default());
        Self { me: 0, all, dice, answered: 0, goal, done: Some(done) }
    }

    fn meet(&mut self, me: usize, all: Arc<[Addr]>) {
        (self.me, self.all, self.dice) = (me, all, Dice::new(me));
    }

    /// Pings somebody else, or is done.
    fn go_on(&mut self, cx: &Context<(), u64>) {
        if self.answered == self.goal {
            self.done = None;
            return;
        }
        let other = self.all[self.dice.other(self.me, self.all.len())];
        cx.unbounded_send_to(other, Ping(self.me)).expect("the other one lives");
    }
}

fn talkers(goal: u64, tickets: Tickets) -> Blueprint {
    group(PEERS).exec(move |mut cx| {
        let mut talker = Talker::new(goal, tickets.ticket());
        async move {
            while let Some(envelope) = cx.recv().await {
                msg!(match envelope {
                    Ping(from) => {
                        let ponged = cx.unbounded_send_to(talker.all[from], Pong);
                        ponged.expect("the other one lives");
                    }
                    Pong => {
                        talker.answered += 1;
                        talker.go_on(&cx);
                    }
                    Begin => talker.go_on(&cx),
                    (Meet { me, all }, token) => {
                        talker.meet(me, all.into_inner());
                        cx.respond(token, ());
                    }
                    (Answered, token) => cx.respond(token, talker.answered),
                    (Locate, token) => cx.respond(token, cx.addr().into()),
                });
            }
        }
    })
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / PEERS, Countdown::new(PEERS));
    let talkers = talkers(goal, countdown.tickets());
    super::run([talkers], async move |cx: Context, [talkers]| {
        let all: Arc<[_]> = locate(&cx, talkers).await.into();
        for (me, actor) in all.iter().enumerate() {
            let meet = Meet { me, all: Arc::clone(&all).into() };
            cx.request_to(*actor, meet).resolve().await.expect("the actor lives");
        }
        let clock = Instant::now();
        for actor in all.iter() {
            cx.unbounded_send_to(*actor, Begin).expect("the actor lives");
        }
        countdown.done.await.expect("every actor has its pongs");
        let took = clock.elapsed();
        for actor in all.iter() {
            let answered = cx.request_to(*actor, Answered).resolve().await;
            assert_eq!(answered.expect("it answers"), goal, "every ping was answered once");
        }
        took
    })
    .await
}
