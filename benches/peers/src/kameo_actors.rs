//! kameo: one message type per handler, bounded and unbounded mailboxes.

use crate::{Countdown, Program, Ticket, on_tokio};
use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::mailbox;
use kameo::message::{Context, Message};
use std::convert::Infallible;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A kind of mailbox, and the way of sending that suits it.
trait Mailbox: Send + Sync + 'static {
    fn spawn<A: Actor<Args = A>>(actor: A) -> ActorRef<A>;
    fn tell<A, M>(to: &ActorRef<A>, message: M) -> impl Future<Output = bool> + Send
    where
        A: Actor + Message<M>,
        M: Send + 'static;
}

struct Unbounded;

impl Mailbox for Unbounded {
    fn spawn<A: Actor<Args = A>>(actor: A) -> ActorRef<A> {
        A::spawn_with_mailbox(actor, mailbox::unbounded())
    }

    #[inline]
    async fn tell<A, M>(to: &ActorRef<A>, message: M) -> bool
    where
        A: Actor + Message<M>,
        M: Send + 'static,
    {
        to.tell(message).try_send().is_ok()
    }
}

struct Bounded;

impl Mailbox for Bounded {
    fn spawn<A: Actor<Args = A>>(actor: A) -> ActorRef<A> {
        A::spawn(actor)
    }

    #[inline]
    async fn tell<A, M>(to: &ActorRef<A>, message: M) -> bool
    where
        A: Actor + Message<M>,
        M: Send + 'static,
    {
        to.tell(message).send().await.is_ok()
    }
}

/// An actor that is its own argument, which is what `#[derive(Actor)]` would write.
macro_rules! plain_actor {
    ($actor:ty $(, $generic:ident: $bound:ident)?) => {
        impl$(<$generic: $bound>)? Actor for $actor {
            type Args = Self;
            type Error = Infallible;

            async fn on_start(state: Self, _me: ActorRef<Self>) -> Result<Self, Infallible> {
                Ok(state)
            }
        }
    };
}

struct Counter(u64);
struct Add(u64);
struct Total;
plain_actor!(Counter);

impl Message<Add> for Counter {
    type Reply = ();

    async fn handle(&mut self, Add(value): Add, _cx: &mut Context<Self, ()>) {
        self.0 += value;
    }
}

impl Message<Total> for Counter {
    type Reply = u64;

    async fn handle(&mut self, _message: Total, _cx: &mut Context<Self, u64>) -> u64 {
        self.0
    }
}

struct Producer<B>(ActorRef<Counter>, std::marker::PhantomData<B>);
struct Produce(u64);
plain_actor!(Producer<B>, B: Mailbox);

impl<B: Mailbox> Message<Produce> for Producer<B> {
    type Reply = ();

    async fn handle(&mut self, Produce(n): Produce, _cx: &mut Context<Self, ()>) {
        for _ in 0..n {
            B::tell(&self.0, Add(1)).await;
        }
        let total = self.0.ask(Total).send().await.expect("the counter answers");
        assert_eq!(total, n, "every message was handled once");
    }
}

async fn counting<B: Mailbox>(n: u64) -> Duration {
    let producer = B::spawn(Producer::<B>(B::spawn(Counter(0)), std::marker::PhantomData));
    producer.wait_for_startup().await;
    let clock = Instant::now();
    producer.ask(Produce(n)).send().await.expect("the producer answers");
    clock.elapsed()
}

struct Server;
struct Question(u64);
plain_actor!(Server);

impl Message<Question> for Server {
    type Reply = u64;

    async fn handle(&mut self, Question(value): Question, _cx: &mut Context<Self, u64>) -> u64 {
        value + 1
    }
}

struct Asker(ActorRef<Server>);
plain_actor!(Asker);

impl Message<Produce> for Asker {
    type Reply = ();

    async fn handle(&mut self, Produce(n): Produce, _cx: &mut Context<Self, ()>) {
        for value in 0..n {
            let answer = self.0.ask(Question(value)).send().await.expect("the server answers");
            assert_eq!(answer, value + 1, "the answer to this question");
        }
    }
}

async fn ask<B: Mailbox>(n: u64) -> Duration {
    let asker = B::spawn(Asker(B::spawn(Server)));
    asker.wait_for_startup().await;
    let clock = Instant::now();
    asker.ask(Produce(n)).send().await.expect("the asker answers");
    clock.elapsed()
}

struct Player<B: Mailbox> {
    other: Option<ActorRef<Self>>,
    done: Option<oneshot::Sender<()>>,
}
struct Against<B: Mailbox>(ActorRef<Player<B>>);
struct Ball(u64);
plain_actor!(Player<B>, B: Mailbox);

impl<B: Mailbox> Message<Against<B>> for Player<B> {
    type Reply = ();

    async fn handle(&mut self, Against(other): Against<B>, _cx: &mut Context<Self, ()>) {
        self.other = Some(other);
    }
}

impl<B: Mailbox> Message<Ball> for Player<B> {
    type Reply = ();

    async fn handle(&mut self, Ball(hops): Ball, _cx: &mut Context<Self, ()>) {
        match (hops, &self.other) {
            (0, _) => drop(self.done.take().map(|done| done.send(()))),
            (hops, Some(other)) => drop(B::tell(other, Ball(hops - 1)).await),
            (_, None) => {}
        }
    }
}

async fn ping_pong<B: Mailbox>(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let left = B::spawn(Player::<B> { other: None, done: Some(tell) });
    let right = B::spawn(Player { other: Some(left.clone()), done: None });
    left.ask(Against(right)).send().await.expect("the player lives");
    let clock = Instant::now();
    B::tell(&left, Ball(2 * n)).await;
    done.await.expect("the players do not panic");
    clock.elapsed()
}

#[expect(dead_code, reason = "the ticket tells by its drop that the actor is gone")]
struct Short(Ticket);
struct Once;
plain_actor!(Short);

impl Message<Once> for Short {
    type Reply = ();

    async fn handle(&mut self, _message: Once, cx: &mut Context<Self, ()>) {
        cx.stop();
    }
}

async fn fork_join_create<B: Mailbox>(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let actor = B::spawn(Short(countdown.ticket()));
        B::tell(&actor, Once).await;
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

pub(crate) fn programs() -> Vec<Program> {
    fn of<B: Mailbox>(peer: &'static str, workers: usize) -> [Program; 4] {
        [
            Program::new("counting", peer, workers, move |n| on_tokio(workers, counting::<B>(n))),
            Program::new("ask", peer, workers, move |n| on_tokio(workers, ask::<B>(n))),
            Program::new("ping_pong", peer, workers, move |n| on_tokio(workers, ping_pong::<B>(n))),
            Program::new("fork_join_create", peer, workers, move |n| {
                on_tokio(workers, fork_join_create::<B>(n))
            }),
        ]
    }
    of::<Unbounded>("kameo", 2)
        .into_iter()
        .chain(of::<Bounded>("kameo-bounded", 2))
        .chain(of::<Unbounded>("kameo-1", 1))
        .chain(of::<Bounded>("kameo-1-bounded", 1))
        .collect()
}
