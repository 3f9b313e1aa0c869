//! The wait for room is part of the wait for the answer.

use crate::asks::oracle::SHORT;
use crate::support::{LONG, everywhere, poll_once, soon};
use greenroom::{Actor, AskError, Context, Handle, Message, Ref, Reply, handlers};
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use tokio::sync::{Semaphore, oneshot};

/// Has little room.
#[derive(Actor)]
#[actor(mailbox = bounded(1, bytes = "1KiB"))]
struct Narrow {
    gate: Arc<Semaphore>,
}

#[handlers]
impl Narrow {
    #[ask]
    async fn pass(&mut self, number: u32) -> u32 {
        let permit = self.gate.acquire().await.expect("it is never closed");
        permit.forget();
        number
    }
    #[ask]
    async fn try_pass(&mut self, number: u32) -> Result<u32, ()> {
        Ok(self.pass(number).await)
    }
}

/// Hands its questions on, and keeps what it has done that with.
#[derive(Actor)]
struct Desk {
    narrow: Ref<Narrow>,
}

#[handlers]
impl Desk {
    #[ask]
    async fn pass(&mut self, number: u32, gate: oneshot::Receiver<()>, reply: Reply<u32>) {
        let mut kept = reply.forward(self.narrow.pass(number)).into_future();
        (&mut kept).await;
        let _ = gate.await;
        drop(kept);
    }
}

#[derive(Message)]
#[message(reply = usize)]
struct Huge([u8; 2000]);

impl Handle<Huge> for Narrow {
    fn handle(&mut self, huge: Huge, _cx: &mut Context<Self>) -> usize {
        huge.0.len()
    }
}

/// Three questions: one is handled until it is let pass, one more has room, and the last one waits for room.
fn ask_three(narrow: &Ref<Narrow>) -> [impl Future<Output = Result<u32, AskError>>; 3] {
    [1, 2, 3].map(|number| {
        let mut asked = narrow.pass(number).within(LONG).into_future();
        assert!(poll_once(&mut asked).is_pending());
        asked
    })
}

async fn answered(asked: [impl Future<Output = Result<u32, AskError>>; 3]) {
    for (asked, number) in asked.into_iter().zip(1..) {
        assert_eq!(soon(asked).await, Ok(number));
    }
}

// [G-ASK-1] [G-BOUND-2]
#[test]
fn the_deadline_covers_the_wait_for_room() {
    everywhere(async |system| {
        let gate = Arc::new(Semaphore::new(0));
        let narrow = system.spawn::<Narrow>(Narrow { gate: Arc::clone(&gate) }).await.unwrap();
        let asked = ask_three(&narrow);
        let began = Instant::now();
        assert_eq!(narrow.pass(4).within(SHORT).await, Err(AskError::Expired));
        assert!(began.elapsed() >= SHORT);
        gate.add_permits(3);
        answered(asked).await;
        // The question that expired was never sent, and left its place.
        gate.add_permits(1);
        assert_eq!(soon(narrow.pass(5).into_future()).await, Ok(5));
        assert_eq!(system.counts().late_replies, 0);
    });
}

// [G-BOUND-2]
#[test]
fn an_ask_that_has_expired_has_no_place_in_the_queue_though_it_is_kept() {
    everywhere(async |system| {
        let gate = Arc::new(Semaphore::new(0));
        let narrow = system.spawn::<Narrow>(Narrow { gate: Arc::clone(&gate) }).await.unwrap();
        let desk = system.spawn::<Desk>(Desk { narrow: narrow.clone() }).await.unwrap();
        let asked = ask_three(&narrow);
        let mut kept = narrow.pass(4).within(SHORT).into_future();
        assert_eq!((&mut kept).await, Err(AskError::Expired));
        let mut kept_flat = narrow.try_pass(4).within(SHORT).into_future();
        assert_eq!((&mut kept_flat).await, Err(AskError::Expired));
        let (keep, is_kept) = oneshot::channel();
        assert_eq!(desk.pass(4, is_kept).within(SHORT).await, Err(AskError::Expired));
        gate.add_permits(4);
        answered(asked).await;
        assert_eq!(soon(narrow.pass(5).within(LONG).into_future()).await, Ok(5));
        assert_eq!(system.counts().late_replies, 0, "none of them was sent");
        drop((kept, kept_flat, keep));
    });
}

// [G-ASK-1] [G-BOUND-2]
#[test]
fn a_plain_thread_waits_for_room_too() {
    everywhere(async |system| {
        let gate = Arc::new(Semaphore::new(0));
        let narrow = system.spawn::<Narrow>(Narrow { gate: Arc::clone(&gate) }).await.unwrap();
        let ask = |number, within| {
            let narrow = narrow.clone();
            thread::spawn(move || narrow.pass(number).within(within).wait())
        };
        let asked = [0, 1, 2, 3].map(|number| ask(number, LONG));
        assert_eq!(ask(4, SHORT).join().unwrap(), Err(AskError::Expired));
        // One for the question that expired, as it may have found room.
        gate.add_permits(5);
        let answers = asked.map(|asked| asked.join().unwrap());
        assert_eq!(answers, [Ok(0), Ok(1), Ok(2), Ok(3)]);
    });
}

// [G-ASK-1]
#[test]
fn a_question_larger_than_the_mailbox_ends_at_once() {
    everywhere(async |system| {
        let gate = Arc::new(Semaphore::new(0));
        let narrow = system.spawn::<Narrow>(Narrow { gate }).await.unwrap();
        let asked = soon(narrow.ask(Huge([0; 2000])).within(LONG).into_future()).await;
        assert!(asked.is_err(), "{asked:?}");
    });
}
