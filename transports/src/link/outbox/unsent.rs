//! How much waits to be sent of long messages, each class by itself, and who is to be told when that is less. [LINK-47]

use super::super::envelope::Class;

/// Bytes of long messages that were never sent.
#[derive(Debug, Default)]
pub(in super::super) struct Unsent {
    bytes: [u64; 2],
    /// A long message was sent away for their sake, and its sender has to be told when no more than that is left.
    told_at: [Option<u64>; 2],
}

impl Unsent {
    pub(super) const fn add(&mut self, class: Class, bytes: u64) {
        self.bytes[class as usize] += bytes;
    }

    pub(super) const fn remove(&mut self, class: Class, bytes: u64) {
        self.bytes[class as usize] -= bytes;
    }

    /// Whether there are some of that class.
    pub(in super::super) const fn has_any(&self, class: Class) -> bool {
        self.bytes[class as usize] > 0
    }

    /// Whether a message may wait behind those of its class, where that may be so much; if not, somebody will have to be
    /// told, when half of that is sent. What waits here holds up all that comes behind it, and what waits at its sender
    /// nobody else.
    pub(in super::super) fn has_room(&mut self, class: Class, waiting_max: u64) -> bool {
        let has_room = self.bytes[class as usize] < waiting_max;
        let has_room = crate::planted!("link-unsent-unbounded": has_room => true);
        if !has_room {
            self.tell_at(class, waiting_max / 2);
        }
        has_room
    }

    /// Somebody has to be told when no more than that of them waits.
    pub(in super::super) fn tell_at(&mut self, class: Class, bytes: u64) {
        let told_at = &mut self.told_at[class as usize];
        *told_at = (*told_at).max(Some(bytes));
    }

    /// Says once that it is so.
    pub(in super::super) fn has_caught_up(&mut self) -> bool {
        let mut has = false;
        for (told_at, bytes) in self.told_at.iter_mut().zip(self.bytes) {
            has |= told_at.take_if(|at| bytes <= *at).is_some();
        }
        has
    }
}
