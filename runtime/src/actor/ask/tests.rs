//! Asks that were found to be a part of a cycle.

use super::{AskError, Asking};
use crate::actor::cycle::AskCycle;
use crate::actor::life::tests::{outlive, schedulers};
use crate::{Actor, Options, System, handlers};
use std::task::{Context, Waker};
use std::time::Duration;

/// Answers.
struct Seven;

impl Actor for Seven {
    const OPTIONS: Options = Options::new();
}

#[handlers]
impl Seven {
    #[ask]
    fn number(&self) -> u32 {
        7
    }
}

// [G-CYCLE-1]
#[test]
fn a_cycle_counts_where_no_answer_has_come_after_all() {
    for (scheduler, _) in schedulers() {
        let system = System::builder().workers(1).scheduler(scheduler);
        let system = system.ask_timeout(Duration::from_secs(3600)).build().unwrap();
        let seven = system.spawn::<Seven>(Seven).start().unwrap();
        let cycle = AskError::Cycle(AskCycle::of(&[]));
        let ends = |mut asking: Asking<'_, _, _>| asking.give_up(cycle.clone());

        let mut answered = seven.number().into_future();
        assert!(answered.poll_send(&mut Context::from_waker(Waker::noop())).is_ready());
        // It comes behind the other one.
        assert_eq!(seven.number().wait(), Ok(7));
        assert_eq!(ends(answered), Ok(7));
        assert_eq!(system.counts().ask_cycles, 0);

        assert_eq!(ends(seven.number().into_future()), Err(cycle.clone()));
        assert_eq!(system.counts().ask_cycles, 1);
        drop(seven);
        outlive(system);
    }
}
