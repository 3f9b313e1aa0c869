//! Whole lives of actors, few and short: what they show is looked at by Miri, step by step.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::{
    Actor, AskError, Context, Down, ExitReason, Mailbox, Options, Ref, Scheduler, System, handlers,
};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Longer than anything here takes by Miri's clock, which goes by steps.
const LONG: Duration = Duration::from_secs(3600);

/// Ready queues, each with a number of workers. Those of words are for Miri where it lets pointers be numbers, by
/// `GREENROOM_WORDS`, and for it alone.
pub(in crate::actor) fn schedulers() -> Vec<(Scheduler, usize)> {
    let pointers = [(Scheduler::locked(), 1), (Scheduler::per_core(), 2)];
    let words = [(Scheduler::lock_free(), 2), (Scheduler::stealing(), 2)];
    match (cfg!(miri), std::env::var_os("GREENROOM_WORDS")) {
        (false, _) => pointers.into_iter().chain(words).collect(),
        (true, None) => pointers.into(),
        (true, Some(_)) => words.into(),
    }
}

/// Runs a test under each of the ready queues.
fn on_each(test: impl Fn(&System)) {
    for (scheduler, workers) in schedulers() {
        let system = System::builder().workers(workers).scheduler(scheduler).ask_timeout(LONG);
        let system = system.build().unwrap();
        test(&system);
        outlive(system);
    }
}

/// Ends a system, and waits until its threads have let go of it: Miri reports those that a program leaves behind.
pub(in crate::actor) fn outlive(system: System) {
    let mut events = system.events();
    let here = tokio::runtime::Builder::new_current_thread().build().unwrap();
    here.block_on(async {
        system.shutdown(LONG).await.unwrap();
        drop(system);
        while events.next().await.is_some() {}
    });
}

type Notes = mpsc::Sender<String>;

/// Does what it is told to, and notes what becomes of it.
#[derive(Actor)]
#[actor(restart = transient(1 in "1h"), stash = 4)]
struct Player {
    notes: Notes,
    is_open: bool,
}

#[handlers]
impl Player {
    #[start]
    fn start(notes: Notes) -> Self {
        notes.send("start".into()).unwrap();
        Self { notes, is_open: false }
    }
    #[stop]
    fn stop(&mut self, reason: ExitReason) {
        self.notes.send(format!("stop: {reason}")).unwrap();
    }
    #[ask]
    async fn wait(&mut self, gate: oneshot::Receiver<u32>) -> u32 {
        gate.await.unwrap_or(0)
    }
    #[ask]
    async fn relay(&mut self, other: Ref<Self>, gate: oneshot::Receiver<u32>) -> u32 {
        other.wait(gate).await.unwrap_or(0)
    }
    #[ask]
    async fn circle(&mut self, way: Vec<Ref<Self>>) -> bool {
        let Some((next, rest)) = way.split_first() else { return false };
        match next.circle(rest.to_vec()).await {
            Ok(is_found) => is_found,
            Err(error) => matches!(error, AskError::Cycle(_)),
        }
    }
    #[ask]
    #[stash(while = !self.is_open)]
    fn enter(&mut self, number: u32) -> u32 {
        number
    }
    #[tell]
    fn open(&mut self, cx: &mut Context<Self>) {
        self.is_open = true;
        cx.unstash();
    }
    #[tell]
    fn fall(&mut self) {
        panic!("planned");
    }
    #[ask]
    async fn bear(&mut self, cx: &mut Context<Self>) -> Ref<Self> {
        let child = cx.spawn::<Self>(self.notes.clone()).await.unwrap();
        cx.watch(&child, Self::child_down);
        child
    }
    #[down]
    fn child_down(&mut self, down: Down) {
        self.notes.send(format!("down: {}", down.reason)).unwrap();
    }
}

fn player(system: &System) -> (Ref<Player>, mpsc::Receiver<String>) {
    let (notes, noted) = mpsc::channel();
    (system.spawn::<Player>(notes).start().unwrap(), noted)
}

#[test]
fn a_handler_that_waits_is_woken_from_another_thread() {
    on_each(|system| {
        let [(one, _heard), (other, _too)] = [player(system), player(system)];
        let (open, gate) = oneshot::channel();
        let asked = std::thread::spawn(move || one.relay(other, gate).wait());
        open.send(7).unwrap();
        assert_eq!(asked.join().unwrap(), Ok(7));
    });
}

// [G-CYCLE-1]
#[test]
fn a_circle_of_asks_is_found() {
    on_each(|system| {
        let [(one, _heard), (other, _too)] = [player(system), player(system)];
        assert_eq!(one.circle(vec![other, one.clone()]).wait(), Ok(true));
    });
}

// [G-STASH-1]
#[test]
fn what_was_put_aside_is_handled_later() {
    on_each(|system| {
        let (player, _noted) = player(system);
        let door = player.clone();
        let entered = std::thread::spawn(move || door.enter(3).wait());
        player.open().wait().unwrap();
        assert_eq!(entered.join().unwrap(), Ok(3));
    });
}

// [G-RESTART-1]
#[test]
fn a_family_restarts_and_ends_from_the_child_up() {
    on_each(|system| {
        let (parent, noted) = player(system);
        let child = parent.bear().wait().unwrap();
        child.fall().wait().unwrap();
        child.open().wait().unwrap();
        assert_eq!(child.enter(1).wait(), Ok(1));
        child.fall().wait().unwrap();
        let until_down: Vec<_> = (0..6).map(|_| noted.recv().unwrap()).collect();
        assert!(until_down[5].starts_with("down: too many restarts"), "{until_down:?}");
        let (_open, gate) = oneshot::channel();
        let grandchild = parent.bear().wait().unwrap();
        drop(grandchild.wait(gate).into_future());
        parent.stop();
        let rest: Vec<_> = noted.into_iter().collect();
        assert_eq!(rest, ["start", "stop: stopped", "stop: stopped"]);
    });
}

/// Hands on what it is sent, with room for little.
struct Till(mpsc::Sender<u32>);

impl Actor for Till {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::bounded(2).overload(1));
}

#[handlers]
impl Till {
    #[tell]
    fn pay(&mut self, coins: u32) {
        self.0.send(coins).unwrap();
    }
}

/// Pays into one till, and waits for room.
struct Payer(Ref<Till>);

impl Actor for Payer {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::unbounded().overload(1));
}

#[handlers]
impl Payer {
    #[ask]
    async fn pay(&mut self, times: u32) {
        for _ in 0..times {
            self.0.pay(1).await.unwrap();
        }
    }
}

// [G-DELIVERY-1]
#[test]
fn senders_that_wait_for_room_lose_nothing() {
    on_each(|system| {
        let (paid, payments) = mpsc::channel();
        let till = system.spawn::<Till>(Till(paid)).start().unwrap();
        let payers: Vec<_> = (0..2)
            .map(|_| {
                let payer = system.spawn::<Payer>(Payer(till.clone())).start().unwrap();
                std::thread::spawn(move || payer.pay(3).wait())
            })
            .collect();
        for _ in 0..2 {
            till.pay(1).wait().unwrap();
        }
        for payer in payers {
            assert_eq!(payer.join().unwrap(), Ok(()));
        }
        // What comes from another worker may still be on its way.
        for _ in 0..8 {
            assert_eq!(payments.recv(), Ok(1));
        }
        till.stop();
        assert!(payments.recv().is_err(), "and no more");
    });
}
