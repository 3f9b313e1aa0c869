//! Every queue passes the same checks: on real threads, and on shuttle's.

use super::{LockFreeQueue, LockedQueue, StealingQueue, ready_queue_conforms};

#[cfg(not(shuttle))]
#[test]
fn the_locked_queue_conforms() {
    ready_queue_conforms(LockedQueue::new);
}

#[cfg(not(shuttle))]
#[test]
fn the_lock_free_queue_conforms() {
    ready_queue_conforms(LockFreeQueue::new);
}

#[cfg(not(shuttle))]
#[test]
fn the_stealing_queue_conforms() {
    ready_queue_conforms(StealingQueue::new);
}

#[cfg(shuttle)]
#[test]
fn shuttle_the_locked_queue_conforms() {
    shuttle::check_random(|| ready_queue_conforms(LockedQueue::new), 200);
}

#[cfg(shuttle)]
#[test]
fn shuttle_the_lock_free_queue_conforms() {
    shuttle::check_random(|| ready_queue_conforms(LockFreeQueue::new), 200);
    shuttle::check_pct(|| ready_queue_conforms(LockFreeQueue::new), 200, 3);
}

#[cfg(shuttle)]
#[test]
fn shuttle_the_stealing_queue_conforms() {
    shuttle::check_random(|| ready_queue_conforms(StealingQueue::new), 200);
    shuttle::check_pct(|| ready_queue_conforms(StealingQueue::new), 200, 3);
}
