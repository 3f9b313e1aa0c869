//! The end of a stream at the node where its emitters are: an actor that reads it, and sends what it reads.

use super::voyage::Voyage;
use super::{CUT, FINISH, ITEM, ITEM_COST_BYTES, frame, say_or_end};
use crate::actor::{
    Actor, Behavior, ByMacro, Context, Cut, Items, Protocol, Receive, StartError, Step,
};
use crate::event::{ActorId, DeadLetterReason, Undelivered};
use crate::net::codec::{Codec, Postcard};
use crate::net::looking::Looking;
use crate::net::outlet::Outlet;
use crate::net::remote::{Fence, NoCalls, Nothing};
use crate::net::transport::{Order, SubmitError};
use crate::net::{reference, scratch};
use crate::sync::panic::quietly;
use crate::sync::{Arc, Mutex, planted};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::type_name;
use std::future::{Future, Ready};
use std::task::{self, Poll, Waker};
use std::time::Duration;

/// Items that are sent before others have their turn.
const ITEMS_PER_TURN: u32 = 64;

/// How long a stream waits to be read if nobody says whether what it is in was: far longer than a frame takes.
const UNREAD_MAX: Duration = Duration::from_secs(60);

/// What the other node has said of a stream.
#[derive(Default)]
pub(super) struct Allowance(Mutex<Said>);

#[derive(Default)]
struct Said {
    /// What an item may begin below; nothing before the stream is read.
    granted: u64,
    end: Option<Cut>,
    /// What waits until a stream is sent to which nothing is added.
    fences: Vec<Fence>,
    source: Option<Waker>,
}

impl Allowance {
    /// Only what is new wakes the source: a peer may say the same any number of times.
    pub(super) fn grant(&self, bytes: u64) {
        self.say(|said| {
            let rises = bytes > said.granted;
            said.granted = said.granted.max(bytes);
            planted!("net-stream-woken-for-nothing": rises => true)
        });
    }

    /// Nothing is sent any more.
    pub(super) fn end(&self, why: Cut) {
        self.say(|said| {
            let is_new = said.end.is_none();
            said.end = said.end.or(Some(why));
            is_new
        });
    }

    /// Lets `fence` go when the stream is sent, or at once if more of it may come.
    pub(super) fn fence(&self, fence: Fence) {
        self.say(|said| {
            said.fences.push(fence);
            true
        });
    }

    pub(super) fn has_begun(&self) -> bool {
        self.0.lock().granted > 0
    }

    /// Does `say`, which returns whether the source is to look.
    fn say(&self, say: impl FnOnce(&mut Said) -> bool) {
        let mut said = self.0.lock();
        let is_new = say(&mut said);
        let source = said.source.clone().filter(|_| is_new);
        drop(said);
        source.into_iter().for_each(Waker::wake);
    }
}

/// Begins to send `items`, of which nothing is left here then; returns the number of the stream. Fails when the connection
/// or the system has ended, and when too many streams go by the connection.
pub(super) fn start<T: Serialize + DeserializeOwned + Send + 'static>(
    outlet: &Arc<Outlet>,
    items: &Items<T>,
    voyage: Voyage,
) -> Result<u64, Undelivered> {
    let (stream, allowance) = outlet.streams().depart(|| outlet.arrived())?;
    let course = Course { outlet: outlet.clone(), stream, allowance, served: 0, is_over: false };
    let args = Departure { course, items: items.take(), voyage };
    let spawn = outlet.node().system().spawn::<Source<T>>(args);
    spawn.on(outlet.worker()).start().map(|_| stream).map_err(|_| Undelivered::NodeDown)
}

/// What a source starts from.
pub(super) struct Departure<T> {
    course: Course,
    items: Items<T>,
    voyage: Voyage,
}

/// Where the items of a stream go.
struct Course {
    outlet: Arc<Outlet>,
    stream: u64,
    allowance: Arc<Allowance>,
    /// When an item was sent last; the outlet says.
    served: u64,
    /// Whether the other node knows that nothing more comes, or will never ask.
    is_over: bool,
}

impl Drop for Course {
    fn drop(&mut self) {
        self.outlet.streams().forget(self.stream, self.served);
        if planted!("net-stream-stays-first": true => false) {
            self.outlet.leave_stream(self.stream, self.served);
        }
        if !self.is_over {
            say_or_end(&self.outlet, Order::BehindAll, CUT, self.stream, &[]);
        }
    }
}

/// See the [module](self).
pub(super) struct Source<T> {
    /// Before the items: an emitter that hears of the end finds room for another stream.
    course: Course,
    items: Items<T>,
    /// The cost of all that was sent.
    sent: u64,
    /// What is to be sent next.
    parcel: Option<Parcel>,
    /// Dropped with the rest of it.
    fences: Vec<Fence>,
    id: ActorId,
    looking: Arc<Looking>,
    /// Wakes `looking`.
    waker: Waker,
}

/// What a source has done.
enum Turn {
    /// It sent something, or is about to.
    Went,
    /// There is nothing to send, or no room.
    Waits,
    /// The stream is over.
    Ended,
}

