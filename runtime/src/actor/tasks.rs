//! What runs beside an actor and ends with it: tasks, futures whose output it wants, and streams.

use super::body::{self, control};
use super::context::Context;
use super::dispatch::wait;
use super::handling::Handling;
use super::incarnation::Incarnation;
use super::local::LocalCall;
use super::signal::{Signal, call, send_signal, signal_kind};
use super::traits::{Actor, Behavior, Step};
use crate::queue::crew::Crew;
use crate::queue::node::{Kind, Node};
use crate::queue::oneshot;
use crate::sync::panic::{catch, quietly};
use crate::sync::{Arc, planted};
use crate::task::cell::{CellRef, Header};
use crate::task::count::TaskCount;
use crate::task::held::Held;
use crate::time::Entrance;
use futures_core::Stream;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::ptr::NonNull;
use std::task::Poll;
use tokio::task::AbortHandle;

/// Names a task of an actor; see [`Context::abort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId(u64);

/// The tasks of one incarnation.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    named: Vec<(TaskId, AbortHandle)>,
    /// Those that have not been dropped, aborted ones among them.
    crew: Option<Arc<Crew>>,
}

impl Tasks {
    fn push(&mut self, id: TaskId, task: AbortHandle) {
        if self.named.len() == self.named.capacity() {
            self.named.retain(|(_, task)| !task.is_finished());
        }
        self.named.push((id, task));
    }

    fn take(&mut self, id: TaskId) -> Option<AbortHandle> {
        let place = self.named.iter().position(|(other, _)| *other == id)?;
        Some(self.named.swap_remove(place).1)
    }

    fn crew(&mut self) -> &Arc<Crew> {
        self.crew.get_or_insert_with(|| Arc::new(Crew::new()))
    }
}

/// Ends the tasks of the incarnation, which has nothing else to do: whether some are yet to be dropped, the last of which
/// then wakes the cell.
#[inline]
pub(super) fn have_to_end(held: &mut Held) -> bool {
    control(held).side.is_some() && some_have_to_end(held)
}

#[inline(never)]
fn some_have_to_end(held: &mut Held) -> bool {
    let Some(side) = &mut control(held).side else { return false };
    for (_, task) in side.tasks.named.drain(..) {
        task.abort();
    }
    let Some(crew) = side.tasks.crew.clone() else { return false };
    // Read only where there is a crew, as many threads write beside it.
    let rest = held.cell().core.do_tasks_rest();
    planted!("tasks-outlive": !rest && crew.has_to_end() => false)
}

impl<A: Actor> Context<A> {
    /// Runs `future` beside the actor. When the incarnation ends, or by [`Context::abort`], it is dropped
    /// at its next await; if it panics, the actor fails. Allocates the task, and does not block.
    ///
    /// It runs until the stop hook is over. What follows the incarnation, be it another one or the end, waits until it is
    /// dropped: so a start hook can take again what the task had, such as a port. One that never comes to an await
    /// keeps it waiting, as does whatever holds the worker that this was called on: the task runs there.
    pub fn task(&mut self, future: impl Future<Output = ()> + Send + 'static) -> TaskId {
        let id = TaskId(self.core().next_id());
        let incarnation = Incarnation::new(self.cell(), self.incarnation());
        let cell = self.cell();
        let count = TaskCount::of_crew(cell, self.side().tasks.crew());
        let entrance = self.header().core.clock.entrance();
        // The count is named last, so that it is dropped last, also where the task has not begun.
        let task = tokio::spawn(async move {
            if let Err(text) = caught(entrance, future).await {
                incarnation.panicked(text);
            }
            drop(count);
        });
        self.side().tasks.push(id, task.abort_handle());
        id
    }

    /// Ends a task, a piped future or an attached stream: it is dropped at its next await. `false` if it
    /// was over. A call of it that waits already is made all the same.
    pub fn abort(&mut self, task: TaskId) -> bool {
        let task = self.side_if_any().and_then(|side| side.tasks.take(task));
        task.is_some_and(|task| {
            let goes_on = !task.is_finished();
            task.abort();
            goes_on
        })
    }
}

impl<A: Behavior> Context<A> {
    /// Runs `future` beside the actor and calls `method` with its output. It ends with the
    /// incarnation; if it panics, the actor fails. Allocates the task, and does not block.
    pub fn pipe<T: Send + 'static, Shape: 'static>(
        &mut self,
        future: impl Future<Output = T> + Send + 'static,
        method: impl LocalCall<A, T, Shape>,
    ) -> TaskId {
        let call = self.caller(method);
        self.task(async move {
            let value = future.await;
            call(value);
        })
    }

    /// Calls `method` with each item of `stream`, in order. The next item is asked for when that call is
    /// over, so that a stream is never faster than its actor. When the incarnation ends, or by
    /// [`Context::abort`], it is dropped at its next await; if it panics, the actor fails.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, Context, Items, System, handlers};
    ///
    /// /// Adds up what comes.
    /// #[derive(Actor)]
    /// struct Sum {
    ///     total: u64,
    /// }
    ///
    /// #[handlers]
    /// impl Sum {
    ///     #[start]
    ///     fn start(numbers: Items<u64>, cx: &mut Context<Self>) -> Self {
    ///         cx.attach(numbers, Self::add);
    ///         Sum { total: 0 }
    ///     }
    ///     #[local]
    ///     fn add(&mut self, number: u64, cx: &mut Context<Self>) {
    ///         self.total += number;
    ///         if self.total == 6 {
    ///             cx.stop();
    ///         }
    ///     }
    /// }
    ///
    /// #[greenroom::main]
    /// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    ///     let (numbers, items) = Items::bounded(2);
    ///     let sum = system.spawn::<Sum>(items).await?;
    ///     for number in 1..=3 {
    ///         numbers.emit(number).await?;
    ///     }
    ///     sum.ended().await;
    ///     // The stream goes with its actor, at its next await; what comes later is handed back.
    ///     while numbers.emit(4).await.is_ok() {}
    ///     Ok(())
    /// }
    /// ```
    pub fn attach<T: Send + 'static, Shape: 'static>(
        &mut self,
        stream: impl Stream<Item = T> + Send + 'static,
        method: impl LocalCall<A, T, Shape>,
    ) -> TaskId {
        let (me, epoch) = (self.cell(), self.incarnation());
        self.task(async move { each(&me, epoch, stream, method).await })
    }

