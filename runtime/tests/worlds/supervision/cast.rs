//! Those who are supervised, those who supervise, and one who watches.

use super::MS;
use super::chronicle::Note;
use super::yard::{Blow, Order, Yard};
use crate::support::{Parcel, policies};
use greenroom::{
    Actor, ActorId, Context, Down, ExitReason, Options, Ref, RestartKind, Shutdown, SpawnError,
    StartError, Strategy, Supervision, Supervisor, WatchId, handlers,
};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Restarts that a supervisor allows within the window.
pub(super) const RESTARTS: u32 = 3;
pub(super) const WINDOW: Duration = Duration::from_millis(20);
pub(super) const BACKOFF: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(4)];
pub(super) const JITTER: u32 = 50;
/// How long those linger who are killed before that is over.
pub(super) const LINGERS: Duration = Duration::from_millis(40);

const fn limited(supervision: Supervision) -> Supervision {
    supervision.backoff(BACKOFF[0], BACKOFF[1]).jitter(JITTER)
}

policies! {
    Policy { SUPERVISION: Supervision }
    OneForOne = limited(Supervision::one_for_one(RESTARTS, WINDOW));
    OneForAll = limited(Supervision::one_for_all(RESTARTS, WINDOW));
    RestForOne = limited(Supervision::rest_for_one(RESTARTS, WINDOW));
}

/// A leaf's place in the tree.
#[derive(Clone)]
pub(super) struct Seat {
    pub(super) number: usize,
    pub(super) kind: RestartKind,
    pub(super) shutdown: Shutdown,
}

/// Whom a supervisor hires.
#[derive(Clone)]
pub(super) enum Post {
    Leaf(Seat),
    Head(Strategy, Rank),
}

#[derive(Clone)]
pub(super) struct Rank {
    pub(super) number: usize,
    pub(super) posts: Vec<Post>,
}

