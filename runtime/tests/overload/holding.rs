//! Who is held back by an overloaded receiver, until when, and what is told of it.

use crate::gate::{Bounded, Gate, Gated, Load, Plain, Sensitive, load};
use crate::support::{Builds, LONG, block_on, everywhere, on, poll_once, run, soon};
use greenroom::{
    Actor, Event, EventStream, Interleaved, Recipient, Ref, Scheduler, System, TellError, handlers,
};
use std::task::Poll;
use std::thread;
use tokio::sync::oneshot;

/// The reports of overload that have come, `true` for its begin.
fn reports(events: &mut EventStream) -> Vec<bool> {
    let mut reports = Vec::new();
    while let Some(event) = events.try_next() {
        match event {
            Event::Overloaded { .. } => reports.push(true),
            Event::Relieved { .. } => reports.push(false),
            _ => {}
        }
    }
    reports
}

// [G-OVERLOAD-1] [G-OVERLOAD-3]
#[test]
fn awaited_tells_are_held_back_from_the_mark_on_until_half_of_it_waits() {
    everywhere(async |system| {
        let mut events = system.events();
        let mut gated = Gated::<Sensitive>::busy(system).await;
        let actor = gated.actor.clone();
        for number in 1..=3 {
            actor.tell(load(number)).await.unwrap();
        }
        assert!(!gated.pressure().is_overloaded);
        actor.tell(load(4)).await.unwrap();
        assert_eq!(reports(&mut events), [true]);
        let mut held: Vec<_> =
            (5..=8).map(|number| actor.tell(load(number)).into_future()).collect();
        for sender in &mut held {
            assert!(poll_once(sender).is_pending());
        }
        assert_eq!(system.counts().held_back, 4);
        let pressure = gated.pressure();
        assert_eq!((pressure.waiting, pressure.peak), (4, 4));
        // Three wait: not yet.
        assert_eq!(gated.next().await, 1);
        assert!(poll_once(&mut held[0]).is_pending());
        assert!(gated.pressure().is_overloaded);
        // Two wait: as many go on as there is room for, and the others wait on.
        assert_eq!(gated.next().await, 2);
        for sender in held.drain(..2) {
            soon(sender).await.unwrap();
        }
        assert!(poll_once(&mut held[0]).is_pending());
        assert_eq!(gated.pressure().waiting, 4);
        assert!(reports(&mut events).is_empty(), "it was overloaded all the time");
        assert_eq!(gated.next().await, 3);
        assert_eq!(gated.next().await, 4);
        for sender in held {
            soon(sender).await.unwrap();
        }
        for number in 5..=8 {
            assert_eq!(gated.next().await, number);
        }
        let pressure = gated.pressure();
        assert_eq!((pressure.waiting, pressure.peak, pressure.is_overloaded), (0, 4, false));
        assert_eq!(reports(&mut events), [false]);
        assert_eq!(system.counts().overloads, 1);
        gated.open();
    });
}

// [G-OVERLOAD-1]
#[test]
fn who_does_not_wait_is_not_held_back() {
    on(1, Scheduler::locked(), async |system| {
        let mut gated = Gated::<Sensitive>::busy(system).await;
        for number in 1..=4 {
            gated.actor.tell(load(number)).await.unwrap();
        }
        let actor = gated.actor.clone();
        let mut held = actor.tell(load(9)).into_future();
        assert!(poll_once(&mut held).is_pending());
        gated.actor.tell(load(5)).try_send().unwrap();
        gated.actor.tell(load(6)).tell().unwrap();
        // A question is slowed by its answer alone.
        let mut question = actor.ask(load(7)).into_future();
        assert!(poll_once(&mut question).is_pending());
        assert_eq!(gated.pressure().waiting, 7);
        // Who gives up is not waited for.
        drop(held);
        for number in 1..=7 {
            assert_eq!(gated.next().await, number);
        }
        gated.open();
        assert_eq!(soon(question).await.unwrap(), 7);
        assert!(!gated.pressure().is_overloaded);
    });
}

