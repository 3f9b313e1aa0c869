//! Every queue passes the same checks: on real threads, and on shuttle's.

#[cfg(not(shuttle))]
mod alike;
mod homes;

#[cfg(not(shuttle))]
use super::Guarded;
#[cfg(not(shuttle))]
use super::conformance::frees_the_stuck;
#[cfg(not(shuttle))]
use super::ready_queue_of_one_thread_conforms;
#[cfg(not(shuttle))]
use super::unsteady::Unsteady;
#[cfg(not(shuttle))]
use super::{Batch, Origin, ReadyQueue, WorkerId};
use super::{LockFreeQueue, LockedQueue, StealingQueue, ready_queue_conforms};
#[cfg(not(shuttle))]
use crate::sync::WakeList;
#[cfg(not(shuttle))]
use crate::task::{Hint, Ready};
use homes::Homes;

/// Of five picks at which both wait, four are of high actors, and one is of a normal one.
#[cfg(not(shuttle))]
mod priorities {
    use super::super::WorkerId;
    use super::super::{Batch, LockFreeQueue, LockedQueue, Origin, ReadyQueue, StealingQueue};
    use crate::task::priority::Line;
    use crate::task::{Hint, Priority, Ready};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// What comes next, of normal actors and high ones.
    fn model(waiting: &mut [VecDeque<usize>; 2], picks: &mut usize) -> Option<usize> {
        let [normal, high] = waiting;
        let prefers_normal = !high.is_empty() && {
            *picks += 1;
            picks.is_multiple_of(5)
        };
        let (first, second) = if prefers_normal { (normal, high) } else { (high, normal) };
        first.pop_front().or_else(|| second.pop_front())
    }

    /// Pushes (of high actors, or normal ones) and pops, in any order.
    fn script() -> impl Strategy<Value = Vec<Option<bool>>> {
        proptest::collection::vec(proptest::option::weighted(0.6, any::<bool>()), 0..200)
    }

    fn check(
        script: &[Option<bool>],
        mut push: impl FnMut(Ready),
        mut pop: impl FnMut() -> Option<Ready>,
    ) {
        let (mut waiting, mut picks) = ([VecDeque::new(), VecDeque::new()], 0);
        for (number, step) in script.iter().enumerate() {
            if let Some(is_high) = *step {
                let priority = if is_high { Priority::High } else { Priority::Normal };
                waiting[usize::from(is_high)].push_back(number);
                push(Ready::fake(number, priority));
            } else {
                assert_eq!(pop().map(Ready::into_fake), model(&mut waiting, &mut picks));
            }
        }
        while let Some(next) = model(&mut waiting, &mut picks) {
            assert_eq!(pop().map(Ready::into_fake), Some(next));
        }
        assert!(pop().is_none(), "nothing is left");
    }

    /// One worker alone, on a queue from which each normal actor is picked in order.
    fn check_queue(script: &[Option<bool>], queue: &impl ReadyQueue) {
        // SAFETY: the queue is used by this thread alone.
        let id = unsafe { WorkerId::new(0) };
        let pop = || {
            let mut batch = Batch::new();
            queue.pop(id, &mut batch);
            assert!(batch.len() <= 1, "a batch would delay a high actor");
            batch.pop()
        };
        // Of high priority, so that the locked queue has seen one.
        queue.push(Origin::Worker(id), Ready::fake(999, Priority::High), Hint::Back);
        assert_eq!(pop().map(Ready::into_fake), Some(999));
        for _ in 0..4 {
            // The same again until the next pick is the first of five.
            queue.push(Origin::Worker(id), Ready::fake(999, Priority::High), Hint::Back);
            assert_eq!(pop().map(Ready::into_fake), Some(999));
        }
        check(script, |ready| queue.push(Origin::Worker(id), ready, Hint::Back), pop);
    }

    proptest! {
        #[test]
        fn a_line_picks_four_high_actors_and_a_normal_one(script in script()) {
            let line = std::cell::RefCell::new(Line::new());
            check(&script, |ready| line.borrow_mut().push(ready), || line.borrow_mut().pop());
            assert!(line.borrow().is_empty());
        }

        #[test]
        fn so_does_each_queue(script in script()) {
            check_queue(&script, &LockedQueue::new(1));
            check_queue(&script, &LockFreeQueue::new(2));
            check_queue(&script, &StealingQueue::new(2));
        }
    }

    #[test]
    fn a_high_actor_is_taken_by_whichever_worker_is_free() {
        let queues: [Box<dyn ReadyQueue>; 3] = [
            Box::new(LockedQueue::new(2)),
            Box::new(LockFreeQueue::new(2)),
            Box::new(StealingQueue::new(2)),
        ];
        for queue in queues {
            // SAFETY: the queue is used by this thread alone, which plays both workers in turn.
            let [busy, free] = [0, 1].map(|index| unsafe { WorkerId::new(index) });
            for number in 0..50 {
                let priority = if number == 49 { Priority::High } else { Priority::Normal };
                queue.push(Origin::Worker(busy), Ready::fake(number, priority), Hint::Next);
            }
            assert!(queue.has_work(free));
            let mut batch = Batch::new();
            queue.pop(free, &mut batch);
            assert_eq!(batch.pop().map(Ready::into_fake), Some(49));
            while queue.has_work(busy) {
                queue.pop(busy, &mut batch);
                while let Some(ready) = batch.pop() {
                    let _ = ready.into_fake();
                }
            }
        }
    }

