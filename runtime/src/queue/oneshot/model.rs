//! loom: answering, giving up and leaving, in every order.

use super::pair;
use crate::sync::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

/// Counts wake-ups; how often it is dropped shows that no waker leaks.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn waker() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count(AtomicUsize::new(0)));
    (count.clone(), Waker::from(count))
}

#[test]
fn a_value_arrives_or_its_waker_is_woken() {
    loom::model(|| {
        let (sender, mut receiver) = pair::<Box<usize>>();
        let (count, waker) = waker();
        let thread = thread::spawn(move || sender.send(Box::new(7)).is_ok());
        let early = receiver.poll(&mut Context::from_waker(&waker));
        let sent = thread.join().unwrap();
        assert!(sent, "the receiver waits");
        let answer = match early {
            Poll::Ready(answer) => answer,
            Poll::Pending => {
                assert_eq!(count.0.load(SeqCst), 1, "who waits is woken once");
                match receiver.poll(&mut Context::from_waker(&waker)) {
                    Poll::Ready(answer) => answer,
                    Poll::Pending => panic!("who was woken finds the value"),
                }
            }
        };
        assert_eq!(answer, Some(Box::new(7)));
        drop(receiver);
        drop(waker);
        assert_eq!(Arc::strong_count(&count), 1, "no waker is left behind");
    });
}

#[test]
fn a_receiver_that_leaves_gives_the_value_back_or_drops_it() {
    loom::model(|| {
        let value = Arc::new(());
        let (sender, mut receiver) = pair::<Arc<()>>();
        let (count, waker) = waker();
        let sent = value.clone();
        let thread = thread::spawn(move || drop(sender.send(sent)));
        let _ = receiver.poll(&mut Context::from_waker(&waker));
        drop(receiver);
        thread.join().unwrap();
        drop(waker);
        assert_eq!(Arc::strong_count(&value), 1, "the value is dropped once, somewhere");
        assert_eq!(Arc::strong_count(&count), 1, "no waker is left behind");
    });
}

#[test]
fn a_waker_may_change_while_the_sender_leaves() {
    loom::model(|| {
        let (sender, mut receiver) = pair::<usize>();
        let ((first, one), (second, two)) = (waker(), waker());
        let thread = thread::spawn(move || drop(sender));
        let mut done = receiver.poll(&mut Context::from_waker(&one)).is_ready();
        if !done {
            done = receiver.poll(&mut Context::from_waker(&two)).is_ready();
        }
        thread.join().unwrap();
        let woken = first.0.load(SeqCst) + second.0.load(SeqCst);
        assert!(done || woken == 1, "who waits learns that nobody answers");
        if !done {
            assert_eq!(receiver.poll(&mut Context::from_waker(&two)), Poll::Ready(None));
        }
        drop((receiver, one, two));
        assert_eq!(
            Arc::strong_count(&first) + Arc::strong_count(&second),
            2,
            "no waker is left behind"
        );
    });
}

#[test]
fn a_receiver_with_another_waker_may_go_while_the_sender_leaves() {
    loom::model(|| {
        let (sender, mut receiver) = pair::<Box<usize>>();
        let ((first, one), (second, two)) = (waker(), waker());
        let thread = thread::spawn(move || sender.send(Box::new(7)).is_ok());
        for waker in [&one, &two] {
            if receiver.poll(&mut Context::from_waker(waker)).is_ready() {
                break;
            }
        }
        // The sender may be taking the first waker out of the slot still.
        drop(receiver);
        let _is_taken = thread.join().unwrap();
        drop((one, two));
        assert_eq!(
            Arc::strong_count(&first) + Arc::strong_count(&second),
            2,
            "no waker is left behind"
        );
    });
}

#[test]
fn a_receiver_that_goes_wakes_who_listens_or_is_seen_gone() {
    loom::model(|| {
        let (mut sender, mut receiver) = pair::<Box<usize>>();
        let ((heard, listener), (woken, waker)) = (waker(), waker());
        let thread = thread::spawn(move || {
            let is_there = sender.listen(listener);
            drop(sender);
            is_there
        });
        let polled = receiver.poll(&mut Context::from_waker(&waker));
        assert_ne!(polled, Poll::Ready(Some(Box::new(7))), "nobody sent anything");
        if polled.is_pending() {
            receiver.give_up(Box::new(|| panic!("nothing came late")));
        }
        drop(receiver);
        let is_there = thread.join().unwrap();
        drop(waker);
        let wakes = heard.0.load(SeqCst);
        assert!(wakes <= 1, "who listens is woken once");
        if !is_there {
            assert_eq!(wakes, 0, "who saw it gone hears no more of it");
        }
        assert_eq!(
            Arc::strong_count(&heard) + Arc::strong_count(&woken),
            2,
            "no waker is left behind"
        );
    });
}

