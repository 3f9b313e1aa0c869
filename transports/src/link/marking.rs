//! Whether the path carries marks of congestion (RFC 9000, section 13.4).
//!
//! Packets leave able to be marked, and the peer counts the marks with which they came. It has to count as many as there are
//! packets that left so and are acknowledged: otherwise something on the way takes marks off. If none of the first ones
//! arrives, something may drop what is marked. In both cases packets leave without from then on, until they take another
//! path, and what the peer counts says nothing.

use super::ack::EcnCounts;
use super::received::Ecn;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Marking {
    /// The first packet on this path, and the first that leaves without, if there is one.
    first: u64,
    end: Option<u64>,
    /// How many that left able to be marked were acknowledged.
    acked: u64,
    /// What the peer had counted before.
    before: u64,
    /// What it has counted by now.
    counted: EcnCounts,
}

impl Marking {
    /// How the next packet is to leave.
    pub(super) const fn ecn(&self) -> Ecn {
        if self.end.is_some() { Ecn::NotCapable } else { Ecn::Capable0 }
    }

    /// A packet was acknowledged.
    pub(super) fn on_acked(&mut self, number: u64) {
        let was_marked = number >= self.first && self.end.is_none_or(|end| number < end);
        self.acked += u64::from(was_marked);
    }

    /// Takes in what the peer has counted when it said that it has the newest packet so far; `next` is the next one to
    /// leave. Says whether more came marked with congestion than before. [LINK-35] [LINK-36]
    pub(super) fn on_counts(&mut self, counts: EcnCounts, next: u64) -> bool {
        let is_congested = counts.ce > self.counted.ce;
        // Nobody here sends the other mark.
        let is_altered = counts.ect1 > self.counted.ect1;
        self.counted = counts;
        let is_short = self.marks().saturating_sub(self.before) < self.acked;
        if crate::planted!("marks-unproved": is_short || is_altered => false) {
            self.stop(next);
        }
        is_congested && self.end.is_none()
    }

    /// Nothing was heard for some time. [LINK-36]
    pub(super) fn on_silence(&mut self, next: u64) {
        if crate::planted!("marks-in-silence": self.acked == 0 => false) {
            self.stop(next);
        }
    }

    /// The next packet takes another path, of which nothing is known.
    pub(super) fn path_changed(&mut self, next: u64) {
        let (before, counted) = (self.marks(), self.counted);
        *self = Self { first: next, end: None, acked: 0, before, counted };
    }

    fn stop(&mut self, next: u64) {
        self.end = self.end.or(Some(next));
    }

    const fn marks(&self) -> u64 {
        self.counted.ect0.saturating_add(self.counted.ce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(ect0: u64, ect1: u64, ce: u64) -> EcnCounts {
        EcnCounts { ect0, ect1, ce }
    }

    fn after(acked: std::ops::Range<u64>) -> Marking {
        let mut marking = Marking::default();
        acked.for_each(|number| marking.on_acked(number));
        marking
    }

    /// [LINK-35]
    #[test]
    fn congestion_is_told_once_for_what_came_marked() {
        let mut marking = after(0..10);
        let told = [counts(10, 0, 0), counts(9, 0, 1), counts(9, 0, 1), counts(9, 0, 3)]
            .map(|counts| marking.on_counts(counts, 12));
        assert_eq!(told, [false, true, false, true]);
        assert_eq!(marking.ecn(), Ecn::Capable0);
    }

    /// [LINK-36]
    #[test]
    fn a_path_that_takes_marks_off_or_alters_them_gets_none() {
        for counted in [counts(0, 0, 0), counts(9, 0, 0), counts(5, 0, 4), counts(9, 1, 1)] {
            let mut marking = after(0..10);
            assert!(!marking.on_counts(counted, 12), "{counted:?}");
            assert_eq!(marking.ecn(), Ecn::NotCapable, "{counted:?}");
            (10..20).for_each(|number| marking.on_acked(number));
            assert_eq!(marking.acked, 12, "those that had left by then");
            marking.path_changed(20);
            assert_eq!(marking.ecn(), Ecn::Capable0);
            marking.on_acked(20);
            let EcnCounts { ect0, ect1, ce } = counted;
            assert!(marking.on_counts(counts(ect0, ect1, ce + 1), 21));
        }
    }

    /// [LINK-36]
    #[test]
    fn a_path_that_drops_what_is_marked_gets_none() {
        let mut marking = Marking::default();
        marking.on_silence(3);
        assert_eq!(marking.ecn(), Ecn::NotCapable);
        let mut marking = after(0..1);
        marking.on_silence(3);
        assert_eq!(marking.ecn(), Ecn::Capable0, "it was another silence");
    }
}
