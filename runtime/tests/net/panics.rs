//! Code of others that panics in the session of a connection, which goes on.

use crate::stage::{Book, Log, Place, Seen, Watch, Watcher, book, once, open};
use crate::support::{poll_once, soon, until, until_async};
use greenroom::net::{Export, Loopback};
use greenroom::{Actor, AskError, ExitReason, Ref, Undelivered, handlers};
use serde::{Deserialize, Deserializer, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Panics when it is dropped where it was decoded, which it is not where it was made.
#[derive(Default, Serialize)]
struct Fragile {
    #[serde(skip)]
    is_decoded: bool,
}

impl<'de> Deserialize<'de> for Fragile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <()>::deserialize(from).map(|()| Self { is_decoded: true })
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.is_decoded || thread::panicking(), "it breaks");
    }
}

/// Is never decoded.
#[derive(Debug, PartialEq, Serialize)]
struct Undecodable;

impl<'de> Deserialize<'de> for Undecodable {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("no codec takes it")
    }
}

/// Handles nothing but questions until its gate opens.
#[derive(Actor)]
#[actor(mailbox = bounded(1))]
struct Shelf {
    gate: Arc<Semaphore>,
}

#[handlers(wire = "test.shelf/1")]
impl Shelf {
    #[start]
    fn start(gate: Arc<Semaphore>) -> Self {
        Self { gate }
    }
    #[tell]
    async fn put(&mut self, thing: Fragile) {
        // What is handled does not panic.
        let mut thing = thing;
        thing.is_decoded = false;
        self.gate.acquire().await.unwrap().forget();
    }
    #[ask]
    fn undecodable(&self) -> Undecodable {
        Undecodable
    }
    #[ask]
    fn fragile(&self) -> Fragile {
        Fragile::default()
    }
}

/// A shelf at `there`, and the reference from `here` to it.
async fn shelf(here: &Place, there: &Place, gate: Arc<Semaphore>) -> (Ref<Shelf>, Ref<Shelf>) {
    let near = there.system.spawn::<Shelf>(gate).await.unwrap();
    there.node.export("shelf", Export::of(&near)).unwrap();
    let far = here.reach(there).await.find::<Shelf>("shelf").await.unwrap();
    (near, far)
}

// [G-REMOTE-7] [G-REMOTE-8]
#[test]
fn an_answer_that_panics_ends_nothing_else() {
    once(Loopback::new(), async |_, here, there| {
        let (_, far) = shelf(here, there, open()).await;
        let (_, book) = book(here, there, "book", open()).await;
        let malformed = Err(AskError::Undelivered(Undelivered::Malformed));
        assert_eq!(soon(far.undecodable().into_future()).await, malformed);
        assert_eq!(soon(book.divide(8, 4).into_future()).await, Ok(2));
        // One that nobody waits for any more when it comes.
        let mut asking = Box::pin(far.fragile().into_future());
        // It may have come at once, and break here.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(poll_once(&mut asking))));
        let _ = catch_unwind(AssertUnwindSafe(|| drop(asking)));
        for _ in 0..3 {
            assert_eq!(soon(book.divide(8, 4).into_future()).await, Ok(2));
        }
    });
}

// [G-PANIC-1] [G-REMOTE-8]
#[test]
fn a_message_that_panics_where_it_waits_for_room_ends_nothing_else() {
    once(Loopback::new(), async |_, here, there| {
        let (near, far) = shelf(here, there, crate::stage::shut()).await;
        let (_, book) = book(here, there, "book", open()).await;
        // Few are with the actor; of the others one waits for room, and those behind it are parked.
        for _ in 0..20 {
            far.put(Fragile::default()).await.unwrap();
        }
        // All have left when nobody here has anything to do, and come when what leaves behind them is answered.
        here.system.await_idle(Duration::from_secs(100)).await.unwrap();
        assert_eq!(soon(book.divide(8, 4).into_future()).await, Ok(2));
        assert!(near.kill());
        until(|| there.system.counts().undelivered >= 2).await;
        assert_eq!(soon(book.divide(8, 4).into_future()).await, Ok(2));
        soon(far.ended()).await;
        assert!(!book.is_closed());
    });
}

// [G-PANIC-1] [G-REMOTE-5]
#[test]
fn the_end_of_a_connection_is_told_though_a_message_that_waits_panics() {
    once(Loopback::new(), async |network, here, there| {
        let gate = crate::stage::shut();
        let (_near, far) = shelf(here, there, Arc::clone(&gate)).await;
        let (_, other) = book(there, here, "book", open()).await;
        let watcher = there.system.spawn::<Watcher>(()).await.unwrap();
        watcher.tell(Watch(other.clone())).await.unwrap();
        for _ in 0..20 {
            far.put(Fragile::default()).await.unwrap();
        }
        // All have left when nobody here has anything to do, and come when what leaves behind them is answered.
        here.system.await_idle(Duration::from_secs(100)).await.unwrap();
        let (_, near_book) = book(here, there, "near", open()).await;
        assert_eq!(soon(near_book.divide(8, 4).into_future()).await, Ok(2));
        network.cut("here", "there");
        let down = [Seen::Down(ExitReason::NodeDown)];
        until_async(async || watcher.ask(Log).await.unwrap() == down).await;
        soon(other.ended()).await;
        gate.add_permits(10);
        until(|| there.system.counts().undelivered >= 2).await;
        // Who has not noticed it yet would find by the connection that is over.
        until(|| here.node.peers().is_empty()).await;
        let _: Ref<Book> = here.reach(there).await.find("near").await.unwrap();
    });
}
