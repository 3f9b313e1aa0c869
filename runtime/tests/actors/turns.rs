//! How many messages an actor handles before others have their turn.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Builds, LONG, OwnSystem, SCHEDULERS, hold_worker, run, until};
use greenroom::{Actor, Builder, Context, Ref, Scheduler, System, handlers};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who has handled a message, in order.
type Log = Arc<Mutex<Vec<usize>>>;

#[derive(Actor)]
struct Writer {
    number: usize,
    log: Log,
}

#[handlers]
impl Writer {
    #[tell]
    fn write(&mut self) {
        self.log.lock().push(self.number);
    }
}

async fn writer(system: &System, number: usize, log: &Log) -> Ref<Writer> {
    system.spawn::<Writer>(Writer { number, log: Arc::clone(log) }).await.unwrap()
}

/// One worker, whose turns are not cut short by time.
fn built(scheduler: Scheduler, set: fn(Builder) -> Builder) -> OwnSystem {
    set(System::builder().workers(1).slice(LONG).scheduler(scheduler)).own()
}

/// The lengths of the turns of writers that all have `each` messages before the first one begins.
async fn turns(system: &System, writers: usize, each: usize) -> Vec<usize> {
    let log = Log::default();
    let mut actors = Vec::new();
    for number in 0..writers {
        actors.push(writer(system, number, &log).await);
    }
    let held = hold_worker(system).await;
    for _ in 0..each {
        for actor in &actors {
            actor.write().try_send().unwrap();
        }
    }
    drop(held);
    until(|| log.lock().len() == writers * each).await;
    let log = log.lock();
    log.chunk_by(|one, next| one == next).map(<[usize]>::len).collect()
}

/// Asserts how long turns are under each scheduler, whether one other waits or many do.
fn assert_turns(set: fn(Builder) -> Builder, length: usize) {
    for scheduler in SCHEDULERS {
        let system = built(scheduler(), set);
        run(async {
            for writers in [2, 60] {
                let turns = turns(&system, writers, 10 * length).await;
                assert!(turns.iter().all(|&turn| turn == length), "{turns:?}");
            }
            system.shutdown(LONG).await.unwrap();
        });
    }
}

#[test]
fn a_turn_is_64_messages_however_many_wait() {
    assert_turns(|builder| builder, 64);
}

#[test]
fn a_batch_that_was_set_is_the_length_of_each_turn() {
    assert_turns(|builder| builder.batch(10), 10);
}

/// How many messages were sent, and how many of them handled.
#[derive(Clone, Default)]
struct Tally {
    sent: Arc<AtomicU64>,
    taken: Arc<AtomicU64>,
}

/// Notes how many messages waited at most, and passes them on.
#[derive(Actor)]
struct Sink {
    tally: Tally,
    waiting_max: u64,
    next: Option<Ref<Writer>>,
}

#[handlers]
impl Sink {
    #[tell]
    async fn take(&mut self) {
        let taken = self.tally.taken.fetch_add(1, Ordering::Relaxed);
        self.waiting_max = self.waiting_max.max(self.tally.sent.load(Ordering::Relaxed) - taken);
        if let Some(next) = &self.next {
            next.write().await.unwrap();
        }
    }
    #[ask]
    fn waiting_max(&self) -> u64 {
        self.waiting_max
    }
}

#[derive(Actor)]
struct Source {
    sinks: Vec<Ref<Sink>>,
    tally: Tally,
}

