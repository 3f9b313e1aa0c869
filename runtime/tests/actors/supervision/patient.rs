//! An actor that fails as it is told to, and what it writes into the test's diary.

use crate::support::policies;
use greenroom::{Actor, Behavior, Context, ExitReason, Options, Ref, Restart, System, handlers};
use std::marker::PhantomData;
use std::time::Duration;
use tokio::sync::mpsc;

/// What an actor writes into the test's diary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Started(u32),
    Stopped(u32, ExitReason),
    Dropped(u32),
    Handled(u32, u32),
    ChildStarted,
    ChildStopped,
    Down(ExitReason),
}

pub(crate) use Entry::{ChildStarted, ChildStopped, Dropped, Handled, Started, Stopped};

pub(crate) type Diary = mpsc::UnboundedSender<Entry>;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

policies! {
    /// Tells the restart policies of otherwise equal actors apart.
    Policy { RESTART: Restart }
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
pub(crate) struct Patient<P> {
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
pub(crate) struct Child {
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

pub(crate) async fn patient<P: Policy>(
    system: &System,
) -> (Ref<Patient<P>>, mpsc::UnboundedReceiver<Entry>) {
    let (diary, entries) = mpsc::unbounded_channel();
    (system.spawn::<Patient<P>>(diary).await.expect("it starts"), entries)
}

pub(crate) fn panicked() -> ExitReason {
    ExitReason::Panicked("as told".to_owned())
}

pub(crate) fn all(entries: &mut mpsc::UnboundedReceiver<Entry>) -> Vec<Entry> {
    std::iter::from_fn(|| entries.try_recv().ok()).collect()
}

/// Lets an actor fail `count` times, and waits for each incarnation but the last.
pub(crate) async fn fail_times<P: Policy>(patient: &Ref<Patient<P>>, count: u32) {
    for incarnation in 1..=count {
        patient.panic().await.expect("it lives");
        let restarted = patient.incarnation().within(crate::support::LONG).await;
        assert_eq!(restarted, Ok(incarnation));
    }
}
