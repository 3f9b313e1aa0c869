//! One actor asks another, one question after the other.

use super::{Stage, messages, plain_actors};
use actix::{Actor, Addr, Handler, ResponseActFuture, WrapFuture};
use std::time::{Duration, Instant};

struct Question(u64);
struct Run(u64);
messages!(Question => u64, Run);

struct Server;
struct Asker(Addr<Server>);
plain_actors!(Server, Asker);

impl Handler<Question> for Server {
    type Result = u64;

    fn handle(&mut self, Question(value): Question, _cx: &mut Self::Context) -> u64 {
        value + 1
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
