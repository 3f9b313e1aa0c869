//! Many actors, each of which sends pings to others and answers theirs.

use super::start;
use crate::shape::Dice;
use crate::sizes::PEERS;
use crate::{Countdown, Ticket};
use async_trait::async_trait;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Talker {
    me: usize,
    all: Arc<[LocalActorRef<Self>]>,
    dice: Dice,
    answered: u64,
    goal: u64,
    done: Option<Ticket>,
}

struct Meet(Arc<[LocalActorRef<Talker>]>);
message!(Meet);
struct Begin;
message!(Begin);
struct Ping(usize);
message!(Ping);
struct Pong;
message!(Pong);
struct Answered;
message!(Answered -> u64);
impl Actor for Talker {}

impl Talker {
    /// Pings somebody else, or is done.
    fn go_on(&mut self) {
        if self.answered == self.goal {
            self.done = None;
            return;
        }
        let other = self.dice.other(self.me, self.all.len());
        self.all[other].notify(Ping(self.me)).expect("the other one lives");
    }
}

#[async_trait]
impl Handler<Meet> for Talker {
    async fn handle(&mut self, Meet(all): Meet, _cx: &mut ActorContext) {
        self.all = all;
    }
}

#[async_trait]
impl Handler<Begin> for Talker {
    async fn handle(&mut self, _message: Begin, _cx: &mut ActorContext) {
        self.go_on();
    }
}

#[async_trait]
impl Handler<Ping> for Talker {
    async fn handle(&mut self, Ping(from): Ping, _cx: &mut ActorContext) {
        self.all[from].notify(Pong).expect("the other one lives");
    }
}

#[async_trait]
impl Handler<Pong> for Talker {
    async fn handle(&mut self, _message: Pong, _cx: &mut ActorContext) {
        self.answered += 1;
        self.go_on();
    }
}

#[async_trait]
impl Handler<Answered> for Talker {
    async fn handle(&mut self, _message: Answered, _cx: &mut ActorContext) -> u64 {
        self.answered
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / PEERS, Countdown::new(PEERS));
    let system = ActorSystem::new();
    let mut all = Vec::new();
    for me in 0..PEERS as usize {
        let (nobody, dice, done) = (Arc::default(), Dice::new(me), Some(countdown.ticket()));
        let talker = Talker { me, all: nobody, dice, answered: 0, goal, done };
        all.push(start(&system, talker).await);
    }
    let all: Arc<[_]> = all.into();
    for actor in all.iter() {
        actor.send(Meet(Arc::clone(&all))).await.expect("the actor lives");
    }
    let clock = Instant::now();
    for actor in all.iter() {
        actor.notify(Begin).expect("the actor lives");
    }
    countdown.done.await.expect("every actor has its pongs");
    let took = clock.elapsed();
    for actor in all.iter() {
        let answered = actor.send(Answered).await.expect("the actor answers");
        assert_eq!(answered, goal, "every ping was answered once");
    }
    took
}
