//! A handler that asks for it is cancelled when its asker goes.

use crate::asks::oracle::SHORT;
use crate::support::{Dice, LONG, everywhere, poll_once, soon, until};
use greenroom::{
    Actor, AskError, Context, DeadLetterReason, HandleAsync, Interleaved, Message, Pool, Ref,
    Reply, handlers,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::oneshot;

/// What the cooks of a test have done.
#[derive(Default)]
struct Tally {
    begun: AtomicU64,
    dropped: AtomicU64,
    done: AtomicU64,
}

/// Counts a handler as dropped, unless it says that it is done.
struct Course(Arc<Tally>, bool);

impl Course {
    fn begin(tally: &Arc<Tally>) -> Self {
        tally.begun.fetch_add(1, SeqCst);
        Self(Arc::clone(tally), false)
    }

    fn finish(mut self) {
        self.1 = true;
    }
}

impl Drop for Course {
    fn drop(&mut self) {
        let end = if self.1 { &self.0.done } else { &self.0.dropped };
        end.fetch_add(1, SeqCst);
    }
}

#[derive(Actor)]
#[actor(interleave = 4)]
struct Cook {
    tally: Arc<Tally>,
    next: Option<Ref<Self>>,
    /// Kept across what is cancelled.
    orders: u32,
}

#[handlers]
impl Cook {
    #[start]
    fn start(tally: Arc<Tally>, next: Option<Ref<Self>>) -> Self {
        Self { tally, next, orders: 0 }
    }
    #[ask(cancel)]
    async fn cook(&mut self, gate: oneshot::Receiver<()>) -> u32 {
        let course = Course::begin(&self.tally);
        self.orders += 1;
        let _ = gate.await;
        course.finish();
        self.orders
    }
    #[ask(cancel)]
    fn taste(&mut self, _salt: u32, cx: &mut Context<Self>) -> Result<u32, ()> {
        assert!(cx.remaining() <= LONG);
        Course::begin(&self.tally).finish();
        self.orders += 1;
        Ok(self.orders)
    }
    /// Not to be cancelled.
    #[ask]
    async fn bake(&mut self, gate: oneshot::Receiver<()>) -> u32 {
        let course = Course::begin(&self.tally);
        let _ = gate.await;
        course.finish();
        self.orders
    }
    /// Lets the last one in the row cook.
    #[ask(cancel)]
    async fn delegate(&mut self, gate: oneshot::Receiver<()>) -> Result<u32, AskError> {
        let course = Course::begin(&self.tally);
        self.orders += 1;
        let cooked = match &self.next {
            Some(next) => next.delegate(gate).within(LONG).await.map_err(|_| AskError::NoReply),
            None => {
                let _ = gate.await;
                Ok(0)
            }
        };
        course.finish();
        cooked
    }
    /// Lets others in meanwhile.
    #[ask(cancel)]
    #[interleave]
    async fn simmer(cx: &mut Interleaved<Self>, gate: oneshot::Receiver<()>) -> u32 {
        let course = Course::begin(&cx.with(|me, _| Arc::clone(&me.tally)));
        let _ = gate.await;
        course.finish();
        cx.with(|me, _| me.orders)
    }
    /// Waits for nothing a few times.
    #[ask(cancel)]
    async fn stir(&mut self, times: u32) -> u32 {
        let course = Course::begin(&self.tally);
        for _ in 0..times {
            tokio::task::yield_now().await;
        }
        course.finish();
        times
    }
    #[ask]
    fn orders(&self, cx: &mut Context<Self>) -> u32 {
        assert_eq!(cx.incarnation(), 0, "nobody failed");
        self.orders
    }
}

#[derive(Message)]
#[message(reply = u32)]
struct Fry(oneshot::Receiver<()>);

impl HandleAsync<Fry> for Cook {
    const CANCEL: bool = true;

    async fn handle(&mut self, Fry(gate): Fry, _cx: &mut Context<Self>) -> u32 {
        self.cook(gate).await
    }
}

/// Has others cook.
#[derive(Actor)]
struct Waiter {
    cook: Ref<Cook>,
}

#[handlers]
impl Waiter {
    #[ask]
    async fn order(&mut self, gate: oneshot::Receiver<()>, reply: Reply<u32>) {
        reply.forward(self.cook.cook(gate)).await;
    }
}

/// Asks with longer and longer deadlines until a question has begun before its deadline passed.
async fn expire_late(
    system: &greenroom::System,
    has_begun: impl Fn() -> u64,
    ask: impl AsyncFn(Duration),
) {
    let begun = has_begun();
    let mut timeout = SHORT;
    loop {
        let expired = system.counts().dead_expired;
        ask(timeout).await;
        until(|| has_begun() > begun || system.counts().dead_expired > expired).await;
        if has_begun() > begun {
            return;
        }
        timeout *= 2;
    }
}

async fn cook(system: &greenroom::System, tally: &Arc<Tally>) -> Ref<Cook> {
    system.spawn::<Cook>((Arc::clone(tally), None)).await.unwrap()
}

// [G-CANCEL-1]
#[test]
fn an_asker_that_goes_cancels_the_pending_handler() {
    everywhere(async |system| {
        let tally = Arc::new(Tally::default());
        let cook = cook(system, &tally).await;
        let mut letters = system.dead_letters();
        // It is dropped, or its deadline passes.
        let (_gate, closed) = oneshot::channel();
        let mut asked = cook.cook(closed).within(LONG).into_future();
        assert!(poll_once(&mut asked).is_pending());
        until(|| tally.begun.load(SeqCst) == 1).await;
        drop(asked);
        until(|| tally.dropped.load(SeqCst) == 1).await;
        let has_begun = || tally.begun.load(SeqCst);
        expire_late(system, has_begun, async |timeout| {
            let (_gate, closed) = oneshot::channel();
            assert_eq!(cook.cook(closed).within(timeout).await, Err(AskError::Expired));
        })
        .await;
        expire_late(system, has_begun, async |timeout| {
            let (_gate, closed) = oneshot::channel();
            assert_eq!(cook.ask(Fry(closed)).within(timeout).await, Err(AskError::Expired));
        })
        .await;
        // The actor lives on, with what the handlers left.
        assert_eq!(soon(cook.orders().into_future()).await, Ok(3));
        let (gate, opened) = oneshot::channel();
        gate.send(()).unwrap();
        assert_eq!(cook.ask(Fry(opened)).await, Ok(4));
        assert_eq!(cook.taste(1).await, Ok(5));
        for kind in ["CookMessage", "CookMessage", "Fry"] {
            let letter = loop {
                let letter = soon(letters.next()).await.unwrap();
                if letter.reason != DeadLetterReason::Expired {
                    break letter;
                }
            };
            assert_eq!((letter.actor, letter.reason), (cook.id(), DeadLetterReason::Cancelled));
            assert!(letter.message.ends_with(kind), "{letter:?}");
        }
        let counts = system.counts();
        assert_eq!((counts.dead_cancelled, counts.late_replies, counts.panics), (3, 0, 0));
        assert_eq!((tally.dropped.load(SeqCst), tally.done.load(SeqCst)), (3, 2));
    });
}

// [G-CANCEL-1]
#[test]
fn a_question_whose_asker_has_gone_does_not_begin() {
    everywhere(async |system| {
        let tally = Arc::new(Tally::default());
        let cook = cook(system, &tally).await;
        let (gate, closed) = oneshot::channel();
        let mut baking = cook.bake(closed).within(LONG).into_future();
        assert!(poll_once(&mut baking).is_pending());
        let (_gate, closed) = oneshot::channel();
        let (_other_gate, other_closed) = oneshot::channel();
        let mut cooking = cook.cook(closed).within(LONG).into_future();
        let mut frying = cook.ask(Fry(other_closed)).within(LONG).into_future();
        let mut tasting = cook.taste(1).within(LONG).into_future();
        assert!(poll_once(&mut cooking).is_pending());
        assert!(poll_once(&mut frying).is_pending());
        assert!(poll_once(&mut tasting).is_pending());
        drop((cooking, frying, tasting));
        gate.send(()).unwrap();
        assert_eq!(soon(baking).await, Ok(0));
        assert_eq!(soon(cook.orders().into_future()).await, Ok(0));
        let counts = system.counts();
        assert_eq!((counts.dead_cancelled, counts.dead_expired, counts.late_replies), (3, 0, 0));
        assert_eq!(tally.begun.load(SeqCst), 1);
    });
}

/// Waits until `asked` expires, and keeps it until what has begun for it is dropped.
async fn keep_expired<T, E>(
    tally: &Tally,
    mut asked: impl Future<Output = Result<T, AskError<E>>> + Unpin,
) {
    assert!(matches!((&mut asked).await, Err(AskError::Expired)));
    until(|| tally.dropped.load(SeqCst) == tally.begun.load(SeqCst)).await;
    drop(asked);
}

// [G-ASK-1] [G-CANCEL-1]
#[test]
fn an_asker_that_has_expired_has_gone_though_its_future_is_kept() {
    everywhere(async |system| {
        let tally = Arc::new(Tally::default());
        let cook = cook(system, &tally).await;
        let waiter = system.spawn::<Waiter>(Waiter { cook: cook.clone() }).await.unwrap();
        let has_begun = || tally.begun.load(SeqCst);
        expire_late(system, has_begun, async |timeout| {
            let (_gate, closed) = oneshot::channel();
            keep_expired(&tally, cook.cook(closed).within(timeout).into_future()).await;
        })
        .await;
        expire_late(system, has_begun, async |timeout| {
            let (_gate, closed) = oneshot::channel();
            keep_expired(&tally, cook.delegate(closed).within(timeout).into_future()).await;
        })
        .await;
        expire_late(system, has_begun, async |timeout| {
            let (_gate, closed) = oneshot::channel();
            keep_expired(&tally, cook.simmer(closed).within(timeout).into_future()).await;
        })
        .await;
        expire_late(system, has_begun, async |timeout| {
            let (_gate, closed) = oneshot::channel();
            keep_expired(&tally, cook.ask(Fry(closed)).within(timeout).into_future()).await;
        })
        .await;
        expire_late(system, has_begun, async |timeout| {
            let (_gate, closed) = oneshot::channel();
            keep_expired(&tally, waiter.order(closed).within(timeout).into_future()).await;
        })
        .await;
        until(|| system.counts().dead_cancelled == 5).await;
        assert_eq!(system.counts().late_replies, 0);
        assert_eq!((tally.begun.load(SeqCst), tally.done.load(SeqCst)), (5, 0));
    });
}

// [G-CANCEL-1]
#[test]
fn other_handlers_are_not_cancelled() {
    everywhere(async |system| {
        let tally = Arc::new(Tally::default());
        let cook = cook(system, &tally).await;
        let (gate, closed) = oneshot::channel();
        let mut baking = cook.bake(closed).within(LONG).into_future();
        assert!(poll_once(&mut baking).is_pending());
        until(|| tally.begun.load(SeqCst) == 1).await;
        drop(baking);
        gate.send(()).unwrap();
        assert_eq!(soon(cook.orders().into_future()).await, Ok(0));
        assert_eq!((tally.dropped.load(SeqCst), tally.done.load(SeqCst)), (0, 1));
        let counts = system.counts();
        assert_eq!((counts.dead_cancelled, counts.late_replies), (0, 1));
    });
}

// [G-CANCEL-1]
#[test]
fn what_is_cancelled_cancels_what_it_waits_for() {
    everywhere(async |system| {
        let tally = Arc::new(Tally::default());
        let mut row = vec![cook(system, &tally).await];
        for _ in 0..3 {
            let next = row.last().cloned();
            row.push(system.spawn::<Cook>((Arc::clone(&tally), next)).await.unwrap());
        }
        let (_gate, closed) = oneshot::channel();
        let mut asked = row[3].delegate(closed).within(LONG).into_future();
        assert!(poll_once(&mut asked).is_pending());
        until(|| tally.begun.load(SeqCst) == 4).await;
        drop(asked);
        for cook in &row {
            assert_eq!(soon(cook.orders().into_future()).await, Ok(1));
        }
        assert_eq!((tally.dropped.load(SeqCst), tally.done.load(SeqCst)), (4, 0));
        assert_eq!(system.counts().dead_cancelled, 4);
    });
}

// [G-CANCEL-1] [G-INTERLEAVE-1]
#[test]
fn an_interleaved_handler_is_cancelled_by_itself() {
    everywhere(async |system| {
        let tally = Arc::new(Tally::default());
        let cook = cook(system, &tally).await;
        let [(gate, opened), (_gate, closed)] = [(); 2].map(|()| oneshot::channel());
        let mut stays = cook.simmer(opened).within(LONG).into_future();
        let mut goes = cook.simmer(closed).within(LONG).into_future();
        assert!(poll_once(&mut stays).is_pending());
        assert!(poll_once(&mut goes).is_pending());
        until(|| tally.begun.load(SeqCst) == 2).await;
        drop(goes);
        until(|| tally.dropped.load(SeqCst) == 1).await;
        assert_eq!(soon(cook.taste(1).into_future()).await, Ok(1));
        gate.send(()).unwrap();
        assert_eq!(soon(stays).await, Ok(1));
        assert_eq!(system.counts().dead_cancelled, 1);
    });
}

// [G-CANCEL-1] [G-POOL-1]
#[test]
fn through_a_pool_the_worker_is_cancelled() {
    everywhere(async |system| {
        let tally = Arc::new(Tally::default());
        let args = Arc::clone(&tally);
        let pool = Pool::<Cook>::of(1, move || (Arc::clone(&args), None));
        let pool = system.spawn::<Pool<Cook>>(pool).await.unwrap();
        let (_gate, closed) = oneshot::channel();
        let mut asked = pool.cook(closed).within(LONG).into_future();
        assert!(poll_once(&mut asked).is_pending());
        until(|| tally.begun.load(SeqCst) == 1).await;
        drop(asked);
        assert_eq!(soon(pool.orders().into_future()).await, Ok(1));
        assert_eq!(tally.dropped.load(SeqCst), 1);
        assert_eq!(system.counts().dead_cancelled, 1);
    });
}

// [G-ASK-1] [G-CANCEL-1] [G-DELIVERY-1]
#[test]
fn each_of_many_questions_has_one_end_whoever_goes_when() {
    const QUESTIONS: u64 = 400;
    everywhere(async |system| {
        let tally = Arc::new(Tally::default());
        let cook = cook(system, &tally).await;
        let mut dice = Dice::new(7);
        let mut answered = 0;
        let mut open = Vec::new();
        for _ in 0..QUESTIONS {
            let times = u32::try_from(dice.below(4)).unwrap();
            let mut asked = cook.stir(times).within(LONG).into_future();
            match poll_once(&mut asked) {
                std::task::Poll::Ready(answer) => answered += u64::from(answer == Ok(times)),
                std::task::Poll::Pending => open.push((times, asked)),
            }
            if dice.below(3) == 0 {
                tokio::task::yield_now().await;
            }
            while open.len() > 5 {
                let place = usize::try_from(dice.below(open.len() as u64)).unwrap();
                let (times, asked) = open.swap_remove(place);
                // Some go, the others wait.
                if dice.below(2) == 0 {
                    assert_eq!(soon(asked).await, Ok(times));
                    answered += 1;
                }
            }
        }
        drop(open);
        soon(cook.orders().into_future()).await.unwrap();
        let (counts, [begun, dropped, done]) = (
            system.counts(),
            [&tally.begun, &tally.dropped, &tally.done].map(|count| count.load(SeqCst)),
        );
        assert_eq!(begun, dropped + done);
        // Some answers came when nobody looked for them any more.
        assert!(answered + counts.late_replies <= done, "{counts:?}");
        assert_eq!(done + counts.dead_cancelled, QUESTIONS, "{counts:?}");
    });
}
