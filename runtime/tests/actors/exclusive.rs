//! One worker at a time runs an actor, and a handler has it to itself until it returns.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{everywhere, on, soon, until};
use greenroom::{Actor, Context, Down, ExitReason, Handle, Message, Ref, Scheduler, handlers};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Two numbers that are equal whenever nobody is in the middle of changing them. `Cell` is neither
/// atomic nor locked: only the runtime keeps two workers apart.
#[derive(Actor, Default)]
struct Canary {
    left: Cell<u64>,
    right: Cell<u64>,
    inside: bool,
    ends: Option<Arc<AtomicBool>>,
}

impl Canary {
    /// Changes both, with time between for another worker to see the middle.
    fn sing(&self) {
        assert!(!self.inside, "no handler runs inside another");
        assert_eq!(self.left.get(), self.right.get(), "each handler sees what the last one wrote");
        self.left.set(self.left.get() + 1);
        (0..20).for_each(|_| std::hint::spin_loop());
        self.right.set(self.right.get() + 1);
    }

    async fn sing_slowly(&mut self) {
        self.sing();
        self.inside = true;
        let before = self.left.get();
        tokio::task::yield_now().await;
        assert_eq!(self.left.get(), before, "nobody else runs between the awaits");
        tokio::task::yield_now().await;
        assert_eq!(self.right.get(), before, "nobody else runs between the awaits");
        self.inside = false;
    }
}

#[handlers]
impl Canary {
    #[tell]
    fn now(&mut self) {
        self.sing();
    }
    #[tell]
    async fn slowly(&mut self) {
        self.sing_slowly().await;
    }
    #[ask]
    async fn ask_slowly(&mut self) -> u64 {
        self.sing_slowly().await;
        self.left.get()
    }
    #[ask]
    fn count(&self) -> u64 {
        assert!(!self.inside, "no handler runs inside another");
        self.left.get()
    }
    /// Timers, results and ends of others arrive as well.
    #[ask]
    fn invite(&mut self, ending: Ref<Self>, cx: &mut Context<Self>) {
        cx.every(Duration::from_millis(1), Self::tick);
        for _ in 0..20 {
            cx.pipe(tokio::task::yield_now(), Self::piped);
        }
        cx.watch(&ending, Self::down);
    }
    #[local]
    fn tick(&mut self) {
        self.sing();
    }
    #[local]
    async fn piped(&mut self, (): ()) {
        self.sing_slowly().await;
    }
    #[down]
    fn down(&mut self, _down: Down) {
        self.sing();
    }
    #[stop]
    fn stop(&mut self, _reason: ExitReason) {
        assert!(!self.inside, "the stop hook runs after the handler");
        assert_eq!(self.left.get(), self.right.get());
        if let Some(ends) = &self.ends {
            ends.store(true, Ordering::SeqCst);
        }
    }
}

// [G-EXCLUSIVE-1] [G-EXCLUSIVE-2]
#[test]
fn many_senders_never_meet_inside_an_actor() {
    everywhere(async |system| {
        let canary = system.spawn::<Canary>(Canary::default()).await.unwrap();
        let other = system.spawn::<Canary>(Canary::default()).await.unwrap();
        canary.invite(other.clone()).await.unwrap();
        other.stop();
        let send = |_| {
            let canary = canary.clone();
            thread::spawn(move || {
                for number in 0..1000 {
                    let tell = if number % 8 == 0 { canary.slowly() } else { canary.now() };
                    tell.try_send().unwrap();
                }
            })
        };
        let threads: Vec<_> = (0..4).map(send).collect();
        for _ in 0..20 {
            canary.ask_slowly().within(crate::support::LONG).await.unwrap();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // 20 results, 20 asks and one end, and whatever the timer added.
        let expected = 4 * 1000 + 20 + 20 + 1;
        soon(async { while canary.count().await.unwrap() < expected {} }).await;
        assert_eq!(system.counts().panics, 0);
    });
}

/// Counts the workers that are inside any handler of it.
#[derive(Actor)]
struct Crowd {
    inside: Arc<AtomicU64>,
}

#[derive(Message)]
struct Enter;

#[handlers]
impl Crowd {
    #[tell]
    fn enter(&mut self) {
        self.pass();
    }
}

impl Crowd {
    fn pass(&self) {
        assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "one worker at a time");
        (0..50).for_each(|_| std::hint::spin_loop());
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Handle<Enter> for Crowd {
    fn handle(&mut self, _message: Enter, _cx: &mut Context<Self>) {
        self.pass();
    }
}

// [G-EXCLUSIVE-1]
#[test]
fn every_way_in_leads_to_the_same_token() {
    on(4, Scheduler::stealing(), async |system| {
        let crowd = system.spawn::<Crowd>(Crowd { inside: Arc::default() }).await.unwrap();
        let send = |_| {
            let crowd = crowd.clone();
            thread::spawn(move || {
                for _ in 0..2000 {
                    crowd.enter().try_send().unwrap();
                    crowd.tell(Enter).try_send().unwrap();
                    thread::yield_now();
                }
            })
        };
        let threads: Vec<_> = (0..2).map(send).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        crowd.drain();
        soon(crowd.ended()).await;
        assert_eq!(system.counts().panics, 0);
    });
}

// [G-EXCLUSIVE-2]
#[test]
fn a_stop_waits_for_the_handler_that_waits() {
    everywhere(async |system| {
        for _ in 0..20 {
            let ended = Arc::new(AtomicBool::new(false));
            let canary = Canary { ends: Some(Arc::clone(&ended)), ..Canary::default() };
            let canary = system.spawn::<Canary>(canary).await.unwrap();
            canary.slowly().await.unwrap();
            canary.stop();
            soon(canary.ended()).await;
            until(|| ended.load(Ordering::SeqCst)).await;
        }
        assert_eq!(system.counts().panics, 0);
    });
}
