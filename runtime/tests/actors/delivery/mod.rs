//! Each accepted message is handled once, handed back, or reported as a dead letter: nothing is lost
//! and nothing doubled, whatever ends meanwhile.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod nodes;

use crate::support::{
    Dice, LONG, Ledger, Parcel, block_on, everywhere, hold_worker, on, policies, soon, until,
};
use greenroom::{
    Actor, Behavior, DeadLetterReason, Full, Mailbox, Options, Ref, Restart, Scheduler, Tell,
    TellError, handlers,
};
use std::marker::PhantomData;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

policies! {
    /// Tells the mailboxes of otherwise equal actors apart.
    Policy { MAILBOX: Mailbox }
    Unbounded = Mailbox::unbounded();
    Waiting = Mailbox::bounded(4);
    Rejecting = Mailbox::bounded(4).full(Full::Reject);
    DroppingNewest = Mailbox::bounded(4).full(Full::DropNewest);
    DroppingOldest = Mailbox::bounded(4).full(Full::DropOldest);
}

/// Takes parcels, and restarts whenever one makes it panic.
struct Sink<P> {
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Sink<P> {
    const OPTIONS: Options = Options::new()
        .mailbox(P::MAILBOX)
        .restart(Restart::transient(1_000_000, Duration::from_secs(1)));

    fn keep_args(_args: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args> {
        Some(())
    }
}

#[handlers]
impl<P: Policy> Sink<P> {
    #[start]
    fn start() -> Self {
        Self { of: PhantomData }
    }
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
    #[tell]
    async fn ponder(&mut self, parcel: Parcel) {
        tokio::task::yield_now().await;
        parcel.handled();
    }
    #[tell]
    fn choke(&mut self, parcel: Parcel) {
        panic!("choked on {parcel:?}")
    }
    #[tell]
    async fn choke_later(&mut self, parcel: Parcel) {
        tokio::task::yield_now().await;
        panic!("choked on {parcel:?}, later")
    }
}

fn returned<P: Policy>(message: SinkMessage<P>) {
    match message {
        SinkMessage::Take { parcel }
        | SinkMessage::Ponder { parcel }
        | SinkMessage::Choke { parcel }
        | SinkMessage::ChokeLater { parcel } => parcel.returned(),
        SinkMessage::__Generics(..) => unreachable!("nobody can make it"),
    }
}

fn any_message<'a, P: Policy>(
    sink: &'a Ref<Sink<P>>,
    dice: &mut Dice,
    parcel: Parcel,
) -> Tell<'a, SinkMessage<P>> {
    match dice.below(40) {
        0 => sink.choke(parcel),
        1 => sink.choke_later(parcel),
        2..=7 => sink.ponder(parcel),
        _ => sink.take(parcel),
    }
}

/// Sends as an actor does.
#[derive(Actor)]
struct Feeder;

#[handlers]
impl Feeder {
    #[tell]
    async fn feed(&mut self, send: Box<dyn FnMut() -> Sending + Send>) {
        let mut send = send;
        while let Some(sent) = send() {
            sent.await;
        }
    }
}

type Sending = Option<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>>;

const SENDERS: u64 = 4;
const EACH: usize = 150;
const ROUNDS: u64 = 4;

/// What each sender does: `EACH` messages of all sorts, sent in all ways.
fn sender<P: Policy>(
    sink: Ref<Sink<P>>,
    ledger: Arc<Ledger>,
    seed: u64,
) -> impl FnMut() -> Sending + Send {
    let mut dice = Dice::new(seed);
    let mut left = EACH;
    move || {
        left = left.checked_sub(1)?;
        let way = dice.below(3);
        let (sink, parcel, mut dice) = (sink.clone(), ledger.issue(), Dice::new(dice.below(1000)));
        Some(Box::pin(async move {
            let message = any_message(&sink, &mut dice, parcel);
            let sent = match way {
                0 => message.await,
                1 => message.try_send(),
                _ => message.tell(),
            };
            if let Err(error) = sent {
                returned(error.into_message());
            }
        }))
    }
}

