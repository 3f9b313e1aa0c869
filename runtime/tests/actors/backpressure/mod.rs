//! Bounded means bounded: by messages, by bytes, and whatever the policy says happens to the rest.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod gauge;
mod heap;
mod model;

use crate::support::{everywhere, exit_of, on, policies, poll_once, soon};
use greenroom::{
    Actor, AskError, Context, DeadLetterReason, Down, Full, HandleAsync, Mailbox, Message, Options,
    Ref, Scheduler, System, TellError, handlers,
};
use std::marker::PhantomData;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

const MESSAGES: usize = 3;
const BYTES: usize = 100;

policies! {
    /// Tells the mailboxes of otherwise equal actors apart.
    Policy { MAILBOX: Mailbox }
    Waiting = Mailbox::bounded(MESSAGES).bytes(BYTES);
    Rejecting = Mailbox::bounded(MESSAGES).bytes(BYTES).full(Full::Reject);
    DroppingNewest = Mailbox::bounded(MESSAGES).bytes(BYTES).full(Full::DropNewest);
    DroppingOldest = Mailbox::bounded(MESSAGES).bytes(BYTES).full(Full::DropOldest);
}

/// A load of as many bytes as it says, itself included.
#[derive(Debug, PartialEq, Eq)]
struct Load {
    number: u32,
    bytes: usize,
}

impl Message for Load {
    type Reply = u32;

    fn heap_bytes(&self) -> usize {
        self.bytes.saturating_sub(size_of::<Self>())
    }
}

/// An actor that says what it begins with, and goes on with the next only when it is let.
struct Gate<P> {
    began: mpsc::UnboundedSender<u32>,
    permits: Arc<Semaphore>,
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Gate<P> {
    const OPTIONS: Options = Options::new().mailbox(P::MAILBOX);
}

#[handlers]
impl<P: Policy> Gate<P> {
    #[start]
    fn start(
        began: mpsc::UnboundedSender<u32>,
        permits: Arc<Semaphore>,
        watched: Option<Ref<Bystander>>,
        cx: &mut Context<Self>,
    ) -> Self {
        if let Some(watched) = watched {
            cx.watch(&watched, Self::down);
            cx.after(Duration::from_millis(1), Self::tick);
        }
        Self { began, permits, of: PhantomData }
    }
    #[local]
    fn down(&mut self, _down: Down) {
        let _ = self.began.send(DOWN);
    }
    #[local]
    fn tick(&mut self) {
        let _ = self.began.send(TICK);
    }
}

/// What an end and a timer are reported as.
const DOWN: u32 = u32::MAX;
const TICK: u32 = u32::MAX - 1;

impl<P: Policy> HandleAsync<Load> for Gate<P> {
    async fn handle(&mut self, load: Load, _cx: &mut Context<Self>) -> u32 {
        // An error means that the test is over.
        let _ = self.began.send(load.number);
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
        load.number
    }
}

#[derive(Actor)]
struct Bystander;

#[handlers]
impl Bystander {}

/// An actor behind a gate, and the test's side of the gate.
struct Gated<P: Policy> {
    actor: Ref<Gate<P>>,
    began: mpsc::UnboundedReceiver<u32>,
    permits: Arc<Semaphore>,
}

impl<P: Policy> Gated<P> {
    async fn spawn(system: &System, watched: Option<Ref<Bystander>>) -> Self {
        let (sender, began) = mpsc::unbounded_channel();
        let permits = Arc::new(Semaphore::new(0));
        let args = (sender, Arc::clone(&permits), watched);
        let actor = system.spawn::<Gate<P>>(args).await.expect("it starts");
        Self { actor, began, permits }
    }

    /// An actor that handles message 0, and has not handled anything else.
    async fn busy(system: &System) -> Self {
        let mut gated = Self::spawn(system, None).await;
        gated.actor.tell(load(0)).try_send().expect("it is empty");
        assert_eq!(gated.begun().await, 0);
        gated
    }

    /// The number of the next message that it begins with.
    async fn begun(&mut self) -> u32 {
        soon(self.began.recv()).await.expect("the actor lives")
    }

    /// Lets the running handler return.
    fn go_on(&self) {
        self.permits.add_permits(1);
    }

