//! Wakers that panic, as those of an executor that is gone: whoever is to wake one goes on, and so do all others.

use crate::Bystander;
use crate::support::{LONG, SCHEDULERS, hold_worker, on, poll_once, soon, until};
use greenroom::{Actor, Context, System, handlers};
use std::future::IntoFuture;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use tokio::task::unconstrained;

/// Counts how often it was woken, and panics each time.
#[derive(Default)]
struct Broken {
    woken: AtomicU32,
}

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::Relaxed);
        panic!("nobody is there to be woken");
    }
}

impl Broken {
    /// Polls `future` once, and leaves itself there.
    fn waits_for<F: Future>(self: &Arc<Self>, future: Pin<&mut F>) {
        let waker = Waker::from(Arc::clone(self));
        let polled = future.poll(&mut TaskContext::from_waker(&waker));
        assert!(polled.is_pending(), "it has to wait");
    }

    async fn was_woken(&self) {
        until(|| self.woken.load(Ordering::Relaxed) > 0).await;
    }
}

/// Panics if it is told to, or ends.
#[derive(Actor)]
#[actor(mailbox = bounded(1))]
struct Neighbour;

#[handlers]
impl Neighbour {
    #[tell]
    fn fall(&mut self) {
        panic!("it falls");
    }
    #[tell]
    fn leave(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
    #[tell]
    fn nod(&mut self) {}
}

/// Has somebody with a broken waker wait for something, on a single worker. What happens then must happen to all others as
/// if he were not there.
fn goes_on(with: impl AsyncFn(&System, &Arc<Broken>)) {
    for scheduler in SCHEDULERS {
        on(1, scheduler(), async |system| {
            let bystander = system.spawn::<Bystander>(Bystander::default()).await.unwrap();
            assert_eq!(bystander.count().within(LONG).await, Ok(1));
            let broken = Arc::new(Broken::default());
            soon(with(system, &broken)).await;
            broken.was_woken().await;
            assert_eq!(bystander.count().within(LONG).await, Ok(2), "it lives on");
        });
    }
}

// [G-PANIC-1]
#[test]
fn of_who_hears_that_an_actor_has_ended() {
    for keeps_reference in [true, false] {
        goes_on(async |system, broken| {
            let actor = system.spawn::<Neighbour>(Neighbour).await.unwrap();
            let mut events = system.events();
            let mut next = pin!(unconstrained(events.next()));
            broken.waits_for(next.as_mut());
            actor.leave().await.unwrap();
            if keeps_reference {
                actor.ended().await;
            }
            drop(actor);
            broken.was_woken().await;
            assert!(poll_once(&mut next).is_ready(), "it was told");
        });
    }
}

// [G-PANIC-1]
#[test]
fn of_who_hears_of_a_message_that_nobody_handles() {
    goes_on(async |system, broken| {
        let actor = system.spawn::<Neighbour>(Neighbour).await.unwrap();
        let mut letters = system.dead_letters();
        let mut next = pin!(unconstrained(letters.next()));
        broken.waits_for(next.as_mut());
        actor.fall().await.unwrap();
        actor.ended().await;
        assert!(poll_once(&mut next).is_ready(), "it was told");
    });
}

// [G-PANIC-1]
#[test]
fn of_who_awaits_a_shutdown() {
    for scheduler in SCHEDULERS {
        let broken = Arc::new(Broken::default());
        on(1, scheduler(), async |system| {
            let actor = system.spawn::<Neighbour>(Neighbour).await.unwrap();
            let hold = hold_worker(system).await;
            let mut first = pin!(system.shutdown(LONG));
            broken.waits_for(first.as_mut());
            let mut second = pin!(system.shutdown(LONG));
            assert!(poll_once(&mut second).is_pending(), "it waits behind the broken one");
            drop(hold);
            assert_eq!(soon(second).await, Ok(()));
            assert!(actor.is_closed());
            assert_eq!(poll_once(&mut first), Poll::Ready(Ok(())));
        });
        assert!(broken.woken.load(Ordering::Relaxed) > 0);
    }
}

// [G-PANIC-1]
#[test]
fn of_who_waits_until_nothing_is_to_be_done() {
    goes_on(async |system, broken| {
        let hold = hold_worker(system).await;
        let mut idle = pin!(system.await_idle(LONG));
        broken.waits_for(idle.as_mut());
        drop(hold);
        broken.was_woken().await;
        assert_eq!(system.await_idle(LONG).await, Ok(()));
    });
}

// [G-PANIC-1]
#[test]
fn of_who_asks() {
    goes_on(async |system, broken| {
        let asked = system.spawn::<Bystander>(Bystander::default()).await.unwrap();
        let hold = hold_worker(system).await;
        let mut asking = asked.count().within(LONG).into_future();
        broken.waits_for(Pin::new(&mut asking));
        drop(hold);
        broken.was_woken().await;
        assert_eq!(asked.count().within(LONG).await, Ok(2), "it has answered, and goes on");
    });
}

// [G-PANIC-1]
#[test]
fn of_who_waits_for_room() {
    goes_on(async |system, broken| {
        let full = system.spawn::<Neighbour>(Neighbour).await.unwrap();
        let hold = hold_worker(system).await;
        full.nod().try_send().unwrap();
        let mut first = full.nod().into_future();
        broken.waits_for(Pin::new(&mut first));
        let mut second = full.nod().into_future();
        assert!(poll_once(&mut second).is_pending(), "it waits behind the broken one");
        drop(hold);
        broken.was_woken().await;
        drop(first);
        assert!(second.await.is_ok(), "there is room again");
        // Those who wait hear of the end, whoever waits before them.
        let hold = hold_worker(system).await;
        full.nod().try_send().unwrap();
        let mut first = full.nod().into_future();
        broken.waits_for(Pin::new(&mut first));
        let mut second = full.nod().into_future();
        assert!(poll_once(&mut second).is_pending());
        full.kill();
        drop(hold);
        assert!(second.await.is_err(), "it has ended");
        full.ended().await;
    });
}
