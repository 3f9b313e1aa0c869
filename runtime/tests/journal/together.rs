//! Many actors share one commit.

use super::ledger::{Noted, Opened, open};
use super::stores::Puppet;
use super::support::{on, soon, until};
use greenroom::Scheduler;
use greenroom::journal::Journal;

const ACTORS: u64 = 200;

#[test]
fn those_who_wait_share_the_next_commit() {
    on(2, Scheduler::stealing(), async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let mut ledgers = Vec::new();
        for number in 0..ACTORS {
            let opened = Opened::new(&journal, &format!("key-{number}"));
            ledgers.push(open(system, &opened).await.unwrap());
        }
        let before = puppet.commits();
        puppet.hold();
        let mut noting = Vec::new();
        for ledger in &ledgers {
            let asking = ledger.clone();
            noting.push(tokio::spawn(async move { asking.note(Noted::Number(1)).await }));
        }
        until(|| puppet.is_waiting()).await;
        // Each has begun to persist when it has asked another message's turn: its handler waits.
        tokio::task::yield_now().await;
        puppet.release();
        for noted in noting {
            assert_eq!(soon(noted).await.unwrap(), Ok(1));
        }
        let commits = puppet.commits() - before;
        assert!(commits < ACTORS / 2, "{commits} commits for {ACTORS} events");
    });
}
