//! What restarts, what does not, and who learns of it.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
#![allow(clippy::disallowed_methods, reason = "these tests measure how long something waits")]

mod support;

use greenroom::{
    Actor, Behavior, Context, Down, Event, EventStream, ExitReason, Options, Ref, Restart,
    Scheduler, SpawnError, StartError, System, handlers,
};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use support::{everywhere, exit_of, on, soon};
use tokio::sync::mpsc;

/// What an actor writes into the test's diary.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Started(u32),
    Stopped(u32, ExitReason),
    Dropped(u32),
    Handled(u32, u32),
    ChildStarted,
    ChildStopped,
    Down(ExitReason),
}

use Entry::{ChildStarted, ChildStopped, Dropped, Handled, Started, Stopped};

type Diary = mpsc::UnboundedSender<Entry>;

/// Tells the restart policies of otherwise equal actors apart.
trait Policy: Send + 'static {
    const RESTART: Restart;
}

macro_rules! policies {
    ($($name:ident = $restart:expr;)+) => {$(
        struct $name;
        impl Policy for $name {
            const RESTART: Restart = $restart;
        }
    )+};
}

const HOUR: Duration = Duration::from_secs(3600);

policies! {
    Never = Restart::never();
    Transient = Restart::transient(1000, HOUR);
    Permanent = Restart::permanent(1000, HOUR);
    ThreeInAnHour = Restart::transient(3, HOUR);
    ThreeWithBackoff =
        Restart::transient(3, HOUR).backoff(Duration::from_millis(2), Duration::from_millis(5));
    TwoIn50Ms = Restart::transient(2, Duration::from_millis(50));
    None1 = Restart::transient(0, HOUR);
    SlowBackoff = Restart::transient(9, HOUR).backoff(Duration::from_millis(40), HOUR);
    HourOfBackoff = Restart::transient(9, HOUR).backoff(HOUR, HOUR);
}