// [G-OVERLOAD-1] [G-DELIVERY-1]
#[test]
fn who_is_held_back_gets_the_message_back_when_the_receiver_ends() {
    everywhere(async |system| {
        for end in [Ref::stop, Ref::kill, Ref::drain] {
            let gated = Gated::<Sensitive>::busy(system).await;
            for number in 1..=4 {
                gated.actor.tell(load(number)).await.unwrap();
            }
            let actor = gated.actor.clone();
            let mut held = actor.tell(load(5)).into_future();
            assert!(poll_once(&mut held).is_pending());
            end(&gated.actor);
            assert_eq!(soon(held).await, Err(TellError::Closed(load(5))));
            gated.open();
            soon(gated.actor.ended()).await;
        }
    });
}

/// Sends without holding its actor.
#[derive(Actor)]
#[actor(interleave = 2)]
struct Pump {
    sink: Recipient<Load>,
}

#[handlers]
impl Pump {
    #[ask]
    #[interleave]
    async fn pump(cx: &mut Interleaved<Self>, count: u32) -> u32 {
        let sink = cx.with(|me, _| me.sink.clone());
        for number in 1..=count {
            sink.tell(load(number)).await.unwrap();
        }
        count
    }
}

// [G-OVERLOAD-2] [G-BUDGET-2]
#[test]
fn an_interleaved_handler_is_not_held_back() {
    everywhere(async |system| {
        let gated = Gated::<Sensitive>::busy(system).await;
        let pump = system.spawn::<Pump>(Pump { sink: gated.actor.recipient() }).await.unwrap();
        assert_eq!(pump.pump(10).within(LONG).await, Ok(10));
        assert_eq!(gated.pressure().waiting, 10);
        gated.open();
    });
    let system = System::builder().workers(1).budget_messages(4).own();
    run(async {
        let gated = Gated::<Plain>::busy(&system).await;
        let pump = system.spawn::<Pump>(Pump { sink: gated.actor.recipient() }).await.unwrap();
        assert_eq!(pump.pump(10).within(LONG).await, Ok(10));
        assert_eq!(system.pressure().messages.unwrap().waiting, 10);
        gated.open();
    });
}

// [G-OVERLOAD-1]
#[test]
fn a_system_sets_the_mark_of_those_who_declare_none() {
    let system = System::builder().workers(1).overload_messages(2).own();
    run(async {
        let mut plain = Gated::<Plain>::busy(&system).await;
        let actor = plain.actor.clone();
        actor.tell(load(1)).await.unwrap();
        actor.tell(load(2)).await.unwrap();
        let mut held = actor.tell(load(3)).into_future();
        assert!(poll_once(&mut held).is_pending());
        assert_eq!(plain.next().await, 1);
        soon(held).await.unwrap();
        plain.open();
        let declared = Gated::<Sensitive>::busy(&system).await;
        for number in 1..=4 {
            declared.actor.tell(load(number)).await.unwrap();
        }
        declared.open();
    });
    on(1, Scheduler::locked(), async |system| {
        let plain = Gated::<Plain>::busy(system).await;
        assert_eq!(plain.actor.pressure(), None, "nobody counts");
        plain.open();
    });
}

// [G-OVERLOAD-1] [G-BOUND-1]
#[test]
fn threads_block_until_the_receiver_is_relieved() {
    const THREADS: u32 = 3;
    const EACH: u32 = 400;
    everywhere(async |system| {
        let gated = Gated::<Sensitive>::busy(system).await;
        gated.open();
        let bounded = Gated::<Bounded>::busy(system).await;
        bounded.open();
        let send = |_| {
            let (actor, bounded) = (gated.actor.clone(), bounded.actor.clone());
            thread::spawn(move || {
                for number in 0..EACH {
                    actor.tell(load(number)).wait().unwrap();
                    bounded.tell(load(number)).wait().unwrap();
                }
            })
        };
        let threads: Vec<_> = (0..THREADS).map(send).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(gated.pressure().peak <= 4, "{:?}", gated.pressure());
        for actor in [gated.actor.drain(), bounded.actor.drain()] {
            assert!(actor);
        }
        soon(gated.actor.ended()).await;
        soon(bounded.actor.ended()).await;
        let unended = soon(async { gated.actor.tell(load(0)).wait() }).await;
        assert_eq!(unended, Err(TellError::Closed(load(0))));
    });
}

/// Sends to itself more than it has room for.
#[derive(Actor)]
#[actor(mailbox = bounded(2))]
struct Narrow {
    heard: u64,
}

