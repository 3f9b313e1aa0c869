//! What one worker cannot run, another one does, and nobody sleeps through work.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
#![allow(clippy::disallowed_methods, reason = "this test measures how long something takes")]

mod support;

use greenroom::{Actor, Context, Ref, System, handlers};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use support::{LONG, SCHEDULERS, SHARING, hold_worker, on, times, until};

/// Blocks its worker, or counts.
#[derive(Actor)]
struct Guest {
    seated: Arc<AtomicUsize>,
}

#[handlers]
impl Guest {
    #[tell]
    fn block(&mut self, released: mpsc::Receiver<()>) {
        // An error says that it is released.
        let _ = released.recv();
    }
    #[tell]
    fn free(&mut self, released: mpsc::Sender<()>) {
        drop(released);
    }
    #[tell]
    fn sit(&mut self) {
        self.seated.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_handler_that_blocks_delays_no_other_actor_while_a_worker_is_free() {
    for scheduler in SHARING {
        for workers in [2, 4] {
            for place in [0, 1, 20, 39] {
                on(workers, scheduler(), async |system| seat(system, workers, place).await);
            }
        }
    }
}

/// Seats guests, of whom those from `place` on block all workers but one.
async fn seat(system: &System, workers: usize, place: usize) {
    const GUESTS: usize = 40;
    let blocking = place..place + workers - 1;
    let seated = Arc::new(AtomicUsize::new(0));
    let mut guests = Vec::new();
    for _ in 0..GUESTS + blocking.len() {
        let guest = Guest { seated: Arc::clone(&seated) };
        guests.push(system.spawn::<Guest>(guest).await.unwrap());
    }
    // So that all are queued before the first of them runs.
    let mut holds = Vec::new();
    for _ in 0..workers {
        holds.push(hold_worker(system).await);
    }
    let mut release = Vec::new();
    for (number, guest) in guests.iter().enumerate() {
        let tell = if blocking.contains(&number) {
            let (sender, released) = mpsc::channel();
            release.push(sender);
            guest.block(released)
        } else {
            guest.sit()
        };
        tell.try_send().unwrap();
    }
    drop(holds);
    until(|| seated.load(Ordering::Relaxed) == GUESTS).await;
    drop(release);
}

/// Is quick, but for once.
#[derive(Actor)]
struct Clerk;

#[handlers]
impl Clerk {
    #[ask]
    fn nod(&self) {}
    /// Returns once `guest` has sat down, which another worker has to see to.
    #[ask]
    fn wait_for(&self, guest: Ref<Guest>) {
        let (release, released) = mpsc::channel();
        guest.free(release).try_send().unwrap();
        let _ = released.recv();
    }
}

/// Has always something to do.
#[derive(Actor)]
struct Restless {
    rests: Arc<AtomicBool>,
}

#[handlers]
impl Restless {
    #[tell]
    fn go(&mut self, cx: &mut Context<Self>) {
        if !self.rests.load(Ordering::Relaxed) {
            cx.me().go().try_send().unwrap();
        }
    }
}

#[test]
fn what_waits_behind_a_handler_that_blocks_is_run_by_a_worker_that_is_never_without_work() {
    for scheduler in SHARING {
        on(2, scheduler(), async |system| {
            let rests = Arc::new(AtomicBool::new(false));
            let restless = Restless { rests: Arc::clone(&rests) };
            system.spawn::<Restless>(restless).await.unwrap().go().await.unwrap();
            let guest = Guest { seated: Arc::default() };
            let guest = system.spawn::<Guest>(guest).await.unwrap();
            let clerk = system.spawn::<Clerk>(Clerk).await.unwrap();
            for _ in 0..100 {
                clerk.wait_for(guest.clone()).within(LONG).await.unwrap();
            }
            rests.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn what_waits_behind_a_handler_that_is_long_for_once_is_run_by_a_sleeper() {
    for scheduler in SHARING {
        on(2, scheduler(), async |system| {
            let guest = Guest { seated: Arc::default() };
            let guest = system.spawn::<Guest>(guest).await.unwrap();
            let clerk = system.spawn::<Clerk>(Clerk).await.unwrap();
            for _ in 0..10 {
                for _ in 0..200 {
                    clerk.nod().await.unwrap();
                }
                clerk.wait_for(guest.clone()).within(LONG).await.unwrap();
            }
        });
    }
}

/// The threads that have run any guest.
type Seen = Arc<Mutex<BTreeSet<String>>>;

/// Tells others, all from the worker it runs on.
#[derive(Actor)]
struct Host {
    guests: Vec<Ref<Diner>>,
}

#[derive(Actor)]
struct Diner;

#[handlers]
impl Host {
    #[tell]
    fn call(&mut self, seen: Seen, workers: usize) {
        for guest in &self.guests {
            guest.stay(Arc::clone(&seen), workers).try_send().unwrap();
        }
    }
    /// Returns when all are told.
    #[ask]
    fn gather(&mut self, all: Arc<Barrier>) {
        for guest in &self.guests {
            guest.meet(Arc::clone(&all)).try_send().unwrap();
        }
    }
}

#[handlers]
impl Diner {
    /// Comes back until every worker has run some guest.
    #[tell]
    fn stay(&mut self, seen: Seen, workers: usize, cx: &mut Context<Self>) {
        let mut threads = seen.lock();
        threads.insert(thread::current().name().unwrap_or_default().to_owned());
        if threads.len() < workers {
            cx.me().stay(Arc::clone(&seen), workers).try_send().unwrap();
        }
    }
    #[tell]
    fn meet(&mut self, all: Arc<Barrier>) {
        all.wait();
    }
    #[tell]
    fn eat(&mut self, eaten: Arc<AtomicUsize>) {
        eaten.fetch_add(1, Ordering::Relaxed);
    }
    #[ask]
    fn is_there(&self) {}
}

#[test]
fn what_one_worker_makes_ready_reaches_all_workers() {
    // `auto` has fewer on duty where that is faster.
    let [fixed @ .., _auto] = SCHEDULERS;
    for scheduler in fixed {
        for workers in [2, 4] {
            on(workers, scheduler(), async |system| {
                let mut guests = Vec::new();
                for _ in 0..20 {
                    guests.push(system.spawn::<Diner>(Diner).await.unwrap());
                }
                let host = system.spawn::<Host>(Host { guests }).await.unwrap();
                for _ in 0..10 {
                    let seen = Seen::default();
                    host.call(Arc::clone(&seen), workers).await.unwrap();
                    until(|| seen.lock().len() == workers).await;
                }
            });
        }
    }
}

/// All that one worker makes ready, for which it needs all others.
#[test]
fn what_keeps_a_worker_until_all_are_kept_reaches_all_workers() {
    for scheduler in SHARING {
        for workers in [2, 4, 64] {
            on(workers, scheduler(), async |system| {
                let mut guests = Vec::new();
                for _ in 0..workers {
                    guests.push(system.spawn::<Diner>(Diner).await.unwrap());
                }
                let host = Host { guests: guests.clone() };
                let host = system.spawn::<Host>(host).await.unwrap();
                for _ in 0..20 {
                    let all = Arc::new(Barrier::new(workers));
                    host.gather(all).within(LONG).await.unwrap();
                    for guest in &guests {
                        guest.is_there().within(LONG).await.unwrap();
                    }
                }
            });
        }
    }
}

/// For how many nanoseconds each thread of this process, but for the sleepers, has been ready while others had the processors.
type Starved = BTreeMap<OsString, u64>;

#[cfg(target_os = "linux")]
fn starved() -> Starved {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let waited = |task: std::fs::DirEntry| {
        let times = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let nanos = times.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
        (task.file_name(), nanos.unwrap_or(0))
    };
    let sleeps = |task: &std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        name.trim_end() == Sleepers::NAME
    };
    tasks.flatten().filter(|task| !sleeps(task)).map(waited).collect()
}

/// Nothing tells.
#[cfg(not(target_os = "linux"))]
fn starved() -> Starved {
    Starved::new()
}

/// The same of all threads together since then. Those of other tests come and go.
fn starved_since(before: &Starved) -> Duration {
    let since = |(thread, nanos): (&OsString, &u64)| {
        nanos.saturating_sub(before.get(thread).copied().unwrap_or(0))
    };
    Duration::from_nanos(starved().iter().map(since).sum())
}

/// Threads that only sleep, for a moment and again, one for each processor: by as much as they are late the machine, which may
/// itself be a simulated one, has stood still, whatever there was to do.
struct Sleepers {
    naps: Arc<Vec<Naps>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Those of one thread.
#[derive(Default)]
struct Naps {
    count: AtomicU64,
    late_nanos: AtomicU64,
}

impl Sleepers {
    const NAP: Duration = Duration::from_millis(10);
    const NAME: &str = "sleeper";

    fn lie_down() -> Self {
        let count = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let naps: Arc<Vec<Naps>> = Arc::new((0..count).map(|_| Naps::default()).collect());
        let is_over = Arc::new(AtomicBool::new(false));
        let threads = (0..count).map(|index| {
            let (naps, is_over) = (Arc::clone(&naps), Arc::clone(&is_over));
            let thread = thread::Builder::new().name(Self::NAME.to_owned());
            let sleep = move || {
                while !is_over.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    thread::sleep(Self::NAP);
                    let late = began.elapsed().saturating_sub(Self::NAP).as_nanos();
                    let late = u64::try_from(late).unwrap_or(u64::MAX);
                    naps[index].late_nanos.fetch_add(late, Ordering::Relaxed);
                    // Release: pairs with the Acquire in `late_since`, which sees by how much this nap was too long.
                    naps[index].count.fetch_add(1, Ordering::Release);
                }
            };
            thread.spawn(sleep).unwrap()
        });
        let threads = threads.collect();
        Self { naps, is_over, threads }
    }

    /// By how many nanoseconds each of them was late so far.
    fn late(&self) -> Vec<u64> {
        self.naps.iter().map(|naps| naps.late_nanos.load(Ordering::Relaxed)).collect()
    }

    /// By how much the one that was late most has been so since then, with the nap that it is in the middle of.
    fn late_since(&self, before: &[u64]) -> Duration {
        for naps in &*self.naps {
            let count = || naps.count.load(Ordering::Acquire);
            let now = count();
            while count() == now {
                thread::sleep(Self::NAP);
            }
        }
        let late = self.late().into_iter().zip(before).map(|(now, before)| now - before);
        Duration::from_nanos(late.max().unwrap_or(0))
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("it only sleeps");
        }
    }
}

/// In which the workers have to be through with a round, but for the time that others have the processors, or nobody has.
const ROUND_MAX: Duration = Duration::from_secs(1);
/// Rounds from one look at what others take to the next.
const ROUNDS_PER_LOOK: usize = 100;

#[test]
fn workers_that_fall_asleep_all_the_time_miss_nothing() {
    const ROUNDS: usize = if cfg!(sanitized) { 500 } else { 10_000 };
    let sleepers = Sleepers::lie_down();
    for scheduler in SCHEDULERS {
        on(2, scheduler(), async |system| {
            let mut diners = Vec::new();
            for _ in 0..3 {
                diners.push(system.spawn::<Diner>(Diner).await.unwrap());
            }
            let eaten = Arc::new(AtomicUsize::new(0));
            let mut starved_before = starved();
            for round in 1..=times(ROUNDS) {
                if round % ROUNDS_PER_LOOK == 0 {
                    starved_before = starved();
                }
                let (began, late_before) = (Instant::now(), sleepers.late());
                for diner in &diners {
                    diner.eat(Arc::clone(&eaten)).try_send().unwrap();
                }
                // Once they have answered, there is nothing to do and the workers go to sleep.
                for diner in &diners {
                    diner.is_there().within(LONG).await.unwrap();
                }
                assert_eq!(eaten.load(Ordering::Relaxed), round * diners.len());
                let took = began.elapsed();
                if took > ROUND_MAX {
                    let starved = starved_since(&starved_before);
                    let late = sleepers.late_since(&late_before);
                    let excused = starved + late;
                    assert!(
                        took <= ROUND_MAX + excused,
                        "{took:?}: {starved:?} for others, {late:?} late"
                    );
                }
            }
        });
    }
}
