//! A backlog in front of a carrier whose room changes, against the order that each frame asked for.

use super::*;
use crate::net::frame_buf::FrameBuf;
use crate::net::identity::{Identity, Incarnation, NodeId};
use crate::net::transport::LinkEnd;
use crate::sync::Mutex;
use proptest::prelude::*;
use std::task::{Context, Poll};

/// Takes frames up to some length while it has room, and says which.
#[derive(Default)]
struct Carrier(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    has_ended: bool,
    len_max: usize,
    room: usize,
    /// The numbers of the frames it took.
    numbers: Vec<u32>,
}

impl Carrier {
    fn set(&self, len_max: usize, room: usize) {
        let mut taken = self.0.lock();
        (taken.len_max, taken.room) = (len_max, room);
    }

    fn taken(&self) -> Vec<u32> {
        self.0.lock().numbers.clone()
    }
}

impl Link for Carrier {
    fn peer(&self) -> Identity {
        Identity { node: NodeId(1), incarnation: Incarnation(1) }
    }

    fn submit(&self, _order: Order, frame: &[u8]) -> Result<(), SubmitError> {
        let mut taken = self.0.lock();
        if taken.has_ended {
            return Err(SubmitError::Ended);
        }
        if taken.room == 0 || frame.len() > taken.len_max {
            return Err(SubmitError::Full);
        }
        taken.room -= 1;
        taken.numbers.push(number_of(frame));
        Ok(())
    }

