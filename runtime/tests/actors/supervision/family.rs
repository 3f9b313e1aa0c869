//! A supervisor that hires as it is told to, and members that fail as they are told to.

use crate::supervision::patient::HOUR;
use crate::support::{policies, soon};
use greenroom::{
    Actor, ActorId, AskError, Context, ExitReason, Options, Ref, RestartKind, Shutdown, SpawnError,
    StartError, Supervision, Supervisor, System, handlers,
};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// What happens to members, by their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    Started(usize),
    StartFailed(usize),
    Handled(usize, u32),
    Stopped(usize, ExitReason),
    Dropped(usize),
    BossStopped,
}

pub(crate) use Note::*;

pub(crate) type Notes = mpsc::UnboundedReceiver<Note>;

/// What a member is made of, and how it behaves.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) number: usize,
    pub(crate) kind: RestartKind,
    pub(crate) shutdown: Shutdown,
    pub(crate) notes: mpsc::UnboundedSender<Note>,
    /// How many of the next starts fail.
    pub(crate) bad_starts: Arc<AtomicU32>,
    /// What the stop hook waits for, once this is set.
    pub(crate) hangs: Arc<AtomicBool>,
    pub(crate) release: Arc<Notify>,
}

impl Plan {
    pub(crate) fn new(number: usize, notes: &mpsc::UnboundedSender<Note>) -> Self {
        Self {
            number,
            kind: RestartKind::Permanent,
            shutdown: Shutdown::Within(crate::support::LONG),
            notes: notes.clone(),
            bad_starts: Arc::default(),
            hangs: Arc::default(),
            release: Arc::default(),
        }
    }

    pub(crate) fn kind(mut self, kind: RestartKind) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn shutdown(mut self, shutdown: Shutdown) -> Self {
        self.shutdown = shutdown;
        self
    }

    fn note(&self, note: Note) {
        let _ = self.notes.send(note);
    }
}

/// One of those that are supervised.
#[derive(Actor)]
pub(crate) struct Member {
    plan: Plan,
}

#[handlers]
impl Member {
    #[start]
    async fn start(plan: Plan) -> Result<Self, StartError> {
        tokio::task::yield_now().await;
        let less = |left: u32| left.checked_sub(1);
        if plan.bad_starts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
            plan.note(StartFailed(plan.number));
            return Err(StartError::new("not today"));
        }
        plan.note(Started(plan.number));
        Ok(Self { plan })
    }
    #[stop]
    async fn stop(&mut self, reason: ExitReason) {
        tokio::task::yield_now().await;
        if self.plan.hangs.load(Ordering::SeqCst) {
            self.plan.release.notified().await;
        }
        self.plan.note(Stopped(self.plan.number, reason));
    }
    #[tell]
    pub(crate) fn note(&mut self, number: u32) {
        self.plan.note(Handled(self.plan.number, number));
    }
    #[tell]
    pub(crate) fn panic(&mut self) {
        panic!("as told")
    }
    #[tell]
    pub(crate) fn fail(&mut self, cx: &mut Context<Self>) {
        cx.fail("no hope");
    }
    #[tell]
    pub(crate) fn leave(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
    #[ask]
    pub(crate) fn link_and_fail(&mut self, other: Ref<Stranger>, cx: &mut Context<Self>) {
        cx.link(&other);
        // From here: on its way to another worker the link is not to be overtaken.
        other.fail().try_send().expect("it lives");
    }
    #[ask]
    pub(crate) fn incarnation(&self, cx: &mut Context<Self>) -> u32 {
        cx.incarnation()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.plan.note(Dropped(self.plan.number));
    }
}

/// Belongs to nobody's company.
#[derive(Actor)]
pub(crate) struct Stranger;

#[handlers]
impl Stranger {
    #[tell]
    pub(crate) fn fail(&mut self, cx: &mut Context<Self>) {
        cx.fail("no hope");
    }
}

policies! {
    /// Tells the policies of otherwise equal supervisors apart.
    Policy { SUPERVISION: Supervision }
    OneForOne = Supervision::one_for_one(1000, HOUR);
    OneForAll = Supervision::one_for_all(1000, HOUR);
    RestForOne = Supervision::rest_for_one(1000, HOUR);
    OneForOneTwice = Supervision::one_for_one(2, HOUR);
    OneForAllTwice = Supervision::one_for_all(2, HOUR);
    RestForOneTwice = Supervision::rest_for_one(2, HOUR);
    RestForOneAlways = Supervision::rest_for_one(u32::MAX, HOUR);
    OneForAllSlowly = Supervision::one_for_all(9, HOUR).backoff(HOUR, HOUR);
    Jittery = Supervision::one_for_one(9, HOUR)
        .backoff(Duration::from_millis(2), Duration::from_millis(2))
        .jitter(50);
    OneForAllTwiceIn50Ms = Supervision::one_for_all(2, Duration::from_millis(50));
}

