//! xtra: one message type per handler, bounded and unbounded mailboxes, as tasks of tokio.
//!
//! Messages of the same priority overtake each other in a mailbox, which is a binary heap, though the
//! documents promise their order. So where other peers rely on it, programs count or set priorities.

/// Actors that need no more than a mailbox, which is what `#[derive(Actor)]` would write.
macro_rules! plain_actors {
    ($($actor:ty),* $(,)?) => {
        $(impl xtra::Actor for $actor {
            type Stop = ();

            async fn stopped(self) {}
        })*
    };
}

mod ask;
mod big;
mod chameneos;
mod counting;
mod create;
mod fan_in;
mod ping_pong;
mod savina;
mod skynet;
mod thread_ring;
mod throughput;

use crate::{Program, task};
use xtra::{Actor, Address, Handler, Mailbox};

/// How many messages a bounded mailbox holds, which is for its user to say.
const BOUND: usize = 1024;

/// The mailboxes of a program that is written once for both kinds.
#[derive(Clone, Copy)]
enum Mailboxes {
    Unbounded,
    Bounded,
}

impl Mailboxes {
    fn spawn<A: Actor<Stop = ()>>(self, actor: A) -> Address<A> {
        let mailbox = match self {
            Self::Unbounded => Mailbox::unbounded(),
            Self::Bounded => Mailbox::bounded(BOUND),
        };
        xtra::spawn_tokio(actor, mailbox)
    }
}

/// Spawns an actor with an unbounded mailbox.
fn spawn<A: Actor<Stop = ()>>(actor: A) -> Address<A> {
    Mailboxes::Unbounded.spawn(actor)
}

/// Spawns an actor whose state knows its own address.
fn spawn_with<A: Actor<Stop = ()>>(actor: impl FnOnce(&Address<A>) -> A) -> Address<A> {
    let (me, mailbox) = Mailbox::unbounded();
    let actor = actor(&me);
    xtra::spawn_tokio(actor, (me, mailbox))
}

/// Sends a message; waits for room, but for no answer.
async fn tell<A, M>(to: &Address<A>, message: M)
where
    A: Handler<M>,
    M: Send + 'static,
{
    drop(to.send(message).detach().await.expect("the receiver lives"));
}

pub(crate) fn programs() -> Vec<Program> {
    use Mailboxes::{Bounded, Unbounded};
    let both = [
        both("xtra", 2, Unbounded),
        both("xtra-bounded", 2, Bounded),
        both("xtra-1", 1, Unbounded),
        both("xtra-1-bounded", 1, Bounded),
    ];
    let unbounded = [unbounded("xtra", 2), unbounded("xtra-1", 1)];
    let savina = [savina::of("xtra", 2), savina::of("xtra-1", 1)];
    let unbounded = unbounded.into_iter().flatten().chain(savina.into_iter().flatten());
    both.into_iter().flatten().chain(unbounded).collect()
}

/// The programs that every kind of mailbox suits.
fn both(peer: &'static str, workers: usize, mailboxes: Mailboxes) -> [Program; 6] {
    [
        task("counting", peer, workers, move |n| counting::run(mailboxes, n)),
        task("ask", peer, workers, move |n| ask::run(mailboxes, n)),
        task("ping_pong", peer, workers, move |n| ping_pong::run(mailboxes, n)),
        task("fork_join_create", peer, workers, move |n| create::fork_join_create(mailboxes, n)),
        task("fork_join_throughput", peer, workers, move |n| throughput::run(mailboxes, n)),
        task("fan_in", peer, workers, move |n| fan_in::fan_in(mailboxes, n)),
    ]
}

/// The programs in which actors that wait for room could wait for each other, or whose senders
/// cannot wait.
fn unbounded(peer: &'static str, workers: usize) -> [Program; 7] {
    [
        task("thread_ring", peer, workers, thread_ring::run),
        task("big", peer, workers, big::run),
        task("chameneos", peer, workers, chameneos::run),
        task("skynet", peer, workers, skynet::run),
        task("ask_outside", peer, workers, ask::from_outside),
        task("sends_outside", peer, workers, fan_in::sends_outside),
        task("idle_million", peer, workers, create::idle_million),
    ]
}
