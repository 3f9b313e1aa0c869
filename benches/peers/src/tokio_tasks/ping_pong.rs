//! Two tasks bounce a ball.

use super::channel::Channel;
use std::time::{Duration, Instant};

/// Returns the ball until no hops are left.
async fn player<C: Channel>(mut mailbox: C::Receiver<u64>, other: C::Sender<u64>) {
    while let Some(hops) = C::next(&mut mailbox).await {
        if hops == 0 {
            return;
        }
        C::send(&other, hops - 1).await;
    }
}

pub(super) async fn run<C: Channel>(n: u64) -> Duration {
    let ((left, left_mailbox), (right, right_mailbox)) = (C::new(), C::new());
    tokio::spawn(player::<C>(right_mailbox, left.clone()));
    let game = tokio::spawn(player::<C>(left_mailbox, right));
    let clock = Instant::now();
    C::send(&left, 2 * n).await;
    game.await.expect("the players do not panic");
    clock.elapsed()
}
