//! How actors and systems end: in order, within their deadline, and without losing a message.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
// The names of threads are read from /proc.
#![cfg(target_os = "linux")]

mod support;

use greenroom::{
    Actor, Context, DeadLetterReason, DeadLetters, ExitReason, Full, Mailbox, Options, Ref,
    Scheduler, SpawnError, System, TellError, handlers,
};
use parking_lot::Mutex;
use std::future::pending;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use support::{
    Dice, LONG, Ledger, Parcel, block_on, everywhere, exit_of, policies, run, soon, times, until,
};
use tokio::sync::oneshot;

/// Takes parcels, at once or when a gate opens.
#[derive(Actor)]
struct Porter;

#[handlers]
impl Porter {
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
    /// Waits in an `.await`.
    #[tell]
    async fn wait(
        &mut self,
        parcel: Parcel,
        entered: oneshot::Sender<()>,
        gate: oneshot::Receiver<()>,
    ) {
        let _ = entered.send(());
        // An error says that the gate was dropped, which opens it too.
        let _ = gate.await;
        parcel.handled();
    }
    /// Holds its worker, and then waits for ever if `forever`.
    #[tell]
    async fn block(
        &mut self,
        parcel: Parcel,
        entered: oneshot::Sender<()>,
        gate: mpsc::Receiver<()>,
        forever: bool,
    ) {
        let _ = entered.send(());
        // As above.
        let _ = gate.recv();
        if forever {
            pending::<()>().await;
        }
        parcel.handled();
    }
    #[ask]
    async fn never(&mut self, entered: oneshot::Sender<()>) {
        let _ = entered.send(());
        pending::<()>().await;
    }
}

/// Parcels that wait behind the first one.
const WAITING: usize = 10;

/// Whatever holds a porter in its handler until it is dropped.
type Gate = Box<dyn std::any::Any>;

/// A porter that waits in an `.await` of its first handler, while more parcels wait behind it.
async fn waiting(system: &System, ledger: &Arc<Ledger>) -> (Ref<Porter>, Gate) {
    let porter = system.spawn::<Porter>(Porter).await.unwrap();
    let gate = keep_waiting(&porter, ledger).await;
    (porter, gate)
}

async fn keep_waiting(porter: &Ref<Porter>, ledger: &Arc<Ledger>) -> Gate {
    let (entered, is_in) = oneshot::channel();
    let (gate, opened) = oneshot::channel();
    porter.wait(ledger.issue(), entered, opened).await.unwrap();
    soon(is_in).await.unwrap();
    for _ in 0..WAITING {
        porter.take(ledger.issue()).await.unwrap();
    }
    Box::new(gate)
}

/// As [`waiting`], but the handler holds its worker.
async fn blocking(system: &System, ledger: &Arc<Ledger>, forever: bool) -> (Ref<Porter>, Gate) {
    let porter = system.spawn::<Porter>(Porter).await.unwrap();
    let (entered, is_in) = oneshot::channel();
    let (gate, opened) = mpsc::channel();
    porter.block(ledger.issue(), entered, opened, forever).await.unwrap();
    is_in.await.unwrap();
    for _ in 0..WAITING {
        porter.take(ledger.issue()).await.unwrap();
    }
    (porter, Box::new(gate))
}

fn ledger() -> Arc<Ledger> {
    Ledger::new(WAITING + 2)
}

/// The reasons of all letters so far: crashed, stopped.
fn reasons(letters: &mut DeadLetters) -> (usize, usize) {
    let mut reasons = (0, 0);
    while let Some(letter) = letters.try_next() {
        match letter.reason {
            DeadLetterReason::Crashed => reasons.0 += 1,
            DeadLetterReason::Stopped => reasons.1 += 1,
            other => panic!("{other:?}"),
        }
    }
    reasons
}

/// Offers one more parcel, which must come back.
async fn refuses(porter: &Ref<Porter>, ledger: &Arc<Ledger>) {
    match porter.take(ledger.issue()).await {
        Err(TellError::Closed(PorterMessage::Take { parcel })) => parcel.returned(),
        other => panic!("{other:?}"),
    }
}

