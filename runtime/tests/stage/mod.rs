//! A stage for workloads: actors that note what they see, and an account that must come out even.

mod crew;

use greenroom::{Actor, AskError, Message, Ref, Scheduler, System, Tell, handlers};
use shuttle::scheduler::{
    PctScheduler, RandomScheduler, ReplayScheduler, Scheduler as Explorer, UrwRandomScheduler,
};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// The sender's number of the thread that is no actor.
const OUTSIDE: usize = usize::MAX;
/// Coroutines are many, and these handlers are shallow.
const STACK_BYTES: usize = 256 << 10;

/// Which system a workload runs on.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    scheduler: fn() -> Scheduler,
    workers: usize,
}

impl Plan {
    pub(crate) fn stealing(workers: usize) -> Self {
        Self { scheduler: Scheduler::stealing, workers }
    }

    pub(crate) fn auto(workers: usize) -> Self {
        Self { scheduler: Scheduler::auto, workers }
    }

    pub(crate) fn locked(workers: usize) -> Self {
        Self { scheduler: Scheduler::locked, workers }
    }

    pub(crate) fn lock_free(workers: usize) -> Self {
        Self { scheduler: Scheduler::lock_free, workers }
    }

    pub(crate) fn per_core(workers: usize) -> Self {
        Self { scheduler: Scheduler::per_core, workers }
    }
}

/// Runs `workload` under as many schedules as `GREENROOM_SCHEDULES` says, or a few: eight in ten at random, step by
/// step; one with three preemptions at the places that matter most often; one drawn so that all schedules are as
/// likely, by the steps that each thread takes in a first run. Where `GREENROOM_SCHEDULE` has the text that a failure
/// printed, runs that one schedule.
pub(crate) fn explore(plan: Plan, workload: impl AsyncFn(&Scene) + Copy + Send + Sync + 'static) {
    if let Ok(schedule) = std::env::var("GREENROOM_SCHEDULE") {
        return check(ReplayScheduler::new_from_encoded(&schedule), plan, workload);
    }
    let all = std::env::var("GREENROOM_SCHEDULES").ok().and_then(|text| text.parse().ok());
    let all: usize = all.unwrap_or(100);
    let few = all.div_ceil(10);
    check(RandomScheduler::new(all.saturating_sub(2 * few)), plan, workload);
    check(PctScheduler::new(3, few), plan, workload);
    // One more: the first run is for the estimate.
    check(UrwRandomScheduler::new(few + 1), plan, workload);
}

fn check(
    explorer: impl Explorer + 'static,
    plan: Plan,
    workload: impl AsyncFn(&Scene) + Copy + Send + Sync + 'static,
) {
    let mut config = shuttle::Config::new();
    config.stack_size = STACK_BYTES;
    shuttle::Runner::new(explorer, config).run(move || play(plan, &workload));
}

fn play(plan: Plan, workload: &impl AsyncFn(&Scene)) {
    let system = System::builder().workers(plan.workers).scheduler((plan.scheduler)());
    let system = system.stack_bytes(STACK_BYTES).batch(3).build().expect("it starts");
    let scene = Scene { system, workers: plan.workers, account: Arc::default() };
    shuttle::future::block_on(async {
        workload(&scene).await;
        scene.system.shutdown(Duration::from_secs(1)).await.expect("time does not pass");
    });
    scene.account.settle(&scene.system);
}

/// A system, and what its actors have noted.
#[derive(Clone)]
pub(crate) struct Scene {
    system: System,
    workers: usize,
    account: Arc<Account>,
}

impl Scene {
    pub(crate) async fn spawn(&self, count: usize) -> Vec<Ref<Player>> {
        let mut players = Vec::new();
        for number in 0..count {
            // Where actors have a home, each worker gets some.
            let player =
                self.system.spawn::<Player>(self.account.issue()).on(number % self.workers);
            let player = player.await;
            players.push(player.expect("it starts"));
        }
        players
    }

