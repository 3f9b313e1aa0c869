//! What is large does not fail what others write, and what is too large is refused.

use super::stores::Puppet;
use super::support::{on, soon, until};
use greenroom::journal::{Commit, Journal, PersistError, Record, RecoverError, Store, Stream};
use greenroom::{Actor, AskError, Context, Scheduler, handlers};

const MIB: usize = 1 << 20;

/// Keeps things of any size, and nothing in memory.
#[derive(Actor)]
struct Depot(Stream);

#[handlers]
impl Depot {
    #[start]
    async fn start(journal: Journal, cx: &mut Context<Self>) -> Result<Self, RecoverError> {
        Ok(Self(journal.stream("depot", cx).await?.finish()))
    }
    #[ask]
    fn put(&mut self, bytes: usize) -> Result<Commit, PersistError> {
        self.0.append(vec![Record { name: "put".into(), version: 1, payload: vec![0; bytes] }])
    }
    #[tell]
    fn snapshot(&mut self, bytes: usize) {
        self.0.snapshot(1, vec![0; bytes], true);
    }
}

// [G-JOURNAL-7]
#[test]
fn large_events_that_wait_together_are_written_apart() {
    on(1, Scheduler::locked(), async |system| {
        let puppet = Puppet::new();
        let depot = system.spawn::<Depot>(Journal::new(puppet.clone()).unwrap()).await.unwrap();
        puppet.hold();
        let mut commits = vec![depot.put(1).await.unwrap()];
        until(|| puppet.is_waiting()).await;
        for bytes in [40 * MIB, 1, 30 * MIB, 20 * MIB] {
            commits.push(depot.put(bytes).await.unwrap());
        }
        let before = puppet.commits();
        puppet.release();
        for commit in commits {
            assert_eq!(soon(commit.wait()).await, Ok(()));
        }
        assert_eq!(puppet.commits() - before, 3, "the held one, 40 MiB and a byte, and 50 MiB");
    });
}

// [G-JOURNAL-7]
#[test]
fn what_is_too_large_is_never_handed_in() {
    on(1, Scheduler::locked(), async |system| {
        let mut puppet = Puppet::new();
        let depot = system.spawn::<Depot>(Journal::new(puppet.clone()).unwrap()).await.unwrap();
        let refused = depot.put(Stream::BYTES_MAX).await.err();
        let is_too_large = |error: &_| {
            matches!(error, AskError::Failed(PersistError::TooLarge { max: Stream::BYTES_MAX, .. }))
        };
        assert!(refused.as_ref().is_some_and(is_too_large), "its name counts too: {refused:?}");
        depot.snapshot(Stream::BYTES_MAX + 1).await.unwrap();
        assert_eq!(soon(depot.put(1).await.unwrap().wait()).await, Ok(()));
        assert_eq!(puppet.memory.events("depot").len(), 1, "the actor goes on");
        assert_eq!(puppet.snapshot("depot"), Ok(None));
    });
}
