//! Systems that end: in order, within their deadline, with all their threads.

use crate::support::{
    Builds, Dice, LONG, Ledger, Parcel, SCHEDULERS, block_on, everywhere, own_system, run, soon,
    until,
};
use crate::{Porter, PorterMessage, blocking, ledger};
use greenroom::{Actor, Context, Ref, Scheduler, SpawnError, System, TellError, handlers};
use parking_lot::Mutex;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

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

// [G-SHUTDOWN-1]
#[test]
fn shutdown_names_what_waits_for_ever_and_then_kills_it() {
    for workers in [1, 2] {
        run(async {
            // One of these is long enough for the other one, however slow the machine.
            let mut named = Vec::new();
            for seconds in [3, 10, 30] {
                named = shut_down_with_one_that_waits(workers, Duration::from_secs(seconds)).await;
                if named == ["stuck"] {
                    break;
                }
            }
            assert_eq!(named, ["stuck"]);
        });
    }
}

/// Shuts down a system with an actor that ends at once and one that waits for ever; returns the names of those that hang.
async fn shut_down_with_one_that_waits(workers: usize, within: Duration) -> Vec<&'static str> {
    let system = own_system(workers, Scheduler::auto());
    let ledger = ledger();
    let quick = system.spawn::<Porter>(Porter).named("quick").await.unwrap();
    let stuck = system.spawn::<Porter>(Porter).named("stuck").await.unwrap();
    let (entered, is_in) = oneshot::channel();
    let (_gate, opened) = oneshot::channel();
    stuck.wait(ledger.issue(), entered, opened).await.unwrap();
    soon(is_in).await.unwrap();
    let ended = soon(system.shutdown(within)).await;
    let error = ended.expect_err("it waits for ever");
    assert!(error.to_string().contains("stuck"), "{error}");
    // The kill reaches it all the same, and the handler's parcel is dropped and reported.
    until(|| ledger.tally().lost == 0).await;
    soon(stuck.ended()).await;
    assert_eq!(ledger.settle(&system.counts()).dropped, 1);
    soon(quick.ended()).await;
    let name = |hanging: &String| {
        let all = [("quick", quick.id()), ("stuck", stuck.id())];
        let found = all.into_iter().find(|(name, id)| *hanging == format!("{name} ({id})"));
        found.expect("it is one of them").0
    };
    error.hanging.iter().map(name).collect()
}

// [G-SHUTDOWN-1]
#[test]
fn shutdown_ends_in_time_though_every_worker_is_held() {
    for workers in [1, 2] {
        run(async {
            let system = own_system(workers, Scheduler::auto());
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

/// Leaves a task of tokio behind that keeps its worker.
#[derive(Actor)]
struct Litterer;

#[handlers]
impl Litterer {
    #[tell]
    fn leave(&mut self, entered: Entered, released: mpsc::Receiver<()>, cx: &mut Context<Self>) {
        tokio::spawn(async move {
            let _ = entered.send(());
            let _ = released.recv();
        });
        cx.stop();
    }
}

type Entered = oneshot::Sender<()>;

// [G-SHUTDOWN-1]
#[test]
fn shutdown_ends_in_time_though_a_task_holds_a_worker() {
    for scheduler in SCHEDULERS {
        for workers in [1, 2] {
            run(async {
                let system = own_system(workers, scheduler());
                let litterer = system.spawn::<Litterer>(Litterer).await.unwrap();
                let (entered, is_in) = oneshot::channel();
                let (release, released) = mpsc::channel();
                litterer.leave(entered, released).await.unwrap();
                soon(is_in).await.unwrap();
                soon(litterer.ended()).await;
                let before = LONG / 2;
                let ended = timeout(before, system.shutdown(Duration::from_millis(50))).await;
                assert_eq!(ended, Ok(Ok(())), "no actor is left");
                drop(release);
            });
        }
    }
}

#[test]
fn nobody_waits_for_a_system_that_has_ended() {
    for scheduler in SCHEDULERS {
        run(async {
            let system = own_system(1, scheduler());
            soon(system.shutdown(LONG)).await.unwrap();
            assert_eq!(timeout(LONG / 2, system.await_idle(LONG)).await, Ok(Ok(())));
        });
    }
}

#[test]
fn shutdown_can_be_called_again_and_refuses_new_actors() {
    run(async {
        let system = own_system(2, Scheduler::auto());
        let porter = system.spawn::<Porter>(Porter).await.unwrap();
        let (first, second) = tokio::join!(system.shutdown(LONG), system.shutdown(LONG));
        assert_eq!((first, second), (Ok(()), Ok(())));
        assert_eq!(soon(system.shutdown(Duration::ZERO)).await, Ok(()));
        assert!(!porter.stop());
        assert!(matches!(system.spawn::<Porter>(Porter).start(), Err(SpawnError::Closed)));
        assert!(matches!(system.spawn::<Porter>(Porter).await, Err(SpawnError::Closed)));
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
        let scheduler = SCHEDULERS[(round / 6 % 5) as usize];
        let built = System::builder().workers(workers).scheduler(scheduler()).thread_name("busy");
        let system = built.own();
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

/// While its workers start, have something to do, or fall asleep.
#[test]
fn dropping_the_last_handle_at_any_moment_ends_all_threads() {
    for scheduler in SCHEDULERS {
        for workers in [1, 4, 62] {
            run(async {
                for round in 0..6 {
                    let builder = System::builder().workers(workers).scheduler(scheduler());
                    let built = builder.thread_name("parks").build().unwrap();
                    let drops = Arc::new(AtomicUsize::new(0));
                    for _ in 0..round {
                        let keeper = Keeper { _guard: Guard(Arc::clone(&drops)), system: None };
                        built.spawn::<Keeper>(keeper).await.unwrap();
                    }
                    drop(built);
                    until(|| threads("parks-") == 0).await;
                    assert_eq!(drops.load(Ordering::SeqCst), round);
                }
            });
        }
    }
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
    let system = own_system(1, Scheduler::auto());
    let ledger = ledger();
    let (porter, gate) = block_on(blocking(&system, &ledger, false));
    let ended = block_on(system.shutdown(Duration::from_millis(50)));
    assert_eq!(ended.unwrap_err().hanging, [porter.id().to_string()]);
    drop(gate);
    block_on(porter.ended());
    assert_eq!(ledger.tally().lost, 0);
}
