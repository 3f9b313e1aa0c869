//! Many producers and one slow receiver: what waits stays below the mark, the bound or the budget, exactly.
//!
//! `GREENROOM_PRODUCERS` says how many producers there are, and `GREENROOM_SENDS` how much eight threads send.

use crate::support::{Builds, SCHEDULERS, run, soon, until};
use greenroom::{Actor, Message, Ref, Scheduler, System, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Producers, unless the environment says more.
const PRODUCERS: u64 = 300;
/// Messages of each.
const EACH: u64 = 5;
/// What threads send, unless the environment says more.
const SENDS: u64 = if cfg!(sanitized) { 4_000 } else { 20_000 };
const THREADS: u64 = 8;
const MARK: usize = 64;
/// What a bounded mailbox takes.
const MESSAGES_MAX: usize = 64;
const BYTES_MAX: usize = 4 << 10;

fn asked(name: &str, usual: u64) -> u64 {
    let asked = std::env::var(name).ok();
    asked.map_or(usual, |text| text.parse().expect("a number"))
}

/// Has a mailbox of one of the kinds.
macro_rules! sinks {
    ($($name:ident: $mailbox:meta;)+) => {$(
        #[derive(Actor)]
        #[actor($mailbox)]
        struct $name {
            handled: Arc<AtomicU64>,
        }

        #[handlers]
        impl $name {
            #[tell]
            fn take(&mut self, _letter: Letter) {
                self.handled.fetch_add(1, Ordering::Relaxed);
            }
        }
    )+};
}

sinks! {
    Unbounded: mailbox = unbounded(overload = 64);
    Bounded: mailbox = bounded(64, bytes = "4KiB", overload = 512);
    Counted: mailbox = unbounded;
}

/// A payload that counts for more than it is.
struct Letter {
    bytes: usize,
}

impl Message for Letter {
    type Reply = ();

    fn heap_bytes(&self) -> usize {
        self.bytes
    }
}

#[derive(Actor)]
struct Producer {
    sink: Ref<Counted>,
    other: Ref<Unbounded>,
}

#[handlers]
impl Producer {
    #[tell]
    async fn produce(&mut self) {
        for number in 0..EACH {
            let letter = || Letter { bytes: number as usize * 100 };
            self.other.take(letter()).await.unwrap();
            self.sink.take(letter()).await.unwrap();
        }
    }
}

/// What waits while all produce at once: at the receiver with a mark, and in the whole system.
fn produce(scheduler: Scheduler) {
    let producers = asked("GREENROOM_PRODUCERS", PRODUCERS);
    let all = producers * EACH;
    // The orders to produce need room, too.
    let budget = 2 * MARK;
    let builder = System::builder().workers(2).scheduler(scheduler).budget_messages(budget);
    let system = builder.own();
    run(async {
        let handled: [Arc<AtomicU64>; 2] = Default::default();
        let sink = Counted { handled: Arc::clone(&handled[0]) };
        let sink = system.spawn::<Counted>(sink).await.unwrap();
        let other = Unbounded { handled: Arc::clone(&handled[1]) };
        let other = system.spawn::<Unbounded>(other).await.unwrap();
        let mut crew = Vec::new();
        for _ in 0..producers {
            let producer = Producer { sink: sink.clone(), other: other.clone() };
            crew.push(system.spawn::<Producer>(producer).start().unwrap());
        }
        for producer in &crew {
            producer.produce().await.unwrap();
        }
        until(|| handled.iter().all(|handled| handled.load(Ordering::Relaxed) == all)).await;
        until(|| system.pressure().messages.unwrap().waiting == 0).await;
        let pressure = other.pressure().unwrap();
        assert!(pressure.peak <= MARK, "{pressure:?}");
        let pressure = system.pressure().messages.unwrap();
        assert!(pressure.peak <= budget, "{pressure:?}");
        assert!(!pressure.is_overloaded);
    });
}

// [G-OVERLOAD-1] [G-BUDGET-1] [G-DELIVERY-1]
#[test]
fn producers_do_not_fill_the_memory() {
    for scheduler in SCHEDULERS {
        produce(scheduler());
    }
}

/// Eight threads send in all ways that respect the bound; the high-water marks say that none passed it. All
/// bytes are in one mailbox, so with a budget of more than the mailbox takes, the budget's mark is the mailbox's.
fn send(scheduler: Scheduler, budget: usize) {
    let sends = asked("GREENROOM_SENDS", SENDS) / THREADS / SCHEDULERS.len() as u64 / 2;
    let system = System::builder().workers(2).scheduler(scheduler).budget_bytes(budget);
    let system = system.own();
    run(async {
        let handled = Arc::new(AtomicU64::new(0));
        let sink = Bounded { handled: Arc::clone(&handled) };
        let sink = system.spawn::<Bounded>(sink).await.unwrap();
        let send = |_| {
            let sink = sink.clone();
            thread::spawn(move || {
                (0..sends).filter(|number| deliver(&sink, *number)).count() as u64
            })
        };
        let threads: Vec<_> = (0..THREADS).map(send).collect();
        let sent: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        until(|| handled.load(Ordering::Relaxed) == sent).await;
        let peak = sink.pressure().unwrap().peak;
        assert!(peak <= MESSAGES_MAX && peak > 1, "{peak} messages waited");
        sink.drain();
        soon(sink.ended()).await;
        let bytes = system.pressure().bytes.unwrap();
        assert!(bytes.peak <= budget.min(BYTES_MAX) && bytes.waiting == 0, "{bytes:?}");
    });
}

/// Whether it was sent.
fn deliver(sink: &Ref<Bounded>, number: u64) -> bool {
    // The bound of bytes is met by some hundred letters in a row, that of messages by the next hundred.
    let bytes = if (number / 100).is_multiple_of(2) { number as usize % 7 * 80 } else { 0 };
    let message = sink.take(Letter { bytes });
    match number % 3 {
        0 => message.try_send().is_ok(),
        1 => message.tell().is_ok(),
        _ => message.wait().map(|()| true).unwrap(),
    }
}

// [G-BOUND-1] [G-BUDGET-1] [G-DELIVERY-1]
#[test]
fn threads_never_pass_the_bound() {
    for scheduler in SCHEDULERS {
        send(scheduler(), 3 << 10);
        send(scheduler(), BYTES_MAX * 2);
    }
}
