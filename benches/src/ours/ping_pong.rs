//! Two actors bounce a ball.

use greenroom::{Actor, Ref, System, handlers};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

#[derive(Actor)]
struct Player {
    other: Option<Ref<Self>>,
    done: Option<oneshot::Sender<Duration>>,
    /// When it threw the ball first.
    began: Option<Instant>,
}

#[handlers]
impl Player {
    #[start]
    fn start(other: Option<Ref<Self>>, done: Option<oneshot::Sender<Duration>>) -> Self {
        Self { other, done, began: None }
    }

    #[ask]
    fn against(&mut self, other: Ref<Self>) {
        self.other = Some(other);
    }

    #[tell]
    fn serve(&mut self, hops: u64) {
        self.began = Some(Instant::now());
        self.ball(hops);
    }

    #[tell]
    fn ball(&mut self, hops: u64) {
        match (hops, &self.other) {
            (0, _) => {
                let took = self.began.map(|began| began.elapsed()).unwrap_or_default();
                let done = self.done.take().map(|done| done.send(took));
                debug_assert!(done.is_some_and(|told| told.is_ok()), "somebody waits for the end");
            }
            (hops, Some(other)) => other.ball(hops - 1).tell().expect("the other player lives"),
            (_, None) => {}
        }
    }
}

pub(crate) async fn run(system: System, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let left = system.spawn::<Player>((None, Some(tell))).await.expect("a player starts");
    let right = system.spawn::<Player>((Some(left.clone()), None)).await.expect("a player starts");
    let clock = Instant::now();
    play(&left, right, done, n).await;
    clock.elapsed()
}

/// Each on a worker of its own, where actors live on one. The players take the time: where both workers spin, whoever
/// waits for them gets no core.
pub(crate) async fn apart(system: System, n: u64) -> Duration {
    let (tell, done) = oneshot::channel();
    let left = system.spawn::<Player>((None, Some(tell))).on(0).await.expect("a player starts");
    let right = system.spawn::<Player>((Some(left.clone()), None)).on(1);
    let right = right.await.expect("a player starts");
    play(&left, right, done, n).await
}

async fn play(
    left: &Ref<Player>,
    right: Ref<Player>,
    done: oneshot::Receiver<Duration>,
    n: u64,
) -> Duration {
    left.against(right).await.expect("the player lives");
    left.serve(2 * n).tell().expect("the player lives");
    done.await.expect("the players do not panic")
}
