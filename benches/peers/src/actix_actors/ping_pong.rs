//! Two actors bounce a ball.

use super::{Stage, messages, plain_actors};
use actix::{Actor, Addr, Handler};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

struct Against(Addr<Player>);
struct Ball(u64);
messages!(Against, Ball);

struct Player {
    other: Option<Addr<Self>>,
    done: Option<oneshot::Sender<()>>,
}
plain_actors!(Player);

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

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let left = Player { other: None, done: Some(tell) }.start();
    let other = Some(left.clone());
    let right = Player::start_in_arbiter(&stage.second, |_| Player { other, done: None });
    left.send(Against(right)).await.expect("the player lives");
    let clock = Instant::now();
    left.do_send(Ball(2 * n));
    done.await.expect("the players do not panic");
    clock.elapsed()
}
