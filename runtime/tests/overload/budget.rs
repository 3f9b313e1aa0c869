//! A budget for the mail of a whole system, in messages and in bytes.

use crate::gate::{Bounded, Gate, Gated, Load, Newest, Oldest, Plain, Policy, heavy, load};
use crate::support::{Builds, OwnSystem, SCHEDULERS, block_on, poll_once, run, soon, until};
use greenroom::{
    Actor, AskError, BuildError, Event, Quantity, Ref, System, SystemPressure, TellError, handlers,
};
use std::thread;
use tokio::sync::oneshot;

const BYTES: usize = size_of::<Load>();

fn system(messages: usize) -> OwnSystem {
    System::builder().workers(1).budget_messages(messages).own()
}

fn waiting(system: &System) -> [Option<usize>; 2] {
    let SystemPressure { messages, bytes, .. } = system.pressure();
    [messages, bytes].map(|quantity| quantity.map(|quantity| quantity.waiting))
}

// [G-BUDGET-1] [G-BUDGET-3]
#[test]
fn all_mailboxes_together_hold_as_many_messages_as_the_budget() {
    let system = system(3);
    let mut events = system.events();
    run(async {
        let mut one = Gated::<Plain>::busy(&system).await;
        let mut other = Gated::<Bounded>::busy(&system).await;
        assert_eq!(waiting(&system), [Some(0), None]);
        one.actor.tell(load(1)).try_send().unwrap();
        one.actor.tell(load(2)).tell().unwrap();
        other.actor.tell(load(1)).await.unwrap();
        let full = || Err(TellError::SystemFull(load(9)));
        assert_eq!(other.actor.tell(load(9)).try_send(), full());
        assert_eq!(one.actor.tell(load(9)).tell(), full());
        assert_eq!(system.counts().rejected_full, 2);
        let mut held = other.actor.tell(load(2)).into_future();
        assert!(poll_once(&mut held).is_pending());
        // What one handles is room for the other, and first for who waits.
        assert_eq!(one.next().await, 1);
        assert_eq!(one.actor.tell(load(9)).try_send(), full());
        soon(held).await.unwrap();
        assert_eq!(other.next().await, 1);
        assert_eq!(other.next().await, 2);
        assert_eq!(one.next().await, 2);
        let messages = system.pressure().messages.unwrap();
        assert_eq!((messages.waiting, messages.peak, messages.is_overloaded), (0, 3, false));
        let mut told = Vec::new();
        while let Some(event) = events.try_next() {
            match event {
                Event::SystemOverloaded { quantity } => told.push((true, quantity)),
                Event::SystemRelieved { quantity } => told.push((false, quantity)),
                _ => {}
            }
        }
        assert_eq!(told, [(true, Quantity::Messages), (false, Quantity::Messages)]);
        one.open();
        other.open();
    });
}

// [G-BUDGET-1]
#[test]
fn all_mailboxes_together_hold_as_many_bytes_as_the_budget() {
    let system = System::builder().workers(1).budget_bytes(100).own();
    run(async {
        let mut one = Gated::<Plain>::busy(&system).await;
        one.actor.tell(heavy(1, 60)).try_send().unwrap();
        let full = one.actor.tell(heavy(2, 41)).try_send();
        assert_eq!(full, Err(TellError::SystemFull(heavy(2, 41))));
        one.actor.tell(heavy(3, 40)).try_send().unwrap();
        assert_eq!(waiting(&system), [None, Some(100)]);
        // What never fits does not wait.
        let huge = soon(one.actor.tell(heavy(4, 101)).into_future()).await;
        assert_eq!(huge, Err(TellError::SystemFull(heavy(4, 101))));
        assert_eq!(soon(one.actor.ask(heavy(5, 101)).into_future()).await, Err(AskError::Refused));
        let actor = one.actor.clone();
        let mut question = actor.ask(load(6)).into_future();
        assert!(poll_once(&mut question).is_pending());
        assert_eq!(one.next().await, 1);
        // The question is in when its future is looked at again.
        assert!(poll_once(&mut question).is_pending());
        assert_eq!(waiting(&system), [None, Some(40 + question_bytes())]);
        one.open();
        assert_eq!(soon(question).await.unwrap(), 6);
        assert_eq!(waiting(&system), [None, Some(0)]);
    });
}