// [G-STOP-1]
#[test]
fn stop_lets_the_running_message_finish_and_reports_the_rest() {
    everywhere(async |system| {
        for blocks in [false, true] {
            let (mut letters, mut events) = (system.dead_letters(), system.events());
            let ledger = ledger();
            let (porter, gate) = if blocks {
                blocking(system, &ledger, false).await
            } else {
                waiting(system, &ledger).await
            };
            assert!(porter.stop());
            drop(gate);
            assert_eq!(exit_of(&porter, &mut events).await, ExitReason::Stopped);
            refuses(&porter, &ledger).await;
            assert_eq!(reasons(&mut letters), (0, WAITING), "blocks: {blocks}");
            let tally = ledger.tally();
            assert_eq!((tally.handled, tally.dropped), (1, WAITING as u64), "blocks: {blocks}");
            soon(porter.ended()).await;
            // The news comes shortly before the very end.
            until(|| !porter.stop()).await;
        }
    });
}

// [G-STOP-2]
#[test]
fn drain_handles_what_was_accepted_and_refuses_the_rest() {
    everywhere(async |system| {
        let mut events = system.events();
        let ledger = ledger();
        let (porter, gate) = waiting(system, &ledger).await;
        assert!(porter.drain());
        until(|| porter.is_closed()).await;
        refuses(&porter, &ledger).await;
        drop(gate);
        assert_eq!(exit_of(&porter, &mut events).await, ExitReason::Drained);
        let tally = ledger.settle(&system.counts());
        assert_eq!((tally.handled, tally.dropped), (1 + WAITING as u64, 0));
    });
}

/// Takes parcels one by one, with a mailbox of its kind.
struct Clerk<P>(PhantomData<P>);

impl<P: Policy> Actor for Clerk<P> {
    const OPTIONS: Options = Options::new().mailbox(P::MAILBOX);
}

policies! {
    /// Tells the mailboxes of otherwise equal clerks apart.
    Policy { MAILBOX: Mailbox }
    Endless = Mailbox::unbounded();
    Counted = Mailbox::bounded(RACERS * RACE);
    Sliding = Mailbox::bounded(RACERS * RACE).full(Full::DropOldest);
}

#[handlers]
impl<P: Policy> Clerk<P> {
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
}

/// Parcels that one sender sends at most in a race.
const RACE: usize = 500;

/// Senders in a race.
const RACERS: usize = 2;

/// Threads send to a clerk that drains at some moment, some by `tell` and some by an awaited one.
async fn race<P: Policy>(system: &System, ledger: &Arc<Ledger>, dice: &mut Dice) {
    let clerk = system.spawn::<Clerk<P>>(Clerk(PhantomData)).await.unwrap();
    let drain_at = ledger.issued() + dice.below(RACE as u64) as usize;
    let senders: Vec<_> = (0..RACERS)
        .map(|number| {
            let (clerk, ledger) = (clerk.clone(), Arc::clone(ledger));
            thread::spawn(move || {
                for _ in 0..RACE {
                    let take = clerk.take(ledger.issue());
                    let sent = if number == 0 { take.tell() } else { take.wait() };
                    if let Err(TellError::Closed(ClerkMessage::Take { parcel })) = sent {
                        return parcel.returned();
                    }
                }
            })
        })
        .collect();
    while ledger.issued() < drain_at && !senders.iter().all(JoinHandle::is_finished) {
        thread::yield_now();
    }
    clerk.drain();
    soon(clerk.ended()).await;
    for sender in senders {
        sender.join().unwrap();
    }
}

// [G-STOP-2]
#[test]
fn whoever_races_a_drain_has_its_message_handled_or_back() {
    everywhere(async |system| {
        let rounds = times(20);
        let ledger = Ledger::new(rounds * 3 * RACERS * RACE);
        let mut dice = Dice::new(1);
        for _ in 0..rounds {
            race::<Endless>(system, &ledger, &mut dice).await;
            race::<Counted>(system, &ledger, &mut dice).await;
            race::<Sliding>(system, &ledger, &mut dice).await;
        }
        let tally = ledger.settle(&system.counts());
        assert_eq!(tally.dropped, 0, "{tally:?}");
    });
}

