//! An actor and a plain thread ask an actor, one question after the other.

use super::mailboxes::{Mailbox, Unbounded};
use crate::shape::outside;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Server;
struct Question(u64);
plain_actor!(Server);

impl Message<Question> for Server {
    type Reply = u64;

    async fn handle(&mut self, Question(value): Question, _cx: &mut Context<Self, u64>) -> u64 {
        value + 1
    }
}

struct Ask(u64);
struct Asker(ActorRef<Server>);
plain_actor!(Asker);

impl Message<Ask> for Asker {
    type Reply = ();

    async fn handle(&mut self, Ask(n): Ask, _cx: &mut Context<Self, ()>) {
        for value in 0..n {
            let answer = self.0.ask(Question(value)).send().await.expect("the server answers");
            assert_eq!(answer, value + 1, "the answer to this question");
        }
    }
}

pub(super) async fn run<B: Mailbox>(n: u64) -> Duration {
    let asker = B::spawn(Asker(B::spawn(Server)));
    asker.wait_for_startup().await;
    let clock = Instant::now();
    asker.ask(Ask(n)).send().await.expect("the asker answers");
    clock.elapsed()
}

pub(super) async fn from_outside(n: u64) -> Duration {
    let server = Unbounded::spawn(Server);
    server.wait_for_startup().await;
    let asked = outside(move || {
        let clock = Instant::now();
        for value in 0..n {
            let answer = server.ask(Question(value)).blocking_send().expect("the server answers");
            assert_eq!(answer, value + 1, "the answer to this question");
        }
        clock.elapsed()
    });
    asked.await.expect("the thread does not panic")
}
