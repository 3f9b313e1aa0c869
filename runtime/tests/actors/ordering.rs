//! Messages from one sender to one receiver are handled in the order in which they were accepted.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{block_on, everywhere, on, policies, soon};
use greenroom::{
    Actor, Behavior, Context, Full, Handle, Mailbox, Message, Options, Recipient, Ref, Restart,
    Scheduler, handlers,
};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What was handled, in its order: who sent it, and which of his it was.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(u32, u32)>>>);

impl Log {
    fn write(&self, sender: u32, number: u32) {
        self.0.lock().expect("nobody panics with it").push((sender, number));
    }

    /// The numbers of each sender, as they were handled.
    fn by_sender(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut senders = BTreeMap::<_, Vec<_>>::new();
        for &(sender, number) in self.0.lock().expect("nobody panics with it").iter() {
            senders.entry(sender).or_default().push(number);
        }
        senders
    }

    /// Checks that each of `senders` had its first `count` numbers handled in order, without a gap.
    fn assert_complete(&self, senders: u32, count: u32) {
        let by_sender = self.by_sender();
        assert_eq!(by_sender.len(), senders as usize);
        for (sender, numbers) in by_sender {
            assert!(numbers.into_iter().eq(0..count), "the messages of sender {sender} in order");
        }
    }

    /// Checks that no message was handled after a later one of its sender.
    fn assert_sorted(&self) {
        for (sender, numbers) in self.by_sender() {
            assert!(numbers.is_sorted_by(|a, b| a < b), "{sender}: {numbers:?}");
        }
    }
}

policies! {
    /// Tells the mailboxes of otherwise equal actors apart.
    Policy { MAILBOX: Mailbox }
    Unbounded = Mailbox::unbounded();
    Waiting = Mailbox::bounded(3);
    DroppingNewest = Mailbox::bounded(3).full(Full::DropNewest);
    DroppingOldest = Mailbox::bounded(3).full(Full::DropOldest);
}

