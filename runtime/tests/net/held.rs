//! Actors that have no room for what a peer has sent to them, and the others.

use crate::stage::{book, once, open, shut};
use crate::support::{soon, until_async};
use greenroom::net::Loopback;
use std::sync::Arc;

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
