//! Actors that have no room for what a peer has sent to them, and the others.

use crate::stage::{Book, Log, Seen, Watch, Watcher, between, book, once, open, shut};
use crate::support::{poll_once, soon, until_async};
use greenroom::net::{Export, Loopback};
use greenroom::{Actor, AskError, ExitReason, Ref, Undelivered, handlers};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// More of them than messages that an actor may send in one turn, whatever the time.
const MANY: u64 = 600;

// [G-REMOTE-6]
#[test]
fn who_has_room_again_gets_its_messages_however_many_have_none() {
    once(Loopback::new().frames_max(8192), async |_, here, there| {
        let (gate, last_gate) = (shut(), shut());
        let mut books = Vec::new();
        for number in 1..MANY {
            books.push(book(here, there, &format!("book {number}"), Arc::clone(&gate)).await);
        }
        let (last, far) = book(here, there, "last", Arc::clone(&last_gate)).await;
        // One is handled, a few are in the mailbox, and the others wait for room.
        for (_, far) in &books {
            for number in 0..12 {
                far.note(1, number).await.unwrap();
            }
        }
        for number in 0..20 {
            far.note(1, number).await.unwrap();
        }
        // When this is answered, they have come.
        let (_, other) = book(here, there, "other", open()).await;
        assert_eq!(soon(other.divide(8, 4).into_future()).await, Ok(2));
        last_gate.add_permits(1);
        until_async(async || last.notes().await.unwrap().len() == 20).await;
        gate.add_permits(1);
        for (near, _) in &books {
            until_async(async || near.notes().await.unwrap().len() == 12).await;
        }
    });
}

/// Is lent books, and looks at one when it may.
#[derive(Actor)]
#[actor(mailbox = bounded(2))]
struct Reader {
    gate: Arc<Semaphore>,
    books: Vec<Ref<Book>>,
}

#[handlers(wire = "test.reader/1")]
impl Reader {
    #[start]
    fn start(gate: Arc<Semaphore>) -> Self {
        Self { gate, books: Vec::new() }
    }
    #[tell]
    async fn lend(&mut self, book: Ref<Book>) {
        self.gate.acquire().await.unwrap().forget();
        self.gate.add_permits(1);
        self.books.push(book);
    }
    #[ask]
    fn lent(&self) -> Vec<Ref<Book>> {
        self.books.clone()
    }
}

// [G-REMOTE-5] [G-REMOTE-6] [G-REMOTE-7]
#[test]
fn who_has_no_room_holds_back_the_end_of_a_connection_from_nobody() {
    between(Loopback::new, async |_, here, there| {
        let gate = shut();
        let mut letters = there.system.dead_letters();
        let near = there.system.spawn::<Reader>(Arc::clone(&gate)).await.unwrap();
        there.node.export("reader", Export::of(&near)).unwrap();
        let far = here.reach(there).await.find::<Reader>("reader").await.unwrap();
        let (own, lent) = book(there, here, "book", shut()).await;
        let watcher = there.system.spawn::<Watcher>(()).await.unwrap();
        watcher.tell(Watch(lent.clone())).await.unwrap();
        watcher.ask(Log).await.unwrap();
        for _ in 0..20 {
            far.lend(own.clone()).await.unwrap();
        }
        let mut asking = Box::pin(lent.never().into_future());
        assert!(poll_once(&mut asking).is_pending());
        soon(here.node.close()).await;
        // While nobody has room for what has come.
        let outcome = soon(asking).await;
        assert_eq!(outcome, Err(AskError::Undelivered(Undelivered::NodeDown)));
        let down = [Seen::Down(ExitReason::NodeDown)];
        until_async(async || watcher.ask(Log).await.unwrap() == down).await;
        soon(lent.ended()).await;
        // And that has its chance still, with what it leads to.
        gate.add_permits(1);
        until_async(async || near.lent().await.unwrap().len() == 20).await;
        for book in near.lent().await.unwrap() {
            soon(book.ended()).await;
        }
        // The question may have been lost on its way.
        while let Some(letter) = letters.try_next() {
            assert_ne!(letter.actor, near.id());
        }
        // It never answers.
        assert!(own.kill());
    });
}
