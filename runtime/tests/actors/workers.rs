//! Workers: tokio inside handlers, fairness between actors, queues from outside, and every setting.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{
    Builds, LONG, SCHEDULERS, SHARING, everywhere, on, poll_once, run, soon, until,
};
use greenroom::{
    Actor, Batch, BuildError, Config, Context, Hint, Idle, Origin, Ready, ReadyQueue, Ref,
    Scheduler, System, WorkerId, handlers, testing,
};
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, oneshot};

/// Does what tokio offers, in its handlers.
#[derive(Actor)]
struct Host;

#[handlers]
impl Host {
    /// Listens, and answers one connection with what it sends.
    #[ask]
    async fn listen(&mut self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut from, mut to) = stream.split();
            tokio::io::copy(&mut from, &mut to).await.unwrap();
        });
        port
    }
    #[ask]
    async fn connect(&mut self, port: u16, text: String) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut back = String::new();
        stream.read_to_string(&mut back).await.unwrap();
        back
    }
    #[ask]
    async fn sleep(&mut self, time: Duration) -> Duration {
        let begun = tokio::time::Instant::now();
        tokio::time::sleep(time).await;
        begun.elapsed()
    }
    #[ask]
    async fn spawn_inside(&mut self, number: u64) -> u64 {
        tokio::spawn(async move { number + 1 }).await.unwrap()
    }
    /// The names of the threads that the handler and its blocking work ran on.
    #[ask]
    async fn block(&mut self, cx: &mut Context<Self>) -> [String; 2] {
        let name = || thread::current().name().unwrap_or_default().to_owned();
        let other = cx.blocking(move || thread::current().id()).await;
        assert_ne!(other, thread::current().id());
        [name(), cx.blocking(name).await]
    }
    #[ask]
    async fn block_and_panic(&mut self, cx: &mut Context<Self>) {
        cx.blocking(|| panic!("as asked")).await;
    }
    /// Lets a thread block until it is told to go on.
    #[ask]
    async fn block_until(&mut self, told: oneshot::Receiver<()>, cx: &mut Context<Self>) {
        cx.blocking(move || told.blocking_recv().unwrap()).await;
    }
    /// Has tokio run a task that keeps the thread until it is told to go on.
    #[tell]
    fn keep_thread(&mut self, begins: oneshot::Sender<()>, until: mpsc::Receiver<()>) {
        tokio::spawn(async move {
            let _ = begins.send(());
            let _ = until.recv();
        });
    }
    /// The thread it runs on, once as many as the barrier wants are there, each on its own thread.
    #[ask]
    fn meet(&mut self, barrier: Arc<std::sync::Barrier>) -> String {
        barrier.wait();
        thread::current().name().unwrap_or_default().to_owned()
    }
    /// As `meet`, without holding its thread.
    #[ask]
    async fn meet_later(&mut self, barrier: Arc<Barrier>) {
        barrier.wait().await;
    }
}

async fn host(system: &System) -> Ref<Host> {
    system.spawn::<Host>(Host).await.unwrap()
}

#[test]
fn handlers_use_sockets_timers_tasks_and_threads() {
    everywhere(async |system| {
        let (server, client) = (host(system).await, host(system).await);
        let port = server.listen().await.unwrap();
        let echo = client.connect(port, "hello".repeat(10_000)).within(LONG).await.unwrap();
        assert_eq!(echo, "hello".repeat(10_000));
        let time = Duration::from_millis(5);
        assert!(client.sleep(time).within(LONG).await.unwrap() >= time);
        assert_eq!(client.spawn_inside(4).await, Ok(5));
        let [worker, other] = client.block().await.unwrap();
        assert!(worker.starts_with("greenroom-"), "{worker}");
        assert_ne!(worker, other);
        assert!(client.block_and_panic().await.is_err());
        soon(client.ended()).await;
    });
}

#[test]
fn what_blocks_is_left_until_it_is_over() {
    everywhere(async |system| {
        let is_left = || system.leftovers().contains(&"1 tasks".to_owned());
        let host = host(system).await;
        let (go_on, told) = oneshot::channel();
        let mut asked = Box::pin(async { host.block_until(told).within(LONG).await });
        assert!(poll_once(&mut asked).is_pending());
        until(is_left).await;
        host.kill();
        soon(host.ended()).await;
        assert!(is_left(), "nothing ends a call that blocks");
        go_on.send(()).unwrap();
        until(|| !is_left()).await;
        assert!(asked.await.is_err());
    });
}

#[test]
fn handlers_that_wait_for_each_other_share_one_worker() {
    on(1, Scheduler::locked(), async |system| {
        const HOSTS: usize = 50;
        let barrier = Arc::new(Barrier::new(HOSTS));
        let mut asking = Vec::new();
        for _ in 0..HOSTS {
            let (host, barrier) = (host(system).await, Arc::clone(&barrier));
            asking.push(tokio::spawn(async move { host.meet_later(barrier).within(LONG).await }));
        }
        for asked in asking {
            assert_eq!(soon(asked).await.unwrap(), Ok(()));
        }
    });
}