/// Has a porter of its own.
#[derive(Actor)]
struct Landlord {
    porter: Ref<Porter>,
}

#[handlers]
impl Landlord {
    #[start]
    fn start(cx: &mut Context<Self>) -> Result<Self, SpawnError> {
        Ok(Self { porter: cx.spawn::<Porter>(Porter).start()? })
    }
    #[ask]
    fn porter(&self) -> Ref<Porter> {
        self.porter.clone()
    }
}

// [G-STOP-2]
#[test]
fn drain_goes_down_to_the_children() {
    everywhere(async |system| {
        let mut events = system.events();
        let ledger = ledger();
        let landlord = system.spawn::<Landlord>(()).await.unwrap();
        let porter = landlord.porter().await.unwrap();
        let gate = keep_waiting(&porter, &ledger).await;
        assert!(landlord.drain());
        until(|| porter.is_closed()).await;
        refuses(&porter, &ledger).await;
        drop(gate);
        assert_eq!(exit_of(&porter, &mut events).await, ExitReason::Drained);
        soon(landlord.ended()).await;
        let tally = ledger.settle(&system.counts());
        assert_eq!((tally.handled, tally.dropped), (1 + WAITING as u64, 0));
    });
}

// [G-STOP-3]
#[test]
fn kill_drops_a_handler_that_waits() {
    everywhere(async |system| {
        let (mut letters, mut events) = (system.dead_letters(), system.events());
        let ledger = ledger();
        let (porter, _gate) = waiting(system, &ledger).await;
        assert!(porter.kill());
        assert_eq!(exit_of(&porter, &mut events).await, ExitReason::Killed);
        assert_eq!(reasons(&mut letters), (1, WAITING));
        let tally = ledger.settle(&system.counts());
        assert_eq!((tally.handled, tally.dropped), (0, 1 + WAITING as u64));
    });
}

// [G-STOP-3]
#[test]
fn kill_drops_a_handler_that_runs_at_its_next_await() {
    everywhere(async |system| {
        let mut letters = system.dead_letters();
        let ledger = ledger();
        let (porter, gate) = blocking(system, &ledger, true).await;
        assert!(porter.kill());
        drop(gate);
        soon(porter.ended()).await;
        assert_eq!(reasons(&mut letters), (1, WAITING));
        assert_eq!(ledger.settle(&system.counts()).handled, 0);
    });
}

// [G-STOP-3] [G-ASK-1]
#[test]
fn whoever_asked_a_handler_that_is_killed_gets_no_reply() {
    everywhere(async |system| {
        let porter = system.spawn::<Porter>(Porter).await.unwrap();
        let (entered, is_in) = oneshot::channel();
        let killer = porter.clone();
        let (outcome, _) = tokio::join!(porter.never(entered).within(LONG), async {
            soon(is_in).await.unwrap();
            killer.kill()
        });
        assert_eq!(outcome, Err(greenroom::AskError::NoReply));
    });
}

/// An actor whose mailbox holds one message.
struct Narrow;

impl Actor for Narrow {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::bounded(1));
}

#[handlers]
impl Narrow {
    #[tell]
    async fn wait(&mut self, entered: oneshot::Sender<()>) {
        let _ = entered.send(());
        pending::<()>().await;
    }
}

// [G-SYSTEM-1]
#[test]
fn a_full_mailbox_delays_no_kill() {
    everywhere(async |system| {
        let narrow = system.spawn::<Narrow>(Narrow).await.unwrap();
        let (entered, is_in) = oneshot::channel();
        narrow.wait(entered).await.unwrap();
        soon(is_in).await.unwrap();
        narrow.wait(oneshot::channel().0).try_send().unwrap();
        assert!(matches!(narrow.wait(oneshot::channel().0).try_send(), Err(TellError::Full(_))));
        narrow.kill();
        soon(narrow.ended()).await;
    });
}

/// A node of a tree; each notes its path when its stop hook is over.
#[derive(Actor)]
struct Branch {
    path: String,
    ends: Arc<Mutex<Vec<String>>>,
}