#[test]
fn a_sender_that_waits_hears_that_the_receiver_went() {
    loom::model(|| {
        let (mut sender, receiver) = pair::<Box<usize>>();
        let (heard, listener) = waker();
        let thread = thread::spawn(move || {
            let mut receiver = receiver;
            receiver.give_up(Box::new(|| ()));
        });
        let is_there = sender.listen(listener);
        thread.join().unwrap();
        assert!(sender.is_abandoned());
        assert_eq!(heard.0.load(SeqCst), usize::from(is_there), "it is seen gone, or wakes");
        // A value now is late, and its word is said once.
        assert_eq!(sender.send(Box::new(7)), Err(Box::new(7)));
        assert_eq!(Arc::strong_count(&heard), 1, "no waker is left behind");
    });
}

#[test]
fn a_value_comes_to_who_gives_up_or_is_late() {
    loom::model(|| {
        let (sender, mut receiver) = pair::<Box<usize>>();
        let (count, waker) = waker();
        let thread = thread::spawn(move || sender.send(Box::new(7)).is_ok());
        if receiver.poll(&mut Context::from_waker(&waker)).is_ready() {
            assert!(thread.join().unwrap(), "the receiver waits");
        } else {
            let late = Arc::new(AtomicUsize::new(0));
            let word = late.clone();
            let value = receiver.give_up(Box::new(move || {
                word.fetch_add(1, SeqCst);
            }));
            let sent = thread.join().unwrap();
            assert_eq!(value.is_some(), sent, "who sent it knows whether it came");
            assert_eq!(late.load(SeqCst), usize::from(!sent), "a late value is counted");
            drop(value);
        }
        drop((receiver, waker));
        assert_eq!(Arc::strong_count(&count), 1, "no waker is left behind");
    });
}

#[test]
fn who_witnesses_the_end_sees_what_was_before() {
    loom::model(|| {
        let (sender, receiver) = pair::<usize>();
        let witness = receiver.witness();
        let said = Arc::new(loom::cell::UnsafeCell::new(0));
        let writer = said.clone();
        let thread = thread::spawn(move || {
            // SAFETY: the reader reads after the end alone.
            writer.with_mut(|said| unsafe { *said = 7 });
            drop(sender);
        });
        // SAFETY: the receiver is there until the end of the model.
        if !unsafe { witness.is_waiting() } {
            // SAFETY: the writer has ended.
            assert_eq!(said.with(|said| unsafe { *said }), 7);
        }
        thread.join().unwrap();
        drop(receiver);
    });
}

#[test]
fn a_value_goes_where_the_wait_was_passed_to() {
    loom::model(|| {
        let (sender, receiver) = pair::<Box<usize>>();
        let (onward, mut first) = pair::<Box<usize>>();
        let (count, waker) = waker();
        let thread = thread::spawn(move || sender.send(Box::new(7)).is_ok());
        let early = first.poll(&mut Context::from_waker(&waker));
        assert!(early.is_pending(), "nothing was passed on");
        receiver.pass(onward);
        assert!(thread.join().unwrap(), "somebody waits");
        assert_eq!(count.0.load(SeqCst), 1, "who waits is woken once");
        assert_eq!(first.poll(&mut Context::from_waker(&waker)), Poll::Ready(Some(Box::new(7))));
        drop((first, waker));
        assert_eq!(Arc::strong_count(&count), 1, "no waker is left behind");
    });
}

#[test]
fn who_passed_its_wait_on_is_abandoned_with_the_other() {
    loom::model(|| {
        let (mut sender, receiver) = pair::<Box<usize>>();
        let (onward, mut first) = pair::<Box<usize>>();
        let (heard, listener) = waker();
        let thread = thread::spawn(move || {
            receiver.pass(onward);
            first.give_up(Box::new(|| ()));
        });
        let is_there = sender.listen(listener);
        thread.join().unwrap();
        assert!(sender.is_abandoned());
        assert_eq!(heard.0.load(SeqCst), usize::from(is_there), "it is seen gone, or wakes");
        assert_eq!(sender.send(Box::new(7)), Err(Box::new(7)));
        assert_eq!(Arc::strong_count(&heard), 1, "no waker is left behind");
    });
}

#[test]
fn a_wait_is_passed_on_more_than_once() {
    loom::model(|| {
        let (onward, mut first) = pair::<Box<usize>>();
        let (sender, second) = pair::<Box<usize>>();
        let (last, third) = pair::<Box<usize>>();
        let thread = thread::spawn(move || {
            third.pass(sender);
            last.refuse(3);
        });
        second.pass(onward);
        thread.join().unwrap();
        assert_eq!(first.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(None));
        assert_eq!(first.refusal(), 3);
    });
}
