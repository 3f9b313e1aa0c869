//! An actor and a plain thread ask an actor, one question after the other.

use super::Done;
use crate::shape::outside;
use ractor::concurrency::oneshot;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};
use std::time::{Duration, Instant};

struct Server;

struct Question(u64, RpcReplyPort<u64>);

impl Actor for Server {
    type Msg = Question;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<Question>, _args: ()) -> Done {
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<Question>,
        Question(value, reply): Question,
        _state: &mut (),
    ) -> Done {
        Ok(reply.send(value + 1)?)
    }
}

struct Asker;

struct Run(u64, RpcReplyPort<()>);

impl Actor for Asker {
    type Msg = Run;
    type State = ActorRef<Question>;
    type Arguments = ActorRef<Question>;

    async fn pre_start(
        &self,
        _me: ActorRef<Run>,
        server: ActorRef<Question>,
    ) -> Result<ActorRef<Question>, ActorProcessingErr> {
        Ok(server)
    }

    async fn handle(
        &self,
        _me: ActorRef<Run>,
        Run(n, done): Run,
        server: &mut ActorRef<Question>,
    ) -> Done {
        for value in 0..n {
            let answer = call!(server, |reply| Question(value, reply))?;
            assert_eq!(answer, value + 1, "the answer to this question");
        }
        Ok(done.send(())?)
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (server, _) = Actor::spawn(None, Server, ()).await.expect("the server starts");
    let (asker, _) = Actor::spawn(None, Asker, server).await.expect("the asker starts");
    let clock = Instant::now();
    call!(asker, |done| Run(n, done)).expect("the asker answers");
    clock.elapsed()
}

pub(super) async fn from_outside(n: u64) -> Duration {
    let (server, _) = Actor::spawn(None, Server, ()).await.expect("the server starts");
    let asked = outside(move || {
        let clock = Instant::now();
        for value in 0..n {
            let (reply, answer) = oneshot();
            server.cast(Question(value, reply.into())).expect("the server lives");
            let answer = answer.blocking_recv().expect("the server answers");
            assert_eq!(answer, value + 1, "the answer to this question");
        }
        clock.elapsed()
    });
    asked.await.expect("the thread does not panic")
}
