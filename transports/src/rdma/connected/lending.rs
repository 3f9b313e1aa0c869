//! Slots that are lent: a long message stays where the device has put it for as long as somebody keeps it, and another slot is
//! received into meanwhile. [RDMA-54]
//!
//! ```text
//!   slot -> Came::lend -> Bytes -> frame -> argument -> actor
//!                                                         | when nobody keeps any of it
//!   spare <- collect <- back <----------------------------+
//! ```
//!
//! Whoever keeps one may do so for ever, in whichever thread. So no peer waits for one to come back: when as many are out as
//! may be, or memory is short, what comes is copied.

use super::shared::{KEPT, SLAB};
use super::{Connected, Device};
use crate::link::Lend;
use greenroom::net::Bytes;
use parking_lot::Mutex;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, Weak};

/// So many are held at most: with slots of 16 KiB they are 2 MiB of locked memory. Who comes first has them.
pub(in crate::rdma) const LENT_MAX: usize = 128;

/// So many stay for those who send.
pub(in crate::rdma) const RESERVE: usize = KEPT + SLAB;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Lending<S> {
    /// Those that nobody keeps any more.
    back: Arc<Mutex<Vec<S>>>,
    /// Those that have not come back, as far as was looked.
    out: usize,
    /// The same of memory that was let go but for these: each may hold all that was registered with it.
    former: Vec<(Arc<Mutex<Vec<S>>>, usize)>,
    /// Whether there was no other slot for one that could have been lent.
    is_short: bool,
    /// Whether the device had no more memory for it, since a connection was opened or ended.
    is_refused: bool,
}

impl<S> Lending<S> {
    pub(super) fn new() -> Self {
        let (former, is_short, is_refused) = (Vec::new(), false, false);
        Self { back: back(), out: 0, former, is_short, is_refused }
    }

    /// How many are held, with those that are held together with them.
    fn held(&self) -> usize {
        let former = self.former.iter().map(|(_, out)| out * SLAB).sum::<usize>();
        self.out + crate::planted!("rdma-lends-anew": former => 0)
    }

    /// Whether one may be lent, for which there is another.
    fn may_lend(&mut self, spare: usize) -> bool {
        if crate::planted!("rdma-lends-all": self.held() >= LENT_MAX => false) {
            return false;
        }
        let has_other = crate::planted!("rdma-lends-last": spare > RESERVE => true);
        self.is_short |= !has_other && !self.is_refused;
        has_other
    }

    /// All other memory is let go.
    pub(super) fn renew(&mut self) {
        if self.out > 0 {
            let former = std::mem::replace(&mut self.back, back());
            self.former.push((former, std::mem::take(&mut self.out)));
        }
    }

    /// There may be more memory again.
    pub(super) const fn retry(&mut self) {
        self.is_refused = false;
    }
}

/// Where slots come back to. None that comes finds no room.
fn back<S>() -> Arc<Mutex<Vec<S>>> {
    Arc::new(Mutex::new(Vec::with_capacity(LENT_MAX)))
}

/// A slot that is lent.
struct Lent<S> {
    slot: Option<S>,
    /// Gone with the queue pairs; then it is nobody's.
    back: Weak<Mutex<Vec<S>>>,
}

impl<S: AsRef<[u8]>> AsRef<[u8]> for Lent<S> {
    fn as_ref(&self) -> &[u8] {
        self.slot.as_ref().map_or(&[], S::as_ref)
    }
}

impl<S> Drop for Lent<S> {
    fn drop(&mut self) {
        if let Some(back) = self.back.upgrade() {
            back.lock().extend(self.slot.take());
        }
    }
}

/// A packet that came, where it lies. Derefs to its bytes; to none once it was [lent](Lend::lend).
#[derive(Debug)]
pub struct Came<'a, D: Device> {
    /// None once it is lent.
    slot: Option<D::Slot>,
    place: Range<usize>,
    lending: &'a mut Lending<D::Slot>,
    /// Slots that nobody uses.
    spare: usize,
}

impl<'a, D: Device> Came<'a, D> {
    /// What came in a slot, all of it.
    pub(super) fn new(slot: D::Slot, lending: &'a mut Lending<D::Slot>, spare: usize) -> Self {
        let place = 0..slot.as_ref().len();
        Self { slot: Some(slot), place, lending, spare }
    }

    /// Leaves nothing but these of its bytes.
    pub(super) fn narrow(&mut self, place: Range<usize>) {
        self.place = place;
    }

    /// The slot, if it was not lent.
    pub(super) fn into_slot(self) -> Option<D::Slot> {
        self.slot
    }
}

impl<D: Device> Deref for Came<'_, D> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let slot = self.slot.as_ref().map(AsRef::as_ref);
        slot.and_then(|slot| slot.get(self.place.clone())).unwrap_or_default()
    }
}

impl<D: Device> DerefMut for Came<'_, D> {
    fn deref_mut(&mut self) -> &mut [u8] {
        let slot = self.slot.as_mut().map(AsMut::as_mut);
        slot.and_then(|slot| slot.get_mut(self.place.clone())).unwrap_or_default()
    }
}

impl<D: Device> Lend for Came<'_, D> {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    fn lend(&mut self) -> Option<Bytes> {
        if self.slot.is_none() || !self.lending.may_lend(self.spare) {
            return None;
        }
        self.lending.out += 1;
        let lent = Lent { slot: self.slot.take(), back: Arc::downgrade(&self.lending.back) };
        Some(Bytes::from_owner(lent).slice(self.place.clone()))
    }
}

impl<D: Device> Connected<D> {
    /// Takes back what nobody keeps any more.
    pub(super) fn collect(&mut self) {
        if self.lending.out > 0 {
            let mut back = self.lending.back.lock();
            self.lending.out -= back.len();
            self.memory.spare.append(&mut back);
        }
        // What was registered with these is nobody's.
        self.lending.former.retain_mut(|(back, out)| {
            let back = std::mem::take(&mut *back.lock());
            *out -= back.len();
            *out > 0
        });
    }

    /// How many somebody keeps.
    #[cfg(test)]
    pub(in crate::rdma) fn lent(&mut self) -> usize {
        self.collect();
        self.lending.out
    }

    /// Sees to it that there are slots to be received into instead of those that are lent. Without them what comes is copied, and
    /// nobody else has less for it.
    pub(super) fn make_room_to_lend(&mut self) {
        if std::mem::take(&mut self.lending.is_short) {
            let wanted = (RESERVE + 1).saturating_sub(self.memory.spare.len()).max(SLAB);
            self.lending.is_refused = !self.memory.extend(&self.device, wanted);
        }
    }

    /// There may be more memory again.
    pub(super) const fn retry(&mut self) {
        self.memory.retry();
        self.lending.retry();
    }
}
