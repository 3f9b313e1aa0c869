//! An actor and a plain thread ask an actor, one question after the other.

use super::{Mailboxes, spawn};
use crate::shape::outside;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use xtra::{Address, Context, Handler};

struct Server;
struct Question(u64);

struct Asker(Address<Server>);
struct Ask(u64);

plain_actors!(Server, Asker);

impl Handler<Question> for Server {
    type Return = u64;

    async fn handle(&mut self, Question(value): Question, _cx: &mut Context<Self>) -> u64 {
        value + 1
    }
}

impl Handler<Ask> for Asker {
    type Return = ();

    async fn handle(&mut self, Ask(n): Ask, _cx: &mut Context<Self>) {
        for value in 0..n {
            let answer = self.0.send(Question(value)).await;
            assert_eq!(answer, Ok(value + 1), "the answer to this question");
        }
    }
}

pub(super) async fn run(mailboxes: Mailboxes, n: u64) -> Duration {
    let asker = mailboxes.spawn(Asker(mailboxes.spawn(Server)));
    let clock = Instant::now();
    asker.send(Ask(n)).await.expect("the asker answers");
    clock.elapsed()
}

pub(super) async fn from_outside(n: u64) -> Duration {
    let (server, runtime) = (spawn(Server), Handle::current());
    let asked = outside(move || {
        let clock = Instant::now();
        for value in 0..n {
            let answer = runtime.block_on(server.send(Question(value)));
            assert_eq!(answer, Ok(value + 1), "the answer to this question");
        }
        clock.elapsed()
    });
    asked.await.expect("the thread does not panic")
}
