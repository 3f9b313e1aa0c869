//! What clients make the server hold beside the data, and the budget for all of them together.
//!
//! ```text
//! Connection -- its buffers --\
//!                              > Account of a client --> Budget of all -- exceeded --> who holds most is cut off
//! Broker ----- messages ------/
//! ```
//!
//! Invariants:
//!
//! 1. What is used of the budget is the sum of the accounts.
//! 2. An account that is closed stays empty, whoever adds to it later: a client is gone before everybody knows.
//! 3. The account of a client that is cut off for the budget is closed at once: what it holds is on its way out, and
//!    nobody else is to be cut off for it.

use parking_lot::Mutex;

use super::stats::Count;

/// What all clients hold together.
#[derive(Debug)]
pub(crate) struct Budget {
    used: Count,
    /// Zero: no limit.
    pub(crate) max: Count,
}

impl Budget {
    pub(crate) fn new(bytes_max: u64) -> Self {
        let max = Count::default();
        max.set(bytes_max);
        Self { used: Count::default(), max }
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.get()
    }

    /// Returns whether what is not needed now should be given back: most clients are idle, and cannot be asked to.
    pub(crate) fn is_short(&self) -> bool {
        let max = self.max.get();
        max > 0 && self.used.get() > max / 2
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        let max = self.max.get();
        max > 0 && self.used.get() > max
    }
}

/// What one client holds.
#[derive(Debug, Default)]
pub(crate) struct Account(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    /// Bytes of what its connection has.
    own: u64,
    /// Bytes of messages that wait for it.
    waiting: u64,
    /// Others are to be cut off for the budget first.
    is_spared: bool,
    is_closed: bool,
}

/// What became of a message that was to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    Counted,
    /// There were too many already.
    Full,
    /// There is nobody who waits for it.
    Closed,
}

impl Account {
    /// Sets what the connection has; returns whether that is more than before.
    pub(crate) fn set_own(&self, bytes: u64, budget: &Budget) -> bool {
        let mut held = self.0.lock();
        if held.is_closed {
            return false;
        }
        let before = std::mem::replace(&mut held.own, bytes);
        budget.used.add(bytes.saturating_sub(before));
        budget.used.subtract(before.saturating_sub(bytes));
        bytes > before
    }

    /// Adds a message, unless more than `bytes_max` would wait then.
    pub(crate) fn add_waiting(&self, bytes: u64, bytes_max: u64, budget: &Budget) -> Waits {
        let mut held = self.0.lock();
        if held.is_closed {
            return Waits::Closed;
        }
        if held.waiting + bytes > bytes_max {
            return Waits::Full;
        }
        held.waiting += bytes;
        budget.used.add(bytes);
        Waits::Counted
    }

    /// Takes messages out.
    pub(crate) fn take_waiting(&self, bytes: u64, budget: &Budget) {
        let mut held = self.0.lock();
        if !held.is_closed {
            held.waiting -= bytes;
            budget.used.subtract(bytes);
        }
    }

    /// Empties the account for good.
    pub(crate) fn close(&self, budget: &Budget) {
        let mut held = self.0.lock();
        budget.used.subtract(held.own + held.waiting);
        (held.own, held.waiting, held.is_closed) = (0, 0, true);
    }

    /// Has others cut off first, or no longer.
    pub(crate) fn spare(&self, is_spared: bool) {
        self.0.lock().is_spared = is_spared;
    }

    pub(crate) fn is_spared(&self) -> bool {
        self.0.lock().is_spared
    }

    /// Returns what is compared to find whom to cut off; `None` if that would give nothing back.
    pub(crate) fn rank(&self) -> Option<(bool, u64)> {
        let held = self.0.lock();
        let bytes = held.own + held.waiting;
        (bytes > 0).then_some((!held.is_spared, bytes))
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> u64 {
        self.0.lock().waiting
    }

    pub(crate) fn total(&self) -> u64 {
        let held = self.0.lock();
        held.own + held.waiting
    }
}

/// Returns what a buffer holds: what is in it, or what it keeps for the next time. What a long one has beyond its
/// content was never touched, and takes no memory yet.
pub(crate) fn weight<T>(buffer: &Vec<T>, keep_bytes_max: usize) -> usize {
    let kept = (buffer.capacity() * size_of::<T>()).min(keep_bytes_max);
    kept.max(buffer.len() * size_of::<T>())
}

#[cfg(test)]
mod tests {
    use super::{Account, Budget, Waits};

    #[test]
    fn what_is_used_is_the_sum_of_the_accounts() {
        let budget = Budget::new(100);
        let (one, two) = (Account::default(), Account::default());
        assert!(one.set_own(60, &budget));
        assert_eq!(two.add_waiting(40, 40, &budget), Waits::Counted);
        assert_eq!(two.add_waiting(1, 40, &budget), Waits::Full);
        assert!(!one.set_own(50, &budget));
        two.take_waiting(30, &budget);
        assert_eq!((one.total(), two.total(), budget.used()), (50, 10, 60));
        assert!(!budget.is_exceeded());
        two.set_own(41, &budget);
        assert!(budget.is_exceeded());
        budget.max.set(0);
        assert!(!budget.is_exceeded(), "there is no limit");
    }

    #[test]
    fn who_is_spared_comes_last() {
        let budget = Budget::new(100);
        let (one, two, three) = (Account::default(), Account::default(), Account::default());
        one.set_own(60, &budget);
        one.spare(true);
        two.set_own(1, &budget);
        assert!(three.rank() < one.rank() && one.rank() < two.rank());
        assert_eq!(three.rank(), None);
    }

    #[test]
    fn an_account_that_is_closed_stays_empty() {
        let budget = Budget::new(100);
        let one = Account::default();
        one.set_own(60, &budget);
        one.add_waiting(40, 100, &budget);
        one.close(&budget);
        assert!(!one.set_own(70, &budget));
        assert_eq!(one.add_waiting(1, 100, &budget), Waits::Closed);
        one.take_waiting(40, &budget);
        one.close(&budget);
        assert_eq!((one.total(), budget.used()), (0, 0));
    }
}
