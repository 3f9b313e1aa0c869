//! Actors and systems that drain: what was accepted is handled, and what comes late goes back.

use crate::support::{
    Builds, Dice, LONG, Ledger, Parcel, SCHEDULINGS, everywhere, exit_of, policies, run, scheduled,
    soon, times, until,
};
use crate::{Porter, WAITING, keep_waiting, ledger, refuses, waiting};
use greenroom::sim::World;
use greenroom::{
    Actor, Context, ExitReason, Full, Mailbox, Options, Ref, Shutdown, SpawnError, System,
    TellError, handlers,
};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;

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

/// Supervises porters: the last one is to be killed where it is stopped.
#[derive(Actor)]
#[actor(supervise = one_for_one(1 in "1h"))]
struct Steward {
    porters: [Ref<Porter>; 2],
}

#[handlers]
impl Steward {
    #[start]
    fn start(cx: &mut Context<Self>) -> Result<Self, SpawnError> {
        let first = cx.supervise::<Porter>(Porter).start()?;
        let last = cx.supervise::<Porter>(Porter).shutdown(Shutdown::Kill).start()?;
        Ok(Self { porters: [first, last] })
    }
    #[ask]
    fn porters(&self) -> [Ref<Porter>; 2] {
        self.porters.clone()
    }
}

// [G-STOP-2] [G-SUPERVISE-4]
#[test]
fn drain_goes_down_to_the_supervised_children_the_last_one_first() {
    everywhere(async |system| {
        let mut events = system.events();
        let ledger = Ledger::new(2 * (1 + WAITING));
        let steward = system.spawn::<Steward>(()).await.unwrap();
        let [first, last] = steward.porters().await.unwrap();
        let gates = [keep_waiting(&first, &ledger).await, keep_waiting(&last, &ledger).await];
        assert!(steward.drain());
        until(|| last.is_closed()).await;
        assert!(!first.is_closed(), "it comes when the last one has ended");
        drop(gates);
        assert_eq!(exit_of(&last, &mut events).await, ExitReason::Drained);
        assert_eq!(exit_of(&first, &mut events).await, ExitReason::Drained);
        soon(steward.ended()).await;
        let tally = ledger.settle(&system.counts());
        assert_eq!((tally.handled, tally.dropped), (2 * (1 + WAITING as u64), 0));
    });
}

/// Panics when it is told to, and takes parcels.
#[derive(Actor, Clone)]
struct Clumsy {
    has_panicked: Arc<AtomicU32>,
}

#[handlers]
impl Clumsy {
    #[start]
    fn start(has_panicked: Arc<AtomicU32>) -> Self {
        Self { has_panicked }
    }
    #[tell]
    async fn stumble(&mut self, gate: oneshot::Receiver<()>) {
        let _ = gate.await;
        self.has_panicked.fetch_add(1, Ordering::Relaxed);
        panic!("it stumbles");
    }
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
}

/// Supervises one of these.
#[derive(Actor)]
#[actor(supervise = one_for_one(9 in "1h"))]
struct Patron {
    clumsy: Ref<Clumsy>,
}

#[handlers]
impl Patron {
    #[start]
    fn start(count: Arc<AtomicU32>, cx: &mut Context<Self>) -> Result<Self, SpawnError> {
        Ok(Self { clumsy: cx.supervise::<Clumsy>(count).start()? })
    }
    #[ask]
    fn clumsy(&self) -> Ref<Clumsy> {
        self.clumsy.clone()
    }
}

/// Fails at its first message, and takes parcels.
#[derive(Actor, Clone)]
struct Frail {
    has_failed: Arc<AtomicU32>,
}

#[handlers]
impl Frail {
    #[start]
    fn start(has_failed: Arc<AtomicU32>) -> Self {
        Self { has_failed }
    }
    #[tell]
    fn fail(&mut self, cx: &mut Context<Self>) {
        self.has_failed.fetch_add(1, Ordering::Relaxed);
        cx.fail("as told");
    }
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
}