    fn poll_room(&self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn poll_receive(&self, _: &mut Context<'_>, _: &mut FrameBuf) -> Poll<Result<(), LinkEnd>> {
        Poll::Pending
    }

    fn delivered(&self) -> u64 {
        0
    }

    fn close(&self) {}
}

const SHORT: usize = LINES[0];
const MIDDLING: usize = LINES[1];
const LENS: [usize; 6] = [8, SHORT, SHORT + 1, MIDDLING, MIDDLING + 1, 64 << 10];

/// A frame with a number.
fn frame(number: u32, len: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(len, 0);
    bytes
}

fn number_of(frame: &[u8]) -> u32 {
    u32::from_le_bytes(*frame.first_chunk().expect("it has a number"))
}

/// As [`Outlet::say_bytes`] does it.
fn say(backlog: &mut Backlog, carrier: &Carrier, order: Order, frame: Vec<u8>) {
    let may_leave = backlog.lets_say(order, frame.len());
    if !may_leave || carrier.submit(order, &frame).is_err() {
        assert!(backlog.push(order, frame), "there are few");
    }
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        4 => Just(Order::Free),
        2 => (0..2_u64).prop_map(Order::Within),
        1 => Just(Order::BehindAll),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Say(Order, usize),
    Room { len_max: usize, frames: usize },
}

fn steps() -> impl Strategy<Value = Step> {
    let say = (orders(), prop::sample::select(&LENS[..]));
    let room = (prop::sample::select(&LENS[..]), 0..4_usize);
    prop_oneof![
        3 => say.prop_map(|(order, len)| Step::Say(order, len)),
        1 => room.prop_map(|(len_max, frames)| Step::Room { len_max, frames }),
    ]
}

/// Whether a frame must not come before one that was said sooner.
fn is_bound(later: Order, sooner: Order) -> bool {
    later == Order::BehindAll || matches!(later, Order::Within(_)) && later == sooner
}

proptest! {
    // [ENV-23]
    #[test]
    fn all_leave_once_and_none_overtakes_what_it_must_not(
        steps in prop::collection::vec(steps(), 1..80),
    ) {
        let (mut backlog, carrier) = (Backlog::default(), Carrier::default());
        let mut said = Vec::new();
        for step in steps {
            match step {
                Step::Say(order, len) => {
                    let number = u32::try_from(said.len()).expect("there are few");
                    said.push(order);
                    say(&mut backlog, &carrier, order, frame(number, len));
                }
                Step::Room { len_max, frames } => {
                    carrier.set(len_max, frames);
                    let before = carrier.taken().len();
                    let submitted = backlog.submit(&carrier);
                    prop_assert_eq!(submitted, (carrier.taken().len() - before) as u64);
                }
            }
        }
        carrier.set(usize::MAX, usize::MAX);
        backlog.submit(&carrier);
        prop_assert!(backlog.is_empty() && backlog.lets_pass());
        prop_assert_eq!(backlog.bytes, 0);

        let taken = carrier.taken();
        for (at, later) in taken.iter().enumerate() {
            for sooner in &taken[at + 1..] {
                prop_assert!(later != sooner, "{later} leaves twice");
                let [order, other] = [later, sooner].map(|number| said[*number as usize]);
                prop_assert!(
                    later < sooner || !is_bound(order, other),
                    "{later}, {order:?}, overtakes {sooner}, {other:?}: {taken:?}"
                );
            }
        }
        prop_assert_eq!(taken.len(), said.len());
    }
}

// [ENV-23]
#[test]
fn a_long_answer_holds_up_none_that_is_shorter() {
    let (mut backlog, carrier) = (Backlog::default(), Carrier::default());
    let lens = [64 << 10, MIDDLING, 8, 64 << 10, MIDDLING, SHORT];
    for (number, len) in (0..).zip(lens) {
        say(&mut backlog, &carrier, Order::Free, frame(number, len));
    }
    let mut leave = |len_max| {
        carrier.set(len_max, usize::MAX);
        backlog.submit(&carrier);
        (carrier.taken(), backlog.lets_pass(), backlog.short())
    };
    assert_eq!(leave(7), (vec![], false, 2));
    assert_eq!(leave(SHORT), (vec![2, 5], true, 0), "mail may leave, too");
    assert_eq!(leave(MIDDLING), (vec![2, 5, 1, 4], true, 0));
    assert_eq!(leave(64 << 10), (vec![2, 5, 1, 4, 0, 3], true, 0));
}

// [ENV-23]
#[test]
fn where_there_is_room_for_all_the_oldest_goes_first() {
    let (mut backlog, carrier) = (Backlog::default(), Carrier::default());
    say(&mut backlog, &carrier, Order::Free, frame(0, 64 << 10));
    say(&mut backlog, &carrier, Order::Free, frame(1, MIDDLING));
    for number in 2..10 {
        say(&mut backlog, &carrier, Order::Free, frame(number, 8));
        carrier.set(usize::MAX, 1);
        assert_eq!(backlog.submit(&carrier), 1);
    }
    assert_eq!(carrier.taken(), (0..8).collect::<Vec<_>>());
}

#[test]
fn what_was_said_has_left_when_nothing_short_waits_that_came_before() {
    let (mut backlog, carrier) = (Backlog::default(), Carrier::default());
    assert!(backlog.has_left(backlog.count()));
    for (number, len) in [(0, 64 << 10), (1, 8)] {
        say(&mut backlog, &carrier, Order::Free, frame(number, len));
    }
    let said = backlog.count();
    assert!(!backlog.has_left(said));
    // What is said later is not waited for, and neither is what is long.
    say(&mut backlog, &carrier, Order::Free, frame(2, 8));
    carrier.set(SHORT, 1);
    assert_eq!(backlog.submit(&carrier), 1);
    assert!(backlog.has_left(said) && !backlog.has_left(backlog.count()));
}

// [G-REMOTE-10]
#[test]
fn what_no_link_took_has_not_left() {
    let (mut backlog, carrier) = (Backlog::default(), Carrier::default());
    say(&mut backlog, &carrier, Order::Free, frame(0, 8));
    let before = backlog.count();
    carrier.set(SHORT, 1);
    backlog.submit(&carrier);
    carrier.0.lock().has_ended = true;
    say(&mut backlog, &carrier, Order::Free, frame(1, 8));
    assert_eq!(backlog.submit(&carrier), 0);
    assert!(backlog.is_empty());
    assert!(backlog.has_left(before) && !backlog.has_left(backlog.count()));
}

/// Frames that end no connection may be more than may wait; what comes when they have left is not one too many.
#[test]
fn what_has_left_counts_no_more() {
    let (carrier, mut backlog) = (Carrier::default(), Backlog::default());
    for number in 0..FRAMES_MAX {
        assert!(backlog.push(Order::Free, frame(number as u32, 8)));
    }
    assert!(!backlog.push(Order::Free, frame(0, 8)) && backlog.was_overfull);
    carrier.set(8, FRAMES_MAX + 1);
    assert_eq!(backlog.submit(&carrier), FRAMES_MAX as u64 + 1);
    assert!(backlog.push(Order::Free, frame(1, 8)) && !backlog.was_overfull);
}