/// Fails as it is told to.
struct Patient<P> {
    diary: Diary,
    incarnation: u32,
    child: Option<Ref<Child>>,
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Patient<P> {
    const OPTIONS: Options = Options::new().restart(P::RESTART);

    fn keep_args(args: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args> {
        Some(args.clone())
    }
}

#[handlers]
impl<P: Policy> Patient<P> {
    #[start]
    fn start(diary: Diary, cx: &mut Context<Self>) -> Self {
        let incarnation = cx.incarnation();
        let _ = diary.send(Started(incarnation));
        Self { diary, incarnation, child: None, of: PhantomData }
    }
    #[stop]
    async fn stop(&mut self, reason: ExitReason) {
        tokio::task::yield_now().await;
        let _ = self.diary.send(Stopped(self.incarnation, reason));
    }
    #[tell]
    fn note(&mut self, number: u32) {
        let _ = self.diary.send(Handled(self.incarnation, number));
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told")
    }
    #[tell]
    async fn panic_later(&mut self) {
        tokio::task::yield_now().await;
        panic!("as told, later")
    }
    #[tell]
    fn fail(&mut self, cx: &mut Context<Self>) {
        cx.fail("no hope");
    }
    #[tell]
    fn leave(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
    #[ask]
    async fn bear(&mut self, cx: &mut Context<Self>) {
        let child = cx.spawn::<Child>(self.diary.clone()).await.expect("a child starts");
        self.child = Some(child);
    }
    #[ask]
    fn incarnation(&self) -> u32 {
        self.incarnation
    }
}

impl<P> Drop for Patient<P> {
    fn drop(&mut self) {
        let _ = self.diary.send(Dropped(self.incarnation));
    }
}

#[derive(Actor)]
struct Child {
    diary: Diary,
}

#[handlers]
impl Child {
    #[start]
    fn start(diary: Diary) -> Self {
        let _ = diary.send(ChildStarted);
        Self { diary }
    }
    #[stop]
    async fn stop(&mut self) {
        tokio::task::yield_now().await;
        let _ = self.diary.send(ChildStopped);
    }
    #[tell]
    async fn hang(&mut self) {
        std::future::pending::<()>().await;
    }
}

async fn patient<P: Policy>(system: &System) -> (Ref<Patient<P>>, mpsc::UnboundedReceiver<Entry>) {
    let (diary, entries) = mpsc::unbounded_channel();
    (system.spawn::<Patient<P>>(diary).await.expect("it starts"), entries)
}

fn panicked() -> ExitReason {
    ExitReason::Panicked("as told".to_owned())
}

fn all(entries: &mut mpsc::UnboundedReceiver<Entry>) -> Vec<Entry> {
    std::iter::from_fn(|| entries.try_recv().ok()).collect()
}

/// Whether an actor under `P` comes back after it was told `what`; if so, it is ended.
async fn comes_back<P: Policy>(system: &System, what: impl Fn(&Ref<Patient<P>>)) -> bool {
    let (patient, _entries) = patient::<P>(system).await;
    what(&patient);
    match patient.incarnation().within(support::LONG).await {
        Ok(incarnation) => {
            assert_eq!(incarnation, 1);
            patient.stop();
            soon(patient.ended()).await;
            true
        }
        Err(_) => {
            soon(patient.ended()).await;
            false
        }
    }
}

// [G-RESTART-1] [G-RESTART-3]
#[test]
fn each_policy_restarts_after_what_it_says() {
    async fn by<P: Policy>(system: &System) -> [bool; 7] {
        [
            comes_back::<P>(system, |it| it.panic().try_send().expect("it lives")).await,
            comes_back::<P>(system, |it| it.panic_later().try_send().expect("it lives")).await,
            comes_back::<P>(system, |it| it.fail().try_send().expect("it lives")).await,
            comes_back::<P>(system, |it| it.leave().try_send().expect("it lives")).await,
            comes_back::<P>(system, |it| assert!(it.stop())).await,
            comes_back::<P>(system, |it| assert!(it.drain())).await,
            comes_back::<P>(system, |it| assert!(it.kill())).await,
        ]
    }
    everywhere(async |system| {
        assert_eq!(by::<Never>(system).await, [false; 7]);
        assert_eq!(by::<Transient>(system).await, [true, true, true, false, false, false, false]);
        assert_eq!(by::<Permanent>(system).await, [true, true, true, true, false, false, false]);
    });
}

// [G-RESTART-1]
#[test]
fn the_old_incarnation_ends_wholly_before_the_new_one_starts() {
    everywhere(async |system| {
        let (patient, mut entries) = patient::<Transient>(system).await;
        patient.bear().await.unwrap();
        patient.panic().await.unwrap();
        assert_eq!(patient.incarnation().await, Ok(1));
        assert_eq!(
            all(&mut entries),
            [
                Started(0),
                ChildStarted,
                ChildStopped,
                Stopped(0, panicked()),
                Dropped(0),
                Started(1)
            ]
        );
    });
}

// [G-RESTART-1]
#[test]
fn children_that_hang_hold_the_restart_back() {
    everywhere(async |system| {
        let (patient, mut entries) = patient::<Transient>(system).await;
        let mut events = system.events();
        patient.bear().await.unwrap();
        patient.fail().await.unwrap();
        assert_eq!(patient.incarnation().await, Ok(1));
        let mut started = 0;
        // The child ends before the restart is even announced.
        loop {
            match soon(events.next()).await.unwrap() {
                Event::Ended { actor, .. } => {
                    assert!(actor.to_string().starts_with("Child#"), "{actor}");
                    started += 1;
                }
                Event::Restarting { actor, .. } => {
                    assert_eq!(actor, patient.id());
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(started, 1);
        assert_eq!(all(&mut entries)[..3], [Started(0), ChildStarted, ChildStopped]);
    });
}

// [G-RESTART-2]
#[test]
fn mail_waits_for_the_restart_in_order() {
    on(1, Scheduler::locked(), async |system| {
        for panic in [PatientCalls::<Transient>::panic, PatientCalls::panic_later] {
            let mut letters = system.dead_letters();
            let (patient, mut entries) = patient::<Transient>(system).await;
            // One turn finds them all in the mailbox.
            let hold = support::hold_worker(system).await;
            for number in 0..10 {
                patient.note(number).try_send().unwrap();
                panic(&patient).try_send().unwrap();
            }
            drop(hold);
            patient.drain();
            soon(patient.ended()).await;
            let handled: Vec<_> =
                all(&mut entries).into_iter().filter(|it| matches!(it, Handled(..))).collect();
            let expected: Vec<_> = (0..10).map(|number| Handled(number, number)).collect();
            assert_eq!(handled, expected, "each incarnation handles one and falls over the next");
            let mut crashed = 0;
            while let Some(letter) = letters.try_next() {
                assert_eq!(letter.reason, greenroom::DeadLetterReason::Crashed);
                assert_eq!(letter.actor, patient.id());
                crashed += 1;
            }
            assert_eq!(crashed, 10, "each that failed is reported, and none is tried again");
        }
    });
}

// [G-RESTART-3]
#[test]
fn references_outlive_restarts() {
    everywhere(async |system| {
        let (patient, _entries) = patient::<Transient>(system).await;
        let (copy, id) = (patient.clone(), patient.id());
        for incarnation in 1..=20 {
            copy.panic().await.unwrap();
            assert_eq!(patient.incarnation().await, Ok(incarnation));
        }
        assert_eq!(patient.id(), id);
        assert_eq!(system.counts().restarts, 20);
        assert_eq!(system.counts().started, 1);
    });
}

/// Lets an actor fail `count` times, and waits for each incarnation but the last.
async fn fail_times<P: Policy>(patient: &Ref<Patient<P>>, count: u32) {
    for incarnation in 1..=count {
        patient.panic().await.expect("it lives");
        let restarted = patient.incarnation().within(support::LONG).await;
        assert_eq!(restarted, Ok(incarnation));
    }
}

// [G-RESTART-4]
#[test]
fn the_first_n_failures_restart_and_one_more_ends() {
    async fn check<P: Policy>(system: &System, allowed: u32) {
        let mut events = system.events();
        let (patient, _entries) = patient::<P>(system).await;
        fail_times(&patient, allowed).await;
        patient.panic().await.expect("it lives");
        let reason = exit_of(&patient, &mut events).await;
        let ExitReason::TooManyRestarts(last) = reason else { panic!("{reason}") };
        assert!(last.contains("as told"), "{last}");
    }
    everywhere(async |system| {
        check::<ThreeInAnHour>(system, 3).await;
        check::<ThreeWithBackoff>(system, 3).await;
        check::<None1>(system, 0).await;
        assert_eq!(system.counts().restarts, 6);
    });
}

// [G-RESTART-4]
#[test]
fn failures_that_are_far_apart_do_not_add_up() {
    on(1, Scheduler::locked(), async |system| {
        let (patient, _entries) = patient::<TwoIn50Ms>(system).await;
        for incarnation in 1..=6 {
            patient.panic().await.unwrap();
            assert_eq!(patient.incarnation().await, Ok(incarnation));
            // No two failures but neighbours are within the window.
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    });
}

// [G-RESTART-4]
#[test]
fn a_parent_that_watches_learns_of_too_many_restarts() {
    everywhere(async |system| {
        let (diary, mut entries) = mpsc::unbounded_channel();
        let (patient, _entries) = patient::<ThreeInAnHour>(system).await;
        let watcher = system.spawn::<Watcher>(diary).await.unwrap();
        watcher.watch_patient(patient.clone()).await.unwrap();
        fail_times(&patient, 3).await;
        patient.panic().await.unwrap();
        let Some(Entry::Down(ExitReason::TooManyRestarts(_))) = soon(entries.recv()).await else {
            panic!("it is told why")
        };
    });
}

/// Says how long each restart was held back.
async fn delays(events: &mut EventStream, count: usize) -> Vec<Duration> {
    let mut delays = Vec::new();
    while delays.len() < count {
        if let Event::Restarting { delay, .. } = soon(events.next()).await.expect("it lives") {
            delays.push(delay);
        }
    }
    delays
}

#[test]
fn backoff_doubles_from_its_shortest_to_its_longest() {
    on(1, Scheduler::locked(), async |system| {
        let mut events = system.events();
        let (patient, _entries) = patient::<ThreeWithBackoff>(system).await;
        fail_times(&patient, 3).await;
        let millis: Vec<_> = delays(&mut events, 3).await.iter().map(Duration::as_millis).collect();
        assert_eq!(millis, [2, 4, 5]);
    });
}

#[test]
fn backoff_is_waited_for() {
    everywhere(async |system| {
        let (patient, _entries) = patient::<SlowBackoff>(system).await;
        let began = Instant::now();
        patient.panic().await.unwrap();
        assert_eq!(patient.incarnation().within(support::LONG).await, Ok(1));
        assert!(began.elapsed() >= Duration::from_millis(40), "{:?}", began.elapsed());
    });
}

// [G-STOP-1] [G-STOP-3]
#[test]
fn an_actor_that_backs_off_can_be_ended() {
    everywhere(async |system| {
        for (end, reason) in [
            (Ref::stop as fn(&Ref<_>) -> bool, ExitReason::Stopped),
            (Ref::kill, ExitReason::Killed),
        ] {
            let mut events = system.events();
            let (patient, mut entries) = patient::<HourOfBackoff>(system).await;
            patient.panic().await.unwrap();
            delays(&mut events, 1).await;
            patient.note(1).await.unwrap();
            assert!(end(&patient));
            assert_eq!(exit_of(&patient, &mut events).await, reason);
            assert!(!all(&mut entries).contains(&Started(1)));
        }
        assert_eq!(system.counts().dead_stopped, 2);
    });
}

// [G-SHUTDOWN-1]
#[test]
fn a_system_that_ends_in_the_middle_of_a_backoff_leaves_nothing_behind() {
    let system = System::builder().workers(1).build().unwrap();
    support::run(async {
        let mut events = system.events();
        let (patient, _entries) = patient::<HourOfBackoff>(&system).await;
        patient.panic().await.unwrap();
        delays(&mut events, 1).await;
        system.shutdown(support::LONG).await.unwrap();
        drop((patient, system));
        // The stream ends when the last part of the system is freed.
        while soon(events.next()).await.is_some() {}
    });
}

/// Writes down the ends of others.
#[derive(Actor)]
struct Watcher {
    diary: Diary,
}

#[handlers]
impl Watcher {
    #[start]
    fn start(diary: Diary) -> Self {
        Self { diary }
    }
    #[ask]
    fn watch_patient(&mut self, patient: Ref<Patient<ThreeInAnHour>>, cx: &mut Context<Self>) {
        cx.watch(&patient, Self::down);
    }
    #[ask]
    fn watch(&mut self, child: Ref<Child>, cx: &mut Context<Self>) {
        cx.watch(&child, Self::down);
    }
    #[ask]
    fn watch_and_unwatch(&mut self, child: Ref<Child>, cx: &mut Context<Self>) {
        let watch = cx.watch(&child, Self::down);
        cx.unwatch(watch);
    }
    #[ask]
    fn watch_own_child(&mut self, cx: &mut Context<Self>) -> Ref<Child> {
        let child = cx.spawn::<Child>(self.diary.clone()).start().expect("it starts");
        cx.watch(&child, Self::down);
        child
    }
    #[down]
    fn down(&mut self, down: Down) {
        let _ = self.diary.send(Entry::Down(down.reason));
    }
    #[ask]
    fn is_done(&self) -> bool {
        true
    }
}

async fn watcher(system: &System) -> (Ref<Watcher>, Diary, mpsc::UnboundedReceiver<Entry>) {
    let (diary, entries) = mpsc::unbounded_channel();
    let watcher = system.spawn::<Watcher>(diary.clone()).await.expect("it starts");
    (watcher, diary, entries)
}

/// Entries that are ends of others.
fn downs(entries: &mut mpsc::UnboundedReceiver<Entry>) -> Vec<ExitReason> {
    let down = |entry| if let Entry::Down(reason) = entry { Some(reason) } else { None };
    all(entries).into_iter().filter_map(down).collect()
}

#[test]
fn a_watcher_is_told_once() {
    everywhere(async |system| {
        let (watcher, diary, mut entries) = watcher(system).await;
        let mut expected = Vec::new();
        for _ in 0..20 {
            for (end, reason) in [
                (Ref::stop as fn(&Ref<Child>) -> bool, ExitReason::Stopped),
                (Ref::drain, ExitReason::Drained),
                (Ref::kill, ExitReason::Killed),
            ] {
                let child = system.spawn::<Child>(diary.clone()).await.unwrap();
                watcher.watch(child.clone()).await.unwrap();
                end(&child);
                soon(child.ended()).await;
                expected.push(reason);
            }
        }
        assert!(watcher.is_done().await.unwrap());
        // Each end is told before `ended` returns, and a turn takes ends before messages.
        assert_eq!(downs(&mut entries), expected);
    });
}

#[test]
fn whoever_watches_the_dead_is_told_at_once() {
    everywhere(async |system| {
        let (watcher, diary, mut entries) = watcher(system).await;
        let child = system.spawn::<Child>(diary).await.unwrap();
        child.stop();
        soon(child.ended()).await;
        for _ in 0..5 {
            watcher.watch(child.clone()).await.unwrap();
        }
        support::until(|| entries.len() >= 5 + 2).await;
        assert!(watcher.is_done().await.unwrap());
        assert_eq!(downs(&mut entries), vec![ExitReason::NoActor; 5]);
    });
}

#[test]
fn watches_that_overlap_the_end_are_answered_once() {
    everywhere(async |system| {
        let (watcher, diary, mut entries) = watcher(system).await;
        for _ in 0..100 {
            let child = system.spawn::<Child>(diary.clone()).await.unwrap();
            child.kill();
            watcher.watch(child).await.unwrap();
        }
        let mut downs = 0;
        while downs < 100 {
            let entry = soon(entries.recv()).await.unwrap();
            downs += u32::from(matches!(entry, Entry::Down(_)));
        }
        assert!(watcher.is_done().await.unwrap());
        assert!(self::downs(&mut entries).is_empty());
    });
}

#[test]
fn whoever_unwatches_is_not_told() {
    everywhere(async |system| {
        let (watcher, diary, mut entries) = watcher(system).await;
        for _ in 0..20 {
            let child = system.spawn::<Child>(diary.clone()).await.unwrap();
            watcher.watch_and_unwatch(child.clone()).await.unwrap();
            child.stop();
            soon(child.ended()).await;
        }
        assert!(watcher.is_done().await.unwrap());
        assert!(downs(&mut entries).is_empty());
    });
}

#[test]
fn a_parent_learns_of_a_childs_end_by_its_watch() {
    everywhere(async |system| {
        let (watcher, _diary, mut entries) = watcher(system).await;
        let child = watcher.watch_own_child().await.unwrap();
        child.hang().await.unwrap();
        child.kill();
        loop {
            match soon(entries.recv()).await.unwrap() {
                Entry::Down(reason) => break assert_eq!(reason, ExitReason::Killed),
                entry => assert_eq!(entry, ChildStarted),
            }
        }
    });
}

/// Starts as often as it is told to.
struct Starter;

impl Actor for Starter {
    const OPTIONS: Options = Options::new().restart(Restart::transient(3, HOUR));

    fn keep_args(args: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args> {
        Some(Arc::clone(args))
    }
}

#[handlers]
impl Starter {
    #[start]
    fn start(left: Arc<AtomicU32>) -> Result<Self, StartError> {
        if left.load(Ordering::SeqCst) == 0 {
            return Err(StartError::new("not today"));
        }
        left.fetch_sub(1, Ordering::SeqCst);
        Ok(Self)
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told")
    }
}

#[test]
fn a_first_start_that_fails_is_told_to_the_spawner() {
    everywhere(async |system| {
        let left = Arc::new(AtomicU32::new(0));
        let error = system.spawn::<Starter>(Arc::clone(&left)).named("it").await.unwrap_err();
        let SpawnError::StartFailed(text) = &error else { panic!("{error}") };
        assert!(text.contains("not today"), "{text}");
        assert_eq!(system.counts().restarts, 0, "it is the spawner's to try again");
        // The name is free again.
        left.store(1, Ordering::SeqCst);
        system.spawn::<Starter>(left).named("it").await.unwrap();
    });
}

// [G-RESTART-4]
#[test]
fn a_restart_that_fails_counts_as_a_failure() {
    everywhere(async |system| {
        let mut events = system.events();
        let left = Arc::new(AtomicU32::new(1));
        let starter = system.spawn::<Starter>(left).await.unwrap();
        starter.panic().await.unwrap();
        let reason = exit_of(&starter, &mut events).await;
        let ExitReason::TooManyRestarts(last) = reason else { panic!("{reason}") };
        assert!(last.contains("not today"), "{last}");
        assert_eq!(system.counts().restarts, 0);
    });
}

/// Starts when the test says so, and then does what the test says.
#[derive(Actor)]
struct Late;

#[handlers]
impl Late {
    #[start]
    async fn start(go: tokio::sync::oneshot::Receiver<bool>) -> Result<Self, StartError> {
        assert!(go.await?, "as told");
        Ok(Self)
    }
    #[tell]
    fn note(&mut self, handled: Arc<AtomicBool>) {
        handled.store(true, Ordering::SeqCst);
    }
}

// [G-STOP-1] [G-STOP-2] [G-STOP-3]
#[test]
fn an_actor_that_starts_can_be_ended() {
    type End = fn(&Ref<Late>) -> bool;
    let cases: [(End, Option<bool>, ExitReason, bool); 7] = [
        (Ref::stop, Some(true), ExitReason::Stopped, false),
        (Ref::stop, Some(false), ExitReason::Stopped, false),
        (Ref::stop, None, ExitReason::Stopped, false),
        (Ref::drain, Some(true), ExitReason::Drained, true),
        (Ref::drain, Some(false), ExitReason::Panicked("as told".to_owned()), false),
        (Ref::kill, Some(true), ExitReason::Killed, false),
        (Ref::kill, Some(false), ExitReason::Killed, false),
    ];
    everywhere(async |system| {
        for (end, go_on, expected, handles) in cases.clone() {
            let mut events = system.events();
            let (go, gone) = tokio::sync::oneshot::channel();
            let late = system.spawn::<Late>(gone).start().unwrap();
            let handled = Arc::new(AtomicBool::new(false));
            late.note(Arc::clone(&handled)).await.unwrap();
            end(&late);
            if expected == ExitReason::Killed {
                // A kill does not wait for the start hook.
                soon(late.ended()).await;
            }
            match go_on {
                Some(go_on) => drop(go.send(go_on)),
                None => drop(go),
            }
            assert_eq!(exit_of(&late, &mut events).await, expected);
            assert_eq!(handled.load(Ordering::SeqCst), handles);
        }
    });
}

/// A value that an aborted future leaves behind panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "bomb");
    }
}

struct Piper {
    incarnation: u32,
}

impl Actor for Piper {
    const OPTIONS: Options = Options::new().restart(Restart::transient(1, HOUR));

    fn keep_args(_args: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args> {
        Some(())
    }
}

#[handlers]
impl Piper {
    #[start]
    fn start(cx: &mut Context<Self>) -> Self {
        Self { incarnation: cx.incarnation() }
    }
    /// Begins something that panics when it is given up.
    #[tell]
    fn pipe(&mut self, begun: Arc<AtomicBool>, over: Arc<AtomicBool>, cx: &mut Context<Self>) {
        let future = async move {
            begun.store(true, Ordering::SeqCst);
            let _over = OnDrop(over);
            let _bomb = Bomb;
            std::future::pending::<()>().await;
        };
        cx.pipe(future, Self::piped);
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told")
    }
    #[local]
    fn piped(&mut self, (): ()) {}
    #[ask]
    fn incarnation(&self) -> u32 {
        self.incarnation
    }
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

// [G-PANIC-1]
#[test]
fn what_an_old_incarnation_began_does_not_fail_the_new_one() {
    everywhere(async |system| {
        let piper = system.spawn::<Piper>(()).await.unwrap();
        let (begun, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        piper.pipe(Arc::clone(&begun), Arc::clone(&over)).await.unwrap();
        support::until(|| begun.load(Ordering::SeqCst)).await;
        piper.panic().await.unwrap();
        assert_eq!(piper.incarnation().within(support::LONG).await, Ok(1));
        support::until(|| over.load(Ordering::SeqCst)).await;
        // Whatever its panic sent is here before the answer to a question that is asked later on.
        for _ in 0..20 {
            assert_eq!(piper.incarnation().within(support::LONG).await, Ok(1));
            tokio::task::yield_now().await;
        }
    });
}
