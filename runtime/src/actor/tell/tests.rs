//! Senders that found the mailbox open, and push when it has been closed.

use super::{offer, run_soon};
use crate::{Actor, Mailbox, Options, Scheduler, System, handlers};

/// Adds up what it was told.
struct Sum(u32);

impl Actor for Sum {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::unbounded());
}

#[handlers]
impl Sum {
    #[tell]
    fn add(&mut self, number: u32) {
        self.0 += number;
    }
    #[ask]
    fn sum(&self) -> u32 {
        self.0
    }
}

// [G-STOP-2]
#[test]
fn who_comes_too_late_has_its_message_back() {
    for scheduler in [Scheduler::locked(), Scheduler::per_core()] {
        let system = System::builder().workers(1).scheduler(scheduler).build().unwrap();
        let sum = system.spawn::<Sum>(Sum(0)).start().unwrap();
        sum.add(1).tell().unwrap();
        assert_eq!(sum.sum().wait(), Ok(1));
        let late = sum.add(2);
        late.cell.inbox.close();
        let back = offer(late.cell, &late.dispatch.tell, late.message, run_soon);
        let Err(SumMessage::Add { number }) = back else { panic!("it came too late") };
        assert_eq!(number, 2);
        sum.drain();
        assert_eq!(system.counts().dead_stopped, 0);
    }
}