    /// Lets all handlers return, and waits for the end.
    async fn finish(self) {
        self.permits.add_permits(Semaphore::MAX_PERMITS / 2);
        self.actor.drain();
        soon(self.actor.ended()).await;
    }
}

fn load(number: u32) -> Load {
    Load { number, bytes: size_of::<Load>() }
}

fn heavy(number: u32, bytes: usize) -> Load {
    Load { number, bytes }
}

// [G-BOUND-1]
#[test]
fn it_holds_as_many_messages_as_its_bound() {
    on(1, Scheduler::locked(), async |system| {
        let mut gated = Gated::<Waiting>::busy(system).await;
        for number in 1..=3 {
            gated.actor.tell(load(number)).try_send().unwrap();
        }
        let refused = gated.actor.tell(load(4)).try_send();
        assert_eq!(refused, Err(TellError::Full(load(4))));
        // The message that is being handled has left the mailbox.
        gated.go_on();
        assert_eq!(gated.begun().await, 1);
        gated.actor.tell(load(5)).try_send().unwrap();
        assert_eq!(gated.actor.tell(load(6)).try_send(), Err(TellError::Full(load(6))));
        gated.finish().await;
    });
}

// [G-BOUND-1]
#[test]
fn it_holds_as_many_bytes_as_its_bound() {
    on(1, Scheduler::locked(), async |system| {
        let mut gated = Gated::<Waiting>::busy(system).await;
        gated.actor.tell(heavy(1, 60)).try_send().unwrap();
        assert_eq!(gated.actor.tell(heavy(2, 41)).try_send(), Err(TellError::Full(heavy(2, 41))));
        gated.actor.tell(heavy(3, 40)).try_send().unwrap();
        assert_eq!(gated.actor.tell(load(4)).try_send(), Err(TellError::Full(load(4))));
        gated.go_on();
        assert_eq!(gated.begun().await, 1);
        gated.actor.tell(heavy(5, 60)).try_send().unwrap();
        gated.finish().await;
        assert_eq!(system.counts().rejected_full, 2);
    });
}

// [G-BOUND-1] [G-BOUND-2]
#[test]
fn a_message_larger_than_the_mailbox_never_fits() {
    on(1, Scheduler::locked(), async |system| {
        async fn check<P: Policy>(system: &System) {
            let gated = Gated::<P>::busy(system).await;
            gated.actor.tell(load(1)).try_send().expect("there is room");
            let huge = || heavy(9, BYTES + 1);
            let full = Err(TellError::Full(huge()));
            assert_eq!(gated.actor.tell(huge()).try_send(), full);
            assert_eq!(soon(gated.actor.tell(huge()).into_future()).await, full);
            if P::MAILBOX.when_full() == Full::DropNewest {
                assert_eq!(gated.actor.tell(huge()).tell(), Ok(()));
            } else {
                assert_eq!(gated.actor.tell(huge()).tell(), full);
            }
            gated.finish().await;
        }
        check::<Waiting>(system).await;
        check::<Rejecting>(system).await;
        check::<DroppingNewest>(system).await;
        check::<DroppingOldest>(system).await;
        let counts = system.counts();
        assert_eq!((counts.rejected_full, counts.dropped_newest), (11, 1));
        assert_eq!(counts.dropped_oldest, 0, "no message makes room for one that never fits");
    });
}

// [G-BOUND-2]
#[test]
fn full_means_what_the_receiver_declares() {
    on(1, Scheduler::locked(), async |system| {
        /// Fills the mailbox with 1, 2, 3, tells 4, and returns what is handled in the end.
        async fn overflow<P: Policy>(system: &System) -> (Result<(), TellError<Load>>, Vec<u32>) {
            let mut gated = Gated::<P>::busy(system).await;
            for number in 1..=3 {
                gated.actor.tell(load(number)).tell().expect("there is room");
            }
            let told = gated.actor.tell(load(4)).tell();
            gated.permits.add_permits(10);
            let mut handled = Vec::new();
            for _ in 0..3 {
                handled.push(gated.begun().await);
            }
            gated.finish().await;
            (told, handled)
        }
        let full = || Err(TellError::Full(load(4)));
        assert_eq!(overflow::<Waiting>(system).await, (full(), vec![1, 2, 3]));
        assert_eq!(overflow::<Rejecting>(system).await, (full(), vec![1, 2, 3]));
        assert_eq!(system.counts().rejected_full, 2);

        let mut letters = system.dead_letters();
        assert_eq!(overflow::<DroppingNewest>(system).await, (Ok(()), vec![1, 2, 3]));
        let letter = letters.try_next().unwrap();
        assert_eq!(letter.reason, DeadLetterReason::DroppedNewest);
        assert_eq!(overflow::<DroppingOldest>(system).await, (Ok(()), vec![2, 3, 4]));
        let letter = letters.try_next().unwrap();
        assert_eq!(letter.reason, DeadLetterReason::DroppedOldest);
        let counts = system.counts();
        assert_eq!((counts.dropped_newest, counts.dropped_oldest), (1, 1));
        assert!(letters.try_next().is_none());
    });
}

// [G-BOUND-2]
#[test]
fn dropping_the_oldest_refuses_nothing_that_fits() {
    everywhere(async |system| {
        let gated = Gated::<DroppingOldest>::spawn(system, None).await;
        gated.permits.add_permits(Semaphore::MAX_PERMITS / 2);
        let send = |_| {
            let actor = gated.actor.clone();
            thread::spawn(move || {
                for number in 0..500 {
                    actor.tell(load(number)).tell().expect("it fits when the others are dropped");
                }
            })
        };
        let threads: Vec<_> = (0..3).map(send).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        gated.actor.drain();
        soon(gated.actor.ended()).await;
    });
}

// [G-BOUND-2]
#[test]
fn waiting_senders_are_served_in_order() {
    on(1, Scheduler::locked(), async |system| {
        let mut gated = Gated::<Waiting>::busy(system).await;
        for number in 1..=3 {
            gated.actor.tell(load(number)).try_send().unwrap();
        }
        let actor = gated.actor.clone();
        let mut senders: Vec<_> =
            (4..8).map(|number| actor.tell(load(number)).into_future()).collect();
        for sender in &mut senders {
            assert!(poll_once(sender).is_pending());
        }
        // Nobody gets in before those who wait.
        gated.go_on();
        assert_eq!(gated.begun().await, 1);
        assert!(actor.tell(load(9)).try_send().is_err());
        gated.permits.add_permits(20);
        for sender in senders {
            soon(sender).await.unwrap();
        }
        for number in 2..8 {
            assert_eq!(gated.begun().await, number);
        }
        gated.finish().await;
    });
}

// [G-BOUND-2]
#[test]
fn a_sender_that_gives_up_leaves_its_place() {
    on(1, Scheduler::locked(), async |system| {
        let mut gated = Gated::<Waiting>::busy(system).await;
        for number in 1..=3 {
            gated.actor.tell(load(number)).try_send().unwrap();
        }
        let actor = gated.actor.clone();
        let mut first = actor.tell(load(4)).into_future();
        let mut second = actor.tell(load(5)).into_future();
        assert!(poll_once(&mut first).is_pending());
        assert!(poll_once(&mut second).is_pending());
        drop(first);
        gated.permits.add_permits(20);
        soon(second).await.unwrap();
        for number in [1, 2, 3, 5] {
            assert_eq!(gated.begun().await, number);
        }
        gated.finish().await;
    });
}

// [G-BOUND-2] [G-DELIVERY-1]
#[test]
fn waiting_senders_get_their_messages_back_when_the_actor_ends() {
    everywhere(async |system| {
        for end in [Ref::stop, Ref::kill, Ref::drain] {
            let gated = Gated::<Waiting>::busy(system).await;
            for number in 1..=3 {
                gated.actor.tell(load(number)).try_send().unwrap();
            }
            let actor = gated.actor.clone();
            let mut senders: Vec<_> =
                (4..10).map(|number| actor.tell(load(number)).into_future()).collect();
            for sender in &mut senders {
                assert!(poll_once(sender).is_pending());
            }
            end(&gated.actor);
            gated.permits.add_permits(20);
            for (number, sender) in (4..10).zip(senders) {
                assert_eq!(soon(sender).await, Err(TellError::Closed(load(number))));
            }
            soon(gated.actor.ended()).await;
        }
        assert_eq!(system.counts().rejected_full, 0, "nothing that waited was rejected");
    });
}

// [G-SYSTEM-1]
#[test]
fn a_full_mailbox_takes_ends_timers_and_orders() {
    on(1, Scheduler::locked(), async |system| {
        let bystander = system.spawn::<Bystander>(Bystander).await.unwrap();
        let mut gated = Gated::<DroppingOldest>::spawn(system, Some(bystander.clone())).await;
        gated.actor.tell(load(0)).try_send().unwrap();
        // The timer may come before or behind it.
        let mut begun = vec![gated.begun().await];
        while !begun.contains(&0) {
            begun.push(gated.begun().await);
        }
        for number in 1..1000 {
            gated.actor.tell(load(number)).tell().unwrap();
        }
        bystander.stop();
        soon(bystander.ended()).await;
        for number in 1000..2000 {
            gated.actor.tell(load(number)).tell().unwrap();
        }
        gated.permits.add_permits(10);
        while begun.len() < 6 {
            begun.push(gated.begun().await);
        }
        begun.sort_unstable();
        assert_eq!(begun, [0, 1997, 1998, 1999, TICK, DOWN]);
        gated.finish().await;
    });
}

// [G-SYSTEM-1]
#[test]
fn a_full_mailbox_does_not_hold_an_end_back() {
    everywhere(async |system| {
        let mut events = system.events();
        let gated = Gated::<Rejecting>::busy(system).await;
        for number in 1..=3 {
            gated.actor.tell(load(number)).try_send().unwrap();
        }
        gated.actor.kill();
        let reason = exit_of(&gated.actor, &mut events).await;
        assert_eq!(reason, greenroom::ExitReason::Killed);

        let gated = Gated::<Rejecting>::busy(system).await;
        for number in 1..=3 {
            gated.actor.tell(load(number)).try_send().unwrap();
        }
        gated.actor.stop();
        gated.go_on();
        let reason = exit_of(&gated.actor, &mut events).await;
        assert_eq!(reason, greenroom::ExitReason::Stopped);
        assert_eq!(system.counts().dead_stopped, 6);
    });
}

// [G-BOUND-2] [G-ASK-1]
#[test]
fn a_question_that_is_pushed_out_has_no_reply() {
    on(1, Scheduler::locked(), async |system| {
        let gated = Gated::<DroppingOldest>::busy(system).await;
        let actor = gated.actor.clone();
        let mut question = actor.ask(load(1)).into_future();
        assert!(poll_once(&mut question).is_pending());
        for number in 2..=4 {
            gated.actor.tell(load(number)).tell().unwrap();
        }
        assert_eq!(soon(question).await, Err(AskError::NoReply));
        assert_eq!(system.counts().dropped_oldest, 1);
        gated.finish().await;
    });
}
