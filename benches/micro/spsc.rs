//! A ring between two threads, against others: streams by capacity and by batch, and answers by depth.
//!
//! Everyone is used as its documents name as the fastest: in batches where it has them, one by one
//! where it has not, and where there is but one value. All receivers take whatever there is.

mod pipes;

use super::record::{Micro, Program, Rate};
use super::threads::{Patience, together};
use pipes::{Array, Flagged, Greenroom, Pipe, Ringbuf, Rtrb, Single, Source, Std};
use std::time::Duration;

/// Those that are not ours.
pub(crate) const PEERS: [&str; 4] = [Rtrb::WHO, Ringbuf::WHO, Array::WHO, Std::WHO];

/// Values of one time: a whole number of batches.
const VALUES: u64 = 16_384;
const CAPACITIES: [usize; 4] = [16, 256, 1_024, 16_384];
const BATCHES: [u64; 5] = [1, 8, 32, 64, 256];
const DEPTHS: [u64; 5] = [1, 4, 16, 64, 256];

/// Measures every kind of ring in every row.
pub(crate) fn measure(micro: &mut Micro) {
    rows::<Greenroom>(micro);
    rows::<Flagged>(micro);
    rows::<Single>(micro);
    rows::<Rtrb>(micro);
    rows::<Ringbuf>(micro);
    rows::<Array>(micro);
    rows::<Std>(micro);
    // The control: what differs from the first time says how far to trust the rest.
    batch::<Greenroom>(micro, "greenroom (again)", 256);
    micro.table(
        "Rings",
        "`spsc_capacity`: a stream of `u64`, a flush every 16, through a ring of that many. \
         `spsc_batch`: the same through 1,024, a flush every so many; the goal is 4 in batches, and 5.6 one by one. `spsc_depth`: so many values go \
         to a thread that sends them back, through 1,024: the time of one there and back, divided by \
         their number.",
        &[over_rtrb("spsc_depth 1", 1.0), over_rtrb("spsc_batch 256", 1.5)],
        &[],
    );
}

fn over_rtrb(program: &str, least: f64) -> Rate {
    let ours = &[Greenroom::WHO, Flagged::WHO];
    Rate { program: program.to_owned(), ours, theirs: Rtrb::WHO, least }
}

fn rows<P: Pipe>(micro: &mut Micro) {
    for capacity in CAPACITIES {
        let program = Program::new(format!("spsc_capacity {capacity}"), VALUES).on(2);
        micro.row(&program, P::WHO, |times| stream::<P>(times * VALUES, capacity, 16));
    }
    for size in BATCHES {
        batch::<P>(micro, P::WHO, size);
    }
    for depth in DEPTHS {
        let program = Program::new(format!("spsc_depth {depth}"), depth).on(2);
        micro.row(&program, P::WHO, |times| answers::<P>(times, depth));
    }
}

fn batch<P: Pipe>(micro: &mut Micro, who: &str, batch: u64) {
    let program = Program::new(format!("spsc_batch {batch}"), VALUES).on(2);
    // 250 million a second are asked for in batches, 180 million one by one.
    let goal_ns = if who == Single::WHO { 5.6 } else { 4.0 };
    let program = if batch == 256 { program.goal_ns(goal_ns) } else { program };
    micro.row(&program, who, |times| stream::<P>(times * VALUES, 1_024, batch));
}

/// One thread sends the numbers from zero in batches, the other one takes and checks them.
fn stream<P: Pipe>(count: u64, capacity: usize, batch: u64) -> Duration {
    let (mut sender, mut receiver) = P::new(capacity);
    let send = move || {
        let mut patience = Patience::default();
        for first in (0..count).step_by(usize::try_from(batch).unwrap_or(usize::MAX)) {
            send_all::<P>(&mut sender, first, batch, &mut patience);
        }
    };
    let receive = move || {
        let mut patience = Patience::default();
        let mut next = 0;
        while next < count {
            receive_some::<P>(&mut receiver, &mut next, &mut patience);
        }
    };
    together(vec![Box::new(send) as Box<dyn FnOnce() + Send>, Box::new(receive)]).0
}

/// One thread sends `depth` numbers and waits until the other one has sent them back.
fn answers<P: Pipe>(times: u64, depth: u64) -> Duration {
    let (mut there, mut come) = P::new(1_024);
    let (mut back, mut answer) = P::new(1_024);
    let ask = move || {
        let mut patience = Patience::default();
        let mut next = 0;
        for time in 0..times {
            send_all::<P>(&mut there, time * depth, depth, &mut patience);
            while next < (time + 1) * depth {
                receive_some::<P>(&mut answer, &mut next, &mut patience);
            }
        }
    };
    let echo = move || {
        let mut patience = Patience::default();
        let mut next = 0;
        while next < times * depth {
            let first = next;
            receive_some::<P>(&mut come, &mut next, &mut patience);
            send_all::<P>(&mut back, first, next - first, &mut patience);
        }
    };
    together(vec![Box::new(ask) as Box<dyn FnOnce() + Send>, Box::new(echo)]).0
}

/// Sends the numbers from `first`.
fn send_all<P: Pipe>(sender: &mut P::Sender, first: u64, count: u64, patience: &mut Patience) {
    let mut source = Source { next: first, end: first + count };
    loop {
        P::send(sender, &mut source);
        if source.next == source.end {
            return;
        }
        patience.wait();
    }
}

/// Takes what there is, which has to go on from `next`.
fn receive_some<P: Pipe>(receiver: &mut P::Receiver, next: &mut u64, patience: &mut Patience) {
    let before = *next;
    P::receive(receiver, |value| {
        assert_eq!(value, *next, "values come once and in order");
        *next += 1;
    });
    if *next == before {
        patience.wait();
    }
}
