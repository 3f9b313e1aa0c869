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
        let mut commits = Vec::new();
        for ledger in &ledgers {
            let (_, commit) = ledger.record(Noted::Number(1)).await.unwrap();
            commits.push(commit.unwrap());
        }
        until(|| puppet.is_waiting()).await;
        puppet.release();
        for commit in commits {
            assert_eq!(soon(commit.wait()).await, Ok(()));
        }
        let commits = puppet.commits() - before;
        assert!(commits < ACTORS / 2, "{commits} commits for {ACTORS} events");
    });
}