#[handlers]
impl Branch {
    #[start]
    fn start(
        path: String,
        depth: usize,
        ends: Arc<Mutex<Vec<String>>>,
        cx: &mut Context<Self>,
    ) -> Result<Self, SpawnError> {
        for number in 0..if depth == 0 { 0 } else { 3 } {
            cx.spawn::<Self>((format!("{path}/{number}"), depth - 1, Arc::clone(&ends))).start()?;
        }
        Ok(Self { path, ends })
    }
    #[stop]
    async fn stop(&mut self) {
        tokio::task::yield_now().await;
        self.ends.lock().push(self.path.clone());
    }
}

// [G-SHUTDOWN-1]
#[test]
fn shutdown_stops_children_before_their_parents() {
    everywhere(async |system| {
        let ends = Arc::new(Mutex::new(Vec::new()));
        for root in ["a", "b"] {
            system.spawn::<Branch>((root.to_owned(), 3, Arc::clone(&ends))).await.unwrap();
        }
        until(|| system.counts().started == 2 * (1 + 3 + 9 + 27)).await;
        soon(system.shutdown(LONG)).await.unwrap();
        let ends = ends.lock();
        assert_eq!(ends.len(), 2 * (1 + 3 + 9 + 27), "every stop hook ran");
        for (place, path) in ends.iter().enumerate() {
            let child = format!("{path}/");
            let late = ends[place..].iter().find(|later| later.starts_with(&child));
            assert_eq!(late, None, "it ended after its parent {path}");
        }
    });
}

/// A system of its own kind, for tests that end it themselves.
fn system(workers: usize, scheduler: Scheduler) -> System {
    System::builder().workers(workers).scheduler(scheduler).build().expect("it can be built")
}

// [G-SHUTDOWN-1]
#[test]
fn shutdown_names_what_waits_for_ever_and_then_kills_it() {
    for workers in [1, 2] {
        run(async {
            let system = system(workers, Scheduler::auto());
            let ledger = ledger();
            let quick = system.spawn::<Porter>(Porter).named("quick").await.unwrap();
            let stuck = system.spawn::<Porter>(Porter).named("stuck").await.unwrap();
            let (entered, is_in) = oneshot::channel();
            let (_gate, opened) = oneshot::channel();
            stuck.wait(ledger.issue(), entered, opened).await.unwrap();
            soon(is_in).await.unwrap();
            // Long enough for the other one.
            let ended = soon(system.shutdown(Duration::from_secs(1))).await;
            let error = ended.expect_err("it waits for ever");
            assert_eq!(error.hanging, [format!("stuck ({})", stuck.id())]);
            assert!(error.to_string().contains("stuck"), "{error}");
            assert!(quick.is_closed());
            // The kill reaches it all the same, and the handler's parcel is dropped and reported.
            until(|| ledger.tally().lost == 0).await;
            soon(stuck.ended()).await;
            assert_eq!(ledger.settle(&system.counts()).dropped, 1);
        });
    }
}

// [G-SHUTDOWN-1]
#[test]
fn shutdown_ends_in_time_though_every_worker_is_held() {
    for workers in [1, 2] {
        run(async {
            let system = system(workers, Scheduler::auto());
            let mut gates = Vec::new();
            let ledger = Ledger::new(100);
            for _ in 0..workers {
                gates.push(blocking(&system, &ledger, false).await);
            }
            let ended = soon(system.shutdown(Duration::from_millis(50))).await;
            let mut hanging = ended.expect_err("no handler returns").hanging;
            hanging.sort();
            let held = gates.iter().map(|(porter, _)| porter.id().to_string());
            assert_eq!(hanging, held.collect::<Vec<_>>());
            for (porter, gate) in gates {
                drop(gate);
                soon(porter.ended()).await;
            }
            assert_eq!(ledger.tally().lost, 0);
        });
    }
}