#[handlers]
impl Narrow {
    #[ask]
    async fn talk(&mut self, me: Ref<Self>) -> [bool; 3] {
        let mut sent = [false; 3];
        for sent in &mut sent {
            *sent = me.hear().await.is_ok();
        }
        sent
    }
    /// As `talk`, with the sends polled by something that has wakers of its own.
    #[ask]
    async fn talk_at_once(&mut self, me: Ref<Self>) -> Vec<bool> {
        let mut sends: Vec<_> = (0..4).map(|_| me.hear().into_future()).collect();
        sends.iter_mut().map(|send| matches!(poll_once(send), Poll::Ready(Ok(())))).collect()
    }
    #[tell]
    fn hear(&mut self) {
        self.heard += 1;
    }
    #[tell]
    fn block(&mut self, me: Ref<Self>) {
        me.hear().wait().unwrap();
    }
    #[ask]
    fn heard(&self) -> u64 {
        self.heard
    }
}

// [G-BOUND-3]
#[test]
fn a_handler_does_not_wait_for_room_in_its_own_mailbox() {
    everywhere(async |system| {
        let narrow = system.spawn::<Narrow>(Narrow { heard: 0 }).await.unwrap();
        let sent = narrow.talk(narrow.clone()).await.unwrap();
        assert_eq!(sent, [true, true, false], "it would wait for itself");
        assert_eq!(narrow.heard().await.unwrap(), 2);
        assert_eq!(system.counts().rejected_full, 1);
        let sent = narrow.talk_at_once(narrow.clone()).await.unwrap();
        assert_eq!(sent, [true, true, false, false], "it would wait for itself");
        assert_eq!(narrow.heard().await.unwrap(), 4);
        assert_eq!(system.counts().rejected_full, 3, "both came back");
        // Nor does it block its worker.
        narrow.block(narrow.clone()).await.unwrap();
        soon(narrow.ended()).await;
        assert_eq!(system.counts().panics, 1);
    });
}

/// Sends to itself without end in sight, as far as its mark would have it.
#[derive(Actor)]
#[actor(mailbox = unbounded(overload = 3))]
struct Chatty {
    left: u64,
    done: Option<oneshot::Sender<()>>,
}

#[handlers]
impl Chatty {
    #[tell]
    async fn talk(&mut self, me: Ref<Self>) {
        for _ in 0..4 {
            if self.left > 0 {
                self.left -= 1;
                me.talk(me.clone()).await.unwrap();
            }
        }
        if self.left == 0
            && let Some(done) = self.done.take()
        {
            done.send(()).unwrap();
        }
    }
}

// [G-OVERLOAD-2]
#[test]
fn an_overloaded_actor_may_tell_itself() {
    everywhere(async |system| {
        let (done, is_done) = oneshot::channel();
        let chatty = Chatty { left: 500, done: Some(done) };
        let chatty = system.spawn::<Chatty>(chatty).await.unwrap();
        chatty.talk(chatty.clone()).await.unwrap();
        soon(is_done).await.unwrap();
        chatty.drain();
        soon(chatty.ended()).await;
    });
}

/// Sends to whoever it is told to.
#[derive(Actor)]
struct Idle;

#[handlers]
impl Idle {
    #[ask]
    async fn send(&mut self, to: Ref<Gate<Sensitive>>) -> bool {
        to.tell(load(5)).await.is_ok()
    }
}

// [G-OVERLOAD-1]
#[test]
fn an_actor_is_held_back_as_anybody() {
    everywhere(async |system| {
        let mut gated = Gated::<Sensitive>::busy(system).await;
        for number in 1..=4 {
            gated.actor.tell(load(number)).await.unwrap();
        }
        let idle = system.spawn::<Idle>(Idle).await.unwrap();
        let mut told = std::pin::pin!(idle.send(gated.actor.clone()).into_future());
        assert!(poll_once(&mut told).is_pending());
        crate::support::until(|| system.counts().held_back == 1).await;
        assert_eq!(gated.next().await, 1);
        assert_eq!(gated.next().await, 2);
        assert!(soon(told).await.unwrap());
        gated.open();
        // A wait that nobody looks at any more does not block: it is over.
        assert!(block_on(gated.actor.tell(load(6)).into_future()).is_ok());
    });
}