    /// As [`Context::attach`], and calls `end` when the stream is over.
    pub fn attach_until<T: Send + 'static, Shape: 'static, EndShape: 'static>(
        &mut self,
        stream: impl Stream<Item = T> + Send + 'static,
        method: impl LocalCall<A, T, Shape>,
        end: impl LocalCall<A, (), EndShape>,
    ) -> TaskId {
        let (me, epoch, end) = (self.cell(), self.incarnation(), self.caller(end));
        self.task(async move {
            each(&me, epoch, stream, method).await;
            end(());
        })
    }

    /// What calls `method` with a value, as long as this incarnation lasts.
    pub(crate) fn caller<T: Send + 'static, Shape: 'static>(
        &self,
        method: impl LocalCall<A, T, Shape>,
    ) -> impl Fn(T) + Send + 'static {
        let (me, epoch) = (self.cell(), self.incarnation());
        move |value| {
            let signal = Signal { method, value, epoch };
            send_signal(&me, piped::<A, _, T, Shape>(&signal.method), signal);
        }
    }
}

/// Sends item after item, each when the call for the one before is over.
async fn each<A: Behavior, F, T, S>(
    actor: &CellRef,
    epoch: u32,
    stream: impl Stream<Item = T>,
    method: F,
) where
    F: LocalCall<A, T, S>,
    T: Send + 'static,
    S: 'static,
{
    let mut stream = pin!(stream);
    while let Some(item) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        let (over, mut is_over) = oneshot::pair::<()>();
        let signal = Signal { method, value: (item, over), epoch };
        send_signal(actor, flowing::<A, F, T, S>(&signal.method), signal);
        let is_lost =
            planted!("stream-unpaced": poll_fn(|cx| is_over.poll(cx)).await.is_none() => false);
        // The incarnation has ended, and this task is about to be aborted: at an await, which a stream that
        // always has more would never come to.
        if is_lost {
            return;
        }
    }
}

/// Runs `future` to its end, its drop included; where there is an entrance, each time when that lets it pass.
///
/// # Errors
/// The text of its panic.
async fn caught(
    mut entrance: Option<Entrance>,
    future: impl Future<Output = ()>,
) -> Result<(), String> {
    let mut future = pin!(Some(future));
    poll_fn(|cx| {
        if entrance.as_mut().is_some_and(|entrance| entrance.poll_pass(cx).is_pending()) {
            return Poll::Pending;
        }
        catch(|| {
            let polled = future.as_mut().as_pin_mut().map_or(Poll::Ready(()), |it| it.poll(cx));
            if polled.is_ready() {
                future.set(None);
            }
            polled
        })
        .map_or_else(
            |text| {
                quietly(|| future.set(None));
                Poll::Ready(Err(text))
            },
            |polled| polled.map(Ok),
        )
    })
    .await
}

// The methods are named by a reference because most are of types that cannot be written.

fn piped<A: Behavior, F: LocalCall<A, T, S>, T: Send + 'static, S: 'static>(
    _: &F,
) -> &'static Kind {
    signal_kind!(deliver_value::<A, F, T, S>, Signal<F, T>)
}

fn flowing<A: Behavior, F: LocalCall<A, T, S>, T: Send + 'static, S: 'static>(
    _: &F,
) -> &'static Kind {
    signal_kind!(deliver_item::<A, F, T, S>, Signal<F, (T, oneshot::Sender<()>)>)
}

/// # Safety
/// As [`Kind::deliver`]; the cell is an `A`'s, and the payload a `Signal<F, T>`.
unsafe fn deliver_value<A: Behavior, F: LocalCall<A, T, S>, T, S>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller's promise.
    let signal = unsafe { Node::into_payload::<Signal<F, T>>(node) };
    let header = to.cast::<Header>();
    // SAFETY: as above; no handler waits.
    if signal.epoch == unsafe { body::context::<A>(header) }.incarnation() {
        // SAFETY: as above.
        unsafe { call::<A, F, T, S>(header, signal.method, signal.value) };
    }
}

/// # Safety
/// As [`Kind::deliver`]; the cell is an `A`'s, and the payload a `Signal<F, (T, oneshot::Sender<()>)>`.
unsafe fn deliver_item<A: Behavior, F: LocalCall<A, T, S>, T, S>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller's promise.
    let signal = unsafe { Node::into_payload::<Signal<F, (T, oneshot::Sender<()>)>>(node) };
    let header = to.cast::<Header>();
    // SAFETY: as above; no handler waits.
    let context = unsafe { body::context::<A>(header) };
    if signal.epoch != context.incarnation() {
        return;
    }
    // Dropped unused, it says that there will be no call any more.
    let (item, over) = signal.value;
    // SAFETY: as above.
    let actor = unsafe { body::live::<A>(header) };
    match signal.method.call(actor, item, context) {
        // An error means that the task has been aborted, here and below.
        Step::Done(()) => {
            let _ = over.send(());
        }
        // SAFETY: as above; the future borrows nothing but the cell.
        Step::Later(future) => unsafe {
            let say = |()| {
                let _ = over.send(());
            };
            wait(header, Handling::new(future, say));
        },
    }
}
