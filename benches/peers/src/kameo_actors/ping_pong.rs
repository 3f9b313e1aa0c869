//! Two actors bounce a ball.

use super::mailboxes::Mailbox;
use crate::shape::report;
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

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
            (0, _) => report(&mut self.done, ()),
            (hops, Some(other)) => drop(B::tell(other, Ball(hops - 1)).await),
            (_, None) => {}
        }
    }
}

pub(super) async fn run<B: Mailbox>(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let left = B::spawn(Player::<B> { other: None, done: Some(tell) });
    let right = B::spawn(Player { other: Some(left.clone()), done: None });
    left.ask(Against(right)).send().await.expect("the player lives");
    let clock = Instant::now();
    B::tell(&left, Ball(2 * n)).await;
    done.await.expect("the players do not panic");
    clock.elapsed()
}
