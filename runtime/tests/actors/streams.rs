//! What runs beside an actor: tasks and streams, which end with their incarnation.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{LONG, everywhere, soon, until};
use futures_core::Stream;
use greenroom::{Actor, Context, Cut, EmitError, Emitter, Items, Ref, System, TaskId, handlers};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Takes numbers from streams and reports them.
#[derive(Actor)]
#[actor(mailbox = bounded(1, full = reject), restart = transient(9 in "1h"))]
struct Reader {
    seen: mpsc::UnboundedSender<(u32, Option<u32>)>,
    gate: Arc<Semaphore>,
    incarnation: u32,
}

#[handlers]
impl Reader {
    #[start]
    fn start(
        seen: mpsc::UnboundedSender<(u32, Option<u32>)>,
        gate: Arc<Semaphore>,
        cx: &mut Context<Self>,
    ) -> Self {
        Self { seen, gate, incarnation: cx.incarnation() }
    }
    #[local]
    fn number(&mut self, number: u32) {
        let _ = self.seen.send((self.incarnation, Some(number)));
    }
    /// Goes on when it is let.
    #[local]
    async fn slow_number(&mut self, number: u32) {
        self.gate.acquire().await.unwrap().forget();
        self.number(number);
    }
    #[local]
    fn over(&mut self) {
        let _ = self.seen.send((self.incarnation, None));
    }
    #[ask]
    fn read(&mut self, items: Items<u32>, cx: &mut Context<Self>) -> TaskId {
        cx.attach_until(items, Self::number, Self::over)
    }
    #[ask]
    fn read_slowly(&mut self, items: Items<u32>, cx: &mut Context<Self>) -> TaskId {
        cx.attach(items, Self::slow_number)
    }
    #[ask]
    fn abort(&mut self, task: TaskId, cx: &mut Context<Self>) -> bool {
        cx.abort(task)
    }
    /// Runs a task that holds `guard` until it is ended.
    #[ask]
    fn begin(&mut self, guard: oneshot::Sender<()>, cx: &mut Context<Self>) -> TaskId {
        cx.task(async move {
            let _guard = guard;
            pending::<()>().await;
        })
    }
    #[ask]
    fn begin_what_falls(&mut self, cx: &mut Context<Self>) {
        cx.task(async { panic!("as told") });
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
}

type Seen = mpsc::UnboundedReceiver<(u32, Option<u32>)>;

async fn reader(system: &System) -> (Ref<Reader>, Seen, Arc<Semaphore>) {
    let (sender, seen) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let reader = system.spawn::<Reader>((sender, Arc::clone(&gate))).await.unwrap();
    (reader, seen, gate)
}

// [G-STREAM-1]
#[test]
fn items_come_in_order_and_then_the_end() {
    everywhere(async |system| {
        let (reader, mut seen, _gate) = reader(system).await;
        let (numbers, items) = Items::bounded(4);
        reader.read(items).await.unwrap();
        for number in 0..200 {
            soon(numbers.emit(number)).await.unwrap();
        }
        drop(numbers);
        for number in 0..200 {
            assert_eq!(soon(seen.recv()).await, Some((0, Some(number))));
        }
        assert_eq!(soon(seen.recv()).await, Some((0, None)));
    });
}

/// Counts how often it is asked for an item.
struct Counted(Arc<AtomicU32>);

impl Stream for Counted {
    type Item = u32;
    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<u32>> {
        std::task::Poll::Ready(Some(self.0.fetch_add(1, Ordering::SeqCst)))
    }
}

/// As `Reader`, of a stream that always has more.
#[derive(Actor)]
struct Glutton {
    gate: Arc<Semaphore>,
    eaten: Arc<AtomicU32>,
}

#[handlers]
impl Glutton {
    #[start]
    fn start(
        gate: Arc<Semaphore>,
        eaten: Arc<AtomicU32>,
        asked: Arc<AtomicU32>,
        cx: &mut Context<Self>,
    ) -> Self {
        cx.attach(Counted(asked), Self::eat);
        Self { gate, eaten }
    }
    #[local]
    async fn eat(&mut self, _item: u32) {
        self.gate.acquire().await.unwrap().forget();
        self.eaten.fetch_add(1, Ordering::SeqCst);
    }
}

// [G-STREAM-1]
#[test]
fn a_stream_is_not_faster_than_its_actor() {
    everywhere(async |system| {
        let gate = Arc::new(Semaphore::new(0));
        let (eaten, asked) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let args = (Arc::clone(&gate), Arc::clone(&eaten), Arc::clone(&asked));
        let glutton = system.spawn::<Glutton>(args).await.unwrap();
        for round in 0..50 {
            until(|| asked.load(Ordering::SeqCst) == round + 1).await;
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            assert_eq!(asked.load(Ordering::SeqCst), round + 1, "not before the call is over");
            assert_eq!(eaten.load(Ordering::SeqCst), round);
            gate.add_permits(1);
        }
        // It waits for the gate, and would for ever.
        glutton.kill();
    });
}

// [G-STREAM-2]
#[test]
fn tasks_and_streams_end_with_their_incarnation() {
    type End = fn(&Ref<Reader>) -> bool;
    let ends: [End; 3] = [Ref::stop, Ref::kill, |reader| reader.fall().try_send().is_ok()];
    everywhere(async |system| {
        for end in ends {
            let (reader, _seen, _gate) = reader(system).await;
            let (numbers, items) = Items::bounded(1);
            let (guard, is_dropped) = oneshot::channel();
            reader.read_slowly(items).await.unwrap();
            reader.begin(guard).await.unwrap();
            assert!(end(&reader));
            soon(is_dropped).await.unwrap_err();
            let closed = async {
                while !matches!(numbers.try_emit(1), Err(EmitError::Closed(1))) {
                    tokio::task::yield_now().await;
                }
            };
            soon(closed).await;
            reader.stop();
        }
    });
}

#[test]
fn a_task_can_be_aborted() {
    everywhere(async |system| {
        let (reader, mut seen, _gate) = reader(system).await;
        let (guard, is_dropped) = oneshot::channel();
        let task = reader.begin(guard).await.unwrap();
        assert_eq!(reader.abort(task).await, Ok(true));
        assert_eq!(reader.abort(task).await, Ok(false));
        soon(is_dropped).await.unwrap_err();

        let (numbers, items) = Items::bounded(1);
        let stream = reader.read(items).await.unwrap();
        soon(numbers.emit(1)).await.unwrap();
        assert_eq!(soon(seen.recv()).await, Some((0, Some(1))));
        assert_eq!(reader.abort(stream).await, Ok(true));
        let closed = async { while numbers.emit(2).await.is_ok() {} };
        soon(closed).await;
        assert!(!matches!(seen.try_recv(), Ok((_, None))), "it was aborted, not over");
    });
}

#[test]
fn a_system_says_how_many_tasks_are_left() {
    everywhere(async |system| {
        let tasks = || system.leftovers().into_iter().find(|line| line.ends_with(" tasks"));
        let (reader, ..) = reader(system).await;
        assert_eq!(tasks(), None);
        let (first, _first_gone) = oneshot::channel();
        let (second, _second_gone) = oneshot::channel();
        let task = reader.begin(first).await.unwrap();
        reader.begin(second).await.unwrap();
        assert_eq!(tasks(), Some("2 tasks".to_owned()));
        assert_eq!(reader.abort(task).await, Ok(true));
        until(|| tasks() == Some("1 tasks".to_owned())).await;
        reader.fall().await.unwrap();
        until(|| tasks().is_none()).await;
    });
}

// [G-STREAM-2]
#[test]
fn a_panic_in_a_task_fails_the_actor() {
    everywhere(async |system| {
        let (reader, mut seen, _gate) = reader(system).await;
        for incarnation in 1..=3 {
            reader.begin_what_falls().await.unwrap();
            until(|| system.counts().restarts == incarnation).await;
            let (numbers, items) = Items::bounded(1);
            reader.read(items).within(LONG).await.unwrap();
            drop(numbers);
            let expected = u32::try_from(incarnation).unwrap();
            assert_eq!(soon(seen.recv()).await, Some((expected, None)));
        }
    });
}

// [G-STREAM-3]
#[test]
fn the_end_of_a_stream_is_told_from_a_cut() {
    crate::support::run(async {
        let (emitter, mut items) = Items::bounded(4);
        let other = emitter.clone();
        emitter.try_emit(1).unwrap();
        emitter.finish();
        assert_eq!(items.try_next().await, Ok(Some(1)));
        other.try_emit(2).unwrap();
        other.finish();
        assert_eq!(items.try_next().await, Ok(Some(2)));
        for _ in 0..2 {
            assert_eq!(items.try_next().await, Ok(None));
        }

        // One of two has not said that it is done.
        let cut = || {
            let (emitter, items) = Items::bounded(4);
            emitter.try_emit(1).unwrap();
            drop(emitter.clone());
            emitter.finish();
            items
        };
        let mut items = cut();
        assert_eq!(items.try_next().await, Ok(Some(1)));
        for _ in 0..2 {
            assert_eq!(items.try_next().await, Err(Cut::Abandoned));
        }
        let mut checked = std::pin::pin!(cut().checked());
        let mut next = async || std::future::poll_fn(|cx| checked.as_mut().poll_next(cx)).await;
        assert_eq!(next().await, Some(Ok(1)));
        assert_eq!(next().await, Some(Err(Cut::Abandoned)));
        assert_eq!(next().await, None);
    });
}

// [G-STREAM-4]
#[test]
fn an_emitter_knows_whether_anybody_listens() {
    crate::support::run(async {
        let (emitter, mut items): (Emitter<u32>, _) = Items::bounded(1);
        emitter.try_emit(1).unwrap();
        assert_eq!(emitter.try_emit(2), Err(EmitError::Full(2)));
        let mut waiting = Box::pin(emitter.emit(3));
        assert!(crate::support::poll_once(&mut waiting).is_pending());
        assert_eq!(items.next().await, Some(1));
        waiting.await.unwrap();
        assert_eq!(items.next().await, Some(3));
        drop(items);
        assert_eq!(emitter.emit(4).await, Err(EmitError::Closed(4)));
    });
}
