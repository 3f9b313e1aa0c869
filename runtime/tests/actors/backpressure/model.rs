//! Any history of sends, beside a mailbox as anyone would write it down.

use crate::backpressure::{
    BYTES, DroppingNewest, DroppingOldest, Gated, Load, MESSAGES, Policy, Rejecting, Waiting, heavy,
};
use crate::support::{Builds, run, soon};
use greenroom::{Counts, Full, System, TellError};
use proptest::prelude::*;
use std::collections::VecDeque;

/// One thing that a sender or the gate does.
#[derive(Clone, Debug)]
enum Step {
    TrySend(usize),
    Tell(usize),
    GoOn,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = || size_of::<Load>()..BYTES + 8;
    let step = prop_oneof![
        bytes().prop_map(Step::TrySend),
        bytes().prop_map(Step::Tell),
        (16_usize..40).prop_map(Step::Tell),
        Just(Step::GoOn),
        Just(Step::GoOn),
    ];
    prop::collection::vec(step, 1..60)
}

/// A bounded mailbox as anyone would write it down.
#[derive(Default)]
struct Model {
    running: Option<u32>,
    waiting: VecDeque<Load>,
    counts: Counts,
}

impl Model {
    fn fits(&self, bytes: usize) -> bool {
        let held: usize = self.waiting.iter().map(|load| load.bytes).sum();
        self.waiting.len() < MESSAGES && held + bytes <= BYTES
    }

    /// Whether the sender gets the message back.
    fn is_refused(&mut self, full: Option<Full>, load: Load) -> bool {
        let makes_room = full == Some(Full::DropOldest) && load.bytes <= BYTES;
        while makes_room && !self.fits(load.bytes) {
            self.waiting.pop_front();
            self.counts.dropped_oldest += 1;
        }
        if self.fits(load.bytes) {
            self.waiting.push_back(load);
            return false;
        }
        let dropped = full == Some(Full::DropNewest);
        let counter =
            if dropped { &mut self.counts.dropped_newest } else { &mut self.counts.rejected_full };
        *counter += 1;
        !dropped
    }

    /// The message that is handled next, if the actor is free.
    fn begin(&mut self) -> Option<u32> {
        if self.running.is_some() {
            return None;
        }
        self.running = self.waiting.pop_front().map(|load| load.number);
        self.running
    }
}

/// Takes the same steps with an actor and with the model, and compares after each.
async fn compare<P: Policy>(system: &System, steps: Vec<Step>) {
    let mut gated = Gated::<P>::spawn(system, None).await;
    let mut model = Model::default();
    for (number, step) in (0..).zip(steps) {
        let (sent, full) = match step {
            Step::TrySend(bytes) => (Some(gated.actor.tell(heavy(number, bytes)).try_send()), None),
            Step::Tell(bytes) => {
                (Some(gated.actor.tell(heavy(number, bytes)).tell()), Some(P::MAILBOX.when_full()))
            }
            Step::GoOn => (None, None),
        };
        match (sent, step) {
            (Some(sent), Step::TrySend(bytes) | Step::Tell(bytes)) => {
                let refused = model.is_refused(full, heavy(number, bytes));
                let expected = Err(TellError::Full(heavy(number, bytes)));
                assert_eq!(sent, if refused { expected } else { Ok(()) });
            }
            _ if model.running.take().is_some() => gated.go_on(),
            _ => {}
        }
        if let Some(begun) = model.begin() {
            assert_eq!(gated.begun().await, begun);
        }
    }
    let counts = system.counts();
    assert_eq!(counts.rejected_full, model.counts.rejected_full);
    assert_eq!(counts.dropped_newest, model.counts.dropped_newest);
    assert_eq!(counts.dropped_oldest, model.counts.dropped_oldest);
    gated.actor.kill();
    soon(gated.actor.ended()).await;
    assert_eq!(system.counts().dead_stopped, model.waiting.len() as u64);
}

fn follows_the_model<P: Policy>(steps: Vec<Step>) {
    let system = System::builder().workers(1).own();
    run(compare::<P>(&system, steps));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // [G-BOUND-1] [G-BOUND-2]
    #[test]
    fn waiting_follows_the_model(steps in steps()) {
        follows_the_model::<Waiting>(steps);
    }

    // [G-BOUND-1] [G-BOUND-2]
    #[test]
    fn rejecting_follows_the_model(steps in steps()) {
        follows_the_model::<Rejecting>(steps);
    }

    // [G-BOUND-1] [G-BOUND-2]
    #[test]
    fn dropping_the_newest_follows_the_model(steps in steps()) {
        follows_the_model::<DroppingNewest>(steps);
    }

    // [G-BOUND-1] [G-BOUND-2]
    #[test]
    fn dropping_the_oldest_follows_the_model(steps in steps()) {
        follows_the_model::<DroppingOldest>(steps);
    }
}
