//! How actors and systems end: in order, within their deadline, and without losing a message.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
// The names of threads are read from /proc.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod drains;
mod stops;
mod systems;

use greenroom::{Actor, DeadLetterReason, DeadLetters, Ref, System, TellError, handlers};
use std::future::pending;
use std::sync::{Arc, mpsc};
use support::{Ledger, Parcel, soon};
use tokio::sync::oneshot;

/// Takes parcels, at once or when a gate opens.
#[derive(Actor, Clone)]
struct Porter;

#[handlers]
impl Porter {
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
    /// Waits in an `.await`.
    #[tell]
    async fn wait(
        &mut self,
        parcel: Parcel,
        entered: oneshot::Sender<()>,
        gate: oneshot::Receiver<()>,
    ) {
        let _ = entered.send(());
        // An error says that the gate was dropped, which opens it too.
        let _ = gate.await;
        parcel.handled();
    }
    /// Holds its worker, and then waits for ever if `forever`.
    #[tell]
    async fn block(
        &mut self,
        parcel: Parcel,
        entered: oneshot::Sender<()>,
        gate: mpsc::Receiver<()>,
        forever: bool,
    ) {
        let _ = entered.send(());
        // As above.
        let _ = gate.recv();
        if forever {
            pending::<()>().await;
        }
        parcel.handled();
    }
    #[ask]
    async fn never(&mut self, entered: oneshot::Sender<()>) {
        let _ = entered.send(());
        pending::<()>().await;
    }
}

/// Parcels that wait behind the first one.
const WAITING: usize = 10;

/// Whatever holds a porter in its handler until it is dropped.
type Gate = Box<dyn std::any::Any>;

/// A porter that waits in an `.await` of its first handler, while more parcels wait behind it.
async fn waiting(system: &System, ledger: &Arc<Ledger>) -> (Ref<Porter>, Gate) {
    let porter = system.spawn::<Porter>(Porter).await.unwrap();
    let gate = keep_waiting(&porter, ledger).await;
    (porter, gate)
}

async fn keep_waiting(porter: &Ref<Porter>, ledger: &Arc<Ledger>) -> Gate {
    let (entered, is_in) = oneshot::channel();
    let (gate, opened) = oneshot::channel();
    porter.wait(ledger.issue(), entered, opened).await.unwrap();
    soon(is_in).await.unwrap();
    for _ in 0..WAITING {
        porter.take(ledger.issue()).await.unwrap();
    }
    Box::new(gate)
}

/// As [`waiting`], but the handler holds its worker.
async fn blocking(system: &System, ledger: &Arc<Ledger>, forever: bool) -> (Ref<Porter>, Gate) {
    let porter = system.spawn::<Porter>(Porter).await.unwrap();
    let (entered, is_in) = oneshot::channel();
    let (gate, opened) = mpsc::channel();
    porter.block(ledger.issue(), entered, opened, forever).await.unwrap();
    is_in.await.unwrap();
    for _ in 0..WAITING {
        porter.take(ledger.issue()).await.unwrap();
    }
    (porter, Box::new(gate))
}

fn ledger() -> Arc<Ledger> {
    Ledger::new(WAITING + 2)
}

/// The reasons of all letters so far: crashed, stopped.
fn reasons(letters: &mut DeadLetters) -> (usize, usize) {
    let mut reasons = (0, 0);
    while let Some(letter) = letters.try_next() {
        match letter.reason {
            DeadLetterReason::Crashed => reasons.0 += 1,
            DeadLetterReason::Stopped => reasons.1 += 1,
            other => panic!("{other:?}"),
        }
    }
    reasons
}

/// Offers one more parcel, which must come back.
async fn refuses(porter: &Ref<Porter>, ledger: &Arc<Ledger>) {
    match porter.take(ledger.issue()).await {
        Err(TellError::Closed(PorterMessage::Take { parcel })) => parcel.returned(),
        other => panic!("{other:?}"),
    }
}
