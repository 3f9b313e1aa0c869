use super::{Together, all};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

const MANY: usize = 1000;

/// What somebody waits for.
#[derive(Default)]
struct Door {
    is_open: Cell<bool>,
    waiting: RefCell<Option<Waker>>,
}

impl Door {
    fn open(&self) {
        self.is_open.set(true);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        if self.is_open.get() {
            return Poll::Ready(());
        }
        self.waiting.replace(Some(cx.waker().clone()));
        Poll::Pending
    }
}

/// Doors, and futures that wait for one each and count how often they are polled.
fn doors(polls: &Rc<Cell<usize>>) -> (Vec<Rc<Door>>, Vec<impl Future<Output = ()> + use<>>) {
    let doors: Vec<Rc<Door>> = (0..MANY).map(|_| Rc::default()).collect();
    let wait = |door: &Rc<Door>| {
        let (door, polls) = (Rc::clone(door), Rc::clone(polls));
        poll_fn(move |cx| {
            polls.set(polls.get() + 1);
            door.poll(cx)
        })
    };
    let waiting = doors.iter().map(wait).collect();
    (doors, waiting)
}

#[test]
fn each_is_polled_when_something_was_done_for_it() {
    let polls = Rc::default();
    let (doors, waiting) = doors(&polls);
    let mut waiting = pin!(all(waiting.into_iter()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    for (left, door) in (0..MANY).rev().zip(&doors) {
        door.open();
        assert_eq!(waiting.as_mut().poll(&mut cx).is_ready(), left == 0);
    }
    assert_eq!(polls.get(), 2 * MANY);
}

#[test]
fn outputs_come_as_they_are_done_and_are_all_there_are() {
    let polls = Rc::default();
    let (doors, waiting) = doors(&polls);
    let numbered = (0..).zip(waiting).map(|(number, waiting)| async move {
        waiting.await;
        number
    });
    let mut together = Together::new(numbered);
    let mut cx = Context::from_waker(Waker::noop());
    let mut next = || pin!(together.next()).poll(&mut cx);
    assert_eq!(next(), Poll::Pending);
    for number in [7, 3, 999] {
        doors[number].open();
        assert_eq!(next(), Poll::Ready(Some(number)));
        assert_eq!(next(), Poll::Pending);
    }
    doors.iter().for_each(|door| door.open());
    let mut left = 0;
    while let Poll::Ready(Some(_)) = next() {
        left += 1;
    }
    assert_eq!((left, next()), (MANY - 3, Poll::Ready(None)));
}

#[test]
fn what_is_done_for_one_while_it_is_polled_has_it_polled_again() {
    let mut polls = 0;
    let waiting = poll_fn(|cx| {
        polls += 1;
        if polls == 3 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    let mut together = Together::new(std::iter::once(waiting));
    let mut cx = Context::from_waker(Waker::noop());
    let mut next = || together.poll_next(&mut cx);
    assert_eq!((next(), next()), (Poll::Pending, Poll::Pending));
    assert_eq!((next(), next()), (Poll::Ready(Some(())), Poll::Ready(None)));
}

/// Wakes another one when it is dropped.
#[derive(Default)]
struct Last(OnceLock<Waker>);

impl Wake for Last {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            waker.wake();
        }
    }
}

#[test]
fn the_waker_of_who_waited_before_may_do_anything_when_it_goes() {
    let polls = Rc::default();
    let (doors, waiting) = doors(&polls);
    let mut together = Together::new(waiting.into_iter());
    let last = Arc::new(Last::default());
    let first = Waker::from(Arc::clone(&last));
    assert!(together.poll_next(&mut Context::from_waker(&first)).is_pending());
    last.0.set(doors[0].waiting.take().unwrap()).unwrap();
    drop((first, last));
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        assert!(together.poll_next(&mut cx).is_pending());
    }
    assert_eq!(polls.get(), MANY + 1, "and is heard");
}
