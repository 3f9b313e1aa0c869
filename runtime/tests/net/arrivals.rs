//! New links to a node of whose former connection something is left.

use crate::stage::{Book, Log, Place, Seen, Watch, Watcher, book, identity, open};
use crate::support::{Builds, LONG, hold_worker_on, poll_once, run, soon, until, until_async};
use greenroom::net::{Export, Loopback, Node};
use greenroom::{ExitReason, Scheduler, System};

// [G-REMOTE-4]
#[test]
fn a_handler_that_goes_on_keeps_no_other_node_waiting_and_the_last_link_counts() {
    let network = Loopback::new();
    let system = System::builder().workers(2).scheduler(Scheduler::per_core());
    let here = Place::of(&network, "here", system);
    // What belongs to a connection lives on the worker of the node's number: the last letter's, since there are two.
    let [slow, free] = ["a", "b"].map(|name| Place::new(&network, name, Scheduler::stealing()));
    run(async {
        let (_, far) = book(&here, &slow, "book", open()).await;
        let former = here.reach(&slow).await;
        let watcher = here.system.spawn::<Watcher>(()).on(0).await.unwrap();
        watcher.tell(Watch(far)).await.unwrap();
        assert_eq!(watcher.ask(Log).await, Ok(Vec::new()));
        here.node.export("watcher", Export::of(&watcher)).unwrap();
        let hold = hold_worker_on(&here.system, usize::from(b'a') % 2).await;

        // Link after link comes, while nothing of the first one ends.
        let address = "loopback:a".parse().unwrap();
        let begin = || {
            network.cut("here", "a");
            let mut attempt = Box::pin(here.node.connect(&address));
            (poll_once(&mut attempt).is_pending(), attempt)
        };
        // It finds the former connection, or not any more.
        drop(begin());
        until(|| here.node.peers().is_empty()).await;
        let mut attempts = Vec::new();
        for _ in 0..3 {
            let (waits, attempt) = begin();
            assert!(waits);
            attempts.push(attempt);
        }
        let (_, other) = book(&here, &free, "book", open()).await;
        assert_eq!(soon(other.divide(8, 4).into_future()).await, Ok(2));
        assert!(attempts.iter_mut().all(|attempt| poll_once(attempt).is_pending()));
        assert_eq!(watcher.ask(Log).await, Ok(Vec::new()));

        drop(hold);
        for attempt in attempts {
            let peer = soon(attempt).await.unwrap();
            let again = soon(peer.find::<Book>("book")).await.unwrap();
            assert_eq!(soon(again.divide(6, 3).into_future()).await, Ok(2));
        }
        // Before anything of the new connection.
        let told = soon(slow.reach(&here)).await.find::<Watcher>("watcher").await.unwrap();
        told.told(1).await.unwrap();
        until_async(async || watcher.ask(Log).await.unwrap().ends_with(&[Seen::Told(1)])).await;
        let seen = vec![Seen::Down(ExitReason::NodeDown), Seen::Told(1)];
        assert_eq!(watcher.ask(Log).await, Ok(seen));
        soon(former.ended()).await;
        here.shut().await;
        slow.shut().await;
        free.shut().await;
    });
}

// [G-REMOTE-4] [G-REMOTE-5]: though nobody sees by its incarnation that it is not the one before.
#[test]
fn a_node_that_starts_again_under_the_same_incarnation_is_another_connection() {
    let network = Loopback::new();
    let here = Place::new(&network, "here", Scheduler::stealing());
    let (same, address) = (identity("there"), "loopback:there".parse().unwrap());
    run(async {
        let watcher = here.system.spawn::<Watcher>(()).await.unwrap();
        let mut before = Vec::new();
        for run in 1..=3 {
            let system = System::builder().workers(1).own();
            let node = Node::start(&system, network.node("there", same)).unwrap();
            let near = system.spawn::<Book>(open()).await.unwrap();
            node.export("book", Export::of(&near)).unwrap();
            let peer = here.node.connect(&address).await.unwrap();
            let far = peer.find::<Book>("book").await.unwrap();
            watcher.tell(Watch(far.clone())).await.unwrap();
            far.note(run, 1).await.unwrap();
            until_async(async || far.notes().await == Ok(vec![(run, 1)])).await;
            assert_eq!(watcher.ask(Log).await.unwrap().len(), before.len());
            // Its place is taken by nobody, as where a process was killed.
            drop(network.node("there", same));
            until(|| here.node.peers().is_empty()).await;
            before.push(far);
            let downs = vec![Seen::Down(ExitReason::NodeDown); before.len()];
            until_async(async || watcher.ask(Log).await.as_ref() == Ok(&downs)).await;
            assert!(before.iter().all(|far| far.is_closed()));
            system.shutdown(LONG).await.unwrap();
        }
        here.shut().await;
    });
}
