//! actix: synchronous handlers on arbiters, `do_send` to tell and `send` to ask.

use crate::{Countdown, Program, Ticket};
use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, Arbiter, ArbiterHandle, AsyncContext, Context,
    Handler, Message, ResponseActFuture, System, WrapFuture,
};
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Where the actors live: both on the system's arbiter, or the second on one of its own.
#[derive(Clone, Copy, Debug)]
enum Arbiters {
    One,
    Two,
}

/// Runs `program` on a fresh system with the arbiter for the second actor.
fn on_actix<F>(arbiters: Arbiters, program: impl FnOnce(ArbiterHandle) -> F) -> Duration
where
    F: Future<Output = Duration>,
{
    let system = System::new();
    let second = match arbiters {
        Arbiters::One => None,
        Arbiters::Two => Some(system.block_on(async { Arbiter::new() })),
    };
    let took = system.block_on(async {
        let handle = second.as_ref().map_or_else(Arbiter::current, Arbiter::handle);
        program(handle).await
    });
    if let Some(second) = second {
        second.stop();
        // It ended, whether or not it panicked.
        let _ = second.join();
    }
    took
}

macro_rules! message {
    ($message:ty => $result:ty) => {
        impl Message for $message {
            type Result = $result;
        }
    };
}

macro_rules! plain_actor {
    ($($actor:ty),*) => {
        $(impl Actor for $actor {
            type Context = Context<Self>;
        })*
    };
}

struct Add(u64);
struct Total;
struct Produce(u64);
struct Question(u64);
struct Against(Addr<Player>);
struct Ball(u64);
struct Once;
message!(Add => ());
message!(Total => u64);
message!(Produce => ());
message!(Question => u64);
message!(Against => ());
message!(Ball => ());
message!(Once => ());

struct Counter(u64);
struct Producer(Addr<Counter>);
struct Server;
struct Asker(Addr<Server>);
struct Player {
    other: Option<Addr<Self>>,
    done: Option<oneshot::Sender<()>>,
}
#[expect(dead_code, reason = "the ticket tells by its drop that the actor is gone")]
struct Short(Ticket);
plain_actor!(Counter, Producer, Server, Asker, Player, Short);

impl Handler<Add> for Counter {
    type Result = ();

    fn handle(&mut self, Add(value): Add, _cx: &mut Self::Context) {
        self.0 += value;
    }
}

impl Handler<Total> for Counter {
    type Result = u64;

    fn handle(&mut self, _message: Total, _cx: &mut Self::Context) -> u64 {
        self.0
    }
}

impl Handler<Produce> for Producer {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, Produce(n): Produce, _cx: &mut Self::Context) -> Self::Result {
        for _ in 0..n {
            self.0.do_send(Add(1));
        }
        let total = self.0.send(Total).into_actor(self);
        Box::pin(total.map(move |total, _me, _cx| {
            assert_eq!(total, Ok(n), "every message was handled once");
        }))
    }
}

async fn counting(second: ArbiterHandle, n: u64) -> Duration {
    let counter = Counter::start_in_arbiter(&second, |_| Counter(0));
    let producer = Producer(counter).start();
    let clock = Instant::now();
    producer.send(Produce(n)).await.expect("the producer answers");
    clock.elapsed()
}

impl Handler<Question> for Server {
    type Result = u64;

    fn handle(&mut self, Question(value): Question, _cx: &mut Self::Context) -> u64 {
        value + 1
    }
}

impl Handler<Produce> for Asker {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, Produce(n): Produce, _cx: &mut Self::Context) -> Self::Result {
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

async fn ask(second: ArbiterHandle, n: u64) -> Duration {
    let asker = Asker(Server::start_in_arbiter(&second, |_| Server)).start();
    let clock = Instant::now();
    asker.send(Produce(n)).await.expect("the asker answers");
    clock.elapsed()
}

impl Handler<Against> for Player {
    type Result = ();

    fn handle(&mut self, Against(other): Against, _cx: &mut Self::Context) {
        self.other = Some(other);
    }
}

impl Handler<Ball> for Player {
    type Result = ();

    fn handle(&mut self, Ball(hops): Ball, _cx: &mut Self::Context) {
        match (hops, &self.other) {
            (0, _) => drop(self.done.take().map(|done| done.send(()))),
            (hops, Some(other)) => other.do_send(Ball(hops - 1)),
            (_, None) => {}
        }
    }
}

async fn ping_pong(second: ArbiterHandle, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let left = Player { other: None, done: Some(tell) }.start();
    let other = Some(left.clone());
    let right = Player::start_in_arbiter(&second, |_| Player { other, done: None });
    left.send(Against(right)).await.expect("the player lives");
    let clock = Instant::now();
    left.do_send(Ball(2 * n));
    done.await.expect("the players do not panic");
    clock.elapsed()
}

impl Handler<Once> for Short {
    type Result = ();

    fn handle(&mut self, _message: Once, cx: &mut Self::Context) {
        cx.stop();
    }
}

async fn create_here(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let ticket = countdown.ticket();
        Short::create(|cx| {
            cx.address().do_send(Once);
            Short(ticket)
        });
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

/// Every other actor on the second arbiter.
async fn create_on_both(second: ArbiterHandle, n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for turn in 0..n {
        let ticket = countdown.ticket();
        let actor = match turn % 2 {
            0 => Short(ticket).start(),
            _ => Short::start_in_arbiter(&second, |_| Short(ticket)),
        };
        actor.do_send(Once);
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

pub(crate) fn programs() -> Vec<Program> {
    fn of(peer: &'static str, arbiters: Arbiters) -> [Program; 4] {
        let cores = match arbiters {
            Arbiters::One => 1,
            Arbiters::Two => 2,
        };
        [
            Program::new("counting", peer, cores, move |n| {
                on_actix(arbiters, |second| counting(second, n))
            }),
            Program::new("ask", peer, cores, move |n| on_actix(arbiters, |second| ask(second, n))),
            Program::new("ping_pong", peer, cores, move |n| {
                on_actix(arbiters, |second| ping_pong(second, n))
            }),
            Program::new("fork_join_create", peer, cores, move |n| match arbiters {
                Arbiters::One => on_actix(arbiters, |_| create_here(n)),
                Arbiters::Two => on_actix(arbiters, |second| create_on_both(second, n)),
            }),
        ]
    }
    of("actix", Arbiters::One).into_iter().chain(of("actix-2", Arbiters::Two)).collect()
}