    /// Who goes off duty must not keep what others take only when they have nothing else to do.
    #[test]
    fn what_a_worker_hands_over_comes_up_though_another_never_runs_dry() {
        let queue = StealingQueue::new(2);
        // SAFETY: the queue is used by this thread alone, which plays both workers in turn.
        let [busy, leaving] = [0, 1].map(|index| unsafe { WorkerId::new(index) });
        for number in 0..20 {
            // The slot takes one that comes first.
            let hint = if number == 0 { Hint::Next } else { Hint::Back };
            queue.push(Origin::Worker(leaving), Ready::fake(number, Priority::Normal), hint);
        }
        queue.hand_over(leaving);
        assert_eq!(queue.len(), 20);
        queue.push(Origin::Worker(busy), Ready::fake(20, Priority::Normal), Hint::Next);
        let (mut batch, mut seen) = (Batch::new(), [false; 21]);
        for _ in 0..61 * 21 {
            queue.pop(busy, &mut batch);
            let number = batch.pop().expect("one is always there").into_fake();
            seen[number] = true;
            // Whoever ran runs again.
            queue.push(Origin::Worker(busy), Ready::fake(number, Priority::Normal), Hint::Next);
        }
        assert_eq!(seen, [true; 21]);
    }

    /// Who makes more actors than a ring has room for is not to run again before those that it made first.
    #[test]
    fn who_gives_way_while_many_wait_for_all_workers_is_behind_them() {
        let queue = StealingQueue::new(1);
        // SAFETY: the queue is used by this thread alone.
        let id = unsafe { WorkerId::new(0) };
        for number in 1..=900 {
            queue.push(Origin::Worker(id), Ready::fake(number, Priority::Normal), Hint::Back);
        }
        queue.give_way(id, Ready::fake(0, Priority::Normal));
        let mut batch = Batch::new();
        let popped = std::iter::from_fn(|| {
            queue.pop(id, &mut batch);
            batch.pop().map(Ready::into_fake)
        });
        let popped: Vec<_> = popped.collect();
        assert_eq!(popped.len(), 901);
        let before = popped.iter().position(|&number| number == 0).unwrap_or(0);
        assert!(before > 800, "{before} of 900 came before");
    }
}

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

/// With a queue that does not panic, the guard around it changes nothing.
#[cfg(not(shuttle))]
#[test]
fn a_guarded_queue_conforms() {
    ready_queue_conforms(|workers| {
        Guarded::checked(Box::new(StealingQueue::new(workers)), workers)
    });
}

#[cfg(not(shuttle))]
#[test]
fn who_takes_nothing_any_more_keeps_nothing_back() {
    // One that is always ready, more than half of a ring, and more than there is room for in one.
    for restless in [1, 200, 400] {
        // Whom a worker watches goes from one to the next.
        for workers in [2, 5] {
            frees_the_stuck(&LockedQueue::new(workers), restless);
            frees_the_stuck(&LockFreeQueue::new(workers), restless);
            frees_the_stuck(&StealingQueue::new(workers), restless);
        }
    }
}

/// Without rarities, which a world has.
#[cfg(not(shuttle))]
#[test]
fn a_queue_in_a_world_conforms() {
    ready_queue_of_one_thread_conforms(|workers| {
        Unsteady::new(Box::new(StealingQueue::new(workers)), WakeList::new())
    });
}

#[cfg(not(shuttle))]
#[test]
fn workers_with_queues_of_their_own_conform() {
    ready_queue_conforms(Homes::new);
}

/// Hands out twice what it is given, now and then, once there are three workers.
#[cfg(not(shuttle))]
struct Doubling {
    queue: LockedQueue,
    is_wrong: bool,
    pops: crate::sync::AtomicUsize,
}

#[cfg(not(shuttle))]
impl ReadyQueue for Doubling {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.queue.push(from, ready, hint);
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.queue.pop(worker, batch);
        let is_rare = self.pops.fetch_add(1, crate::sync::Ordering::Relaxed) % 100 == 99;
        if self.is_wrong
            && is_rare
            && let Some(ready) = batch.pop()
        {
            let (priority, number) = (ready.priority(), ready.into_fake());
            batch.push(Ready::fake(number, priority));
            batch.push(Ready::fake(number, priority));
        }
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        self.queue.has_work(worker)
    }
    fn len(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(not(shuttle))]
#[test]
#[should_panic(expected = "each push is popped exactly once")]
fn a_queue_that_doubles_actors_among_threads_does_not_conform() {
    ready_queue_conforms(|workers| Doubling {
        queue: LockedQueue::new(workers),
        is_wrong: workers == 3,
        pops: crate::sync::AtomicUsize::new(0),
    });
}

#[cfg(shuttle)]
#[test]
fn shuttle_workers_with_queues_of_their_own_conform() {
    shuttle::check_random(|| ready_queue_conforms(Homes::new), 200);
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
