//! One actor, or a plain thread, asks another, one question after the other.

use super::{Stage, messages, plain_actors};
use crate::shape::outside;
use actix::{Actor, Addr, Handler, ResponseActFuture, WrapFuture};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

struct Question(u64);
/// A question with the means to answer it, for a thread that runs no futures.
struct Outside(u64, oneshot::Sender<u64>);
struct Run(u64);
messages!(Question => u64, Outside, Run);

struct Server;
struct Asker(Addr<Server>);
plain_actors!(Server, Asker);

impl Handler<Question> for Server {
    type Result = u64;

    fn handle(&mut self, Question(value): Question, _cx: &mut Self::Context) -> u64 {
        value + 1
    }
}

impl Handler<Outside> for Server {
    type Result = ();

    fn handle(&mut self, Outside(value, reply): Outside, _cx: &mut Self::Context) {
        // The asker waits for it.
        let _ = reply.send(value + 1);
    }
}

impl Handler<Run> for Asker {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, Run(n): Run, _cx: &mut Self::Context) -> Self::Result {
        let server = self.0.clone();
        let questions = async move {
            for value in 0..n {
                let answer = server.send(Question(value)).await;
                assert_eq!(answer, Ok(value + 1), "the answer to this question");
            }
        };
        Box::pin(questions.into_actor(self))
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let asker = Asker(Server::start_in_arbiter(&stage.second, |_| Server)).start();
    let clock = Instant::now();
    asker.send(Run(n)).await.expect("the asker answers");
    clock.elapsed()
}

pub(super) async fn from_outside(stage: Stage, n: u64) -> Duration {
    let server = stage.start(1, Server);
    let asked = outside(move || {
        let clock = Instant::now();
        for value in 0..n {
            let (reply, answer) = oneshot::channel();
            server.do_send(Outside(value, reply));
            assert_eq!(answer.blocking_recv(), Ok(value + 1), "the answer to this question");
        }
        clock.elapsed()
    });
    asked.await.expect("the thread does not panic")
}
