//! An actor and a plain thread ask an actor, one question after the other.

use super::start;
use crate::shape::outside;
use async_trait::async_trait;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};
use std::time::{Duration, Instant};

struct Server;
struct Question(u64);
message!(Question -> u64);
impl Actor for Server {}

#[async_trait]
impl Handler<Question> for Server {
    async fn handle(&mut self, Question(value): Question, _cx: &mut ActorContext) -> u64 {
        value + 1
    }
}

struct Ask(u64);
message!(Ask);
struct Asker(LocalActorRef<Server>);
impl Actor for Asker {}

#[async_trait]
impl Handler<Ask> for Asker {
    async fn handle(&mut self, Ask(n): Ask, _cx: &mut ActorContext) {
        for value in 0..n {
            let answer = self.0.send(Question(value)).await.expect("the server answers");
            assert_eq!(answer, value + 1, "the answer to this question");
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let system = ActorSystem::new();
    let server = start(&system, Server).await;
    let asker = start(&system, Asker(server)).await;
    let clock = Instant::now();
    asker.send(Ask(n)).await.expect("the asker answers");
    clock.elapsed()
}

pub(super) async fn from_outside(n: u64) -> Duration {
    let system = ActorSystem::new();
    let server = start(&system, Server).await;
    let asked = outside(move || {
        let clock = Instant::now();
        for value in 0..n {
            let answer = server.send_blocking(Question(value)).expect("the server answers");
            assert_eq!(answer, value + 1, "the answer to this question");
        }
        clock.elapsed()
    });
    asked.await.expect("the thread does not panic")
}