/// Notes that an incarnation's state is gone.
struct Presence(ActorId, Arc<Yard>, #[expect(dead_code, reason = "it is counted")] Arc<()>);

impl Presence {
    fn new(actor: ActorId, yard: &Arc<Yard>) -> Self {
        Self(actor, Arc::clone(yard), Arc::clone(&yard.lives))
    }

    fn note_failing(&self) {
        self.1.chronicle.note(Note::Fails(self.0));
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.1.chronicle.note(Note::Gone(self.0));
    }
}

/// Counts a handler that waits, as long as it does.
struct Waiting(usize, Arc<Yard>);

impl Waiting {
    fn new(head: usize, yard: &Arc<Yard>) -> Self {
        yard.awaiting[head].fetch_add(1, Relaxed);
        Self(head, Arc::clone(yard))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.1.awaiting[self.0].fetch_sub(1, Relaxed);
    }
}

/// Does as it is told.
#[derive(Actor)]
pub(super) struct Leaf {
    seat: Seat,
    yard: Arc<Yard>,
    presence: Presence,
    is_armed: bool,
    is_later: bool,
}

#[handlers]
impl Leaf {
    #[start]
    async fn start(
        seat: Seat,
        yard: Arc<Yard>,
        cx: &mut Context<Self>,
    ) -> Result<Self, StartError> {
        let me = cx.me();
        tokio::task::yield_now().await;
        let is_later = cx.incarnation() > 0;
        if is_later && cx.random().is_multiple_of(12) {
            yard.chronicle.note(Note::Fails(me.id()));
            return Err(StartError::new("a bad start"));
        }
        cx.every(MS, Self::tick);
        let (clock, life) = (yard.clock.clone(), Arc::clone(&yard.lives));
        cx.task(async move {
            let _life = life;
            loop {
                clock.sleep(3 * MS).await;
            }
        });
        let presence = Presence::new(me.id(), &yard);
        yard.take_seat(seat.number, me);
        Ok(Self { seat, yard, presence, is_armed: false, is_later })
    }
    #[stop]
    async fn stop(&mut self, reason: ExitReason, cx: &mut Context<Self>) {
        self.yard.chronicle.note(Note::Stops(self.presence.0, reason));
        if cx.random().is_multiple_of(5) {
            let is_limited = matches!(self.seat.shutdown, Shutdown::Within(_));
            self.yard.clock.sleep(if is_limited { LINGERS } else { 4 * MS }).await;
        }
    }
    #[tell]
    pub(super) fn take(&mut self, sender: usize, number: u64, parcel: Parcel) {
        self.enter(sender, number);
        parcel.handled();
    }
    #[tell]
    pub(super) async fn take_slowly(&mut self, sender: usize, number: u64, parcel: Parcel) {
        self.enter(sender, number);
        let _waiting = Waiting::new(self.head(), &self.yard);
        self.yard.clock.sleep(MS / 2).await;
        parcel.handled();
    }
    #[tell]
    pub(super) fn fall(&mut self, sender: usize, number: u64, parcel: Parcel) {
        self.enter(sender, number);
        self.note_failing();
        panic!("as told, with {parcel:?}")
    }
    #[tell]
    pub(super) fn give_up(
        &mut self,
        sender: usize,
        number: u64,
        parcel: Parcel,
        cx: &mut Context<Self>,
    ) {
        self.enter(sender, number);
        parcel.handled();
        self.note_failing();
        cx.fail("no hope");
    }
    /// Asks its supervisor to restart it, and often does not wait for that.
    #[tell]
    pub(super) fn plead(
        &mut self,
        sender: usize,
        number: u64,
        parcel: Parcel,
        cx: &mut Context<Self>,
    ) {
        self.enter(sender, number);
        parcel.handled();
        self.yard.strike_head(self.head(), Blow::Lead(Order::Restart, cx.me()));
        if cx.random().is_multiple_of(2) {
            self.note_failing();
            cx.fail("no patience");
        }
    }
    #[tell]
    pub(super) fn leave(
        &mut self,
        sender: usize,
        number: u64,
        parcel: Parcel,
        cx: &mut Context<Self>,
    ) {
        self.enter(sender, number);
        parcel.handled();
        self.yard.chronicle.note(Note::Leaves(self.presence.0));
        self.note_failing();
        cx.stop();
    }
    #[tell]
    pub(super) fn arm(
        &mut self,
        sender: usize,
        number: u64,
        parcel: Parcel,
        cx: &mut Context<Self>,
    ) {
        self.enter(sender, number);
        parcel.handled();
        self.is_armed = true;
        cx.after(2 * MS, Self::ring);
    }
    #[tell]
    pub(super) fn tie(
        &mut self,
        sender: usize,
        number: u64,
        other: Ref<Self>,
        parcel: Parcel,
        cx: &mut Context<Self>,
    ) {
        self.enter(sender, number);
        parcel.handled();
        cx.link(&other);
    }
    #[ask]
    pub(super) async fn question(
        &mut self,
        sender: usize,
        number: u64,
        helper: Option<Ref<Self>>,
        parcel: Parcel,
    ) -> u32 {
        self.enter(sender, number);
        let _waiting = Waiting::new(self.head(), &self.yard);
        if let Some(helper) = helper {
            let (me, number) = self.yard.sender(self.seat.number);
            let asked = helper.peek(me, number, self.yard.questions.issue());
            self.yard.note_outcome(&asked.within(MS).await);
        }
        parcel.handled();
        1
    }
    #[ask]
    pub(super) fn peek(&mut self, sender: usize, number: u64, parcel: Parcel) -> u32 {
        self.enter(sender, number);
        parcel.handled();
        2
    }
    #[local]
    fn tick(&mut self) {}
    #[local]
    fn ring(&mut self) {
        self.yard.violations.check(self.is_armed, "the timer of another incarnation");
    }
    fn enter(&self, sender: usize, number: u64) {
        self.yard.enter(self.seat.number, sender, number, self.is_later);
    }
    fn head(&self) -> usize {
        self.seat.number / super::CREW
    }
    fn note_failing(&self) {
        self.presence.note_failing();
        let beside = self.yard.awaiting[self.head()].load(Relaxed) > 0
            && self.yard.chronicle.strategy_of(self.head()) == Some(Strategy::OneForAll);
        self.yard.failed_beside_awaiting.fetch_add(u64::from(beside), Relaxed);
    }
}

impl LeafMessage {
    /// Its sender has it again.
    pub(super) fn returned(self) {
        match self {
            Self::Take { parcel, .. }
            | Self::TakeSlowly { parcel, .. }
            | Self::Fall { parcel, .. }
            | Self::GiveUp { parcel, .. }
            | Self::Plead { parcel, .. }
            | Self::Leave { parcel, .. }
            | Self::Arm { parcel, .. }
            | Self::Tie { parcel, .. } => parcel.returned(),
            Self::Question { .. } | Self::Peek { .. } => unreachable!("it was told"),
        }
    }
}

/// Supervises those of its rank.
pub(super) struct Head<P> {
    presence: Presence,
    of: PhantomData<fn(P)>,
}

impl<P: Policy> Actor for Head<P> {
    const OPTIONS: Options = Options::new().shutdown(Shutdown::Forever);
}

impl<P: Policy> Supervisor for Head<P> {
    const SUPERVISION: Supervision = P::SUPERVISION;
}

#[handlers]
impl<P: Policy> Head<P> {
    #[start]
    async fn start(
        rank: Rank,
        yard: Arc<Yard>,
        cx: &mut Context<Self>,
    ) -> Result<Self, StartError> {
        let (me, incarnation) = (cx.me(), cx.incarnation());
        let presence = Presence::new(me.id(), &yard);
        yard.chronicle.note_strategy(rank.number, P::SUPERVISION.strategy());
        for post in rank.posts {
            let hired = match post {
                Post::Leaf(seat) => hire_leaf(seat, &yard, cx).await,
                Post::Head(strategy, rank) => hire_head(strategy, rank, &yard, cx).await,
            };
            match hired {
                Ok((child, kind, shutdown)) => {
                    let head = (me.id(), incarnation);
                    let strategy = P::SUPERVISION.strategy();
                    let note = Note::Hired { head, strategy, child, kind, shutdown };
                    yard.chronicle.note(note);
                }
                Err(error) => {
                    presence.note_failing();
                    return Err(error.into());
                }
            }
        }
        yard.take_head(rank.number, Box::new(move |yard, blow| strike(&me, yard, blow)));
        Ok(Self { presence, of: PhantomData })
    }
    #[stop]
    fn stop(&mut self, reason: ExitReason) {
        self.presence.1.chronicle.note(Note::Stops(self.presence.0, reason));
    }
    #[tell]
    fn fall(&mut self, number: u64, parcel: Parcel) {
        self.presence.1.enter_head(number);
        self.presence.note_failing();
        panic!("as told, with {parcel:?}")
    }
    #[tell]
    fn lead(
        &mut self,
        number: u64,
        order: Order,
        leaf: Ref<Leaf>,
        parcel: Parcel,
        cx: &mut Context<Self>,
    ) {
        self.presence.1.enter_head(number);
        parcel.handled();
        let chronicle = &self.presence.1.chronicle;
        match order {
            Order::Restart if cx.restart(&leaf) => chronicle.note(Note::Recalled(leaf.id())),
            Order::Remove if cx.remove(&leaf) => chronicle.note_struck(leaf.id(), false),
            Order::Restart | Order::Remove => {}
        }
    }
}

/// Ends a head, lets it fail, or has it restart or end a leaf.
fn strike<P: Policy>(head: &Ref<Head<P>>, yard: &Arc<Yard>, blow: Blow) {
    let (number, parcel) = (yard.tells.issued() as u64, || yard.tells.issue());
    let sent = match blow {
        Blow::Kill | Blow::Stop => {
            let meant = if matches!(blow, Blow::Kill) { head.kill() } else { head.stop() };
            if meant {
                yard.chronicle.note_struck(head.id(), false);
            }
            return;
        }
        Blow::Fall => head.fall(number, parcel()).try_send(),
        Blow::Lead(order, leaf) => head.lead(number, order, leaf, parcel()).try_send(),
    };
    if let Err(error) = sent {
        match error.into_message() {
            HeadMessage::Fall { parcel, .. } | HeadMessage::Lead { parcel, .. } => {
                parcel.returned();
            }
        }
    }
}

type Hired = (ActorId, RestartKind, Shutdown);

async fn hire_leaf<P: Policy>(
    seat: Seat,
    yard: &Arc<Yard>,
    cx: &mut Context<Head<P>>,
) -> Result<Hired, SpawnError> {
    let (kind, shutdown) = (seat.kind, seat.shutdown);
    let child = cx.supervise::<Leaf>((seat, Arc::clone(yard))).shutdown(shutdown);
    let child = match kind {
        RestartKind::Never => child.temporary(),
        RestartKind::Transient => child.transient(),
        _ => child,
    };
    Ok((child.await?.id(), kind, shutdown))
}

async fn hire_head<P: Policy>(
    strategy: Strategy,
    rank: Rank,
    yard: &Arc<Yard>,
    cx: &mut Context<Head<P>>,
) -> Result<Hired, SpawnError> {
    let args = (rank, Arc::clone(yard));
    let child = match strategy {
        Strategy::OneForOne => cx.supervise::<Head<OneForOne>>(args).await?.id(),
        Strategy::OneForAll => cx.supervise::<Head<OneForAll>>(args).await?.id(),
        _ => cx.supervise::<Head<RestForOne>>(args).await?.id(),
    };
    Ok((child, RestartKind::Permanent, Shutdown::Forever))
}

/// What a watcher was told of one actor, and whether it had asked not to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    pub(super) downs: Vec<ExitReason>,
    pub(super) is_off: bool,
}

