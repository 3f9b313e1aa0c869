//! Two actors bounce a ball.

use greenroom::{Actor, Ref, System, handlers};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

#[derive(Actor)]
struct Player {
    other: Option<Ref<Self>>,
    done: Option<oneshot::Sender<()>>,
}

#[handlers]
impl Player {
    #[start]
    fn start(other: Option<Ref<Self>>, done: Option<oneshot::Sender<()>>) -> Self {
        Self { other, done }
    }

    #[ask]
    fn against(&mut self, other: Ref<Self>) {
        self.other = Some(other);
    }

    #[tell]
    fn ball(&mut self, hops: u64) {
        match (hops, &self.other) {
            (0, _) => drop(self.done.take().map(|done| done.send(()))),
            (hops, Some(other)) => other.ball(hops - 1).tell().expect("the other player lives"),
            (_, None) => {}
        }
    }
}

pub(crate) async fn run(system: System, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let left = system.spawn::<Player>((None, Some(tell))).await.expect("a player starts");
    let right = system.spawn::<Player>((Some(left.clone()), None)).await.expect("a player starts");
    left.against(right).await.expect("the player lives");
    let clock = Instant::now();
    left.ball(2 * n).tell().expect("the player lives");
    done.await.expect("the players do not panic");
    clock.elapsed()
}