#[test]
fn each_worker_is_a_thread_with_the_given_name() {
    for pinned in [false, true] {
        run(async {
            let system = System::builder().workers(3).thread_name("w").pinned(pinned).own();
            // All three must run at the same time to get past the barrier.
            let barrier = Arc::new(std::sync::Barrier::new(3));
            let mut asking = Vec::new();
            for _ in 0..3 {
                let (host, barrier) = (host(&system).await, Arc::clone(&barrier));
                asking.push(tokio::spawn(async move { host.meet(barrier).within(LONG).await }));
            }
            let mut names = BTreeSet::new();
            for asked in asking {
                names.insert(soon(asked).await.unwrap().unwrap());
            }
            assert_eq!(names.into_iter().collect::<Vec<_>>(), ["w-0", "w-1", "w-2"]);
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// Mails itself for ever.
#[derive(Actor)]
struct Busy {
    turns: Arc<AtomicUsize>,
}

#[handlers]
impl Busy {
    #[tell]
    fn again(&mut self, cx: &mut Context<Self>) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        cx.me().again().try_send().unwrap();
    }
    /// As `again`, for longer than a slice each time.
    #[tell]
    fn labour(&mut self, cx: &mut Context<Self>) {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < Duration::from_micros(100) {
            std::hint::spin_loop();
        }
        self.turns.fetch_add(1, Ordering::Relaxed);
        // An error says that it is to stop.
        let _ = cx.me().labour().try_send();
    }
    /// As `again`, by waking itself in one handler that never ends.
    #[tell]
    async fn spin(&mut self) {
        loop {
            self.turns.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn an_actor_that_mails_itself_for_ever_starves_no_other() {
    for batch in [1, 64, u32::MAX] {
        for scheduler in SCHEDULERS {
            run(async {
                let built = System::builder().workers(1).batch(batch).scheduler(scheduler());
                let system = built.own();
                let turns = Arc::new(AtomicUsize::new(0));
                let [again, spin] = [(); 2].map(|()| Busy { turns: Arc::clone(&turns) });
                let again = system.spawn::<Busy>(again).await.unwrap();
                let spin = system.spawn::<Busy>(spin).await.unwrap();
                again.again().await.unwrap();
                spin.spin().await.unwrap();
                let mut hosts = Vec::new();
                for _ in 0..1000 {
                    hosts.push(system.spawn::<Host>(Host).start().unwrap());
                }
                for host in &hosts {
                    host.drain();
                }
                for host in &hosts {
                    soon(host.ended()).await;
                }
                let host = host(&system).await;
                // Neither does it keep tokio from its timers.
                assert!(host.sleep(Duration::from_millis(2)).within(LONG).await.is_ok());
                assert!(turns.load(Ordering::Relaxed) > 0);
                spin.kill();
                system.shutdown(LONG).await.unwrap();
            });
        }
    }
}

// [G-FAIR-1]
/// They have to stay where they are, though another worker has nothing to do.
#[test]
fn actors_that_are_placed_on_one_worker_do_not_starve_each_other() {
    for scheduler in SCHEDULERS {
        on(2, scheduler(), async |system| {
            let mut all_turns = Vec::new();
            for _ in 0..2 {
                let turns = Arc::new(AtomicUsize::new(0));
                let busy = Busy { turns: Arc::clone(&turns) };
                let busy = system.spawn::<Busy>(busy).on(0).await.unwrap();
                busy.labour().await.unwrap();
                all_turns.push(turns);
            }
            until(|| all_turns.iter().all(|turns| turns.load(Ordering::Relaxed) > 20)).await;
        });
    }
}

/// Works on until somebody else has run.
#[derive(Actor)]
struct Worker {
    helper: Option<Ref<Self>>,
    helped: Arc<AtomicBool>,
}

#[handlers]
impl Worker {
    #[tell]
    fn work(&mut self, done: oneshot::Sender<()>) {
        // Long enough for the other worker to fall asleep again.
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            thread::yield_now();
        }
        self.helper.as_ref().unwrap().help().try_send().unwrap();
        while !self.helped.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let _ = done.send(());
    }
    #[tell]
    fn help(&mut self) {
        self.helped.store(true, Ordering::SeqCst);
    }
}

#[test]
fn what_a_long_handler_tells_is_handled_by_a_worker_that_sleeps() {
    for scheduler in SHARING {
        run(async {
            // The slice is long, so that the tell is early in it.
            let built = System::builder().workers(2).slice(LONG).scheduler(scheduler());
            let system = built.own();
            let helped = Arc::new(AtomicBool::new(false));
            let helper = Worker { helper: None, helped: Arc::clone(&helped) };
            let helper = system.spawn::<Worker>(helper).await.unwrap();
            let worker = Worker { helper: Some(helper), helped: Arc::clone(&helped) };
            let worker = system.spawn::<Worker>(worker).await.unwrap();
            let (done, is_done) = oneshot::channel();
            worker.work(done).await.unwrap();
            let in_time = tokio::time::timeout(LONG, is_done).await;
            // Whatever came of it, let the handler end.
            helped.store(true, Ordering::SeqCst);
            assert!(in_time.is_ok(), "the helper waits for the end of the handler");
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// Counts what it is told, or tells a counter; and sees how many are on their way.
#[derive(Actor)]
struct Flow {
    to: Option<Ref<Self>>,
    seen: Arc<AtomicUsize>,
    behind_most: usize,
}

#[handlers]
impl Flow {
    #[tell]
    fn drop_in(&mut self) {
        self.seen.fetch_add(1, Ordering::Relaxed);
    }
    #[ask]
    async fn pour(&mut self, count: usize) -> usize {
        for sent in 0..count {
            let to = self.to.as_ref().unwrap();
            to.drop_in().await.unwrap();
            let behind = sent + 1 - self.seen.load(Ordering::Relaxed);
            self.behind_most = self.behind_most.max(behind);
        }
        self.behind_most
    }
}

#[test]
fn a_handler_that_awaits_many_tells_gives_way_to_their_receiver() {
    for scheduler in SCHEDULERS {
        run(async {
            let built = System::builder().workers(1).batch(10).slice(LONG).scheduler(scheduler());
            let system = built.own();
            let seen = Arc::new(AtomicUsize::new(0));
            let flow = |to| Flow { to, seen: Arc::clone(&seen), behind_most: 0 };
            let basin = system.spawn::<Flow>(flow(None)).await.unwrap();
            let source = system.spawn::<Flow>(flow(Some(basin))).await.unwrap();
            let behind = source.pour(1000).within(LONG).await.unwrap();
            // Eight batches, as nothing is known of the receiver yet.
            assert!(behind <= 80, "{behind} messages waited for the sender's turn to end");
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// A queue from outside: one line for all workers.
#[derive(Debug, Default)]
struct Line(Mutex<VecDeque<Ready>>);

impl ReadyQueue for Line {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        self.0.lock().push_back(ready);
    }
    fn pop(&self, _worker: WorkerId, batch: &mut Batch) {
        if let Some(ready) = self.0.lock().pop_front() {
            batch.push(ready);
        }
    }
    fn has_work(&self, _worker: WorkerId) -> bool {
        !self.0.lock().is_empty()
    }
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

#[test]
fn a_queue_from_outside_conforms_and_runs_a_system() {
    testing::ready_queue_conforms(|_| Line::default());
    for workers in [1, 3] {
        let scheduler = Scheduler::custom(move |asked| {
            assert_eq!(asked, workers);
            Line::default()
        });
        on(workers, scheduler, async |system| {
            let hosts = [host(system).await, host(system).await];
            for number in 0..500 {
                assert_eq!(hosts[number as usize % 2].spawn_inside(number).await, Ok(number + 1));
            }
        });
    }
}

/// A queue in which whoever came last runs first.
#[derive(Debug, Default)]
struct Pile(Mutex<Vec<Ready>>);

impl ReadyQueue for Pile {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        self.0.lock().push(ready);
    }
    fn pop(&self, _worker: WorkerId, batch: &mut Batch) {
        if let Some(ready) = self.0.lock().pop() {
            batch.push(ready);
        }
    }
    fn has_work(&self, _worker: WorkerId) -> bool {
        !self.0.lock().is_empty()
    }
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

#[test]
#[should_panic(expected = "starves none")]
fn a_queue_that_starves_the_oldest_does_not_conform() {
    testing::ready_queue_conforms(|_| Pile::default());
}

/// A queue that forgets every hundredth actor.
#[derive(Debug, Default)]
struct Leaky(Line, AtomicUsize);

impl ReadyQueue for Leaky {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        if self.1.fetch_add(1, Ordering::Relaxed) % 100 != 99 {
            self.0.push(from, ready, hint);
        }
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.0.pop(worker, batch);
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        self.0.has_work(worker)
    }
    fn len(&self) -> usize {
        self.0.len()
    }
}

#[test]
#[should_panic(expected = "knows its length")]
fn a_queue_that_loses_actors_does_not_conform() {
    testing::ready_queue_conforms(|_| Leaky::default());
}

#[test]
fn settings_come_from_toml() {
    let text = "workers = 2\nscheduler = 'stealing'\npinned = true\nthread_name = 'toml'\n\
                stack_bytes = 1048576\nbatch = 8\nslice_us = 70\nspin_us = 5\nask_timeout_ms = 30\n\
                handler_budget_ms = 0";
    let config = Config::from_toml(text).unwrap();
    assert_eq!((config.workers, config.ask_timeout_ms), (Some(2), Some(30)));
    run(async {
        let system = System::builder().workers(7).config(&config).unwrap().own_as_set();
        let host = host(&system).await;
        let [worker, _] = host.block().within(LONG).await.unwrap();
        assert!(["toml-0", "toml-1"].contains(&worker.as_str()), "{worker}");
        let barrier = Arc::new(Barrier::new(2));
        let late = host.meet_later(barrier).await;
        assert_eq!(late, Err(greenroom::AskError::Expired), "after 30 ms");
        host.kill();
        system.shutdown(LONG).await.unwrap();
    });
}

#[test]
fn wrong_settings_are_errors_that_name_them() {
    let error = |built: Result<System, BuildError>| match built {
        Err(error @ BuildError::Config(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let builder = System::builder;
    assert!(error(builder().workers(0).build()).contains("workers"));
    assert!(error(builder().workers(1025).build()).contains("workers"));
    assert!(error(builder().workers(1).batch(0).build()).contains("batch"));
    for bytes in [10, (64 << 10) - 1, usize::MAX] {
        let built = builder().workers(1).stack_bytes(bytes).build();
        assert!(error(built).contains("stack_bytes must be a number between 65536"));
    }
    let narrow = builder().workers(1).stack_bytes(64 << 10).build().expect("it is enough");
    run(async { narrow.shutdown(LONG).await.unwrap() });
    let hasty = builder().workers(1).handler_budget(Duration::from_micros(999));
    assert!(error(hasty.build()).contains("handler_budget"));
    assert!(error(builder().workers(1).thread_name("a\0b").build()).contains("thread_name"));
    for (text, named) in [
        ("workers = 'two'", "workers"),
        ("worker = 2", "worker"),
        ("workers = ", "workers"),
        ("batch = -1", "batch"),
    ] {
        let error = Config::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
    let unknown = Config::from_toml("scheduler = 'magic'").unwrap();
    let error = builder().config(&unknown).unwrap_err().to_string();
    assert!(error.contains("magic") && error.contains("stealing"), "{error}");
}

#[test]
fn workers_that_spin_before_they_sleep_miss_nothing() {
    run(async {
        let built = System::builder().workers(2).idle(Idle::Spin(Duration::from_micros(50)));
        let system = built.own();
        let host = host(&system).await;
        for number in 0..200 {
            assert_eq!(host.spawn_inside(number).await, Ok(number + 1));
        }
        let time = Duration::from_millis(2);
        assert!(host.sleep(time).await.unwrap() >= time);
        host.drain();
        until(|| system.counts().ended == 1).await;
        system.shutdown(LONG).await.unwrap();
    });
}

/// They would not sleep while the test lasts.
#[test]
fn workers_that_spin_hear_their_sockets_and_timers() {
    for scheduler in SCHEDULERS {
        let built = System::builder().workers(1).scheduler(scheduler());
        let system = built.idle(Idle::Spin(LONG * 1000)).own();
        run(async {
            let host = host(&system).await;
            for text in ["one", "two"] {
                let port = host.listen().await.unwrap();
                assert_eq!(host.connect(port, text.to_owned()).await.unwrap(), text);
            }
            let time = Duration::from_millis(2);
            assert!(host.sleep(time).await.unwrap() >= time);
            host.drain();
            until(|| system.counts().ended == 1).await;
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// They leave their threads to tokio in between, which may have more to do than to look at its sockets.
#[test]
fn a_task_that_keeps_the_thread_of_a_worker_that_spins_keeps_no_other_asleep() {
    for scheduler in SHARING {
        let built = System::builder().workers(2).scheduler(scheduler());
        // So short that the other one sleeps when the next question comes.
        let system = built.idle(Idle::Spin(Duration::from_micros(10))).own();
        run(async {
            let (keeper, other) = (host(&system).await, host(&system).await);
            let (begins, begun) = oneshot::channel();
            let (release, released) = mpsc::channel();
            keeper.keep_thread(begins, released).await.unwrap();
            soon(begun).await.unwrap();
            for number in 0..200 {
                assert_eq!(other.spawn_inside(number).await, Ok(number + 1));
            }
            drop(release);
            system.shutdown(LONG).await.unwrap();
        });
    }
}

#[test]
#[cfg_attr(sanitized, ignore = "the sanitizers end a process that cannot have a thread")]
fn a_worker_that_cannot_be_started_is_an_error_inside_a_runtime_too() {
    run(async {
        // More than there are addresses.
        let built = System::builder().workers(2).stack_bytes(1 << 47).build();
        assert!(matches!(built, Err(BuildError::Worker(_))), "{built:?}");
    });
}
