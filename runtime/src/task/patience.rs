//! How long a plain thread that has asked looks for its answer before it sleeps.
//!
//! Where it sleeps at once each question costs two wake-ups, of the worker and of whoever asked. Who looks for the answer
//! for as long as its own wake-up would take is never more than twice as late as who knows what is best (Karlin, Li,
//! Manasse and Owicki, "Empirical studies of competitive spinning for a shared-memory multiprocessor", 1991). Where answers
//! take longer than that, looking is given up, and tried again now and then.

use crate::sync::{AtomicU32, Ordering, planted};
use crate::time::Time;
use std::time::Duration;

/// About twice what two threads take to wake each other in a virtual machine.
const LOOK: Duration = Duration::from_micros(50);
/// So often in a row a look may be in vain before most questions go without.
const IN_VAIN_MAX: u32 = 4;
/// Questions without a look before the next one that has one.
const WITHOUT: u32 = 64;
/// Somebody looks: another one would take a core from the workers for nothing.
const LOOKING: u32 = 1 << 31;

/// Of one system: how often looking was in vain lately.
#[derive(Debug)]
pub(crate) enum Patience {
    /// Whoever asks looks as long as idle workers do.
    Fixed(Duration),
    /// As long as it helps: looks in vain, in a row, and questions that went without one since; or that bit and the first.
    Learned(AtomicU32),
}

impl Patience {
    /// `spin` is how long idle workers look for work; `learns` is whether others may look where these do not.
    pub(crate) fn new(spin: Duration, learns: bool) -> Self {
        if learns && spin.is_zero() { Self::Learned(AtomicU32::new(0)) } else { Self::Fixed(spin) }
    }

    /// One look, from `now` on.
    pub(crate) fn look(&self, now: Time) -> Look<'_> {
        let fixed = |time| Look { learns: None, in_vain: 0, until: now.after(time) };
        match self {
            Self::Fixed(time) => fixed(*time),
            Self::Learned(word) => match begin(word) {
                Some(in_vain) => Look { learns: Some(word), in_vain, until: now.after(LOOK) },
                None => fixed(Duration::ZERO),
            },
        }
    }
}

/// After how many looks in vain a look begins, if one may. The word stands for nothing but itself.
fn begin(word: &AtomicU32) -> Option<u32> {
    let before = word.load(Ordering::Relaxed);
    if planted!("all-look-at-once": before & LOOKING != 0 => false) {
        return None;
    }
    let in_vain = before & !LOOKING;
    let is_due = !(IN_VAIN_MAX..IN_VAIN_MAX + WITHOUT).contains(&in_vain);
    let after = if is_due { LOOKING | in_vain.min(IN_VAIN_MAX) } else { in_vain + 1 };
    let exchanged = word.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed);
    (is_due && exchanged.is_ok()).then_some(in_vain.min(IN_VAIN_MAX))
}

/// A look for an answer. Dropped before it is over, it was not in vain.
#[derive(Debug)]
pub(crate) struct Look<'a> {
    /// Where it is written down what came of it.
    learns: Option<&'a AtomicU32>,
    in_vain: u32,
    until: Time,
}

impl Look<'_> {
    /// Whether to look again; if not, it was in vain.
    pub(crate) fn goes_on(&mut self, now: Time) -> bool {
        if now < self.until {
            return true;
        }
        if let Some(word) = self.learns.take() {
            let in_vain = planted!("looks-in-vain": (self.in_vain + 1).min(IN_VAIN_MAX) => 0);
            word.store(in_vain, Ordering::Relaxed);
        }
        false
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        if let Some(word) = self.learns.take() {
            word.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{IN_VAIN_MAX, LOOK, Look, Patience, WITHOUT};
    use crate::time::Time;
    use proptest::prelude::*;
    use std::time::Duration;

    const NOW: Time = Time(1_000);

    fn learned() -> Patience {
        Patience::new(Duration::ZERO, true)
    }

    /// Asks once; whether the thread looked.
    fn asks(patience: &Patience, is_answered: bool) -> bool {
        let mut look = patience.look(NOW);
        let looks = look.goes_on(NOW);
        assert!(is_answered || !look.goes_on(NOW.after(LOOK)), "it sleeps in the end");
        looks
    }

    #[test]
    fn who_looks_in_vain_stops_and_tries_again_now_and_then() {
        let patience = learned();
        let ask = |is_answered| asks(&patience, is_answered);
        assert!((0..IN_VAIN_MAX).all(|_| ask(false)));
        for _ in 0..2 {
            assert!((0..WITHOUT).all(|_| !ask(false)), "it was in vain all the time");
            assert!(ask(false), "it may help by now");
        }
        assert!((0..WITHOUT).all(|_| !ask(true)), "nobody looked, so nobody knows");
        assert!(ask(true) && ask(true), "it helps again");
        assert!((0..IN_VAIN_MAX).all(|_| ask(false)), "all is forgotten");
        assert!(!ask(false));
    }

    #[test]
    fn one_looks_at_a_time() {
        let patience = learned();
        let mut first = patience.look(NOW);
        assert!(first.goes_on(NOW), "it looks for a while");
        assert!(!patience.look(NOW).goes_on(NOW), "somebody looks");
        assert!(first.goes_on(NOW), "whatever others do meanwhile");
        drop(first);
        assert!(patience.look(NOW).goes_on(NOW), "nobody looks any more");
    }

    #[test]
    fn who_spins_looks_as_long_as_workers_do_whoever_else_looks() {
        let patience = Patience::new(2 * LOOK, true);
        let mut looks: [Look<'_>; 2] = [patience.look(NOW), patience.look(NOW)];
        assert!(looks.iter_mut().all(|look| look.goes_on(NOW.after(LOOK))));
        let never = Patience::new(Duration::ZERO, false);
        assert!(!never.look(NOW).goes_on(NOW));
    }

    proptest! {
        #[test]
        fn few_looks_are_in_vain(answered in prop::collection::vec(prop::bool::weighted(0.1), 0..600)) {
            let patience = learned();
            let mut in_vain = 0;
            let mut found = 0;
            for is_answered in &answered {
                let looks = asks(&patience, *is_answered);
                in_vain += u32::from(looks && !is_answered);
                found += u32::from(looks && *is_answered);
            }
            let asked = answered.len() as u32;
            prop_assert!(in_vain <= IN_VAIN_MAX * (found + 1) + asked / WITHOUT);
        }
    }
}
