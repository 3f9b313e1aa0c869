//! Mixed load with actors that come and go, round after round, leaves nothing behind: neither memory nor actors,
//! threads or open files. `GREENROOM_TIMES` says how many times as many rounds there are, of 8 s on two cores:
//! `GREENROOM_TIMES=15 cargo test -p greenroom --test soak` takes two minutes, and 450 an hour.
//!
//! The first quarter of the rounds warms up. Then the bytes that are allocated may grow by 1 KiB a second, from the round
//! before the last half that kept the least to the one after. The pool gives nothing back, so it is counted apart: it, the
//! memory that is present, and what else the process has, may in the worst round of the last half be no more than in the
//! worst before, but for what does not depend on the number of rounds. And if there are enough rounds for it to be seen,
//! the memory that is present may grow by 1 KiB a second, from one part of the time to the next. Under the sanitizers the pool
//! is switched off, and AddressSanitizer looks for leaks itself.

#![cfg(all(target_os = "linux", not(sanitized)))]
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
#![allow(clippy::disallowed_methods, reason = "this test measures how long something takes")]

mod support;

use greenroom::{Actor, Context, Down, Ref, Scheduler, System, handlers};
use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::{Builds, LONG, SCHEDULERS, run, soon, times};

/// Passes everything on to the system's allocator, and counts it.
struct Counting;

/// Bytes and blocks that are allocated.
struct Count {
    blocks: AtomicUsize,
    bytes: AtomicUsize,
}

static HEAPED: Count = Count { blocks: AtomicUsize::new(0), bytes: AtomicUsize::new(0) };
/// What the runtime's pool has taken: nothing else here is aligned like its blocks.
static POOLED: Count = Count { blocks: AtomicUsize::new(0), bytes: AtomicUsize::new(0) };
const POOL_ALIGN: usize = 32;

/// Where a block is counted.
fn count_of(layout: Layout) -> &'static Count {
    if layout.align() == POOL_ALIGN { &POOLED } else { &HEAPED }
}