    /// Lets the actor live on another worker, where actors have a home.
    pub(crate) fn migrate(&self, actor: &Ref<Player>, worker: usize) {
        // An error means that they have none.
        let _ = actor.migrate(worker % self.workers);
    }

    /// An actor, unless the system is ending.
    pub(crate) async fn spawn_late(&self) -> Option<Ref<Player>> {
        self.system.spawn::<Player>(self.account.issue()).await.ok()
    }

    /// An actor with a name, unless the name is taken.
    pub(crate) async fn spawn_named(&self, name: &str) -> Option<Ref<Player>> {
        let actor = self.system.spawn::<Player>(self.account.issue()).named(name).await.ok();
        // Whoever tries again lets others run.
        shuttle::thread::yield_now();
        actor
    }

    /// An actor that starts with its first message.
    pub(crate) fn asleep(&self) -> Ref<Player> {
        let account = Arc::clone(&self.account);
        let players = self.system.keyed::<u64, Player>(move |_| account.issue());
        players.get(0).expect("the system runs")
    }

    pub(crate) fn find(&self, name: &str) -> Option<Ref<Player>> {
        self.system.find(name).ok()
    }

    /// Runs `work` on a thread of its own.
    pub(crate) fn thread(
        &self,
        work: impl AsyncFn(&Self) + Send + 'static,
    ) -> shuttle::thread::JoinHandle<()> {
        let scene = self.clone();
        shuttle::thread::spawn(move || shuttle::future::block_on(work(&scene)))
    }

    /// Sends the message `count` of this thread.
    pub(crate) fn send(&self, to: &Ref<Player>, count: u64) {
        self.tell(to.take(OUTSIDE, count));
    }

    /// Sends anything.
    pub(crate) fn tell<M: Message>(&self, tell: Tell<'_, M>) {
        self.account.sent(tell.tell().is_ok());
    }

    /// Waits until an actor that drains has ended; nobody else may have ended so far.
    pub(crate) async fn drained(&self, actor: &Ref<Player>) {
        actor.ended().await;
        let lost = self.system.counts().dead_stopped;
        self.account.check(lost == 0, || format!("{lost} were accepted and not handled"));
    }

    /// Checks that no more actors have started than messages were taken.
    pub(crate) fn started_for_what_was_sent(&self) {
        let (started, sent) =
            (self.system.counts().started, self.account.sent.load(Ordering::SeqCst));
        self.account.check(started <= sent, || format!("{started} started for {sent} messages"));
    }

    /// Asks for the double of `number`.
    pub(crate) async fn ask(&self, whom: &Ref<Player>, number: u64) {
        self.account.ask(whom, number).await;
    }

    /// Waits until so many steps of the workload are done: messages taken, hops made, asks ended.
    pub(crate) async fn done(&self, count: u64) {
        self.account.reaches(count).await;
    }
}

/// What became of the messages. shuttle does not switch threads in here, except where it is told to.
#[derive(Default)]
pub(crate) struct Account {
    sent: AtomicU64,
    returned: AtomicU64,
    handled: AtomicU64,
    done: AtomicU64,
    players: AtomicUsize,
    /// How far each pair of sender and receiver has come.
    pairs: Mutex<BTreeMap<(usize, usize), u64>>,
    wrong: Mutex<Vec<String>>,
    waiting: Mutex<Option<Waker>>,
}

impl Account {
    /// What the next actor starts from, and starts from again.
    fn issue(self: &Arc<Self>) -> (Arc<Self>, usize) {
        let number = self.players.fetch_add(1, Ordering::SeqCst);
        (Arc::clone(self), number)
    }

    fn sent(&self, taken: bool) {
        let counter = if taken { &self.sent } else { &self.returned };
        counter.fetch_add(1, Ordering::SeqCst);
    }

