//! Many actors, each of which sends pings to others and answers theirs.

use super::Done;
use crate::shape::Dice;
use crate::sizes::PEERS;
use crate::{Countdown, Ticket};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Neighbour;

enum Big {
    Meet(Arc<[ActorRef<Self>]>),
    Begin,
    Ping(usize),
    Pong,
    Answered(RpcReplyPort<u64>),
}

struct Talk {
    me: usize,
    all: Arc<[ActorRef<Big>]>,
    dice: Dice,
    answered: u64,
    goal: u64,
    done: Option<Ticket>,
}

impl Talk {
    /// Pings somebody else, or is done.
    fn go_on(&mut self) -> Done {
        if self.answered == self.goal {
            self.done = None;
            return Ok(());
        }
        let other = self.dice.other(self.me, self.all.len());
        Ok(self.all[other].cast(Big::Ping(self.me))?)
    }
}

impl Actor for Neighbour {
    type Msg = Big;
    type State = Talk;
    type Arguments = Talk;

    async fn pre_start(&self, _me: ActorRef<Big>, talk: Talk) -> Result<Talk, ActorProcessingErr> {
        Ok(talk)
    }

    async fn handle(&self, _me: ActorRef<Big>, message: Big, talk: &mut Talk) -> Done {
        match message {
            Big::Meet(all) => talk.all = all,
            Big::Begin => talk.go_on()?,
            Big::Ping(from) => talk.all[from].cast(Big::Pong)?,
            Big::Pong => {
                talk.answered += 1;
                talk.go_on()?;
            }
            Big::Answered(reply) => reply.send(talk.answered)?,
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / PEERS, Countdown::new(PEERS));
    let mut all = Vec::new();
    for me in 0..PEERS as usize {
        let (nobody, dice, done) = (Arc::default(), Dice::new(me), Some(countdown.ticket()));
        let talk = Talk { me, all: nobody, dice, answered: 0, goal, done };
        let (actor, _) = Actor::spawn(None, Neighbour, talk).await.expect("an actor starts");
        all.push(actor);
    }
    let all: Arc<[_]> = all.into();
    for actor in all.iter() {
        actor.cast(Big::Meet(Arc::clone(&all))).expect("the actor lives");
    }
    let clock = Instant::now();
    for actor in all.iter() {
        actor.cast(Big::Begin).expect("the actor lives");
    }
    countdown.done.await.expect("every actor has its pongs");
    let took = clock.elapsed();
    for actor in all.iter() {
        let answered = call!(actor, Big::Answered).expect("the actor answers");
        assert_eq!(answered, goal, "every ping was answered once");
    }
    took
}
