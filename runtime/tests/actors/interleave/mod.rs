//! Interleaved handlers: others are handled while they wait, nothing of the state is theirs meanwhile, and
//! each has one outcome.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod giving_way;

use crate::support::{LONG, everywhere, soon};
use greenroom::sim::Explore;
use greenroom::{Actor, AskError, DeadLetterReason, Event, Interleaved, Ref, System, handlers};
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

type Gate = oneshot::Receiver<u32>;

/// Adds up what comes through gates.
#[derive(Actor)]
#[actor(interleave = 3, stash = 10, restart = transient(100 in "1h"))]
struct Desk {
    total: u32,
    /// Handlers that wait, as far as it knows.
    waiting: u32,
    log: Log,
}

type Log = Arc<Mutex<Vec<u32>>>;

#[handlers]
impl Desk {
    #[start]
    fn start(log: Log) -> Self {
        Self { total: 0, waiting: 0, log }
    }
    /// Adds what comes, when it comes; the total then.
    #[ask]
    #[interleave]
    async fn add(cx: &mut Interleaved<Self>, number: u32, gate: Gate) -> u32 {
        cx.with(|me, _| {
            me.waiting += 1;
            me.log.lock().push(number);
        });
        let amount = gate.await.unwrap_or(0);
        cx.with(|me, _| {
            me.waiting -= 1;
            me.total += amount;
            me.total
        })
    }
    #[tell]
    #[interleave]
    async fn add_later(cx: &mut Interleaved<Self>, gate: Gate) -> Result<(), &'static str> {
        let amount = gate.await.map_err(|_| "the gate was closed")?;
        cx.with(|me, _| me.total += amount);
        Ok(())
    }
    #[ask]
    #[interleave]
    async fn remaining(cx: &mut Interleaved<Self>) -> (Duration, Duration) {
        let before = cx.remaining();
        tokio::task::yield_now().await;
        (before, cx.remaining())
    }
    #[ask]
    #[interleave]
    async fn crash_after(gate: Gate) {
        let _ = gate.await;
        panic!("as told");
    }
    /// Ends the actor in the middle of a handler.
    #[ask]
    #[interleave]
    async fn leave(cx: &mut Interleaved<Self>, stays: Gate) -> u32 {
        cx.with(|_, cx| cx.stop());
        stays.await.unwrap_or(0)
    }
    #[ask]
    fn total(&self) -> (u32, u32) {
        (self.total, self.waiting)
    }
    #[ask]
    fn note(&mut self, number: u32) {
        self.log.lock().push(number);
    }
    /// Has the actor to itself.
    #[ask]
    async fn hold(&mut self, gate: Gate) -> (u32, u32) {
        let before = self.total;
        let _ = gate.await;
        (before, self.total)
    }
    #[tell]
    fn crash(&mut self) {
        panic!("as told");
    }
}

async fn desk(system: &System) -> (Ref<Desk>, Log) {
    let log = Log::default();
    (system.spawn::<Desk>(Arc::clone(&log)).await.unwrap(), log)
}

/// A question that has been sent.
struct Asked<T>(Pin<Box<dyn Future<Output = Result<T, AskError>> + Send>>);

impl<T> Asked<T> {
    fn new(question: impl Future<Output = Result<T, AskError>> + Send + 'static) -> Self {
        let mut question: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(question);
        assert!(crate::support::poll_once(&mut question).is_pending(), "it waits at a gate");
        Self(question)
    }

    async fn answer(self) -> Result<T, AskError> {
        soon(self.0).await
    }
}

fn add(desk: &Ref<Desk>, number: u32) -> (oneshot::Sender<u32>, Asked<u32>) {
    let (open, gate) = oneshot::channel();
    let desk = desk.clone();
    (open, Asked::new(async move { desk.add(number, gate).within(LONG).await }))
}

async fn waiting(desk: &Ref<Desk>, count: u32) {
    while desk.total().await.unwrap().1 != count {}
}

// [G-INTERLEAVE-1]
#[test]
fn others_are_handled_while_a_handler_waits() {
    everywhere(async |system| {
        let (desk, _) = desk(system).await;
        let (first, one) = add(&desk, 1);
        waiting(&desk, 1).await;
        let (second, two) = add(&desk, 2);
        waiting(&desk, 2).await;
        second.send(20).unwrap();
        assert_eq!(two.answer().await, Ok(20));
        assert_eq!(desk.total().await, Ok((20, 1)));
        first.send(1).unwrap();
        assert_eq!(one.answer().await, Ok(21), "it sees what others did meanwhile");
        assert_eq!(desk.total().await, Ok((21, 0)));
    });
}