/// Threads and actors send while the sink is stopped, killed, drained, and restarted all the time.
fn nothing_is_lost<P: Policy>() {
    everywhere(async |system| {
        let ledger = Ledger::new(usize::try_from(ROUNDS * SENDERS * 2).unwrap() * EACH);
        for round in 0..ROUNDS {
            let sink = system.spawn::<Sink<P>>(()).await.unwrap();
            let mut threads = Vec::new();
            let mut feeders = Vec::new();
            for number in 0..SENDERS {
                let seed = round * 100 + number;
                let mut send = sender(sink.clone(), Arc::clone(&ledger), seed);
                threads.push(thread::spawn(move || {
                    while let Some(sent) = send() {
                        block_on(sent);
                    }
                }));
                let feeder = system.spawn::<Feeder>(Feeder).await.unwrap();
                let send = sender(sink.clone(), Arc::clone(&ledger), seed + 50);
                feeder.feed(Box::new(send)).await.unwrap();
                feeder.drain();
                feeders.push(feeder);
            }
            let turn = usize::try_from(round * SENDERS).unwrap() * 2 * EACH;
            until(|| ledger.issued() >= turn + EACH).await;
            match round % ROUNDS {
                0 => sink.stop(),
                1 => sink.kill(),
                2 => sink.drain(),
                _ => false,
            };
            for thread in threads {
                thread.join().unwrap();
            }
            for feeder in feeders {
                soon(feeder.ended()).await;
            }
            sink.drain();
            soon(sink.ended()).await;
        }
        system.shutdown(LONG).await.unwrap();
        let tally = ledger.settle(&system.counts());
        assert!(tally.handled > 0 && tally.dropped > 0, "{tally:?}");
        assert!(tally.returned > 0, "the sinks that ended gave mail back");
    });
}

// [G-DELIVERY-1]
#[test]
fn nothing_is_lost_without_a_bound() {
    nothing_is_lost::<Unbounded>();
}

// [G-DELIVERY-1]
#[test]
fn nothing_is_lost_where_senders_wait() {
    nothing_is_lost::<Waiting>();
}

// [G-DELIVERY-1]
#[test]
fn nothing_is_lost_where_senders_are_rejected() {
    nothing_is_lost::<Rejecting>();
}

// [G-DELIVERY-1]
#[test]
fn nothing_is_lost_where_the_newest_is_dropped() {
    nothing_is_lost::<DroppingNewest>();
}

// [G-DELIVERY-1]
#[test]
fn nothing_is_lost_where_the_oldest_is_dropped() {
    nothing_is_lost::<DroppingOldest>();
}

/// Short lives: nearly every end overlaps with a send.
fn overlapping_ends_lose_nothing<P: Policy>() {
    for workers in [1, 2] {
        on(workers, Scheduler::stealing(), async |system| {
            let ledger = Ledger::new(300 * 16);
            for round in 0..300 {
                let sink = system.spawn::<Sink<P>>(()).await.expect("it starts");
                let sender = {
                    let (sink, ledger) = (sink.clone(), Arc::clone(&ledger));
                    thread::spawn(move || {
                        for _ in 0..16 {
                            if let Err(error) = sink.take(ledger.issue()).tell() {
                                returned(error.into_message());
                            }
                        }
                    })
                };
                until_issued(&ledger, round * 16 + round % 8);
                sink.kill();
                sender.join().expect("the sender is done");
            }
            system.shutdown(LONG).await.expect("all ends");
            ledger.settle(&system.counts());
        });
    }
}

/// Waits without giving the thread away, to be close behind the sender.
fn until_issued(ledger: &Ledger, count: usize) {
    while ledger.issued() < count {
        thread::yield_now();
    }
}

// [G-DELIVERY-1]
#[test]
fn overlapping_ends_lose_nothing_without_a_bound() {
    overlapping_ends_lose_nothing::<Unbounded>();
}