/// Restarts its child after an hour, or has it stopped only when that has nothing to do any more.
#[derive(Actor)]
#[actor(supervise = one_for_all(3 in "9h", backoff = "1h..1h"))]
struct Patient {
    frail: Ref<Frail>,
    porter: Ref<Porter>,
}

#[handlers]
impl Patient {
    #[start]
    fn start(count: Arc<AtomicU32>, cx: &mut Context<Self>) -> Result<Self, SpawnError> {
        let frail = cx.supervise::<Frail>(count).start()?;
        let porter = cx.supervise::<Porter>(Porter).shutdown(Shutdown::Forever).start()?;
        Ok(Self { frail, porter })
    }
    #[ask]
    fn children(&self) -> (Ref<Frail>, Ref<Porter>) {
        (self.frail.clone(), self.porter.clone())
    }
}

// [G-STOP-2]
#[test]
fn supervised_children_that_wait_for_their_restart_drain_at_once() {
    // Whether it has been told to start by then is a matter of the turns between.
    for pause in [0, 1, 1000] {
        let mut world = World::new(pause);
        let node = world.node("home").start();
        let system = node.system();
        let ledger = Ledger::new(2 * WAITING);
        let count = Arc::new(AtomicU32::new(0));
        world.run(async {
            let patient = system.spawn::<Patient>(Arc::clone(&count)).await.unwrap();
            let (frail, porter) = patient.children().await.unwrap();
            frail.fail().await.unwrap();
            for _ in 0..WAITING {
                frail.take(ledger.issue()).await.unwrap();
            }
            let wait = async {
                while !(pause == 0 || count.load(Ordering::Relaxed) == 1) {
                    tokio::task::yield_now().await;
                }
            };
            wait.await;
            for _ in 0..WAITING {
                porter.take(ledger.issue()).await.unwrap();
            }
        });
        world.run_for(Duration::from_millis(pause));
        world.run(system.drain(Duration::from_secs(1))).unwrap();
        assert_eq!(ledger.settle(&system.counts()).handled, 2 * WAITING as u64, "{pause}");
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}

// [G-STOP-2]
#[test]
fn a_stop_ends_the_wait_for_the_mail_of_supervised_children() {
    everywhere(async |system| {
        let ledger = Ledger::new(1 + WAITING);
        let patient = system.spawn::<Patient>(Arc::new(AtomicU32::new(0))).await.unwrap();
        let (frail, porter) = patient.children().await.unwrap();
        let gate = keep_waiting(&porter, &ledger).await;
        assert!(patient.drain());
        until(|| porter.is_closed()).await;
        assert!(patient.stop());
        drop(gate);
        soon(patient.ended()).await;
        soon(frail.ended()).await;
        let tally = ledger.settle(&system.counts());
        assert!(tally.handled >= 1, "the handler that ran is let finish");
    });
}

// [G-STOP-4]
#[test]
fn a_supervised_child_that_fails_while_it_drains_handles_the_rest() {
    everywhere(async |system| {
        let (mut events, ledger) = (system.events(), Ledger::new(WAITING));
        let count = Arc::new(AtomicU32::new(0));
        let patron = system.spawn::<Patron>(Arc::clone(&count)).await.unwrap();
        let clumsy = patron.clumsy().await.unwrap();
        let (gate, opened) = oneshot::channel();
        clumsy.stumble(opened).await.unwrap();
        for _ in 0..WAITING {
            clumsy.take(ledger.issue()).await.unwrap();
        }
        patron.drain();
        until(|| clumsy.is_closed()).await;
        drop(gate);
        assert_eq!(exit_of(&clumsy, &mut events).await, ExitReason::Drained);
        soon(patron.ended()).await;
        assert_eq!(count.load(Ordering::Relaxed), 1, "what it failed at is not tried again");
        assert_eq!(ledger.tally().handled, WAITING as u64);
    });
}

/// How long a drain may take. CI says how long for a million messages.
fn limit() -> Duration {
    let seconds = std::env::var("GREENROOM_DRAIN_SECONDS");
    seconds.map_or(LONG, |text| Duration::from_secs(text.parse().expect("a number of seconds")))
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
        let (drained, ()) = tokio::join!(system.drain(limit()), async { drop(gate) });
        drained.unwrap();
        assert_eq!(ledger.settle(&system.counts()).handled, 1 + many as u64);
    });
}

