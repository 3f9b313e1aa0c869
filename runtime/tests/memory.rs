//! What messages and idle actors take from the global allocator.
//!
//! The count is of the whole process, so this binary has one test, which measures one thing after the
//! other. Under the sanitizers the pool is switched off (every block is the allocator's, so that they
//! see each use after free), and there is nothing to measure.

#![cfg(not(sanitized))]
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

#[path = "support/counting.rs"]
mod counting;
mod support;

use counting::{ALLOCATIONS, BYTES};
use greenroom::{Actor, Ref, Scheduler, System, handlers};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use support::{SCHEDULERS, SHARING, block_on, hold_worker, on, poll_once, until};

/// Messages in each measured run.
const MESSAGES: u64 = 4_000;
/// Messages, questions and waiting handlers that there are at once in the warm-up: far more than in any
/// measured run, so that no later moment can need a block that is not there.
const CROWD: u64 = 2_500;
/// Messages that the producer is ahead of the consumer at most.
const AHEAD: u64 = 32;

/// Says that a run is over.
static DONE: AtomicBool = AtomicBool::new(false);
/// Handlers of the crowd that have begun to wait, and that went on.
static CAME: AtomicU64 = AtomicU64::new(0);
static LEFT: AtomicU64 = AtomicU64::new(0);
/// Messages that the consumer has seen.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Waits for the end of a run, without allocating.
fn wait() {
    for _ in 0..40_000 {
        if DONE.swap(false, Ordering::SeqCst) {
            return;
        }
        thread::park_timeout(Duration::from_millis(1));
    }
    panic!("the run does not end");
}

