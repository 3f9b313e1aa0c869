//! What two threads leave for a worker that sleeps, under shuttle.

use crate::scheduler::{Cores, PerCore, WorkerId};
use crate::sync::{Arc, thread};
use crate::task::cargo::Cargo;
use crate::{Actor, Scheduler, System, handlers};
use std::time::Duration;

/// Coroutines are many, and their stacks shallow.
const STACK_BYTES: usize = 256 << 10;

#[derive(Actor)]
struct Nobody;

#[handlers]
impl Nobody {
    #[tell]
    fn nod(&self) {}
}

/// Whoever has left something and then asks whether all is done must not be told so, though the other
/// thread, which came first, has not said yet that there is something.
fn two_leave_something() {
    let system = System::builder().workers(1).scheduler(Scheduler::per_core());
    let system = system.stack_bytes(STACK_BYTES).build().expect("it starts");
    let nobody = system.spawn::<Nobody>(Nobody).start().expect("the system runs");
    // Beside the system's own, so that nothing is taken out of it.
    let queue = Arc::new(PerCore::new(1, &Cores::default()));
    // SAFETY: no other thread is this worker.
    assert!(queue.fall_asleep(unsafe { WorkerId::new(0) }), "nothing is there");
    let (there, cell) = (queue.clone(), nobody.cell().clone());
    let leave = |queue: &PerCore, cell| {
        queue.carry_from_outside(Cargo::wake(cell), &|_| {}).expect("it is no message");
    };
    let other = thread::spawn(move || leave(&there, cell));
    leave(&queue, nobody.cell().clone());
    assert!(!queue.is_at_rest(), "something is left");
    other.join().expect("no panic");
    drop((queue, nobody));
    let end = system.shutdown(Duration::from_secs(1));
    shuttle::future::block_on(end).expect("time does not pass");
}

#[test]
fn shuttle_who_has_left_something_finds_the_worker_not_at_rest() {
    let mut config = shuttle::Config::new();
    config.stack_size = STACK_BYTES;
    let explorer = shuttle::scheduler::RandomScheduler::new(500);
    shuttle::Runner::new(explorer, config).run(two_leave_something);
}
