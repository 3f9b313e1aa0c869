//! ractor: `cast` and `call` between actors with an unbounded mailbox each.

use crate::{Countdown, Program, Ticket, on_tokio};
use ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime, RpcReplyPort, call};
use std::time::{Duration, Instant};

type Done = Result<(), ActorProcessingErr>;

struct Counter;

enum Count {
    Add(u64),
    Total(RpcReplyPort<u64>),
}

impl Actor for Counter {
    type Msg = Count;
    type State = u64;
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<Count>, _args: ()) -> Result<u64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(&self, _me: ActorRef<Count>, message: Count, total: &mut u64) -> Done {
        match message {
            Count::Add(value) => *total += value,
            Count::Total(reply) => reply.send(*total)?,
        }
        Ok(())
    }
}

struct Producer;

struct Produce(u64, RpcReplyPort<()>);

impl Actor for Producer {
    type Msg = Produce;
    type State = ActorRef<Count>;
    type Arguments = ActorRef<Count>;

    async fn pre_start(
        &self,
        _me: ActorRef<Produce>,
        counter: ActorRef<Count>,
    ) -> Result<ActorRef<Count>, ActorProcessingErr> {
        Ok(counter)
    }

    async fn handle(
        &self,
        _me: ActorRef<Produce>,
        Produce(n, done): Produce,
        counter: &mut ActorRef<Count>,
    ) -> Done {
        for _ in 0..n {
            counter.cast(Count::Add(1))?;
        }
        assert_eq!(call!(counter, Count::Total)?, n, "every message was handled once");
        Ok(done.send(())?)
    }
}

async fn counting(n: u64) -> Duration {
    let (counter, _) = Actor::spawn(None, Counter, ()).await.expect("the counter starts");
    let (producer, _) = Actor::spawn(None, Producer, counter).await.expect("the producer starts");
    let clock = Instant::now();
    call!(producer, |done| Produce(n, done)).expect("the producer answers");
    clock.elapsed()
}

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

impl Actor for Asker {
    type Msg = Produce;
    type State = ActorRef<Question>;
    type Arguments = ActorRef<Question>;

    async fn pre_start(
        &self,
        _me: ActorRef<Produce>,
        server: ActorRef<Question>,
    ) -> Result<ActorRef<Question>, ActorProcessingErr> {
        Ok(server)
    }

    async fn handle(
        &self,
        _me: ActorRef<Produce>,
        Produce(n, done): Produce,
        server: &mut ActorRef<Question>,
    ) -> Done {
        for value in 0..n {
            let answer = call!(server, |reply| Question(value, reply))?;
            assert_eq!(answer, value + 1, "the answer to this question");
        }
        Ok(done.send(())?)
    }
}

async fn ask(n: u64) -> Duration {
    let (server, _) = Actor::spawn(None, Server, ()).await.expect("the server starts");
    let (asker, _) = Actor::spawn(None, Asker, server).await.expect("the asker starts");
    let clock = Instant::now();
    call!(asker, |done| Produce(n, done)).expect("the asker answers");
    clock.elapsed()
}

struct Player;

enum Play {
    Against(ActorRef<Self>),
    Ball(u64),
}

impl Actor for Player {
    type Msg = Play;
    type State = Option<ActorRef<Play>>;
    type Arguments = ();

    async fn pre_start(
        &self,
        _me: ActorRef<Play>,
        _args: (),
    ) -> Result<Option<ActorRef<Play>>, ActorProcessingErr> {
        Ok(None)
    }

    async fn handle(
        &self,
        me: ActorRef<Play>,
        message: Play,
        other: &mut Option<ActorRef<Play>>,
    ) -> Done {
        match (message, &other) {
            (Play::Against(opponent), _) => *other = Some(opponent),
            (Play::Ball(0), _) => me.stop(None),
            (Play::Ball(hops), Some(other)) => other.cast(Play::Ball(hops - 1))?,
            (Play::Ball(_), None) => {}
        }
        Ok(())
    }
}

async fn ping_pong(n: u64) -> Duration {
    let (left, game) = Actor::spawn(None, Player, ()).await.expect("a player starts");
    let (right, _) = Actor::spawn(None, Player, ()).await.expect("a player starts");
    left.cast(Play::Against(right.clone())).expect("the player lives");
    right.cast(Play::Against(left.clone())).expect("the player lives");
    let clock = Instant::now();
    left.cast(Play::Ball(2 * n)).expect("the player lives");
    game.await.expect("the players do not panic");
    clock.elapsed()
}

struct Short;

impl Actor for Short {
    type Msg = ();
    type State = Ticket;
    type Arguments = Ticket;

    async fn pre_start(
        &self,
        _me: ActorRef<()>,
        ticket: Ticket,
    ) -> Result<Ticket, ActorProcessingErr> {
        Ok(ticket)
    }

    async fn handle(&self, me: ActorRef<()>, _message: (), _state: &mut Ticket) -> Done {
        me.stop(None);
        Ok(())
    }
}

async fn fork_join_create(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let ticket = countdown.ticket();
        let (actor, _) = ActorRuntime::spawn_instant(None, Short, ticket).expect("it starts");
        actor.cast(()).expect("the actor lives");
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

pub(crate) fn programs() -> Vec<Program> {
    fn of(peer: &'static str, workers: usize) -> [Program; 4] {
        [
            Program::new("counting", peer, workers, move |n| on_tokio(workers, counting(n))),
            Program::new("ask", peer, workers, move |n| on_tokio(workers, ask(n))),
            Program::new("ping_pong", peer, workers, move |n| on_tokio(workers, ping_pong(n))),
            Program::new("fork_join_create", peer, workers, move |n| {
                on_tokio(workers, fork_join_create(n))
            }),
        ]
    }
    of("ractor", 2).into_iter().chain(of("ractor-1", 1)).collect()
}
