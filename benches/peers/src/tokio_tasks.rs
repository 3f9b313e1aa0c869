//! Plain tokio tasks with `mpsc` mailboxes and `oneshot` replies.

use crate::{Countdown, Program, Ticket, on_tokio};
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

const CAPACITY: usize = 1024;
/// How many messages the `many` receiver takes at a time.
const MANY: usize = 64;

/// A kind of mailbox.
trait Channel: 'static {
    type Sender<T: Send + 'static>: Clone + Send + Sync + 'static;
    type Receiver<T: Send + 'static>: Send + 'static;

    fn new<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
    fn send<T: Send + 'static>(
        sender: &Self::Sender<T>,
        message: T,
    ) -> impl Future<Output = bool> + Send;
    fn next<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send;
}

struct Unbounded;

impl Channel for Unbounded {
    type Sender<T: Send + 'static> = mpsc::UnboundedSender<T>;
    type Receiver<T: Send + 'static> = mpsc::UnboundedReceiver<T>;

    fn new<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        mpsc::unbounded_channel()
    }

    #[inline]
    async fn send<T: Send + 'static>(sender: &Self::Sender<T>, message: T) -> bool {
        sender.send(message).is_ok()
    }

    #[inline]
    fn next<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send {
        receiver.recv()
    }
}

struct Bounded;

impl Channel for Bounded {
    type Sender<T: Send + 'static> = mpsc::Sender<T>;
    type Receiver<T: Send + 'static> = mpsc::Receiver<T>;

    fn new<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>) {
        mpsc::channel(CAPACITY)
    }

    #[inline]
    async fn send<T: Send + 'static>(sender: &Self::Sender<T>, message: T) -> bool {
        sender.send(message).await.is_ok()
    }

    #[inline]
    fn next<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send {
        receiver.recv()
    }
}

enum Count {
    Add(u64),
    Total(oneshot::Sender<u64>),
}

/// Sends `1` `n` times, then asks for the total.
async fn produce<C: Channel>(counter: C::Sender<Count>, n: u64) {
    for _ in 0..n {
        C::send(&counter, Count::Add(1)).await;
    }
    let (reply, total) = oneshot::channel();
    C::send(&counter, Count::Total(reply)).await;
    assert_eq!(total.await, Ok(n), "every message was handled once");
}

async fn counting<C: Channel>(n: u64) -> Duration {
    let (counter, mut mailbox) = C::new();
    tokio::spawn(async move {
        let mut total = 0;
        while let Some(message) = C::next(&mut mailbox).await {
            match message {
                Count::Add(value) => total += value,
                // The producer waits for it.
                Count::Total(reply) => drop(reply.send(total)),
            }
        }
    });
    timed(produce::<C>(counter, n)).await
}

async fn counting_many(n: u64) -> Duration {
    let (counter, mut mailbox) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (mut total, mut taken) = (0, Vec::with_capacity(MANY));
        while mailbox.recv_many(&mut taken, MANY).await > 0 {
            for message in taken.drain(..) {
                match message {
                    Count::Add(value) => total += value,
                    // The producer waits for it.
                    Count::Total(reply) => drop(reply.send(total)),
                }
            }
        }
    });
    timed(produce::<Unbounded>(counter, n)).await
}

/// Runs `work` in a task of its own, as the driver would otherwise be a part of it.
async fn timed(work: impl Future<Output = ()> + Send + 'static) -> Duration {
    let clock = Instant::now();
    tokio::spawn(work).await.expect("the program does not panic");
    clock.elapsed()
}

async fn ask<C: Channel>(n: u64) -> Duration {
    let (server, mut mailbox) = C::new::<(u64, oneshot::Sender<u64>)>();
    tokio::spawn(async move {
        while let Some((value, reply)) = C::next(&mut mailbox).await {
            // The asker waits for it.
            let _ = reply.send(value + 1);
        }
    });
    timed(async move {
        for value in 0..n {
            let (reply, answer) = oneshot::channel();
            C::send(&server, (value, reply)).await;
            assert_eq!(answer.await, Ok(value + 1), "the answer to this question");
        }
    })
    .await
}

/// Returns the ball until no hops are left.
async fn player<C: Channel>(mut mailbox: C::Receiver<u64>, other: C::Sender<u64>) {
    while let Some(hops) = C::next(&mut mailbox).await {
        if hops == 0 {
            return;
        }
        C::send(&other, hops - 1).await;
    }
}

async fn ping_pong<C: Channel>(n: u64) -> Duration {
    let ((left, left_mailbox), (right, right_mailbox)) = (C::new(), C::new());
    tokio::spawn(player::<C>(right_mailbox, left.clone()));
    let game = tokio::spawn(player::<C>(left_mailbox, right));
    let clock = Instant::now();
    C::send(&left, 2 * n).await;
    game.await.expect("the players do not panic");
    clock.elapsed()
}

async fn fork_join_create<C: Channel>(n: u64) -> Duration {
    let countdown = Countdown::new(n);
    let clock = Instant::now();
    for _ in 0..n {
        let (actor, mut mailbox) = C::new();
        let state: Ticket = countdown.ticket();
        tokio::spawn(async move {
            C::next(&mut mailbox).await;
            drop(state);
        });
        C::send(&actor, ()).await;
    }
    countdown.done.await.expect("every actor ends");
    clock.elapsed()
}

pub(crate) fn programs() -> Vec<Program> {
    fn of<C: Channel>(peer: &'static str, workers: usize) -> [Program; 4] {
        [
            Program::new("counting", peer, workers, move |n| on_tokio(workers, counting::<C>(n))),
            Program::new("ask", peer, workers, move |n| on_tokio(workers, ask::<C>(n))),
            Program::new("ping_pong", peer, workers, move |n| on_tokio(workers, ping_pong::<C>(n))),
            Program::new("fork_join_create", peer, workers, move |n| {
                on_tokio(workers, fork_join_create::<C>(n))
            }),
        ]
    }
    of::<Unbounded>("tokio", 2)
        .into_iter()
        .chain(of::<Bounded>("tokio-bounded", 2))
        .chain(of::<Unbounded>("tokio-4", 4))
        .chain(of::<Unbounded>("tokio-1", 1))
        .chain(of::<Bounded>("tokio-1-bounded", 1))
        .chain([
            Program::new("counting", "tokio-many", 2, |n| on_tokio(2, counting_many(n))),
            Program::new("counting", "tokio-1-many", 1, |n| on_tokio(1, counting_many(n))),
        ])
        .collect()
}
