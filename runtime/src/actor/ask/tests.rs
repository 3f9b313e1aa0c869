//! Asks that were found to be a part of a cycle, and asks of plain threads.

use super::{AskError, Asking};
use crate::actor::cycle::AskCycle;
use crate::actor::life::tests::{outlive, schedulers};
use crate::scheduler::outsiders_may_look;
use crate::{Actor, Options, System, handlers};
use std::num::NonZeroUsize;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;
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

/// Answers when it is let.
struct Held(mpsc::Receiver<()>);

impl Actor for Held {
    const OPTIONS: Options = Options::new();
}

#[handlers]
impl Held {
    #[ask]
    fn answer(&self) {
        self.0.recv().expect("it is let");
    }
}

/// A thread that asks looks for its answer where it may, until that was in vain, and sleeps from the beginning where it may not.
#[test]
fn a_plain_thread_looks_for_an_answer_before_it_sleeps() {
    let cores = thread::available_parallelism().ok().map(NonZeroUsize::get);
    for workers in [1, 64] {
        let system = System::builder().workers(workers).build().unwrap();
        let (lets, is_let) = mpsc::channel();
        let held = system.spawn::<Held>(Held(is_let)).start().unwrap();
        let looks = &held.cell().core.looks;
        thread::scope(|scope| {
            let asker = scope.spawn(|| held.answer().wait());
            while outsiders_may_look(workers, cores) && looks.in_vain() == 0 {
                thread::yield_now();
            }
            lets.send(()).unwrap();
            asker.join().unwrap().unwrap();
        });
        assert_eq!(looks.in_vain(), u32::from(outsiders_may_look(workers, cores)));
        drop(held);
        outlive(system);
    }
}