// [G-INTERLEAVE-1] [G-EXCLUSIVE-2]
#[test]
fn an_exclusive_handler_is_not_interleaved() {
    everywhere(async |system| {
        let (desk, _) = desk(system).await;
        let (open, added) = add(&desk, 1);
        waiting(&desk, 1).await;
        let (release, gate) = oneshot::channel();
        let holder = desk.clone();
        let held = Asked::new(async move { holder.hold(gate).within(LONG).await });
        // Whether it begins before or after the hold, it adds nothing in the middle of it.
        open.send(5).unwrap();
        tokio::task::yield_now().await;
        release.send(0).unwrap();
        let (before, after) = held.answer().await.unwrap();
        assert_eq!(before, after);
        assert_eq!(added.answer().await, Ok(5));
    });
}

// [G-INTERLEAVE-2] [G-ORDER-1]
#[test]
fn handlers_begin_in_order() {
    everywhere(async |system| {
        let (desk, log) = desk(system).await;
        let mut gates = Vec::new();
        // From this one sender, each before it has an answer.
        for number in 0..3 {
            let (open, gate) = oneshot::channel();
            gates.push(open);
            let adder = desk.clone();
            drop(Asked::new(async move { adder.add(2 * number, gate).await }));
            let mut noted = Box::pin(async { desk.note(2 * number + 1).await });
            let _ = crate::support::poll_once(&mut noted);
        }
        assert_eq!(desk.total().await, Ok((0, 3)));
        assert_eq!(*log.lock(), [0, 1, 2, 3, 4, 5]);
    });
}

// [G-INTERLEAVE-3]
#[test]
fn no_more_wait_than_may_and_the_mailbox_is_held() {
    everywhere(async |system| {
        let (desk, log) = desk(system).await;
        let mut adds: Vec<_> = Vec::new();
        for number in 0..3 {
            adds.push(add(&desk, number));
            waiting(&desk, number + 1).await;
        }
        // One more waits, and what comes behind it.
        let (last, fourth) = add(&desk, 3);
        assert_eq!(desk.total().within(Duration::from_millis(20)).await, Err(AskError::Expired));
        assert_eq!(*log.lock(), [0, 1, 2]);
        let (open, done) = adds.remove(1);
        open.send(10).unwrap();
        assert_eq!(done.answer().await, Ok(10));
        waiting(&desk, 3).await;
        assert_eq!(*log.lock(), [0, 1, 2, 3]);
        last.send(5).unwrap();
        assert_eq!(fourth.answer().await, Ok(15));
        for (open, done) in adds {
            open.send(1).unwrap();
            done.answer().await.unwrap();
        }
        assert_eq!(desk.total().await, Ok((17, 0)));
    });
}

// [G-DEADLINE-2] [G-INTERLEAVE-3]
#[test]
fn what_waits_to_begin_keeps_its_deadline() {
    const SECOND: Duration = Duration::from_secs(1);
    Explore::new().seeds(50).run(|world| {
        let system = world.node("one").start().system();
        let is_late = world.pick(2) == 1;
        let clock = world.clock();
        world.run(async {
            let desk = system.spawn::<Desk>(Log::default()).await.unwrap();
            let mut gates = Vec::new();
            for within in [100, 100, 100, 3] {
                let (gate, closed) = oneshot::channel();
                desk.add_later(closed).within(within * SECOND).await.unwrap();
                gates.push(gate);
            }
            // The last one holds the mailbox until one of the others is done.
            clock.sleep(if is_late { 4 * SECOND } else { SECOND }).await;
            for gate in gates {
                let _dropped = gate.send(1);
            }
            clock.sleep(SECOND).await;
            assert_eq!(desk.total().await, Ok((if is_late { 3 } else { 4 }, 0)));
            assert_eq!(system.counts().dead_expired, u64::from(is_late));
        });
    });
}