// A bound on turns, which no busy machine moves: what took longer with each message that waits would be far above.
#[cfg_attr(sanitized = "thread", ignore = "slow, and one thread alone computes")]
#[test]
fn drain_of_a_system_takes_turns_by_its_messages() {
    for (seed, scheduling) in (0..).zip(SCHEDULINGS) {
        let many = times(WAITING);
        let mut world = World::new(seed);
        let settings = move |builder| scheduled(builder, scheduling);
        let node = world.node("depot").settings(settings).start();
        let system = node.system();
        let ledger = Ledger::new(many);
        world.run(async {
            let porter = system.spawn::<Porter>(Porter).await.unwrap();
            for _ in 0..many {
                porter.take(ledger.issue()).tell().unwrap();
            }
        });
        let before = world.steps();
        world.run(system.drain(LONG)).unwrap();
        let turns = world.steps() - before;
        assert_eq!(ledger.settle(&system.counts()).handled, many as u64);
        // Each message in a turn of its own at most, and as often a turn without one.
        let most = 2 * many as u64 + 1000;
        assert!(turns <= most, "{turns} turns for {many} messages, {most} at most");
    }
}

/// Begins a drain when it is dropped unhandled, and lets the actor do all that it has to do.
struct Fuse {
    slider: Ref<Slider>,
    gate: oneshot::Sender<()>,
    witness: Ref<Slider>,
}

/// Blows when it is dropped.
struct Fused(Option<Fuse>);

impl Drop for Fused {
    fn drop(&mut self) {
        let Some(Fuse { slider, gate, witness }) = self.0.take() else { return };
        slider.drain();
        while !slider.is_closed() {
            thread::yield_now();
        }
        gate.send(()).unwrap();
        // There is one worker: it has been at the other actor in between.
        for _ in 0..20 {
            witness.taken().wait().unwrap();
        }
    }
}

/// Counts what it takes.
#[derive(Actor)]
#[actor(mailbox = bounded(9, full = drop_oldest))]
struct Slider {
    taken: Arc<AtomicU32>,
}

#[handlers]
impl Slider {
    #[tell]
    async fn hold(&mut self, begun: oneshot::Sender<()>, gate: oneshot::Receiver<()>) {
        begun.send(()).unwrap();
        gate.await.unwrap();
    }
    #[tell]
    fn take(&mut self, _fused: Fused) {
        self.taken.fetch_add(1, Ordering::SeqCst);
    }
    #[ask]
    fn taken(&self) -> u32 {
        self.taken.load(Ordering::SeqCst)
    }
}

// [G-STOP-2] [G-BUDGET-1]
#[test]
fn nobody_is_refused_for_whom_a_message_was_given_up() {
    let system = System::builder().workers(1).budget_messages(2).own();
    let taken = Arc::new(AtomicU32::new(0));
    run(async {
        let slider = || system.spawn::<Slider>(Slider { taken: Arc::clone(&taken) });
        let (slider, witness) = (slider().await.unwrap(), slider().await.unwrap());
        let (open, gate) = oneshot::channel();
        let (begin, begun) = oneshot::channel();
        slider.hold(begin, gate).tell().unwrap();
        soon(begun).await.unwrap();
        // One part of the budget is for the witness; the other one's holder is pushed out.
        let fuse = Fuse { slider: slider.clone(), gate: open, witness };
        slider.take(Fused(Some(fuse))).tell().unwrap();
        let spare = slider.take(Fused(None));
        spare.tell().unwrap();
        let last = slider.take(Fused(None)).tell();
        last.expect("it came while the mailbox was open");
        soon(slider.ended()).await;
    });
    assert_eq!(taken.load(Ordering::SeqCst), 2, "what was taken in is handled");
    assert_eq!(system.counts().dropped_oldest, 1);
}