/// Bytes of a question, which carries the right to answer it.
fn question_bytes() -> usize {
    size_of::<greenroom::Asked<Load>>()
}

// [G-BUDGET-1] [G-BOUND-2]
#[test]
fn a_spent_budget_is_a_full_mailbox_to_the_policies() {
    let system = system(3);
    run(async {
        let newest = Gated::<Newest>::busy(&system).await;
        let mut oldest = Gated::<Oldest>::busy(&system).await;
        newest.actor.tell(load(1)).tell().unwrap();
        newest.actor.tell(load(2)).tell().unwrap();
        oldest.actor.tell(load(1)).tell().unwrap();
        newest.actor.tell(load(3)).tell().unwrap();
        assert_eq!(system.counts().dropped_newest, 1);
        for number in 2..=5 {
            oldest.actor.tell(load(number)).tell().unwrap();
        }
        assert_eq!(system.counts().dropped_oldest, 4);
        assert_eq!(waiting(&system), [Some(3), None]);
        assert_eq!(oldest.next().await, 5);
        newest.actor.tell(load(4)).tell().unwrap();
        // It has nothing left to drop.
        let full = oldest.actor.tell(load(6)).tell();
        assert_eq!(full, Err(TellError::SystemFull(load(6))));
        newest.open();
        oldest.open();
        until(|| waiting(&system) == [Some(0), None]).await;
    });
}

// [G-BUDGET-1] [G-BOUND-2]
#[test]
fn what_is_larger_than_the_budget_drops_nothing() {
    let system = System::builder().workers(1).budget_bytes(100).own();
    run(async {
        let mut oldest = Gated::<Oldest>::busy(&system).await;
        oldest.actor.tell(heavy(1, 40)).tell().unwrap();
        let huge = oldest.actor.tell(heavy(2, 101)).tell();
        assert_eq!(huge, Err(TellError::SystemFull(heavy(2, 101))));
        assert_eq!(system.counts().dropped_oldest, 0);
        oldest.open();
        assert_eq!(oldest.next().await, 1);
    });
}

// [G-BUDGET-1] [G-BOUND-2]
#[test]
fn the_larger_takes_the_place_of_several_or_of_nobody() {
    let system = System::builder().workers(1).budget_bytes(1000).own();
    run(async {
        let newest = Gated::<Newest>::busy(&system).await;
        let mut oldest = Gated::<Oldest>::busy(&system).await;
        newest.actor.tell(heavy(1, 500)).tell().unwrap();
        for number in 1..=3 {
            oldest.actor.tell(heavy(number, 150)).tell().unwrap();
        }
        oldest.actor.tell(heavy(4, 300)).tell().unwrap();
        assert_eq!(system.counts().dropped_oldest, 2);
        assert_eq!(waiting(&system), [None, Some(950)]);
        // All that wait there would not make room for it.
        let large = oldest.actor.tell(heavy(5, 600)).tell();
        assert_eq!(large, Err(TellError::SystemFull(heavy(5, 600))));
        assert_eq!(system.counts().dropped_oldest, 2);
        oldest.actor.tell(heavy(6, 100)).tell().unwrap();
        assert_eq!(waiting(&system), [None, Some(900)]);
        newest.open();
        oldest.open();
        assert_eq!((oldest.next().await, oldest.next().await), (4, 6));
        until(|| waiting(&system) == [None, Some(0)]).await;
    });
}

// [G-BUDGET-1]
#[test]
fn the_dead_give_their_part_back() {
    for scheduler in SCHEDULERS {
        let builder = System::builder().workers(2).scheduler(scheduler());
        let system = builder.budget_messages(50).budget_bytes(50 * BYTES).own();
        run(async {
            die::<Plain>(&system).await;
            die::<Bounded>(&system).await;
            die::<Newest>(&system).await;
            die::<Oldest>(&system).await;
        });
        let SystemPressure { messages, bytes, .. } = system.pressure();
        assert!(messages.unwrap().peak <= 50 && bytes.unwrap().peak <= 50 * BYTES);
    }
}