/// Writes down what it gets.
struct Scribe<P> {
    log: Log,
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Scribe<P> {
    const OPTIONS: Options = Options::new()
        .mailbox(P::MAILBOX)
        .restart(Restart::transient(1_000_000, Duration::from_secs(1)));

    fn keep_args(args: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args> {
        Some(args.clone())
    }
}

#[handlers]
impl<P: Policy> Scribe<P> {
    #[start]
    fn start(log: Log) -> Self {
        Self { log, of: PhantomData }
    }
    #[tell]
    fn note(&mut self, sender: u32, number: u32) {
        self.log.write(sender, number);
    }
    #[tell]
    async fn note_slowly(&mut self, sender: u32, number: u32) {
        tokio::task::yield_now().await;
        self.log.write(sender, number);
    }
    #[tell]
    fn note_and_panic(&mut self, sender: u32, number: u32) {
        self.log.write(sender, number);
        panic!("wrote {sender} {number}")
    }
    #[ask]
    fn note_and_answer(&mut self, sender: u32, number: u32) -> u32 {
        self.log.write(sender, number);
        number
    }
}

/// The hand-written way to say `note`.
#[derive(Message)]
struct Note(u32, u32);

impl<P: Policy> Handle<Note> for Scribe<P> {
    fn handle(&mut self, Note(sender, number): Note, _cx: &mut Context<Self>) {
        self.log.write(sender, number);
    }
}

/// Sends as an actor does, and moves between workers while it does.
#[derive(Actor)]
struct Sender {
    number: u32,
}

#[handlers]
impl Sender {
    #[tell]
    async fn send(&mut self, to: Ref<Scribe<Unbounded>>, count: u32) {
        for number in 0..count {
            match number % 16 {
                0 => to.note_slowly(self.number, number).await.unwrap(),
                1 => assert_eq!(to.note_and_answer(self.number, number).await.unwrap(), number),
                _ => to.note(self.number, number).try_send().unwrap(),
            }
            if number % 32 == 5 {
                tokio::task::yield_now().await;
            }
        }
    }
    #[tell]
    async fn send_waiting(&mut self, to: Ref<Scribe<Waiting>>, count: u32) {
        for number in 0..count {
            to.note(self.number, number).await.unwrap();
        }
    }
    #[ask]
    fn is_done(&self) -> bool {
        true
    }
}

// [G-ORDER-1] [G-ORDER-2]
#[test]
fn actors_are_heard_in_order_while_all_move_between_workers() {
    everywhere(async |system| {
        let mut logs = Vec::new();
        let mut senders = Vec::new();
        for number in 0..6 {
            senders.push(system.spawn::<Sender>(Sender { number }).await.unwrap());
        }
        for _ in 0..3 {
            let log = Log::default();
            let scribe = system.spawn::<Scribe<Unbounded>>(log.clone()).await.unwrap();
            for sender in &senders {
                sender.send(scribe.clone(), 800).await.unwrap();
            }
            logs.push((log, scribe));
        }
        for sender in &senders {
            assert!(sender.is_done().within(crate::support::LONG).await.unwrap());
        }
        for (log, scribe) in logs {
            scribe.drain();
            soon(scribe.ended()).await;
            log.assert_complete(6, 800);
        }
    });
}

// [G-ORDER-1]
#[test]
fn threads_are_heard_in_order() {
    everywhere(async |system| {
        let log = Log::default();
        let scribe = system.spawn::<Scribe<Unbounded>>(log.clone()).await.unwrap();
        let send = |sender: u32| {
            let scribe = scribe.clone();
            thread::spawn(move || {
                for number in 0..2000 {
                    scribe.note(sender, number).try_send().unwrap();
                }
            })
        };
        let threads: Vec<_> = (0..4).map(send).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        scribe.drain();
        soon(scribe.ended()).await;
        log.assert_complete(4, 2000);
    });
}

// [G-ORDER-1]
#[test]
fn all_references_of_a_sender_are_one() {
    everywhere(async |system| {
        let log = Log::default();
        let scribe = system.spawn::<Scribe<Unbounded>>(log.clone()).await.unwrap();
        let narrow: Recipient<Note> = scribe.recipient();
        for number in (0..600).step_by(6) {
            scribe.note(0, number).await.unwrap();
            narrow.tell(Note(0, number + 1)).await.unwrap();
            scribe.tell(Note(0, number + 2)).try_send().unwrap();
            scribe.clone().note_slowly(0, number + 3).tell().unwrap();
            narrow.clone().tell(Note(0, number + 4)).tell().unwrap();
            assert_eq!(scribe.note_and_answer(0, number + 5).await.unwrap(), number + 5);
        }
        log.assert_complete(1, 600);
    });
}

// [G-ORDER-1] [G-ORDER-2]
#[test]
fn order_holds_across_restarts() {
    everywhere(async |system| {
        let log = Log::default();
        let scribe = system.spawn::<Scribe<Unbounded>>(log.clone()).await.unwrap();
        let send = |sender: u32| {
            let scribe = scribe.clone();
            thread::spawn(move || {
                for number in 0..200 {
                    let sent = match number % 20 {
                        7 => scribe.note_and_panic(sender, number),
                        13 => scribe.note_slowly(sender, number),
                        _ => scribe.note(sender, number),
                    };
                    sent.try_send().unwrap();
                }
            })
        };
        let threads: Vec<_> = (0..3).map(send).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        scribe.drain();
        soon(scribe.ended()).await;
        log.assert_complete(3, 200);
        assert_eq!(system.counts().restarts, 3 * 10);
    });
}

// [G-ORDER-1]
#[test]
fn senders_that_wait_for_room_are_heard_in_order() {
    everywhere(async |system| {
        let log = Log::default();
        let scribe = system.spawn::<Scribe<Waiting>>(log.clone()).await.unwrap();
        let mut senders = Vec::new();
        for number in 0..3 {
            let sender = system.spawn::<Sender>(Sender { number }).await.unwrap();
            sender.send_waiting(scribe.clone(), 100).await.unwrap();
            sender.drain();
            senders.push(sender);
        }
        let outside = scribe.clone();
        let outside = thread::spawn(move || {
            (0..100).for_each(|number| block_on(outside.note(3, number).into_future()).unwrap());
        });
        outside.join().unwrap();
        for sender in senders {
            soon(sender.ended()).await;
        }
        scribe.drain();
        soon(scribe.ended()).await;
        log.assert_complete(4, 100);
    });
}

/// Floods a small mailbox from three threads at once.
fn flood<P: Policy>() -> impl AsyncFn(&greenroom::System) {
    async |system| {
        let log = Log::default();
        let scribe = system.spawn::<Scribe<P>>(log.clone()).await.expect("it starts");
        let send = |sender: u32| {
            let scribe = scribe.clone();
            thread::spawn(move || {
                for number in 0..1000 {
                    let _ = scribe.note(sender, number).tell();
                }
            })
        };
        let threads: Vec<_> = (0..3).map(send).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no sender panics"));
        scribe.drain();
        soon(scribe.ended()).await;
        log.assert_sorted();
        let counts = system.counts();
        let handled = log.0.lock().expect("nobody panics with it").len() as u64;
        let dropped = counts.dropped_newest + counts.dropped_oldest;
        assert_eq!(handled + dropped, 3 * 1000, "{counts:?}");
    }
}

// [G-ORDER-1]
#[test]
fn what_is_left_is_in_order_where_the_newest_is_dropped() {
    everywhere(flood::<DroppingNewest>());
}

// [G-ORDER-1]
#[test]
fn what_is_left_is_in_order_where_the_oldest_is_dropped() {
    everywhere(flood::<DroppingOldest>());
}

/// Sends to itself.
#[derive(Actor)]
struct Echo {
    next: u32,
}

#[handlers]
impl Echo {
    #[tell]
    fn fan_out(&mut self, cx: &mut Context<Self>) {
        for number in 0..100 {
            cx.me().check(number).try_send().unwrap();
        }
    }
    #[tell]
    fn check(&mut self, number: u32) {
        assert_eq!(number, self.next);
        self.next += 1;
    }
    #[ask]
    fn checked(&self) -> u32 {
        self.next
    }
}

// [G-ORDER-1]
#[test]
fn an_actor_hears_itself_in_order() {
    on(2, Scheduler::stealing(), async |system| {
        let echo = system.spawn::<Echo>(Echo { next: 0 }).await.unwrap();
        echo.fan_out().await.unwrap();
        soon(async { while echo.checked().await.unwrap() < 100 {} }).await;
    });
}