// SAFETY: every call is passed on as it is. `realloc` and `alloc_zeroed` are the default ones, which
// come here.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let count = count_of(layout);
        count.blocks.fetch_add(1, Ordering::Relaxed);
        count.bytes.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let count = count_of(layout);
        count.blocks.fetch_sub(1, Ordering::Relaxed);
        count.bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise; the block came from `alloc`.
        unsafe { Heap.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Rounds under each scheduler, unless the environment says more.
const ROUNDS: usize = 240;
/// Actors that come and go in each round.
const HANDS: usize = 24;
/// Bytes and blocks that may be allocated more for each second, beside what is late.
const BYTES_A_SECOND: usize = 1 << 10;
const BLOCKS_A_SECOND: usize = 1;
/// What is late, however long it goes on: what the last round, or threads that have ended, have not given back yet. Of
/// blocks fewer than if one round in three kept one.
const LATE_BLOCKS: usize = 16;
const LATE_BYTES: usize = 4 << 10;
/// What the last half may keep beyond the rounds before. Threads keep magazines of blocks, so by chance one takes a
/// slab that another has to spare, up to 64 KiB of the largest blocks, until each has its own; and a few pages.
const POOLED_MORE: usize = 192 << 10;
const RESIDENT_MORE: usize = POOLED_MORE + (256 << 10);
/// Parts of the time after the warm-up. What is late comes in a few of them, and what leaks in each.
const PARTS: usize = 8;
/// How many rounds a part has to have: in a shorter one the warm-up is not over, however long a busy machine takes.
const PART_LEAST: usize = 80;
/// What memory is present by.
const PAGE: usize = 4 << 10;

/// Later than any test ends.
const NEVER: Duration = Duration::from_secs(100_000);

/// Stays, and hears of the ends of all others.
#[derive(Actor)]
struct Foreman {
    ended: usize,
}

#[handlers]
impl Foreman {
    #[ask]
    fn hire(&mut self, hand: Ref<Hand>, cx: &mut Context<Self>) {
        cx.watch(&hand, Self::hand_ended);
    }
    #[ask]
    fn take_ends(&mut self) -> usize {
        std::mem::take(&mut self.ended)
    }
    #[down]
    fn hand_ended(&mut self, _down: Down) {
        self.ended += 1;
    }
}

/// Does a little of everything.
#[derive(Actor)]
#[actor(stash = 8, interleave = 4, mailbox = bounded(64), restart = transient(5 in "1h"))]
struct Hand {
    done: usize,
    is_open: bool,
}

#[handlers]
impl Hand {
    #[start]
    fn start(cx: &mut Context<Self>) -> Self {
        cx.after(NEVER, Self::tick);
        let unneeded = cx.every(NEVER, Self::tick);
        cx.cancel(unneeded);
        Self { done: 0, is_open: false }
    }
    #[local]
    fn tick(&mut self) {}
    #[tell]
    fn work(&mut self, text: String) {
        self.done += text.len();
    }
    #[tell]
    #[stash(while = !self.is_open)]
    async fn work_later(&mut self, text: String) {
        tokio::task::yield_now().await;
        self.done += text.len();
    }
    #[tell]
    fn open(&mut self, cx: &mut Context<Self>) {
        self.is_open = true;
        cx.unstash();
    }
    #[tell]
    fn crash(&mut self, text: String) {
        panic!("as told: {text}");
    }
    #[ask]
    async fn ask_next(&mut self, next: Ref<Self>) -> usize {
        next.done().within(LONG).await.unwrap_or(0)
    }
    #[ask]
    fn done(&self) -> usize {
        self.done
    }
}

/// One round.
async fn round(system: &System, foreman: &Ref<Foreman>) {
    let text = || "as long as it must be not to be inline anywhere".to_owned();
    let mut hands = Vec::new();
    for number in 0..HANDS {
        let hand = system.spawn::<Hand>(()).named(format!("hand {number}")).await.unwrap();
        foreman.hire(hand.clone()).within(LONG).await.unwrap();
        hands.push(hand);
    }
    for (number, hand) in hands.iter().enumerate() {
        hand.work(text()).await.unwrap();
        hand.work_later(text()).within(LONG).await.unwrap();
        hand.work_later(text()).await.unwrap();
        if number % 3 != 0 {
            hand.open().await.unwrap();
        }
        if number % 8 == 1 {
            hand.crash(text()).await.unwrap();
        }
        let next = hands[(number + 1) % HANDS].clone();
        hand.ask_next(next).within(LONG).await.unwrap();
        let given_up = hand.done().within(Duration::ZERO).await;
        assert!(given_up.is_err() || given_up.is_ok_and(|done| done < 1000));
    }
    for (number, hand) in hands.iter().enumerate() {
        match number % 3 {
            0 => hand.stop(),
            1 => hand.drain(),
            _ => hand.kill(),
        };
    }
    for hand in hands {
        soon(hand.ended()).await;
    }
    let mut ended = 0;
    while ended < HANDS {
        ended += foreman.take_ends().within(LONG).await.unwrap();
    }
    assert_eq!(ended, HANDS, "one end for each");
    soon(system.await_idle(LONG)).await.unwrap();
    let counts = system.counts();
    assert_eq!(counts.started - counts.ended, 1, "only the foreman is left");
}

/// How much of something there was, and when.
#[derive(Clone, Copy, Debug)]
struct Amount {
    count: usize,
    at: Instant,
}

impl Amount {
    fn of(counter: &AtomicUsize) -> Self {
        Self { count: counter.load(Ordering::SeqCst), at: Instant::now() }
    }

    fn least(self, other: Self) -> Self {
        if other.count < self.count { other } else { self }
    }

    /// Whether it is more than it may have become since `before`.
    fn has_grown(self, before: Self, late: usize, a_second: usize) -> bool {
        let millis = usize::try_from((self.at - before.at).as_millis()).unwrap();
        self.count > before.count + late + a_second * millis / 1000
    }
}

/// What the process has, after a round.
#[derive(Clone, Copy, Debug)]
struct Kept {
    blocks: Amount,
    bytes: Amount,
    pooled: usize,
    /// Of memory that is present.
    resident: usize,
    threads: usize,
    files: usize,
}

impl Kept {
    fn now() -> Self {
        let entries = |folder| std::fs::read_dir(folder).map_or(0, Iterator::count);
        let memory = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = memory.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            blocks: Amount::of(&HEAPED.blocks),
            bytes: Amount::of(&HEAPED.bytes),
            pooled: POOLED.bytes.load(Ordering::SeqCst),
            resident: pages * PAGE,
            threads: entries("/proc/self/task"),
            files: entries("/proc/self/fd"),
        }
    }

    /// The least that is allocated in either, and the most of all else.
    fn join(self, other: Self) -> Self {
        Self {
            blocks: self.blocks.least(other.blocks),
            bytes: self.bytes.least(other.bytes),
            pooled: self.pooled.max(other.pooled),
            resident: self.resident.max(other.resident),
            threads: self.threads.max(other.threads),
            files: self.files.max(other.files),
        }
    }
}