#[test]
fn shutdown_can_be_called_again_and_refuses_new_actors() {
    run(async {
        let system = system(2, Scheduler::auto());
        let porter = system.spawn::<Porter>(Porter).await.unwrap();
        let (first, second) = tokio::join!(system.shutdown(LONG), system.shutdown(LONG));
        assert_eq!((first, second), (Ok(()), Ok(())));
        assert_eq!(soon(system.shutdown(Duration::ZERO)).await, Ok(()));
        assert!(!porter.stop());
        assert!(matches!(system.spawn::<Porter>(Porter).start(), Err(SpawnError::Closed)));
        assert!(matches!(system.spawn::<Porter>(Porter).await, Err(SpawnError::Closed)));
    });
}

#[test]
fn drain_of_a_system_handles_all_its_mail() {
    everywhere(async |system| {
        let many = times(WAITING);
        let ledger = Ledger::new(many + 2);
        let (porter, gate) = waiting(system, &ledger).await;
        for _ in WAITING..many {
            porter.take(ledger.issue()).tell().unwrap();
        }
        let (drained, ()) = tokio::join!(system.drain(LONG), async { drop(gate) });
        drained.unwrap();
        assert_eq!(ledger.settle(&system.counts()).handled, 1 + many as u64);
    });
}

/// Passes parcels on, the last one to its child, while timers tick.
#[derive(Actor)]
struct Runner {
    next: Option<Ref<Self>>,
    porter: Ref<Porter>,
    /// Shared by all that are alive.
    _life: Arc<()>,
}

#[handlers]
impl Runner {
    #[start]
    fn start(life: Arc<()>, cx: &mut Context<Self>) -> Result<Self, SpawnError> {
        cx.every(Duration::from_millis(1), Self::tick);
        cx.after(LONG, Self::tick);
        let porter = cx.spawn::<Porter>(Porter).start()?;
        Ok(Self { next: None, porter, _life: life })
    }
    #[local]
    fn tick(&mut self) {}
    #[ask]
    fn meet(&mut self, next: Ref<Self>) {
        self.next = Some(next);
    }
    #[tell]
    async fn run(&mut self, parcel: Parcel, steps: u32) {
        tokio::task::yield_now().await;
        let next = self.next.as_ref().filter(|_| steps > 0);
        let refused = match next {
            Some(next) => {
                next.run(parcel, steps - 1).await.err().map(|error| match error.into_message() {
                    RunnerMessage::Run { parcel, .. } => parcel,
                    RunnerMessage::Meet { .. } => unreachable!("it was told to run"),
                })
            }
            None => self.porter.take(parcel).await.err().map(|error| match error.into_message() {
                PorterMessage::Take { parcel } => parcel,
                other => unreachable!("{other:?}"),
            }),
        };
        if let Some(parcel) = refused {
            parcel.returned();
        }
    }
}

/// Sends until nobody takes anything any more, or the ledger is full; what came back has a fate, too.
fn send_until_closed(runners: &[Ref<Runner>], ledger: &Arc<Ledger>) {
    for number in 0..PARCELS {
        let runner = &runners[number % runners.len()];
        match runner.run(ledger.issue(), 3).wait() {
            Ok(()) => {}
            Err(TellError::Closed(RunnerMessage::Run { parcel, .. })) => return parcel.returned(),
            Err(other) => panic!("{other:?}"),
        }
    }
}

const SENDERS: usize = 2;
/// Of each sender.
const PARCELS: usize = 1000;
const RUNNERS: usize = 4;