#[handlers]
impl Source {
    #[tell]
    async fn pour(&mut self, each: u64) {
        for _ in 0..each {
            for sink in &self.sinks {
                sink.take().await.unwrap();
                self.tally.sent.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    #[ask]
    fn is_done(&self) {}
}

/// How many messages waited at most, where each source sends `each` of them to every sink, which passes them
/// on to `next`.
async fn waiting_max(
    system: &System,
    (sources, sinks): (usize, usize),
    each: u64,
    next: Option<Ref<Writer>>,
) -> u64 {
    let (tally, mut taking, mut pouring) = (Tally::default(), Vec::new(), Vec::new());
    for _ in 0..sinks {
        let sink = Sink { tally: tally.clone(), waiting_max: 0, next: next.clone() };
        taking.push(system.spawn::<Sink>(sink).await.unwrap());
    }
    for _ in 0..sources {
        let source = Source { sinks: taking.clone(), tally: tally.clone() };
        pouring.push(system.spawn::<Source>(source).await.unwrap());
    }
    for source in &pouring {
        source.pour(each).try_send().unwrap();
    }
    for source in &pouring {
        source.is_done().within(LONG).await.unwrap();
    }
    let mut most = 0;
    for sink in &taking {
        most = most.max(sink.waiting_max().within(LONG).await.unwrap());
    }
    most
}

/// Asserts that a receiver of many keeps up, which passes its mail on, or does not.
fn assert_mail_stays_short(passes_on: bool) {
    for scheduler in SCHEDULERS {
        let system = built(scheduler(), |builder| builder);
        run(async {
            let (sources, each) = (16, if cfg!(sanitized) { 2_000 } else { 10_000 });
            let next = writer(&system, 0, &Log::default()).await;
            let next = passes_on.then_some(next);
            let most = waiting_max(&system, (sources, 1), each, next).await;
            // They may send eight batches each before the first look, and it learns in a few turns.
            assert!(most <= 2 * 8 * 64 * sources as u64, "{most} of {}", sources as u64 * each);
            system.shutdown(LONG).await.unwrap();
        });
    }
}

#[test]
fn the_mail_of_a_receiver_of_many_stays_short() {
    assert_mail_stays_short(false);
}

#[test]
fn so_does_that_of_one_whose_turns_end_because_it_gives_way() {
    assert_mail_stays_short(true);
}

#[test]
fn who_sends_to_many_goes_on_for_eight_batches() {
    for scheduler in SCHEDULERS {
        let system = built(scheduler(), |builder| builder.batch(10));
        run(async {
            // Up to twice as many if it is asked whether it is done before it is: that makes its turns longer.
            let most = waiting_max(&system, (1, 100), 10, None).await;
            assert!((80..=160).contains(&most), "{most}");
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// Has as much to do after each message as before it.
#[derive(Actor)]
struct Busy {
    number: usize,
    left: usize,
    log: Log,
}

#[handlers]
impl Busy {
    #[tell]
    fn work(&mut self, cx: &mut Context<Self>) {
        self.log.lock().push(self.number);
        if self.left > 0 {
            self.left -= 1;
            cx.me().work().try_send().unwrap();
        }
    }
}

#[test]
fn who_sends_to_itself_has_turns_as_short_as_others() {
    for scheduler in SCHEDULERS {
        let system = built(scheduler(), |builder| builder.batch(10));
        run(async {
            let (log, waiting, left) = (Log::default(), 100, 400);
            let mut actors = Vec::new();
            for number in 0..3 {
                let busy = Busy { number, left, log: Arc::clone(&log) };
                actors.push(system.spawn::<Busy>(busy).await.unwrap());
            }
            let held = hold_worker(&system).await;
            for actor in actors.iter().flat_map(|actor| [actor; 100]) {
                actor.work().try_send().unwrap();
            }
            drop(held);
            until(|| log.lock().len() == 3 * (waiting + left)).await;
            let is_short =
                |log: &[usize]| log.chunk_by(|one, next| one == next).all(|turn| turn.len() == 10);
            assert!(is_short(&log.lock()));
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// One of those that were made and have not ended, who all hold the same one.
#[derive(Actor)]
struct Child {
    _all: Arc<()>,
}

#[handlers]
impl Child {
    #[start]
    fn start(all: Arc<()>) -> Self {
        Self { _all: all }
    }
    #[tell]
    fn end(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

#[derive(Actor)]
struct Parent;

#[handlers]
impl Parent {
    #[start]
    fn start() -> Self {
        Self
    }
    /// Makes so many children, each of which ends; returns how many there were at most.
    #[ask]
    async fn make(&mut self, count: usize, cx: &mut Context<Self>) -> usize {
        let (all, mut most) = (Arc::new(()), 0);
        for _ in 0..count {
            let child = cx.spawn::<Child>(Arc::clone(&all)).start().unwrap();
            most = most.max(Arc::strong_count(&all));
            child.end().await.unwrap();
        }
        most
    }
}

#[test]
fn who_makes_actors_goes_on_when_they_have_had_their_turns() {
    for scheduler in SCHEDULERS {
        let system = built(scheduler(), |builder| builder);
        run(async {
            let parent = system.spawn::<Parent>(()).await.unwrap();
            let most = parent.make(20_000).within(LONG).await.unwrap();
            assert!(most < 2_000, "{most} children at a time");
            system.shutdown(LONG).await.unwrap();
        });
    }
}