/// Ends actors in every way, with mail; all that was taken of the budget has to come back.
async fn die<P: Policy>(system: &System) {
    for end in [Ref::stop, Ref::kill, Ref::drain] {
        let gated = Gated::<P>::busy(system).await;
        for number in 1..=3 {
            gated.actor.tell(load(number)).try_send().unwrap();
        }
        let actor = gated.actor.clone();
        let late = thread::spawn(move || {
            // Some come before the end, and some while it is going on.
            while actor.tell(load(4)).tell() != Err(TellError::Closed(load(4))) {
                thread::yield_now();
            }
        });
        until(|| waiting(system)[0].unwrap() > 3 || P::MAILBOX.messages_max() == Some(3)).await;
        end(&gated.actor);
        gated.open();
        soon(gated.actor.ended()).await;
        late.join().unwrap();
        until(|| waiting(system) == [Some(0), Some(0)]).await;
    }
}

// [G-BUDGET-1]
#[test]
fn threads_stay_within_the_budget() {
    const THREADS: u32 = 8;
    for scheduler in SCHEDULERS {
        let builder = System::builder().workers(2).scheduler(scheduler());
        let system = builder.budget_messages(20).budget_bytes(10 * BYTES).own();
        run(async {
            let one = Gated::<Plain>::busy(&system).await;
            let other = Gated::<Bounded>::busy(&system).await;
            one.open();
            other.open();
            let send = |_| {
                let (one, other) = (one.actor.clone(), other.actor.clone());
                thread::spawn(move || {
                    (0..100).for_each(|number| {
                        flood(&one, number);
                        flood(&other, number);
                    });
                })
            };
            let threads: Vec<_> = (0..THREADS).map(send).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            until(|| waiting(&system) == [Some(0), Some(0)]).await;
            let SystemPressure { messages, bytes, .. } = system.pressure();
            let (messages, bytes) = (messages.unwrap().peak, bytes.unwrap().peak);
            assert!(messages <= 20 && bytes <= 10 * BYTES, "{messages} messages, {bytes} bytes");
            assert!(messages > 1, "they met");
        });
    }
}

/// Sends in one of the ways.
fn flood<P: Policy>(to: &Ref<Gate<P>>, number: u32) {
    let message = to.tell(heavy(number, BYTES * (1 + number as usize % 3)));
    match number % 4 {
        // An error says that there was no room.
        0 => drop(message.try_send()),
        1 => drop(message.tell()),
        2 => message.wait().unwrap(),
        _ => block_on(message.into_future()).unwrap(),
    }
}

/// Tells another, when it is let.
#[derive(Actor)]
struct Go {
    heard: u32,
}

#[handlers]
impl Go {
    #[start]
    fn start() -> Self {
        Self { heard: 0 }
    }
    #[tell]
    async fn send(
        &mut self,
        to: Ref<Gate<Plain>>,
        begun: oneshot::Sender<()>,
        start: oneshot::Receiver<()>,
    ) {
        begun.send(()).unwrap();
        start.await.unwrap();
        to.tell(load(3)).await.unwrap();
    }
    #[tell]
    async fn relay(
        &mut self,
        to: Ref<Self>,
        begun: oneshot::Sender<()>,
        start: oneshot::Receiver<()>,
    ) {
        begun.send(()).unwrap();
        start.await.unwrap();
        to.hear().await.unwrap();
    }
    /// What becomes of messages of so many bytes that it tells when it is let.
    #[ask]
    async fn try_large(
        &mut self,
        to: Ref<Gate<Plain>>,
        bytes: Vec<usize>,
        begun: oneshot::Sender<()>,
        start: oneshot::Receiver<()>,
    ) -> Vec<Result<(), TellError<Load>>> {
        begun.send(()).unwrap();
        start.await.unwrap();
        let mut told = Vec::new();
        for bytes in bytes {
            told.push(to.tell(heavy(1, bytes)).await);
        }
        told
    }
    #[tell]
    fn hear(&mut self) {
        self.heard += 1;
    }
    #[ask]
    fn heard(&self) -> u32 {
        self.heard
    }
}

