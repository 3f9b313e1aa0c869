//! Circles of asks of which nobody is told: a pool or interleaved handlers are on them, and they end at a deadline.

use crate::support::{LONG, everywhere, soon};
use greenroom::{Actor, AskError, Interleaved, Pool, Ref, System, handlers};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Longer than what it takes until asks are looked at a few times.
const SHORT: Duration = Duration::from_millis(100);

/// Asks one who asks it.
#[derive(Actor)]
struct Chief;

#[handlers]
impl Chief {
    #[ask]
    async fn consult(&mut self, clerks: Ref<Pool<Clerk>>, me: Ref<Self>) -> bool {
        // The clerk has the same deadline, and may say so first.
        let outcome = clerks.look_up(me).within(SHORT).await;
        matches!(outcome, Ok(false) | Err(AskError::Expired))
    }
    /// Lets others ask the host before it does.
    #[ask]
    async fn visit(&mut self, host: Ref<Host>, me: Ref<Self>, go: oneshot::Receiver<()>) -> bool {
        go.await.unwrap();
        let (begun, _) = mpsc::unbounded_channel();
        let outcome = host.receive(me, begun).within(SHORT).await;
        matches!(outcome, Err(AskError::Expired))
    }
    #[ask]
    fn name(&self) -> u64 {
        7
    }
}

/// One of a pool.
#[derive(Actor)]
struct Clerk;

#[handlers]
impl Clerk {
    #[start]
    fn start((): ()) -> Self {
        Self
    }
    #[ask]
    async fn look_up(&mut self, chief: Ref<Chief>) -> bool {
        chief.name().within(SHORT).await.is_ok()
    }
}

/// Has two guests at a time.
#[derive(Actor)]
#[actor(interleave = 2)]
struct Host;

#[handlers]
impl Host {
    #[ask]
    #[interleave]
    async fn receive(
        guest: Ref<Chief>,
        begun: mpsc::UnboundedSender<()>,
        _cx: &mut Interleaved<Self>,
    ) -> bool {
        let _ = begun.send(());
        guest.name().within(LONG).await.is_ok()
    }
}

/// Nobody was told of a circle, and all go on.
async fn is_over(system: &System, chief: &Ref<Chief>) {
    assert_eq!(chief.name().within(LONG).await, Ok(7));
    assert_eq!(system.counts().ask_cycles, 0);
}

// [G-CYCLE-2]
#[test]
fn a_circle_with_a_pool_ends_at_a_deadline() {
    everywhere(async |system| {
        let chief = system.spawn::<Chief>(Chief).await.unwrap();
        let clerks = system.spawn::<Pool<Clerk>>(Pool::of(1, || ())).await.unwrap();
        let expired = chief.consult(clerks, chief.clone()).within(LONG).await;
        assert_eq!(expired, Ok(true));
        is_over(system, &chief).await;
    });
}

// [G-CYCLE-2]
#[test]
fn a_circle_behind_interleaved_handlers_ends_at_a_deadline() {
    everywhere(async |system| {
        let chief = system.spawn::<Chief>(Chief).await.unwrap();
        let host = system.spawn::<Host>(Host).await.unwrap();
        let (go, gone) = oneshot::channel();
        let visit = chief.visit(host.clone(), chief.clone(), gone).within(LONG).into_future();
        let (begun, mut begins) = mpsc::unbounded_channel();
        let first = host.receive(chief.clone(), begun.clone()).within(LONG).into_future();
        let second = host.receive(chief.clone(), begun).within(LONG).into_future();
        let expired = soon(async {
            let both = async {
                begins.recv().await.unwrap();
                begins.recv().await.unwrap();
                go.send(()).unwrap();
            };
            tokio::join!(visit, first, second, both).0
        });
        assert_eq!(expired.await, Ok(true));
        is_over(system, &chief).await;
    });
}