/// Supervises those it is told to hire.
pub(crate) struct Boss<P> {
    notes: mpsc::UnboundedSender<Note>,
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Boss<P> {
    const OPTIONS: Options = Options::new().shutdown(Shutdown::Forever);
}

impl<P: Policy> Supervisor for Boss<P> {
    const SUPERVISION: Supervision = P::SUPERVISION;
}

#[handlers]
impl<P: Policy> Boss<P> {
    /// Hires the first members, all of whom must start.
    #[start]
    pub(crate) async fn start(
        notes: mpsc::UnboundedSender<Note>,
        plans: Vec<Plan>,
        cx: &mut Context<Self>,
    ) -> Result<Self, StartError> {
        for plan in plans {
            supervise(plan, cx).await?;
        }
        Ok(Self { notes, of: PhantomData })
    }
    #[stop]
    fn stop(&mut self) {
        let _ = self.notes.send(BossStopped);
    }
    #[ask]
    pub(crate) async fn hire(
        &mut self,
        plan: Plan,
        cx: &mut Context<Self>,
    ) -> Result<Ref<Member>, SpawnError> {
        supervise(plan, cx).await
    }
    /// Hires without waiting for the start.
    #[ask]
    pub(crate) fn hire_blindly(
        &mut self,
        plan: Plan,
        cx: &mut Context<Self>,
    ) -> Result<Ref<Member>, SpawnError> {
        cx.supervise::<Member>(plan).start()
    }
    #[ask]
    pub(crate) fn restart(&mut self, member: Ref<Member>, cx: &mut Context<Self>) -> bool {
        cx.restart(&member)
    }
    #[ask]
    pub(crate) fn remove(&mut self, member: Ref<Member>, cx: &mut Context<Self>) -> bool {
        cx.remove(&member)
    }
    #[ask]
    pub(crate) fn supervised(&mut self, cx: &mut Context<Self>) -> Vec<ActorId> {
        cx.supervised()
    }
    /// Lets a member fail, and waits for it in the same handler.
    #[ask]
    pub(crate) async fn wait_for_restart(&mut self, member: Ref<Member>) -> u32 {
        let before = member.incarnation().await.expect("it lives");
        member.panic().await.expect("it lives");
        loop {
            let now =
                member.incarnation().within(crate::support::LONG).await.expect("it comes back");
            if now > before {
                return now;
            }
        }
    }
    #[tell]
    pub(crate) fn panic(&mut self) {
        panic!("as told")
    }
}

async fn supervise<P: Policy>(
    plan: Plan,
    cx: &mut Context<Boss<P>>,
) -> Result<Ref<Member>, SpawnError> {
    let (kind, shutdown) = (plan.kind, plan.shutdown);
    let child = cx.supervise::<Member>(plan).shutdown(shutdown);
    match kind {
        RestartKind::Never => child.temporary(),
        RestartKind::Transient => child.transient(),
        _ => child,
    }
    .await
}

/// A supervisor of `plans`, its members, and what is noted from now on.
pub(crate) struct Company<P: Policy> {
    pub(crate) boss: Ref<Boss<P>>,
    pub(crate) members: Vec<Ref<Member>>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) notes: Notes,
    pub(crate) sender: mpsc::UnboundedSender<Note>,
}

/// Founds a company of `count` members, each with a plan that `change` may change.
pub(crate) async fn company<P: Policy>(
    system: &System,
    count: usize,
    change: impl Fn(Plan) -> Plan,
) -> Company<P> {
    let (sender, mut notes) = mpsc::unbounded_channel();
    let boss = system.spawn::<Boss<P>>((sender.clone(), Vec::new())).await.expect("it starts");
    let (mut members, mut plans) = (Vec::new(), Vec::new());
    for number in 0..count {
        let plan = change(Plan::new(number, &sender));
        plans.push(plan.clone());
        members.push(boss.hire(plan).await.expect("it starts"));
    }
    assert_eq!(all(&mut notes), (0..count).map(Started).collect::<Vec<_>>());
    Company { boss, members, plans, notes, sender }
}

impl<P: Policy> Company<P> {
    /// The next notes, as many as there are in `expected`, which they must be.
    pub(crate) async fn expect(&mut self, expected: &[Note]) {
        for (nth, expected) in expected.iter().enumerate() {
            let note = soon(self.notes.recv()).await;
            assert_eq!(note.as_ref(), Some(expected), "note {nth}");
        }
    }

    /// Ends the company, and returns what is noted until then.
    pub(crate) async fn close(mut self) -> Vec<Note> {
        self.boss.stop();
        soon(self.boss.ended()).await;
        all(&mut self.notes)
    }

    /// Waits until each member has been restarted as often as that; `None` for those that have ended.
    pub(crate) async fn incarnations(&self) -> Vec<Option<u32>> {
        let mut incarnations = Vec::new();
        for member in &self.members {
            incarnations.push(match member.incarnation().within(crate::support::LONG).await {
                Ok(number) => Some(number),
                Err(AskError::Closed | AskError::NoReply) => None,
                Err(error) => panic!("{error}"),
            });
        }
        incarnations
    }
}

pub(crate) fn all(notes: &mut Notes) -> Vec<Note> {
    std::iter::from_fn(|| notes.try_recv().ok()).collect()
}

pub(crate) fn panicked() -> ExitReason {
    ExitReason::Panicked("as told".to_owned())
}
