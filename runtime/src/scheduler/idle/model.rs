//! loom: work that arrives while workers fall asleep. A lost wake-up is a deadlock, which loom reports.

use super::Idle;
use crate::sync::{AtomicUsize, Ordering, thread};
use loom::sync::{Arc, Notify};

struct Pool {
    idle: Idle,
    /// Work that waits; not ordered by anything but the rendezvous.
    work: AtomicUsize,
    bells: Vec<Notify>,
}

impl Pool {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(workers),
            work: AtomicUsize::new(0),
            bells: (0..workers).map(|_| Notify::new()).collect(),
        })
    }

    fn ring(&self, worker: Option<usize>) {
        if let Some(worker) = worker {
            self.bells[worker].notify();
        }
    }

    fn push(&self) {
        // Relaxed: what makes it visible is to be the rendezvous alone.
        self.work.fetch_add(1, Ordering::Relaxed);
        self.ring(self.idle.notify());
    }

    fn take(&self) -> bool {
        let take = |work: usize| work.checked_sub(1);
        self.work.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Has somebody find the work that is left.
    fn hand_over(&self) {
        // Relaxed: as in `push`.
        if self.work.load(Ordering::Relaxed) > 0 {
            self.ring(self.idle.notify());
        }
    }

    /// Finds one piece of work, asleep in between.
    fn work(&self, worker: usize) {
        let mut searching = false;
        loop {
            if !searching {
                self.idle.search();
            }
            if self.take() {
                if self.idle.found() {
                    self.hand_over();
                }
                return;
            }
            searching = self.sleep(worker);
        }
    }

    /// Sleeps unless there is work after all; returns whether it was woken to search.
    fn sleep(&self, worker: usize) -> bool {
        self.idle.leave(worker);
        if self.work.load(Ordering::Relaxed) == 0 {
            self.idle.doze(worker);
            self.bells[worker].wait();
            self.idle.stir(worker);
        }
        self.idle.wake(worker)
    }
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    // A worker that falls asleep between a pusher's two looks takes three.
    builder.preemption_bound = builder.preemption_bound.max(Some(3));
    builder.check(check);
}

#[test]
fn a_worker_that_falls_asleep_finds_what_was_pushed() {
    model(|| {
        let pool = Pool::new(1);
        let worker = pool.clone();
        let thread = thread::spawn(move || worker.work(0));
        pool.push();
        thread.join().unwrap();
    });
}

#[test]
fn two_workers_finish_two_pieces_of_work() {
    model(|| {
        let pool = Pool::new(2);
        let threads: Vec<_> = (0..2)
            .map(|index| {
                let pool = pool.clone();
                thread::spawn(move || pool.work(index))
            })
            .collect();
        pool.push();
        pool.push();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// A worker that does not come back is called in vain, and keeps nobody else from being woken.
#[test]
fn a_worker_that_is_away_for_ever_is_not_relied_upon() {
    model(|| {
        let pool = Pool::new(2);
        pool.idle.search();
        pool.idle.leave(0);
        let worker = pool.clone();
        let thread = thread::spawn(move || (0..2).for_each(|_| worker.work(1)));
        pool.push();
        pool.push();
        thread.join().unwrap();
    });
}

impl Pool {
    /// As `work`, but gives back what it finds; ends when it is off duty.
    fn work_until_off_duty(&self, worker: usize) {
        let mut searching = false;
        loop {
            if self.idle.retire(worker, searching) {
                return self.hand_over();
            }
            if !searching {
                self.idle.search();
            }
            if self.take() {
                if self.idle.found() {
                    self.hand_over();
                }
                return self.push();
            }
            searching = self.sleep(worker);
        }
    }
}

/// Who goes off duty leaves nothing behind that nobody looks for, also if it searched, or was woken by a pusher
/// that still counted on it.
#[test]
fn what_comes_while_a_worker_goes_off_duty_is_found_by_one_on_duty() {
    model(|| {
        let pool = Pool::new(2);
        let (first, second) = (pool.clone(), pool.clone());
        let goes = thread::spawn(move || second.work_until_off_duty(1));
        let stays = thread::spawn(move || {
            first.idle.set_on_duty(1);
            first.bells[1].notify();
            (0..2).for_each(|_| first.work(0));
        });
        pool.push();
        pool.push();
        goes.join().unwrap();
        stays.join().unwrap();
    });
}

/// A worker that falls asleep while it is put off duty and back on is woken as any other, and stays so.
#[test]
fn a_worker_that_leaves_between_two_changes_of_duty_is_found() {
    model(|| {
        let pool = Pool::new(2);
        let worker = pool.clone();
        let leaves = thread::spawn(move || {
            worker.idle.search();
            worker.idle.leave(1);
            worker.idle.doze(1);
        });
        pool.idle.set_on_duty(1);
        pool.idle.set_on_duty(2);
        leaves.join().unwrap();
        assert_eq!(pool.idle.notify(), Some(1), "it is on duty");
    });
}

#[test]
fn a_worker_that_leaves_while_it_is_put_off_duty_is_not_called() {
    model(|| {
        let pool = Pool::new(2);
        let worker = pool.clone();
        let leaves = thread::spawn(move || {
            worker.idle.search();
            worker.idle.leave(1);
        });
        pool.idle.set_on_duty(1);
        leaves.join().unwrap();
        assert_eq!(pool.idle.notify(), None, "it is off duty");
    });
}

/// A worker that is put on duty while it leaves for being off, or sleeps, is woken as any other.
#[test]
fn a_worker_that_is_put_on_duty_in_its_sleep_is_relied_upon() {
    model(|| {
        let pool = Pool::new(2);
        pool.idle.set_on_duty(1);
        let (first, second) = (pool.clone(), pool.clone());
        let returns = thread::spawn(move || {
            let retired = second.idle.retire(1, false);
            let searching = retired && {
                second.idle.doze(1);
                second.bells[1].wait();
                second.idle.stir(1);
                second.idle.wake(1)
            };
            if !searching {
                second.idle.search();
            }
            let found = second.take();
            if second.idle.found() {
                second.hand_over();
            }
            if found {
                second.push();
            }
        });
        let stays = thread::spawn(move || {
            first.idle.set_on_duty(2);
            first.work(0);
        });
        pool.push();
        stays.join().unwrap();
        pool.bells[1].notify();
        returns.join().unwrap();
    });
}