    fn done(&self) {
        self.done.fetch_add(1, Ordering::SeqCst);
        let waiting = self.waiting.lock().expect("nobody panics with it").take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    async fn reaches(&self, count: u64) {
        poll_fn(|cx| {
            *self.waiting.lock().expect("nobody panics with it") = Some(cx.waker().clone());
            let reached = self.done.load(Ordering::SeqCst) >= count;
            if reached { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    async fn ask(&self, whom: &Ref<Player>, number: u64) {
        let answer = whom.double(number).await;
        self.sent(answer != Err(AskError::Closed));
        let right = answer.is_err() || answer == Ok(number * 2);
        self.check(right, || format!("{answer:?} for {number}"));
        self.done();
    }

    fn check(&self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.wrong.lock().expect("nobody panics with it").push(text());
        }
    }

    fn in_order(&self, from: usize, to: usize, count: u64) {
        let mut pairs = self.pairs.lock().expect("nobody panics with it");
        let next = pairs.entry((from, to)).or_default();
        let expected = std::mem::replace(next, count + 1);
        self.check(count == expected, || {
            format!("{from} to {to}: {count} after {expected} others")
        });
    }

    fn settle(&self, system: &System) {
        assert_eq!(system.leftovers(), Vec::<String>::new());
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        let wrong = self.wrong.lock().expect("nobody panics with it");
        assert!(wrong.is_empty(), "{wrong:?}");
        let counts = system.counts();
        let (sent, handled) = (read(&self.sent), read(&self.handled));
        assert_eq!(sent, handled + counts.dead_stopped, "sent and accounted for");
        assert_eq!(read(&self.returned), counts.rejected_closed, "returned to their senders");
    }
}

/// An actor that sends to others and checks what it gets.
#[derive(Actor)]
#[actor(restart = transient(9 in "1h"))]
pub(crate) struct Player {
    number: usize,
    account: Arc<Account>,
    peers: Vec<Ref<Self>>,
    /// Messages sent to each peer so far.
    flooded: u64,
    /// Set while a handler runs; another thread is let run meanwhile.
    busy: Arc<shuttle::sync::atomic::AtomicBool>,
}

impl Player {
    fn alone<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let was_busy = self.busy.swap(true, Ordering::SeqCst);
        self.account.check(!was_busy, || format!("two workers run actor {}", self.number));
        self.account.handled.fetch_add(1, Ordering::SeqCst);
        let result = work(self);
        shuttle::thread::yield_now();
        self.busy.store(false, Ordering::SeqCst);
        result
    }
}

#[handlers]
impl Player {
    #[start]
    fn start((account, number): (Arc<Account>, usize)) -> Self {
        Self { number, account, peers: Vec::new(), flooded: 0, busy: Arc::default() }
    }

    #[tell]
    fn meet(&mut self, peers: Vec<Ref<Self>>) {
        self.alone(|this| this.peers = peers);
    }

    /// Sends so many more messages to each peer.
    #[tell]
    fn flood(&mut self, count: u64) {
        self.alone(|this| {
            for number in this.flooded..this.flooded + count {
                for peer in &this.peers {
                    this.account.sent(peer.take(this.number, number).tell().is_ok());
                }
            }
            this.flooded += count;
        });
    }

    /// The message `count` from a sender.
    #[tell]
    fn take(&mut self, from: usize, count: u64) {
        self.alone(|this| {
            this.account.in_order(from, this.number, count);
            this.account.done();
        });
    }

    #[tell]
    fn pass(&mut self, hops: u64) {
        self.alone(|this| {
            this.account.done();
            if hops > 0 {
                this.account.sent(this.peers[0].pass(hops - 1).tell().is_ok());
            }
        });
    }

    #[ask]
    fn double(&mut self, number: u64) -> u64 {
        self.alone(|_| number * 2)
    }

    #[tell]
    fn panic(&mut self) {
        self.alone(|_| ());
        std::panic::panic_any("as it was told");
    }

    /// Asks the first peer so many times.
    #[tell]
    async fn inquire(&mut self, count: u64) {
        self.account.handled.fetch_add(1, Ordering::SeqCst);
        for number in 0..count {
            self.account.ask(&self.peers[0], number).await;
        }
    }
}
