//! One sender gives work to many actors in turn.

use super::Done;
use crate::shape::compute;
use crate::sizes::FORKS;
use crate::{Countdown, Ticket};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};
use std::time::{Duration, Instant};

struct Computer;

enum Work {
    Number(u64),
    Handled(RpcReplyPort<u64>),
}

struct Progress {
    handled: u64,
    goal: u64,
    done: Option<Ticket>,
}

impl Actor for Computer {
    type Msg = Work;
    type State = Progress;
    type Arguments = Progress;

    async fn pre_start(
        &self,
        _me: ActorRef<Work>,
        progress: Progress,
    ) -> Result<Progress, ActorProcessingErr> {
        Ok(progress)
    }

    async fn handle(&self, _me: ActorRef<Work>, message: Work, progress: &mut Progress) -> Done {
        match message {
            Work::Number(number) => {
                compute(number);
                progress.handled += 1;
                if progress.handled == progress.goal {
                    progress.done = None;
                }
            }
            Work::Handled(reply) => reply.send(progress.handled)?,
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (goal, countdown) = (n / FORKS, Countdown::new(FORKS));
    let mut computers = Vec::new();
    for _ in 0..FORKS {
        let progress = Progress { handled: 0, goal, done: Some(countdown.ticket()) };
        let (computer, _) = Actor::spawn(None, Computer, progress).await.expect("it starts");
        computers.push(computer);
    }
    let clock = Instant::now();
    for number in 0..goal {
        for computer in &computers {
            computer.cast(Work::Number(number)).expect("the computer lives");
        }
    }
    countdown.done.await.expect("the computers work");
    let took = clock.elapsed();
    for computer in computers {
        let handled = call!(computer, Work::Handled).expect("the computer answers");
        assert_eq!(handled, goal, "every number was handled once");
    }
    took
}
