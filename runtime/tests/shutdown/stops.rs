//! Actors that stop or are killed: what becomes of the running message and of those that wait.

use crate::support::{LONG, everywhere, exit_of, soon, until};
use crate::{Porter, WAITING, blocking, ledger, reasons, refuses, waiting};
use greenroom::{Actor, ExitReason, Mailbox, Options, TellError, handlers};
use std::future::pending;
use tokio::sync::oneshot;

// [G-STOP-1]
#[test]
fn stop_lets_the_running_message_finish_and_reports_the_rest() {
    everywhere(async |system| {
        for blocks in [false, true] {
            let (mut letters, mut events) = (system.dead_letters(), system.events());
            let ledger = ledger();
            let (porter, gate) = if blocks {
                blocking(system, &ledger, false).await
            } else {
                waiting(system, &ledger).await
            };
            assert!(porter.stop());
            drop(gate);
            assert_eq!(exit_of(&porter, &mut events).await, ExitReason::Stopped);
            refuses(&porter, &ledger).await;
            assert_eq!(reasons(&mut letters), (0, WAITING), "blocks: {blocks}");
            let tally = ledger.tally();
            assert_eq!((tally.handled, tally.dropped), (1, WAITING as u64), "blocks: {blocks}");
            soon(porter.ended()).await;
            // The news comes shortly before the very end.
            until(|| !porter.stop()).await;
        }
    });
}

// [G-STOP-3]
#[test]
fn kill_drops_a_handler_that_waits() {
    everywhere(async |system| {
        let (mut letters, mut events) = (system.dead_letters(), system.events());
        let ledger = ledger();
        let (porter, _gate) = waiting(system, &ledger).await;
        assert!(porter.kill());
        assert_eq!(exit_of(&porter, &mut events).await, ExitReason::Killed);
        assert_eq!(reasons(&mut letters), (1, WAITING));
        let tally = ledger.settle(&system.counts());
        assert_eq!((tally.handled, tally.dropped), (0, 1 + WAITING as u64));
    });
}

// [G-STOP-3]
#[test]
fn kill_drops_a_handler_that_runs_at_its_next_await() {
    everywhere(async |system| {
        let mut letters = system.dead_letters();
        let ledger = ledger();
        let (porter, gate) = blocking(system, &ledger, true).await;
        assert!(porter.kill());
        drop(gate);
        soon(porter.ended()).await;
        assert_eq!(reasons(&mut letters), (1, WAITING));
        assert_eq!(ledger.settle(&system.counts()).handled, 0);
    });
}

// [G-STOP-3] [G-ASK-1]
#[test]
fn whoever_asked_a_handler_that_is_killed_gets_no_reply() {
    everywhere(async |system| {
        let porter = system.spawn::<Porter>(Porter).await.unwrap();
        let (entered, is_in) = oneshot::channel();
        let killer = porter.clone();
        let (outcome, _) = tokio::join!(porter.never(entered).within(LONG), async {
            soon(is_in).await.unwrap();
            killer.kill()
        });
        assert_eq!(outcome, Err(greenroom::AskError::NoReply));
    });
}

/// An actor whose mailbox holds one message.
struct Narrow;

impl Actor for Narrow {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::bounded(1));
}

#[handlers]
impl Narrow {
    #[tell]
    async fn wait(&mut self, entered: oneshot::Sender<()>) {
        let _ = entered.send(());
        pending::<()>().await;
    }
}

// [G-SYSTEM-1]
#[test]
fn a_full_mailbox_delays_no_kill() {
    everywhere(async |system| {
        let narrow = system.spawn::<Narrow>(Narrow).await.unwrap();
        let (entered, is_in) = oneshot::channel();
        narrow.wait(entered).await.unwrap();
        soon(is_in).await.unwrap();
        narrow.wait(oneshot::channel().0).try_send().unwrap();
        assert!(matches!(narrow.wait(oneshot::channel().0).try_send(), Err(TellError::Full(_))));
        narrow.kill();
        soon(narrow.ended()).await;
    });
}