/// Lets a handler wait once: it is polled a second time.
async fn pause() {
    let mut polled = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Sends and asks without end, until a run is over.
#[derive(Actor)]
struct Player {
    peer: Option<Ref<Self>>,
}

#[handlers]
impl Player {
    #[tell]
    fn meet(&mut self, peer: Ref<Self>) {
        self.peer = Some(peer);
    }
    /// Plays a ball to and fro.
    #[tell]
    fn play(&mut self, left: u64) {
        if left == 0 {
            DONE.store(true, Ordering::SeqCst);
        } else {
            self.peer().play(left - 1).try_send().unwrap();
        }
    }
    /// As `play`, by a handler that waits.
    #[tell]
    async fn ponder(&mut self, left: u64) {
        pause().await;
        if left == 0 {
            DONE.store(true, Ordering::SeqCst);
        } else {
            self.peer().ponder(left - 1).await.unwrap();
        }
    }
    #[tell]
    async fn question(&mut self, count: u64) {
        for number in 0..count {
            assert_eq!(self.peer().answer(number).await, Ok(number));
        }
        DONE.store(true, Ordering::SeqCst);
    }
    /// As `question`, of a handler that waits, so that the asker waits too.
    #[tell]
    async fn question_later(&mut self, count: u64) {
        for number in 0..count {
            assert_eq!(self.peer().answer_later(number).await, Ok(number));
        }
        DONE.store(true, Ordering::SeqCst);
    }
    #[ask]
    fn answer(&mut self, number: u64) -> u64 {
        number
    }
    #[ask]
    async fn answer_later(&mut self, number: u64) -> u64 {
        pause().await;
        number
    }
    /// Holds this worker until the peer, which must be on another one, has seen `count` messages.
    #[tell]
    fn produce(&mut self, count: u64) {
        SEEN.store(0, Ordering::SeqCst);
        for number in 0..count {
            while number - SEEN.load(Ordering::SeqCst) >= AHEAD {
                thread::yield_now();
            }
            self.peer().consume(number).try_send().unwrap();
        }
        while SEEN.load(Ordering::SeqCst) < count {
            thread::yield_now();
        }
        DONE.store(true, Ordering::SeqCst);
    }
    #[tell]
    fn consume(&mut self, number: u64) {
        assert_eq!(SEEN.fetch_add(1, Ordering::SeqCst), number);
    }
    /// Fills the pool with the blocks of a crowd of messages and questions.
    #[tell]
    fn burst(&mut self) {
        let questions: Vec<_> = (0..CROWD).map(|number| self.peer().answer(number)).collect();
        drop(questions);
        for number in 0..CROWD {
            self.peer().end_at(number, CROWD - 1).try_send().unwrap();
        }
    }
    #[tell]
    fn end_at(&mut self, number: u64, last: u64) {
        if number == last {
            DONE.store(true, Ordering::SeqCst);
        }
    }
    /// Waits until the whole crowd does.
    #[tell]
    async fn gather(&mut self) {
        CAME.fetch_add(1, Ordering::SeqCst);
        while CAME.load(Ordering::SeqCst) < CROWD {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if LEFT.fetch_add(1, Ordering::SeqCst) == CROWD - 1 {
            DONE.store(true, Ordering::SeqCst);
        }
    }
}

impl Player {
    fn peer(&self) -> &Ref<Self> {
        self.peer.as_ref().expect("they have met")
    }
}

/// Two players who know each other.
async fn players(system: &System) -> [Ref<Player>; 2] {
    players_on(system, [0, 0]).await
}

/// The same, each on a worker of its own where actors live on one.
async fn players_on(system: &System, [one, other]: [usize; 2]) -> [Ref<Player>; 2] {
    let first = system.spawn::<Player>(Player { peer: None }).on(one).await.unwrap();
    let peer = Some(first.clone());
    let second = system.spawn::<Player>(Player { peer }).on(other).await.unwrap();
    first.meet(second.clone()).await.unwrap();
    [first, second]
}

/// A run that ends by [`DONE`].
type Start = fn(&Ref<Player>, u64);

/// What is measured in systems of any size.
const RUNS: [(&str, Start); 4] = [
    ("a tell", |player, count| player.play(count).try_send().unwrap()),
    ("a tell to a handler that waits", |player, count| player.ponder(count).try_send().unwrap()),
    ("an ask", |player, count| player.question(count).try_send().unwrap()),
    ("an ask of a handler that waits", |player, count| {
        player.question_later(count).try_send().unwrap();
    }),
];

/// Allocations of one run.
fn allocations(player: &Ref<Player>, start: Start, count: u64) -> usize {
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    start(player, count);
    wait();
    ALLOCATIONS.load(Ordering::SeqCst) - before
}

/// Makes everything that grows as large as it will be, on the workers that are free.
fn warm_up(player: &Ref<Player>) {
    allocations(player, |player, _| player.burst().try_send().unwrap(), 0);
    for (_, start) in RUNS {
        allocations(player, start, 1000);
    }
}

/// Fills the pool with the blocks of a crowd of handlers that wait.
async fn gather(system: &System) {
    CAME.store(0, Ordering::SeqCst);
    LEFT.store(0, Ordering::SeqCst);
    for _ in 0..CROWD {
        let player = system.spawn::<Player>(Player { peer: None }).start().unwrap();
        player.gather().try_send().unwrap();
        player.drain();
    }
    wait();
    until(|| system.counts().ended >= CROWD).await;
}

fn nothing_is_allocated(player: &Ref<Player>, workers: usize) {
    for (what, start) in RUNS {
        // By chance of timing more may be under way between two workers than ever before, once in a while.
        let counts = std::iter::repeat_with(|| allocations(player, start, MESSAGES)).take(3);
        let count = counts.min().unwrap();
        assert_eq!(count, 0, "{MESSAGES} times {what} on {workers} workers");
    }
}

/// Everything on one worker.
fn local_messages_allocate_nothing(scheduler: Scheduler) {
    on(1, scheduler, async |system| {
        let [player, _] = players(system).await;
        warm_up(&player);
        gather(system).await;
        nothing_is_allocated(&player, 1);
    });
}

/// On two workers, either of which may run either player.
fn messages_between_workers_allocate_nothing(scheduler: Scheduler) {
    on(2, scheduler, async |system| {
        let [player, _] = players(system).await;
        // Each worker warms up on its own: while one is held, the other does all there is to do.
        let first = hold_worker(system).await;
        warm_up(&player);
        let second = hold_worker(system).await;
        drop(first);
        warm_up(&player);
        drop(second);
        gather(system).await;
        nothing_is_allocated(&player, 2);

        let produce: Start = |player, count| player.produce(count).try_send().unwrap();
        allocations(&player, produce, 1000);
        // As above, once in a while.
        let counts = std::iter::repeat_with(|| allocations(&player, produce, MESSAGES)).take(3);
        let mut counts: Vec<_> = counts.collect();
        counts.sort_unstable();
        assert_eq!(counts[..2], [0; 2], "{MESSAGES} tells from one worker to the other");
    });
}

/// On two workers, with a player on each: everything between them goes through rings.
fn messages_through_rings_allocate_nothing() {
    on(2, Scheduler::per_core(), async |system| {
        let pairs = [players_on(system, [0, 1]).await, players_on(system, [1, 0]).await];
        for [player, _] in &pairs {
            warm_up(player);
        }
        gather(system).await;
        for [player, _] in &pairs {
            nothing_is_allocated(player, 2);
        }
    });
}

/// From a thread that is no worker.
fn messages_from_outside_allocate_nothing(scheduler: Scheduler) {
    on(1, scheduler, async |system| {
        let [player, _] = players(system).await;
        warm_up(&player);
        gather(system).await;
        let outside = player.clone();
        let thread = thread::spawn(move || {
            block_on(async {
                let mut counts = [0; 2];
                for (round, messages) in [1000, MESSAGES].into_iter().enumerate() {
                    let before = ALLOCATIONS.load(Ordering::SeqCst);
                    for number in 0..messages {
                        outside.consume_any(number).await;
                    }
                    counts[round] = ALLOCATIONS.load(Ordering::SeqCst) - before;
                }
                counts[1]
            })
        });
        assert_eq!(thread.join().unwrap(), 0, "{MESSAGES} tells and asks from outside");
    });
}

impl PlayerCalls {
    /// A tell and an ask, awaited by a thread that is no worker.
    async fn consume_any(&self, number: u64) {
        self.end_at(number, u64::MAX).await.unwrap();
        assert_eq!(self.answer(number).await, Ok(number));
    }
}

/// An actor with nothing to do.
#[derive(Actor)]
struct Idle {
    state: u64,
}

#[handlers]
impl Idle {
    #[ask]
    fn state(&self) -> u64 {
        self.state
    }
}

/// Counts everything that spawning makes the process keep, blocks that are carved in reserve included.
fn an_idle_actor_takes_at_most_256_bytes_beside_its_state() {
    const ACTORS: u64 = 10_000;
    on(1, Scheduler::locked(), async |system| {
        let mut actors = Vec::with_capacity(usize::try_from(ACTORS).unwrap());
        let before = BYTES.load(Ordering::SeqCst);
        for state in 0..ACTORS {
            actors.push(system.spawn::<Idle>(Idle { state }).await.unwrap());
        }
        let bytes = BYTES.load(Ordering::SeqCst) - before;
        let each = bytes as f64 / ACTORS as f64;
        assert_eq!(size_of::<Idle>(), 8);
        assert!(each >= 8.0, "{each} bytes: they were not counted");
        assert!(each - 8.0 <= 256.0, "{each} bytes, its state included");
        assert_eq!(actors[77].state().await, Ok(77));
    });
}

/// The first threads that wait for a lock make `parking_lot` allocate its table, once and for all.
fn let_threads_wait_for_a_lock() {
    const THREADS: usize = 16;
    let lock = Arc::new(parking_lot::Mutex::new(()));
    let guard = lock.lock();
    let waited = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (lock, waited) = (Arc::clone(&lock), Arc::clone(&waited));
            thread::spawn(move || {
                assert!(lock.try_lock_for(Duration::from_millis(2)).is_none());
                waited.fetch_add(1, Ordering::SeqCst);
                // The table has room for the threads that there are at once.
                while waited.load(Ordering::SeqCst) < THREADS {
                    thread::yield_now();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    drop(guard);
}

/// Threads of this process; the end of one that goes may allocate, and would be counted.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Runs `measure`, and waits until the threads that it started have gone.
fn alone(measure: impl FnOnce()) {
    let before = threads();
    measure();
    for _ in 0..40_000 {
        if threads() <= before {
            return;
        }
        thread::park_timeout(Duration::from_millis(1));
    }
    panic!("the threads of an ended system do not end");
}

/// Whoever waits for the end of an actor, and gives it up, leaves nothing with the actor.
fn waits_for_an_end_that_are_given_up_leave_nothing() {
    const WAITS: usize = 1_000;
    on(1, Scheduler::auto(), async |system| {
        let idle = system.spawn::<Idle>(Idle { state: 0 }).await.unwrap();
        let mut bytes = [0; 2];
        for bytes in &mut bytes {
            for _ in 0..WAITS {
                assert!(poll_once(&mut pin!(idle.ended())).is_pending());
                // It has seen that by now.
                idle.state().await.unwrap();
            }
            *bytes = BYTES.load(Ordering::SeqCst);
        }
        assert!(bytes[1] < bytes[0] + WAITS, "{bytes:?} after {WAITS} waits each time");
        idle.stop();
    });
}

#[test]
fn messages_allocate_nothing_and_idle_actors_little() {
    // First, while the pool has no blocks that spawning could use up unseen.
    alone(an_idle_actor_takes_at_most_256_bytes_beside_its_state);
    alone(let_threads_wait_for_a_lock);
    for scheduler in SHARING {
        alone(|| messages_between_workers_allocate_nothing(scheduler()));
    }
    alone(messages_through_rings_allocate_nothing);
    for scheduler in SCHEDULERS {
        alone(|| local_messages_allocate_nothing(scheduler()));
        alone(|| messages_from_outside_allocate_nothing(scheduler()));
    }
    alone(waits_for_an_end_that_are_given_up_leave_nothing);
}