// [G-DELIVERY-1]
#[test]
fn overlapping_ends_lose_nothing_with_a_bound() {
    overlapping_ends_lose_nothing::<Rejecting>();
}

// [G-DELIVERY-1]
#[test]
fn overlapping_ends_lose_nothing_where_the_oldest_is_dropped() {
    overlapping_ends_lose_nothing::<DroppingOldest>();
}

// [G-DELIVERY-1]
#[test]
fn each_dead_letter_names_its_reason() {
    on(1, Scheduler::locked(), async |system| {
        let mut letters = system.dead_letters();
        let ledger = Ledger::new(3);
        let sink = system.spawn::<Sink<Unbounded>>(()).await.unwrap();
        sink.choke(ledger.issue()).await.unwrap();
        let letter = soon(letters.next()).await.unwrap();
        assert_eq!((letter.actor, letter.reason), (sink.id(), DeadLetterReason::Crashed));
        assert!(letter.message.contains("SinkMessage"), "{}", letter.message);

        // The only worker is busy while these are sent, so the kill finds them queued.
        let hold = hold_worker(system).await;
        sink.take(ledger.issue()).try_send().unwrap();
        sink.take(ledger.issue()).try_send().unwrap();
        sink.kill();
        drop(hold);
        for _ in 0..2 {
            let letter = soon(letters.next()).await.unwrap();
            assert_eq!((letter.actor, letter.reason), (sink.id(), DeadLetterReason::Stopped));
        }
        soon(sink.ended()).await;
        assert_eq!(ledger.settle(&system.counts()).dropped, 3);
    });
}

// [G-DELIVERY-2]
#[test]
fn what_a_full_mailbox_refuses_comes_back() {
    on(1, Scheduler::locked(), async |system| {
        let ledger = Ledger::new(6);
        let sink = system.spawn::<Sink<Rejecting>>(()).await.unwrap();
        let hold = hold_worker(system).await;
        for _ in 0..4 {
            sink.take(ledger.issue()).try_send().unwrap();
        }
        for refused in [sink.take(ledger.issue()).tell(), sink.take(ledger.issue()).try_send()] {
            let Err(TellError::Full(message)) = refused else { panic!("it is full") };
            returned(message);
        }
        drop(hold);
        sink.drain();
        soon(sink.ended()).await;
        assert_eq!(ledger.settle(&system.counts()).handled, 4);
    });
}

// [G-DELIVERY-2]
#[test]
fn what_an_ended_actor_refuses_comes_back() {
    on(1, Scheduler::locked(), async |system| {
        let ledger = Ledger::new(3);
        let sink = system.spawn::<Sink<Waiting>>(()).await.unwrap();
        sink.stop();
        soon(sink.ended()).await;
        for refused in [
            sink.take(ledger.issue()).await,
            sink.take(ledger.issue()).tell(),
            sink.take(ledger.issue()).try_send(),
        ] {
            let Err(TellError::Closed(message)) = refused else { panic!("it is closed") };
            returned(message);
        }
        assert_eq!(ledger.settle(&system.counts()).returned, 3);
    });
}

// [G-DELIVERY-2]
#[test]
fn the_newest_that_is_dropped_is_a_dead_letter() {
    on(1, Scheduler::locked(), async |system| {
        let mut letters = system.dead_letters();
        let ledger = Ledger::new(5);
        let sink = system.spawn::<Sink<DroppingNewest>>(()).await.unwrap();
        let hold = hold_worker(system).await;
        for _ in 0..5 {
            sink.take(ledger.issue()).tell().unwrap();
        }
        let letter = letters.try_next().unwrap();
        assert_eq!((letter.actor, letter.reason), (sink.id(), DeadLetterReason::DroppedNewest));
        drop(hold);
        sink.drain();
        soon(sink.ended()).await;
        let tally = ledger.settle(&system.counts());
        assert_eq!((tally.handled, tally.dropped), (4, 1));
    });
}
