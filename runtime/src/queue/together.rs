//! Futures that are waited for together, each of which is polled when something was done for it, and not for another one: so
//! what many of them take is as much as what each takes alone. Works on any executor.

use crate::sync::{Arc, AtomicBool, Mutex, Ordering, Wake, planted, waker};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// See the [module](self).
pub(crate) struct Together<F> {
    /// `None` where a future is done.
    places: Vec<Option<Place<F>>>,
    left: usize,
    /// Places that are to be looked at.
    due: VecDeque<usize>,
    woken: Arc<Mutex<Woken>>,
}

struct Place<F> {
    future: Pin<Box<F>>,
    mark: Arc<Mark>,
    /// Wakes `mark`.
    waker: Waker,
}

/// Places for which something was done.
#[derive(Default)]
struct Woken {
    places: Vec<usize>,
    /// Who waits, unless it was woken since it looked last.
    poller: Option<Waker>,
}

/// Notes its place.
struct Mark {
    place: usize,
    woken: Arc<Mutex<Woken>>,
    /// Whether it is noted, or the place is due.
    is_noted: AtomicBool,
}

impl Wake for Mark {
    fn wake(&self) {
        // AcqRel: releases what was done to the swap in `Together::poll_next`; pairs with it.
        let order = planted!("together-note-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        if self.is_noted.swap(true, order) {
            return;
        }
        let mut woken = self.woken.lock();
        woken.places.push(self.place);
        let poller = woken.poller.take();
        drop(woken);
        poller.into_iter().for_each(Waker::wake);
    }
}

impl<F: Future> Together<F> {
    pub(crate) fn new(futures: impl Iterator<Item = F>) -> Self {
        let woken = Arc::new(Mutex::new(Woken::default()));
        let place = |(place, future)| {
            let mark =
                Arc::new(Mark { place, woken: woken.clone(), is_noted: AtomicBool::new(true) });
            Some(Place { future: Box::pin(future), waker: waker(mark.clone()), mark })
        };
        let places: Vec<_> = futures.enumerate().map(place).collect();
        Self { left: places.len(), due: (0..places.len()).collect(), places, woken }
    }

    /// The output of the next one that is done; `None` when all were.
    pub(crate) async fn next(&mut self) -> Option<F::Output> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        // Wakers are anybody's code: they are made and dropped with the lock free.
        let poller = cx.waker().clone();
        let mut woken = self.woken.lock();
        let former = woken.poller.replace(poller);
        self.due.extend(woken.places.drain(..));
        drop(woken);
        drop(former);
        while let Some(at) = self.due.pop_front() {
            let Some(Place { future, mark, waker }) = &mut self.places[at] else { continue };
            let mut poll = || future.as_mut().poll(&mut Context::from_waker(waker));
            // Before the poll: what is done during it is noted. AcqRel: acquires what the waker has seen; pairs with its swap.
            let look = || mark.is_noted.swap(false, Ordering::AcqRel);
            let polled = planted!("together-looks-late": {
                look();
                poll()
            } => {
                let polled = poll();
                look();
                polled
            });
            if let Poll::Ready(output) = polled {
                self.places[at] = None;
                self.left -= 1;
                return Poll::Ready(Some(output));
            }
        }
        if self.left == 0 { Poll::Ready(None) } else { Poll::Pending }
    }
}

/// Waits for all of them at once.
pub(crate) async fn all(futures: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut together = Together::new(futures);
    while together.next().await.is_some() {}
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