// [G-INTERLEAVE-4] [G-STOP-2]
#[test]
fn a_drain_waits_for_them() {
    everywhere(async |system| {
        let (desk, log) = desk(system).await;
        // Three wait, one waits to begin, and one is mail.
        let adds: Vec<_> = (0..5).map(|number| add(&desk, number)).collect();
        desk.drain();
        for (gate, done) in adds {
            gate.send(1).unwrap();
            assert!(done.answer().await.is_ok());
        }
        soon(desk.ended()).await;
        assert_eq!(*log.lock(), [0, 1, 2, 3, 4]);
        let counts = system.counts();
        assert_eq!((counts.dead_crashed, counts.dead_stopped), (0, 0));
    });
}

// [G-INTERLEAVE-4] [G-ASK-1] [G-DELIVERY-1]
#[test]
fn the_end_of_the_incarnation_cuts_them_off() {
    everywhere(async |system| {
        for end in [Ref::<Desk>::stop, Ref::<Desk>::kill] {
            let (desk, _) = desk(system).await;
            let mut letters = system.dead_letters();
            let (one, two) = (add(&desk, 1), add(&desk, 2));
            waiting(&desk, 2).await;
            end(&desk);
            assert_eq!(one.1.answer().await, Err(AskError::NoReply));
            assert_eq!(two.1.answer().await, Err(AskError::NoReply));
            soon(desk.ended()).await;
            for _ in 0..2 {
                let letter = soon(letters.next()).await.unwrap();
                assert!(letter.message.ends_with("DeskMessage"), "{}", letter.message);
                assert_eq!(letter.reason, DeadLetterReason::Crashed);
            }
            assert_eq!(letters.try_next().map(|letter| letter.reason), None);
            let _ = one.0.send(1);
        }
    });
}

// [G-INTERLEAVE-4] [G-RESTART-2]
#[test]
fn a_crash_ends_those_of_its_incarnation_and_no_others() {
    everywhere(async |system| {
        let (desk, _) = desk(system).await;
        let (_open, cut) = add(&desk, 1);
        waiting(&desk, 1).await;
        let (crash, gate) = oneshot::channel();
        let crasher = desk.clone();
        let crashed = Asked::new(async move { crasher.crash_after(gate).within(LONG).await });
        desk.total().await.unwrap();
        crash.send(0).unwrap();
        assert_eq!(crashed.answer().await, Err(AskError::NoReply));
        assert_eq!(cut.answer().await, Err(AskError::NoReply));
        let (open, next) = add(&desk, 2);
        open.send(7).unwrap();
        assert_eq!(next.answer().await, Ok(7));
        let counts = system.counts();
        assert_eq!((counts.restarts, counts.panics, counts.dead_crashed), (1, 1, 2));
    });
}

// [G-INTERLEAVE-4] [G-RESTART-2]
#[test]
fn what_waits_to_begin_is_handled_by_the_next_incarnation() {
    everywhere(async |system| {
        let (desk, log) = desk(system).await;
        let cut = [add(&desk, 0), add(&desk, 1)];
        waiting(&desk, 2).await;
        let (crash, gate) = oneshot::channel();
        let crasher = desk.clone();
        let crashed = Asked::new(async move { crasher.crash_after(gate).within(LONG).await });
        desk.note(2).await.unwrap();
        let (open, fourth) = add(&desk, 3);
        let held = desk.total().within(Duration::from_millis(20)).await;
        assert_eq!(held, Err(AskError::Expired));
        crash.send(0).unwrap();
        assert_eq!(crashed.answer().await, Err(AskError::NoReply));
        open.send(4).unwrap();
        assert_eq!(fourth.answer().await, Ok(4));
        assert_eq!(log.lock()[2..], [2, 3]);
        for (_open, done) in cut {
            assert_eq!(done.answer().await, Err(AskError::NoReply));
        }
    });
}

// [G-INTERLEAVE-4]
#[test]
fn one_that_stops_its_actor_is_cut_off_at_its_next_await() {
    everywhere(async |system| {
        let (leaver, _) = desk(system).await;
        let (_open, gate) = oneshot::channel();
        assert_eq!(leaver.leave(gate).await, Err(AskError::NoReply));
        soon(leaver.ended()).await;
        let (finisher, _) = desk(system).await;
        let (open, gate) = oneshot::channel();
        open.send(3).unwrap();
        assert_eq!(finisher.leave(gate).await, Ok(3), "it did not have to wait");
        soon(finisher.ended()).await;
        assert_eq!(system.counts().dead_crashed, 1);
    });
}

