//! Programs that only the paths need: rings alone, systems that spin, async handlers, timers.

use crate::core_to_core::bind;
use crate::ours::{self, Setting, block_on};
use greenroom::queue::spsc;
use greenroom::{Actor, Context, Idle, Ref, System, handlers};
use greenroom_peers::Program;
use greenroom_peers::shape::outside;
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

const CAPACITY: usize = 1024;
const BATCH: u64 = 256;
/// Longer than a program takes.
const SPIN: Duration = Duration::from_secs(60);
/// How long an ask may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Every program of the paths that is no program of the contest.
pub(super) fn programs() -> Vec<Program> {
    vec![
        Program::new("path_ring", "spsc", 2, |n| stream(n, |value| value)),
        Program::new("path_ring_64_bytes", "spsc", 2, |n| stream(n, |value| [value; 8])),
        Program::new("path_stream", "stealing-1", 2, |n| {
            block_on(from_a_thread(setting("stealing-1").system(), n))
        }),
        on("path_ping_pong", "per_core", Idle::Spin(SPIN), ours::ping_pong_apart),
        on("path_ask", "per_core", Idle::Spin(SPIN), ours::ask_apart),
        on("path_sync", "stealing-1", Idle::Park, |system, n| tell(system, n, To::Sync)),
        on("path_async", "stealing-1", Idle::Park, |system, n| tell(system, n, To::Async)),
        on("path_async_woken", "stealing-1", Idle::Park, |system, n| tell(system, n, To::Woken)),
        on("path_work", "stealing-1", Idle::Park, |system, n| tell(system, n, To::Work(1))),
        Program::new("path_work_bare", "stealing-1", 1, |n| work_alone(n, 1)),
        on("path_work_10", "stealing-1", Idle::Park, |system, n| tell(system, n, To::Work(10))),
        Program::new("path_work_10_bare", "stealing-1", 1, |n| work_alone(n, 10)),
        on("path_work_100", "stealing-1", Idle::Park, |system, n| tell(system, n, To::Work(100))),
        Program::new("path_work_100_bare", "stealing-1", 1, |n| work_alone(n, 100)),
        on("path_timer", "stealing-1", Idle::Park, |system, n| timers(system, n, 0)),
        on("path_timer_among", "stealing-1", Idle::Park, |system, n| timers(system, n, PENDING)),
        on("path_ask_chain", "stealing-1", Idle::Park, chain),
    ]
}

fn setting(who: &str) -> &'static Setting {
    Setting::named(who).expect("the setting is in the table")
}

fn on<F: Future<Output = Duration>>(
    name: &'static str,
    who: &'static str,
    idle: Idle,
    run: impl Fn(System, u64) -> F + 'static,
) -> Program {
    let setting = setting(who);
    Program::new(name, who, setting.workers, move |n| {
        let system = setting.builder().idle(idle).build().expect("a system starts");
        block_on(run(system, n))
    })
}

/// A thread writes, another one reads, each on a core of its own.
fn stream<T: Send + PartialEq + 'static>(n: u64, value: fn(u64) -> T) -> Duration {
    let (mut sender, mut receiver) = spsc::channel(CAPACITY);
    let reader = thread::spawn(move || {
        bind(1);
        for wanted in 0..n {
            let got = loop {
                match receiver.try_recv() {
                    Ok(got) => break got,
                    Err(_) => std::hint::spin_loop(),
                }
            };
            assert!(got == value(wanted), "values come in order");
        }
    });
    let writer = thread::spawn(move || {
        bind(0);
        let clock = Instant::now();
        for number in 0..n {
            let mut next = value(number);
            while let Err(back) = sender.write(next) {
                next = back.into_inner();
                std::hint::spin_loop();
            }
            if number % BATCH == BATCH - 1 {
                sender.flush().expect("the reader lives");
            }
        }
        drop(sender);
        reader.join().expect("the reader does not panic");
        clock.elapsed()
    });
    writer.join().expect("the writer does not panic")
}

#[derive(Actor)]
struct Counter {
    total: u64,
}

#[handlers]
impl Counter {
    #[start]
    fn start() -> Self {
        Self { total: 0 }
    }

    #[tell]
    fn add(&mut self, value: u64) {
        self.total += value;
    }

    #[tell]
    async fn add_async(&mut self, value: u64) {
        self.total += value;
    }

