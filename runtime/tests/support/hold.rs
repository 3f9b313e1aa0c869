//! Holds a worker, so that what is sent meanwhile is certain to wait.

use super::soon;
use greenroom::{Actor, Spawn, System, handlers};
use std::sync::mpsc;
use tokio::sync::oneshot;

#[derive(Actor)]
struct Holder;

#[handlers]
impl Holder {
    #[tell]
    fn hold(&mut self, entered: oneshot::Sender<()>, released: mpsc::Receiver<()>) {
        let _ = entered.send(());
        // An error says that the hold was dropped, which releases too.
        let _ = released.recv();
    }
}

/// A worker that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    _release: mpsc::Sender<()>,
}

/// Blocks one worker of the system, the only one if it has but one.
pub(crate) async fn hold_worker(system: &System) -> Hold {
    hold(system.spawn::<Holder>(Holder)).await
}

/// Blocks that worker of a system whose actors live on one each.
pub(crate) async fn hold_worker_on(system: &System, worker: usize) -> Hold {
    hold(system.spawn::<Holder>(Holder).on(worker)).await
}

async fn hold(holder: Spawn<'_, Holder>) -> Hold {
    let holder = holder.await.expect("it starts");
    let (entered, is_in) = oneshot::channel();
    let (release, released) = mpsc::channel();
    holder.hold(entered, released).await.expect("it lives");
    holder.drain();
    soon(is_in).await.expect("it is handled");
    Hold { _release: release }
}
