//! Two actors bounce a ball.

use super::start;
use crate::shape::report;
use async_trait::async_trait;
use coerce::actor::context::ActorContext;
use coerce::actor::message::Handler;
use coerce::actor::system::ActorSystem;
use coerce::actor::{Actor, LocalActorRef};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

struct Player {
    other: Option<LocalActorRef<Self>>,
    done: Option<oneshot::Sender<()>>,
}
struct Against(LocalActorRef<Player>);
message!(Against);
struct Ball(u64);
message!(Ball);
impl Actor for Player {}

#[async_trait]
impl Handler<Against> for Player {
    async fn handle(&mut self, Against(other): Against, _cx: &mut ActorContext) {
        self.other = Some(other);
    }
}

#[async_trait]
impl Handler<Ball> for Player {
    async fn handle(&mut self, Ball(hops): Ball, _cx: &mut ActorContext) {
        match (hops, &self.other) {
            (0, _) => report(&mut self.done, ()),
            (hops, Some(other)) => other.notify(Ball(hops - 1)).expect("the other one lives"),
            (_, None) => {}
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let system = ActorSystem::new();
    let left = start(&system, Player { other: None, done: Some(tell) }).await;
    let right = start(&system, Player { other: Some(left.clone()), done: None }).await;
    left.send(Against(right)).await.expect("the player lives");
    let clock = Instant::now();
    left.notify(Ball(2 * n)).expect("the player lives");
    done.await.expect("the players do not panic");
    clock.elapsed()
}