/// Watches leaves, and stops watching some.
#[derive(Actor)]
pub(super) struct Watcher {
    yard: Arc<Yard>,
    watches: BTreeMap<ActorId, WatchId>,
    told: BTreeMap<ActorId, Watched>,
}

impl Watcher {
    pub(super) fn new(yard: &Arc<Yard>) -> Self {
        let (watches, told) = Default::default();
        Self { yard: Arc::clone(yard), watches, told }
    }
}

#[handlers]
impl Watcher {
    /// Watches an actor once; `off` if it is not to be watched any more.
    #[tell]
    pub(super) fn watch(&mut self, leaf: Ref<Leaf>, off: bool, cx: &mut Context<Self>) {
        let actor = leaf.id();
        let told = self.told.get(&actor).is_some_and(|told| !told.downs.is_empty());
        if off
            && !told
            && let Some(&watch) = self.watches.get(&actor)
        {
            cx.unwatch(watch);
            self.told.entry(actor).or_default().is_off = true;
        } else if !off && !self.watches.contains_key(&actor) {
            self.watches.insert(actor, cx.watch(&leaf, Self::down));
            self.told.entry(actor).or_default();
        }
    }
    #[down]
    fn down(&mut self, down: Down) {
        let told = self.told.get_mut(&down.actor).unwrap();
        self.yard.violations.check(!told.is_off, "it was not to be told any more");
        told.downs.push(down.reason);
    }
    #[ask]
    pub(super) fn downs(&self) -> BTreeMap<ActorId, Watched> {
        self.told.clone()
    }
}
