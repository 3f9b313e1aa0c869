//! Circles of actors that hold each other back go on, in simulated worlds. `GREENROOM_SEEDS` says how many.
#![cfg(not(any(loom, shuttle)))]

use crate::support::{SCHEDULINGS, scheduled};
use greenroom::sim::{Explore, World};
use greenroom::{Actor, AskError, Builder, Context, Ref, System, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Seeds for each circle under each scheduler, unless the environment says more.
const SEEDS: u64 = 6;
/// Longer, in a world's time, than anything here takes.
const LONG: Duration = Duration::from_secs(3600);

/// What all members of a circle share.
#[derive(Default)]
struct Tally {
    sent: AtomicU64,
    handled: AtomicU64,
}

/// Passes on what it gets, and floods the next ones when it is told to.
#[derive(Actor)]
#[actor(mailbox = unbounded(overload = 3))]
struct Member {
    tally: Arc<Tally>,
    next: Vec<Ref<Self>>,
    /// The next number from its predecessor, if it has one alone.
    due: u64,
}

#[handlers]
impl Member {
    #[start]
    fn start(tally: Arc<Tally>) -> Self {
        Self { tally, next: Vec::new(), due: 0 }
    }
    #[ask]
    fn meet(&mut self, next: Vec<Ref<Self>>) {
        self.next = next;
    }
    /// Sends so many letters to each of the next, which go so many steps each.
    #[tell]
    async fn flood(&mut self, letters: u64, hops: u64) {
        for number in 0..letters {
            for next in &self.next {
                self.tally.sent.fetch_add(1, Ordering::Relaxed);
                next.pass(Some(number), hops).await.unwrap();
            }
        }
    }
    #[tell]
    async fn pass(&mut self, number: Option<u64>, hops: u64) {
        if let Some(number) = number {
            assert!(number == self.due || self.next.len() > 1, "each sender's letters in order");
            self.due = number + 1;
        }
        if hops > 0 {
            let next = &self.next[hops as usize % self.next.len()];
            self.tally.sent.fetch_add(1, Ordering::Relaxed);
            next.pass(None, hops - 1).await.unwrap();
        }
        self.tally.handled.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes so many members, of whom each sends to `next` of it, and lets all flood.
async fn play(system: &System, count: usize, next: Next, letters: u64, hops: u64) {
    let tally = Arc::new(Tally::default());
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(system.spawn::<Member>(Arc::clone(&tally)).await.unwrap());
    }
    for (index, member) in all.iter().enumerate() {
        let next = next(index, count).into_iter().map(|at| all[at].clone()).collect();
        member.meet(next).within(LONG).await.unwrap();
    }
    for member in &all {
        member.flood(letters, hops).await.unwrap();
    }
    system.await_idle(LONG).await.unwrap();
    let sent = tally.sent.load(Ordering::Relaxed);
    assert_eq!(tally.handled.load(Ordering::Relaxed), sent, "nothing stands still");
    for member in &all {
        let pressure = member.pressure().unwrap();
        assert!(pressure.waiting == 0 && !pressure.is_overloaded, "{pressure:?}");
    }
}

/// Whom a member sends to.
type Next = fn(index: usize, count: usize) -> Vec<usize>;

/// Many worlds under each scheduler.
fn everywhere(
    settings: impl Fn(Builder) -> Builder + Copy + 'static,
    play: impl Fn(&mut World, &System) + Copy,
) {
    for scheduling in SCHEDULINGS {
        Explore::new().seeds(SEEDS).run(|world| {
            let workers = 1 + world.pick(3);
            let settings =
                move |builder: Builder| settings(scheduled(builder.workers(workers), scheduling));
            let system = world.node("one").settings(settings).start().system();
            play(world, &system);
        });
    }
}

/// In many worlds; each must come to an end with everything handled.
fn explore(
    settings: impl Fn(Builder) -> Builder + Copy + 'static,
    play: impl AsyncFn(&System) + Copy,
) {
    everywhere(settings, |world, system| {
        world.run(play(system));
        world.sometimes("somebody is held back", system.counts().held_back > 0);
        let pressure = system.pressure();
        for quantity in [pressure.messages, pressure.bytes].into_iter().flatten() {
            assert_eq!(quantity.waiting, 0);
        }
    });
}

// [G-OVERLOAD-2] [G-DELIVERY-1]
#[test]
fn a_ring_goes_on() {
    explore(
        |builder| builder,
        async |system| {
            let next: Next = |index, count| vec![(index + 1) % count];
            play(system, 4, next, 12, 3).await;
        },
    );
}

// [G-OVERLOAD-2] [G-DELIVERY-1]
#[test]
fn two_that_flood_each_other_go_on() {
    explore(
        |builder| builder,
        async |system| play(system, 2, |index, _| vec![1 - index], 30, 2).await,
    );
}

// [G-OVERLOAD-2] [G-DELIVERY-1]
#[test]
fn all_that_flood_all_go_on() {
    explore(
        |builder| builder,
        async |system| {
            let next: Next = |index, count| (0..count).filter(|at| *at != index).collect();
            play(system, 4, next, 6, 2).await;
        },
    );
}

// [G-OVERLOAD-2] [G-BUDGET-2] [G-DELIVERY-1]
#[test]
fn a_ring_with_a_budget_goes_on() {
    explore(
        |builder| builder.budget_messages(5).budget_bytes(1 << 10),
        async |system| {
            let next: Next = |index, count| vec![(index + 1) % count];
            play(system, 4, next, 12, 3).await;
        },
    );
}

/// One whose mailbox has a bound, and one that holds its senders back.
#[derive(Actor)]
#[actor(mailbox = bounded(2))]
struct Strict {
    other: Option<Ref<Lax>>,
    tally: Arc<Tally>,
}

#[handlers]
impl Strict {
    #[ask]
    fn meet(&mut self, other: Ref<Lax>) {
        self.other = Some(other);
    }
    #[tell]
    async fn pass(&mut self, hops: u64) {
        if let Some(hops) = hops.checked_sub(1) {
            self.tally.sent.fetch_add(1, Ordering::Relaxed);
            self.other.as_ref().unwrap().pass(hops).await.unwrap();
        }
        self.tally.handled.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Actor)]
#[actor(mailbox = unbounded(overload = 2))]
struct Lax {
    other: Ref<Strict>,
    tally: Arc<Tally>,
}

#[handlers]
impl Lax {
    #[tell]
    async fn pass(&mut self, hops: u64) {
        if let Some(hops) = hops.checked_sub(1) {
            self.tally.sent.fetch_add(1, Ordering::Relaxed);
            self.other.pass(hops).await.unwrap();
        }
        self.tally.handled.fetch_add(1, Ordering::Relaxed);
    }
}

// [G-OVERLOAD-2] [G-BOUND-1]
#[test]
fn a_circle_with_a_bounded_mailbox_goes_on() {
    const TOKENS: u64 = 20;
    explore(
        |builder| builder,
        async |system| {
            let tally = Arc::new(Tally::default());
            let strict = Strict { other: None, tally: Arc::clone(&tally) };
            let strict = system.spawn::<Strict>(strict).await.unwrap();
            let lax = Lax { other: strict.clone(), tally: Arc::clone(&tally) };
            let lax = system.spawn::<Lax>(lax).await.unwrap();
            strict.meet(lax.clone()).within(LONG).await.unwrap();
            for token in 0..TOKENS {
                tally.sent.fetch_add(1, Ordering::Relaxed);
                match token % 2 {
                    0 => strict.pass(6).await.unwrap(),
                    _ => lax.pass(6).try_send().unwrap(),
                }
            }
            system.await_idle(LONG).await.unwrap();
            let sent = tally.sent.load(Ordering::Relaxed);
            assert_eq!(tally.handled.load(Ordering::Relaxed), sent, "nothing stands still");
            assert_eq!(sent, TOKENS * 7);
        },
    );
}

/// Asks the middle, which tells the end more than that takes, while the end asks back.
#[derive(Actor)]
struct Begin {
    middle: Ref<Middle>,
    end: Ref<End>,
}

#[handlers]
impl Begin {
    #[ask]
    async fn work(&mut self, cx: &mut Context<Self>) -> Result<(), AskError> {
        self.end.ask_back(cx.me()).await.unwrap();
        self.middle.forward(self.end.clone()).within(LONG).await
    }
    #[ask]
    fn answer(&self) {}
}

#[derive(Actor)]
struct Middle;

#[handlers]
impl Middle {
    #[ask]
    async fn forward(&mut self, end: Ref<End>) {
        for _ in 0..10 {
            end.take().await.unwrap();
        }
    }
}

#[derive(Actor)]
#[actor(mailbox = unbounded(overload = 2))]
struct End {
    answered: Option<Result<(), AskError>>,
    taken: u32,
}

/// How long the end waits for an answer.
const ASKED: Duration = Duration::from_secs(5);

#[handlers]
impl End {
    #[tell]
    async fn ask_back(&mut self, begin: Ref<Begin>) {
        self.answered = Some(begin.answer().within(ASKED).await);
    }
    #[tell]
    fn take(&mut self) {
        self.taken += 1;
    }
    #[ask]
    fn outcome(&mut self) -> (Option<Result<(), AskError>>, u32) {
        (self.answered.take(), self.taken)
    }
}

// [G-OVERLOAD-2] [G-ASK-1]
#[test]
fn a_circle_through_a_question_ends_at_its_deadline() {
    everywhere(
        |builder| builder,
        |world, system| {
            let outcome = world.run(async {
                let end = system.spawn::<End>(End { answered: None, taken: 0 }).await.unwrap();
                let middle = system.spawn::<Middle>(Middle).await.unwrap();
                let begin = Begin { middle, end: end.clone() };
                let begin = system.spawn::<Begin>(begin).await.unwrap();
                assert_eq!(begin.work().within(LONG).await, Ok(()));
                // Those of the middle are told before this is asked, but by another sender.
                system.await_idle(LONG).await.unwrap();
                end.outcome().within(LONG).await.unwrap()
            });
            assert_eq!(outcome, (Some(Err(AskError::Expired)), 10));
            assert!(world.now() >= ASKED && world.now() < 2 * ASKED);
            let counts = system.counts();
            assert!(counts.held_back > 0 && counts.ask_cycles == 0, "{counts:?}");
        },
    );
}

/// Sends to a sink, in numbered letters.
#[derive(Actor)]
struct Producer {
    me: usize,
    sink: Ref<Sink>,
}

#[handlers]
impl Producer {
    #[tell]
    async fn produce(&mut self, letters: u64) {
        for number in 0..letters {
            self.sink.take(self.me, number).await.unwrap();
        }
    }
}

#[derive(Actor)]
#[actor(mailbox = unbounded(overload = 8))]
struct Sink {
    due: Vec<u64>,
    handled: u64,
}

#[handlers]
impl Sink {
    #[tell]
    async fn take(&mut self, from: usize, number: u64) {
        assert_eq!(self.due[from], number, "each sender's letters in order");
        self.due[from] += 1;
        if number.is_multiple_of(3) {
            tokio::task::yield_now().await;
        }
        self.handled += 1;
    }
    #[ask]
    fn handled(&self) -> u64 {
        self.handled
    }
}

// [G-OVERLOAD-1] [G-ORDER-1] [G-DELIVERY-1]
#[test]
fn what_many_send_to_one_stays_below_its_mark() {
    const PRODUCERS: usize = 30;
    const LETTERS: u64 = 4;
    explore(
        |builder| builder,
        async |system| {
            let sink = Sink { due: vec![0; PRODUCERS], handled: 0 };
            let sink = system.spawn::<Sink>(sink).await.unwrap();
            for me in 0..PRODUCERS {
                let producer = Producer { me, sink: sink.clone() };
                let producer = system.spawn::<Producer>(producer).await.unwrap();
                producer.produce(LETTERS).await.unwrap();
            }
            system.await_idle(LONG).await.unwrap();
            // The question is counted beside the letters.
            let handled = sink.handled().within(LONG).await.unwrap();
            assert_eq!(handled, PRODUCERS as u64 * LETTERS);
            let pressure = sink.pressure().unwrap();
            assert!(pressure.peak <= 8 && pressure.waiting == 0, "{pressure:?}");
        },
    );
}