// [G-SHUTDOWN-1] [G-DELIVERY-1]
#[test]
fn systems_that_end_in_the_middle_of_work_leave_nothing_behind() {
    let rounds: u64 = if cfg!(sanitized) { 24 } else { 200 };
    let (mut dice, mut accepted) = (Dice::new(11), 0);
    for round in 0..rounds {
        let (drains, workers) = (round.is_multiple_of(2), 1 + (round / 2 % 3) as usize);
        let scheduler = support::SCHEDULERS[(round / 6 % 4) as usize];
        let built = System::builder().workers(workers).scheduler(scheduler()).thread_name("busy");
        let system = built.build().unwrap();
        let (ledger, life) = (Ledger::new(SENDERS * PARCELS), Arc::new(()));
        let begin_at = dice.below(300) as usize;
        run(async {
            let mut runners = Vec::new();
            for _ in 0..RUNNERS {
                runners.push(system.spawn::<Runner>(Arc::clone(&life)).await.unwrap());
            }
            for (index, runner) in runners.iter().enumerate() {
                let next = runners[(index + 1) % RUNNERS].clone();
                runner.meet(next).within(LONG).await.unwrap();
            }
            let senders = [(); SENDERS].map(|()| {
                let (runners, ledger) = (runners.clone(), Arc::clone(&ledger));
                thread::spawn(move || send_until_closed(&runners, &ledger))
            });
            until(|| ledger.issued() >= begin_at).await;
            let ended = if drains { system.drain(LONG).await } else { system.shutdown(LONG).await };
            ended.unwrap();
            senders.into_iter().for_each(|sender| sender.join().unwrap());
        });
        let counts = system.counts();
        let tally = ledger.settle(&counts);
        accepted += tally.issued - tally.returned;
        let actors = 2 * RUNNERS as u64;
        // Some may have been asked to end before they had started.
        assert_eq!(counts.ended, actors, "round {round}: {counts:?}");
        drop(system);
        run(until(|| threads("busy-") == 0));
        assert_eq!(Arc::strong_count(&life), 1, "round {round}: no actor is left");
        assert_eq!(Arc::strong_count(&ledger), 1, "round {round}: no message is left");
    }
    assert!(accepted > 0, "work was under way");
}

/// Threads of this process whose name begins so.
fn threads(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux lists its threads");
    let names = tasks.filter_map(|task| {
        // A thread may end while it is looked at.
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    });
    names.filter(|name| name.starts_with(prefix)).count()
}

/// Counts its drops.
struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Actor)]
struct Keeper {
    _guard: Guard,
    system: Option<System>,
}

#[handlers]
impl Keeper {
    #[ask]
    fn keep_system(&mut self, cx: &mut Context<Self>) {
        self.system = Some(cx.system());
    }
    #[tell]
    async fn wait(&mut self) {
        assert!(self.system.is_some());
        pending::<()>().await;
    }
}

#[test]
fn dropping_the_last_handle_ends_actors_and_threads() {
    run(async {
        let drops = Arc::new(AtomicUsize::new(0));
        let built = System::builder().workers(3).thread_name("dropped").build().unwrap();
        let other = built.clone();
        for _ in 0..5 {
            let keeper = Keeper { _guard: Guard(Arc::clone(&drops)), system: None };
            let keeper = built.spawn::<Keeper>(keeper).await.unwrap();
            keeper.keep_system().await.unwrap();
            keeper.wait().await.unwrap();
        }
        // The workers and the timekeeper.
        until(|| threads("dropped-") == 3 + 1).await;
        drop(built);
        let late = Keeper { _guard: Guard(Arc::clone(&drops)), system: None };
        let late = other.spawn::<Keeper>(late).await.unwrap();
        assert_eq!(drops.load(Ordering::SeqCst), 0, "another handle is there");
        drop(other);
        until(|| threads("dropped-") == 0).await;
        assert_eq!(drops.load(Ordering::SeqCst), 6);
        assert!(!late.stop());
    });
}

#[test]
fn shutdown_ends_the_threads() {
    run(async {
        let built = System::builder().workers(2).thread_name("shut").build().unwrap();
        until(|| threads("shut-") == 2 + 1).await;
        built.shutdown(LONG).await.unwrap();
        until(|| threads("shut-") == 0).await;
    });
}

// [G-SHUTDOWN-1]
#[test]
fn shutdown_ends_in_time_without_a_runtime_too() {
    let system = system(1, Scheduler::auto());
    let ledger = ledger();
    let (porter, gate) = block_on(blocking(&system, &ledger, false));
    let ended = block_on(system.shutdown(Duration::from_millis(50)));
    assert_eq!(ended.unwrap_err().hanging, [porter.id().to_string()]);
    drop(gate);
    block_on(porter.ended());
    assert_eq!(ledger.tally().lost, 0);
}