struct Parcel {
    frame: Vec<u8>,
    /// Whether the stream is over with it.
    is_last: bool,
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Source<T> {
    /// Sends what there is to send.
    fn look(&mut self, (): (), cx: &mut Context<Self>) {
        self.looking.begin();
        for _ in 0..ITEMS_PER_TURN {
            match self.turn() {
                Turn::Went => {}
                Turn::Waits => return,
                Turn::Ended => {
                    self.course.is_over = true;
                    return cx.stop();
                }
            }
        }
        self.waker.wake_by_ref();
    }

    /// Ends if the stream is not read.
    fn unread(&mut self, (): ()) {
        if planted!("net-stream-unread-kept": !self.course.allowance.has_begun() => false) {
            self.course.allowance.end(Cut::Abandoned);
        }
    }

    fn turn(&mut self) -> Turn {
        let mut said = self.course.allowance.0.lock();
        let (granted, end) = (said.granted, said.end);
        let fences = std::mem::take(&mut said.fences);
        drop(said);
        if planted!("net-stream-unfenced": !self.items.may_grow() => false) {
            self.fences.extend(fences);
        }
        if let Some(end) = end {
            if end == Cut::NodeDown {
                self.items.note_node_down();
            }
            return Turn::Ended;
        }
        let Some(parcel) = self.parcel.take().or_else(|| self.pack(granted)) else {
            return Turn::Waits;
        };
        self.post(parcel)
    }

    /// Puts the next item into a frame, or the end; `None` if there is none yet, or it may not leave yet.
    fn pack(&mut self, granted: u64) -> Option<Parcel> {
        if !planted!("net-stream-unpaced": self.sent < granted => granted > 0) {
            return None;
        }
        let mut cx = task::Context::from_waker(&self.waker);
        let Poll::Ready(item) = self.items.poll_item(&mut cx) else { return None };
        Some(match item {
            Some(Ok(item)) => self.packed(&item),
            Some(Err(_)) => self.last(CUT),
            None => self.last(FINISH),
        })
    }

    fn last(&self, message: u32) -> Parcel {
        let mut bytes = scratch::take();
        frame(message, self.course.stream, &mut bytes);
        Parcel { frame: bytes, is_last: true }
    }

    fn packed(&mut self, item: &T) -> Parcel {
        let mut bytes = scratch::take();
        frame(ITEM, self.course.stream, &mut bytes);
        let head = bytes.len();
        let mut encoded = false;
        let outlet = &self.course.outlet;
        let encode = || {
            reference::by(outlet, || encoded = Postcard::encode(item, &mut bytes).is_ok());
        };
        // A codec is anybody's code.
        let carried = super::carrying(Voyage::Unwatched, || quietly(encode));
        if !encoded {
            outlet.streams().lose(&carried);
            scratch::give(bytes);
            return self.refused(reference::failure().unwrap_or(Undelivered::NotEncoded));
        }
        self.sent += (bytes.len() - head) as u64 + ITEM_COST_BYTES;
        Parcel { frame: bytes, is_last: false }
    }

    /// The item cannot be sent; so nothing behind it is.
    fn refused(&self, why: Undelivered) -> Parcel {
        let letter = (self.id, type_name::<T>());
        self.course.outlet.report(letter, DeadLetterReason::Undelivered(why));
        self.last(CUT)
    }

    fn post(&mut self, parcel: Parcel) -> Turn {
        let stream = self.course.stream;
        let Course { outlet, served, .. } = &mut self.course;
        match outlet.post_item(stream, &parcel.frame, &self.waker, served) {
            Ok(()) => {
                scratch::give(parcel.frame);
                if parcel.is_last { Turn::Ended } else { Turn::Went }
            }
            Err(SubmitError::Full) => {
                self.parcel = Some(parcel);
                Turn::Waits
            }
            Err(SubmitError::TooLarge) => {
                self.parcel = Some(self.refused(Undelivered::TooLarge));
                Turn::Went
            }
            // The outlet is about to say so.
            Err(SubmitError::Ended) => Turn::Waits,
        }
    }
}

impl<T: Send + 'static> Actor for Source<T> {}

impl<T: Send + 'static> Protocol for Source<T> {
    type Message = Nothing;
    type Calls = NoCalls<Nothing>;
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Behavior for Source<T> {
    type Args = Departure<T>;

    fn start<'a>(
        args: Departure<T>,
        cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>
    {
        let Departure { course, items, voyage } = args;
        let (looking, waker) = Looking::new(cx.caller(Self::look));
        course.allowance.0.lock().source = Some(waker.clone());
        waker.wake_by_ref();
        if voyage == Voyage::Unwatched {
            cx.after(UNREAD_MAX, Self::unread);
        }
        let id = cx.id();
        let (parcel, fences) = (None, Vec::new());
        let source = Self { course, items, sent: 0, parcel, fences, id, looking, waker };
        Step::<_, Ready<_>>::Done(Ok(source))
    }
}

impl<T: Send + 'static> Receive<Nothing, ByMacro> for Source<T> {
    fn receive<'a>(
        &'a mut self,
        message: Nothing,
        _cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        message.handled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{AtomicUsize, Ordering, Wake, waker};

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(&self) {
            // Relaxed: one thread.
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_said_again_wakes_nobody() {
        let woken = Arc::new(Woken::default());
        let allowance = Allowance::default();
        allowance.0.lock().source = Some(waker(woken.clone()));
        let mut expected = 0;
        for (bytes, is_new) in [(5, true), (5, false), (3, false), (0, false), (6, true)] {
            allowance.grant(bytes);
            expected += usize::from(is_new);
            assert_eq!(woken.0.load(Ordering::Relaxed), expected, "after {bytes}");
        }
        allowance.end(Cut::Abandoned);
        allowance.end(Cut::NodeDown);
        assert_eq!(woken.0.load(Ordering::Relaxed), expected + 1);
    }
}