// [G-BUDGET-2]
#[test]
fn who_has_mail_does_not_wait_for_the_budget() {
    for scheduler in SCHEDULERS {
        let builder = System::builder().workers(1).scheduler(scheduler());
        let system = builder.budget_messages(3).own();
        run(async {
            let gated = Gated::<Plain>::busy(&system).await;
            let go = system.spawn::<Go>(()).await.unwrap();
            let helper = system.spawn::<Go>(()).await.unwrap();
            let (begun, has_begun) = oneshot::channel();
            let (let_go, start) = oneshot::channel();
            go.send(gated.actor.clone(), begun, start).await.unwrap();
            soon(has_begun).await.unwrap();
            let (begun, has_begun) = oneshot::channel();
            let (let_help, start) = oneshot::channel();
            helper.relay(go.clone(), begun, start).await.unwrap();
            soon(has_begun).await.unwrap();
            helper.hear().await.unwrap();
            gated.actor.tell(load(1)).await.unwrap();
            gated.actor.tell(load(2)).await.unwrap();
            assert_eq!(waiting(&system)[0], Some(3), "the budget is spent");
            let_go.send(()).unwrap();
            // Its turn comes before that of whoever is made later.
            for _ in 0..2 {
                system.spawn::<Go>(()).await.unwrap();
            }
            assert_eq!(gated.pressure().waiting, 2, "it has no mail, and waits");
            let_help.send(()).unwrap();
            // That one has mail, so it passes, and what it sends sets its receiver free.
            until(|| gated.pressure().waiting == 3).await;
            gated.open();
            assert_eq!(soon(go.heard().into_future()).await.unwrap(), 1);
            until(|| waiting(&system)[0] == Some(0)).await;
            let peak = system.pressure().messages.unwrap().peak;
            assert!((4..=5).contains(&peak), "two passed, and {peak} waited at most");
        });
    }
}

// [G-BUDGET-2]
#[test]
fn what_is_larger_than_the_budget_is_refused_whoever_sends_it() {
    const BUDGET: usize = 10_000;
    everywhere_with(BUDGET, &async |system: &System| {
        let gated = Gated::<Plain>::busy(system).await;
        let go = system.spawn::<Go>(()).await.unwrap();
        let (begun, has_begun) = oneshot::channel();
        let (let_go, start) = oneshot::channel();
        let bytes = vec![BUDGET + 1, usize::MAX];
        let mut asked = go.try_large(gated.actor.clone(), bytes, begun, start).into_future();
        assert!(poll_once(&mut asked).is_pending());
        soon(has_begun).await.unwrap();
        // Who has mail passes the budget, with what could ever have room.
        go.hear().await.unwrap();
        let_go.send(()).unwrap();
        for (told, bytes) in soon(asked).await.unwrap().into_iter().zip([BUDGET + 1, usize::MAX]) {
            assert_eq!(told, Err(TellError::SystemFull(heavy(1, bytes))));
        }
        gated.open();
        until(|| waiting(system)[1] == Some(0)).await;
    });
}

/// Runs `test` under each scheduler, in a system with that budget.
fn everywhere_with(bytes: usize, test: &impl AsyncFn(&System)) {
    for scheduler in SCHEDULERS {
        let system = System::builder().workers(1).scheduler(scheduler()).budget_bytes(bytes).own();
        run(test(&system));
    }
}

#[test]
fn a_budget_of_nothing_is_refused() {
    let nothing = [
        System::builder().budget_messages(0),
        System::builder().budget_bytes(0),
        System::builder().overload_messages(0),
    ];
    for builder in nothing {
        assert!(matches!(builder.build(), Err(BuildError::Config(_))));
    }
}