    /// Waits once, until it is woken, which is at once.
    #[tell]
    async fn add_woken(&mut self, value: u64) {
        let mut is_woken = false;
        poll_fn(|cx| {
            if is_woken {
                return Poll::Ready(());
            }
            is_woken = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        self.total += value;
    }

    /// Works for about so many microseconds.
    #[tell]
    fn work(&mut self, micros: u32) {
        work(micros);
        self.total += 1;
    }

    #[ask]
    fn total(&self) -> u64 {
        self.total
    }
}

/// Steps that wait for each other, five cycles each, about a microsecond of them: what a clock says would take part of the
/// overhead in.
const STEPS: u32 = 520;

/// The same code wherever it is called.
#[inline(never)]
fn work(micros: u32) {
    let mut number = black_box(1_u64);
    for _ in 0..micros * STEPS {
        // Not a sum and a product: a compiler makes one such step of eight.
        number = (number ^ (number >> 31)).wrapping_mul(6_364_136_223_846_793_005);
    }
    black_box(number);
}

/// What so many handlers do, without any actor.
fn work_alone(n: u64, micros: u32) -> Duration {
    let clock = Instant::now();
    (0..n).for_each(|_| work(micros));
    clock.elapsed()
}

/// Which handler is told.
#[derive(Clone, Copy)]
enum To {
    Sync,
    /// For about so many microseconds.
    Work(u32),
    Async,
    Woken,
}

#[derive(Actor)]
struct Producer {
    counter: Ref<Counter>,
}

#[handlers]
impl Producer {
    #[start]
    fn start(counter: Ref<Counter>) -> Self {
        Self { counter }
    }

    #[ask]
    async fn produce(&mut self, n: u64, to: To) -> u64 {
        for _ in 0..n {
            let sent = match to {
                To::Sync => self.counter.add(1).tell().is_ok(),
                To::Work(micros) => self.counter.work(micros).tell().is_ok(),
                To::Async => self.counter.add_async(1).tell().is_ok(),
                To::Woken => self.counter.add_woken(1).tell().is_ok(),
            };
            assert!(sent, "the counter lives");
        }
        self.counter.total().within(PATIENCE).await.expect("the counter answers")
    }
}

async fn tell(system: System, n: u64, to: To) -> Duration {
    let counter = system.spawn::<Counter>(()).await.expect("the counter starts");
    let producer = system.spawn::<Producer>(counter).await.expect("the producer starts");
    let clock = Instant::now();
    let total = producer.produce(n, to).within(PATIENCE).await;
    let took = clock.elapsed();
    assert_eq!(total.ok(), Some(n), "every message was handled once");
    took
}

/// A plain thread sends to an actor.
async fn from_a_thread(system: System, n: u64) -> Duration {
    let counter = system.spawn::<Counter>(()).await.expect("the counter starts");
    let told = counter.clone();
    let clock = Instant::now();
    let sent = outside(move || {
        for _ in 0..n {
            told.add(1).tell().expect("the counter lives");
        }
    });
    sent.await.expect("the thread does not panic");
    let total = counter.total().within(PATIENCE).await;
    let took = clock.elapsed();
    assert_eq!(total.ok(), Some(n), "every message was handled once");
    took
}

#[derive(Actor)]
struct Setter;

#[handlers]
impl Setter {
    #[start]
    fn start() -> Self {
        Self
    }

    #[local]
    fn ring(&mut self) {}

    /// Sets and cancels a timer again and again, while so many others are to ring later.
    #[ask]
    fn set(&mut self, n: u64, pending: u32, cx: &mut Context<Self>) -> Duration {
        for number in 0..pending {
            cx.after(PATIENCE + Duration::from_millis(7) * number, Self::ring);
        }
        let clock = Instant::now();
        for _ in 0..n {
            let timer = cx.after(PATIENCE, Self::ring);
            assert!(cx.cancel(timer), "the timer was not over");
        }
        clock.elapsed()
    }
}

/// Timers that wait beside those that are measured.
const PENDING: u32 = 100_000;

async fn timers(system: System, n: u64, pending: u32) -> Duration {
    let setter = system.spawn::<Setter>(()).await.expect("the actor starts");
    setter.set(n, pending).within(PATIENCE).await.expect("the actor answers")
}

/// Actors of which each waits for the answer of the next.
pub(super) const CHAIN: u32 = 16;

#[derive(Actor)]
struct Member {
    next: Option<Ref<Self>>,
}

#[handlers]
impl Member {
    #[start]
    fn start(next: Option<Ref<Self>>) -> Self {
        Self { next }
    }

    #[ask]
    async fn count(&mut self) -> u32 {
        match &self.next {
            Some(next) => 1 + next.count().await.expect("the next one answers"),
            None => 0,
        }
    }

    #[ask]
    async fn run(&mut self, n: u64) -> Duration {
        let first = self.next.as_ref().expect("there is a chain");
        let clock = Instant::now();
        for _ in 0..n {
            assert_eq!(first.count().await.ok(), Some(CHAIN - 1), "all of the chain");
        }
        clock.elapsed()
    }
}

async fn chain(system: System, n: u64) -> Duration {
    let mut next = None;
    for _ in 0..=CHAIN {
        next = Some(system.spawn::<Member>(next).await.expect("a member starts"));
    }
    let first = next.expect("there is a chain");
    first.run(n).within(PATIENCE).await.expect("it answers")
}