// [G-TELL-1] [G-ASK-3]
#[test]
fn errors_and_deadlines_are_those_of_any_handler() {
    everywhere(async |system| {
        let (desk, _) = desk(system).await;
        let mut events = system.events();
        let (open, gate) = oneshot::channel();
        desk.add_later(gate).await.unwrap();
        drop(open);
        loop {
            if let Event::TellFailed { handler, error, .. } = soon(events.next()).await.unwrap() {
                assert_eq!((handler, &*error), ("add_later", "the gate was closed"));
                break;
            }
        }
        let (before, after) = desk.remaining().within(LONG).await.unwrap();
        assert!(before <= LONG && after <= before, "{before:?} {after:?}");
        assert!(after > Duration::ZERO);
        // A question that expires is handled for nothing.
        loop {
            let (open, gate) = oneshot::channel();
            let asked = desk.add(1, gate).within(Duration::from_millis(10)).await;
            assert_eq!(asked, Err(AskError::Expired));
            // One that would have begun too late has not begun.
            if desk.total().within(LONG).await == Ok((0, 1)) {
                open.send(9).unwrap();
                break;
            }
        }
        waiting(&desk, 0).await;
        assert_eq!(desk.total().await, Ok((9, 0)));
        assert_eq!(system.counts().late_replies, 1);
    });
}

// [G-IDLE-1]
#[test]
fn a_system_with_one_that_waits_is_not_idle() {
    everywhere(async |system| {
        let (desk, _) = desk(system).await;
        let (open, added) = add(&desk, 1);
        waiting(&desk, 1).await;
        let busy = system.await_idle(Duration::from_millis(20)).await.unwrap_err();
        assert_eq!(busy.busy.len(), 1, "{busy}");
        open.send(1).unwrap();
        system.await_idle(LONG).await.unwrap();
        assert_eq!(added.answer().await, Ok(1));
    });
}

/// Sleeps when nobody has asked it for a while, unless it is busy.
#[derive(Actor)]
#[actor(interleave = 2)]
struct Sleepy;

#[handlers]
impl Sleepy {
    #[start]
    fn start() -> Self {
        Self
    }
    #[ask]
    #[interleave]
    async fn nap(time: Duration) -> &'static str {
        tokio::time::sleep(time).await;
        "rested"
    }
}

// [G-TIMER-3]
#[test]
fn one_that_waits_is_no_silence() {
    everywhere(async |system| {
        let sleepy = system.keyed::<u32, Sleepy>(|_| ()).idle(Duration::from_millis(5));
        let sleepy = sleepy.get(1).unwrap();
        assert_eq!(sleepy.nap(Duration::from_millis(30)).await, Ok("rested"));
    });
}

/// Tries to reach its actor from a destructor.
struct Late<'a>(&'a mut Interleaved<Careless>);

impl Drop for Late<'_> {
    fn drop(&mut self) {
        self.0.with(|me, _| me.reached += 1);
    }
}

#[derive(Actor)]
#[actor(interleave = 2)]
struct Careless {
    reached: u32,
}

#[handlers]
impl Careless {
    #[ask]
    #[interleave]
    async fn wait(cx: &mut Interleaved<Self>, gate: Gate) -> u32 {
        let late = Late(cx);
        let _ = gate.await;
        late.0.with(|me, _| me.reached)
    }
    #[ask]
    fn reached(&self) -> u32 {
        self.reached
    }
}

// [G-PANIC-1]
#[test]
fn a_destructor_has_the_state_only_while_the_handler_runs() {
    everywhere(async |system| {
        let careless = system.spawn::<Careless>(Careless { reached: 0 }).await.unwrap();
        let mut events = system.events();
        let (open, gate) = oneshot::channel();
        open.send(0).unwrap();
        assert_eq!(careless.wait(gate).await, Ok(0));
        assert_eq!(careless.reached().await, Ok(1));
        let (_open, gate) = oneshot::channel();
        let mut waits = Box::pin(async { careless.wait(gate).await });
        assert!(crate::support::poll_once(&mut waits).is_pending());
        careless.reached().await.unwrap();
        careless.stop();
        assert_eq!(soon(waits).await, Err(AskError::NoReply));
        loop {
            if let Event::DropPanicked { actor } = soon(events.next()).await.unwrap() {
                assert_eq!(actor, careless.id());
                break;
            }
        }
        soon(careless.ended()).await;
    });
}
