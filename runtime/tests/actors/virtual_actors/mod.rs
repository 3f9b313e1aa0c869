//! Virtual actors: one incarnation for a key at a time, and no mail lost between them.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod options;

use crate::support::{Dice, LONG, block_on, everywhere, soon, until};
use greenroom::{
    Actor, AskError, Context, Event, ExitReason, Keyed, Ref, SpawnError, StartError, System,
    TellError, handlers,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const KEYS: usize = 4;

/// What outlasts the incarnations: per key, what was saved, and whether one is there.
#[derive(Default)]
struct Store {
    saved: [AtomicU64; KEYS],
    is_active: [AtomicBool; KEYS],
    starts: [AtomicU64; KEYS],
    log: Mutex<Vec<u64>>,
}

/// Counts in memory, and saves when it stops.
#[derive(Actor)]
struct Counter {
    key: usize,
    total: u64,
    store: Arc<Store>,
}

#[handlers]
impl Counter {
    #[start]
    async fn start(key: usize, store: Arc<Store>) -> Self {
        assert!(!store.is_active[key].swap(true, Ordering::SeqCst), "one at a time");
        store.starts[key].fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        Self { key, total: store.saved[key].load(Ordering::SeqCst), store }
    }
    #[stop]
    async fn stop(&mut self) {
        self.store.saved[self.key].store(self.total, Ordering::SeqCst);
        tokio::task::yield_now().await;
        assert!(self.store.is_active[self.key].swap(false, Ordering::SeqCst), "one at a time");
    }
    #[tell]
    fn add(&mut self, number: u64) {
        self.total += number;
    }
    #[tell]
    fn log(&mut self, number: u64) {
        self.store.log.lock().push(number);
    }
    #[ask]
    fn total(&self) -> u64 {
        self.total
    }
    #[tell]
    fn rest(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
    /// Decides itself when to stop: never.
    #[tell]
    fn stay(&mut self, cx: &mut Context<Self>) {
        cx.cancel_receive_timeout();
    }
}

fn counters(system: &System, idle: Duration) -> (Keyed<usize, Counter>, Arc<Store>) {
    let store = Arc::<Store>::default();
    let own = Arc::clone(&store);
    (system.keyed(move |key: &usize| (*key, Arc::clone(&own))).idle(idle), store)
}

fn starts(store: &Store, key: usize) -> u64 {
    store.starts[key].load(Ordering::SeqCst)
}

// [G-VIRTUAL-1]
#[test]
fn it_starts_with_its_first_message() {
    everywhere(async |system| {
        let (counters, store) = counters(system, LONG);
        let counter = counters.get(1).unwrap();
        assert_eq!(counters.get(1).unwrap(), counter);
        assert_ne!(counters.get(2).unwrap(), counter);
        assert_eq!((starts(&store, 1), system.counts().started), (0, 0));
        counter.add(5).await.unwrap();
        assert_eq!(counters.get(1).unwrap().total().await, Ok(5));
        assert_eq!((starts(&store, 1), starts(&store, 2)), (1, 0));
        assert_eq!(system.counts().started, 1);
    });
}

// [G-VIRTUAL-2]
#[test]
fn it_sleeps_when_idle_and_wakes_with_the_next_message() {
    everywhere(async |system| {
        let (counters, store) = counters(system, Duration::from_millis(1));
        let counter = counters.get(0).unwrap();
        let mut events = system.events();
        for round in 1..=5 {
            counter.add(1).await.unwrap();
            loop {
                match soon(events.next()).await.unwrap() {
                    Event::Asleep { actor, reason } => {
                        assert_eq!((actor, reason), (counter.id(), ExitReason::Stopped));
                        break;
                    }
                    Event::Ended { .. } => panic!("it did not end"),
                    _ => {}
                }
            }
            assert_eq!(starts(&store, 0), round);
            assert!(!store.is_active[0].load(Ordering::SeqCst));
        }
        assert_eq!(counter.total().await, Ok(5));
        assert!(!counter.is_closed());
    });
}

// [G-VIRTUAL-1] [G-VIRTUAL-2]
#[test]
fn no_message_is_lost_and_none_meets_two() {
    const THREADS: u64 = 3;
    const MESSAGES: u64 = 400;
    everywhere(async |system| {
        let (counters, store) = counters(system, Duration::from_millis(1));
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| {
                let counters = counters.clone();
                thread::spawn(move || {
                    let mut dice = Dice::new(seed + 1);
                    for _ in 0..MESSAGES {
                        let key = usize::try_from(dice.below(KEYS as u64)).unwrap();
                        let counter = counters.get(key).unwrap();
                        counter.add(1).tell().unwrap();
                        if dice.below(10) == 0 {
                            counter.rest().tell().unwrap();
                        }
                        if dice.below(50) == 0 {
                            drop(counter);
                            thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let mut sum = 0;
        for key in 0..KEYS {
            sum += counters.get(key).unwrap().total().within(LONG).await.unwrap();
        }
        assert_eq!(sum, THREADS * MESSAGES);
        let counts = system.counts();
        assert_eq!((counts.dead_stopped, counts.rejected_closed, counts.panics), (0, 0, 0));
        let started: u64 = (0..KEYS).map(|key| starts(&store, key)).sum();
        assert_eq!(started, counts.started);
    });
}

// [G-VIRTUAL-2] [G-ORDER-2]
#[test]
fn mail_stays_in_order_across_sleep() {
    everywhere(async |system| {
        let (counters, store) = counters(system, LONG);
        for number in 0..200 {
            let counter = counters.get(0).unwrap();
            counter.log(number).tell().unwrap();
            if number % 7 == 0 {
                counter.rest().tell().unwrap();
            }
        }
        until(|| store.log.lock().len() == 200).await;
        assert!(store.log.lock().is_sorted());
        assert!(starts(&store, 0) > 1);
    });
}

// [G-VIRTUAL-2]
#[test]
fn a_panic_is_followed_by_sleep() {
    everywhere(async |system| {
        let (counters, store) = counters(system, LONG);
        let counter = counters.get(3).unwrap();
        for round in 1..=3 {
            counter.add(2).await.unwrap();
            counter.fall().await.unwrap();
            counter.add(2).await.unwrap();
            assert_eq!(counter.total().await, Ok(4 * round));
            assert_eq!(starts(&store, 3), round + 1);
        }
        assert_eq!(system.counts().panics, 3);
        assert_eq!(system.counts().dead_crashed, 3);
    });
}

// [G-VIRTUAL-3]
#[test]
fn an_end_from_outside_is_for_good() {
    everywhere(async |system| {
        let (counters, store) = counters(system, LONG);
        for end in [Ref::<Counter>::stop, Ref::drain, Ref::kill] {
            for awake in [true, false] {
                let counter = counters.get(0).unwrap();
                if awake {
                    counter.add(1).await.unwrap();
                    counter.total().await.unwrap();
                }
                assert!(end(&counter));
                soon(counter.ended()).await;
                assert!(matches!(counter.add(1).tell(), Err(TellError::Closed(_))));
                // Killed, it had no stop hook.
                store.is_active[0].store(false, Ordering::SeqCst);
                assert_ne!(counters.get(0).unwrap(), counter, "another is there");
            }
        }
        assert_eq!(starts(&store, 0), 3);
    });
}

#[test]
fn a_drain_handles_the_mail_of_a_sleeper_first() {
    everywhere(async |system| {
        let (counters, store) = counters(system, LONG);
        for _ in 0..20 {
            let counter = counters.get(0).unwrap();
            counter.add(1).tell().unwrap();
            counter.drain();
            soon(counter.ended()).await;
        }
        assert_eq!(store.saved[0].load(Ordering::SeqCst), 20);
    });
}

#[test]
fn keys_that_nobody_needs_are_forgotten() {
    everywhere(async |system| {
        let evens: Keyed<u32, Even> = system.keyed(|key: &u32| *key);
        let evens = evens.idle(Duration::from_millis(1));
        let kept = evens.get(0).unwrap();
        for key in 1..100 {
            evens.get(2 * key).unwrap().ping().await.unwrap();
        }
        // New keys have the old ones looked at, too.
        let mut key = 1000;
        until(|| {
            key += 2;
            drop(evens.get(key).unwrap());
            evens.in_use() < 10
        })
        .await;
        assert_eq!(evens.get(0).unwrap(), kept);
        assert!(!kept.is_closed());
        until(|| system.counts().ended > 90).await;
    });
}

#[test]
fn one_with_a_receive_timeout_of_its_own_decides_itself() {
    everywhere(async |system| {
        let (counters, store) = counters(system, Duration::from_millis(30));
        let counter = counters.get(0).unwrap();
        counter.stay().await.unwrap();
        counter.total().await.unwrap();
        let awake = starts(&store, 0);
        tokio::time::sleep(Duration::from_millis(60)).await;
        counter.total().await.unwrap();
        // Unless the machine was too slow, the first one stayed.
        assert!(starts(&store, 0) <= awake + 1);
        assert!(store.is_active[0].load(Ordering::SeqCst));
    });
}

/// Cannot start when its key is odd.
#[derive(Actor)]
struct Even;

#[handlers]
impl Even {
    #[start]
    fn start(key: u32) -> Result<Self, StartError> {
        if key.is_multiple_of(2) { Ok(Self) } else { Err(StartError::new("odd")) }
    }
    #[ask]
    fn ping(&self) {}
}

// [G-VIRTUAL-3]
#[test]
fn one_that_cannot_start_ends() {
    everywhere(async |system| {
        let evens: Keyed<u32, Even> = system.keyed(|key: &u32| *key);
        assert_eq!(evens.get(2).unwrap().ping().await, Ok(()));
        for _ in 0..3 {
            let odd = evens.get(3).unwrap();
            let answer = odd.ping().await;
            assert!(matches!(answer, Err(AskError::NoReply | AskError::Closed)), "{answer:?}");
            soon(odd.ended()).await;
        }
        assert_eq!(system.counts().started, 1);
    });
}

#[test]
fn a_system_that_ends_ends_sleepers_too() {
    everywhere(async |system| {
        let (counters, _store) = counters(system, LONG);
        let sleeper = counters.get(0).unwrap();
        let awake = counters.get(1).unwrap();
        awake.add(1).await.unwrap();
        system.shutdown(LONG).await.unwrap();
        assert!(sleeper.is_closed() && awake.is_closed());
        assert_eq!(counters.in_use(), 0);
        assert_eq!(counters.get(2), Err(SpawnError::Closed));
    });
}

#[test]
fn those_who_come_at_once_share_one() {
    everywhere(async |system| {
        let (counters, store) = counters(system, LONG);
        for key in 0..KEYS {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let counters = counters.clone();
                    thread::spawn(move || {
                        let counter = counters.get(key).unwrap();
                        block_on(async { counter.add(1).await.unwrap() });
                        counter
                    })
                })
                .collect();
            let actors: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
            assert!(actors.iter().all(|actor| *actor == actors[0]));
            assert_eq!(actors[0].total().await, Ok(4));
            assert_eq!(starts(&store, key), 1);
        }
    });
}

/// Changes its mind while it starts.
#[derive(Actor)]
struct Shy;

#[handlers]
impl Shy {
    #[start]
    fn start(starts: Arc<AtomicU64>, cx: &mut Context<Self>) -> Self {
        starts.fetch_add(1, Ordering::SeqCst);
        cx.stop();
        Self
    }
    #[tell]
    fn greet(&mut self) {}
}

// [G-FAIR-1]
#[test]
fn one_that_stops_whenever_it_starts_starves_no_other() {
    everywhere(async |system| {
        let starts = Arc::<AtomicU64>::default();
        let own = Arc::clone(&starts);
        let shy: Keyed<usize, Shy> = system.keyed(move |_| Arc::clone(&own));
        let shy: Vec<_> = (0..4).map(|key| shy.get(key).unwrap()).collect();
        for shy in &shy {
            shy.greet().await.unwrap();
        }
        until(|| starts.load(Ordering::SeqCst) > 100).await;
        let (counters, _) = counters(system, LONG);
        let counter = counters.get(0).unwrap();
        counter.add(1).await.unwrap();
        assert_eq!(soon(async { counter.total().await }).await, Ok(1));
        for shy in &shy {
            shy.stop();
        }
    });
}
