//! Many actors, each of which sends pings to others and answers theirs.

use super::mailboxes::{Mailbox, Unbounded};
use crate::shape::Dice;
use crate::sizes::PEERS;
use crate::{Countdown, Ticket};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Talker {
    me: usize,
    all: Arc<[ActorRef<Self>]>,
    dice: Dice,
    answered: u64,
    goal: u64,
    done: Option<Ticket>,
}

struct Meet(Arc<[ActorRef<Talker>]>);
struct Begin;
struct Ping(usize);
struct Pong;
struct Answered;
plain_actor!(Talker);

impl Talker {
    /// Pings somebody else, or is done.
    fn go_on(&mut self) {
        if self.answered == self.goal {
            self.done = None;
            return;
        }
        let other = self.dice.other(self.me, self.all.len());
        self.all[other].tell(Ping(self.me)).try_send().expect("the other one lives");
    }
}

impl Message<Meet> for Talker {
    type Reply = ();

    async fn handle(&mut self, Meet(all): Meet, _cx: &mut Context<Self, ()>) {
        self.all = all;
    }
}

impl Message<Begin> for Talker {
    type Reply = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self, ()>) {
        self.go_on();
    }
}

impl Message<Ping> for Talker {
    type Reply = ();

    async fn handle(&mut self, Ping(from): Ping, _cx: &mut Context<Self, ()>) {
        self.all[from].tell(Pong).try_send().expect("the other one lives");
    }
}

impl Message<Pong> for Talker {
    type Reply = ();

    async fn handle(&mut self, _message: Pong, _cx: &mut Context<Self, ()>) {
        self.answered += 1;
        self.go_on();
    }
}

impl Message<Answered> for Talker {
    type Reply = u64;

    async fn handle(&mut self, _message: Answered, _cx: &mut Context<Self, u64>) -> u64 {
        self.answered
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / PEERS, Countdown::new(PEERS));
    let all: Arc<[_]> = (0..PEERS as usize)
        .map(|me| {
            let (all, dice, done) = (Arc::default(), Dice::new(me), Some(countdown.ticket()));
            Unbounded::spawn(Talker { me, all, dice, answered: 0, goal, done })
        })
        .collect();
    for actor in all.iter() {
        actor.ask(Meet(Arc::clone(&all))).send().await.expect("the actor lives");
    }
    let clock = Instant::now();
    for actor in all.iter() {
        actor.tell(Begin).try_send().expect("the actor lives");
    }
    countdown.done.await.expect("every actor has its pongs");
    let took = clock.elapsed();
    for actor in all.iter() {
        let answered = actor.ask(Answered).send().await.expect("the actor answers");
        assert_eq!(answered, goal, "every ping was answered once");
    }
    took
}
