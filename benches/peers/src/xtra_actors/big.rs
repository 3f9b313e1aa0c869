//! Many actors, each of which sends pings to others and answers theirs.

use super::{spawn, tell};
use crate::shape::Dice;
use crate::sizes::PEERS;
use crate::{Countdown, Ticket};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Talker {
    me: usize,
    all: Arc<[Address<Self>]>,
    dice: Dice,
    answered: u64,
    goal: u64,
    done: Option<Ticket>,
}

struct Meet(Arc<[Address<Talker>]>);
struct Begin;
struct Ping(usize);
struct Pong;
struct Answered;
plain_actors!(Talker);

impl Talker {
    /// Pings somebody else, or is done.
    async fn go_on(&mut self) {
        if self.answered == self.goal {
            self.done = None;
            return;
        }
        let other = self.dice.other(self.me, self.all.len());
        tell(&self.all[other], Ping(self.me)).await;
    }
}

impl Handler<Meet> for Talker {
    type Return = ();

    async fn handle(&mut self, Meet(all): Meet, _cx: &mut Context<Self>) {
        self.all = all;
    }
}

impl Handler<Begin> for Talker {
    type Return = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self>) {
        self.go_on().await;
    }
}

impl Handler<Ping> for Talker {
    type Return = ();

    async fn handle(&mut self, Ping(from): Ping, _cx: &mut Context<Self>) {
        tell(&self.all[from], Pong).await;
    }
}

impl Handler<Pong> for Talker {
    type Return = ();

    async fn handle(&mut self, _message: Pong, _cx: &mut Context<Self>) {
        self.answered += 1;
        self.go_on().await;
    }
}

impl Handler<Answered> for Talker {
    type Return = u64;

    async fn handle(&mut self, _message: Answered, _cx: &mut Context<Self>) -> u64 {
        self.answered
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / PEERS, Countdown::new(PEERS));
    let all: Arc<[_]> = (0..PEERS as usize)
        .map(|me| {
            let (all, dice, done) = (Arc::default(), Dice::new(me), Some(countdown.ticket()));
            spawn(Talker { me, all, dice, answered: 0, goal, done })
        })
        .collect();
    for actor in all.iter() {
        actor.send(Meet(Arc::clone(&all))).await.expect("the actor lives");
    }
    let clock = Instant::now();
    for actor in all.iter() {
        tell(actor, Begin).await;
    }
    countdown.done.await.expect("every actor has its pongs");
    let took = clock.elapsed();
    for actor in all.iter() {
        let answered = actor.send(Answered).await.expect("the actor answers");
        assert_eq!(answered, goal, "every ping was answered once");
    }
    took
}
