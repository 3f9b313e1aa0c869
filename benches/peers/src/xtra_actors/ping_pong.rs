//! Two actors bounce a ball.

use super::{Mailboxes, tell};
use crate::shape::report;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use xtra::{Address, Context, Handler};

struct Player {
    other: Option<Address<Self>>,
    done: Option<oneshot::Sender<()>>,
}
struct Against(Address<Player>);
struct Ball(u64);

plain_actors!(Player);

impl Handler<Against> for Player {
    type Return = ();

    async fn handle(&mut self, Against(other): Against, _cx: &mut Context<Self>) {
        self.other = Some(other);
    }
}

impl Handler<Ball> for Player {
    type Return = ();

    async fn handle(&mut self, Ball(hops): Ball, _cx: &mut Context<Self>) {
        match (hops, &self.other) {
            (0, _) => report(&mut self.done, ()),
            (hops, Some(other)) => tell(other, Ball(hops - 1)).await,
            (_, None) => {}
        }
    }
}

pub(super) async fn run(mailboxes: Mailboxes, n: u64) -> Duration {
    let (done, over) = oneshot::channel();
    let left = mailboxes.spawn(Player { other: None, done: Some(done) });
    let right = mailboxes.spawn(Player { other: Some(left.clone()), done: None });
    left.send(Against(right)).await.expect("the player lives");
    let clock = Instant::now();
    tell(&left, Ball(2 * n)).await;
    over.await.expect("the players do not panic");
    clock.elapsed()
}
