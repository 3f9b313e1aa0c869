//! How much a node may have under way to one actor.

use crate::stage::once;
use greenroom::net::{Export, Loopback};
use greenroom::{Actor, Ref, TellError, handlers};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Handles a message for each permit.
#[derive(Actor)]
#[actor(mailbox = bounded(4))]
struct Slow {
    gate: Arc<Semaphore>,
}

#[handlers(wire = "test.slow/1")]
impl Slow {
    #[start]
    fn start(gate: Arc<Semaphore>) -> Self {
        Self { gate }
    }
    #[tell]
    async fn take(&mut self) {
        self.gate.acquire().await.unwrap().forget();
    }
}

/// Sends until nothing has found room for a while; returns how many messages did.
async fn fill(far: &Ref<Slow>) -> usize {
    let (mut accepted, mut refused) = (0, 0);
    while refused < 10 {
        match far.take().try_send() {
            Ok(()) => (accepted, refused) = (accepted + 1, 0),
            Err(TellError::Full(_)) => {
                refused += 1;
                // Those who make room are other threads.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    accepted
}

// [G-REMOTE-6] [ENV-11]
#[test]
fn a_slow_actor_has_no_more_under_way_than_at_first() {
    once(Loopback::new().frames_max(1024), async |_, here, there| {
        let gate = Arc::new(Semaphore::new(0));
        let near = there.system.spawn::<Slow>(Arc::clone(&gate)).await.unwrap();
        there.node.export("slow", Export::of(&near)).unwrap();
        let far = here.reach(there).await.find::<Slow>("slow").await.unwrap();
        let mut waiting = fill(&far).await;
        // Credit for half a window comes many times over, and always while messages wait for the actor.
        for _ in 0..10 {
            gate.add_permits(64);
            waiting += fill(&far).await;
            waiting -= 64;
        }
        // One in the handler, 4 in the mailbox, 128 under way, one in the proxy's hands, 256 behind it.
        assert!(waiting <= 1 + 4 + 128 + 1 + 256 + 1, "{waiting} wait");
        gate.add_permits(Semaphore::MAX_PERMITS / 2);
    });
}
