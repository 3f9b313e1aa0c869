//! How many actors a node starts for others.

use super::other;
use crate::stage::{Place, once};
use crate::support::{soon, until, until_async};
use greenroom::net::{Loopback, Orphans, RemoteSpawnError};
use greenroom::{Actor, Context, Scheduler, handlers};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;

// [G-REMOTE-10] [ENV-14]
#[test]
#[cfg_attr(sanitized, ignore = "slow, and only counts")]
fn a_node_starts_no_more_than_it_may() {
    once(Loopback::new(), async |_, here, there| {
        there.node.allow_spawn::<other::Stranger>("stranger", Orphans::Stop).unwrap();
        let peer = here.reach(there).await;
        let mut strangers = Vec::new();
        for _ in 0..4096 {
            strangers.push(peer.spawn::<other::Stranger>("stranger", ()).await.unwrap());
        }
        let more = peer.spawn::<other::Stranger>("stranger", ()).await;
        assert_eq!(more, Err(RemoteSpawnError::OverLimit));
        peer.stop(&strangers[9]);
        soon(strangers[9].ended()).await;
        peer.spawn::<other::Stranger>("stranger", ()).await.unwrap();
    });
}

/// As many end as there are permits.
static LEAVE: Semaphore = Semaphore::const_new(0);

#[derive(Actor)]
struct Lodger;

#[handlers(wire = "test.lodger/1")]
impl Lodger {
    #[start]
    fn start((): (), cx: &mut Context<Self>) -> Self {
        cx.pipe(async { LEAVE.acquire().await.unwrap().forget() }, Self::leave);
        Self
    }
    #[local]
    fn leave(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

// [G-REMOTE-10] [ENV-14]
#[test]
#[cfg_attr(sanitized, ignore = "slow, and only counts")]
fn a_node_starts_no_more_than_it_may_by_one_connection_after_the_other() {
    once(Loopback::new(), async |network, here, there| {
        there.node.allow_spawn::<Lodger>("lodger", Orphans::Keep).unwrap();
        let lodge = async || here.reach(there).await.spawn::<Lodger>("lodger", ()).await;
        for _ in 0..3 {
            for _ in 0..1365 {
                lodge().await.unwrap();
            }
            network.cut("here", "there");
            until(|| here.node.peers().is_empty() && there.node.peers().is_empty()).await;
        }
        lodge().await.unwrap();
        assert_eq!(lodge().await.err(), Some(RemoteSpawnError::OverLimit));
        // Others are not counted with them.
        let other = Place::new(network, "other", Scheduler::stealing());
        other.reach(there).await.spawn::<Lodger>("lodger", ()).await.unwrap();
        other.shut().await;
        // Nor those that have ended.
        LEAVE.add_permits(1);
        until_async(async || lodge().await.is_ok()).await;
        assert_eq!(lodge().await.err(), Some(RemoteSpawnError::OverLimit));
    });
}

/// Stop hooks that run, or have.
static LEAVING: AtomicU64 = AtomicU64::new(0);
/// As many are done as there are permits.
static LEFT: Semaphore = Semaphore::const_new(0);

/// Takes its time to stop.
#[derive(Actor)]
struct Slow;

#[handlers(wire = "test.slow/1")]
impl Slow {
    #[start]
    fn start((): ()) -> Self {
        Self
    }
    #[stop]
    async fn stop(&mut self) {
        LEAVING.fetch_add(1, Ordering::Relaxed);
        LEFT.acquire().await.unwrap().forget();
    }
}

// [G-REMOTE-10] [ENV-14]
#[test]
#[cfg_attr(sanitized, ignore = "slow, and only counts")]
fn actors_that_are_being_stopped_count_until_they_have_ended() {
    once(Loopback::new(), async |network, here, there| {
        there.node.allow_spawn::<Slow>("slow", Orphans::Stop).unwrap();
        let peer = here.reach(there).await;
        for _ in 0..4096 {
            let slow = peer.spawn::<Slow>("slow", ()).await.unwrap();
            assert!(peer.stop(&slow));
        }
        until(|| LEAVING.load(Ordering::Relaxed) == 4096).await;
        let more = peer.spawn::<Slow>("slow", ()).await;
        assert_eq!(more.err(), Some(RemoteSpawnError::OverLimit));
        // Also by the next connection.
        network.cut("here", "there");
        until(|| here.node.peers().is_empty() && there.node.peers().is_empty()).await;
        let peer = here.reach(there).await;
        let more = peer.spawn::<Slow>("slow", ()).await;
        assert_eq!(more.err(), Some(RemoteSpawnError::OverLimit));
        LEFT.add_permits(1);
        until_async(async || peer.spawn::<Slow>("slow", ()).await.is_ok()).await;
        let more = peer.spawn::<Slow>("slow", ()).await;
        assert_eq!(more.err(), Some(RemoteSpawnError::OverLimit));
        LEFT.add_permits(4096);
    });
}