/// The least memory that was present in each part of the time.
struct Slope {
    began: Instant,
    rounds: usize,
    least: [usize; PARTS],
}

impl Slope {
    /// Begins, for so many rounds.
    fn new(rounds: usize) -> Self {
        Self { began: Instant::now(), rounds, least: [usize::MAX; PARTS] }
    }

    /// That of a round.
    fn note(&mut self, resident: usize, round: usize) {
        let least = &mut self.least[round * PARTS / self.rounds];
        *least = resident.min(*least);
    }

    /// Asserts that in the middle of all steps from a part to the next it is no more than a page, or than it may be in
    /// that time.
    fn assert_flat(&self) {
        let part = self.began.elapsed() / u32::try_from(PARTS).unwrap();
        let mut steps: Vec<_> =
            self.least.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        steps.sort_unstable();
        let step = steps[steps.len() / 2];
        let allowed = BYTES_A_SECOND * usize::try_from(part.as_millis()).unwrap() / 1000;
        let is_flat = step <= allowed.max(PAGE) || self.rounds / PARTS < PART_LEAST;
        assert!(is_flat, "{step} bytes more in each {part:?}: {:?}", self.least);
    }
}

/// Round after round in one system.
fn soak(scheduler: Scheduler) {
    let rounds = times(ROUNDS);
    let system = System::builder().workers(2).scheduler(scheduler).own();
    run(async {
        let foreman = system.spawn::<Foreman>(Foreman { ended: 0 }).await.unwrap();
        let [mut before, mut after] = [None::<Kept>, None];
        let (warm, mut slope) = (rounds / 4, None);
        for number in 0..rounds {
            round(&system, &foreman).await;
            let now = Kept::now();
            if number >= warm {
                let slope = slope.get_or_insert_with(|| Slope::new(rounds - warm));
                slope.note(now.resident, number - warm);
            }
            if number >= rounds / 2 {
                after = Some(after.map_or(now, |after| after.join(now)));
            } else if number >= warm {
                before = Some(before.map_or(now, |before| before.join(now)));
            }
        }
        slope.unwrap().assert_flat();
        let (before, after) = (before.unwrap(), after.unwrap());
        let grown = after.blocks.has_grown(before.blocks, LATE_BLOCKS, BLOCKS_A_SECOND)
            || after.bytes.has_grown(before.bytes, LATE_BYTES, BYTES_A_SECOND)
            || after.pooled > before.pooled + POOLED_MORE
            || after.resident > before.resident + RESIDENT_MORE
            || after.threads > before.threads
            || after.files > before.files;
        assert!(!grown, "{before:?} became {after:?} in {rounds} rounds");
        drop(foreman);
        soon(system.shutdown(LONG)).await.unwrap();
    });
    let counts = system.counts();
    assert_eq!(counts.started, counts.ended, "nobody is left");
}

#[test]
fn rounds_of_everything_leave_nothing_behind() {
    // What panics, as told, need not be read thousands of times.
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or_default();
        if !text.starts_with("as told") {
            eprintln!("{panic}");
        }
    }));
    let own_threads = Kept::now().threads;
    for scheduler in SCHEDULERS {
        soak(scheduler());
    }
    // Whole systems come and go, too: the first of each scheduler has left what it leaves once and for all.
    let before = kept_without_systems(own_threads);
    for number in 0..times(40) {
        let scheduler = SCHEDULERS[number % SCHEDULERS.len()];
        let system = System::builder().workers(2).scheduler(scheduler()).own();
        run(async {
            let foreman = system.spawn::<Foreman>(Foreman { ended: 0 }).await.unwrap();
            round(&system, &foreman).await;
            drop(foreman);
            soon(system.shutdown(LONG)).await.unwrap();
        });
    }
    let now = kept_without_systems(own_threads);
    assert!(now.files <= before.files, "{before:?} became {now:?}");
    assert!(!now.bytes.has_grown(before.bytes, LATE_BYTES, 0), "{before:?} became {now:?}");
}

/// What is kept when the threads of all systems have ended: one that ends may still hold a whole system.
fn kept_without_systems(own_threads: usize) -> Kept {
    let now = (0..40_000).find_map(|_| {
        std::thread::park_timeout(Duration::from_millis(1));
        let now = Kept::now();
        (now.threads <= own_threads).then_some(now)
    });
    now.expect("threads end with their system")
}
