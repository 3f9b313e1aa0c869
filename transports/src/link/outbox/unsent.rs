//! How much waits to be sent of long messages, each class by itself, and who is to be told when that is less. [LINK-47]

use super::super::envelope::Class;

/// Bytes of the longest message of middling length: twice as much may wait before them, so that longer ones that are taken
/// whenever there is room leave some to these.
const MIDDLING_MAX: usize = 16 << 10;

/// Bytes of long messages that were never sent.
#[derive(Debug, Default)]
pub(in super::super) struct Unsent {
    bytes: [u64; 2],
    /// A longer message was sent away since somebody was told last: so many bytes of middling ones may still pass it.
    passing: [Option<u64>; 2],
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

    /// Whether a message may wait behind those of its class, where about so much leaves soon; if not, somebody will have to
    /// be told, when half of what may wait is sent. What waits here holds up all that comes behind it, and what waits at its
    /// sender nobody else.
    pub(in super::super) fn has_room(&mut self, class: Class, len: usize, soon: u64) -> bool {
        let is_middling = len <= MIDDLING_MAX;
        let waiting_max = if is_middling { soon.saturating_mul(2) } else { soon };
        let has_room = self.bytes[class as usize] < waiting_max;
        let has_room = crate::planted!("link-unsent-unbounded": has_room => true);
        let passing = &mut self.passing[class as usize];
        let has_room = match passing {
            Some(left) if is_middling && has_room => {
                let may_pass = *left >= len as u64;
                *left = left.saturating_sub(len as u64);
                crate::planted!("link-middling-passes": may_pass => true)
            }
            _ => has_room,
        };
        if !is_middling {
            *passing = if has_room { None } else { passing.or(Some(soon)) };
        }
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
        for (class, bytes) in self.bytes.into_iter().enumerate() {
            if self.told_at[class].take_if(|at| bytes <= *at).is_some() {
                self.passing[class] = None;
                has = true;
            }
        }
        has
    }
}
